"""Long texts in Chromium: no page overflows the viewport, and the kiosk display shows them page by page."""

import datetime
from collections.abc import Callable

import httpx
import pytest

from tests.clients.server import KEYS
from tests.conftest import MOE
from tests.console.conftest import DESK, PHONE, Service

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("a browser shows the same pages over both engines")]

HEADS = {"apikey": KEYS["ANON_KEY"], "Authorization": f"Bearer {KEYS['SERVICE_KEY']}"}
MENU_WIDTH_MAX = 720  # in narrower windows the links are in a menu
WIDTHS = (320, 722, 800, 1024, 1280)
SCREENS = ((1920, 1080), (1366, 768), (1024, 768), (1024, 600), (800, 480), (1080, 1920), (768, 1366))
LONG = "Harborline Waterfront Apartments, North Tower and Parking Structure (formerly Pier 9 Warehouse)"
WIDE = "W" * 65_000
URL = f"https://files.harborline.example/reports/{'0123456789abcdef' * 8}.pdf"
KEY = 9_000
PAGES = [
    "/console/",
    "/console/inspections",
    "/console/buildings",
    f"/console/buildings/{KEY}",
    f"/console/buildings/{KEY + 1}",
    f"/console/buildings/{KEY}/edit",
    "/console/inspectors",
    "/console/people",
    "/console/people/new",
    f"/console/people/{MOE}",
    f"/console/people/{MOE}/edit",
    "/console/access",
    "/console/devices",
    f"/console/inspections/{KEY}",
    f"/console/inspections/{KEY + 1}",
    f"/console/inspections/{KEY + 4}",
    f"/console/inspections/{KEY + 4}/delete",
    f"/console/inspections/{KEY}/access?person={MOE}",
    f"/console/inspections/{KEY}/edit",
    f"/console/reports_lead/{KEY}/edit",
    "/console/findings",
    f"/console/findings/{KEY}",
    f"/console/findings/move/waived?ids={KEY}",
    "/console/schedules",
    f"/console/schedules/{KEY}",
    f"/console/schedules/{KEY}/edit",
    "/console/schedules/apply",
    "/console/import/inspections",
    "/console/inspections/new",
    f"/console/why?person={MOE}&kind=building&key={KEY}",
    "/console/kiosk",
]
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
WIDER = """() => [...document.querySelectorAll('body *')].filter(each => {
  const edges = each.getBoundingClientRect();
  return edges.width && edges.right > document.documentElement.clientWidth + 1
    && !each.closest('.scroll, .vh, nav, .skip');
}).slice(0, 2).map(each => `${each.tagName}.${each.className} ${each.textContent.trim().slice(0, 30)}`)"""
SPACE = """() => {
  const sheet = new CSSStyleSheet();
  const spacing = {'line-height': '1.5', 'letter-spacing': '.12em', 'word-spacing': '.16em'};
  const rules = Object.entries(spacing).map(([name, value]) => `${name}: ${value} !important`);
  sheet.replaceSync(`* { ${rules.join('; ')} }`);
  document.adoptedStyleSheets = [sheet];
}"""
DISPLAY = """() => ({
  wide: document.documentElement.scrollWidth - innerWidth,
  high: document.documentElement.scrollHeight - innerHeight,
  cut: [...document.querySelectorAll('.panel :is(h2, .where, .what, .when, .badge)')]
    .filter(each => each.checkVisibility() && each.scrollWidth > each.clientWidth + 1)
    .map(each => each.textContent.slice(0, 60)),
  rows: [...document.querySelectorAll('.panel li')].filter(each => each.checkVisibility()).length,
  page: document.getElementById('pages').textContent,
})"""
PAGE_MS = 10_000
MANY_ROWS = 46


@pytest.fixture(scope="module")
def long_rows(service: Service) -> None:
    today = datetime.datetime.now(datetime.UTC).date()
    rows = {
        "buildings": [
            {"id": KEY, "name": LONG, "client_id": 1, "address": LONG, "city": "Winston-Salem", "building_type": None},
            {"id": KEY + 1, "name": WIDE, "client_id": 1, "address": WIDE, "city": WIDE, "building_type": WIDE},
        ],
        "inspections": [
            {"id": KEY + each, "building_id": building, "inspection_type": kind, "status": status, "notes": URL,
             "date_visited": (today + datetime.timedelta(days)).isoformat()}
            for each, (building, kind, status, days) in enumerate([
                (KEY, "structural engineering review", "scheduled", 0),
                (KEY, "Wärmedämmungsverordnungsprüfung", "awaiting re-inspection by the city", 0),
                (KEY, "structural engineering review", "in_progress", -90),
                (KEY, "structural engineering review", "failed", 0),
                (KEY + 1, WIDE, WIDE, -9),
                (KEY + 1, WIDE, "scheduled", -9),
                (KEY + 1, WIDE, "completed", -9),
                *((KEY, "structural engineering review", "scheduled", 0) for _ in range(9)),
                *((KEY + 1, WIDE, "in_progress", -20) for _ in range(9)),
                *((KEY, "structural engineering review", "scheduled", 20) for _ in range(9)),
                *((KEY, "structural engineering review", "completed", -1) for _ in range(9)),
            ])
        ],
        "schedules": [
            {"id": KEY + each, "building_id": KEY + each % 2, "inspection_type": WIDE if each % 2 else "fire",
             "title": f"{WIDE if each % 2 else LONG} {each}", "every": 1_200, "unit": "month", "basis": WIDE,
             "first_due": (today - datetime.timedelta(900 - each)).isoformat()}
            for each in range(6)
        ],
        "findings": [
            {"id": KEY + each, "inspection_id": KEY + each % 2, "place": WIDE if each % 2 else LONG, "item": WIDE,
             "description": WIDE if each % 2 else LONG, "severity": "life_threatening",
             "due_at": f"{today - datetime.timedelta(900)}T12:00:00Z"}
            for each in range(6)
        ],
        "reports_lead": [{"id": KEY, "inspection_id": KEY, "gun_id": 2_147_483_647, "result": f"{LONG} {WIDE}"}],
        "client_manager_building_access": [{"manager_id": MOE, "building_id": KEY + each} for each in range(2)],
        "client_manager_inspection_access": [{"manager_id": MOE, "inspection_id": KEY}],
        "users": [{"name": WIDE, "email": f"{'w' * 200}@x.example", "role": "client_manager", "client_id": 1}],
    }  # fmt: skip
    for table, body in rows.items():
        answer = httpx.post(f"{service.url}/{table}", headers=HEADS, json=body)
        assert answer.status_code == 201, answer.text


