"""What the readings of an inspection prove: the result of each that counts, and the problems that are left.

reclassify_readings classifies the readings of an inspection again, by the limits of today.
"""

from __future__ import annotations

import datetime
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import sqlalchemy as sa

from access import policy
from access.caller import Caller
from access.decorators import function
from access.explain import ROW_ID, can_read
from access.policy import PermissionDenied
from access.predicates import required_parameter
from access.roles import EVERY_ROLE
from engine.interface.database import Transaction
from engine.query.read.planner import Planner
from engine.query.statement import UNRESTRICTED, Action
from engine.query.write.rules import Key
from engine.rows import Select, prepared, read_rows, update_rows
from inspections.faults import NoSuchRow, ReportTooLarge
from inspections.lead.classification import (
    DEFAULT_SHEET,
    LESS_THAN,
    Outcome,
    Reading,
    Standard,
    Standards,
    by_owner,
    classify_readings,
    gravest,
    in_conflict,
    instrument_of,
    lacks_value,
    read_standards,
    result_counts,
    thousandths,
)
from inspections.lead.readings import INPUTS, OUTCOME, PASS, TABLE
from models import Inspection, ReportLead
from models.types import BIGINT
from models.vocabulary import INCONCLUSIVE, MG_CM2, NEGATIVE, POSITIVE, STANDARD, VALIDITIES, XRF

VALID, NO_CHECK, LATE, UNCONFIRMED, DOUBTFUL = VALIDITIES
INVALID: Final = (NO_CHECK, LATE, DOUBTFUL)
"""The validities of readings that do not count."""


@dataclass(frozen=True, slots=True)
class Check:
    """A calibration check of an instrument."""

    at: str
    result: str | None
    mean: float | None

    @property
    def passed(self) -> bool:
        return self.result == PASS


class Checks:
    """The checks of an instrument in an inspection, in the order of time."""

    def __init__(self, rows: Iterable[Mapping[str, Any]] = ()) -> None:
        self.ordered = [
            Check(row["taken_at"], row["result"], row["mean"])
            for row in sorted(rows, key=lambda row: (row["taken_at"], row["id"]))
        ]
        self.times = [each.at for each in self.ordered]

    def around(self, moment: str) -> tuple[Check | None, Check | None]:
        """Return the last check until a moment, and the next one."""
        place = bisect_right(self.times, moment)
        return self.ordered[place - 1] if place else None, self.ordered[place] if place < len(self.times) else None


@dataclass(frozen=True, slots=True)
class CheckedReading:
    """The validity of a reading, and the checks before and after it."""

    validity: str
    before: Check | None = None
    after: Check | None = None


UNCHECKED: Final = CheckedReading(NO_CHECK)


def checks_by_instrument(rows: Iterable[Mapping[str, Any]]) -> dict[int, Checks]:
    """Return the checks of each instrument, from rows of calibration_checks."""
    found: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["gun_id"], []).append(row)
    return {gun_id: Checks(of_gun) for gun_id, of_gun in found.items()}


def check_reading(taken_at: str | None, checks: Checks, minutes: int) -> CheckedReading:
    """Return the validity of a reading by all checks of its instrument in the inspection.

    A reading without a time has no check before it.
    """
    if taken_at is None:
        return UNCHECKED
    before, after = checks.around(taken_at)
    if before is None or not before.passed:
        return CheckedReading(NO_CHECK, before, after)
    if minutes_between(before.at, taken_at) > minutes:
        return CheckedReading(LATE, before, after)
    if after is None:
        return CheckedReading(UNCONFIRMED, before)
    return CheckedReading(VALID if after.passed else DOUBTFUL, before, after)


def minutes_between(start: str, end: str) -> float:
    return (datetime.datetime.fromisoformat(end) - datetime.datetime.fromisoformat(start)).total_seconds() / 60


ROWS_MAX: Final = 10_000
"""The rows of one table in a summary or report."""

UNKNOWN_GUN: Final = "unknown_gun"
FAILED_CHECK: Final = "failed_check"
CONFLICT: Final = "conflict"
UNDECIDED: Final = INCONCLUSIVE
OTHER_STANDARD: Final = "limits_of_another_standard"
OUT_OF_SERVICE: Final = "out_of_service"
OUTSIDE_VISIT: Final = "outside_visit"
NO_VALUE: Final = "no_value"
DOUBTS: Final = (UNKNOWN_GUN, CONFLICT, UNDECIDED, OTHER_STANDARD, OUT_OF_SERVICE, OUTSIDE_VISIT, NO_VALUE)
"""The problems of single readings beside those of their instrument and its checks."""

