"""The reports of an inspection, what each rule requires of a lead report, and what a report lacks of it.

Every table is read under the caller's rule. The federal rule is 40 CFR 745.227(b)(4), with the calibration checks of
the HUD Guidelines, chapter 7. VA is 18VAC15-30-540, MN is 4761.2680, and MI is R 325.99403(3). docs/REPORT.md has the
table.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from access.caller import Caller
from access.decorators import function
from access.predicates import choice, required_parameter
from access.roles import EVERY_ROLE
from engine.interface.database import Transaction
from engine.query.shape import Filter, Node, OrderTerm, Query, Shape
from engine.rows import select_rows
from inspections.faults import ReportTooLarge
from inspections.lead.assessment import (
    CONFLICT,
    DOUBTFUL,
    LATE,
    NO_CHECK,
    OTHER_STANDARD,
    OUT_OF_SERVICE,
    OUTSIDE_VISIT,
    ROWS_MAX,
    UNCONFIRMED,
    UNDECIDED,
    UNKNOWN_GUN,
    Lead,
    read_lead,
)
from inspections.lead.classification import lacks_value
from inspections.reports.content import (
    FINDINGS_REPORT,
    LEAD_REPORT,
    FindingsReport,
    InspectionReport,
    LeadReport,
    ReportedBuilding,
    ReportedCheck,
    ReportedInspector,
    ReportedInstrument,
    ReportedReading,
    ReportedVisit,
    ReportGap,
    by_severity,
    by_status,
    front_of,
    is_given,
    pick,
    reported_files,
    reported_finding,
    reported_limits,
    reported_owner,
    reported_reading,
)
from inspections.visits import read_visit
from models.types import BIGINT
from models.vocabulary import LEAD, MG_CM2, PERCENT, VISIT_RESULTS, XRF

FEDERAL: Final = "federal"
STATES: Final = ("VA", "MN", "MI")
VIRGINIA, MINNESOTA, MICHIGAN = STATES
RULES: Final = (FEDERAL, *STATES)
CITATIONS: Final = {
    FEDERAL: "40 CFR 745.227(b)(4)",
    VIRGINIA: "18VAC15-30-540 of Virginia",
    MINNESOTA: "Minnesota Rules 4761.2680",
    MICHIGAN: "R 325.99403 of Michigan",
}
BUT_MINNESOTA: Final = (FEDERAL, VIRGINIA, MICHIGAN)

IsMissing = Callable[[LeadReport], bool]


@dataclass(frozen=True, slots=True)
class Requirement:
    """What some rules require: the code of the gap, the gap in words, and whether a report has it."""

    code: str
    text: str
    is_missing: IsMissing
    rules: tuple[str, ...] = RULES


def rule_of_state(state: str | None) -> str:
    """Return the rule of a building in a state: its own, or the federal one."""
    name = (state or "").strip().upper()
    return name if name in STATES else FEDERAL


def find_gaps(report: LeadReport) -> tuple[ReportGap, ...]:
    """Return what the report's rule requires and the report lacks, in the order of REQUIREMENTS."""
    return tuple(
        ReportGap(each.code, each.text)
        for each in REQUIREMENTS
        if report.rule in each.rules and each.is_missing(report)
    )


def lacks(part: str, *names: str) -> IsMissing:
    """Return whether a part of a report has no value of one of these names."""
    return lambda report: not all(is_given(getattr(getattr(report, part), name)) for name in names)


def not_void(report: LeadReport) -> list[ReportedReading]:
    """Return the readings that are not void."""
    return [each for each in report.readings if each.voided is None]


def some_reading_lacks(name: str) -> IsMissing:
    return lambda report: any(not is_given(getattr(each, name)) for each in not_void(report))


def some_reading_is(validity: str) -> IsMissing:
    return lambda report: any(each.validity == validity for each in not_void(report))


def some_reading_has(doubt: str) -> IsMissing:
    return lambda report: any(doubt in each.doubts for each in not_void(report))


