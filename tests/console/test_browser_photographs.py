"""A telephone's day with photographs in Chromium: stored, captioned, deleted and printed, with and without script."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.console.conftest import DESK, PHONE, Service
from tests.console.test_browser_visits import visit
from tests.console.test_paper import print_page
from tests.support.photographs import photograph

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("a browser shows the same pages over both engines")]

__all__ = ["visit"]
GALLERY = ".gallery img"
LOADED = "() => [...document.querySelectorAll('img')].every(each => each.complete && each.naturalWidth > 0)"


def add_finding(page: Any, visit: str, text: str) -> str:
    """Add a finding on the page of a visit, and return the path of the finding's page."""
    page.goto(visit)
    page.get_by_label("Place").fill("3D")
    page.get_by_label("Description").fill(text)
    page.get_by_label("Severe", exact=True).check()
    page.get_by_role("button", name="Add finding").click()
    page.get_by_text("Finding added.").wait_for()
    return page.get_by_role("link", name=text).first.get_attribute("href")


def files_of(*texts: str) -> list[dict]:
    """Return photographs as a telephone sends them: all have one name."""
    return [
        {"name": "image.jpg", "mimeType": "image/jpeg", "buffer": photograph(each, (1_600, 1_200))} for each in texts
    ]


def take(page: Any, scripts: bool, field: str, shown: int, *texts: str) -> None:
    """Take a photograph, or choose several; then the gallery shows so many. Without a script the form has a button."""
    page.get_by_label(field).set_input_files(files_of(*texts))
    if not scripts:
        page.get_by_role("button", name="Store").click()
    page.locator(GALLERY).nth(shown - 1).wait_for()
    assert page.locator(GALLERY).count() == shown


@pytest.mark.parametrize("scripts", [True, False], ids=["script", "no script"])
def test_day_with_photographs(open_page: Callable, service: Service, visit: str, tmp_path: Path, scripts: bool) -> None:
    page = open_page("mia", scripts=scripts, size=PHONE)
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    name = "script" if scripts else "plain"
    door, alarm = (add_finding(page, visit, f"{what} {name}") for what in ("Door", "Alarm"))

    # Two photographs on each finding: taken one after the other, and chosen together.
    page.goto(visit)
    page.get_by_role("link", name=f"Photo Door {name}").click()
    take(page, scripts, "Photo", 1, f"door 1 {name}")
    take(page, scripts, "Photo", 2, f"door 2 {name}")
    page.goto(alarm)
    take(page, scripts, "Choose files", 2, f"alarm 1 {name}", f"alarm 2 {name}")

    # A caption, and a deletion that asks.
    page.get_by_role("link", name="Caption").first.click()
    page.get_by_label("Caption").fill(f"No alarm, {name}")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Changes saved.").wait_for()
    page.goto(door)
    page.get_by_role("link", name="Delete image 2.jpg").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_text("image 2.jpg deleted.").wait_for()
    assert page.locator(GALLERY).count() == 1
    page.goto(visit)
    page.locator(".thumbs img").last.scroll_into_view_if_needed()

    # The report prints the three that are left.
    desk = open_page("mia", size=DESK)
    desk.goto(f"{visit}/report?kind=findings")
    desk.wait_for_function(LOADED)
    text = "\n".join(print_page(desk, "A4", tmp_path))
    assert text.count("SHA-256") == desk.locator("figure img").count() == 3
    assert f"No alarm, {name}" in text
    assert text.count("Taken 2026-03-10") == 3
    assert refused == []


def test_script_shows_a_refusal_and_sends_the_rest_again(open_page: Callable, visit: str) -> None:
    page = open_page("mia", size=PHONE)
    finding = add_finding(page, visit, "Refused")
    page.goto(finding)

    page.get_by_label("Choose files").set_input_files(
        [*files_of("kept"), {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"words"}]
    )
    page.get_by_text("Files are JPEG, PNG, WebP, HEIC or PDF.").wait_for()

    assert page.get_by_role("button", name="Try again").is_visible()
    page.reload()
    assert page.locator(GALLERY).count() == 1


def test_script_keeps_the_files_while_the_network_is_away(open_page: Callable, visit: str) -> None:
    page = open_page("mia", size=PHONE)
    page.goto(add_finding(page, visit, "Offline"))
    page.context.set_offline(True)
    page.get_by_label("Photo").set_input_files(files_of("offline"))
    page.get_by_text("No network.").wait_for()
    page.get_by_text("1 of 1 not stored: image.jpg.").wait_for()
    page.get_by_text("1 file is not stored", exact=True).wait_for()
    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.get_by_role("link", name="Walkthrough").click(no_wait_after=True)
    page.get_by_text("image.jpg: only this page has it.").wait_for()
    assert asked == ["beforeunload"]

    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()

    page.get_by_text("Stored.").wait_for()
    assert page.locator(GALLERY).count() == 1
