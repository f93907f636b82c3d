"""Work in a real Chromium, with scripts and without: forms filled, sent and followed to where they lead."""

import threading
from collections.abc import Callable
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from tests.clients.server import KEYS
from tests.clients.server import password_of
from tests.conftest import MIA
from tests.console.conftest import EMAILS
from tests.console.conftest import Service


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_an_inspection_is_made_and_its_status_changed(open_page: Callable, scripts: bool) -> None:
    page = open_page("ada", scripts=scripts)
    page.get_by_role("link", name="Inspections", exact=True).click()
    page.get_by_role("link", name="New inspection").click()
    page.get_by_label("Building").select_option(label="Mill Court")
    page.get_by_label("Type").fill("annual")
    page.get_by_label("Date").fill("2026-03-04")
    page.get_by_label("Notes").fill("Made in a browser")
    page.get_by_role("button", name="Make the inspection").click()
    assert page.get_by_role("status").inner_text() == "The inspection is made."

    page.get_by_label("Status").select_option("failed")
    page.get_by_role("button", name="Change").click()
    page.get_by_role("status").wait_for()
    assert page.locator("h1 .badge").inner_text() == "failed"

    page.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete").click()
    assert "is deleted" in page.get_by_role("status").inner_text()


def test_an_inspection_is_granted_shown_and_taken_back_without_scripts(open_page: Callable) -> None:
    ada, mia = open_page("ada", scripts=False), open_page("mia", scripts=False)
    ada.goto("/console/inspections/2")
    ada.get_by_label("Grant it to").select_option(label="Mia, manager of Acme Housing")
    ada.get_by_role("button", name="Show what it reveals").click()
    ada.get_by_text("They will not see its building").wait_for()
    ada.get_by_role("button", name="Grant it").click()
    assert ada.get_by_role("status").inner_text() == "The inspection is granted to Mia."

    mia.goto("/console/inspections/2")
    mia.get_by_text("only this inspection was granted").wait_for()

    ada.get_by_role("link", name="Take back from Mia").click()
    ada.get_by_role("button", name="Take it back").click()
    assert mia.goto("/console/inspections/2").status == 404


def test_a_reading_is_added_changed_and_deleted_without_scripts(open_page: Callable) -> None:
    page = open_page("ada", scripts=False)
    page.goto("/console/inspections/1")
    page.get_by_label("XRF gun").fill("12")
    page.get_by_label("Result").fill("positive")
    page.get_by_role("button", name="Add reading").click()
    assert page.get_by_role("status").inner_text() == "The reading is made."

    page.get_by_role("link", name="Change reading").click()
    page.get_by_label("Result").fill("negative")
    page.get_by_role("button", name="Keep the changes").click()
    page.get_by_role("cell", name="negative").wait_for()

    page.get_by_role("link", name="Delete reading").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_text("None were taken.").wait_for()


LETTERS = "\u00e9\u202e\ufeff\U0001f600\x0b\x0c\x7f\x85\u2028"
BUILDING = {
    "address": "1 Quay\r\nBack\rdoor\n",
    "city": "",
    "state": " MA\t",
    "zip": "<b>&amp;\"'",
    "building_type": LETTERS,
    "latitude": 42.0,
    "longitude": -1e-7,
}
INSPECTION = {"notes": f"\r\n lead\r\n\r{LETTERS}\n\n", "status": "", "inspection_type": "a\nb"}


@pytest.mark.parametrize(
    ("table", "key", "odd", "label", "typed", "column"),
    [
        pytest.param("buildings", 3, BUILDING, "Floors", "7", ("floors", 7), id="one line each"),
        pytest.param("inspections", 5, INSPECTION, "Date", "2026-02-03", ("date_visited", "2026-02-03"), id="many"),
    ],
)  # fmt: skip
def test_a_browser_sends_back_what_nobody_touched(
    open_page: Callable,
    service: Service,
    table: str,
    key: int,
    odd: dict,
    label: str,
    typed: str,
    column: tuple[str, object],
) -> None:
    """What stands for a field's text (`fields.digest`) is what a real browser makes of it."""
    keys = {"apikey": KEYS["ANON_KEY"], "Authorization": f"Bearer {KEYS['SERVICE_KEY']}"}
    address = f"{service.url}/{table}?id=eq.{key}"
    assert httpx.patch(address, headers=keys, json=odd).status_code == 204
    (before,) = httpx.get(address, headers=keys).json()

    page = open_page("ada")
    page.goto(f"/console/{table}/{key}/edit")
    page.get_by_label(label, exact=True).fill(typed)
    page.get_by_role("button", name="Keep the changes").click()

    assert page.get_by_role("status").inner_text() == "The changes are kept."
    (after,) = httpx.get(address, headers=keys).json()
    assert after == {**before, column[0]: column[1], "updated_at": after["updated_at"]}


