"""Schedules of a building: their list, and the forms that create, end, skip and apply schedules."""

import html
import re
from collections.abc import Callable

import pytest

from inspections.recurrence import COMMON_INTERVALS
from tests.console.inspection_rows import set_clock
from tests.support.set_clock import SetClock

BUILDING, NEW, APPLY = "/console/buildings/1", "/console/schedules/new", "/console/schedules/apply"
SCHEDULE = {
    "building_id": 1, "inspection_type": "fire", "title": "Alarms", "every": 3, "unit": "month",
    "first_due": "2026-01-31", "grace_days": 5,
}  # fmt: skip
TYPED = {"inspection_type": "fire", "title": "Exits", "every": "1", "unit": "year", "first_due": "2026-01-31"}
IN_BOSTON = f"{APPLY}?buildings=city%3Deq.Boston"


@pytest.fixture(autouse=True)
def clock(app: object) -> SetClock:
    return set_clock(app)


@pytest.fixture
def schedule(api: Callable) -> int:
    made = api("service").post("/schedules", SCHEDULE, prefer="return=representation")
    return made.json[0]["id"]


def open_inspection(api: Callable, schedule: int) -> int:
    [plan] = api("service").get(f"/inspection_plans?schedule_id=eq.{schedule}&outcome=is.null").json
    return plan["inspection_id"]


def schedule_row(page: str) -> list[str]:
    """Return the cells of the schedule Alarms on a building's page."""
    found = re.search(r"<tr>(?:(?!</tr>).)*Fire, Alarms.*?</tr>", page, re.DOTALL)
    assert found, page
    return [" ".join(re.sub("<[^>]+>", " ", cell).split()) for cell in re.findall(r"<td.*?</td>", found[0], re.DOTALL)]


def schedules(api: Callable, title: str) -> list[tuple[int, str]]:
    rows = api("service").get(f"/schedules?title=eq.{title}&order=building_id").json
    return [(each["building_id"], each["first_due"]) for each in rows]


def test_schedules_have_due_date_booking_and_last_result(browse: Callable, api: Callable, schedule: int) -> None:
    ada, service = browse("ada"), api("service")
    late = schedule_row(ada.page(BUILDING))

    service.patch(f"/inspections?id=eq.{open_inspection(api, schedule)}", {"status": "failed"})
    service.patch(f"/inspections?id=eq.{open_inspection(api, schedule)}", {"date_visited": "2026-04-15"})

    number = f"schedule {schedule}"
    assert late == [
        "Fire, Alarms", "Every 3 months", "31 Jan 2026, late by 38 days", "31 Jan 2026", "–",
        f"Skip {number} End {number}",
    ]  # fmt: skip
    assert schedule_row(ada.page(BUILDING))[2:5] == ["30 Apr 2026", "15 Apr 2026", "Failed, 31 Jan 2026"]


def test_due_date_within_the_days_of_grace_is_not_late(browse: Callable, clock: SetClock, schedule: int) -> None:
    clock.set("2026-02-05T12:00:00+00:00")

    assert schedule_row(browse("ada").page(BUILDING))[2] == "31 Jan 2026"


def test_ended_schedule_has_no_due_date(browse: Callable, api: Callable, schedule: int) -> None:
    ada = browse("ada")
    path = f"/console/schedules/{schedule}/end"
    assert 'value="2026-03-10"' in ada.page(path)
    wrong = ada.send(path, {"ended_on": "soon"})
    assert (wrong.status_code, "Ended on is not a date" in wrong.text) == (400, True)

    ended = ada.fill_in(path, {"ended_on": "2026-01-01"})

    assert ended.headers["Location"] == BUILDING
    assert schedule_row(ada.page(BUILDING))[2:] == ["Ended 1 Jan 2026", "–", "–", ""]


def test_skipped_occurrence_has_a_reason(browse: Callable, api: Callable, schedule: int) -> None:
    ada, inspection = browse("ada"), open_inspection(api, schedule)
    path = f"/console/inspections/{inspection}/skip_occurrence"
    without = ada.fill_in(path, {})
    assert (without.status_code, "Reason is required." in without.text) == (400, True)

    skipped = ada.fill_in(path, {"reason": "Closed for works"})

    assert "Skipped. The next inspection is scheduled." in ada.page(skipped.headers["Location"])
    assert "Closed for works" in ada.page(f"/console/inspections/{inspection}")
    assert schedule_row(ada.page(BUILDING))[2] == "30 Apr 2026"


