"""Every page, by whoever may open it; what it offers; how heavy it is; what its headers forbid."""

import datetime
import html
import re
from collections.abc import Callable

import pytest
from flask import Flask

from engine.reporting import chart
from engine.storage.sqlite import TimedOut
from tests.conftest import ADA
from tests.conftest import BOB
from tests.conftest import MAX
from tests.conftest import MIA
from tests.conftest import MOE

EVERYBODY, ADMINS, ROOT = ("root", "ada", "moe"), ("root", "ada"), ("root",)
BYTES_MAX = 100_000

PAGES = [
    ("/console/", EVERYBODY),
    ("/console/?from=2025-01-01&to=2025-06-30", EVERYBODY),
    ("/console/inspections", EVERYBODY),
    ("/console/inspections?status=eq.completed&order=inspection_type.asc", EVERYBODY),
    ("/console/inspections.csv", EVERYBODY),
    ("/console/inspections/1", EVERYBODY),
    ("/console/inspections/3", EVERYBODY),
    ("/console/inspections/4", ADMINS),
    ("/console/inspections/6", ROOT),
    ("/console/inspections/8", ADMINS),
    ("/console/inspections/999", ()),
    ("/console/inspections/new", ADMINS),
    ("/console/inspections/1/edit", ADMINS),
    ("/console/inspections/1/delete", ADMINS),
    (f"/console/inspections/1/access?person={MIA}", ADMINS),
    (f"/console/inspections/6/access?person={MAX}", ROOT),
    ("/console/inspections/2/readings/new", ADMINS),
    ("/console/inspections/2/readings/1/edit", ADMINS),
    ("/console/inspections/2/readings/1/delete", ADMINS),
    ("/console/inspections/2/readings/3/edit", ()),
    ("/console/inspections/6/readings/3/edit", ROOT),
    ("/console/inspections/8/edit", ROOT),
    ("/console/inspections/8/delete", ROOT),
    ("/console/buildings", EVERYBODY),
    ("/console/buildings.csv", EVERYBODY),
    ("/console/buildings/1", EVERYBODY),
    ("/console/buildings/2", ADMINS),
    ("/console/buildings/4", ROOT),
    ("/console/buildings/5", ADMINS),
    ("/console/buildings/999", ()),
    ("/console/buildings/new", ADMINS),
    ("/console/buildings/1/edit", ADMINS),
    ("/console/buildings/6/delete", ADMINS),
    ("/console/buildings/5/edit", ROOT),
    ("/console/inspectors", EVERYBODY),
    ("/console/people", ADMINS),
    ("/console/people/new", ADMINS),
    (f"/console/people/{MOE}", ADMINS),
    (f"/console/people/{MOE}/edit", ADMINS),
    (f"/console/people/{MOE}/delete", ADMINS),
    (f"/console/people/{MAX}", ROOT),
    (f"/console/people/{ADA}", ADMINS),
    (f"/console/people/{BOB}/edit", ROOT),
    ("/console/people/nonsense", ()),
    ("/console/access", ADMINS),
    ("/console/access?q=mill&client=1", ADMINS),
    ("/console/why", EVERYBODY),
    ("/console/why?kind=building&key=1", EVERYBODY),
    (f"/console/why?person={MOE}&kind=inspection&key=3", EVERYBODY),
    ("/console/devices", ADMINS),
    ("/console/kiosk", EVERYBODY),
    ("/console/kiosk/board", EVERYBODY),
    ("/console/nowhere", ()),
    ("/console/inspections/99999999999999999999999999", ()),
    ("/console/buildings/99999999999999999999999999", ()),
    ("/console/why?kind=building&key=99999999999999999999999999", ()),
]
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


OF_NOBODY = {"/console/sign-in", "/console/kiosk/enter", "/console/static/<name>"}


def test_every_page_is_asked_for_here(app: Flask) -> None:
    """But for those that have nobody's rows."""
    urls = app.url_map.bind("localhost")
    pages = {
        rule.rule
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/console/") and rule.methods and "GET" in rule.methods
    }

    asked = {urls.match(path.split("?")[0], return_rule=True)[0].rule for path, _ in PAGES}

    assert asked == pages - OF_NOBODY


@pytest.mark.parametrize("who", EVERYBODY)
@pytest.mark.parametrize(("path", "allowed"), PAGES, ids=[path for path, _ in PAGES])
def test_page_opens_for_whom_it_may(
    office: Callable, path: str, allowed: tuple[str, ...], who: str
) -> None:
    answer = office(who).get(path)

    assert answer.status_code in ((200,) if who in allowed else (400, 403, 404))
    assert answer.headers.getlist("Content-Security-Policy") == [POLICY]
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert len(answer.data) < BYTES_MAX
    if not path.partition("?")[0].endswith(".csv"):
        assert answer.content_type == "text/html; charset=utf-8"
        assert " style=" not in answer.text
        assert "<style" not in answer.text
        assert " onclick" not in answer.text


