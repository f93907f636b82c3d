"""Visits: the page of an inspector, and on an inspection's page its findings, its case and its forms."""

import html
import re
from collections.abc import Callable

import pytest

from tests.conftest import MIA, MOE
from tests.console.inspection_rows import (
    CLOSED_VISIT,
    FIXED,
    IVO,
    LATE,
    LATE_VISIT,
    NEXT_VISIT,
    TODAY,
    VISIT,
    add_findings,
    add_visits,
    set_clock,
)

PAGE = f"/console/inspections/{VISIT}"
FINDING = {"place": "3D, bathroom", "item": "Alarm", "description": "No alarm.", "severity": "severe"}
FUNCTIONS = ("start_visit", "close_visit", "reinspect", "skip_occurrence")


@pytest.fixture(autouse=True)
def visits(app: object, api: Callable) -> None:
    set_clock(app)
    add_visits(api)


def offered(page: str) -> set[str]:
    return {each for each in FUNCTIONS if f"/{each}" in page}


def inspection(api: Callable, key: int) -> tuple[str, str]:
    [row] = api("service").get(f"/inspections?id=eq.{key}").json
    return row["status"], row["date_visited"]


def test_inspector_begins_with_their_visits(browse: Callable) -> None:
    assert browse().sign_in("mia").headers["Location"] == "/console/visits"
    assert browse().sign_in("moe").headers["Location"] == "/console/"
    assert '<a class="brand" href="/console/visits">' in browse("mia").page("/console/")
    assert '<a class="brand" href="/console/">' in browse("moe").page("/console/")

    assert '<a href="/console/visits" aria-current="page">My visits</a>' in browse("mia").page("/console/visits")
    for who in ("moe", "ada", "root"):
        assert browse(who).get("/console/visits").status_code == 403
        assert "/console/visits" not in browse(who).page("/console/")


def test_visits_are_late_today_and_next(browse: Callable) -> None:
    page = browse("mia").page("/console/visits")
    parts = re.findall(r'<h2 id="h-\w+">(\w+)</h2>(.*?)</section>', page, re.DOTALL)

    assert {label: re.findall(r"/inspections/(\d+)", part) for label, part in parts} == {
        "Late": [str(LATE_VISIT)],
        "Today": [str(VISIT)],
        "Next": [str(NEXT_VISIT)],
    }
    assert "late by 1 day" in page


def test_inspector_without_visits_begins_with_their_empty_page(browse: Callable, api: Callable) -> None:
    assert api("service").patch(f"/inspections?inspector_id=eq.{IVO}", {"inspector_id": None}).status == 204

    assert browse().sign_in("mia").headers["Location"] == "/console/visits"
    assert browse("mia").page("/console/visits").count("No visits.") == 3


def test_visits_show_the_address_of_the_building(browse: Callable, api: Callable) -> None:
    assert api("service").patch("/buildings?id=eq.1", {"address": "4 Pier <Way>", "city": "Boston"}).status == 204

    for path in ("/console/visits", PAGE):
        assert "4 Pier &lt;Way&gt;, Boston" in browse("mia").page(path)


def test_visit_is_started_and_closed_by_its_inspector(browse: Callable, api: Callable) -> None:
    mia = browse("mia")
    assert offered(mia.page(PAGE)) == {"start_visit", "close_visit"}

    started = mia.send(f"{PAGE}/start_visit")
    assert "Visit started." in mia.page(started.headers["Location"])
    assert (inspection(api, VISIT), offered(mia.page(PAGE))) == (("in_progress", TODAY), {"close_visit"})
    assert f'value="{TODAY}"' in mia.page(f"{PAGE}/close_visit")
    closed = mia.fill_in(f"{PAGE}/close_visit", {"status": "completed"})

    assert "Visit closed." in mia.page(closed.headers["Location"])
    assert (inspection(api, VISIT), offered(mia.page(PAGE))) == (("completed", TODAY), {"reinspect"})


def test_completed_visit_names_its_open_findings(browse: Callable, api: Callable) -> None:
    add_findings(api)
    path = f"/console/inspections/{LATE_VISIT}"
    mia = browse("mia")

    closed = mia.fill_in(f"{path}/close_visit", {"status": "completed"})

    assert "Visit closed as completed. 3 findings are open." in mia.page(closed.headers["Location"])


@pytest.mark.parametrize(
    ("function", "typed", "problem"),
    [
        ("close_visit", {"status": ""}, "Result is required."),
        ("close_visit", {"status": "failed", "date_visited": "soon"}, "soon"),
        ("close_visit", {"status": "completed", "reinspect_on": "2026-04-01"}, "Only a failed visit is re-inspected."),
        ("reinspect", {"date_visited": "2026-04-01"}, "Only a completed or failed visit is re-inspected."),
    ],
)
def test_problem_returns_the_form_with_its_input(
    browse: Callable, api: Callable, function: str, typed: dict[str, str], problem: str
) -> None:
    before = inspection(api, VISIT)

    answer = browse("mia").send(f"{PAGE}/{function}", typed)

    assert (answer.status_code, problem in html.unescape(answer.text)) == (400, True)
    assert all(f'value="{text}"' in answer.text for text in typed.values() if text)
    assert inspection(api, VISIT) == before


