"""Tasks of users in Chromium: create, edit, grant, search, download, sign in and out."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from tests.clients.server import KEYS, password_of
from tests.conftest import MIA
from tests.console.conftest import EMAILS, Service

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("a browser shows the same pages over both engines")]


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_create_inspection_and_change_status(open_page: Callable, scripts: bool) -> None:
    page = open_page("ada", scripts=scripts)
    page.get_by_role("link", name="Inspections", exact=True).click()
    page.get_by_role("link", name="New inspection").click()
    page.get_by_label("Building").select_option(label="Mill Court")
    page.locator("#f-inspection_type").select_option("other…")
    page.get_by_label("Other type").fill("annual check")
    page.get_by_label("Date").fill("2026-03-04")
    page.get_by_label("Notes").fill("Made in a browser")
    page.get_by_role("button", name="Create").click()
    assert page.get_by_role("status").inner_text() == "Inspection created."

    page.get_by_text("Record, access and history").click()
    page.get_by_label("Status").select_option("failed")
    page.get_by_role("button", name="Save").click()
    page.locator("h1 .badge", has_text="Failed").wait_for()

    page.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete").click()
    assert "deleted" in page.get_by_role("status").inner_text()


def test_grant_and_revoke_inspection_without_scripts(open_page: Callable) -> None:
    ada, mia = open_page("ada", scripts=False), open_page("mia", scripts=False)
    ada.goto("/console/inspections/2")
    ada.get_by_text("Record, access and history").click()
    ada.get_by_label("Grant access to").select_option(label="Mia, client manager of Acme Housing")
    ada.get_by_role("button", name="Preview").click()
    ada.get_by_text("They will not see its building").wait_for()
    ada.get_by_role("button", name="Grant").click()
    assert ada.get_by_role("status").inner_text() == "Inspection granted to Mia."

    mia.goto("/console/inspections/2")
    mia.get_by_text("you were granted only this inspection").first.wait_for()

    ada.get_by_text("Record, access and history").click()
    ada.get_by_role("link", name="Revoke").click()
    ada.get_by_role("button", name="Revoke").click()
    assert mia.goto("/console/inspections/2").status == 404


def test_create_edit_and_delete_reading_without_scripts(open_page: Callable) -> None:
    page = open_page("ada", scripts=False)
    page.goto("/console/reports_lead/new?inspection_id=1")
    page.get_by_label("XRF gun").fill("12")
    page.get_by_label("Result", exact=True).select_option("positive")
    page.get_by_role("button", name="Create").click()
    assert page.get_by_role("status").inner_text() == "Reading created."

    page.get_by_role("link", name="Edit reading").click()
    page.get_by_label("Result", exact=True).select_option("negative")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("cell", name="negative").wait_for()

    page.get_by_role("link", name="Delete reading").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_text("deleted.").wait_for()


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
def test_browser_submits_unedited_fields_unchanged(
    open_page: Callable,
    service: Service,
    table: str,
    key: int,
    odd: dict,
    label: str,
    typed: str,
    column: tuple[str, object],
) -> None:
    """The digest of an unedited field (`fields.digest`) matches what a real browser submits."""
    keys = {"apikey": KEYS["ANON_KEY"], "Authorization": f"Bearer {KEYS['SERVICE_KEY']}"}
    url = f"{service.url}/{table}?id=eq.{key}"
    assert httpx.patch(url, headers=keys, json=odd).status_code == 204
    (before,) = httpx.get(url, headers=keys).json()

    page = open_page("ada")
    page.goto(f"/console/{table}/{key}/edit")
    page.get_by_label(label, exact=True).fill(typed)
    page.get_by_role("button", name="Save").click()

    assert page.get_by_role("status").inner_text() == "Changes saved."
    (after,) = httpx.get(url, headers=keys).json()
    assert after == {**before, column[0]: column[1], "updated_at": after["updated_at"]}


def test_grant_building_to_admin_of_another_client(open_page: Callable) -> None:
    root = open_page("root", scripts=False)
    root.goto("/console/access")
    root.get_by_label("Role").select_option(label="Client admins")
    root.get_by_role("button", name="Show", exact=True).click()
    root.get_by_label("Bob may see Mill Court").check()
    root.get_by_role("button", name="Preview changes").click()
    root.get_by_role("heading", name="Bob will see").wait_for()
    root.get_by_role("button", name="Save").click()
    assert root.get_by_role("status").inner_text() == "1 granted, 0 revoked."
    root.get_by_label("Bob may see Mill Court").uncheck()
    root.get_by_role("button", name="Preview changes").click()
    root.get_by_role("button", name="Save").click()
    assert root.get_by_role("status").inner_text() == "0 granted, 1 revoked."


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_assign_and_revoke_building_updates_the_managers_list(open_page: Callable, scripts: bool) -> None:
    ada, mia = open_page("ada", scripts=scripts), open_page("mia", scripts=scripts)
    mia.goto("/console/buildings")
    mia.get_by_text("No buildings to show.").wait_for()

    ada.get_by_text("People", exact=True).click()
    ada.get_by_role("link", name="Access").click()
    ada.get_by_label("Mia may see Mill Court").check()
    ada.get_by_role("button", name="Preview changes").click()
    ada.get_by_role("heading", name="Mia will see").wait_for()
    ada.get_by_role("button", name="Save").click()
    assert ada.get_by_role("status").inner_text() == "1 granted, 0 revoked."

    mia.reload()
    mia.get_by_role("link", name="Mill Court", exact=True).wait_for()
    ada.goto(f"/console/why?person={MIA}&kind=building&key=2")
    ada.get_by_text("Granted this building").wait_for()

    ada.goto("/console/access")
    ada.get_by_role("button", name="none for Mia").click()
    ada.get_by_role("button", name="Save").click()
    ada.get_by_text("0 granted, 1 revoked.").wait_for()
    mia.reload()
    mia.get_by_text("No buildings to show.").wait_for()


def test_search_sort_and_csv(open_page: Callable) -> None:
    page = open_page("ada", scripts=False)
    page.goto("/console/inspections")
    page.get_by_label("Search").fill("harbor")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Type").click()
    assert "order=inspection_type.asc" in page.url
    assert page.get_by_role("link", name="Harbor House", exact=True).count() == 3

    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download CSV").click()

    assert waiting.value.suggested_filename == "inspections.csv"
    lines = Path(waiting.value.path()).read_text(encoding="utf-8-sig").splitlines()
    assert lines[0].startswith("id,building_id,building,inspection_type,date_visited")
    assert sum("Harbor House" in line for line in lines) == 3


def test_skip_link_and_focus_outline(open_page: Callable) -> None:
    page = open_page("moe")
    page.goto("/console/inspections")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


@pytest.fixture
def another_site(service: Service) -> Iterator[str]:
    """Serve a page of another site with links to the console."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            for name, path in (("list", "inspections?status=eq.failed"), ("display", "kiosk#ABCDEFGH")):
                self.wfile.write(f'<a href="{service.url}/console/{path}">{name}</a>'.encode())

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


