"""A spy on the functions that filters compile to: which values are they called on?

A filter that runs on a hidden row may raise, or take its time, and so tells of it, whatever is answered. So the SQL
functions behind like, ilike, match, imatch and casts are replaced by ones that note the values they are handed.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field

from models.sql import functions

ONE = {"*": ".*", "?": "."}


@dataclass(slots=True)
class Spy:
    """Notes which of the hidden values a filter was run on, on every connection of one app."""

    hidden: set[str] = field(default_factory=set)
    saw: set[str] = field(default_factory=set)
    calls: int = 0

    @classmethod
    def upon(cls, app: object) -> "Spy":
        spy = cls()
        database = app.extensions["walkthrough"]
        for engine in (database.reader, database.writer):
            with database.connections.checked_out(engine) as connection:
                spy.listen(connection.driver_connection)
        return spy

    def begin(self, hidden: set[str]) -> None:
        self.hidden = hidden
        self.saw.clear()

    def note(self, value: object) -> None:
        self.calls += 1
        if isinstance(value, str) and value.lower() in self.hidden:
            self.saw.add(value)

    def listen(self, connection: object) -> None:
        """Put the noting functions over the real ones; only then may a CHECK call what is not SQLite's."""
        connection.execute("PRAGMA trusted_schema = ON")
        faults = connection.walkthrough.faults
        cast = functions.noting(functions.cast_value, faults)
        for name, places, function in (
            ("fold", 1, functions.fold),
            ("matches", 2, functions.matches),
            ("imatches", 2, functions.imatches),
            ("cast_value", 3, cast),
        ):
            connection.create_function(name, places, self.noting(function), deterministic=True)
        connection.create_function("glob", 2, self.glob, deterministic=True)

    def noting(self, function: Callable[..., object]) -> Callable[..., object]:
        def noted(value: object, *rest: object) -> object:
            self.note(value)
            return function(value, *rest)

        return noted

    def glob(self, pattern: str | None, value: object) -> int | None:
        """GLOB, whose operands SQLite hands over in this order."""
        self.note(value)
        if pattern is None or value is None:
            return None
        return int(compiled_glob(pattern).fullmatch(str(value)) is not None)


COMPILED: dict[str, re.Pattern] = {}


def compiled_glob(pattern: str) -> re.Pattern:
    if pattern not in COMPILED:
        parts = re.findall(r"\[[^\]]+\]|\*|\?|.", pattern, re.DOTALL)
        text = "".join(
            ONE.get(part) or (part if len(part) > 1 else re.escape(part)) for part in parts
        )
        COMPILED[pattern] = re.compile(text.replace("[[]", r"\[").replace("[?]", r"\?"), re.DOTALL)
    return COMPILED[pattern]
