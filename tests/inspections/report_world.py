"""A case with findings, and a lead inspection that lacks nothing that the federal rule requires."""

from tests.inspections.case_world import FAILED, case_rows, finding, inspection
from tests.support.reports import BUILDING, CHECK, INSPECTOR, INSTRUMENT, READING

LEAD, ROUND_2, OTHERS = 1930, 1931, 1932
"""Inspections of client 1: a lead inspection, a re-inspection of FAILED, and one of a building hidden from moe."""


def report_rows() -> dict:
    """Return the rows of a case and of a lead inspection by a person with a license."""
    rows = case_rows()
    rows["inspectors"][0] |= {name: value for name, value in INSPECTOR.items() if name != "name"}
    rows["buildings"][0] |= {name: BUILDING[name] for name in ("address", "city", "state", "zip", "units")}
    rows["buildings"].append({**rows["buildings"][0], "id": 3, "name": "Elm Court"})
    rows["inspections"] += [
        inspection(LEAD, 1, "completed", "2026-11-19", inspection_type="lead"),
        inspection(ROUND_2, 1, "scheduled", "2026-12-15"),
        inspection(OTHERS, 3, "completed", "2026-11-19", inspection_type="lead", inspector_id=2),
    ]
    plans = [(FAILED, 1, "done"), (ROUND_2, 2, None)]
    rows["inspection_plans"] = [
        {"inspection_id": key, "case_id": FAILED, "round": number, "outcome": outcome} for key, number, outcome in plans
    ]
    rows["findings"] += [
        finding(10, ROUND_2, case_id=FAILED, severity="life_threatening", due_at="2026-11-20T14:04:59+00:00"),
        finding(11, FAILED, severity="low", place="3D, bathroom", item="Smoke alarm", code="NSPIRE Smoke Alarm"),
    ]
    rows["building_details"] = [
        {"building_id": 1, "year_built": 1928, "owner_name": "Pier Street Trust", "owner_address": "1 Harbor Road",
         "owner_phone": "+1 207", "parcel": "034-B-012"}
    ]  # fmt: skip
    rows["xrf_instruments"] = [{"id": 1, **INSTRUMENT}]
    checks = ("2026-11-19T14:00:00+00:00", "2026-11-19T18:00:00+00:00")
    rows["calibration_checks"] = [
        {**CHECK, "id": number, "inspection_id": LEAD, "taken_at": at} for number, at in enumerate(checks, 1)
    ]
    rows["reports_lead"] = [lead_reading(1), lead_reading(2, lead_mg_cm2=2.6, result="positive")]
    return rows


def lead_reading(number: int, **values: object) -> dict:
    at = f"2026-11-19T14:{number % 60:02}:00+00:00"
    classified = {"classification": values.get("result", READING["result"])}
    return {
        **READING,
        "id": number,
        "inspection_id": LEAD,
        "reading_no": number,
        "taken_at": at,
        **classified,
        **values,
    }
