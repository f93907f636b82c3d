"""Visits with an issued report: nobody writes their evidence, whatever way the write takes, until it is withdrawn."""

import json
from collections.abc import Callable

import pytest

from models import RESOURCES
from models.locks import HOLD as HOLD_CHECK
from models.locks import LOCK as LOCK_CHECK
from models.locks import has_refusal
from tests.inspections.case_world import INES, MOMENT
from tests.inspections.issued_world import (
    CLOSED,
    ISSUED,
    LOCK,
    NEW,
    OPEN_VISIT,
    ROWS,
    WITHDRAWN,
    issue,
    issued_rows,
    row_doors,
    stored,
)
from tests.support.storage import Storage, picture

EVERYBODY = ("mia", "ada", "root", "service")
DOORS = [(table, way) for table in NEW for way in row_doors(table, ISSUED)]


@pytest.fixture
def case(world: Callable) -> Callable:
    made = world(issued_rows(), MOMENT)
    issue(made)
    return made


@pytest.mark.parametrize(("table", "way"), DOORS, ids=[f"{table}, {way}" for table, way in DOORS])
def test_rows_of_an_issued_visit_stay(case: Callable, table: str, way: str) -> None:
    before = stored(case)
    for who in EVERYBODY:
        refused = row_doors(table, ISSUED)[way](case, who)

        assert refused.refusal == LOCK, (who, refused.text)
        assert refused.json["details"].endswith(LOCK_CHECK)
    assert stored(case) == before
    for visit in (WITHDRAWN, CLOSED):
        allowed = row_doors(table, visit)[way](case, "ada")
        assert allowed.status in (200, 201, 204), (visit, allowed.text)


CHANGES = {
    "building_id": 7,
    "inspection_type": "fire",
    "date_visited": "2026-11-18",
    "inspector_id": 2,
    "status": "in_progress",
    "notes": "A note.",
}


@pytest.mark.parametrize("column", CHANGES)
def test_issued_visit_stays(case: Callable, column: str) -> None:
    before = stored(case)
    change = {column: CHANGES[column]}
    for who in ("ada", "root", "service"):
        refused = case(who).patch(f"/inspections?id=eq.{ISSUED}", change)
        several = case(who).patch(f"/inspections?id=in.({OPEN_VISIT},{ISSUED})", change)

        assert (refused.refusal, several.refusal) == (LOCK, LOCK), (who, refused.text, several.text)
    renamed = case("root").patch(f"/inspections?id=eq.{ISSUED}", {"id": 4000})
    assert renamed.code in ("23503", "23514"), renamed.text  # its files have its id in their names
    assert stored(case) == before
    assert case("ada").patch(f"/inspections?id=eq.{CLOSED}", change).status == 204
    same = {"status": "completed", "date_visited": "2026-11-19"}
    assert case("ada").patch(f"/inspections?id=eq.{ISSUED}", same).status == 204


def test_functions_change_no_issued_visit(world: Callable) -> None:
    row, rows = ROWS[ISSUED], issued_rows()
    for reading in rows["reports_lead"]:
        reading["classification"] = "negative"
    case = world(rows, MOMENT)
    issue(case)
    before = stored(case)
    calls = {
        "regrade_finding": {"p_finding_id": row, "p_severity": "severe", "p_note": "It burns."},
        "reclassify_readings": {"p_inspection_id": ISSUED},
    }
    for who in ("ada", "root", "service"):
        for name, arguments in calls.items():
            assert case(who).rpc(name, arguments).refusal == LOCK, (who, name)
    assert stored(case) == before


def test_findings_of_an_issued_visit_are_moved(case: Callable) -> None:
    row, due = ROWS[ISSUED], "2026-12-24T12:00:00+00:00"
    moves = (
        {"p_to": "fixed"},
        {"p_to": "open", "p_note": "It is not."},
        {"p_to": "open", "p_note": "Later.", "p_due_at": due},
        {"p_to": "waived", "p_note": "Torn down."},
    )
    for move in moves:
        assert case("ada").rpc("move_findings", {"p_finding_ids": [row], **move}).json == {"moved": 1, "already": 0}
    [found] = case("ada").get(f"/findings?id=eq.{row}").json
    assert (found["status"], found["due_at"]) == ("waived", due)


def object_path(kind: str = "") -> str:
    return f"/storage/v1/object{kind}"