@pytest.mark.parametrize(("who", "status"), [("moe", 403), ("bob", 404), ("ada", 200)])
def test_schedules_are_changed_by_the_admins_of_the_client(
    browse: Callable, api: Callable, schedule: int, who: str, status: int
) -> None:
    user, inspection = browse(who), open_inspection(api, schedule)

    for path in (f"/console/schedules/{schedule}/end", f"/console/inspections/{inspection}/skip_occurrence"):
        assert user.get(path).status_code == status, path
    if who != "bob":
        page = user.page(BUILDING)
        assert ("Skip<" in page, "New schedule" in page) == (who == "ada", who == "ada")


# The form of a schedule


def test_common_intervals_fill_in_the_form_with_their_dates(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    buttons = re.findall(r'name="preview" value="(\d+)"', ada.page(NEW))
    assert len(buttons) == len(COMMON_INTERVALS)

    for number, interval in zip(buttons, COMMON_INTERVALS, strict=True):
        filled = ada.send(NEW, {"building_id": "1", "preview": number})
        assert (filled.status_code, "is required" in filled.text) == (200, False)
        made = ada.fill_in(NEW, {"first_due": "2026-01-31"}, filled.text)
        assert made.headers["Location"] == BUILDING
        rows = api("service").get("/schedules?order=id.desc&limit=1&select=title,every,unit,basis").json
        assert rows == [
            {"title": interval.title, "every": interval.every, "unit": interval.unit, "basis": interval.basis}
        ]


@pytest.mark.parametrize(("path", "more"), [(NEW, {"building_id": "1"}), (IN_BOSTON, {"spread_days": "7"})])
def test_common_interval_keeps_a_typed_title_and_date(browse: Callable, path: str, more: dict[str, str]) -> None:
    ada = browse("ada")
    typed = {**more, "title": "Pumps", "first_due": "2026-03-01"}

    filled = ada.send(path, {**typed, "preview": "5"}).text
    other = ada.send(path, {**typed, "title": COMMON_INTERVALS[5].title, "preview": "7"}).text

    for text in (*typed.values(), "3"):
        assert f'value="{text}"' in filled, text
    assert '<option value="month" selected>' in filled
    assert f'value="{COMMON_INTERVALS[7].title}"' in other


def test_schedule_for_many_buildings_is_counted_from_the_planned_dates(browse: Callable) -> None:
    assert '<option value="planned" selected>' in browse("ada").page(IN_BOSTON)


def test_preview_shows_the_next_dates_and_creates_nothing(browse: Callable, api: Callable) -> None:
    ada = browse("ada")

    preview = ada.send(NEW, {**TYPED, "every": "3", "unit": "month", "building_id": "1", "preview": "dates"})

    assert (preview.status_code, "31 Jul 2026" in preview.text, 'value="Exits"' in preview.text) == (200, True, True)
    assert schedules(api, "Exits") == []


def test_invalid_interval_is_a_problem_of_the_form(browse: Callable) -> None:
    answer = browse("ada").send(NEW, {**TYPED, "building_id": "1", "every": "0"})

    assert (answer.status_code, "Every is at least 1." in answer.text) == (400, True)


# One schedule for many buildings


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ({"grace_days": "9", "early_days": "4", "basis": "NFPA 25 5.2.1"}, (9, 4, "NFPA 25 5.2.1")),
        ({"grace_days": "", "early_days": "", "basis": ""}, (0, None, None)),
    ],
)
def test_windows_and_basis_are_applied(
    browse: Callable, api: Callable, typed: dict[str, str], kept: tuple[int, int | None, str | None]
) -> None:
    ada = browse("ada")
    question = ada.fill_in(IN_BOSTON, {**TYPED, **typed})
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', question.text))

    ada.client.post(f"{APPLY}/confirm?{IN_BOSTON.partition('?')[2]}", data=fields)

    made = api("service").get("/schedules?title=eq.Exits&select=grace_days,early_days,basis").json
    assert {tuple(row.values()) for row in made} == {kept}


