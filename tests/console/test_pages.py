"""Every page: who may open it, its links, its size and its headers."""

import datetime
import html
import re
from collections.abc import Callable

import pytest
from flask import Flask

from engine.interface.database import TimedOut
from inspections.reporting import chart
from routes.reports.views import security_policy
from tests.conftest import ADA, BOB, MAX, MIA, MOE
from tests.console.generic import generic_pages

ALL_ROLES, ADMINS, ROOT = ("root", "ada", "moe"), ("root", "ada"), ("root",)
BYTES_MAX = 100_000

PAGES = [
    ("/console/", ALL_ROLES),
    ("/console/?from=2025-01-01&to=2025-06-30", ALL_ROLES),
    ("/console/inspections", ALL_ROLES),
    ("/console/inspections?status=eq.completed&order=inspection_type.asc", ALL_ROLES),
    ("/console/inspections.csv", ALL_ROLES),
    ("/console/inspections/1", ALL_ROLES),
    ("/console/inspections/3", ALL_ROLES),
    ("/console/inspections/4", ADMINS),
    ("/console/inspections/6", ROOT),
    ("/console/inspections/8", ADMINS),
    ("/console/inspections/999", ()),
    ("/console/inspections/new", ADMINS),
    ("/console/inspections/1/edit", ADMINS),
    ("/console/inspections/1/delete", ADMINS),
    (f"/console/inspections/1/access?person={MIA}", ADMINS),
    (f"/console/inspections/6/access?person={MAX}", ROOT),
    ("/console/inspections/3/start_visit", ADMINS),
    ("/console/inspections/8/start_visit", ROOT),
    ("/console/inspections/5/close_visit", ADMINS),
    ("/console/inspections/2/reinspect", ADMINS),
    ("/console/inspections/3/skip_occurrence", ADMINS),
    ("/console/inspections/999/skip_occurrence", ()),
    ("/console/inspections/3/report", ALL_ROLES),
    ("/console/inspections/1/report?kind=lead&rule=VA", ALL_ROLES),
    ("/console/inspections/8/report?kind=findings", ADMINS),
    ("/console/inspections/6/report?kind=lead", ROOT),
    ("/console/inspections/999/report", ()),
    ("/console/inspections/1/report?kind=fire", ()),
    ("/console/inspections/1/issue?kind=findings", ADMINS),
    ("/console/inspections/6/issue?kind=lead&rule=MN", ROOT),
    ("/console/inspections/999/issue?kind=lead", ()),
    ("/console/issued_reports", ALL_ROLES),
    ("/console/issued_reports?state=withdrawn", ALL_ROLES),
    ("/console/issued_reports/999/page", ()),
    ("/console/issued_reports/999/withdraw", ()),
    ("/console/verify?report=2026-000001", ALL_ROLES),
    ("/console/visits", ()),
    ("/console/waiting", ALL_ROLES),
    ("/console/findings", ALL_ROLES),
    ("/console/findings?status=eq.open&due_at=late", ALL_ROLES),
    ("/console/findings.csv?status=eq.open&due_at=week", ALL_ROLES),
    ("/console/findings/1", ALL_ROLES),
    ("/console/findings/move/fixed?ids=1,3", ALL_ROLES),
    ("/console/findings/move/verified?ids=1", ADMINS),
    ("/console/findings/move/waived?ids=1", ADMINS),
    ("/console/findings/move/fixed?ids=2", ROOT),
    ("/console/findings/move/remark?ids=1", ALL_ROLES),
    ("/console/findings/move/unknown?ids=1", ()),
    ("/console/findings/letter?ids=1", ADMINS),
    ("/console/findings/letter?ids=2", ROOT),
    ("/console/notices", ALL_ROLES),
    ("/console/notices/999/letter", ()),
    ("/console/notices/999/serve", ()),
    ("/console/notices/999/withdraw", ()),
    ("/console/inspections/1/add/findings", ADMINS),
    ("/console/inspections/change/inspector_id?ids=1", ADMINS),
    ("/console/inspections/change/date_visited?ids=8", ROOT),
    ("/console/inspections/change/notes?ids=1", ()),
    ("/console/inspections/month", ALL_ROLES),
    ("/console/inspections/month?month=2025-04&building_id=eq.1", ALL_ROLES),
    ("/console/inspectors/1/hand_over", ADMINS),
    ("/console/inspectors/999/hand_over", ()),
    ("/console/audit_log/1/undo", ()),
    ("/console/schedules/1/end", ADMINS),
    ("/console/schedules/2/end", ROOT),
    ("/console/schedules/apply?buildings=city%3Deq.Boston", ADMINS),
    ("/console/reports_lead/new?inspection_id=2", ADMINS),
    ("/console/reports_lead/1/edit", ADMINS),
    ("/console/reports_lead/1/void", ADMINS),
    ("/console/reports_lead/3/void", ROOT),
    ("/console/reports_lead/1/delete", ADMINS),
    ("/console/reports_lead/3/edit", ROOT),
    ("/console/inspections/8/edit", ROOT),
    ("/console/inspections/8/delete", ROOT),
    ("/console/buildings", ALL_ROLES),
    ("/console/buildings.csv", ALL_ROLES),
    ("/console/buildings/1", ALL_ROLES),
    ("/console/buildings/2", ADMINS),
    ("/console/buildings/4", ROOT),
    ("/console/buildings/5", ADMINS),
    ("/console/buildings/999", ()),
    ("/console/buildings/new", ADMINS),
    ("/console/buildings/1/edit", ADMINS),
    ("/console/buildings/6/delete", ADMINS),
    ("/console/buildings/1/defect", ALL_ROLES),
    ("/console/buildings/4/defect", ROOT),
    ("/console/buildings/999/defect", ()),
    ("/console/buildings/5/edit", ROOT),
    ("/console/inspectors", ALL_ROLES),
    ("/console/inspectors/1", ALL_ROLES),
    ("/console/inspectors/1/edit", ROOT),
    ("/console/clients", ALL_ROLES),
    ("/console/clients/1", ALL_ROLES),
    ("/console/clients/2", ROOT),
    ("/console/clients/new", ROOT),
    ("/console/import/buildings", ADMINS),
    ("/console/import/reports_lead?inspection_id=2", ADMINS),
    ("/console/import/clients", ()),
    ("/console/findings/photographs?ids=1", ALL_ROLES),
    ("/console/files/x/delete", ()),
    ("/console/files/x/original", ()),
    ("/console/files/x/thumbnail/160", ()),
    ("/console/audit_log", ADMINS),
    ("/console/audit_log?relation=eq.inspections&row_key=eq.1", ADMINS),
    ("/console/account", ALL_ROLES),
    ("/console/account/api_keys", ALL_ROLES),
    ("/console/account/api_keys/x/revocation", ()),
    ("/console/people", ADMINS),
    ("/console/people/new", ADMINS),
    (f"/console/people/{MOE}", ADMINS),
    (f"/console/people/{MOE}/edit", ADMINS),
    (f"/console/people/{MOE}/delete", ADMINS),
    (f"/console/people/{MOE}/api_keys", ADMINS),
    (f"/console/people/{MAX}/api_keys", ROOT),
    (f"/console/people/{MOE}/api_keys/x/revocation", ()),
    (f"/console/people/{MOE}/deactivation", ADMINS),
    (f"/console/people/{MAX}/deactivation", ROOT),
    (f"/console/people/{MAX}", ROOT),
    (f"/console/people/{ADA}", ADMINS),
    (f"/console/people/{BOB}/edit", ROOT),
    ("/console/people/nonsense", ()),
    ("/console/access", ADMINS),
    ("/console/access?q=mill&client=1", ADMINS),
    ("/console/why", ALL_ROLES),
    ("/console/why?kind=building&key=1", ALL_ROLES),
    (f"/console/why?person={MOE}&kind=inspection&key=3", ALL_ROLES),
    ("/console/devices", ADMINS),
    ("/console/devices/x/revocation", ()),
    ("/console/kiosk", ALL_ROLES),
    ("/console/kiosk/board", ALL_ROLES),
    ("/console/not_found", ()),
    ("/console/inspections/99999999999999999999999999", ()),
    ("/console/buildings/99999999999999999999999999", ()),
    ("/console/why?kind=building&key=99999999999999999999999999", ()),
]
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


