"""Rows and reports of a complete lead inspection."""

from __future__ import annotations

from typing import Any

from inspections.lead.assessment import Assessed, CheckedReading
from inspections.lead.classification import Standard, result_counts
from inspections.reports.content import (
    LEAD_REPORT,
    LeadReport,
    ReportedBuilding,
    ReportedCheck,
    ReportedInspector,
    ReportedInstrument,
    ReportedOwner,
    ReportedReading,
    ReportedVisit,
    front_of,
    pick,
    reported_reading,
)
from inspections.reports.reports import CITATIONS

GUN = 20417
STANDARD = Standard(1, "mg_cm2", 1.0, False, None, None, "1992-10-28", "40 CFR 745.227(h)(1)")
VISIT = {"id": 7, "inspection_type": "lead", "date_visited": "2026-11-20", "status": "completed", "notes": None}
BUILDING = {
    "id": 1, "name": "12 Pier Street", "address": "12 Pier Street", "city": "Portland", "state": "ME", "zip": "04101",
    "units": 4, "year_built": 1928, "parcel": "034-B-012", "child_occupied": "yes",
}  # fmt: skip
OWNER = {"name": "Pier Street Trust", "address": "1 Harbor Road, Portland", "phone": "+1 207 555 0100"}
INSPECTOR = {
    "name": "Ines Park", "license": "LI-20417", "license_state": "ME", "license_expires_on": "2027-06-30",
    "firm": "Park Inspections", "firm_address": "1 Main Street, Portland", "firm_phone": "+1 207 555 0111",
    "firm_certificate": "FC-3021",
}  # fmt: skip
INSTRUMENT = {
    "gun_id": GUN, "make": "Niton", "model": "XLp 300A", "serial": "24093", "mode": "K+L", "sheet": "Niton XLp 300",
    "sheet_on": "2004-09-24", "negative_below": 1.0, "positive_from": 1.0, "check_minutes": 240,
}  # fmt: skip
CHECK = {
    "id": 1, "gun_id": GUN, "taken_at": "2026-11-20T14:00:00+00:00", "first": 1.0, "second": 1.1, "third": 1.0,
    "mean": 1.033, "check_low": 0.8, "check_high": 1.2, "result": "pass", "note": None, "voided": None,
}  # fmt: skip
READING = {
    "id": 1, "reading_no": 1, "taken_at": "2026-11-20T14:10:00+00:00", "gun_id": GUN, "method": "xrf", "dwelling": "3D",
    "room": "Kitchen", "wall": "A", "component": "Window sill", "substrate": "wood", "color": "white",
    "condition": "intact", "lead_mg_cm2": 0.3, "qualifier": None, "result": "negative", "classification": None,
    "voided": None, "note": None, "lead_percent": None, "time_is_by_order": False,
}  # fmt: skip


def reading(
    id_: int = 1, validity: str | None = "valid", doubts: tuple[str, ...] = (), **values: object
) -> ReportedReading:
    row = {**READING, "id": id_, "reading_no": id_, **values}
    result = result_counts(row["classification"], row["result"], row["method"])
    checked = None if validity is None else CheckedReading(validity)
    return reported_reading(row, None if row["voided"] else Assessed(row, result, doubts, checked))


def lead_report(
    rule: str = "federal", *, readings: tuple[ReportedReading, ...] | None = None, **parts: Any
) -> LeadReport:
    """Return a report that lacks nothing but what `parts` change: values of `building`, `owner` and so on."""
    given = (reading(),) if readings is None else readings
    instrument = {**INSTRUMENT, **parts.get("instrument", {})}
    return LeadReport(
        LEAD_REPORT,
        "2026-11-28",
        pick(ReportedVisit, {**VISIT, **parts.get("visit", {})}),
        pick(ReportedBuilding, {**BUILDING, **parts.get("building", {})}),
        pick(ReportedOwner, {**OWNER, **parts.get("owner", {})}),
        pick(ReportedInspector, {**INSPECTOR, **parts.get("inspector", {})}),
        (),
        rule,
        CITATIONS[rule],
        STANDARD,
        None,
        is_complete=True,
        gaps=(),
        positives=front_of(given),
        instruments=(pick(ReportedInstrument, instrument, limits=()),),
        checks=(pick(ReportedCheck, CHECK),),
        readings=given,
    )