def test_cross_site_link_keeps_the_session(open_page: Callable, another_site: str) -> None:
    page = open_page("ada")
    page.goto(another_site)
    page.get_by_role("link", name="list").click()
    page.get_by_role("heading", name="Inspections").wait_for()
    assert page.url.endswith("/console/inspections?status=eq.failed")

    page.goto(another_site)
    page.get_by_role("link", name="display").click()
    page.get_by_text("viewed as Ada").wait_for()


def test_cross_site_link_keeps_open_sign_in_forms_valid(open_page: Callable, another_site: str) -> None:
    page = open_page()
    page.goto("/console/sign-in")
    other = page.context.new_page()
    other.goto(another_site)
    other.get_by_role("link", name="list").click()
    other.get_by_role("heading", name="Sign in").wait_for()
    assert "/console/sign-in?next=" in other.url
    other.goto(another_site)
    other.get_by_role("link", name="display").click()
    other.get_by_role("heading", name="Pair a kiosk display").wait_for()
    assert other.get_by_label("Code").input_value() == ""

    page.get_by_label("E-mail").fill(EMAILS["moe"])
    page.get_by_label("Password").fill(password_of("moe"))
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Dashboard").wait_for()


def test_sign_out_and_return_to_the_requested_page(open_page: Callable) -> None:
    page = open_page("moe", scripts=False, anew=True)
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Sign in").wait_for()
    page.goto("/console/inspections/1")
    assert "/console/sign-in?next=" in page.url
    page.get_by_label("E-mail").fill(EMAILS["moe"])
    page.get_by_label("Password").fill(password_of("moe"))
    page.get_by_role("button", name="Sign in").click()
    assert page.url.endswith("/console/inspections/1")
