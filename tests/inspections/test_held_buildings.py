"""A held building: nothing of it is deleted or moved away, whatever way the write takes; super admins hold it."""

from collections.abc import Callable

import pytest

from engine.query.catalog import CheckViolation
from inspections.planned_visits import tables_of_records
from models.inspection import RECORDS
from tests.inspections.case_world import MOMENT
from tests.inspections.issued_world import (
    CLOSED,
    HELD,
    HELD_OPEN,
    HELD_PLANNED,
    HELD_VISIT,
    HOLD,
    issue,
    issued_rows,
    stored,
)
from tests.support.storage import Storage, picture

ROW, OPEN_ROW = 60, 61
"""The rows of the closed visit of the held building, and of the one under way."""

DELETIONS = {
    "building_details": f"building_id=eq.{HELD}",
    "reports_lead": f"id=eq.{ROW}",
    "calibration_checks": f"id=eq.{ROW}",
    "findings": f"id=eq.{ROW}",
    "schedules": "building_id=eq.7",
    "buildings": f"id=eq.{HELD}",
    "inspections": f"id=eq.{HELD_OPEN}",
}
MOVES = {
    "building_details": (f"building_id=eq.{HELD}", {"building_id": 2}),
    "inspections": (f"id=eq.{HELD_OPEN}", {"building_id": 1}),
    "schedules": ("id=eq.7", {"building_id": 1}),
    "reports_lead": (f"id=eq.{ROW}", {"inspection_id": CLOSED}),
    "calibration_checks": (f"id=eq.{ROW}", {"inspection_id": CLOSED}),
    "findings": (f"id=eq.{ROW}", {"inspection_id": CLOSED}),
}


@pytest.fixture
def case(world: Callable) -> Callable:
    made = world(issued_rows(), MOMENT)
    issue(made)
    return made


@pytest.mark.parametrize("table", DELETIONS)
def test_rows_of_a_held_building_are_not_deleted(case: Callable, table: str) -> None:
    before = stored(case)
    for who in ("ada", "root", "service"):
        refused = case(who).delete(f"/{table}?{DELETIONS[table]}")
        assert refused.refusal == HOLD, (who, refused.text)
    assert stored(case) == before
    assert case("root").patch(f"/building_details?building_id=eq.{HELD}", {"hold_reason": None}).status == 204
    if table != "buildings":  # its visits still refer to it
        assert case("ada").delete(f"/{table}?{DELETIONS[table]}").status == 204


@pytest.mark.parametrize("table", MOVES)
def test_rows_of_a_held_building_are_not_moved_to_another(case: Callable, table: str) -> None:
    filters, change = MOVES[table]
    before = stored(case)
    for who in ("root", "service") if table == "building_details" else ("ada", "root", "service"):
        assert case(who).patch(f"/{table}?{filters}", change).refusal == HOLD, who
    assert stored(case) == before


def test_inspector_deletes_no_row_of_a_held_building(case: Callable) -> None:
    for table in ("reports_lead", "calibration_checks", "findings"):
        assert case("mia").delete(f"/{table}?id=eq.{OPEN_ROW}").refusal == HOLD


@pytest.mark.parametrize("table", ["issued_reports", "notices", "finding_events", "inspection_plans", "files"])
def test_service_deletes_no_row_of_a_held_building(case: Callable, table: str) -> None:
    """Functions alone delete these rows: SQL of the service is the door."""
    database = case("root").database.app_for("POST", "/").extensions["walkthrough"]
    chosen = {
        "issued_reports": f"inspection_id = {HELD_VISIT}",
        "notices": f"building_id = {HELD}",
        "finding_events": f"finding_id = {ROW}",
        "inspection_plans": f"inspection_id = {HELD_VISIT}",
        "files": f"inspection_id = {HELD_VISIT} OR finding_id = {ROW} OR building_id = {HELD}",
    }
    before = stored(case)
    with pytest.raises(CheckViolation) as refused, database.writing() as transaction:
        transaction.run(f"DELETE FROM {table} WHERE {chosen[table]}")
    assert refused.value.constraint == "building_details_hold_check"
    assert stored(case) == before


def test_files_of_a_held_building_are_not_removed(case: Callable) -> None:
    before = stored(case)
    for who in ("ada", "root"):
        sender = Storage(case(who))
        for name in (f"inspections/{HELD_VISIT}", f"findings/{ROW}", f"buildings/{HELD}"):
            removed = sender.send("DELETE", f"/storage/v1/object/{name}/a.png")
            assert (removed.status, removed.refusal[2][: len(HOLD[2])]) == (400, HOLD[2]), removed.body
    assert stored(case) == before