def test_files_of_an_issued_visit_stay(case: Callable) -> None:
    row, other = ROWS[ISSUED], ROWS[OPEN_VISIT]
    before = stored(case)
    for who in EVERYBODY:
        sender = Storage(case(who))
        refused = [
            sender.upload(f"inspections/{ISSUED}/b.png", picture("b")),
            sender.send("POST", object_path(f"/upload/sign/inspections/{ISSUED}/c.png"), {}),
            sender.send("PUT", object_path(f"/inspections/{ISSUED}/a.png"), picture("d"), Content_Type="image/png"),
            sender.send("PUT", object_path(f"/findings/{row}/a.png"), picture("e"), Content_Type="image/png"),
            sender.send("DELETE", object_path(f"/inspections/{ISSUED}/a.png")),
            sender.send("DELETE", object_path(f"/findings/{row}/a.png")),
            sender.send("DELETE", object_path("/findings"), {"prefixes": [f"{row}/a.png"]}),
            sender.send(
                "DELETE", object_path("/inspections"), {"prefixes": [f"{OPEN_VISIT}/a.png", f"{ISSUED}/a.png"]}
            ),
            sender.send(
                "POST", object_path("/move"),
                {"bucketId": "findings", "sourceKey": f"{row}/a.png", "destinationKey": f"{other}/b.png"},
            ),
            sender.send(
                "POST", object_path("/move"),
                {"bucketId": "inspections", "sourceKey": f"{OPEN_VISIT}/a.png", "destinationKey": f"{ISSUED}/b.png"},
            ),
            sender.send(
                "POST", object_path("/copy"),
                {"bucketId": "inspections", "sourceKey": f"{OPEN_VISIT}/a.png", "destinationKey": f"{ISSUED}/b.png"},
            ),
        ]  # fmt: skip
        assert [(each.status, each.refusal[2].startswith(LOCK[2])) for each in refused] == [(400, True)] * len(
            refused
        ), (who, [each.body for each in refused])
        for name in (f"findings&finding_id=eq.{row}", f"inspections&inspection_id=in.({OPEN_VISIT},{ISSUED})"):
            assert case(who).patch(f"/files?bucket=eq.{name}", {"caption": "c"}).refusal == LOCK, who
    assert stored(case) == before
    assert Storage(case("mia")).upload(f"findings/{row}/proof.png", picture("proof")).status == 200


@pytest.mark.parametrize("table", NEW)
def test_import_names_the_lines_of_issued_visits(case: Callable, table: str) -> None:
    visits, before = (OPEN_VISIT, ISSUED), stored(case)
    values = {**NEW[table], **({"taken_at": MOMENT} if "taken_at" in NEW[table] else {})}
    lines = [",".join(map(str, (visit, *values.values()))) for visit in visits]
    text = "\n".join((",".join(("inspection_id", *values)), *lines))
    for who in EVERYBODY:
        for is_dry in (True, False):
            asked = {"p_target": table, "p_csv": text, "p_dry_run": is_dry, "p_key": ["inspection_id", *values]}
            asked = asked if table == "calibration_checks" else {**asked, "p_key": ["id"]}
            errors = case(who).rpc("import_csv", asked).json["errors"]
            assert [(each["line"], each["code"], each["message"]) for each in errors] == [
                (3, "23514", f"{LOCK[2]}: {LOCK_CHECK}")
            ] or errors[0]["message"].startswith(LOCK[2]), (who, errors)
    assert stored(case) == before


@pytest.mark.parametrize("table", NEW)
def test_command_line_imports_nothing_into_an_issued_visit(case: Callable, table: str, tmp_path) -> None:
    before, file = stored(case), tmp_path / "rows.json"
    file.write_text(json.dumps({table: [{"inspection_id": ISSUED, **NEW[table], **case_of(table)}]}))

    run = case("root").database.app_for("POST", "/").test_cli_runner().invoke(args=["import", str(file)])

    assert run.exit_code == 1
    assert LOCK[2] in run.output
    assert stored(case) == before


def case_of(table: str) -> dict:
    return {"case_id": ISSUED, "found_at": MOMENT} if table == "findings" else {}


PARENTS = {
    "inspections": ("/inspections?id=eq.{}", ISSUED, WITHDRAWN),
    "buildings": ("/buildings?id=eq.{}", 1, 1),
    "inspectors": ("/inspectors?id=eq.{}", INES, INES),
    "clients": ("/clients?id=eq.{}", 1, 1),
}


