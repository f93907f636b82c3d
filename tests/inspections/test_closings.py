"""Who closed a visit, and when: every status before, every status after, by every way of writing it."""

from collections.abc import Callable
from itertools import count, product

import pytest

from models.vocabulary import CLOSED_STATUSES
from tests.conftest import ADA, ROOT, Response
from tests.inspections.schedule_world import BUILDING, MERGE, REPRESENTED, TODAY, VACANT, ScheduleWorld, schedule_world

CLOSED = ("completed", "failed", "cancelled")
STATUSES = ("scheduled", "in_progress", *CLOSED)
ANY_STATUS = (*STATUSES, "on hold", None)
NUMBERS = count(1)
FIRST, LATER = "2026-01-05T12:00:00+00:00", "2026-01-05T12:00:01+00:00"


@pytest.fixture
def agenda(api: Callable) -> ScheduleWorld:
    return schedule_world(api)


def closing(agenda: ScheduleWorld, visit: int) -> tuple | None:
    """Return the time and the user of the closing of a visit."""
    with agenda.stored.reading() as transaction:
        statement = f"SELECT closed_at, closed_by FROM visit_closings WHERE inspection_id = {visit}"
        row = transaction.one(statement)
    return row and (row[0], row[1] and str(row[1]))


def closings(agenda: ScheduleWorld) -> list:
    with agenda.stored.reading() as transaction:
        return [str(row) for row in transaction.all("SELECT * FROM visit_closings ORDER BY inspection_id")]


def body(**values: object) -> dict:
    return {"building_id": BUILDING, "inspection_type": "annual", "date_visited": TODAY, **values}


def insert(agenda: ScheduleWorld, status: str | None, who: str = "ada") -> dict:
    answer = agenda.api(who).post("/inspections", body(status=status), prefer=REPRESENTED)
    assert answer.status == 201, answer.text
    return answer.json[0]


def plan(agenda: ScheduleWorld, status: str | None) -> dict:
    """Return the visit of a new schedule, whose status ada has set."""
    schedule_id = agenda.create(first_due=TODAY, title=f"Schedule {next(NUMBERS)}")
    visit = agenda.open_inspection(schedule_id)
    if status != "scheduled":
        assert agenda.api("ada").patch(f"/inspections?id=eq.{visit}", {"status": status}).status == 204
    return agenda.root.get(f"/inspections?id=eq.{visit}").json[0]


def patch(agenda: ScheduleWorld, visit: dict, status: str | None) -> Response:
    return agenda.root.patch(f"/inspections?id=eq.{visit['id']}", {"status": status})


def patch_by_other_filters(agenda: ScheduleWorld, visit: dict, status: str | None) -> Response:
    filters = f"id=in.({visit['id']},999)&building_id=eq.{visit['building_id']}"
    return agenda.root.patch(f"/inspections?{filters}", {"status": status})


def put(agenda: ScheduleWorld, visit: dict, status: str | None) -> Response:
    return agenda.root.put(f"/inspections?id=eq.{visit['id']}", {**visit, "status": status})


def upsert(agenda: ScheduleWorld, visit: dict, status: str | None) -> Response:
    row = {name: visit[name] for name in ("id", "building_id", "inspection_type")}
    return agenda.root.post("/inspections", [{**row, "status": status}], prefer=MERGE)


@pytest.mark.parametrize("door", [patch, patch_by_other_filters, put, upsert], ids=lambda door: door.__name__)
@pytest.mark.parametrize("begin", [insert, plan], ids=["unplanned", "planned"])
def test_closing_follows_every_status(agenda: ScheduleWorld, begin: Callable, door: Callable) -> None:
    for before, after in product(*[ANY_STATUS if begin is insert else STATUSES] * 2):
        agenda.set_clock(FIRST)
        visit = begin(agenda, before)
        first = (FIRST, ADA) if before in CLOSED else None
        assert closing(agenda, visit["id"]) == first, before
        agenda.tick()

        answer = door(agenda, visit, after)

        assert answer.status in (200, 201, 204), answer.text
        expected = first if before == after else (LATER, ROOT) if after in CLOSED else None
        assert closing(agenda, visit["id"]) == expected, (before, after)


@pytest.mark.parametrize("begin", [insert, plan], ids=["unplanned", "planned"])
@pytest.mark.parametrize(("before", "after"), [*product(("scheduled", "in_progress"), ("completed", "failed"))])
def test_closing_of_close_visit(agenda: ScheduleWorld, begin: Callable, before: str, after: str) -> None:
    visit = begin(agenda, before)["id"]
    agenda.tick()

    for who, status, answered in (("ada", after, 200), ("root", after, 400)):
        answer = agenda.api(who).rpc("close_visit", {"p_inspection_id": visit, "p_status": status})
        assert answer.status == answered, answer.text

    assert closing(agenda, visit) == (LATER, ADA)


def test_every_closed_status_is_tried() -> None:
    assert CLOSED == CLOSED_STATUSES


