"""Forms that are submitted without network, in Chromium: each is an entry of its own on the device until it is sent."""

import contextlib
from collections.abc import Callable

import httpx
import pytest

from tests.clients.server import password_of
from tests.console.conftest import EMAILS, PHONE, Service
from tests.console.test_browser import OVERFLOW
from tests.console.test_browser_drafts import DRAFTS, fill_in, findings
from tests.console.test_browser_visits import HEADS, visit
from tests.support.photographs import photograph

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("a browser shows the same pages over both engines")]

__all__ = ["visit"]
KEPT = "This device keeps the form. The form is sent when the network is back."


def add(page: object, text: str) -> None:
    fill_in(page, text)
    page.get_by_role("button", name="Add finding").click()


def add_offline(page: object, *texts: str, before: int = 0) -> None:
    """Submit findings without network. The header counts them."""
    page.context.set_offline(True)
    for count, text in enumerate(texts, before + 1):
        add(page, text)
        page.get_by_text("1 thing waits" if count == 1 else f"{count} things wait", exact=True).wait_for()
        page.get_by_text(KEPT).wait_for()
        assert page.get_by_label("Description").input_value() == ""


def wait_until_sent(page: object) -> None:
    page.wait_for_function("async () => (await readEntries()).length === 0")
    page.locator("#waiting").wait_for(state="hidden")


def test_submits_without_network_arrive_in_order_from_the_same_page(
    open_page: Callable, service: Service, visit: str
) -> None:
    page = open_page("mia", size=PHONE)
    page.goto(visit)
    add_offline(page, "No exit", "No light", "No light")
    assert findings(service, visit) == []

    page.context.set_offline(False)
    wait_until_sent(page)
    page.get_by_text("No exit").first.wait_for()

    assert findings(service, visit) == ["No exit", "No light", "No light"]
    assert page.evaluate(DRAFTS) == []


def test_submits_without_network_are_sent_from_another_page(open_page: Callable, service: Service, visit: str) -> None:
    page = open_page("mia", size=PHONE)
    page.goto(visit)
    add_offline(page, "No alarm", "No rail", "No lamp")
    with contextlib.suppress(Exception):
        page.goto("/console/buildings")  # Chromium shows its own error page

    page.context.set_offline(False)
    page.goto("/console/buildings")
    wait_until_sent(page)

    assert findings(service, visit) == ["No alarm", "No rail", "No lamp"]


def test_entry_whose_answer_was_lost_is_saved_once(open_page: Callable, service: Service, visit: str) -> None:
    page = open_page("mia", size=PHONE)
    page.goto(visit)
    add_offline(page, "No door", "No key")
    lost = []

    def lose_first_answer(route: object) -> None:
        if lost:
            route.continue_()
            return
        lost.append(route.fetch(max_redirects=0).status)
        route.abort()

    page.route("**/add/findings", lose_first_answer)
    page.context.set_offline(False)
    wait_until_sent(page)

    assert lost == [204]
    assert findings(service, visit) == ["No door", "No key"]


def test_entries_of_one_person_are_not_sent_by_another(open_page: Callable, service: Service, visit: str) -> None:
    page = open_page("mia", size=PHONE, anew=True)
    page.goto(visit)
    add_offline(page, "No ramp", "No sign")
    page.context.clear_cookies()
    page.context.set_offline(False)
    sign_in(page, "ada")
    assert page.locator("#waiting").is_hidden()
    page.wait_for_timeout(500)
    assert findings(service, visit) == []

    page.context.clear_cookies()
    sign_in(page, "mia")
    wait_until_sent(page)

    assert findings(service, visit) == ["No ramp", "No sign"]


def sign_in(page: object, who: str) -> None:
    page.goto("/console/sign-in")
    page.get_by_label("E-mail").fill(EMAILS[who])
    page.get_by_label("Password").fill(password_of(who))
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Sign out").wait_for()


def test_entry_that_the_server_refuses_goes_back_into_its_form(
    open_page: Callable, service: Service, visit: str
) -> None:
    page = open_page("mia", size=PHONE)
    page.goto(visit)
    page.context.set_offline(True)
    fill_in(page, "x")
    page.get_by_label("Description").evaluate("each => { each.required = false; each.value = ''; }")
    page.get_by_role("button", name="Add finding").click()
    page.get_by_text("1 thing waits", exact=True).wait_for()
    add_offline(page, "No step", before=1)

    page.context.set_offline(False)
    page.get_by_text("1 thing was not saved", exact=True).wait_for()
    assert findings(service, visit) == ["No step"]
    page.goto(visit)
    page.get_by_text("What you typed earlier is back.").wait_for()
    page.get_by_label("Description").fill("No stairs")
    page.get_by_role("button", name="Add finding").click()
    page.get_by_text("Finding added.").wait_for()
    wait_until_sent(page)

    assert findings(service, visit) == ["No step", "No stairs"]


def test_form_with_a_secret_in_its_answer_waits_on_its_page(open_page: Callable, service: Service) -> None:
    page = open_page("ada")
    page.goto("/console/account/api_keys")
    page.context.set_offline(True)
    page.get_by_label("Name").fill("Sheets")
    page.get_by_role("button", name="Create").click()
    page.get_by_text("if this page stays open").wait_for()
    assert page.locator("#waiting").is_hidden()

    page.context.set_offline(False)

    page.get_by_text("wt_").first.wait_for()


def test_edit_of_a_row_is_kept_and_sent(open_page: Callable, service: Service) -> None:
    page = open_page("ada")
    page.goto("/console/buildings/2/edit")
    page.context.set_offline(True)
    page.get_by_label("Name").fill("Mill Two")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("1 thing waits", exact=True).wait_for()

    page.context.set_offline(False)
    wait_until_sent(page)

    row = httpx.get(f"{service.url}/buildings?id=eq.2&select=name", headers=HEADS).json()
    assert row == [{"name": "Mill Two"}]


def test_finding_with_its_photograph_waits_on_the_device(open_page: Callable, service: Service, visit: str) -> None:
    page = open_page("mia", size=PHONE)
    page.goto(visit)
    page.context.set_offline(True)
    for text in ("No mirror", "No mat"):
        fill_in(page, text)
        file = {"name": "image.jpg", "mimeType": "image/jpeg", "buffer": photograph(text)}
        page.get_by_label("Photo of the finding").set_input_files([file])
        page.get_by_role("button", name="Add finding").click()
        page.get_by_text(KEPT).wait_for()
    page.get_by_text("2 things wait", exact=True).wait_for()
    assert page.get_by_label("Severe", exact=True).is_checked()

    page.route("**/console/session", lambda route: route.abort())
    page.context.set_offline(False)
    page.goto("/console/visits")
    page.get_by_text("2 not sent").wait_for()
    page.get_by_role("link", name="What waits on this device").last.click()
    page.locator("#waiting-page").get_by_text("photograph image.jpg").nth(1).wait_for()
    assert page.evaluate(OVERFLOW) <= 0
    assert findings(service, visit) == []
    page.unroute("**/console/session")
    wait_until_sent(page)
    page.get_by_text("Nothing waits.").wait_for()

    assert findings(service, visit) == ["No mirror", "No mat"]
    key = visit.rpartition("/")[2]
    rows = httpx.get(f"{service.url}/findings?inspection_id=eq.{key}&select=files(name)", headers=HEADS).json()
    assert [len(row["files"]) for row in rows] == [1, 1]
