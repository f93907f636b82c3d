"""The outcome of a planned visit, by its outcome before a write and the status that the write leaves.

The table is the only place of these rules. `visits.InspectionRule` applies it to every write of an inspection's status.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from models.vocabulary import CANCELLED, COMPLETED, DONE, EARLY, FAILED, IN_PROGRESS, SCHEDULED, SKIPPED

RESULT: Final = "result"
"""The visit took place: `early` before the window of its occurrence, else `done`."""

REOPENED: Final[Mapping[str | None, str | None]] = {SCHEDULED: None, IN_PROGRESS: None}

TRANSITIONS: Final[Mapping[str | None, Mapping[str | None, str | None]]] = {
    None: {**REOPENED, COMPLETED: RESULT, FAILED: RESULT, CANCELLED: CANCELLED},
    DONE: {**REOPENED, COMPLETED: DONE, FAILED: DONE, CANCELLED: CANCELLED},
    EARLY: {**REOPENED, COMPLETED: EARLY, FAILED: EARLY, CANCELLED: CANCELLED},
    SKIPPED: {**REOPENED, COMPLETED: RESULT, FAILED: RESULT, CANCELLED: SKIPPED},
    CANCELLED: {**REOPENED, COMPLETED: RESULT, FAILED: RESULT, CANCELLED: CANCELLED},
}
"""By old outcome, None for an open visit, and by new status. Another status leaves the outcome as it is."""

ENDS_OCCURRENCE: Final = frozenset({DONE, SKIPPED})
"""The outcomes after which the next occurrence is due. After the others, the same one is due again."""


def outcome_after(outcome: str | None, status: str | None) -> str | None:
    """Return the outcome, RESULT, or None for an open visit.

    >>> outcome_after("done", "cancelled"), outcome_after("skipped", "completed"), outcome_after("done", "on hold")
    ('cancelled', 'result', 'done')
    """
    return TRANSITIONS[outcome].get(status, outcome)
