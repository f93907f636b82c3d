"""lead_summary: the readings of an inspection, what confirms them, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from access.caller import Caller
from access.decorators import function
from access.predicates import required_parameter
from access.roles import EVERY_ROLE
from engine.interface.database import Transaction
from inspections.lead.assessment import Assessed, Lead, Problem, read_lead
from inspections.lead.classification import Standard, folded
from models.types import BIGINT
from models.vocabulary import INCONCLUSIVE, MG_CM2, NEGATIVE, PERCENT, POSITIVE, READING_RESULTS, VALIDITIES


@dataclass(frozen=True, slots=True)
class Gun:
    """An instrument that readings or checks name: its serial number, if it is known, and the number of its checks."""

    gun_id: int
    serial: str | None
    checks: int
    failed: int


@dataclass(frozen=True, slots=True)
class ComponentCount:
    """The readings of a component by their result. Case and blanks do not distinguish components."""

    component: str | None
    readings: int
    positive: int
    negative: int
    inconclusive: int


@dataclass(frozen=True, slots=True)
class LeadSummary:
    """The readings of an inspection without the voided ones.

    positive, negative, inconclusive: by the graver of classification and result. validity: the readings of XRF
    instruments by validity. complete: there are readings, and no problems. standard, standard_percent: the lead
    standard of the place and day, in mg/cm² and in percent.
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
    standard: Standard | None
    standard_percent: Standard | None


@function(
    "lead_summary",
    summary="The lead readings of an inspection, their validity, and what is missing",
    roles=EVERY_ROLE,
    parameters={"p_inspection_id": required_parameter(BIGINT)},
)
def lead_summary(transaction: Transaction, caller: Caller, inspection_id: int) -> LeadSummary:
    """Return the summary of a visible inspection. Raise NoSuchRow or ReportTooLarge."""
    lead = read_lead(transaction, caller, inspection_id)
    counts = Counter(each.result for each in lead.readings)
    validities = Counter(each.validity for each in lead.readings)
    problems = lead.problems()
    return LeadSummary(
        len(lead.readings),
        counts[POSITIVE],
        counts[NEGATIVE],
        counts[INCONCLUSIVE],
        {each: validities[each] for each in VALIDITIES},
        [gun_of(lead, gun_id) for gun_id in lead.guns()],
        problems,
        bool(lead.readings) and not problems,
        count_by_component(lead.readings),
        lead.standards.get(MG_CM2),
        lead.standards.get(PERCENT),
    )


def gun_of(lead: Lead, gun_id: int) -> Gun:
    checks = lead.checks[gun_id].ordered if gun_id in lead.checks else []
    serial = lead.instruments[gun_id]["serial"] if gun_id in lead.instruments else None
    return Gun(gun_id, serial, len(checks), sum(not each.passed for each in checks))


def count_by_component(readings: Sequence[Assessed]) -> list[ComponentCount]:
    """Return the counts of each component, in alphabetical order, as its first reading spells it."""
    spelled: dict[str | None, str | None] = {}
    counts: Counter[tuple[str | None, str | None]] = Counter()
    totals: Counter[str | None] = Counter()
    for each in readings:
        component = each.row["component"]
        key = None if component is None else folded(component)
        spelled.setdefault(key, component)
        counts[key, each.result] += 1
        totals[key] += 1
    return [
        ComponentCount(spelled[key], totals[key], *(counts[key, result] for result in READING_RESULTS))
        for key in sorted(totals, key=lambda name: (name is None, name or ""))
    ]
