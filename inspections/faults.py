"""The refusals of the subject, each with its message. `routes/postgrest/errors.py` maps them to status and code."""

from __future__ import annotations

from engine.query.constraints import UniqueViolation
from models.errors import Fault


class NoSuchRow(Fault):
    """A row that does not exist or is not visible. The message is the same."""

    def __init__(self, noun: str) -> None:
        super().__init__(f"{noun} not found")


class NoSuchBuilding(NoSuchRow):
    def __init__(self) -> None:
        super().__init__("Building")


class InvalidClosing(Fault):
    """Arguments that close no visit."""


class InvalidMove(Fault):
    """Arguments that no move of a finding has."""


class VisitNotStartable(Fault):
    def __init__(self) -> None:
        super().__init__("a completed, failed or cancelled inspection cannot be started")


class VisitClosed(Fault):
    def __init__(self) -> None:
        super().__init__("a completed, failed or cancelled inspection cannot be closed")


class VisitWithoutResult(Fault):
    def __init__(self) -> None:
        super().__init__("only a completed or failed inspection is re-inspected")


class RoundOpen(UniqueViolation):
    """A case has at most one open round, as the unique index of this name says."""

    def __init__(self) -> None:
        super().__init__("inspection_plans_open_round_key")


class VisitRequired(Fault):
    def __init__(self) -> None:
        super().__init__("an inspection that its schedule or case requires cannot be deleted: cancel it")


class VisitNotSkippable(Fault):
    def __init__(self) -> None:
        super().__init__("only an open inspection of a schedule can be skipped")


class MoveNotAllowed(Fault):
    """A move that a finding of this status does not have, or that lacks what it needs. The details say which."""

    def __init__(self, details: str) -> None:
        super().__init__("a finding cannot be moved in this way", details)


class InspectorNotManager(Fault):
    def __init__(self) -> None:
        super().__init__("an inspector is linked to a user with the role client_manager only")