def some_instrument_lacks(name: str) -> IsMissing:
    return lambda report: any(not is_given(getattr(each, name)) for each in report.instruments)


def lacks_dwelling(report: LeadReport) -> bool:
    """Return whether the building has several dwellings and no reading names one.

    A reading outside, or in a common area, names none.
    """
    has_several = report.building.units is not None and report.building.units > 1
    readings = not_void(report)
    return has_several and bool(readings) and not any(is_given(each.dwelling) for each in readings)


def license_has_expired(report: LeadReport) -> bool:
    expires, day = report.inspector.license_expires_on, report.visit.date_visited
    return expires is not None and day is not None and expires < day


def license_is_of_another_state(report: LeadReport) -> bool:
    """Return whether the license names another state than the building. Both are codes of two letters."""
    states = [(each or "").strip().upper() for each in (report.inspector.license_state, report.building.state)]
    return all(len(each) == 2 for each in states) and states[0] != states[1]


REQUIREMENTS: Final = (
    Requirement("inspection.date_visited", "The inspection has no date", lacks("visit", "date_visited")),
    Requirement(
        "inspection.status", "The inspection is not completed", lambda report: report.visit.status not in VISIT_RESULTS
    ),
    Requirement("building.address", "The address of the building is missing", lacks("building", "address", "city")),
    Requirement("reports_lead.dwelling", "No reading names a dwelling", lacks_dwelling, BUT_MINNESOTA),
    Requirement("year_built", "The year of construction is missing", lacks("building", "year_built"), BUT_MINNESOTA),
    Requirement("owner.name", "The name of the owner is missing", lacks("owner", "name"), BUT_MINNESOTA),
    Requirement("owner.address", "The address of the owner is missing", lacks("owner", "address"), BUT_MINNESOTA),
    Requirement("owner.phone", "The telephone of the owner is missing", lacks("owner", "phone"), BUT_MINNESOTA),
    Requirement("inspector.name", "The inspector is missing", lacks("inspector", "name")),
    Requirement("inspector.license", "The license number of the inspector is missing", lacks("inspector", "license")),
    Requirement(
        "inspector.license_expires_on", "The license had expired on the day of the inspection", license_has_expired
    ),
    Requirement(
        "inspector.license_expires_on", "The expiry of the license is missing", lacks("inspector", "license_expires_on")
    ),
    Requirement(
        "inspector.license_state", "The license is of another state than the building", license_is_of_another_state
    ),
    Requirement("inspector.firm", "The firm of the inspector is missing", lacks("inspector", "firm")),
    Requirement("inspector.firm_address", "The address of the firm is missing", lacks("inspector", "firm_address")),
    Requirement("inspector.firm_phone", "The telephone of the firm is missing", lacks("inspector", "firm_phone")),
    Requirement(
        "inspector.firm_certificate",
        "The certificate number of the firm is missing",
        lacks("inspector", "firm_certificate"),
        (MINNESOTA,),
    ),
    Requirement("reports_lead", "There are no readings", lambda report: not not_void(report)),
    Requirement("reports_lead.room", "Some readings name no room", some_reading_lacks("room")),
    Requirement("reports_lead.component", "Some readings name no component", some_reading_lacks("component")),
    Requirement(
        "reports_lead.substrate", "Some readings name no substrate", some_reading_lacks("substrate"), (VIRGINIA,)
    ),
    Requirement(
        "reports_lead.lead_mg_cm2",
        "Some readings have no value",
        lambda report: any(
            lacks_value(each.method, each.qualifier, each.lead_mg_cm2, each.lead_percent) for each in not_void(report)
        ),
    ),
    Requirement(
        "reports_lead.gun_id",
        "Some readings name no XRF instrument",
        lambda report: any(each.gun_id is None and each.method == XRF for each in not_void(report)),
    ),
    Requirement(
        CONFLICT, "Some stated results differ from the classification of the value", some_reading_has(CONFLICT)
    ),
    Requirement(
        UNDECIDED, "Some inconclusive readings are not decided, and count as positive", some_reading_has(UNDECIDED)
    ),
    Requirement(
        UNKNOWN_GUN,
        "Some readings were not compared with the limits of their instrument: classify them again",
        some_reading_has(UNKNOWN_GUN),
    ),
    Requirement(
        OTHER_STANDARD,
        "Some readings were compared with limits of another standard than that of the place",
        some_reading_has(OTHER_STANDARD),
    ),
    Requirement(
        OUT_OF_SERVICE,
        "An XRF instrument was retired, or its service or leak test was overdue, on the day of a reading",
        some_reading_has(OUT_OF_SERVICE),
    ),
    Requirement(
        OUTSIDE_VISIT, "Some readings were taken more than a day from the inspection", some_reading_has(OUTSIDE_VISIT)
    ),
    Requirement(
        "xrf_instruments.make", "The make of an XRF instrument is missing", some_instrument_lacks("make"), (MINNESOTA,)
    ),
    Requirement(
        "xrf_instruments.model",
        "The model of an XRF instrument is missing",
        some_instrument_lacks("model"),
        (MINNESOTA,),
    ),
    Requirement(
        "xrf_instruments.serial", "The serial number of an XRF instrument is missing", some_instrument_lacks("serial")
    ),
    Requirement(
        "calibration_checks.start",
        "Some readings have no passed calibration check before them",
        some_reading_is(NO_CHECK),
    ),
    Requirement(
        "calibration_checks.interval",
        "Some readings were taken too long after the calibration check before them",
        some_reading_is(LATE),
    ),
    Requirement(
        "calibration_checks.failed", "The calibration check after some readings failed", some_reading_is(DOUBTFUL)
    ),
    Requirement(
        "calibration_checks.end", "Some readings have no calibration check after them", some_reading_is(UNCONFIRMED)
    ),
)
"""The requirements in the order of the report. A void reading has none: it does not count."""


