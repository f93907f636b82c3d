"""Each kind of write runs the rules of schedules, except an archive's import and a copy. Many rows are one write."""

import pathlib
import threading
from collections.abc import Callable

import pytest

from tests.conftest import Response
from tests.inspections.schedule_world import MERGE, OTHER_BUILDING, REPRESENTED, VACANT, ScheduleWorld, schedule_world
from tests.support import databases
from tests.support.applications import open_app

CSV = "text/csv"
COLUMNS = (
    "building_id", "inspection_type", "title", "every", "unit", "counted_from", "first_due", "grace_days",
    "inspector_id",
)  # fmt: skip
BULK = 1_000


@pytest.fixture
def agenda(api: Callable) -> ScheduleWorld:
    return schedule_world(api)


# Inspections


def patch(agenda: ScheduleWorld, row: dict) -> Response:
    return agenda.root.patch(f"/inspections?id=eq.{row['id']}", {"status": "completed"})


def patch_by_other_filters(agenda: ScheduleWorld, row: dict) -> Response:
    filters = f"building_id=eq.{row['building_id']}&status=eq.scheduled&order=id&limit=1"
    return agenda.root.patch(f"/inspections?{filters}", {"status": "completed"})


def patch_of_other_columns(agenda: ScheduleWorld, row: dict) -> Response:
    return agenda.root.patch(f"/inspections?id=eq.{row['id']}", {"building_id": 3, "status": "completed"})


def put(agenda: ScheduleWorld, row: dict) -> Response:
    return agenda.root.put(f"/inspections?id=eq.{row['id']}", {**row, "status": "completed"})


def upsert(agenda: ScheduleWorld, row: dict) -> Response:
    new = {"id": 500, "building_id": VACANT, "inspection_type": "annual", "status": "completed"}
    changed = {name: row[name] for name in ("id", "building_id", "inspection_type")}
    return agenda.root.post("/inspections", [new, {**changed, "status": "completed"}], prefer=MERGE)


def upsert_of_csv(agenda: ScheduleWorld, row: dict) -> Response:
    body = f"id,building_id,inspection_type,status\n{row['id']},{VACANT},fire,completed\n"
    return agenda.root.post("/inspections", body, prefer=MERGE, content_type=CSV)


def patch_by_csv(agenda: ScheduleWorld, row: dict) -> Response:
    return agenda.root.patch(f"/inspections?id=eq.{row['id']}", "status\ncompleted\n", content_type=CSV)


@pytest.mark.parametrize(
    "write",
    [patch, patch_by_other_filters, patch_of_other_columns, put, upsert, upsert_of_csv, patch_by_csv],
    ids=lambda write: write.__name__,
)
def test_each_write_closes_a_planned_inspection(agenda: ScheduleWorld, write: Callable) -> None:
    schedule_id = agenda.create()
    row = agenda.plans(schedule_id)[0]["inspections"]
    agenda.wait_until("2026-01-31")

    response = write(agenda, row)

    assert response.status in (200, 201, 204), response.text
    assert agenda.history(schedule_id) == [("2026-01-31", "done"), ("2026-04-30", None)]


