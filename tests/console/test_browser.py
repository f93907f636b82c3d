"""The console in Chromium: navigation, without scripts, and the kiosk display while the server is down."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.clients.server import KEYS
from tests.conftest import MOE
from tests.console.conftest import PHONE, Service

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("a browser shows the same pages over both engines")]

HEADS = {"apikey": KEYS["ANON_KEY"], "Authorization": f"Bearer {KEYS['SERVICE_KEY']}"}
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def create_kiosk_display(page: Any, name: str) -> str:
    """Create a kiosk display with Moe's view and return its sign-in link."""
    page.goto("/console/devices")
    page.get_by_label("Location").fill(name)
    page.get_by_label("User").select_option(MOE)
    page.get_by_label("Shows").select_option("full")
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
    page.goto("/console/kiosk/enter")
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
    page.get_by_text("Settings", exact=True).click()
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

    boxes = [each.bounding_box() for each in page.locator(".top nav > ul > li > a").all()]
    for group in page.locator(".top nav details").all():
        group.locator("summary").click()
        boxes += [each.bounding_box() for each in group.locator("a").all()]

    assert len(boxes) == 13
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width and box["height"] < 50 for box in boxes)


def test_text_of_other_values_appears_with_its_option(open_page: Callable) -> None:
    page = open_page("ada")
    page.goto("/console/inspections/new")
    text = page.get_by_label("Other status")
    assert not text.is_visible()

    page.locator("#f-status").select_option("other…")

    assert text.is_visible()
