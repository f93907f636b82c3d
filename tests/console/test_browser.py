"""The console in Chromium: accessibility (axe), without scripts, and the kiosk display while the server is down.

The tests skip with a reason if no browser or no axe-core is available.
"""

import fcntl
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.clients.node import UNREACHABLE
from tests.clients.server import KEYS
from tests.conftest import MOE
from tests.console.conftest import DESK, PHONE, Service
from tests.console.kinds_of_pages import DARK, PAGES

pytestmark = pytest.mark.slow

HEADS = {"apikey": KEYS["ANON_KEY"], "Authorization": f"Bearer {KEYS['SERVICE_KEY']}"}
JS = Path(__file__).parent / "js"
AXE = JS / "node_modules" / "axe-core" / "axe.min.js"
INSTALL_SECONDS_MAX = 120


@pytest.fixture(scope="module")
def axe() -> str:
    """Return the source of axe-core; install it from the npm registry once."""
    npm = shutil.which("npm")
    with (JS / "package-lock.json").open() as guard:  # several test processes may run at once
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not AXE.exists():
            if npm is None:
                pytest.skip("npm is not installed: axe-core is not available")
            command = [npm, "ci", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=1"]
            ran = subprocess.run(
                command, cwd=JS, capture_output=True, text=True, timeout=INSTALL_SECONDS_MAX, check=False
            )
            if ran.returncode and (cause := UNREACHABLE.search(ran.stdout + ran.stderr)):
                pytest.skip(f"the npm registry cannot be reached ({cause[0]}): no axe-core")
            assert ran.returncode == 0, f"npm ci failed: {ran.stdout}{ran.stderr}"
    return AXE.read_text(encoding="utf-8")


RUN_AXE = """async () => (await axe.run(document, {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  resultTypes: ["violations"],
})).violations.map(each => [each.impact, each.id, each.nodes.length, each.nodes[0].html])"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SMALL = """[...document.querySelectorAll('button, input:not([type=hidden]), select, textarea, a.button, nav a')]
  .filter(each => each.offsetParent && !each.closest('label') && each.getBoundingClientRect().height < 43.5)
  .map(each => each.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("who", ["root", pytest.param("ada", marks=pytest.mark.long), "moe"])
def test_pages_have_no_accessibility_violations_and_no_overflow(open_page: Callable, axe: str, who: str) -> None:
    """Expect no axe violation, no blocked resource and no horizontal overflow on any page.

    Ada's pages are root's with fewer rows.
    """
    page = open_page(who)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    found = []
    for path in [*PAGES[who], "/console/sign-in"]:
        page.goto(path)
        # The developer tools can evaluate scripts in spite of the content security policy.
        page.evaluate(axe)
        found += [(path, *fault) for fault in page.evaluate(RUN_AXE)]
        found += [(path, "small", each) for each in page.evaluate(SMALL)]
        for size in (PHONE, DESK):
            page.set_viewport_size(size)
            if page.evaluate(OVERFLOW) > 0:
                found.append((path, "wider than the screen", size["width"]))

    assert found == []
    assert [each for each in complaints if "404" not in each and "401" not in each] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dashboard_and_kiosk_are_accessible_on_every_screen(
    open_page: Callable, axe: str, service: Service, scheme: str
) -> None:
    row = {
        "building_id": 1,
        "inspection_type": "fire",
        "status": "scheduled",
        "date_visited": f"{datetime.now(UTC).date()}",
    }
    made = httpx.post(f"{service.url}/inspections", headers=HEADS, json=row)
    assert made.status_code == 201, made.text
    page = open_page("ada")
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    found = []
    for path in ("/console/", "/console/kiosk"):
        page.goto(path)
        page.evaluate(axe)
        assert path == "/console/kiosk" or page.locator(".chart rect").count() > 0
        for width, height in ((390, 844), (1366, 768), (1920, 1080)):
            page.set_viewport_size({"width": width, "height": height})
            found += [(path, width, *fault) for fault in page.evaluate(RUN_AXE)]

    assert found == []


def test_dark_pages_have_no_accessibility_violations(open_page: Callable, axe: str) -> None:
    page = open_page("ada")
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    found = []
    for path in DARK:
        page.goto(path)
        page.evaluate(axe)
        found += [(path, *fault) for fault in page.evaluate(RUN_AXE)]

    assert found == []


def create_kiosk_display(page: Any, name: str) -> str:
    """Create a kiosk display with Moe's view and return its sign-in link."""
    page.goto("/console/devices")
    page.get_by_label("Location").fill(name)
    page.get_by_label("User").select_option(MOE)
    page.get_by_role("button", name="Create").click()
    return page.get_by_role("link", name="this link").get_attribute("href")


def test_kiosk_display_refreshes_and_keeps_its_content_while_offline(open_page: Callable, service: Service) -> None:
    ada = open_page("ada")
    link = create_kiosk_display(ada, "Hall")

    display = open_page()
    display.goto(link)
    display.wait_for_url("**/console/kiosk")
    display.goto("/console/kiosk?every=0.3")
    picture = display.locator("#content")
    first = picture.get_attribute("data-now")
    assert display.get_by_text("Harbor House").first.is_visible()
    display.wait_for_function("now => document.getElementById('content').dataset.now !== now", arg=first)

    service.stop()
    away = display.locator("#offline")
    away.wait_for(state="visible")
    assert "The server does not respond. Last refresh:" in away.inner_text()
    assert display.get_by_text("Harbor House").first.is_visible()

    last = picture.get_attribute("data-now")
    service.start()
    away.wait_for(state="hidden")
    assert picture.get_attribute("data-now") != last

    ada.goto("/console/devices")
    ada.get_by_role("link", name="Revoke").click()
    ada.get_by_role("button", name="Revoke").click()
    display.get_by_text("This kiosk display is signed out.").wait_for()
    assert display.get_by_text("Harbor House").count() == 0


def test_kiosk_link_requires_a_click_in_a_signed_in_browser(open_page: Callable) -> None:
    ada = open_page("ada")
    link = create_kiosk_display(ada, "Trap")

    for page, seen in ((ada, "viewed as Ada"), (open_page("root"), "viewed as Root")):
        page.goto(link)
        page.wait_for_load_state("networkidle")
        assert page.get_by_label("Code").input_value() == link.partition("#")[2] != ""
        page.goto("/console/kiosk")
        assert page.locator(".asof").inner_text().endswith(seen)

    page.goto(link)
    page.get_by_role("button", name="Pair").click()
    page.wait_for_url("**/console/kiosk")
    assert page.locator(".asof").inner_text().endswith("viewed as Moe")
    page.get_by_role("link", name="Sign out").click()
    page.get_by_role("button", name="Sign out this browser").click()
    page.wait_for_url("**/console/kiosk/enter")
    page.goto("/console/kiosk")
    assert page.locator(".asof").inner_text().endswith("viewed as Root")


def test_kiosk_display_refreshes_without_scripts(open_page: Callable) -> None:
    page = open_page("moe", scripts=False)
    page.goto("/console/kiosk")

    assert page.locator("meta[http-equiv=refresh]").get_attribute("content") == "30"


def test_menu_opens_without_scripts_on_a_telephone(open_page: Callable) -> None:
    page = open_page("root", scripts=False, size=PHONE)
    page.goto("/console/inspections")
    link = page.get_by_role("link", name="Audit log", exact=True)
    assert not link.is_visible()

    page.locator(".menu").click()
    assert link.is_visible()
    assert page.evaluate(OVERFLOW) <= 0
    link.click()

    page.get_by_role("heading", name="Audit log").wait_for()


@pytest.mark.parametrize("width", [320, 390, 720, 800, 1280])
def test_navigation_fits_the_screen(open_page: Callable, width: int) -> None:
    page = open_page("root", size={"width": width, "height": 800})
    page.goto("/console/clients")
    if page.locator(".menu").is_visible():
        page.locator(".menu").click()

    links = page.locator(".top nav a")
    boxes = [each.bounding_box() for each in links.all()]

    assert len(boxes) == 11
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width and box["height"] < 50 for box in boxes)


def test_text_of_other_values_appears_with_its_option(open_page: Callable) -> None:
    page = open_page("ada")
    page.goto("/console/inspections/new")
    text = page.get_by_label("Other status")
    assert not text.is_visible()

    page.locator("#f-status").select_option("other…")

    assert text.is_visible()