@pytest.mark.parametrize(
    "path", [path for path, _ in PAGES if "kiosk" not in path and "nowhere" not in path]
)
def test_nobody_is_sent_to_sign_in(office: Callable, path: str) -> None:
    answer = office("nobody").get(path)

    assert answer.status_code == 303
    assert answer.headers["Location"].startswith("/console/sign-in")


@pytest.mark.parametrize("path", ["/console/kiosk", "/console/kiosk/board"])
def test_a_board_without_token_shows_nothing(office: Callable, path: str) -> None:
    answer = office("nobody").get(path)

    assert answer.status_code == 401
    assert "Harbor House" not in answer.text


def test_hidden_and_missing_are_one_answer(office: Callable) -> None:
    moe = office("moe")

    hidden, missing = moe.get("/console/buildings/4"), moe.get("/console/buildings/999")

    assert (hidden.status_code, hidden.text) == (missing.status_code, missing.text)


def test_only_what_the_role_may_do_is_offered(office: Callable) -> None:
    for who, path, offered in (
        ("ada", "/console/inspections/1", True),
        ("ada", "/console/inspections/8", False),
        ("moe", "/console/inspections/1", False),
        ("ada", "/console/buildings/1", True),
        ("ada", "/console/buildings/5", False),
        ("root", "/console/buildings/5", True),
        ("moe", "/console/buildings/1", False),
        ("ada", f"/console/people/{MOE}", True),
        ("ada", f"/console/people/{ADA}", False),
    ):
        page = office(who).page(path)
        assert (f'href="{path}/edit"' in page, f'href="{path}/delete"' in page) == (
            offered,
            offered,
        )
    moe = office("moe").page("/console/")
    assert "/console/people" not in moe
    assert "/console/access" not in moe


def test_a_form_is_sent_on_to_the_dialect(office: Callable) -> None:
    answer = office("ada").get(
        "/console/inspections?find=1&q=harbor&status=eq.completed&from=2025-01-01&to=&inspection_type="
    )

    assert answer.status_code == 303
    assert answer.headers["Location"] == (
        "/console/inspections?status=eq.completed&date_visited=gte.2025-01-01"
        '&or=(notes.ilike."*harbor*",inspection_type.ilike."*harbor*",sought.not.is.null)'
        "&sought.name=ilike.*harbor*"
    ).replace('"', "%22")


def test_a_search_finds_by_building_and_shows_it(office: Callable) -> None:
    ada = office("ada")
    location = ada.get("/console/inspections?find=1&q=harbor").headers["Location"]

    page = ada.page(location)

    assert page.count(">Harbor House</a>") == 3
    assert 'value="harbor"' in page


@pytest.mark.parametrize(
    "word", ['"', "\\", "a,b", "(x)", "%", "*", "<script>", "ß", "a&b=c#d", "'"]
)
def test_any_word_may_be_searched_for(office: Callable, word: str) -> None:
    for path in ("inspections", "buildings", "inspectors", "people"):
        sent = office("root").get(f"/console/{path}", query_string={"find": "1", "q": word})
        answer = office("root").get(sent.headers["Location"])
        assert (answer.status_code, "<script>" in answer.text) == (200, False), (path, word)


@pytest.mark.parametrize(
    "query",
    [
        "nope=eq.1",
        "status=eq",
        "order=nope",
        "status=zz.1",
        "id=eq.x",
        "offset=99999999999999999999",
    ],
)
def test_a_wrong_address_is_explained(office: Callable, query: str) -> None:
    answer = office("ada").get(f"/console/inspections?{query}")

    assert answer.status_code == 400
    assert "<h1>" in answer.text


def test_what_only_other_lists_look_through_is_explained(office: Callable) -> None:
    assert office("ada").get("/console/inspectors?sought.name=ilike.*a*").status_code == 400


@pytest.mark.parametrize("offset", ["x", "-1", "1.5", "1e1", "٣", "²"])
def test_a_list_begins_at_its_beginning_where_no_row_is_named(
    office: Callable, offset: str
) -> None:
    listed = office("ada").get("/console/inspections").text

    assert "inspections/1" in listed
    assert office("ada").get(f"/console/inspections?offset={offset}").text == listed


@pytest.mark.parametrize(
    "query",
    [
        "from=2026-02-30",
        "from=x",
        "from=2026-02-01&to=2026-01-01",
        "from=1900-01-01",
        "to=0000-01-01",
    ],
)
def test_dates_that_bound_no_chart_are_explained(office: Callable, query: str) -> None:
    answer = office("ada").get(f"/console/?{query}")

    assert answer.status_code == 400
    assert 'class="problem"' in answer.text
    assert "overdue" in answer.text