def test_files_of_a_held_building_keep_their_bytes(case: Callable) -> None:
    before = stored(case, ("files",))
    for who in ("ada", "root"):
        sender = Storage(case(who))
        for bucket, row in (("inspections", HELD_VISIT), ("findings", ROW), ("buildings", HELD)):
            path = f"/storage/v1/object/{bucket}/{row}"
            copied = {"bucketId": bucket, "sourceKey": f"{row}/b.png", "destinationKey": f"{row}/a.png"}
            assert sender.upload(f"{bucket}/{row}/b.png", picture("new")).status == 200
            replaced = [
                sender.send("PUT", f"{path}/a.png", picture("other"), Content_Type="image/png"),
                sender.send("POST", f"{path}/a.png", picture("other"), Content_Type="image/png", x_upsert="true"),
                sender.send("POST", "/storage/v1/object/copy", copied, x_upsert="true"),
            ]
            assert [each.refusal[2][: len(HOLD[2])] for each in replaced] == [HOLD[2]] * 3, replaced[0].body
    after = {row["id"]: row["sha256"] for row in stored(case, ("files",))["files"]}
    assert {row["id"]: after[row["id"]] for row in before["files"]} == {
        row["id"]: row["sha256"] for row in before["files"]
    }
    [row] = case("ada").get(f"/files?name=eq.{HELD}/a.png").json
    database = case("root").database.app_for("POST", "/").extensions["walkthrough"]
    with pytest.raises(CheckViolation) as refused, database.writing() as transaction:
        transaction.run(f"UPDATE files SET sha256 = '{'f' * 64}' WHERE name = '{HELD}/a.png'")
    assert refused.value.constraint == "building_details_hold_check"
    assert case("ada").patch(f"/files?id=eq.{row['id']}", {"caption": "The front door."}).status == 204


def test_untouched_planned_visit_goes_with_the_end_of_its_schedule(case: Callable) -> None:
    """A visit that nobody edited is no record: a schedule of a held building can end."""
    assert case("ada").patch("/schedules?id=eq.7", {"ended_on": "2026-11-20"}).status == 204
    assert case("ada").get(f"/inspections?id=eq.{HELD_PLANNED}").json == []


def test_touched_planned_visit_stays(case: Callable) -> None:
    assert case("ada").patch(f"/inspections?id=eq.{HELD_PLANNED}", {"notes": "Ring twice."}).status == 204
    assert case("ada").patch("/schedules?id=eq.7", {"ended_on": "2026-11-20"}).status == 204

    refused = case("ada").delete(f"/inspections?id=eq.{HELD_PLANNED}")

    assert refused.refusal == HOLD, refused.text


def test_records_of_a_visit_are_those_that_the_triggers_know() -> None:
    assert set(tables_of_records()) == set(RECORDS)


def test_held_building_moves_to_another_client_and_changes(case: Callable) -> None:
    assert case("root").patch(f"/buildings?id=eq.{HELD}", {"client_id": 2, "name": "Tide Hall"}).status == 204
    assert case("bob").delete(f"/findings?id=eq.{ROW}").refusal == HOLD
    assert case("bob").patch(f"/findings?id=eq.{ROW}", {"place": "3D"}).status == 204


@pytest.mark.parametrize("reason", ["Another.", None])
def test_super_admins_alone_hold_a_building(case: Callable, reason: str | None) -> None:
    protected = (400, "428C9")
    merge = {"prefer": "resolution=merge-duplicates"}
    row = {"building_id": 2 if reason else HELD, "hold_reason": reason}
    writes = (
        lambda who: case(who).patch(f"/building_details?building_id=eq.{HELD}", {"hold_reason": reason}),
        lambda who: case(who).post("/building_details", {**row, "building_id": 1}, **merge),
        lambda who: case(who).post("/building_details", row, **merge),
        lambda who: case(who).put(f"/building_details?building_id=eq.{HELD}", {**row, "building_id": HELD}),
        lambda who: case(who).post(
            "/building_details?columns=building_id,hold_reason",
            {"building_id": HELD},
            prefer="resolution=merge-duplicates,missing=default",
        ),
    )
    before = stored(case)
    for write in writes:
        assert write("ada").refusal[:2] == protected
    assert stored(case) == before
    for write in writes:
        assert write("root").status in (200, 201, 204), write("root").text


def test_client_admins_change_the_other_details_of_a_held_building(case: Callable) -> None:
    path = f"/building_details?building_id=eq.{HELD}"
    assert case("ada").patch(path, {"year_built": 1921}).status == 204
    assert case("ada").put(path, {"building_id": HELD, "year_built": 1922}).status in (200, 204)
    [row] = case("ada").get(path).json
    assert (row["year_built"], row["hold_reason"]) == (1922, "Lawsuit 26-CV-104.")
