"""The faults of a database that both engines raise. `engine/query/constraints.py` has those of a row."""

from __future__ import annotations

from models.errors import Fault

VALUE_BYTES_MAX = 32 << 20  # the limit of a whole response


class TimedOut(Fault):
    """A statement was stopped at its deadline (57014)."""

    def __init__(self) -> None:
        super().__init__("canceling statement due to statement timeout")


class ResponseTooLarge(Fault):
    """The rows exceed the limit of a response (54000)."""

    def __init__(self) -> None:
        super().__init__(
            f"the response is larger than {VALUE_BYTES_MAX} bytes", hint="Narrow the select or lower the limit."
        )


class DiskFull(Fault):
    """The disk is full (53100)."""


class DiskFailed(Fault):
    """The disk or the file failed (58030)."""


class FileCorrupt(Fault):
    """The database is damaged (XX001)."""


class NotADatabase(FileCorrupt):
    """The file has no SQLite header."""


DISK_FAULTS = (DiskFull, DiskFailed, FileCorrupt)


class TooManyConnections(Fault):
    """Every connection is in use (53300). A retry is right."""


class LockTimeout(Fault):
    """The writer lock did not become free in time (55P03). A retry is right."""

    def __init__(self) -> None:
        super().__init__("canceling statement due to lock timeout", hint="Another write is under way; try again.")


class Locked(Fault):
    """The writer lock was not available in time (55P03)."""


class SerializationConflict(Locked):
    """The server rolled back this transaction, and its write can run alone (40001, 40P01)."""


class BeyondClient(SerializationConflict):
    """A write under the lock of one client decides rights or concerns another client."""

    def __init__(self) -> None:
        super().__init__("could not serialize access due to concurrent update")


class StaleLookUp(Exception):
    """The caller is not the one that a transaction presumed (`Transaction.one_verified_later`). Read again."""


class Unreachable(Fault):
    """The server does not answer or refuses the connection (08006). The client may retry."""


class OnlyReads(Unreachable):
    """The server accepts no writes, for example because it is a standby. It may become a primary."""

    def __init__(self) -> None:
        super().__init__("the database is read-only: it is a standby, or default_transaction_read_only is on")


class NotPermitted(Fault):
    """The service's database user lacks a privilege (42501).

    `reason` may name hidden tables, so commands print it and responses do not hold it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__("the service's database user lacks a privilege that it needs")
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.message}: {self.reason}"


class Unresolved(Unreachable):
    """The server did not answer a COMMIT (08007). A retry may write twice."""


class NotCommitted(RuntimeError):
    """A transaction that should commit cannot, because a caller swallowed an error. This is a programming error."""