PUBLIC_PATHS = {
    "/console/sign-in",
    "/console/account/own_password",
    "/console/session",
    "/console/kiosk/enter",
    "/console/static/<name>",
}


def test_every_page_is_covered(app: Flask) -> None:
    """Views in PUBLIC_PATHS show no rows."""
    urls = app.url_map.bind("localhost")
    pages = {
        rule.rule
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/console/") and rule.methods and "GET" in rule.methods
    }

    covered = {urls.match(path.split("?")[0], return_rule=True)[0].rule for path, _ in PAGES}
    covered |= {page.rule for page in generic_pages()}
    covered |= {f"{page.rule}/suggest" for page in generic_pages() if page.suffix == ""}

    assert covered == pages - PUBLIC_PATHS


@pytest.mark.parametrize("who", ALL_ROLES)
@pytest.mark.parametrize(("path", "allowed"), PAGES, ids=[path for path, _ in PAGES])
def test_page_opens_for_permitted_roles_only(
    browse_shared: Callable, path: str, allowed: tuple[str, ...], who: str
) -> None:
    answer = browse_shared(who).get(path)

    # A form of ticked rows leads back to its list, which says what to tick.
    assert answer.status_code in ((200,) if who in allowed else (303, 400, 403, 404))
    is_report = "/report" in path.replace("/reports_lead", "") and answer.status_code == 200
    assert answer.headers.getlist("Content-Security-Policy") == [security_policy("'self'") if is_report else POLICY]
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert len(answer.data) < BYTES_MAX
    if not path.partition("?")[0].endswith(".csv"):
        assert answer.content_type == "text/html; charset=utf-8"
        assert " style=" not in answer.text
        assert ("<style" in answer.text) is is_report
        assert " onclick" not in answer.text