@pytest.mark.parametrize(
    ("who", "key", "status"),
    [("moe", VISIT, 403), ("mia", 1, 404), ("bob", VISIT, 404), ("ada", 8, 403), ("ada", VISIT, 200)],
)
def test_visit_of_others_has_no_forms(browse: Callable, api: Callable, who: str, key: int, status: int) -> None:
    user, before = browse(who), inspection(api, key)

    page = user.get(f"/console/inspections/{key}")
    assert offered(page.text) == ({"start_visit", "close_visit"} if status == 200 else set())
    assert ("Add finding" in page.text) is (status == 200)
    for function in ("start_visit", "close_visit", "reinspect"):
        assert user.get(f"/console/inspections/{key}/{function}").status_code == status
    if status != 200:
        typed = {"status": "failed", "date_visited": "2026-01-01", **FINDING, "result": "negative"}
        for end in ("start_visit", "close_visit", "reinspect", "add/findings", "add/reports_lead"):
            answer = user.send(f"/console/inspections/{key}/{end}", typed, form="/console/")
            assert answer.status_code in (403, 404), end
        assert inspection(api, key) == before


# Quick entry


def test_quick_entry_keeps_the_place_alone(browse: Callable, api: Callable) -> None:
    mia = browse("mia")

    made = mia.send(f"{PAGE}/add/findings", FINDING, form=PAGE)

    assert made.headers["Location"].endswith("#findings")
    page = mia.page(made.headers["Location"])
    assert "Finding added." in page
    assert 'value="3D, bathroom"' in page
    assert len(re.findall(r'type="radio" name="severity"', page)) == 4
    assert not re.search(r'type="radio"[^>]* checked', page)
    assert not re.search(r'name="(item|description)"[^>]* value="[^"]', page)
    [row] = api("service").get(f"/findings?inspection_id=eq.{VISIT}").json
    assert {name: row[name] for name in FINDING} == FINDING
    assert "in 24 hours" in page


def test_quick_entry_with_a_problem_keeps_the_input(browse: Callable, api: Callable) -> None:
    answer = browse("mia").send(f"{PAGE}/add/findings", {**FINDING, "description": " "}, form=PAGE)

    assert (answer.status_code, "Description is required." in answer.text) == (400, True)
    assert 'value="3D, bathroom"' in answer.text
    assert ('value="severe" required checked' in answer.text, "Add finding</button>" in answer.text) == (True, True)
    assert "Add finding" in browse("mia").page(f"{PAGE}/add/findings")  # Back and reload work at this address
    assert api("service").get(f"/findings?inspection_id=eq.{VISIT}").json == []


def test_edited_finding_returns_to_its_place_in_the_visit(browse: Callable, api: Callable) -> None:
    mia = browse("mia")
    mia.send(f"{PAGE}/add/findings", FINDING, form=PAGE)
    [row] = api("service").get(f"/findings?inspection_id=eq.{VISIT}").json
    edit = re.search(rf'href="(/console/findings/{row["id"]}/edit[^"]*)"', mia.page(PAGE))
    assert edit

    saved = mia.fill_in(html.unescape(edit[1]), {"description": "No smoke alarm."})

    assert saved.headers["Location"] == f"{PAGE}#findings-{row['id']}"
    page = mia.page(saved.headers["Location"])
    assert (f'id="findings-{row["id"]}"' in page, "Changes saved." in page) == (True, True)
    outside = mia.fill_in(f"/console/findings/{row['id']}/edit?back=/../x", {"description": "Other."})
    assert outside.headers["Location"].startswith(f"/console/findings/{row['id']}")


def test_first_visit_offers_fixed_and_no_verification(browse: Callable, api: Callable) -> None:
    add_findings(api)
    page = browse("mia").page(f"/console/inspections/{LATE_VISIT}")

    assert set(re.findall(r"findings/move/(\w+)", page)) == {"fixed"}


def test_closed_visit_leads_to_the_next_one(browse: Callable) -> None:
    mia = browse("mia")
    closed = mia.fill_in(f"{PAGE}/close_visit", {"status": "completed"})

    page = mia.page(closed.headers["Location"])

    links = re.search(r'<p class="links"><a.*?</p>', page, re.DOTALL)
    assert links
    assert re.findall(r'href="([^"]+)"', links[0]) == [f"/console/inspections/{LATE_VISIT}", "/console/visits"]


def test_types_have_one_spelling(browse: Callable) -> None:
    page = browse("mia").page("/console/visits")

    assert (">Fire at " in page, ">fire at " in page) == (True, False)


