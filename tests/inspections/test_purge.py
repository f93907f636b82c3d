"""`flask purge`: what is old enough goes, in whole visits; what is held, open, awaited or newly reported stays."""

import datetime
from collections.abc import Callable

import pytest

from inspections import purge as purging
from tests.inspections.case_world import ELSEWHERE, MOMENT, finding, inspection
from tests.inspections.issued_world import HELD_VISIT, issued_rows, report, stored

DAY = "2020-01-01"
OLD, OPEN_FINDING, LATE_REPORT, AWAITED, NEW_VISIT, HELD_OLD, OF_BOB = 100, 101, 102, 103, 104, 105, 106
LATEST = "2023-11-20"
"""Three years before the day of MOMENT."""


@pytest.fixture
def case(world: Callable) -> Callable:
    rows = issued_rows()
    days = {OLD: "2019-12-31", OPEN_FINDING: "2019-01-01", LATE_REPORT: "2019-01-01", AWAITED: "2019-01-01"}
    rows["inspections"] += [inspection(key, 1, "completed", day) for key, day in days.items()]
    rows["inspections"] += [
        inspection(NEW_VISIT, 1, "completed", DAY),
        inspection(HELD_OLD, 7, "completed", "2019-01-01"),
        inspection(OF_BOB, 2, "completed", "2019-01-01"),
    ]
    rows["findings"] += [
        finding(100, OLD, "verified"),
        finding(101, OPEN_FINDING, "fixed"),
        finding(106, OF_BOB, "waived"),
    ]
    rows["reports_lead"] += [{**rows["reports_lead"][0], "id": 100, "inspection_id": OLD, "ref": None}]
    old = {"issued_at": "2019-12-31T12:00:00+00:00"}
    rows["issued_reports"] += [
        report(10, OLD, **old),
        report(11, OLD, **old, kind="lead"),
        report(12, LATE_REPORT, issued_at=f"{DAY}T00:00:00+00:00"),
    ]
    rows["inspection_plans"].append({"inspection_id": AWAITED, "case_id": AWAITED, "round": 2})
    letter = {**rows["notices"][0], "building_id": 1, **old}
    rows["notices"] += [{**letter, "id": number, "number": f"2019-{number:06}"} for number in (10, 11, 12)]
    rows["notices"][-1]["issued_at"] = f"{DAY}T12:00:00+00:00"
    notified = {"kind": "notified", "at": old["issued_at"]}
    rows["finding_events"] += [
        {"id": 100, "finding_id": 100, "notice_id": 10, **notified},
        {"id": 101, "finding_id": 101, "notice_id": 11, **notified},
    ]
    return world(rows, MOMENT)


def run(case: Callable, *words: str, answer: str = "") -> tuple[int, str]:
    app = case("root").database.app_for("POST", "/")
    done = app.test_cli_runner().invoke(args=["purge", *words], input=answer)
    return done.exit_code, done.output


SAID = (
    "client 1: 1 inspections, 1 reports_lead, 1 findings, 1 finding_events, 2 issued_reports, 1 notices",
    "client 2: 1 inspections, 1 findings",
    "kept: 1 inspections with open findings",
    "kept: 1 inspections of held buildings",
    "kept: 1 inspections with later reports",
    "kept: 1 inspections that a schedule or a case waits for",
)


def test_purge_says_what_it_removes_and_removes_it(case: Callable) -> None:
    before = stored(case)

    code, output = run(case, "--before", DAY, answer="n\n")
    assert (code, stored(case)) == (1, before)
    assert tuple(output.splitlines()[: len(SAID)]) == SAID
    assert f"Remove what is before {DAY}?" in output

    code, output = run(case, "--before", DAY, "--yes")

    assert code == 0, output
    after = stored(case)
    gone = {
        table: {row["id"] for row in before[table]} - {row["id"] for row in after[table]}
        for table in ("inspections", "reports_lead", "findings", "finding_events", "issued_reports", "notices")
    }
    assert gone == {
        "inspections": {OLD, OF_BOB}, "reports_lead": {100}, "findings": {100, 106}, "finding_events": {100},
        "issued_reports": {10, 11}, "notices": {10},
    }  # fmt: skip
    assert run(case, "--before", DAY, "--yes")[1].splitlines()[-1] == "nothing"


