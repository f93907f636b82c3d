"""apply_schedule, skip_occurrence and preview_schedule."""

from collections.abc import Callable

import pytest

from tests.conftest import Response, dump
from tests.inspections.schedule_world import (
    BUILDING,
    ELSEWHERE,
    MISSING,
    OTHER_BUILDING,
    READ_ONLY,
    TODAY,
    VACANT,
    ScheduleWorld,
    schedule_world,
)

NO_BUILDING = (404, "PT404", "Building not found")
NO_INSPECTION = (404, "PT404", "Inspection not found")
DENIED = (403, "42501")
NOT_OPEN = (400, "23514", "Only an open visit of a schedule can be skipped.")


@pytest.fixture
def agenda(api: Callable) -> ScheduleWorld:
    return schedule_world(api)


def refuse_without_trace(agenda: ScheduleWorld, who: str, function: str, arguments: dict) -> Response:
    before = dump(agenda.api)
    response = agenda.api(who).rpc(function, arguments)
    assert dump(agenda.api) == before
    return response


# apply_schedule


def application(*building_ids: int, **values: object) -> dict:
    plain = {"p_inspection_type": "fire", "p_every": 3, "p_unit": "month", "p_first_due": "2026-01-31"}
    return {"p_building_ids": list(building_ids), **plain, **values}


def first_due_dates(agenda: ScheduleWorld, title: str = "") -> dict[int, str]:
    """Return the first due date of each building's schedule of this title."""
    rows = agenda.root.get(f"/schedules?id=gt.4&title=eq.{title}&select=building_id,first_due").json
    return {row["building_id"]: row["first_due"] for row in rows}


@pytest.mark.parametrize("who", ["root", "ada", "service"])
def test_schedule_is_applied_to_buildings(agenda: ScheduleWorld, who: str) -> None:
    response = agenda.api(who).rpc("apply_schedule", application(BUILDING, VACANT, p_title="Exits"))

    assert response.json == {"made": 2, "already": 0}
    schedules = agenda.root.get("/schedules?title=eq.Exits&order=id").json
    assert [row["building_id"] for row in schedules] == [BUILDING, VACANT]
    for row in schedules:
        assert row.items() >= {
            "inspection_type": "fire", "every": 3, "unit": "month", "counted_from": "planned",
            "first_due": "2026-01-31", "grace_days": 0, "ended_on": None,
        }.items()  # fmt: skip
        assert agenda.history(row["id"]) == [("2026-01-31", None)]


def test_buildings_with_the_schedule_are_counted(agenda: ScheduleWorld) -> None:
    agenda.root.rpc("apply_schedule", application(BUILDING))

    response = agenda.root.rpc("apply_schedule", application(BUILDING, VACANT, VACANT, OTHER_BUILDING, p_every=6))

    assert response.json == {"made": 2, "already": 1}
    intervals = agenda.root.get("/schedules?id=gt.4&order=building_id&select=building_id,every").json
    assert [tuple(row.values()) for row in intervals] == [(BUILDING, 3), (OTHER_BUILDING, 6), (VACANT, 6)]
    assert agenda.root.rpc("apply_schedule", application(BUILDING)).json == {"made": 0, "already": 1}


@pytest.mark.parametrize(
    ("days", "due_dates"),
    [
        (None, ["2026-01-31", "2026-01-31", "2026-01-31"]),
        (0, ["2026-01-31", "2026-01-31", "2026-01-31"]),
        (1, ["2026-01-31", "2026-02-01", "2026-02-02"]),
        (27, ["2026-01-31", "2026-02-27", "2026-02-26"]),
        (366, ["2026-01-31", "2026-02-02", "2026-02-04"]),
    ],
)
def test_first_due_dates_are_spread(agenda: ScheduleWorld, days: int | None, due_dates: list[str]) -> None:
    agenda.root.rpc("apply_schedule", application(BUILDING, OTHER_BUILDING, VACANT, p_spread_days=days))

    assert first_due_dates(agenda) == dict(zip((BUILDING, OTHER_BUILDING, VACANT), due_dates, strict=True))