@pytest.mark.parametrize("path", [path for path, _ in PAGES if "kiosk" not in path and "not_found" not in path])
def test_unauthenticated_request_redirects_to_sign_in(browse_shared: Callable, path: str) -> None:
    answer = browse_shared("nobody").get(path)

    assert answer.status_code == 303
    assert answer.headers["Location"].startswith("/console/sign-in")


@pytest.mark.parametrize("path", ["/console/kiosk", "/console/kiosk/board"])
def test_kiosk_page_without_a_token_is_401(browse_shared: Callable, path: str) -> None:
    answer = browse_shared("nobody").get(path)

    assert answer.status_code == 401
    assert "Harbor House" not in answer.text


def test_hidden_and_missing_rows_have_equal_responses(browse_shared: Callable) -> None:
    moe = browse_shared("moe")

    hidden, missing = moe.get("/console/buildings/4"), moe.get("/console/buildings/999")

    assert (hidden.status_code, hidden.text) == (missing.status_code, missing.text)


def test_links_match_the_privileges_of_the_role(browse_shared: Callable) -> None:
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
        page = browse_shared(who).page(path)
        assert (f'href="{path}/edit"' in page, f'href="{path}/delete"' in page) == (offered, offered)
    moe = browse_shared("moe").page("/console/")
    assert "/console/people" not in moe
    assert "/console/access" not in moe


def test_list_shows_its_request_in_the_dialect(browse_shared: Callable) -> None:
    page = browse_shared("ada").page(
        "/console/inspections?q=harbor&status=eq.completed&from=2025-01-01&to=&inspection_type="
    )

    request = html.unescape(page).partition("<code>GET /inspections?")[2].partition("</code>")[0]
    assert "status=eq.completed&date_visited=gte.2025-01-01&" in request
    texts = ("inspection_type", "status", "notes")
    own = ",".join(f'{each}.ilike."*harbor*"' for each in texts)
    assert f"or=({own},sought0_0.not.is.null,sought0_1.not.is.null)" in request
    assert 'sought0_0.or=(name.ilike."*harbor*")' in request
    assert 'sought0_1.or=(name.ilike."*harbor*")' in request


def test_search_matches_building_names(browse_shared: Callable) -> None:
    page = browse_shared("ada").page("/console/inspections?q=harbor")

    assert page.count(">Harbor House</a>") == 3
    assert 'value="harbor"' in page


@pytest.mark.parametrize("word", ['"', "\\", "a,b", "(x)", "%", "*", "<script>", "ß", "a&b=c#d", "'"])
def test_search_accepts_special_characters(browse_shared: Callable, word: str) -> None:
    for path in ("inspections", "buildings", "inspectors", "people"):
        answer = browse_shared("root").get(f"/console/{path}", query_string={"q": word})
        assert (answer.status_code, "<script>" in answer.text) == (200, False), (path, word)


@pytest.mark.parametrize(
    "query", ["nope=eq.1", "status=eq", "order=nope", "status=zz.1", "id=eq.x", "offset=99999999999999999999"]
)
def test_invalid_list_query_is_400_with_a_message(browse_shared: Callable, query: str) -> None:
    answer = browse_shared("ada").get(f"/console/inspections?{query}")

    assert answer.status_code == 400
    assert "<h1>" in answer.text