Row = dict[str, Any]
ReadRows = Callable[..., list[Row]]
"""`visible_rows` of a caller in a transaction."""


@function(
    "report_gaps",
    summary="What a rule requires of an inspection's lead report, and the report lacks",
    roles=EVERY_ROLE,
    parameters={"p_inspection_id": required_parameter(BIGINT), "p_rule": choice(RULES)},
)
def report_gaps(transaction: Transaction, caller: Caller, inspection_id: int, rule: str) -> tuple[str, ...]:
    """Return the codes of the gaps, in the order of the report. Raise NoSuchRow."""
    report = read_report(transaction, caller, inspection_id, LEAD_REPORT, rule)
    return tuple(each.code for each in report.gaps) if isinstance(report, LeadReport) else ()


def read_report(
    transaction: Transaction,
    caller: Caller,
    inspection_id: int,
    kind: str | None = None,
    rule: str | None = None,
    *,
    of_visit_only: bool = False,
) -> InspectionReport:
    """Return a report of a visible inspection. Raise NoSuchRow or ReportTooLarge.

    The kind follows from the inspection's type by default, and the rule from the building's state. A findings report
    has the findings of the case, or those of the visit only.
    """
    visit = read_visit(transaction, caller, inspection_id)
    rows = partial(visible_rows, transaction, caller)
    building = first(rows("buildings", "id", [visit.building_id]))
    details = first(rows("building_details", "building_id", [visit.building_id]))
    head: dict[str, Any] = {
        "made_on": transaction.today.isoformat(),
        "visit": pick(ReportedVisit, dataclasses.asdict(visit)),
        "building": pick(ReportedBuilding, building, details),
        "owner": reported_owner(details, first(rows("clients", "id", [building.get("client_id")]))),
        "inspector": pick(ReportedInspector, first(rows("inspectors", "id", [visit.inspector_id]))),
        "files": reported_files(rows("files", "inspection_id", [inspection_id], "created_at", "id")),
    }
    if (kind or (LEAD_REPORT if visit.inspection_type == LEAD else FINDINGS_REPORT)) == FINDINGS_REPORT:
        of = ("inspection_id", [visit.id]) if of_visit_only else ("case_id", [visit.case_id])
        listed = rows("findings", *of, "due_at", "id")
        files = rows("files", "finding_id", [each["id"] for each in listed], "created_at", "id")
        of_finding: dict[int, list[Row]] = {}
        for file in files:
            of_finding.setdefault(file["finding_id"], []).append(file)
        findings = [reported_finding(each, transaction.moment, of_finding.get(each["id"], ())) for each in listed]
        return FindingsReport(
            FINDINGS_REPORT,
            **head,
            by_status=by_status(findings),
            late=sum(each.is_late for each in findings),
            severities=by_severity(findings),
        )
    lead = read_lead(transaction, caller, inspection_id)
    return read_lead_report(rows, lead, head, rule or rule_of_state(building.get("state")))


