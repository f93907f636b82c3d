"""lead_summary: the readings of an inspection, what confirms them, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import sqlalchemy as sa

from access.caller import Caller
from access.functions import function
from access.parameters import required_parameter
from access.policy import AccessRule
from access.roles import EVERY_ROLE
from engine.interface.transaction import Transaction
from engine.query.catalog import catalog
from engine.query.dialect.registry import DIALECTS
from engine.query.plan_cache import PLANS_MAX
from engine.query.read.planner import Planner
from engine.query.statement import Statement, parameter
from inspections.faults import NoSuchRow
from inspections.lead.sheets import DEFAULT_SHEET, is_usable
from inspections.lead.validity import (
    DOUBTFUL,
    UNCHECKED,
    VALID,
    Check,
    CheckedReading,
    check_reading,
    checks_by_instrument,
)
from models.types import BIGINT
from models.vocabulary import INCONCLUSIVE, NEGATIVE, POSITIVE, READING_RESULTS, VALIDITIES, XRF

UNKNOWN_GUN: Final = "unknown_gun"
FAILED_CHECK: Final = "failed_check"
READING_COLUMNS = (
    "id", "gun_id", "taken_at", "component", "method", "classification", "result", "voided"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Gun:
    """An instrument that readings or checks name: its serial number, if it is known, and the number of its checks."""

    gun_id: int
    serial: str | None
    checks: int
    failed: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Why readings of an instrument do not count yet: no_check, late, open, failed_check or unknown_gun.

    at: the first of the readings; of failed_check, the check. mean: that of the check. readings: their number.
    """

    code: str
    gun_id: int | None
    at: str | None
    mean: float | None
    readings: int


@dataclass(frozen=True, slots=True)
class ComponentCount:
    """The readings of a component by their classification."""

    component: str | None
    readings: int
    positive: int
    negative: int
    inconclusive: int


@dataclass(frozen=True, slots=True)
class LeadSummary:
    """The readings of an inspection without the voided ones.

    positive, negative, inconclusive: by the classification, or by the result of a reading without a value.
    validity: the readings of XRF instruments by validity. complete: there are readings, and no problems.
    """

    readings: int
    positive: int
    negative: int
    inconclusive: int
    validity: dict[str, int]
    guns: list[Gun]
    problems: list[Problem]
    complete: bool
    by_component: list[ComponentCount]


@function(
    "lead_summary",
    summary="The lead readings of an inspection, their validity, and what is missing",
    roles=EVERY_ROLE,
    parameters={"p_inspection_id": required_parameter(BIGINT)},
)
def lead_summary(transaction: Transaction, caller: Caller, inspection_id: int) -> LeadSummary:
    """Return the summary of a visible inspection. Raise NoSuchRow."""
    lead = read_lead(transaction, caller, inspection_id)
    counts = Counter(outcome_of(each) for each in lead.readings)
    problems = lead.problems()
    return LeadSummary(
        len(lead.readings),
        counts[POSITIVE],
        counts[NEGATIVE],
        counts[INCONCLUSIVE],
        {each: sum(checked.validity == each for checked in lead.checked.values()) for each in VALIDITIES},
        lead.guns(),
        problems,
        bool(lead.readings) and not problems,
        count_by_component(lead.readings),
    )


@dataclass(frozen=True, slots=True)
class LeadRows:
    """The visible rows of an inspection: readings without the voided ones, checks and instruments.

    `checked` has the validity of each reading of an XRF instrument by its id.
    """

    readings: Sequence[Mapping[str, Any]]
    checks: Mapping[int, Sequence[Check]]
    instruments: Mapping[int, Mapping[str, Any]]
    checked: Mapping[int, CheckedReading]

    def guns(self) -> list[Gun]:
        """Return the instruments that readings or checks name, by number."""
        named = {each["gun_id"] for each in self.readings if each["gun_id"] is not None} | set(self.checks)
        return [
            Gun(
                gun_id,
                self.instruments[gun_id]["serial"] if gun_id in self.instruments else None,
                len(self.checks.get(gun_id, ())),
                sum(not each.passed for each in self.checks.get(gun_id, ())),
            )
            for gun_id in sorted(named)
        ]

    def problems(self) -> list[Problem]:
        """Return the problems by instrument, in the order of time."""
        found: list[Problem] = []
        for gun_id in sorted({each["gun_id"] for each in self.measured()}, key=lambda gun: (gun is None, gun or 0)):
            of_gun = [each for each in self.measured() if each["gun_id"] == gun_id]
            found += self.problems_of(gun_id, of_gun)
        return found

    def problems_of(self, gun_id: int | None, readings: Sequence[Mapping[str, Any]]) -> Iterable[Problem]:
        if gun_id is not None and gun_id not in self.instruments:
            yield Problem(UNKNOWN_GUN, gun_id, None, None, len(readings))
        invalid: dict[tuple[str, str | None], list[Mapping[str, Any]]] = {}
        failed: dict[str, Check] = {}
        for each in readings:
            checked = self.checked[each["id"]]
            after = checked.after if checked.validity == DOUBTFUL else None
            if after is not None:
                failed[after.at] = after
            if checked.validity != VALID:
                invalid.setdefault((checked.validity, after.at if after is not None else None), []).append(each)
        for (validity, check_at), rows in invalid.items():
            if check_at is not None:
                yield Problem(FAILED_CHECK, gun_id, check_at, failed[check_at].mean, len(rows))
            else:
                first = min((each["taken_at"] for each in rows if each["taken_at"] is not None), default=None)
                yield Problem(validity, gun_id, first, None, len(rows))

    def measured(self) -> list[Mapping[str, Any]]:
        """Return the readings of XRF instruments."""
        return [each for each in self.readings if each["method"] == XRF]


