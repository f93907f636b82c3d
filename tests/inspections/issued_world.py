"""A building with an issued visit, a withdrawn one and a closed one, with a row of each table, and its doors."""

from collections.abc import Callable, Iterable

from tests.conftest import MIA, MOE, Response
from tests.inspections.case_world import FOUND_AT, INES, IVO, MOMENT, case_rows, finding, inspection, times
from tests.support.storage import Storage, picture

ISSUED, WITHDRAWN, CLOSED, OPEN_VISIT = 1950, 1951, 1952, 1953
VISITS = (ISSUED, WITHDRAWN, CLOSED, OPEN_VISIT)
"""With an issued report; with a withdrawn one; without any; under way."""

ROWS = {visit: visit - 1900 for visit in VISITS}
"""The id of the reading, check, finding and event of each visit."""

HELD, HELD_VISIT, HELD_OPEN, HELD_PLANNED = 7, 1960, 1961, 1962
"""A building that is held, a closed visit of it, one under way, and a planned one that nobody edited."""

GUN = 77
ISSUED_AT = "2026-11-19T12:00:00+00:00"
NEW: dict[str, dict] = {
    "reports_lead": {"gun_id": GUN, "lead_mg_cm2": 5.0, "substrate": "wood"},
    "calibration_checks": {"gun_id": GUN, "taken_at": "2026-11-19T10:00:00+00:00", "first": 1, "second": 1, "third": 1},
    "findings": {"description": "No smoke alarm.", "severity": "moderate"},
}
CHANGE: dict[str, dict] = {
    "reports_lead": {"lead_mg_cm2": 0.1},
    "calibration_checks": {"note": "n"},
    "findings": {"place": "3D"},
}
LOCK = (400, "23514", "The visit has an issued report. An administrator may withdraw it.")
HOLD = (400, "23514", "The building is held: nothing of it is deleted.")


def ref(number: int) -> str:
    return f"7b1c1c1e-0000-4000-8000-{number:012}"


def report(key: int, visit: int, **values: object) -> dict:
    return {
        "id": key, "inspection_id": visit, "client_id": 1, "kind": "findings", "number": f"2026-{key:06}",
        "content": {"page": "<p>A report.</p>", "thumbnails": {}}, "sha256": f"{key:064}",
        "signed_name": "Mia Marsh",
        "issued_at": ISSUED_AT, **values,
    }  # fmt: skip


def issued_rows() -> dict:
    """Return the rows. Ines is the inspector of all visits of building 1, and Ivo of those of the held building."""
    rows = case_rows()
    of_visits = {**ROWS, HELD_VISIT: 60, HELD_OPEN: 61}
    held = {"id": HELD, "name": "Tide House", "client_id": 1, **times()}
    rows["buildings"].append(held)
    rows["building_details"] = [
        {"building_id": HELD, "year_built": 1920, "hold_reason": "Lawsuit 26-CV-104.", **times()},
        {"building_id": 1, "year_built": 1930, **times()},
    ]
    rows["inspections"] += [
        inspection(visit, 1, "in_progress" if visit == OPEN_VISIT else "completed", "2026-11-19") for visit in VISITS
    ]
    rows["inspections"] += [
        inspection(HELD_VISIT, HELD, "completed", "2026-11-19", inspector_id=IVO),
        inspection(HELD_OPEN, HELD, "in_progress", "2026-11-19", inspector_id=INES),
        inspection(HELD_PLANNED, HELD, "scheduled", "2026-12-19", inspector_id=IVO),
    ]
    rows["findings"] += [finding(number, visit, ref=ref(number)) for visit, number in of_visits.items()]
    common = {"reports_lead": {"updated_at": MOMENT}, "calibration_checks": times()}
    for table, values in common.items():
        rows[table] = [
            {"id": number, "inspection_id": visit, "ref": ref(number), **NEW[table], **values}
            for visit, number in of_visits.items()
        ]
    rows["xrf_instruments"] = [
        {
            "id": 1,
            "client_id": 1,
            "gun_id": GUN,
            "make": "Niton",
            "model": "XLp",
            "serial": "24093",
            "negative_below": 1.0,
            "positive_from": 1.0,
            **times(),
        }
    ]
    rows["finding_events"] = [
        {"id": number, "finding_id": number, "kind": "made", "at": FOUND_AT, **times()} for number in of_visits.values()
    ]
    rows["schedules"] = [
        {
            "id": 7, "building_id": HELD, "inspection_type": "annual", "every": 1, "unit": "year",
            "first_due": "2026-12-19", **times(),
        }
    ]  # fmt: skip
    rows["inspection_plans"] = [
        {
            "inspection_id": HELD_PLANNED, "schedule_id": 7, "occurrence": 0, "due_on": "2026-12-19",
            "case_id": HELD_PLANNED, **times(),
        },
        {"inspection_id": HELD_VISIT, "case_id": HELD_VISIT, "outcome": "done", "touched_at": MOMENT, **times()},
    ]  # fmt: skip
    withdrawn = {"withdrawn_at": MOMENT, "withdrawn_note": "A wrong address."}
    rows["issued_reports"] = [report(2, WITHDRAWN, **withdrawn), report(3, HELD_VISIT, **withdrawn)]
    rows["notices"] = [
        {
            "id": 1, "building_id": HELD, "client_id": 1, "number": "2026-000001", "to_name": "Trust",
            "to_address": "1 Road", "answer_by": "2026-12-31", "content": {}, "sha256": "0" * 64,
            "issued_at": ISSUED_AT,
        }
    ]  # fmt: skip
    signed = {"assigned_by": None, "assigned_at": MOMENT}
    rows["client_manager_inspection_access"] = [{"manager_id": MOE, "inspection_id": ISSUED, **signed}]
    return rows


