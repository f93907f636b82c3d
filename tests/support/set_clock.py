"""A clock that shows a set time, for a test's database."""

import datetime


class SetClock:
    """Returns the set time, in Unix seconds."""

    def __init__(self, moment: str) -> None:
        self.set(moment)

    def set(self, moment: str) -> None:
        self.unix = datetime.datetime.fromisoformat(moment).timestamp()

    def __call__(self) -> float:
        return self.unix

    def advance(self, stored: str) -> None:
        """Stay at the set time."""

    def seconds_ahead(self) -> int:
        """Return that the system's clock shows the same time."""
        return 0
