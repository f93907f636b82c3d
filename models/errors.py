"""What can go wrong, said as facts: an exception carries its message, details and hint, and no status.

Which status and code a fact has on the wire stands in one table, `routes/postgrest/errors.py`.
"""

from __future__ import annotations


class Fault(Exception):
    """Anything a caller may be told. `message` is for people, `hint` says what to try."""

    def __init__(self, message: str, details: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.hint = hint


class Denial(Fault):
    """A refusal of what somebody may not do, of which the audit trail is told."""
