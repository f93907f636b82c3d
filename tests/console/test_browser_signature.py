"""A drawn signature: the pad on a telephone, and a typed name without scripts."""

import re
from collections.abc import Callable

import pytest

from tests.console.conftest import DESK, PHONE, Service
from tests.console.test_browser import OVERFLOW
from tests.console.test_browser_visits import make_visit

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("a browser shows the same pages over both engines")]

INK = """() => {
  const pad = document.querySelector(".signature canvas");
  const pixels = pad.getContext("2d").getImageData(0, 0, pad.width, pad.height).data;
  return pixels.filter((value, at) => at % 4 === 0 && value < 128).length;
}"""


@pytest.fixture
def visit(service: Service) -> str:
    """Give Mia a fire inspection of today, and return its page."""
    return make_visit(service, "fire")


def close(page: object, visit: str) -> None:
    page.goto(visit)
    page.locator("summary", has_text="Close visit").click()
    page.get_by_label("Completed", exact=True).check()
    page.get_by_role("button", name="Close visit").click()
    page.get_by_text("Visit closed").wait_for()


def draw(page: object) -> None:
    pad = page.locator(".signature canvas")
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    places = [(0.2, 0.7), (0.35, 0.2), (0.5, 0.8), (0.65, 0.3), (0.8, 0.6)]
    (x, y), *others = [(box["x"] + box["width"] * across, box["y"] + box["height"] * down) for across, down in places]
    page.mouse.move(x, y)
    page.mouse.down()
    for x, y in others:
        page.mouse.move(x, y, steps=5)
    page.mouse.up()


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["telephone", "desk"])
def test_drawn_signature_is_on_the_issued_page(open_page: Callable, visit: str, size: dict) -> None:
    mia = open_page("mia", size=size)
    close(mia, visit)
    mia.get_by_role("link", name="Issue findings report").first.click()
    assert mia.evaluate(OVERFLOW) <= 0
    assert mia.evaluate(INK) == 0
    draw(mia)
    assert mia.evaluate(INK) > 0
    mia.get_by_role("button", name="Clear").click()
    assert mia.evaluate(INK) == 0

    draw(mia)
    mia.get_by_label("Name of the person").fill("")
    mia.evaluate("document.querySelector('#f-signed_name').required = false")
    mia.get_by_role("button", name="Issue report").click()
    mia.get_by_text("Name of the person who signs is required.").wait_for()
    mia.wait_for_function(f"({INK})() > 0")  # the drawing is back
    mia.get_by_label("Name of the person").fill("Ivo Kral")
    mia.get_by_role("button", name="Issue report").click()
    mia.get_by_text(re.compile(r"Report \d{4}-\d{6} issued\.")).wait_for()

    mia.get_by_role("link", name="findings report 20").first.click()
    signature = mia.get_by_role("img", name="Signature of Ivo Kral")
    assert signature.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    assert mia.get_by_text("Draft").count() == 0


def test_cleared_pad_and_a_page_without_scripts_sign_by_name(open_page: Callable, service: Service) -> None:
    for scripts in (True, False):
        mia = open_page("mia", scripts=scripts, size=PHONE)
        close(mia, make_visit(service, "fire"))
        mia.get_by_role("link", name="Issue findings report").first.click()
        if scripts:
            draw(mia)
            mia.get_by_role("button", name="Clear").click()
        assert mia.locator(".signature").is_visible() is scripts
        mia.get_by_label("Name of the person").fill("Ivo Kral")
        mia.get_by_role("button", name="Issue report").click()
        mia.get_by_text(re.compile(r"Report \d{4}-\d{6} issued\.")).wait_for()

        mia.get_by_role("link", name="findings report 20").first.click()
        mia.get_by_text("Signed by Ivo Kral").wait_for()
        assert mia.get_by_role("img").count() == 0


def test_form_waits_on_its_page_without_network(open_page: Callable, visit: str) -> None:
    mia = open_page("mia", size=PHONE)
    close(mia, visit)
    mia.get_by_role("link", name="Issue findings report").first.click()
    mia.get_by_label("Name of the person").fill("Ivo Kral")
    mia.context.set_offline(True)
    mia.get_by_role("button", name="Issue report").click()
    mia.locator(".draft-note", has_text="if this page stays open").wait_for()
    assert mia.locator("#waiting").is_hidden()

    mia.context.set_offline(False)
    mia.get_by_text(re.compile(r"Report \d{4}-\d{6} issued\.")).wait_for()
