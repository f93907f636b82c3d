"""An inspector's day on a telephone whose network, session and browser end at the worst moments: no word is lost."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.clients.server import password_of
from tests.console.conftest import EMAILS, PATIENCE_MS, PHONE, Service
from tests.console.test_browser_drafts import BACK, DRAFTS, fill_in, findings
from tests.console.test_browser_visits import Phone, visit
from tests.support.browsers import BINARY, FLAGS

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("a browser shows the same pages over both engines")]

__all__ = ["visit"]
ADDED = "Finding added."


class KilledBrowser:
    """A browser with one profile, which is killed and started again."""

    def __init__(self, driver: Any, url: str, profile: Path) -> None:
        self.driver, self.url, self.profile = driver, url, profile
        self.context: Any = None

    def start(self) -> Any:
        self.context = self.driver.chromium.launch_persistent_context(
            self.profile, executable_path=BINARY, args=list(FLAGS), base_url=self.url, viewport=PHONE
        )
        page = self.context.pages[0]
        page.set_default_timeout(PATIENCE_MS)
        return page

    def kill(self) -> None:
        """End every process of this profile with SIGKILL."""
        needle = f"--user-data-dir={self.profile}".encode()
        for each in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if needle in (each / "cmdline").read_bytes().split(b"\0"):
                    os.kill(int(each.name), signal.SIGKILL)
        with contextlib.suppress(Exception):
            self.context.close()


def wait_until_kept(page: Any, text: str) -> None:
    """Wait until the browser has stored a draft that ends with the text: it stores the last key after the key event."""
    page.wait_for_function(f"async (text) => (await ({DRAFTS})()).some((each) => each.includes(text))", arg=f'{text}"')


@pytest.fixture
def telephone(driver: Any, service: Service, tmp_path: Path) -> Iterator[KilledBrowser]:
    made = KilledBrowser(driver, service.url, tmp_path / "profile")
    yield made
    made.kill()


def sign_in(page: Any) -> None:
    page.get_by_label("E-mail").fill(EMAILS["mia"])
    page.get_by_label("Password").fill(password_of("mia"))
    page.get_by_role("button", name="Sign in").click()


def open_visit(page: Any, visit: str) -> None:
    """Open the visit, after a sign-in if the session is gone."""
    page.goto(visit)
    if page.get_by_label("Password").count():
        sign_in(page)
    page.get_by_label("Description").wait_for()


def test_words_survive_the_kill_of_the_browser(telephone: KilledBrowser, service: Service, visit: str) -> None:
    page = telephone.start()
    open_visit(page, visit)
    fill_in(page, "The door")
    page.get_by_label("Description").press("End")
    page.get_by_label("Description").press_sequentially(" of the boiler room sticks")
    wait_until_kept(page, "The door of the boiler room sticks")
    telephone.kill()

    page = telephone.start()
    open_visit(page, visit)
    page.get_by_text(BACK).wait_for()
    assert page.get_by_label("Description").input_value() == "The door of the boiler room sticks"
    assert page.get_by_label("Severe", exact=True).is_checked()
    page.get_by_role("button", name="Add finding").click()
    page.get_by_text(ADDED).wait_for()

    assert findings(service, visit) == ["The door of the boiler room sticks"]


def test_form_that_was_sent_before_the_kill_is_saved_once(
    telephone: KilledBrowser, service: Service, visit: str
) -> None:
    """The id of the submission survives, too."""
    page = telephone.start()
    open_visit(page, visit)
    fill_in(page, "No light")
    wait_until_kept(page, "No light")

    def lose_answer(route: Any) -> None:
        """Send the form outside of the browser, which would store the cookie that the submission was saved."""
        sent = route.request
        answer = httpx.post(sent.url, headers=sent.all_headers(), content=sent.post_data_buffer)
        assert answer.status_code == 303
        route.abort()

    page.route("**/add/findings", lose_answer)
    with page.expect_event("requestfailed", lambda request: request.method == "POST"):
        page.get_by_role("button", name="Add finding").click(no_wait_after=True)
    telephone.kill()
    assert findings(service, visit) == ["No light"]

    page = telephone.start()
    open_visit(page, visit)
    page.get_by_text(BACK).wait_for()
    page.get_by_role("button", name="Add finding").click()
    page.get_by_text(ADDED).wait_for()

    assert findings(service, visit) == ["No light"]


def test_day_of_an_inspector_loses_no_word_and_saves_nothing_twice(
    telephone: KilledBrowser, service: Service, visit: str, capsys: pytest.CaptureFixture
) -> None:
    page = telephone.start()
    page.goto("/console/visits")
    sign_in(page)
    phone = Phone(page)
    phone.tap(page.get_by_role("region", name="Today").get_by_role("link", name="Harbor House").last)
    phone.tap(page.get_by_role("button", name="Start visit"))
    page.get_by_text("Visit started.").wait_for()

    # The network goes while the inspector types, and comes back.
    record(phone, "Door 1 does")
    page.context.set_offline(True)
    page.get_by_label("Description").press("End")
    page.get_by_label("Description").press_sequentially(" not close")
    page.context.set_offline(False)
    add(phone)

    # It is away for a minute from the submit on.
    page.clock.install()
    record(phone, "Door 2 does not close")
    page.context.set_offline(True)
    phone.tap(page.get_by_role("button", name="Add finding"))
    for _ in range(20):
        page.get_by_text("No network. Nothing is saved yet.").wait_for()
        page.clock.run_for(3_000)
    page.context.set_offline(False)
    page.get_by_text("Door 2 does not close").first.wait_for()  # in the list: the note of the first door still stands
    page.clock.resume()

    # The session ends before the submit.
    record(phone, "Door 3 does not close")
    page.context.clear_cookies()
    phone.tap(page.get_by_role("button", name="Add finding"))
    page.get_by_text("Nothing is saved yet.").wait_for()
    sign_in(page)
    phone.tap(page.get_by_role("button", name="Save"))
    page.get_by_text(ADDED).wait_for()

    # The browser is killed in the middle of a word.
    record(phone, "Door 4 does not cl")
    wait_until_kept(page, "Door 4 does not cl")
    telephone.kill()
    page = telephone.start()
    open_visit(page, visit)
    rest = Phone(page)
    page.get_by_text(BACK).wait_for()
    page.get_by_label("Description").press("End")
    page.get_by_label("Description").press_sequentially("ose")
    add(rest)
    rest.tap(page.locator("summary", has_text="Close visit"))
    rest.tap(page.get_by_label("Failed", exact=True))
    rest.tap(page.get_by_role("button", name="Close visit"))
    page.get_by_text("Visit closed.").wait_for()

    assert findings(service, visit) == [f"Door {number} does not close" for number in range(1, 5)]
    with capsys.disabled():
        print(f"\nan inspector's day: {phone.taps + rest.taps} taps, {phone.loads + rest.loads} page loads")


def record(phone: Phone, text: str) -> None:
    """Type a finding."""
    phone.type(phone.page.get_by_label("Place"), "3D")
    phone.type(phone.page.get_by_label("Description"), text)
    phone.tap(phone.page.get_by_label("Severe", exact=True))


def add(phone: Phone) -> None:
    phone.tap(phone.page.get_by_role("button", name="Add finding"))
    phone.page.get_by_text(ADDED).wait_for()