def test_a_building_is_granted_to_an_admin_of_another_client(open_page: Callable) -> None:
    root = open_page("root", scripts=False)
    root.goto("/console/access")
    root.get_by_label("Who").select_option(label="admins")
    root.get_by_role("button", name="Show", exact=True).click()
    root.get_by_label("Bob may see Mill Court").check()
    root.get_by_role("button", name="Show what this changes").click()
    root.get_by_role("heading", name="Bob will see").wait_for()
    root.get_by_role("button", name="Do it").click()
    assert root.get_by_role("status").inner_text() == "1 granted, 0 revoked."
    root.get_by_label("Bob may see Mill Court").uncheck()
    root.get_by_role("button", name="Show what this changes").click()
    root.get_by_role("button", name="Do it").click()
    assert root.get_by_role("status").inner_text() == "0 granted, 1 revoked."


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_a_building_is_assigned_and_revoked_and_the_managers_list_follows(
    open_page: Callable, scripts: bool
) -> None:
    ada, mia = open_page("ada", scripts=scripts), open_page("mia", scripts=scripts)
    mia.goto("/console/buildings")
    mia.get_by_text("No building fits.").wait_for()

    ada.get_by_role("link", name="Access").click()
    ada.get_by_label("Mia may see Mill Court").check()
    ada.get_by_role("button", name="Show what this changes").click()
    ada.get_by_role("heading", name="Mia will see").wait_for()
    ada.get_by_role("button", name="Do it").click()
    assert ada.get_by_role("status").inner_text() == "1 granted, 0 revoked."

    mia.reload()
    mia.get_by_role("link", name="Mill Court", exact=True).wait_for()
    ada.goto(f"/console/why?person={MIA}&kind=building&key=2")
    ada.get_by_text("The building was granted to the person.").wait_for()

    ada.goto("/console/access")
    ada.get_by_role("button", name="none for Mia").click()
    ada.get_by_role("button", name="Do it").click()
    mia.reload()
    mia.get_by_text("No building fits.").wait_for()


def test_search_sort_and_csv(open_page: Callable) -> None:
    page = open_page("ada", scripts=False)
    page.goto("/console/inspections")
    page.get_by_label("Search").fill("harbor")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Type").click()
    assert "order=inspection_type.desc" in page.url
    assert page.get_by_role("link", name="Harbor House").count() == 3

    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download CSV").click()

    assert waiting.value.suggested_filename == "inspections.csv"
    lines = Path(waiting.value.path()).read_text(encoding="utf-8-sig").splitlines()
    assert lines[0].startswith("id,date_visited,inspection_type")
    assert sum("Harbor House" in line for line in lines) == 3


def test_the_keyboard_reaches_everything(open_page: Callable) -> None:
    page = open_page("moe")
    page.goto("/console/inspections")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


@pytest.fixture
def another_site(service: Service) -> Iterator[str]:
    """A page of another site, with links to ours."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            for name, path in (("list", "inspections?status=eq.failed"), ("board", "kiosk#wtk_x")):
                self.wfile.write(f'<a href="{service.url}/console/{path}">{name}</a>'.encode())

        def log_message(self, *said: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


def test_a_link_from_another_site_finds_who_is_signed_in(
    open_page: Callable, another_site: str
) -> None:
    page = open_page("ada")
    page.goto(another_site)
    page.get_by_role("link", name="list").click()
    page.get_by_role("heading", name="Inspections").wait_for()
    assert page.url.endswith("/console/inspections?status=eq.failed")

    page.goto(another_site)
    page.get_by_role("link", name="board").click()
    page.get_by_text("what Ada sees").wait_for()


def test_a_link_from_another_site_asks_others_to_sign_in_and_leaves_their_open_page_alone(
    open_page: Callable, another_site: str
) -> None:
    page = open_page()
    page.goto("/console/sign-in")
    other = page.context.new_page()
    other.goto(another_site)
    other.get_by_role("link", name="list").click()
    other.get_by_role("heading", name="Sign in").wait_for()
    assert "/console/sign-in?next=" in other.url
    other.goto(another_site)
    other.get_by_role("link", name="board").click()
    other.get_by_role("heading", name="Sign in this board").wait_for()
    assert other.get_by_label("The board's token").input_value() == ""

    page.get_by_label("E-mail").fill(EMAILS["moe"])
    page.get_by_label("Password").fill(password_of("moe"))
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Dashboard").wait_for()


def test_one_signs_out(open_page: Callable) -> None:
    page = open_page("moe", scripts=False, anew=True)
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Sign in").wait_for()
    page.goto("/console/inspections/1")
    assert "/console/sign-in?next=" in page.url
    page.get_by_label("E-mail").fill(EMAILS["moe"])
    page.get_by_label("Password").fill(password_of("moe"))
    page.get_by_role("button", name="Sign in").click()
    assert page.url.endswith("/console/inspections/1")
