"""Drafts in Chromium: what is typed stays on the device until it is saved, and a form waits for the network."""

import re
from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import expect

from tests.clients.server import password_of
from tests.console.conftest import EMAILS, PHONE, Service
from tests.console.test_browser_visits import HEADS, visit

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("a browser shows the same pages over both engines")]

__all__ = ["visit"]
DRAFTS = """() => new Promise((resolve) => {
  const opened = indexedDB.open("walkthrough", 1);
  opened.onsuccess = () => {
    const read = opened.result.transaction("drafts").objectStore("drafts").getAll();
    read.onsuccess = () => resolve(read.result.map((each) => JSON.stringify(each.fields)));
  };
})"""
BACK = "What you typed earlier is back."


def findings(service: Service, visit: str) -> list[str]:
    key = visit.rpartition("/")[2]
    rows = httpx.get(f"{service.url}/findings?inspection_id=eq.{key}&order=id", headers=HEADS).json()
    return [row["description"] for row in rows]


def fill_in(page: object, text: str) -> None:
    page.get_by_label("Place").fill("3D")
    page.get_by_label("Description").fill(text)
    page.get_by_label("Severe", exact=True).check()


def test_draft_comes_back_and_goes_when_saved(open_page: Callable, service: Service, visit: str) -> None:
    page = open_page("mia", size=PHONE)
    page.goto(visit)
    fill_in(page, "No alarm")

    page.goto("/console/visits")
    page.goto(visit)
    page.get_by_text(BACK).wait_for()
    assert page.get_by_label("Description").input_value() == "No alarm"
    assert page.get_by_label("Severe", exact=True).is_checked()
    page.get_by_role("button", name="Add finding").click()
    page.get_by_text("Finding added.").wait_for()

    assert page.evaluate(DRAFTS) == []
    assert page.get_by_label("Description").input_value() == ""
    assert findings(service, visit) == ["No alarm"]


def test_form_that_was_sent_unanswered_is_saved_once(open_page: Callable, service: Service, visit: str) -> None:
    page = open_page("mia", size=PHONE)
    page.goto(visit)
    fill_in(page, "No light")

    def lose_answer(route: object) -> None:
        route.fetch(max_redirects=0)
        page.context.clear_cookies(name="walkthrough_saved")  # of the answer that the browser never gets
        route.abort()

    page.route("**/add/findings", lose_answer)
    with page.expect_event("requestfailed", lambda request: request.method == "POST"):
        page.get_by_role("button", name="Add finding").click(no_wait_after=True)
    page.wait_for_timeout(200)  # Chromium shows its own error page
    page.unroute("**/add/findings")
    page.goto(visit)
    page.get_by_text(BACK).wait_for()
    page.get_by_role("button", name="Add finding").click()
    page.get_by_text("Finding added.").wait_for()

    assert findings(service, visit) == ["No light"]


def test_draft_is_of_one_user_and_goes_with_the_sign_out(open_page: Callable, visit: str) -> None:
    page = open_page("mia", anew=True)
    page.goto(visit)
    fill_in(page, "Private")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Password").wait_for()

    assert page.evaluate(DRAFTS) == []


def test_passwords_are_not_kept(open_page: Callable) -> None:
    page = open_page("ada")
    page.goto("/console/account")
    page.locator('input[name="name"]').fill("Ada L.")
    for each in page.locator("input[type=password]").all():
        each.fill("secret-word")

    kept = "".join(page.evaluate(DRAFTS))
    assert ("Ada L." in kept, "secret-word" in kept) == (True, False)


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_form_of_an_ended_session_is_saved_after_the_sign_in(
    open_page: Callable, service: Service, visit: str, scripts: bool
) -> None:
    page = open_page("mia", scripts=scripts, anew=True)
    page.goto(visit)
    fill_in(page, "No sign")
    page.context.clear_cookies()

    page.get_by_role("button", name="Add finding").click()
    page.get_by_text("Nothing is saved yet.").wait_for()
    page.get_by_label("E-mail").fill(EMAILS["mia"])
    page.get_by_label("Password").fill(password_of("mia"))
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("No sign").wait_for()
    assert findings(service, visit) == []
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Finding added.").wait_for()

    assert findings(service, visit) == ["No sign"]


@pytest.mark.parametrize(
    ("path", "name"), [("/console/access", "grant"), ("/console/inspections", "ids"), ("/console/findings", "ids")]
)
def test_page_asks_before_ticks_are_lost(open_page: Callable, path: str, name: str) -> None:
    page = open_page("ada")
    page.goto(path)
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    box = page.locator(f"input[name={name}]").first
    box.click()
    ticked = box.is_checked()

    page.get_by_role("button", name="Show").click(no_wait_after=True)
    page.wait_for_timeout(300)

    assert (asked, box.is_checked()) == (["beforeunload"], ticked)


def test_button_for_the_ticked_rows_does_not_ask(open_page: Callable) -> None:
    page = open_page("ada")
    page.goto("/console/inspections")
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.locator("input[name=ids]").first.click()

    page.get_by_role("button", name="Move the date").click()

    page.get_by_role("heading", name="Move the date: 1 inspection").wait_for()
    assert asked == []


def test_common_interval_fills_the_form_and_an_answered_question_removes_the_draft(
    open_page: Callable, service: Service
) -> None:
    page = open_page("ada")
    page.goto("/console/buildings")
    page.get_by_role("link", name="Apply a schedule").first.click()

    page.get_by_role("button", name="extinguishers").first.click()

    expect(page.get_by_label("Title")).to_have_value(re.compile("extinguishers", re.IGNORECASE))
    assert page.get_by_text(BACK).count() == 0
    page.get_by_label("First due").fill("2099-01-01")
    page.get_by_role("button", name="Continue").or_(page.get_by_role("button", name="Apply")).first.click()
    page.get_by_role("button", name="Apply").click()
    page.get_by_text("created").first.wait_for()
    assert page.evaluate(DRAFTS) == []