@pytest.mark.parametrize("who", ["ada", pytest.param("root", marks=pytest.mark.long)])
def test_long_texts_do_not_overflow_the_viewport(open_page: Callable, long_rows: None, who: str) -> None:
    page = open_page(who)
    found = []
    for path in PAGES:
        page.goto(path)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 700})
            if page.evaluate(OVERFLOW) > 0:
                found.append((path, width, page.evaluate(OVERFLOW), page.evaluate(WIDER)))

    assert found == [], "\n".join(map(str, found))


def test_header_has_one_line_on_a_desk(open_page: Callable) -> None:
    page = open_page("root", size=DESK)
    page.evaluate("document.querySelector('.who .name').firstElementChild.after('Bartholomew Featherstonehaugh')")

    assert page.evaluate("document.querySelector('.top').offsetHeight") < 60


def test_chart_opens_on_the_latest_month(open_page: Callable, long_rows: None) -> None:
    page = open_page("root", scripts=False, size=PHONE)
    month = f"{datetime.datetime.now(datetime.UTC):%b %Y}"

    last = page.locator(".chart .tick.mid").last
    assert last.text_content() == month
    assert page.evaluate(OVERFLOW) <= 0
    edges, frame = last.bounding_box(), page.locator(".latest").bounding_box()
    assert frame["x"] <= edges["x"]
    assert edges["x"] + edges["width"] <= frame["x"] + frame["width"] + 1


def test_wcag_text_spacing_does_not_overflow_the_viewport(open_page: Callable, long_rows: None) -> None:
    """As WCAG 1.4.12 has it."""
    page = open_page("root")
    found = []
    for path in ("/console/", "/console/inspections", "/console/people/new", "/console/access"):
        page.goto(path)
        page.evaluate(SPACE)
        for width in (722, 800, 1024, 1280):
            page.set_viewport_size({"width": width, "height": 700})
            if page.evaluate(OVERFLOW) > 0:
                found.append((path, width, page.evaluate(OVERFLOW), page.evaluate(WIDER)))

    assert found == [], "\n".join(map(str, found))


@pytest.mark.parametrize("width", [*WIDTHS, 1090, 1180])
def test_links_of_the_header_do_not_cover_the_name(open_page: Callable, width: int) -> None:
    page = open_page("root", size={"width": width, "height": 700})

    name = page.locator(".who").bounding_box()
    boxes = [each.bounding_box() for each in page.locator(".top nav a").all()]

    shown = [each for each in boxes if each is not None]
    assert bool(shown) is (width > MENU_WIDTH_MAX)
    for each in shown:
        assert each["x"] + each["width"] <= name["x"] or each["y"] >= name["y"] + name["height"], each


@pytest.mark.parametrize("size", SCREENS, ids=str)
def test_kiosk_display_shows_every_row_page_by_page(
    open_page: Callable, long_rows: None, size: tuple[int, int]
) -> None:
    page = open_page("ada", size={"width": size[0], "height": size[1]})
    page.clock.install()
    page.goto("/console/kiosk?every=86400")
    rows, shown = page.locator(".panel li").count(), 0
    pages = int(page.locator("#pages").inner_text().removeprefix("Page 1 of "))

    for number in range(1, pages + 1):
        seen = page.evaluate(DISPLAY)
        assert seen["page"] == f"Page {number} of {pages}"
        assert (max(0, seen["wide"]), max(0, seen["high"]), seen["cut"]) == (0, 0, [])
        shown += seen["rows"]
        page.clock.run_for(PAGE_MS)

    assert page.locator("#pages").inner_text() == f"Page 1 of {pages}"
    assert rows == shown
    assert rows >= MANY_ROWS
    assert page.locator(".panel .what").filter(has_text=f"{LONG}, WW").filter(has_text=f"…: {LONG}").count() == 3