def test_spread_counts_each_building_once(agenda: ScheduleWorld) -> None:
    agenda.root.rpc("apply_schedule", application(BUILDING, BUILDING, VACANT, p_spread_days=2))

    assert first_due_dates(agenda) == {BUILDING: "2026-01-31", VACANT: "2026-02-02"}


def test_optional_values(agenda: ScheduleWorld) -> None:
    values = {"p_title": "Alarms", "p_counted_from": "done", "p_spread_days": 1, "p_inspector_id": 1}
    agenda.root.rpc("apply_schedule", application(VACANT, **values))

    [row] = agenda.root.get("/schedules?title=eq.Alarms").json
    assert (row["counted_from"], row["inspector_id"]) == ("done", 1)
    [visit] = agenda.root.get(f"/inspections?id=eq.{agenda.open_inspection(row['id'])}").json
    assert visit["inspector_id"] == 1


@pytest.mark.parametrize("building_id", [ELSEWHERE, MISSING])
def test_building_out_of_reach_is_missing(agenda: ScheduleWorld, building_id: int) -> None:
    response = refuse_without_trace(agenda, "ada", "apply_schedule", application(VACANT, building_id))

    assert response.refusal == NO_BUILDING


def test_missing_building_of_a_super_admin(agenda: ScheduleWorld) -> None:
    response = refuse_without_trace(agenda, "root", "apply_schedule", application(VACANT, MISSING))

    assert response.refusal == NO_BUILDING


def test_readable_building_of_another_client_is_denied(agenda: ScheduleWorld) -> None:
    response = refuse_without_trace(agenda, "ada", "apply_schedule", application(VACANT, READ_ONLY))

    assert (response.status, response.code) == DENIED