def read_lead_report(rows: ReadRows, lead: Lead, head: dict[str, Any], rule: str) -> LeadReport:
    """Return the lead report of a visit by a rule."""
    inspection_id = head["visit"].id
    assessed = {each.row["id"]: each for each in lead.readings}
    confirmed_by: dict[int, list[int]] = {}
    for key, each in assessed.items():
        confirmed_by.setdefault(each.row["confirms_id"], []).append(key)
    taken = rows("reports_lead", "inspection_id", [inspection_id], "taken_at", "reading_no", "id")
    readings = tuple(
        reported_reading(each, assessed.get(each["id"]), confirmed_by.get(each["id"], ())) for each in taken
    )
    checks = rows("calibration_checks", "inspection_id", [inspection_id], "taken_at", "id")
    report = LeadReport(
        LEAD_REPORT,
        **head,
        rule=rule,
        citation=CITATIONS[rule],
        standard=lead.standards.get(MG_CM2),
        standard_percent=lead.standards.get(PERCENT),
        is_complete=True,
        gaps=(),
        positives=front_of(readings),
        instruments=reported_instruments(lead, taken),
        checks=tuple(pick(ReportedCheck, each) for each in checks),
        readings=readings,
    )
    gaps = find_gaps(report)
    return dataclasses.replace(report, gaps=gaps, is_complete=not gaps)


def reported_instruments(lead: Lead, readings: list[Row]) -> tuple[ReportedInstrument, ...]:
    """Return the instruments of readings that are not void, and of checks. An unknown one has its number only.

    Who sees the inspection sees the instruments that it names.
    """
    of_gun: dict[int, list[Row]] = {}
    for each in readings:
        if each["voided"] is None:
            of_gun.setdefault(each["gun_id"], []).append(each)
    return tuple(
        pick(
            ReportedInstrument,
            lead.instruments.get(gun_id, {}),
            gun_id=gun_id,
            limits=reported_limits(of_gun.get(gun_id, ())),
        )
        for gun_id in lead.guns()
    )


def visible_rows(
    transaction: Transaction, caller: Caller, table: str, column: str, values: Collection[int | None], *order: str
) -> list[Row]:
    """Return the rows with one of the values that the caller reads. Raise ReportTooLarge above ROWS_MAX rows."""
    texts = tuple(str(each) for each in values if each is not None)
    if not texts:
        return []
    node = Node(conditions=(Filter(column, "in", value=0),), order=tuple(map(OrderTerm, order)))
    rows = select_rows(transaction, caller, table, Query(Shape(node), (texts,)), limit=ROWS_MAX + 1).rows
    if len(rows) > ROWS_MAX:
        raise ReportTooLarge(ROWS_MAX, table)
    return rows


def first(rows: list[Row]) -> Row:
    """Return the only row, or an empty one."""
    return rows[0] if rows else {}