def test_quick_reading_keeps_the_gun(browse: Callable, api: Callable) -> None:
    mia, lead = browse("mia"), f"/console/inspections/{NEXT_VISIT}"

    made = mia.send(f"{lead}/add/reports_lead", {"gun_id": "20417", "result": "negative"}, form=lead)

    page = mia.page(made.headers["Location"])
    assert 'value="20417"' in page
    assert '<option value="negative" selected>' not in page
    rows = api("service").get(f"/reports_lead?inspection_id=eq.{NEXT_VISIT}&select=gun_id,result").json
    assert rows == [{"gun_id": 20417, "result": "negative"}]
    assert mia.send(f"{lead}/add/inspections", {}, form=lead).status_code == 404


def test_only_fire_inspections_have_no_lead_section(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    keys = (LATE_VISIT, VISIT, NEXT_VISIT)

    assert [">Lead readings<" in ada.page(f"/console/inspections/{key}") for key in keys] == [False, True, True]
    assert api("service").post("/reports_lead", {"inspection_id": LATE_VISIT, "gun_id": 1}).status == 201
    assert ">Lead readings<" in ada.page(f"/console/inspections/{LATE_VISIT}")


# The case


def test_reinspection_lists_the_open_findings_of_its_case(browse: Callable, api: Callable) -> None:
    add_findings(api)
    mia = browse("mia")
    first = f"/console/inspections/{LATE_VISIT}"
    typed = {"status": "failed", "date_visited": TODAY, "reinspect_on": "2026-03-20"}
    assert mia.fill_in(f"{first}/close_visit", typed).status_code == 303
    [plan] = api("service").get(f"/inspection_plans?case_id=eq.{LATE_VISIT}&round=eq.2").json
    second = f"/console/inspections/{plan['inspection_id']}"

    page = mia.page(second)
    assert page.count('<span class="where long">Finding 3') == 4
    assert re.findall(r'move/(\w+)\?[^"]*" name="ids" value="(\d+)"', page)[:3] == [
        ("verified", str(FIXED)),
        ("fixed", str(LATE)),
        ("verified", str(LATE)),
    ]
    verified = mia.send(
        "/console/findings/move/verified",
        {"ids": str(FIXED), "visit": str(plan["inspection_id"]), "back": f"/inspections/{plan['inspection_id']}"},
        form=second,
    )

    assert verified.headers["Location"] == second
    assert "1 finding verified." in mia.page(second)
    for path in (first, second):
        assert re.search(rf"Finding {FIXED}</span>(?:(?!</li>).)*>Verified</span>", mia.page(path), re.DOTALL)
    events = api("service").get(f"/finding_events?finding_id=eq.{FIXED}&kind=eq.verified").json
    assert [(each["user_id"], each["inspection_id"]) for each in events] == [(MIA, plan["inspection_id"])]
    for path in (first, second):
        case = mia.page(path).partition("<h2>Case</h2>")[2].partition("</section>")[0]
        assert re.findall(r">(Failed|Scheduled)</span>", case) == ["Failed", "Scheduled"]
        assert case.count("Ivo Kral") == 2
    assert "reinspect" not in offered(mia.page(first))


def test_finished_visit_is_reinspected_on_request(browse: Callable, api: Callable) -> None:
    path = f"/console/inspections/{CLOSED_VISIT}"
    ada = browse("ada")

    made = ada.fill_in(f"{path}/reinspect", {"date_visited": "2026-04-01"})

    assert "Re-inspection scheduled." in ada.page(made.headers["Location"])
    assert len(api("service").get(f"/inspection_plans?case_id=eq.{CLOSED_VISIT}").json) == 2
    again = ada.send(f"{path}/reinspect", {"date_visited": "2026-04-01"})
    assert again.status_code == 409


# Inspectors and their users


def test_explanation_names_the_visit(browse: Callable) -> None:
    mia = browse("mia")

    assert "Inspector of this visit" in mia.page(f"/console/why?kind=inspection&key={VISIT}")
    assert "Inspector of a visit of this building" in mia.page("/console/why?kind=building&key=1")


def test_form_of_an_inspector_offers_client_managers(browse: Callable, api: Callable) -> None:
    root = browse("root")
    page = root.page(f"/console/inspectors/{IVO}/edit")
    options = re.search(r'<select id="f-user_id".*?</select>', page, re.DOTALL)
    assert options

    assert re.findall(r"<option[^>]*>([^<]+)</option>", options[0]) == [
        "None", "Max, max@borough.example", "Mia (inspector: Ivo Kral), mia@acme.example", "Moe, moe@acme.example",
    ]  # fmt: skip
    assert f'<a href="/console/inspectors/{IVO}">Ivo Kral</a>' in root.page(f"/console/people/{MIA}")
    assert root.fill_in(f"/console/inspectors/{IVO}/edit", {"user_id": MOE}).status_code == 303
    assert "Signs in as inspector" not in root.page(f"/console/people/{MIA}")
    assert api("service").get(f"/inspectors?id=eq.{IVO}&select=user_id").json == [{"user_id": MOE}]