READING_COLUMNS: Final = (
    "id", "gun_id", "taken_at", "component", "method", "lead_mg_cm2", "lead_percent", "qualifier", "classification",
    "result", "negative_below", "limits_from", "voided", "confirms_id",
)  # fmt: skip
CHECK_COLUMNS: Final = ("id", "gun_id", "taken_at", "result", "mean", "voided")
INSTRUMENT_COLUMNS: Final = (
    "id", "gun_id", "client_id", "make", "model", "serial", "mode", "sheet", "sheet_on", "check_minutes",
    "negative_below", "positive_from", "service_due_on", "leak_test_due_on", "retired_on",
)  # fmt: skip

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why readings of an instrument do not count yet. docs/LEAD.md lists the codes.

    at: the first of the readings; of failed_check, the check. mean: that of the check. readings: their number.
    """

    code: str
    gun_id: int | None
    at: str | None
    mean: float | None
    readings: int


@dataclass(frozen=True, slots=True)
class Assessed:
    """A reading: its result that counts, its doubts, and the checks around it if it is of an XRF instrument.

    An inconclusive `result` is one that nothing decides yet. Reports count it as positive.
    """

    row: Row
    result: str | None
    doubts: tuple[str, ...]
    checked: CheckedReading | None

    @property
    def validity(self) -> str | None:
        return self.checked.validity if self.checked is not None else None


@dataclass(frozen=True, slots=True)
class Lead:
    """The readings and checks of an inspection without the voided ones, and the instruments that both name."""

    readings: Sequence[Assessed]
    checks: Mapping[int, Checks]
    instruments: Mapping[int, Row]
    standards: Standards
    by_gun: Mapping[int | None, Sequence[Assessed]] = field(default_factory=dict)

    def guns(self) -> list[int]:
        """Return the numbers of the instruments that readings or checks name."""
        return sorted({gun_id for gun_id in self.by_gun if gun_id is not None} | set(self.checks))

    def problems(self) -> list[Problem]:
        """Return the problems by instrument, in the order of time."""
        found: list[Problem] = []
        for gun_id in sorted(self.by_gun, key=lambda gun: (gun is None, gun or 0)):
            readings = self.by_gun[gun_id]
            doubts = list(problems_of_readings(gun_id, readings))
            unknown = [each for each in doubts if each.code == UNKNOWN_GUN]
            found += [*unknown, *problems_of_checks(gun_id, readings), *doubts[len(unknown) :]]
        return found


def problems_of_checks(gun_id: int | None, readings: Iterable[Assessed]) -> Iterator[Problem]:
    """Yield the problems of the readings of XRF instruments that no checks confirm."""
    invalid: dict[tuple[str, str | None], list[Row]] = {}
    failed: dict[str, Check] = {}
    for each in readings:
        if each.checked is None or each.checked.validity == VALID:
            continue
        after = each.checked.after if each.validity == DOUBTFUL else None
        if after is not None:
            failed[after.at] = after
        invalid.setdefault((each.checked.validity, after.at if after is not None else None), []).append(each.row)
    for (validity, check_at), rows in invalid.items():
        if check_at is not None:
            yield Problem(FAILED_CHECK, gun_id, check_at, failed[check_at].mean, len(rows))
        else:
            yield Problem(validity, gun_id, first_time(rows), None, len(rows))


def problems_of_readings(gun_id: int | None, readings: Iterable[Assessed]) -> Iterator[Problem]:
    """Yield the doubts of readings, in the order of DOUBTS."""
    doubtful: dict[str, list[Row]] = {}
    for each in readings:
        for doubt in each.doubts:
            doubtful.setdefault(doubt, []).append(each.row)
    for doubt in DOUBTS:
        if doubt in doubtful:
            at = None if doubt == UNKNOWN_GUN else first_time(doubtful[doubt])
            yield Problem(doubt, gun_id, at, None, len(doubtful[doubt]))


def first_time(rows: Iterable[Row]) -> str | None:
    return min((each["taken_at"] for each in rows if each["taken_at"] is not None), default=None)


# Reading the rows


def read_lead(transaction: Transaction, caller: Caller, inspection_id: int) -> Lead:
    """Return what the readings of a visible inspection prove. Raise NoSuchRow or ReportTooLarge.

    Who sees an inspection sees its readings and checks, and the instruments that they name. So the result is the same
    for everybody, and the rows are read without the caller's rule.
    """
    if not can_read(transaction, caller, Inspection, inspection_id):
        raise NoSuchRow("Inspection")
    columns = ("id", "client_id", "date_visited")
    [visit] = read_rows(transaction, UNRESTRICTED, "inspections", columns, id=inspection_id)
    readings = [
        each
        for each in rows_of_inspection(transaction, "reports_lead", READING_COLUMNS, inspection_id)
        if not each["voided"]
    ]
    taken = rows_of_inspection(transaction, "calibration_checks", CHECK_COLUMNS, inspection_id)
    checks = checks_by_instrument(each for each in taken if not each["voided"])
    guns = sorted({each["gun_id"] for each in readings if each["gun_id"] is not None} | set(checks))
    owned = by_owner(read_rows(transaction, UNRESTRICTED, "xrf_instruments", INSTRUMENT_COLUMNS, gun_id=guns))
    named = ((gun_id, instrument_of(owned, gun_id, visit["client_id"])) for gun_id in guns)
    instruments = {gun_id: row for gun_id, row in named if row is not None}
    standards = read_standards(transaction, [inspection_id])[inspection_id]
    assessed = Assessment(transaction, visit, instruments, checks, standards).assess(readings)
    by_gun: dict[int | None, list[Assessed]] = {}
    for each in assessed:
        by_gun.setdefault(each.row["gun_id"], []).append(each)
    return Lead(assessed, checks, instruments, standards, by_gun)


def rows_of_inspection(
    transaction: Transaction, table: str, columns: tuple[str, ...], inspection_id: int
) -> list[dict[str, Any]]:
    """Return the rows of an inspection in the order of their ids. Raise ReportTooLarge above ROWS_MAX rows."""
    rows = read_rows(transaction, UNRESTRICTED, table, columns, inspection_id=inspection_id, limit=ROWS_MAX + 1)
    if len(rows) > ROWS_MAX:
        raise ReportTooLarge(ROWS_MAX, table)
    return rows


class Assessment:
    """Assesses the readings of one inspection. The work is linear in their number."""

    def __init__(
        self,
        transaction: Transaction,
        visit: Row,
        instruments: Mapping[int, Row],
        checks: Mapping[int, Checks],
        standards: Standards,
    ) -> None:
        self.zone = transaction.time_zone
        self.visited = datetime.date.fromisoformat(visit["date_visited"]) if visit["date_visited"] else None
        self.instruments = instruments
        self.checks = checks
        self.standard: Standard | None = standards.get(MG_CM2)

    def assess(self, readings: Sequence[Row]) -> list[Assessed]:
        checked = {each["id"]: self.check(each) for each in readings if each["method"] == XRF}
        results = {each["id"]: self.result_of(each) for each in readings}
        decide(readings, results, {key for key, each in checked.items() if each.validity in INVALID})
        return [
            Assessed(each, results[each["id"]], tuple(self.doubts(each, results[each["id"]])), checked.get(each["id"]))
            for each in readings
        ]

    def check(self, reading: Row) -> CheckedReading:
        gun_id = reading["gun_id"]
        if gun_id is None:
            return UNCHECKED
        instrument = self.instruments.get(gun_id)
        minutes = DEFAULT_SHEET.check_minutes if instrument is None else instrument["check_minutes"]
        return check_reading(reading["taken_at"], self.checks.get(gun_id, NO_CHECKS), minutes)

    def result_of(self, reading: Row) -> str | None:
        """Return the result of a reading without regard to others. What lies between two standards is positive."""
        result = result_counts(reading["classification"], reading["result"], reading["method"])
        return POSITIVE if result == NEGATIVE and self.reaches_standard(reading) else result

    def is_of_unknown_gun(self, reading: Row) -> bool:
        """Return whether the instrument of a reading is unknown, or was when the reading was classified."""
        gun_id, is_chip = reading["gun_id"], reading["lead_mg_cm2"] is None and reading["lead_percent"] is not None
        return gun_id is not None and (
            gun_id not in self.instruments or (reading["limits_from"] == STANDARD and not is_chip)
        )

    def has_other_limits(self, reading: Row) -> bool:
        """Return whether the limits of an XRF reading call values negative that the standard calls lead-based."""
        below = reading["negative_below"]
        return (
            reading["method"] == XRF
            and self.standard is not None
            and below is not None
            and reading["lead_mg_cm2"] is not None
            and self.standard.threshold < thousandths(below)
        )

    def reaches_standard(self, reading: Row) -> bool:
        if not self.has_other_limits(reading):
            return False
        assert self.standard is not None
        value, threshold = thousandths(reading["lead_mg_cm2"]), self.standard.threshold
        return value > threshold if reading["qualifier"] == LESS_THAN else value >= threshold

    def doubts(self, reading: Row, result: str | None) -> Iterator[str]:
        if reading["method"] == XRF and self.is_of_unknown_gun(reading):
            yield UNKNOWN_GUN
        if in_conflict(reading["classification"], reading["result"]):
            yield CONFLICT
        if result == INCONCLUSIVE:
            yield UNDECIDED
        if self.has_other_limits(reading):
            yield OTHER_STANDARD
        day = self.day_of(reading)
        if reading["method"] == XRF and day is not None and self.is_out_of_service(reading, day):
            yield OUT_OF_SERVICE
        if self.visited is not None and day is not None and abs((day - self.visited).days) > 1:
            yield OUTSIDE_VISIT
        if lacks_value(reading["method"], reading["qualifier"], reading["lead_mg_cm2"], reading["lead_percent"]):
            yield NO_VALUE

    def day_of(self, reading: Row) -> datetime.date | None:
        """Return the day of a reading, or that of the visit for one without a time."""
        if reading["taken_at"] is None:
            return self.visited
        return datetime.datetime.fromisoformat(reading["taken_at"]).astimezone(self.zone).date()

    def is_out_of_service(self, reading: Row, day: datetime.date) -> bool:
        """Return whether the instrument was retired, or its service or leak test overdue."""
        instrument, text = self.instruments.get(reading["gun_id"]), day.isoformat()
        if instrument is None:
            return False
        is_retired = instrument["retired_on"] is not None and instrument["retired_on"] <= text
        return is_retired or any(
            instrument[name] is not None and instrument[name] < text for name in ("service_due_on", "leak_test_due_on")
        )


NO_CHECKS: Final = Checks()


def decide(readings: Sequence[Row], results: dict[int, str | None], invalid: set[int]) -> None:
    """Replace inconclusive results by those of the readings that confirm them, the gravest first.

    A reading without a valid check decides nothing. A decided reading may decide another one.
    """
    confirms = {each["id"]: each["confirms_id"] for each in readings if each["confirms_id"] is not None}
    undecided = {key for key, result in results.items() if result == INCONCLUSIVE}
    pending = [key for key in confirms if key not in undecided and key not in invalid]
    while pending:
        key = pending.pop()
        target, result = confirms.get(key), results[key]
        if target not in undecided or result is None:
            continue
        known = results[target]
        decided = result if known == INCONCLUSIVE else gravest((known, result))
        if decided != known:
            results[target] = decided
            if target not in invalid:
                pending.append(target)


@dataclass(frozen=True, slots=True)
class Reclassification:
    """The number of readings whose classification, result or limits changed."""

    changed: int


@function(
    "reclassify_readings",
    summary="Classify the readings of an inspection by the limits of today",
    roles=EVERY_ROLE,
    parameters={"p_inspection_id": required_parameter(BIGINT)},
    is_volatile=True,
)
def reclassify_readings(transaction: Transaction, caller: Caller, inspection_id: int) -> Reclassification:
    """Classify the readings that are not voided, and that the caller may change.

    A result that was the classification follows it. Raise NoSuchRow or PermissionDenied.
    """
    if not can_read(transaction, caller, Inspection, inspection_id):
        raise NoSuchRow("Inspection")
    policy.require(caller.profile, Action.UPDATE, ReportLead)
    columns = ("id", *INPUTS, *OUTCOME, "result", "voided")
    rows = [each for each in rows_of_inspection(transaction, TABLE, columns, inspection_id) if not each["voided"]]
    writable = {key for (key,) in writable_statement.all(transaction, caller, row_id=inspection_id)}
    if rows and not writable:
        raise PermissionDenied(f"permission denied for table {TABLE}")
    rows = [each for each in rows if each["id"] in writable]
    outcomes = classify_readings(transaction, [Reading(*(row[name] for name in INPUTS)) for row in rows])
    changes: dict[tuple[Any, ...], list[Key]] = {}
    for row, outcome in zip(rows, outcomes, strict=True):
        new = values_of(row, outcome)
        if any(row[name] != value for name, value in new.items()):
            changes.setdefault(tuple(new.values()), []).append((row["id"],))
    for values, keys in changes.items():
        update_rows(transaction, TABLE, keys, dict(zip((*OUTCOME, "result"), values, strict=True)))
    return Reclassification(sum(map(len, changes.values())))


def values_of(row: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    """Return the columns of a reading that the service computes. A person's own result stays."""
    follows = row["result"] is None or row["result"] == row["classification"]
    new = {name: getattr(outcome, name) for name in OUTCOME}
    return {**new, "result": outcome.classification if follows else row["result"]}


@prepared(Planner)
def writable_statement(planner: Planner) -> Select:
    """Return the query for the ids of the readings of an inspection that a caller may change."""
    row, scope = planner.visible(ReportLead, Action.UPDATE)
    return sa.select(row.c.id).where(row.c.inspection_id == ROW_ID, scope)