def test_skipped_visit_is_closed(agenda: ScheduleWorld) -> None:
    visit = agenda.open_inspection(agenda.create())

    assert agenda.root.rpc("skip_occurrence", {"p_inspection_id": visit, "p_reason": "Vacant"}).status == 200

    assert closing(agenda, visit) == (FIRST, ROOT)


def test_service_key_closes_without_a_user(agenda: ScheduleWorld) -> None:
    assert closing(agenda, insert(agenda, "failed", "service")["id"]) == (FIRST, None)


def test_rows_of_one_request(agenda: ScheduleWorld) -> None:
    rows = [body(id=700 + place, status=status) for place, status in enumerate(ANY_STATUS)]

    for prefer in ("", MERGE):
        assert agenda.root.post("/inspections", rows, prefer=prefer).status in (200, 201)
        of_request = [closing(agenda, row["id"]) for row in rows]
        assert of_request == [(FIRST, ROOT) if s in CLOSED else None for s in ANY_STATUS]
        agenda.tick()


def test_new_rows_beside_merged_ones(agenda: ScheduleWorld) -> None:
    visit = insert(agenda, "completed")["id"]
    agenda.tick()

    rows = [body(id=visit, status="completed"), body(id=701, status="failed"), body(id=702, status="scheduled")]
    assert agenda.root.post("/inspections", rows, prefer=MERGE).status in (200, 201)

    found = [closing(agenda, key) for key in (visit, 701, 702)]
    assert found == [(FIRST, ADA), (LATER, ROOT), None]


def test_csv_file_of_the_api(agenda: ScheduleWorld) -> None:
    text = f"id,building_id,inspection_type,status\n703,{BUILDING},fire,completed\n704,{BUILDING},fire,scheduled\n"

    answer = agenda.root.post("/inspections", text, content_type="text/csv")

    assert answer.status == 201, answer.text
    assert [closing(agenda, key) for key in (703, 704)] == [(FIRST, ROOT), None]


@pytest.mark.parametrize("values", [{"notes": "n"}, {"date_visited": None}, {"inspection_type": "fire"}])
def test_other_columns_leave_the_closing(agenda: ScheduleWorld, values: dict) -> None:
    visit = insert(agenda, "completed")["id"]

    agenda.edit(visit, **values)

    assert closing(agenda, visit) == (FIRST, ADA)


# What a refused write leaves


def test_refused_change_keeps_the_closing(agenda: ScheduleWorld) -> None:
    visit = plan(agenda, "completed")
    [schedule] = agenda.root.get(f"/inspection_plans?inspection_id=eq.{visit['id']}&select=schedule_id").json
    agenda.edit(agenda.open_inspection(schedule["schedule_id"]), notes="Key at the office.")
    before = closings(agenda)

    for status in ("scheduled", "cancelled"):
        assert patch(agenda, visit, status).status == 409

    assert closings(agenda) == before


def test_refused_insert_leaves_no_closing(agenda: ScheduleWorld) -> None:
    before = closings(agenda)

    for row in ({"building_id": 999}, {"id": 0}, {"notes": 1}):
        assert agenda.root.post("/inspections", [body(status="failed"), body(status="failed", **row)]).status >= 400

    assert closings(agenda) == before


# What becomes of the rows that it names


def test_closing_goes_with_its_visit(agenda: ScheduleWorld) -> None:
    visit = insert(agenda, "completed")["id"]

    assert agenda.root.delete(f"/inspections?id=eq.{visit}").status == 204

    assert closing(agenda, visit) is None


def test_closing_follows_the_number_of_its_visit(agenda: ScheduleWorld) -> None:
    visit = insert(agenda, "completed")["id"]

    assert agenda.root.patch(f"/inspections?id=eq.{visit}", {"id": 705}).status == 204

    assert (closing(agenda, visit), closing(agenda, 705)) == (None, (FIRST, ADA))


def test_closing_stays_when_its_building_moves_to_another_client(agenda: ScheduleWorld) -> None:
    visit = insert(agenda, "completed")["id"]
    agenda.tick()

    assert agenda.root.patch(f"/buildings?id=eq.{BUILDING}", {"client_id": 2}).status == 204

    assert closing(agenda, visit) == (FIRST, ADA)


def test_deleted_user_is_no_longer_named(agenda: ScheduleWorld) -> None:
    visit = insert(agenda, "completed")["id"]

    assert agenda.root.delete(f"/users?id=eq.{ADA}").status == 204

    assert closing(agenda, visit) == (FIRST, None)


def test_archive_has_no_closings(world: Callable) -> None:
    rows = {
        "clients": [{"id": 1, "name": "C"}],
        "buildings": [{"id": VACANT, "name": "B", "client_id": 1}],
        "inspections": [
            {"id": key, "building_id": VACANT, "inspection_type": "fire", "status": status}
            for key, status in enumerate(ANY_STATUS, 1)
        ],
    }
    agenda = ScheduleWorld(world(rows))

    assert closings(agenda) == []
