"""What each rule requires of a lead report, and what a report lacks of it.

The federal rule is 40 CFR 745.227(b)(4), with the calibration checks of the HUD Guidelines, chapter 7. VA is
18VAC15-30-540, MN is 4761.2680, and MI is R 325.99403(3). docs/REPORT.md has the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from inspections.lead.validity import DOUBTFUL, LATE, NO_CHECK, UNCONFIRMED
from inspections.reports.content import LeadReport, ReportedReading, ReportGap, is_given
from models.vocabulary import ASSUMED, VISIT_RESULTS, XRF

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


def counted(report: LeadReport) -> list[ReportedReading]:
    """Return the readings that are not void."""
    return [each for each in report.readings if each.voided is None]


def some_reading_lacks(name: str) -> IsMissing:
    return lambda report: any(not is_given(getattr(each, name)) for each in counted(report))


def some_reading_is(validity: str) -> IsMissing:
    return lambda report: any(each.validity == validity for each in counted(report))


def some_instrument_lacks(name: str) -> IsMissing:
    return lambda report: any(not is_given(getattr(each, name)) for each in report.instruments)


def lacks_dwelling(report: LeadReport) -> bool:
    """Return whether the building has several dwellings and no reading names one.

    A reading outside, or in a common area, names none.
    """
    has_several = report.building.units is not None and report.building.units > 1
    readings = counted(report)
    return has_several and bool(readings) and not any(is_given(each.dwelling) for each in readings)


def license_has_expired(report: LeadReport) -> bool:
    expires, day = report.inspector.license_expires_on, report.visit.date_visited
    return expires is not None and day is not None and expires < day


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
    Requirement("inspector.firm", "The firm of the inspector is missing", lacks("inspector", "firm")),
    Requirement("inspector.firm_address", "The address of the firm is missing", lacks("inspector", "firm_address")),
    Requirement("inspector.firm_phone", "The telephone of the firm is missing", lacks("inspector", "firm_phone")),
    Requirement(
        "inspector.firm_certificate",
        "The certificate number of the firm is missing",
        lacks("inspector", "firm_certificate"),
        (MINNESOTA,),
    ),
    Requirement("reports_lead", "There are no readings", lambda report: not counted(report)),
    Requirement("reports_lead.room", "Some readings name no room", some_reading_lacks("room")),
    Requirement("reports_lead.component", "Some readings name no component", some_reading_lacks("component")),
    Requirement(
        "reports_lead.substrate", "Some readings name no substrate", some_reading_lacks("substrate"), (VIRGINIA,)
    ),
    Requirement(
        "reports_lead.lead_mg_cm2",
        "Some readings have no value in mg/cm²",
        lambda report: any(each.lead_mg_cm2 is None and each.method != ASSUMED for each in counted(report)),
    ),
    Requirement(
        "reports_lead.gun_id",
        "Some readings name no XRF instrument",
        lambda report: any(each.gun_id is None and each.method == XRF for each in counted(report)),
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
