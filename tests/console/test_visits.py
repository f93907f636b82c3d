"""Visits: the page of an inspector, and on an inspection's page its findings, its case and its forms."""

import html
import re
from collections.abc import Callable
from io import BytesIO

import pytest

from tests.conftest import MIA, MOE
from tests.console.conftest import COOKIE, Form
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
from tests.support.photographs import photograph

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

    closed = mia.fill_in(f"{path}/close_visit", {"status": "completed", "reason": "Repairs are ordered."})

    assert "Visit closed as completed. 4 findings are open." in mia.page(closed.headers["Location"])


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


def test_quick_entry_keeps_place_and_severity(browse: Callable, api: Callable) -> None:
    mia = browse("mia")

    made = mia.send(f"{PAGE}/add/findings", FINDING, form=PAGE)

    assert made.headers["Location"].endswith("#findings")
    page = mia.page(made.headers["Location"])
    assert "Finding added." in page
    assert 'value="3D, bathroom"' in page
    assert len(re.findall(r'type="radio" name="severity"', page)) == 4
    assert re.findall(r'name="severity" value="(\w+)"[^>]* checked', page) == ["severe"]
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


def test_lead_visits_and_those_with_readings_have_a_lead_section(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    keys = (LATE_VISIT, VISIT, NEXT_VISIT)

    assert [">Lead readings<" in ada.page(f"/console/inspections/{key}") for key in keys] == [False, False, True]
    assert api("service").post("/reports_lead", {"inspection_id": LATE_VISIT, "gun_id": 1}).status == 201
    assert ">Lead readings<" in ada.page(f"/console/inspections/{LATE_VISIT}")


# The order of the page


def headings(page: str) -> list[str]:
    return re.findall(r"<(?:h2|summary)[^>]*>([^<]+)", page.partition("<main")[2])


def test_page_of_an_open_visit_begins_with_the_next_step_and_ends_with_what_is_rarely_used(browse: Callable) -> None:
    mia, ada = browse("mia").page(PAGE), browse("ada").page(PAGE)

    begin = ["Close visit", "Findings", "Photographs and documents", "Report", "Record, access and history"]
    assert headings(mia) == [*begin, "Inspection"]
    rest = headings(ada)[len(begin) :]
    assert headings(ada)[: len(begin)] == begin
    assert {"Change status", "Grant access", "Who sees this"} <= set(rest)
    assert mia.index("start_visit") < mia.index("close_visit") < mia.index('name="place"')


def test_page_names_the_building_with_a_map(browse: Callable, api: Callable) -> None:
    assert api("service").patch("/buildings?id=eq.1", {"address": "4 Pier Way & Co", "city": "Boston"}).status == 204

    assert 'href="https://www.openstreetmap.org/search?query=4%20Pier%20Way%20%26%20Co%2C%20Boston"' in (
        browse("mia").page(PAGE).replace("%26amp%3B", "%26")
    )


def test_closed_visit_folds_the_form_of_findings(browse: Callable, api: Callable) -> None:
    page = browse("ada").page(f"/console/inspections/{CLOSED_VISIT}")

    assert "<details><summary>Add a finding to the closed visit</summary>" in page
    assert "Add a finding to the closed visit" not in browse("ada").page(PAGE)


def test_visit_is_closed_on_its_page(browse: Callable, api: Callable) -> None:
    mia = browse("mia")

    closed = mia.client.post(
        f"{PAGE}/close_visit", data=Form(mia.page(PAGE), f"{PAGE}/close_visit").with_({"notes": "Dry."})
    )
    assert "Result is required." in closed.text
    typed = Form(mia.page(PAGE), f"{PAGE}/close_visit").with_({}) | {"status": "failed"}
    closed = mia.client.post(f"{PAGE}/close_visit", data=typed)

    assert "Visit closed." in mia.page(closed.headers["Location"])
    assert inspection(api, VISIT) == ("failed", TODAY)


def test_form_on_the_page_warns_of_grave_findings(browse: Callable, api: Callable) -> None:
    add_findings(api)
    page = browse("mia").page(f"/console/inspections/{LATE_VISIT}")

    assert "life-threatening or severe finding" in page.partition("Close visit")[2].partition("</form>")[0]
    assert 'name="reason"' in page


# A photograph of a finding


def photographed(browser: object, **fields: object) -> object:
    return browser.client.post(
        f"{PAGE}/add/findings",
        data={**FINDING, **fields, "csrf": fields.get("csrf") or browser.token(PAGE)},
        content_type="multipart/form-data",
    )


def test_finding_is_added_with_its_photograph(browse: Callable, api: Callable) -> None:
    mia = browse("mia")

    made = photographed(mia, file=(BytesIO(photograph("alarm")), "image.jpg", "image/jpeg"))

    assert made.headers["Location"].endswith("#findings")
    [row] = api("service").get(f"/findings?inspection_id=eq.{VISIT}&select=id,files(name)").json
    assert row["files"] == [{"name": f"{row['id']}/image.jpg"}]
    assert "/thumbnail/160" in mia.page(PAGE)


def test_form_of_a_finding_needs_no_photograph(browse: Callable, api: Callable) -> None:
    made = photographed(browse("mia"), file=(BytesIO(b""), ""))

    assert made.status_code == 303
    [row] = api("service").get(f"/findings?inspection_id=eq.{VISIT}&select=files(name)").json
    assert row["files"] == []


def test_refused_photograph_stores_no_finding_and_keeps_the_input(browse: Callable, api: Callable) -> None:
    refused = photographed(browse("mia"), file=(BytesIO(b"words"), "notes.txt", "text/plain"))

    assert (refused.status_code, "Files are JPEG" in refused.text) == (415, True)
    assert 'value="3D, bathroom"' in refused.text
    assert 'enctype="multipart/form-data"' in refused.text
    assert api("service").get(f"/findings?inspection_id=eq.{VISIT}").json == []


def test_finding_with_a_photograph_that_is_sent_again_is_saved_once(browse: Callable, api: Callable) -> None:
    mia = browse("mia")
    submission = re.search(r'name="submission" value="([^"]+)"', mia.page(PAGE))[1]

    for _ in range(2):
        file = (BytesIO(photograph("once")), "image.jpg", "image/jpeg")
        assert photographed(mia, submission=submission, file=file).status_code == 303

    [row] = api("service").get(f"/findings?inspection_id=eq.{VISIT}&select=id,files(name)").json
    assert len(row["files"]) == 1


@pytest.mark.parametrize(("who", "status"), [("moe", 404), ("bob", 404)])
def test_who_does_not_conduct_a_visit_stores_no_photograph(
    browse: Callable, api: Callable, who: str, status: int
) -> None:
    other = browse(who)
    data = {"csrf": other.token("/console/"), **FINDING, "file": (BytesIO(photograph("no")), "a.jpg", "image/jpeg")}

    refused = other.client.post(f"{PAGE}/add/findings", data=data, content_type="multipart/form-data")

    assert refused.status_code == status
    assert api("service").get(f"/findings?inspection_id=eq.{VISIT}").json == []
    assert api("service").get("/files").json == []


def test_text_of_a_finding_with_a_photograph_survives_the_end_of_the_session(browse: Callable, api: Callable) -> None:
    mia = browse("mia")
    page = mia.page(PAGE)
    fields = {name: re.search(rf'name="{name}" value="([^"]+)"', page)[1] for name in ("csrf", "submission")}
    mia.client.delete_cookie(COOKIE, path="/console")

    refused = photographed(mia, **fields, file=(BytesIO(photograph("late")), "a.jpg", "image/jpeg"))

    assert refused.status_code == 401
    assert "No+alarm." in refused.text


# What waits on the device


def test_page_of_what_waits_says_what_it_needs(browse: Callable) -> None:
    page = browse("mia").page("/console/waiting")

    assert "Without scripts, this device keeps nothing" in page
    assert 'href="/console/waiting"' in browse("mia").page("/console/visits")
    assert browse().get("/console/waiting").status_code == 303


# The case


def test_reinspection_lists_the_open_findings_of_its_case(browse: Callable, api: Callable) -> None:
    add_findings(api)
    mia = browse("mia")
    first = f"/console/inspections/{LATE_VISIT}"
    typed = {"status": "failed", "date_visited": TODAY, "reinspect_on": "2026-03-20"}
    assert mia.fill_in(f"{first}/close_visit", typed).status_code == 303
    [plan] = api("service").get(f"/inspection_plans?case_id=eq.{LATE_VISIT}&round=eq.2").json
    second = f"/console/inspections/{plan['inspection_id']}"

    assert "move/verified" not in mia.page(second)
    assert mia.fill_in(f"{second}/start_visit", {}).status_code == 303
    page = mia.page(second)
    assert page.count('<span class="where long">Finding 3') == 4
    assert re.findall(r'move/(\w+)\?[^"]*" name="ids" value="(\d+)"', page)[:3] == [
        ("verified", str(FIXED)),
        ("fixed", str(LATE)),
        ("verified", str(LATE)),
    ]
    verified = mia.send(
        "/console/findings/move/verified",
        {
            "ids": str(FIXED),
            "visit": str(plan["inspection_id"]),
            "how": "visit",
            "back": f"/inspections/{plan['inspection_id']}",
        },
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
        assert re.findall(r">(Failed|In progress)</span>", case) == ["Failed", "In progress"]
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