def test_a_chart_that_takes_too_long_leaves_the_rest(
    office: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tire(*arguments: object) -> None:
        raise TimedOut("canceling statement due to statement timeout")

    monkeypatch.setattr(chart, "read_chart", tire)
    answer = office("ada").get("/console/")

    assert answer.status_code == 400
    assert "That took too long" in answer.text
    assert "Mill Court" in answer.text


def test_what_was_done_is_told_in_our_own_words_only(office: Callable) -> None:
    ada = office("ada")
    sent = ada.send("/console/access", {"back": "?q=mill"})

    assert "Nothing was changed." in ada.page(sent.headers["Location"])
    assert "call 555" not in ada.page("/console/?done=call+555&seal=x")


def test_what_was_done_is_told_to_whoever_did_it_on_that_page_alone(
    app: object, desk: Callable
) -> None:
    ada, given = desk("ada"), {"email": "n@x.example", "password": "nia walks too"}
    said = "Your account must be verified. Call 555. "
    sent = ada.send("/console/people/new", {"name": said * 6, **given}).headers["Location"]
    path, _, told = sent.partition("?")

    assert "Call 555" in ada.page(sent).partition('role="status"')[2].partition("</p>")[0]
    assert "… can sign in now.</p>" in ada.page(sent)
    for who in (ada, desk("ada"), desk("root"), desk()):
        for page in (path, "/console/", "/console/sign-in", "/console/kiosk/enter"):
            if who is ada and page == path:
                continue
            assert 'role="status">' not in who.get(f"{page}?{told}").text, page


def test_every_tile_leads_to_a_list_of_its_number(desk: Callable, api: Callable) -> None:
    today = datetime.datetime.now(datetime.UTC).date()
    month = today.replace(day=1)
    following = (month + datetime.timedelta(32)).replace(day=1)
    days = [today + datetime.timedelta(each) for each in (-400, -31, -1, 0, 1, 29, 30, 31, 400)]
    days += [month, month - datetime.timedelta(1), following, following - datetime.timedelta(1)]
    rows = [
        {
            "building_id": 1,
            "inspection_type": "x",
            "status": status,
            "date_visited": day.isoformat(),
        }
        for day in days
        for status in ("scheduled", "in_progress", "completed", "failed", "cancelled")
    ]
    assert api("root").post("/inspections", rows).status == 201
    ada = desk("ada")

    tiles = re.findall(
        r'<li class="tile[^"]*"><a href="([^"]+)"><b>([\d,]+)</b> ([^<]+)', ada.page("/console/")
    )

    assert len(tiles) == 6
    for link, number, words in tiles:
        found = re.search(r"of ([\d,]+)</p>", ada.page(html.unescape(link)))
        assert found, words
        assert found[1] == number, words


def test_sorting_and_paging_stand_in_the_address(app: object, desk: Callable) -> None:
    root = desk("root")
    for number in range(60):
        given = {"building_id": 1, "inspection_type": f"t{number:02}", "status": "scheduled"}
        assert root.send("/console/inspections/new", given).status_code == 303

    first = root.page("/console/inspections?inspection_type=like.t*&order=inspection_type.asc")
    second = root.page(
        "/console/inspections?inspection_type=like.t*&order=inspection_type.asc&offset=50"
    )

    assert "1–50 of 60" in first
    assert "inspection_type=like.t*&amp;order=inspection_type.asc&amp;offset=50" in first
    assert 'aria-sort="ascending"' in first
    assert "51–60 of 60" in second
    assert ("t49" in first, "t50" in first, "t50" in second) == (True, False, True)


def test_csv_is_a_file_without_formulas(desk: Callable) -> None:
    ada = desk("ada")
    ada.send(
        "/console/inspections/new",
        {"building_id": 1, "inspection_type": "=cmd|' /C calc'!A0", "notes": "+1\nÖ"},
    )

    answer = ada.get("/console/inspections.csv?building_id=eq.1")

    assert answer.content_type == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="inspections.csv"'
    assert "'=cmd" in answer.text
    assert ",=cmd" not in answer.text
    assert "Harbor House" in answer.text


def test_a_map_is_a_link_and_nothing_more(office: Callable) -> None:
    page = office("root").page("/console/buildings")

    assert "https://www.openstreetmap.org/" in page
    assert "<img" not in page
    assert "<iframe" not in page


@pytest.mark.parametrize("name", ["console.css", "kiosk.js", "enter.js", "icon.svg"])
def test_files_are_served_by_name(office: Callable, name: str) -> None:
    assert office("nobody").get(f"/console/static/{name}").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "static/",
        "static/../pages.py",
        "static/base.html",
        "templates/base.html",
        "static/%2e%2e/door.py",
    ],
)
def test_nothing_else_is_served(office: Callable, path: str) -> None:
    assert office("nobody").get(f"/console/{path}").status_code == 404