def test_date_is_at_most_the_years_of_retention_ago(case: Callable) -> None:
    before = stored(case)
    assert "Remove what is before" in run(case, "--before", LATEST, answer="n\n")[1]
    code, output = run(case, "--before", "2023-11-21", "--yes")
    assert (code, f"--before is {LATEST} at the latest" in output) == (1, True), output
    assert run(case, "--before", "yesterday", "--yes")[0] == 2
    assert stored(case) == before


def test_interrupted_purge_leaves_whole_visits(case: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purging, "VISITS_AT_ONCE", 1)
    database = case("root").database.app_for("POST", "/").extensions["walkthrough"]
    steps = purging.purge(database, datetime.date(2020, 1, 1))

    assert next(steps) == 1

    visits = {row["id"] for row in case("root").get("/inspections?select=id").json}
    for table in ("findings", "reports_lead", "issued_reports"):
        assert {row["inspection_id"] for row in case("root").get(f"/{table}?select=inspection_id").json} <= visits
    assert (OLD in visits, OF_BOB in visits, ELSEWHERE in visits, HELD_VISIT in visits) == (False, True, True, True)
    assert sum(steps) == 2  # the other visit, and the letter


LATE_EVENT, LATE_LETTER, BEFORE_LAST, LAST, FIRST_ROUND, SECOND_ROUND, OLD_ROUND, OLD_END = range(110, 118)


def test_visits_stay_with_late_events_and_letters_with_their_schedules_and_with_their_cases(world: Callable) -> None:
    rows = issued_rows()
    visits = range(LATE_EVENT, OLD_END + 1)
    days = dict.fromkeys(visits, "2019-05-01") | {SECOND_ROUND: "2026-11-10"}
    rows["inspections"] += [inspection(key, 1, "completed", days[key]) for key in visits]
    rows["findings"] += [finding(key, key, "waived") for key in (LATE_EVENT, LATE_LETTER)]
    rows["notices"].append({**rows["notices"][0], "id": 12, "building_id": 1, "number": "2020-000001"})
    old, late = "2019-06-01T12:00:00+00:00", f"{DAY}T12:00:00+00:00"
    rows["finding_events"] += [
        {"id": 110, "finding_id": LATE_EVENT, "kind": "waived", "at": late},
        {"id": 111, "finding_id": LATE_LETTER, "kind": "notified", "at": old, "notice_id": 12},
    ]
    schedule = {**rows["schedules"][0], "id": 8, "building_id": 1, "first_due": "2010-05-01", "ended_on": "2019-06-01"}
    rows["schedules"].append(schedule)
    plan = {"outcome": "done", "touched_at": MOMENT}
    of_schedule = {BEFORE_LAST: 8, LAST: 9}
    rows["inspection_plans"] += [
        {"inspection_id": key, "case_id": key, "schedule_id": 8, "occurrence": number, "due_on": "2019-05-01", **plan}
        for key, number in of_schedule.items()
    ]
    rounds = {FIRST_ROUND: (FIRST_ROUND, 1), SECOND_ROUND: (FIRST_ROUND, 2)} | {
        OLD_ROUND: (OLD_ROUND, 1), OLD_END: (OLD_ROUND, 2)
    }  # fmt: skip
    rows["inspection_plans"] += [
        {"inspection_id": key, "case_id": first, "round": number, **plan} for key, (first, number) in rounds.items()
    ]
    case = world(rows, MOMENT)

    code, output = run(case, "--before", DAY, "--yes")

    assert code == 0, output
    assert [line for line in output.splitlines() if line.startswith("kept")] == [
        "kept: 2 inspections with later letters or moves of findings",
        "kept: 1 inspections that are the last of a schedule",
        "kept: 1 inspections of cases of which another visit stays",
    ]
    stayed = {row["id"] for row in case("root").get("/inspections?select=id").json} & set(visits)
    assert set(visits) - stayed == {BEFORE_LAST, OLD_ROUND, OLD_END}
