"""Cases from the field: tests/data/finding_cases.json has what a person did and what has to follow."""

import json
import pathlib
import re
from collections.abc import Callable

import pytest

from tests.inspections.case_world import MOMENT, OPEN, SCHEDULED, case_rows, inspection
from tests.inspections.file_world import image_bytes
from tests.inspections.schedule_world import ScheduleWorld, schedule_world
from tests.support.storage import Storage

CASES = json.loads((pathlib.Path(__file__).parents[1] / "data" / "finding_cases.json").read_text(encoding="utf-8"))
RETURN = "return=representation"


def test_every_case_has_a_test() -> None:
    tested = {name.removeprefix("test_").replace("_", "-") for name in globals() if name.startswith("test_")}

    assert {name for name in CASES if name != "about"} <= tested


def test_finding_1(world: Callable) -> None:
    case, told = world(case_rows(), MOMENT), CASES["finding-1"]
    assert case("mia").rpc("start_visit", {"p_inspection_id": SCHEDULED}).status == 200
    made = case("mia").post("/findings", {"inspection_id": SCHEDULED, **told["finding"]}, prefer=RETURN).json[0]
    assert made["due_at"] == told["due_at"]

    for change in told["changes"]:
        refused = case("mia").patch(f"/findings?id=eq.{made['id']}", change)
        assert (refused.status, refused.code) == (400, "428C9")
    assert case("root").get(f"/findings?id=eq.{made['id']}&select=due_at,severity").json == [
        {"due_at": told["due_at"], "severity": told["finding"]["severity"]}
    ]

    grade = {"p_finding_id": made["id"], "p_severity": "life_threatening", "p_note": told["note"]}
    assert case("mia").rpc("regrade_finding", grade).json == {
        "severity": "life_threatening", "due_at": told["regraded"],
    }  # fmt: skip


def test_finding_2(world: Callable) -> None:
    told = CASES["finding-2"]
    rows = case_rows()
    rows["inspections"].append(inspection(1950, 1, "completed", told["visited"]))
    case = world(rows, told["entered"])

    made = case("ada").post("/findings", {"inspection_id": 1950, **told["finding"]}, prefer=RETURN).json[0]

    report = case("moe").get("/reports/inspections/1950?kind=findings", accept="application/json").json
    [[found]] = [each["findings"] for each in report["severities"]]
    assert (made["found_at"], found["found_at"]) == (told["finding"]["found_at"],) * 2
    assert (found["due_at"], found["days_late"]) == (told["finding"]["due_at"], told["days_late"])
    page = case("moe").get("/reports/inspections/1950?kind=findings", accept="text/html").text
    words = re.sub(r"<[^>]+>", "", page)
    assert [text in words for text in told["printed"]] == [True, True]


def test_finding_3(world: Callable) -> None:
    case, told = world(case_rows(), MOMENT), CASES["finding-3"]

    moved = case("moe").rpc("move_findings", {"p_finding_ids": [OPEN], "p_to": "fixed"})
    stored = Storage(case("moe")).upload(f"findings/{OPEN}/{told['name']}", image_bytes())

    assert (moved.status, stored.status) == (200, 200), stored.text
    files = case("moe").get(f"/files?finding_id=eq.{OPEN}&select=name,finding_id").json
    assert files == [{"name": f"{OPEN}/{told['name']}", "finding_id": OPEN}]


@pytest.fixture
def agenda(api: Callable) -> ScheduleWorld:
    return schedule_world(api)


def close_on_the_days(agenda: ScheduleWorld, told: dict) -> None:
    schedule_id = agenda.create(**told["schedule"])

    for day in told["days"]:
        agenda.close(schedule_id, "completed", day)

    history = agenda.history(schedule_id)
    assert [outcome for _, outcome in history].count("done") == told["done"]
    assert history[-1] == (told["next_due"], None)


def test_schedule_1(agenda: ScheduleWorld) -> None:
    close_on_the_days(agenda, CASES["schedule-1"])


def test_schedule_2(agenda: ScheduleWorld) -> None:
    close_on_the_days(agenda, CASES["schedule-2"])


def test_schedule_3(agenda: ScheduleWorld) -> None:
    told = CASES["schedule-3"]
    schedule_id = agenda.create(**told["schedule"])
    agenda.close(schedule_id, "completed", told["done_on"])
    agenda.wait_until(told["today"])
    assert agenda.open_plans(schedule_id)[0]["due_on"] > told["today"]
    due = agenda.root.rpc("get_due_summary").json["overdue"]

    agenda.change(schedule_id, every=told["every"])

    [plan] = agenda.open_plans(schedule_id)
    assert plan["due_on"] >= told["today"]
    assert agenda.root.rpc("get_due_summary").json["overdue"] == due