@pytest.mark.parametrize("table", PARENTS)
def test_what_a_report_names_is_not_deleted_and_the_details_say_until_when(case: Callable, table: str) -> None:
    path, *keys = PARENTS[table]
    before = stored(case)
    for who in ("ada", "root", "service") if table in ("inspections", "buildings") else ("root", "service"):
        for key in keys:
            refused = case(who).delete(path.format(key))
            assert (refused.status, refused.code) == (409, "23503"), refused.text
            assert "kept until 2029-11-19: flask purge removes it then." in refused.json["details"]
    assert stored(case) == before
    assert case("ada").delete(f"/inspections?id=eq.{CLOSED}").status == 204


def test_instrument_changes_and_building_moves_with_its_reports(case: Callable) -> None:
    """The report is frozen: what it says of them stays."""
    assert case("ada").patch("/xrf_instruments?id=eq.1", {"make": "Viken"}).status == 204
    assert case("ada").delete("/xrf_instruments?id=eq.1").status == 204
    assert case("root").patch(f"/inspectors?id=eq.{INES}", {"name": "Ina"}).status == 204
    assert case("ada").patch("/buildings?id=eq.1", {"name": "Harbor Hall"}).status == 204
    assert case("root").patch("/buildings?id=eq.1", {"client_id": 2}).status == 204
    moved = case("bob").get(f"/reports_lead?inspection_id=eq.{ISSUED}&select=id").json
    assert moved == [{"id": ROWS[ISSUED]}]
    assert case("bob").patch(f"/reports_lead?id=eq.{ROWS[ISSUED]}", {"room": "Hall"}).refusal == LOCK


def test_withdrawn_report_opens_the_visit(case: Callable) -> None:
    from engine.query.statement import UNRESTRICTED
    from engine.rows import read_rows, update_rows

    with case("root").database.app_for("POST", "/").extensions["walkthrough"].writing() as transaction:
        [row] = read_rows(transaction, UNRESTRICTED, "issued_reports", ("id",), inspection_id=ISSUED)
        update_rows(transaction, "issued_reports", [(row["id"],)], {"withdrawn_at": MOMENT})

    assert case("ada").patch(f"/reports_lead?id=eq.{ROWS[ISSUED]}", {"lead_mg_cm2": 0.1}).status == 204


EXCEPTIONS = {
    "inspection_plans": "why a visit exists: the service writes it, and no report says it",
    "finding_events": "the moves of findings go on",
    "issued_reports": "functions alone issue and withdraw",
    "visit_closings": "hidden; triggers write it as the status of the visit changes, which is refused",
    "client_admin_inspection_access": "who may read a visit is no evidence",
    "client_manager_inspection_access": "who may read a visit is no evidence",
    "audit_log": "triggers alone write it",
}
"""The tables with a path to inspections whose rows are written after the issue, with the reason."""

HELD_EXCEPTIONS = {
    **{name: EXCEPTIONS[name] for name in ("visit_closings", "audit_log")},
    **{name: reason for name, reason in EXCEPTIONS.items() if name.endswith("_access")},
    "client_admin_building_access": "who may read a building is no evidence",
    "client_manager_building_access": "who may read a building is no evidence",
    "public_displays": "a display is no evidence",
}
"""The tables with a path to buildings whose rows are deleted under a hold, with the reason."""


def tables_below(name: str) -> set[str]:
    """Return the tables with a path of foreign keys to a table, hidden ones included."""
    tables = next(iter(RESOURCES.values())).metadata.tables.values()
    found = {name}
    while True:
        more = {
            each.name for each in tables if any(key.column.table.name in found for key in each.foreign_keys)
        } | found
        if more == found:
            return found
        found = more


def test_every_table_below_inspections_is_locked_or_excepted() -> None:
    """A new table that refers to inspections has to say what an issued report refuses."""
    locked = {name for name, model in RESOURCES.items() if has_refusal(model, LOCK_CHECK)}

    assert locked == {"inspections", "reports_lead", "calibration_checks", "findings", "files"}
    assert tables_below("inspections") - locked <= set(EXCEPTIONS)


def test_every_table_below_buildings_is_held_or_excepted() -> None:
    held = {name for name, model in RESOURCES.items() if has_refusal(model, HOLD_CHECK)}

    assert tables_below("buildings") - held <= set(HELD_EXCEPTIONS)
