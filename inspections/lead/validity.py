"""The validity of readings: which calibration checks of their instrument confirm them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from inspections.lead.calibration_checks import PASS
from models.vocabulary import VALIDITIES

VALID, NO_CHECK, LATE, UNCONFIRMED, DOUBTFUL = VALIDITIES


@dataclass(frozen=True, slots=True)
class Check:
    """A calibration check of an instrument."""

    at: str
    result: str | None
    mean: float | None

    @property
    def passed(self) -> bool:
        return self.result == PASS


@dataclass(frozen=True, slots=True)
class CheckedReading:
    """The validity of a reading, and the checks before and after it."""

    validity: str
    before: Check | None = None
    after: Check | None = None


UNCHECKED: Final = CheckedReading(NO_CHECK)


def checks_by_instrument(rows: Iterable[Mapping[str, Any]]) -> dict[int, list[Check]]:
    """Return the checks of each instrument in the order of time, from rows of calibration_checks."""
    found: dict[int, list[Check]] = {}
    for row in sorted(rows, key=lambda row: (row["taken_at"], row["id"])):
        found.setdefault(row["gun_id"], []).append(Check(row["taken_at"], row["result"], row["mean"]))
    return found


def check_reading(taken_at: str | None, checks: Sequence[Check], minutes: int) -> CheckedReading:
    """Return the validity of a reading by all checks of its instrument in the inspection.

    A reading without a time has no check before it.
    """
    if taken_at is None:
        return UNCHECKED
    place = bisect_right([each.at for each in checks], taken_at)
    before = checks[place - 1] if place else None
    after = checks[place] if place < len(checks) else None
    if before is None or not before.passed:
        return CheckedReading(NO_CHECK, before, after)
    if minutes_between(before.at, taken_at) > minutes:
        return CheckedReading(LATE, before, after)
    if after is None:
        return CheckedReading(UNCONFIRMED, before)
    return CheckedReading(VALID if after.passed else DOUBTFUL, before, after)


def minutes_between(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds() / 60