def test_embed_filter_of_another_list_is_400(browse_shared: Callable) -> None:
    assert browse_shared("ada").get("/console/inspectors?sought.name=ilike.*a*").status_code == 400


@pytest.mark.parametrize("offset", ["x", "-1", "1.5", "1e1", "٣", "²"])
def test_invalid_offset_shows_the_first_page(browse_shared: Callable, offset: str) -> None:
    listed = browse_shared("ada").get("/console/inspections").text

    assert "inspections/1" in listed
    assert browse_shared("ada").get(f"/console/inspections?offset={offset}").text == listed


@pytest.mark.parametrize(
    "query", ["from=2026-02-30", "from=x", "from=2026-02-01&to=2026-01-01", "from=1900-01-01", "to=0000-01-01"]
)
def test_invalid_chart_dates_are_400_with_a_message(browse_shared: Callable, query: str) -> None:
    answer = browse_shared("ada").get(f"/console/?{query}")

    assert answer.status_code == 400
    assert 'class="problem"' in answer.text
    assert "overdue" in answer.text


def test_chart_timeout_keeps_the_rest_of_the_dashboard(
    browse_shared: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def time_out(*arguments: object) -> None:
        raise TimedOut()

    monkeypatch.setattr(chart, "read_chart", time_out)
    answer = browse_shared("ada").get("/console/")

    assert answer.status_code == 400
    assert "The request took too long" in answer.text
    assert "Mill Court" in answer.text


def test_tiles_link_to_lists_with_equal_counts(browse: Callable, api: Callable) -> None:
    today = datetime.datetime.now(datetime.UTC).date()
    month = today.replace(day=1)
    following = (month + datetime.timedelta(32)).replace(day=1)
    days = [today + datetime.timedelta(each) for each in (-400, -31, -1, 0, 1, 29, 30, 31, 400)]
    days += [month, month - datetime.timedelta(1), following, following - datetime.timedelta(1)]
    rows = [
        {"building_id": 1, "inspection_type": "x", "status": status, "date_visited": day.isoformat()}
        for day in days
        for status in ("scheduled", "in_progress", "completed", "failed", "cancelled")
    ]
    assert api("root").post("/inspections", rows).status == 201
    ada = browse("ada")

    tiles = re.findall(r'<li class="tile[^"]*"><a href="([^"]+)"><b>([\d,]+)</b> ([^<]+)', ada.page("/console/"))

    assert len(tiles) == 8
    for link, number, words in tiles:
        found = re.search(r"of ([\d,]+)</p>", ada.page(html.unescape(link)))
        assert found, words
        assert found[1] == number, words


def test_order_and_offset_are_in_the_url(app: object, browse: Callable) -> None:
    root = browse("root")
    for number in range(60):
        given = {"building_id": 1, "inspection_type": f"t{number:02}", "status": "failed"}
        assert root.send("/console/inspections/new", given).status_code == 303

    first = root.page("/console/inspections?inspection_type=like.t*&order=inspection_type.asc")
    second = root.page("/console/inspections?inspection_type=like.t*&order=inspection_type.asc&offset=50")

    assert "1–50 of 60" in first
    assert "inspection_type=like.t*&amp;order=inspection_type.asc&amp;offset=50" in first
    assert 'aria-sort="ascending"' in first
    assert "51–60 of 60" in second
    assert (">T49<" in first, ">T50<" in first, ">T50<" in second) == (True, False, True)


def test_csv_is_an_attachment_with_escaped_formulas(browse: Callable) -> None:
    ada = browse("ada")
    ada.send("/console/inspections/new", {"building_id": 1, "inspection_type": "=cmd|' /C calc'!A0", "notes": "+1\nÖ"})

    answer = ada.get("/console/inspections.csv?building_id=eq.1")

    assert answer.content_type == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="inspections.csv"'
    assert "'=cmd" in answer.text
    assert ",=cmd" not in answer.text
    assert "Harbor House" in answer.text


@pytest.mark.parametrize("name", ["console.css", "kiosk.js", "kiosk_sign_in.js", "icon.svg"])
def test_static_files_are_served(browse_shared: Callable, name: str) -> None:
    assert browse_shared("nobody").get(f"/console/static/{name}").status_code == 200


@pytest.mark.parametrize(
    "path", ["static/", "static/../page.py", "static/base.html", "templates/base.html", "static/%2e%2e/auth.py"]
)
def test_other_static_paths_are_404(browse_shared: Callable, path: str) -> None:
    assert browse_shared("nobody").get(f"/console/{path}").status_code == 404