def issue(case: Callable) -> None:
    """Store files of the visits and findings, and issue the report of ISSUED."""
    root = Storage(case("root"))
    numbers = {**ROWS, HELD_VISIT: 60}
    for visit, number in numbers.items():
        for name in (f"inspections/{visit}/a.png", f"findings/{number}/a.png"):
            assert root.upload(name, picture(name)).status == 200
    assert root.upload(f"buildings/{HELD}/a.png", picture()).status == 200
    app = case("root").database.app_for("POST", "/")
    from engine.rows import insert_rows

    with app.extensions["walkthrough"].writing() as transaction:
        row = report(1, ISSUED)
        insert_rows(transaction, "issued_reports", [{name: value for name, value in row.items() if name != "id"}])


TABLES = (
    "clients", "inspectors", "buildings", "building_details", "inspections", "xrf_instruments", "reports_lead",
    "calibration_checks", "schedules", "inspection_plans", "findings", "finding_events", "files", "issued_reports",
    "notices",
)  # fmt: skip


def stored(case: Callable, tables: Iterable[str] = TABLES) -> dict[str, list]:
    return {table: case("root").get(f"/{table}?order={order(table)}").json for table in tables}


def order(table: str) -> str:
    return {"building_details": "building_id", "inspection_plans": "inspection_id"}.get(table, "id")


MERGE = "resolution=merge-duplicates"
Door = Callable[[Callable, str], Response]


def row_doors(table: str, visit: int) -> dict[str, Door]:
    """Return the requests that write a row of a visit, by their way. Each takes the world and the sender."""
    number, path = ROWS[visit], f"/{table}"
    new, change = {"inspection_id": visit, **NEW[table]}, CHANGE[table]
    whole, elsewhere = {**new, "ref": ref(number), **change}, {"inspection_id": OPEN_VISIT}
    header, line = ",".join(new), ",".join(map(str, new.values()))
    among = f"{path}?inspection_id=in.({visit},{OPEN_VISIT})"
    key = {"id": number, **new, **change}
    other = ROWS[OPEN_VISIT]
    return {
        "POST": lambda case, who: case(who).post(path, new),
        "POST of CSV": lambda case, who: case(who).post(path, f"{header}\n{line}\n", content_type="text/csv"),
        "POST of several": lambda case, who: case(who).post(path, [{**new, **elsewhere}, new]),
        "upsert": lambda case, who: case(who).post(f"{path}?on_conflict=ref", whole, prefer=MERGE),
        "PUT": lambda case, who: case(who if who == "service" else "root").put(f"{path}?id=eq.{number}", key),
        "PATCH": lambda case, who: case(who).patch(f"{path}?id=eq.{number}", change),
        "PATCH of several": lambda case, who: case(who).patch(among, change),
        "move out": lambda case, who: case(who).patch(f"{path}?id=eq.{number}", elsewhere),
        "move in": lambda case, who: case(who).patch(f"{path}?id=eq.{other}", {"inspection_id": visit}),
        "DELETE": lambda case, who: case(who).delete(f"{path}?id=eq.{number}"),
        "DELETE of several": lambda case, who: case(who).delete(among),
    }


INSPECTOR = MIA
"""The user who is linked to Ines."""