def test_upsert_of_other_columns_leaves_the_plan_open(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    row = agenda.plans(schedule_id)[0]["inspections"]
    changed = {name: row[name] for name in ("id", "building_id", "inspection_type")}

    assert agenda.root.post("/inspections", [{**changed, "notes": "n"}], prefer=MERGE).status == 200

    assert agenda.history(schedule_id) == [("2026-01-31", None)]


def test_inspection_without_a_plan_has_no_consequence(agenda: ScheduleWorld) -> None:
    plans = agenda.root.get("/inspection_plans").json

    for status in ("failed", "completed", "cancelled"):
        agenda.edit(4, status=status)
    assert agenda.root.delete("/inspections?id=eq.4").status == 204

    assert agenda.root.get("/inspection_plans").json == plans
    assert len(agenda.root.get("/inspections").json) == 8


def test_response_shows_the_closed_inspection(agenda: ScheduleWorld) -> None:
    inspection_id = agenda.open_inspection(agenda.create())
    agenda.wait_until("2026-01-31")

    [row] = agenda.root.patch(
        f"/inspections?id=eq.{inspection_id}&select=status,inspection_plans(outcome)",
        {"status": "failed"},
        prefer=REPRESENTED,
    ).json

    assert row == {"status": "failed", "inspection_plans": {"outcome": "done"}}


# Schedules


def test_csv_creates_schedules(agenda: ScheduleWorld) -> None:
    body = "building_id,inspection_type,every,unit,first_due\n6,fire,1,year,2026-02-01\n2,lead,2,year,2026-03-01\n"

    response = agenda.root.post("/schedules?select=id", body, content_type=CSV, prefer=REPRESENTED)

    assert response.status == 201, response.text
    assert [agenda.history(row["id"]) for row in response.json] == [[("2026-02-01", None)], [("2026-03-01", None)]]


def test_upsert_makes_missing_inspections_only(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    rows = [agenda.body(), agenda.body(building_id=OTHER_BUILDING)]

    path = "/schedules?on_conflict=building_id,inspection_type,title&select=id"
    for prefer in (MERGE, MERGE, "resolution=ignore-duplicates"):
        response = agenda.root.post(path, [{**row, "title": ""} for row in rows], prefer=prefer)
        assert response.status in (200, 201), response.text

    [other] = agenda.root.get(f"/schedules?building_id=eq.{OTHER_BUILDING}&title=eq.&select=id").json
    assert agenda.history(schedule_id) == agenda.history(other["id"]) == [("2026-01-31", None)]


def test_put_creates_and_ends_a_schedule(agenda: ScheduleWorld) -> None:
    row = {
        **agenda.body(), "id": 70, "title": "", "counted_from": "planned", "grace_days": 0, "inspector_id": None,
        "basis": None, "ended_on": None, "created_at": "2026-01-01", "updated_at": "2026-01-01",
    }  # fmt: skip

    assert agenda.root.put("/schedules?id=eq.70", row).status == 204
    assert agenda.history(70) == [("2026-01-31", None)]

    assert agenda.root.put("/schedules?id=eq.70", {**row, "ended_on": "2026-01-01"}).status == 204
    assert agenda.plans(70) == []


def test_schedule_of_a_client_admin(agenda: ScheduleWorld) -> None:
    response = agenda.api("ada").post("/schedules?select=id", agenda.body(), prefer=REPRESENTED)

    assert response.status == 201
    [plan] = agenda.plans(response.json[0]["id"])
    assert agenda.api("ada").get(f"/inspections?id=eq.{plan['inspection_id']}&select=status").json == [
        {"status": "scheduled"}
    ]


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"every": 0}, "23514"),
        ({"every": 1201}, "23514"),
        ({"unit": "hour"}, "23514"),
        ({"counted_from": "never"}, "23514"),
        ({"grace_days": 367}, "23514"),
        ({"first_due": "2026-02-30"}, "22008"),
        ({"first_due": None}, "23502"),
        ({"building_id": 999}, "23503"),
        ({"inspector_id": 999}, "23503"),
    ],
)
def test_invalid_schedule_makes_nothing(agenda: ScheduleWorld, values: dict, code: str) -> None:
    before = len(agenda.root.get("/inspections").json)

    rows = [agenda.body(title="first"), agenda.body(**values)]
    response = agenda.root.post("/schedules?columns=" + ",".join(COLUMNS), rows, prefer="missing=default")

    assert response.code == code, response.text
    assert len(agenda.root.get("/inspections").json) == before
    assert len(agenda.root.get("/schedules").json) == 4


def test_plans_are_written_by_the_service_alone(agenda: ScheduleWorld) -> None:
    inspection_id = agenda.open_inspection(agenda.create())
    path = f"/inspection_plans?inspection_id=eq.{inspection_id}"

    for who in ("root", "ada", "service"):
        person = agenda.api(who)
        for response in (
            person.post("/inspection_plans", {"inspection_id": 4, "case_id": 4}),
            person.patch(path, {"outcome": "done"}),
            person.delete(path),
        ):
            assert (response.status, response.code) == (403, "42501")


# Archives and copies


def rows_with_a_schedule() -> dict:
    return {
        "clients": [{"id": 1, "name": "C"}],
        "buildings": [{"id": 1, "name": "B", "client_id": 1}],
        "users": [{"id": "00000000-0000-4000-8000-000000000001", "email": "r@x.example", "name": "R",
                   "role": "super_admin", "client_id": None}],
        "inspections": [{"id": 1, "building_id": 1, "inspection_type": "fire", "status": "completed"}],
        "schedules": [
            {"id": number, "building_id": 1, "inspection_type": "fire", "title": f"{number}", "every": 1,
             "unit": "year", "first_due": "2026-01-01"} for number in (1, 2)
        ],
        "inspection_plans": [{"inspection_id": 1, "schedule_id": 1, "occurrence": 0, "due_on": "2026-01-01",
                              "case_id": 1}],
    }  # fmt: skip


