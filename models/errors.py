"""Base classes of errors: a message, details and a hint, without an HTTP status.

`routes/postgrest/errors.py` maps each class to its status and code.
"""

from __future__ import annotations


class Fault(Exception):
    """An error that is reported to the caller. `message` is for people; `hint` proposes a remedy."""

    def __init__(self, message: str, details: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.hint = hint

    def locate(self, place: str) -> None:
        """Begin the details with a place in the request: `row 3, column name`."""
        self.details = f"{place}: {self.details}" if self.details else place


class Denial(Fault):
    """A refusal for lack of permission. The audit log records it."""
