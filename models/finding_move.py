"""The moves of findings: which kind of event leads from which status to which, who may cause it, and what it needs.

The statuses and kinds, their CHECKs, move_findings and regrade_finding, the policy and the console follow this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from models.vocabulary import (
    COMPLETED,
    EXTENDED,
    FIXED,
    IN_PROGRESS,
    MADE,
    NOTIFIED,
    OPEN,
    REGRADED,
    REMARK,
    REOPENED,
    VERIFIED,
    WAIVED,
)


class Mover(Enum):
    """Who may cause a move of a finding that they see."""

    READER = "everybody"
    DECIDER = "admins"
    INSPECTOR = "admins, and inspectors with a visit of the case"
    GRADER = "admins, and the inspector of the finding's visit while that is open"


NOTE: Final = "p_note"
VISIT: Final = "p_inspection_id"
HOW: Final = "p_how"
DUE_AT: Final = "p_due_at"


class Begin(Enum):
    """The statuses from which a move leads."""

    OPEN = auto()
    UNRESOLVED = auto()
    NOT_OPEN = auto()
    ANY = auto()


@dataclass(frozen=True, slots=True)
class FindingMove:
    """A move to the status `target`. Its event has the kind `kind`.

    `needs`: the required parameters. `fixes`: the finding counts as fixed. `closes`: nothing remains to be done.
    `verb` and `words` are a button and an event of the console; `done`, by default the kind, continues "3 findings".
    `view` is the quick view of the status, and `colour` the status of an inspection that has the same colour.
    """

    kind: str
    begin: Begin
    target: str | None
    who: Mover
    needs: tuple[str, ...]
    verb: str
    words: str
    done: str = ""
    fixes: bool = False
    closes: bool = False
    view: str = ""
    colour: str = ""

    @property
    def sources(self) -> tuple[str, ...]:
        """The statuses from which the move leads."""
        return STATUSES_OF[self.begin]

    def status_after(self, status: str) -> str:
        """Return the status of a moved finding. A move without a target keeps it."""
        return self.target or status


# fmt: off
FINDING_MOVES: Final = (
    FindingMove(
        FIXED, Begin.OPEN, FIXED, Mover.READER, (), "Mark fixed", "Marked fixed",
        fixes=True, view="To verify", colour=IN_PROGRESS,
    ),
    FindingMove(
        VERIFIED, Begin.UNRESOLVED, VERIFIED, Mover.INSPECTOR, (VISIT, HOW), "Verify", "Verified",
        fixes=True, closes=True, colour=COMPLETED,
    ),
    FindingMove(WAIVED, Begin.UNRESOLVED, WAIVED, Mover.DECIDER, (NOTE,), "Waive", "Waived", closes=True),
    FindingMove(REOPENED, Begin.NOT_OPEN, OPEN, Mover.INSPECTOR, (NOTE,), "Reopen", "Reopened"),
    FindingMove(EXTENDED, Begin.OPEN, OPEN, Mover.DECIDER, (DUE_AT, NOTE), "Extend", "Deadline extended"),
    FindingMove(REGRADED, Begin.OPEN, OPEN, Mover.GRADER, (NOTE,), "Regrade", "Severity changed"),
    FindingMove(REMARK, Begin.ANY, None, Mover.READER, (NOTE,), "Remark", "Remark", "remarked"),
)
# fmt: on

FINDING_STATUSES: Final = tuple(dict.fromkeys((OPEN, *(move.target for move in FINDING_MOVES if move.target))))
UNRESOLVED: Final = tuple(
    dict.fromkeys((OPEN, *(move.target for move in FINDING_MOVES if move.target and not move.closes)))
)
"""The statuses of the findings that every `open_findings` counts: neither verified nor waived."""
STATUSES_OF: Final = {
    Begin.OPEN: (OPEN,),
    Begin.UNRESOLVED: UNRESOLVED,
    Begin.NOT_OPEN: tuple(each for each in FINDING_STATUSES if each != OPEN),
    Begin.ANY: FINDING_STATUSES,
}
EVENT_KINDS: Final = (MADE, *(move.kind for move in FINDING_MOVES), NOTIFIED)
MOVE_OF_KIND: Final = {move.kind: move for move in FINDING_MOVES}

FUNCTION_TARGETS: Final = tuple(
    dict.fromkeys(move.target or move.kind for move in FINDING_MOVES if move.kind != REGRADED)
)
"""What move_findings takes as `p_to`: a status, or the kind of a move that keeps the status."""


def move_between(status: str, target: str) -> FindingMove | None:
    """Return the move of move_findings from a status to a target, or None if there is none."""
    return next(
        (
            move for move in FINDING_MOVES
            if status in move.sources and (move.target or move.kind) == target and move.kind != REGRADED
        ),
        None,
    )  # fmt: skip