def test_import_and_copy_make_no_inspections(world: Callable, tmp_path: pathlib.Path) -> None:
    api = world(rows_with_a_schedule())
    run = api("root").database.own.test_cli_runner().invoke

    assert run(args=["copy", "--to", databases.url(tmp_path / "copied.db")]).exit_code == 0
    copied = open_app(tmp_path / "copied.db").test_cli_runner().invoke

    archive = run(args=["export"]).output
    assert copied(args=["export"]).output == archive
    assert len(api("root").get("/inspections").json) == 1
    assert api("root").get("/inspection_plans?select=outcome").json == [{"outcome": None}]


# Many rows


def test_one_request_closes_a_thousand_inspections(agenda: ScheduleWorld) -> None:
    schedules = [agenda.body(title=f"Round {number}") for number in range(BULK)]
    assert agenda.root.post("/schedules", schedules).status == 201
    last = agenda.root.get("/audit_log?select=id&order=id.desc&limit=1").json[0]["id"]
    agenda.wait_until("2026-03-01")

    response = agenda.root.patch(
        f"/inspections?building_id=eq.{VACANT}", {"status": "completed", "date_visited": "2026-03-01"},
        prefer="return=headers-only,count=exact",
    )  # fmt: skip

    assert response.total == str(BULK)
    count = "limit=1&select=inspection_id"
    for filters, number in (
        ("outcome=is.null&due_on=eq.2026-04-30&occurrence=eq.1&schedule_id=gt.4", BULK),
        ("outcome=eq.done&due_on=eq.2026-01-31", BULK),
        ("schedule_id=gt.4", 2 * BULK),
    ):
        assert agenda.root.get(f"/inspection_plans?{filters}&{count}", prefer="count=exact").total == str(number)
    written = agenda.root.get(f"/audit_log?id=gt.{last}&select=relation,action,count()&order=relation,action").json
    assert [tuple(each.values()) for each in written] == [
        ("inspection_plans", "insert", BULK), ("inspection_plans", "update", BULK),
        ("inspections", "insert", BULK), ("inspections", "update", BULK),
    ]  # fmt: skip
    plans = agenda.root.get("/inspection_plans?outcome=is.null&schedule_id=gt.4&select=case_id,inspection_id").json
    assert all(plan["case_id"] == plan["inspection_id"] for plan in plans)


@pytest.fixture
def statements(agenda: ScheduleWorld, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the statements that writes run."""
    found: list[str] = []
    with agenda.stored.writing() as transaction:
        kind = type(transaction)
    run = kind.run

    def record(self: object, sql: str, *parameters: object) -> object:
        found.append(sql)
        return run(self, sql, *parameters)

    monkeypatch.setattr(kind, "run", record)
    return found


def test_statements_of_a_request_do_not_depend_on_its_rows(agenda: ScheduleWorld, statements: list[str]) -> None:
    def close(number: int) -> int:
        assert agenda.root.post("/schedules", [agenda.body(title=f"{number}.{n}") for n in range(number)]).status == 201
        agenda.wait_until("2026-03-01")
        statements.clear()
        body = {"status": "completed", "date_visited": "2026-03-01"}
        assert agenda.root.patch("/inspections?building_id=eq.6&date_visited=eq.2026-01-31", body).status == 204
        return len(statements)

    assert close(2) == close(20)


@pytest.mark.parametrize("filters", ["id=eq.4", "building_id=eq.2&id=eq.4", "id=in.(4,5)"])
def test_status_without_a_plan_takes_no_further_statement(
    agenda: ScheduleWorld, statements: list[str], filters: str
) -> None:
    def count(**values: object) -> int:
        statements.clear()
        assert agenda.root.patch(f"/inspections?{filters}", values).status == 204
        return len(statements)

    assert count(status="failed") == count(notes="n")


def test_concurrent_requests_leave_one_open_inspection(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    inspection_id = agenda.open_inspection(schedule_id)
    agenda.wait_until("2026-01-31")
    start, statuses = threading.Barrier(4), []

    def close(status: str) -> None:
        start.wait()
        statuses.append(agenda.root.patch(f"/inspections?id=eq.{inspection_id}", {"status": status}).status)

    threads = [
        threading.Thread(target=close, args=(each,)) for each in ("completed", "failed", "cancelled", "completed")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert statuses == [204] * 4
    assert len(agenda.open_plans(schedule_id)) == 1
    assert len(agenda.plans(schedule_id)) == 2