def read_lead(transaction: Transaction, caller: Caller, inspection_id: int) -> LeadRows:
    """Return the readings, checks and instruments of a visible inspection. Raise NoSuchRow."""
    read = visible_rows(transaction, caller)
    found = read("inspections", ("id", "client_id"), "id", [inspection_id])
    if not found:
        raise NoSuchRow("Inspection")
    readings = [
        each for each in read("reports_lead", READING_COLUMNS, "inspection_id", [inspection_id]) if not each["voided"]
    ]
    columns = ("id", "gun_id", "taken_at", "result", "mean")
    checks = checks_by_instrument(read("calibration_checks", columns, "inspection_id", [inspection_id]))
    guns = sorted({each["gun_id"] for each in readings if each["gun_id"] is not None} | set(checks))
    named = ("gun_id", "client_id", "serial", "check_minutes")
    instruments = {
        each["gun_id"]: each
        for each in read("xrf_instruments", named, "gun_id", guns)
        if is_usable(each, found[0]["client_id"])
    }

    def check(reading: Mapping[str, Any]) -> CheckedReading:
        gun_id = reading["gun_id"]
        if gun_id is None:
            return UNCHECKED
        instrument = instruments.get(gun_id)
        minutes = DEFAULT_SHEET.check_minutes if instrument is None else instrument["check_minutes"]
        return check_reading(reading["taken_at"], checks.get(gun_id, ()), minutes)

    checked = {each["id"]: check(each) for each in readings if each["method"] == XRF}
    return LeadRows(readings, checks, instruments, checked)


def outcome_of(reading: Mapping[str, Any]) -> str | None:
    """Return the classification of a reading, or the result of one without a value."""
    outcome: str | None = reading["classification"] or reading["result"]
    return outcome


def count_by_component(readings: Sequence[Mapping[str, Any]]) -> list[ComponentCount]:
    """Return the counts of each component, in alphabetical order."""
    components = sorted({each["component"] for each in readings}, key=lambda name: (name is None, name or ""))
    counts = Counter((each["component"], outcome_of(each)) for each in readings)
    totals = Counter(each["component"] for each in readings)
    return [
        ComponentCount(name, totals[name], *(counts[name, result] for result in READING_RESULTS)) for name in components
    ]


def visible_rows(
    transaction: Transaction, caller: Caller
) -> Callable[[str, tuple[str, ...], str, Sequence[int]], list[dict[str, Any]]]:
    """Return the function that reads columns of the visible rows whose column `by` is one of some numbers."""

    def read(table: str, columns: tuple[str, ...], by: str, values: Sequence[int]) -> list[dict[str, Any]]:
        statement = visible_rows_statement(transaction.dialect.name, caller.rule, table, columns, by)
        rows = transaction.all(statement.sql, statement.bind(caller.binding(*values))) if values else []
        return [dict(zip(columns, row, strict=True)) for row in rows]

    return read


@lru_cache(maxsize=PLANS_MAX)
def visible_rows_statement(database: str, rule: AccessRule, table: str, columns: tuple[str, ...], by: str) -> Statement:
    planner = Planner(DIALECTS[database], rule)
    relation = catalog().relations[table]
    row, scope = planner.scoped(relation)
    among = planner.dialect.in_list(row.c[by], relation.attributes[by].type, parameter("keys", sa.Text))
    selected = sa.select(*(row.c[name] for name in columns)).where(among, scope)
    return planner.finish(selected.order_by(*(row.c[name] for name in relation.key)))