def test_schedule_is_applied_to_the_buildings_of_the_list(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    link = re.search(r'href="([^"]+)">Apply a schedule to these buildings<', ada.page("/console/buildings?state=eq.MA"))
    assert link
    path = html.unescape(link[1])
    assert "Apply a schedule to 3 buildings" in ada.page(path)

    question = ada.fill_in(path, {**TYPED, "spread_days": "28", "first_due": "2026-03-09"})
    assert "3 visits will be overdue at once." in question.text
    question = ada.fill_in(path, {**TYPED, "spread_days": "7", "inspector_id": "1"})
    assert question.status_code == 200
    for row in api("service").get("/buildings?id=in.(1,2,6)&select=name").json:
        assert f"<li><bdi>{row['name']}</bdi></li>" in question.text
    assert "3 visits will be overdue at once." in question.text
    assert "Apply a schedule to 3 buildings?" in question.text
    assert "first on 31 Jan 2026, 31 Jan 2027" in question.text
    assert schedules(api, "Exits") == []
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', question.text))
    for _ in range(2):  # the same submission
        applied = ada.client.post(f"{APPLY}/confirm?{path.partition('?')[2]}", data=fields)
        made = ada.page(applied.headers["Location"])
        assert "3 schedules created, 0 existed before." in made
    assert schedules(api, "Exits") == [(1, "2026-01-31"), (2, "2026-02-07"), (6, "2026-02-14")]
    rows = api("service").get("/schedules?title=eq.Exits&inspector_id=eq.1").json
    assert len(rows) == 3
    assert re.search(r"Inspector</dt>\s*<dd.{0,80}Ines Vega", ada.page(f"/console/schedules/{rows[0]['id']}"))
    assert "1–3 of 3" in made
    assert "3 visits" not in ada.fill_in(path, {**TYPED, "first_due": "2026-03-10"}).text


@pytest.mark.parametrize(
    ("typed", "problem"),
    [({"every": "0"}, "from 1 to 1200"), ({"first_due": "2026-02-30"}, "2026-02-30"), ({"unit": ""}, "Unit is")],
)
def test_schedule_with_a_problem_is_not_applied(browse: Callable, typed: dict[str, str], problem: str) -> None:
    ada = browse("ada")

    asked = ada.send(IN_BOSTON, {**TYPED, **typed})
    confirmed = ada.send(f"{APPLY}/confirm", {**TYPED, **typed, "ids": "1"}, form="/console/")

    for answer in (asked, confirmed):
        assert answer.status_code == 400
        assert problem in html.unescape(answer.text)
        assert 'value="Exits"' in answer.text


def test_schedule_is_not_applied_out_of_reach(browse: Callable, api: Callable) -> None:
    ada, moe = browse("ada"), browse("moe")
    assert "Apply a schedule" not in moe.page("/console/buildings")

    assert ada.send(f"{APPLY}/confirm", {**TYPED, "ids": "1,5"}, form="/console/").status_code == 403
    assert ada.send(f"{APPLY}/confirm", {**TYPED, "ids": "1,4"}, form="/console/").status_code == 404
    assert moe.send(f"{APPLY}/confirm", {**TYPED, "ids": "1"}, form="/console/").status_code == 403
    assert moe.get(IN_BOSTON).status_code == 403
    assert schedules(api, "Exits") == []


def test_list_with_too_many_buildings_is_refused(browse: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("routes.console.pages.schedules.BUILDINGS_MAX", 1)

    answer = browse("ada").get(APPLY)

    assert (answer.status_code, "at most 1 buildings at once" in answer.text) == (400, True)


def test_schedule_that_every_building_has_is_refused(browse: Callable, api: Callable) -> None:
    api("service").post("/schedules", {**SCHEDULE, "title": "Exits"})

    answer = browse("ada").fill_in(f"{APPLY}?buildings=id%3Deq.1", TYPED)

    assert answer.status_code == 400
    assert "Each of the buildings has a schedule of this type and title" in answer.text


@pytest.mark.parametrize("who", ["root", "ada", "moe"])
def test_menu_leads_to_the_schedules(browse: Callable, who: str) -> None:
    user = browse(who)
    assert '<a href="/console/schedules">Schedules</a>' in re.sub(r"\s+>", ">", user.page("/console/"))
    assert "Fire" in user.page("/console/schedules") or who == "moe"


def test_question_counts_buildings_that_have_the_schedule(browse: Callable, api: Callable) -> None:
    api("service").post("/schedules", {**SCHEDULE, "title": "Exits"})

    question = browse("ada").fill_in(f"{APPLY}?buildings=state%3Deq.MA", TYPED).text

    assert "Apply a schedule to 2 buildings?" in question
    assert "<bdi>Mill Court</bdi>" in question
    assert "<bdi>Harbor House</bdi>" not in question
    assert "1 building with this schedule will be left out." in question
    assert "2 visits will be overdue at once." in question