@pytest.mark.parametrize("who", ["moe", "mia", "max"])
def test_managers_apply_and_skip_nothing(agenda: ScheduleWorld, who: str) -> None:
    inspection_id = agenda.open_inspection(agenda.create(building_id=BUILDING))

    for function, arguments in (
        ("apply_schedule", application(BUILDING)),
        ("skip_occurrence", {"p_inspection_id": inspection_id, "p_reason": "x"}),
    ):
        response = refuse_without_trace(agenda, who, function, arguments)
        assert (response.status, response.code) == DENIED


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"p_building_ids": []}, "22023"),
        ({"p_building_ids": [VACANT] * 1001}, "PGRST100"),
        ({"p_building_ids": [None]}, "22P02"),
        ({"p_building_ids": None}, "22P02"),
        ({"p_building_ids": "x"}, "22P02"),
        ({"p_every": 0}, "22023"),
        ({"p_every": 1201}, "22023"),
        ({"p_every": 1.5}, "22P02"),
        ({"p_every": None}, "22P02"),
        ({"p_unit": "hour"}, "22023"),
        ({"p_unit": 1}, "22P02"),
        ({"p_counted_from": "never"}, "22023"),
        ({"p_first_due": "2026-02-30"}, "22008"),
        ({"p_first_due": "soon"}, "22007"),
        ({"p_first_due": "9999-12-31", "p_building_ids": [BUILDING, VACANT], "p_spread_days": 1}, "22008"),
        ({"p_spread_days": -1}, "22023"),
        ({"p_spread_days": 367}, "22023"),
        ({"p_inspection_type": None}, "22P02"),
        ({"p_inspection_type": "x" * 65_537}, "22001"),
        ({"p_title": "x" * 65_537}, "22001"),
        ({"p_grace_days": 367}, "22023"),
        ({"p_unit_ids": [1]}, "PGRST202"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_invalid_application_is_refused(agenda: ScheduleWorld, values: dict, code: str) -> None:
    response = refuse_without_trace(agenda, "root", "apply_schedule", application(VACANT, **values))

    assert response.code == code, response.text


def test_thousand_buildings(agenda: ScheduleWorld) -> None:
    buildings = [{"name": f"Building {number}", "client_id": 1} for number in range(1_000)]
    made = agenda.root.post("/buildings?select=id", buildings, prefer="return=representation").json

    response = agenda.api("ada").rpc("apply_schedule", application(*(row["id"] for row in made), p_spread_days=1))

    assert response.json == {"made": 1_000, "already": 0}
    filters = "building_id=gt.6&status=eq.scheduled&order=date_visited.desc&limit=1"
    last = agenda.root.get(f"/inspections?{filters}", prefer="count=exact")
    assert (last.total, last.json[0]["date_visited"]) == ("1000", "2026-02-27")


def test_rolled_back_application_leaves_nothing(agenda: ScheduleWorld) -> None:
    before = dump(agenda.api)

    response = agenda.root.rpc("apply_schedule", application(VACANT), prefer="tx=rollback")

    assert response.json == {"made": 1, "already": 0}
    assert dump(agenda.api) == before


# skip_occurrence


def skip(
    agenda: ScheduleWorld, inspection_id: int, reason: str = "The building is empty.", who: str = "root"
) -> Response:
    agenda.tick()
    return agenda.api(who).rpc("skip_occurrence", {"p_inspection_id": inspection_id, "p_reason": reason})


@pytest.mark.parametrize("who", ["root", "ada"])
@pytest.mark.parametrize(
    ("notes", "expected"),
    [(None, "Vacant"), ("", "Vacant"), ("Key at the office.", "Key at the office.\nVacant")],
    ids=["none", "empty", "some"],
)
def test_occurrence_is_skipped(agenda: ScheduleWorld, who: str, notes: str | None, expected: str) -> None:
    schedule_id = agenda.create()
    inspection_id = agenda.open_inspection(schedule_id)
    agenda.edit(inspection_id, notes=notes)

    response = skip(agenda, inspection_id, "Vacant", who)

    first, following = agenda.plans(schedule_id)
    assert response.json == {"next_inspection_id": following["inspection_id"], "next_due": "2026-04-30"}
    assert (first["outcome"], first["inspections"]["status"], first["inspections"]["notes"]) == (
        "skipped", "cancelled", expected,
    )  # fmt: skip
    assert (following["occurrence"], following["outcome"]) == (1, None)


@pytest.mark.parametrize(
    ("counted_from", "next_due"), [("planned", "2026-04-30"), ("done", "2026-04-30")], ids=["planned", "done"]
)
def test_skipped_occurrence_counts_from_its_due_date(agenda: ScheduleWorld, counted_from: str, next_due: str) -> None:
    inspection_id = agenda.open_inspection(agenda.create(counted_from=counted_from))
    agenda.edit(inspection_id, date_visited="2026-09-09")

    assert skip(agenda, inspection_id).json["next_due"] == next_due


def test_skipped_inspection_stays_skipped(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    inspection_id = agenda.open_inspection(schedule_id)
    skip(agenda, inspection_id)

    agenda.edit(inspection_id, status="cancelled", notes="n")

    assert agenda.history(schedule_id) == [("2026-01-31", "skipped"), ("2026-04-30", None)]
    assert skip(agenda, inspection_id).refusal == NOT_OPEN


def test_last_occurrence_has_no_next_one(agenda: ScheduleWorld) -> None:
    inspection_id = agenda.open_inspection(agenda.create(ended_on="2026-04-29"))

    assert skip(agenda, inspection_id).json == {"next_inspection_id": None, "next_due": None}


def test_schedule_continues_after_a_skipped_occurrence(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create(ended_on="2026-04-29")
    skip(agenda, agenda.open_inspection(schedule_id))

    agenda.change(schedule_id, ended_on=None)

    assert agenda.history(schedule_id) == [("2026-01-31", "skipped"), ("2026-04-30", None)]


def test_inspection_without_an_open_plan_is_not_skipped(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    first = agenda.open_inspection(schedule_id)
    agenda.close(schedule_id, "completed", "2026-02-01")

    for inspection_id in (4, first):
        arguments = {"p_inspection_id": inspection_id, "p_reason": "x"}
        assert refuse_without_trace(agenda, "ada", "skip_occurrence", arguments).refusal == NOT_OPEN


def test_inspection_out_of_reach_is_missing(agenda: ScheduleWorld) -> None:
    hidden = agenda.open_inspection(agenda.create(building_id=ELSEWHERE))

    for inspection_id in (hidden, MISSING):
        arguments = {"p_inspection_id": inspection_id, "p_reason": "x"}
        assert refuse_without_trace(agenda, "ada", "skip_occurrence", arguments).refusal == NO_INSPECTION


def test_readable_inspection_of_another_client_is_denied(agenda: ScheduleWorld) -> None:
    inspection_id = agenda.open_inspection(agenda.create(building_id=READ_ONLY))

    for each in (inspection_id, 8):
        response = refuse_without_trace(agenda, "ada", "skip_occurrence", {"p_inspection_id": each, "p_reason": "x"})
        assert (response.status, response.code) == DENIED


@pytest.mark.parametrize(
    ("reason", "code"), [("", "22023"), ("x" * 1_001, "22023"), (None, "22P02"), (5, "22P02"), ("a\0b", "22P05")]
)
def test_invalid_reason_is_refused(agenda: ScheduleWorld, reason: object, code: str) -> None:
    inspection_id = agenda.open_inspection(agenda.create())

    arguments = {"p_inspection_id": inspection_id, "p_reason": reason}
    assert refuse_without_trace(agenda, "root", "skip_occurrence", arguments).code == code


def test_reason_of_a_thousand_characters(agenda: ScheduleWorld) -> None:
    assert skip(agenda, agenda.open_inspection(agenda.create()), "ü" * 1_000).status == 200


def test_too_long_notes_are_refused(agenda: ScheduleWorld) -> None:
    inspection_id = agenda.open_inspection(agenda.create())
    agenda.edit(inspection_id, notes="x" * 65_536)

    arguments = {"p_inspection_id": inspection_id, "p_reason": "y"}
    assert refuse_without_trace(agenda, "root", "skip_occurrence", arguments).code == "22001"


# preview_schedule


@pytest.mark.parametrize("who", ["root", "ada", "moe", "mia", "service"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_due_dates_are_previewed(agenda: ScheduleWorld, who: str, method: str) -> None:
    arguments = {"p_every": 3, "p_unit": "month", "p_first_due": "2026-01-31", "p_count": 4}

    response = agenda.api(who).rpc("preview_schedule", arguments, method=method)

    assert response.json == ["2026-01-31", "2026-04-30", "2026-07-31", "2026-10-31"]


def test_preview_ends_with_the_year_9999(agenda: ScheduleWorld) -> None:
    arguments = {"p_every": 1, "p_unit": "year", "p_first_due": "9998-02-28", "p_count": 24}

    assert agenda.root.rpc("preview_schedule", arguments).json == ["9998-02-28", "9999-02-28"]


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"p_count": 0}, "22023"),
        ({"p_count": 25}, "22023"),
        ({"p_every": 0}, "22023"),
        ({"p_unit": "months"}, "22023"),
        ({"p_first_due": "x"}, "22007"),
        ({"p_count": 2**40}, "22003"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_invalid_preview_is_refused(agenda: ScheduleWorld, values: dict, code: str, method: str) -> None:
    arguments = {"p_every": 3, "p_unit": "month", "p_first_due": TODAY, "p_count": 4, **values}

    assert agenda.root.rpc("preview_schedule", arguments, method=method).code == code
