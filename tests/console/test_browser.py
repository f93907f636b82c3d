"""The console in a real Chromium: with a keyboard's reach, without scripts, under axe, and as a board on a
wall whose server goes away. Skips, and says so, where there is no browser or no axe."""

import fcntl
import shutil
import subprocess
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.node import UNREACHABLE
from tests.clients.server import KEYS
from tests.clients.server import Server
from tests.clients.server import environment
from tests.clients.server import free_port
from tests.clients.server import password_of
from tests.clients.server import start
from tests.clients.server import stop
from tests.clients.server import wait_until_live
from tests.conftest import ADA
from tests.conftest import MIA
from tests.conftest import MOE
from tests.console.conftest import EMAILS

playwright = pytest.importorskip(
    "playwright.sync_api", reason="requirements-clients.txt is not installed"
)

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")
JS = Path(__file__).parent / "js"
AXE = JS / "node_modules" / "axe-core" / "axe.min.js"
INSTALL_SECONDS_MAX = 120
PATIENCE_MS = 10_000
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}

FOR_ALL = [
    "/console/",
    "/console/inspections",
    "/console/inspections/1",
    "/console/inspections/2",
    "/console/buildings",
    "/console/buildings/1",
    "/console/inspectors",
    "/console/why?kind=building&key=1",
    "/console/kiosk",
    "/console/kiosk/enter",
    "/console/nowhere",
]
FOR_ADMINS = [
    "/console/inspections/new",
    "/console/inspections/1/edit",
    "/console/inspections/1/delete",
    f"/console/inspections/1/access?person={MIA}",
    f"/console/inspections/3/access?person={MOE}",
    "/console/inspections/2/readings/new",
    "/console/inspections/2/readings/1/edit",
    "/console/inspections/2/readings/1/delete",
    "/console/buildings/new",
    "/console/buildings/1/delete",
    "/console/people",
    "/console/people/new",
    f"/console/people/{MOE}",
    f"/console/people/{MOE}/edit",
    "/console/access",
    "/console/devices",
]
FOR_ROOT = ["/console/access?role=client_admin", f"/console/people/{ADA}"]
PAGES = {"root": FOR_ALL + FOR_ADMINS + FOR_ROOT, "ada": FOR_ALL + FOR_ADMINS, "moe": FOR_ALL}


class Service:
    """A server that can be stopped, and started again at the same address."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        port = free_port()
        self.server = Server(f"http://127.0.0.1:{port}", directory)
        self.environment = environment(
            **KEYS,
            DATABASE_URL=f"sqlite:///{directory / 'walkthrough.db'}",
            HOST="127.0.0.1",
            PORT=str(port),
        )
        self.process = None

    @property
    def url(self) -> str:
        return self.server.url

    def start(self) -> None:
        with (self.directory / "gunicorn.log").open("ab") as log:
            self.process = start(self.environment, log)
        wait_until_live(self.process, self.server)

    def stop(self) -> None:
        if self.process is not None:
            stop(self.process, self.server)
            self.process = None


@pytest.fixture(scope="module")
def service(staffed_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    directory = tmp_path_factory.mktemp("console")
    shutil.copy(staffed_file, directory / "walkthrough.db")
    made = Service(directory)
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def browser(service: Service) -> Iterator[playwright.Browser]:
    """A browser; it goes before the service does, for it keeps connections open."""
    assert service.process, "set up first, hence stopped last"
    binary = next(filter(None, map(shutil.which, BROWSERS)), None)
    if binary is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=binary, args=list(FLAGS))
        yield found
        found.close()


@pytest.fixture(scope="module")
def signed_in() -> dict[str, dict]:
    """The cookies of those who signed in before: whoever does not sign out signs in once."""
    return {}


@pytest.fixture
def open_page(
    browser: playwright.Browser, service: Service, signed_in: dict[str, dict]
) -> Iterator[Callable]:
    """`open_page("ada")` is a page of a browser that ada signed in with, on her dashboard; `anew` where
    the session is to be her own, to sign out of."""
    contexts = []

    def make(
        who: str | None = None, *, scripts: bool = True, size: dict = DESK, anew: bool = False
    ) -> playwright.Page:
        known = None if anew else signed_in.get(who or "")
        context = browser.new_context(
            viewport=size,
            java_script_enabled=scripts,
            base_url=service.url,
            accept_downloads=True,
            storage_state=known,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        if known is not None:
            page.goto("/console/")
        elif who is not None:
            page.goto("/console/sign-in")
            page.get_by_label("E-mail").fill(EMAILS[who])
            page.get_by_label("Password").fill(password_of(who))
            page.keyboard.press("Enter")
            page.get_by_role("heading", name="Dashboard").wait_for()
            if not anew:
                signed_in[who] = context.storage_state()
        return page

    yield make
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def axe() -> str:
    """axe-core's text, installed once from the npm registry."""
    npm = shutil.which("npm")
    with (JS / "package-lock.json").open() as guard:  # several test processes may come at once
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not AXE.exists():
            if npm is None:
                pytest.skip("npm is not installed: axe-core cannot be had")
            command = [
                npm,
                "ci",
                "--no-audit",
                "--no-fund",
                "--prefer-offline",
                "--fetch-retries=1",
            ]
            ran = subprocess.run(
                command,
                cwd=JS,
                capture_output=True,
                text=True,
                timeout=INSTALL_SECONDS_MAX,
                check=False,
            )
            if ran.returncode and (cause := UNREACHABLE.search(ran.stdout + ran.stderr)):
                pytest.skip(f"the npm registry cannot be reached ({cause[0]}): no axe-core")
            assert ran.returncode == 0, f"npm ci failed: {ran.stdout}{ran.stderr}"
    return AXE.read_text(encoding="utf-8")


RUN_AXE = """async () => (await axe.run(document, {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  resultTypes: ["violations"],  // no need to describe what is well
})).violations.map(each => [each.impact, each.id, each.nodes.length, each.nodes[0].html])"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SMALL = """[...document.querySelectorAll('button, input:not([type=hidden]), select, textarea, a.button, nav a')]
  .filter(each => each.offsetParent && !each.closest('label') && each.getBoundingClientRect().height < 43.5)
  .map(each => each.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("who", PAGES)
def test_every_page_is_sound(open_page: Callable, axe: str, who: str) -> None:
    """No fault that axe knows of, nothing that the policy had to stop, no page wider than its screen."""
    page = open_page(who)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    found = []
    for path in [*PAGES[who], "/console/sign-in"]:
        page.goto(path)
        # By the devices' own door, which the page's policy does not shut.
        page.evaluate(axe)
        found += [(path, *fault) for fault in page.evaluate(RUN_AXE)]
        found += [(path, "small", each) for each in page.evaluate(SMALL)]
        for size in (PHONE, DESK):
            page.set_viewport_size(size)
            if page.evaluate(OVERFLOW) > 0:
                found.append((path, "wider than the screen", size["width"]))

    assert found == []
    assert [each for each in complaints if "404" not in each and "401" not in each] == []


def test_dark_is_sound_too(open_page: Callable, axe: str) -> None:
    page = open_page("ada")
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    found = []
    for path in (
        "/console/",
        "/console/inspections",
        "/console/inspections/1",
        "/console/access",
        "/console/kiosk",
    ):
        page.goto(path)
        page.evaluate(axe)
        found += [(path, *fault) for fault in page.evaluate(RUN_AXE)]

    assert found == []


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
    assert ada.get_by_text("They will not see its building").is_visible()
    ada.get_by_role("button", name="Grant it").click()
    assert ada.get_by_role("status").inner_text() == "The inspection is granted to Mia."

    mia.goto("/console/inspections/2")
    assert mia.get_by_text("only this inspection was granted").is_visible()

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
    assert page.get_by_role("cell", name="negative").is_visible()

    page.get_by_role("link", name="Delete reading").click()
    page.get_by_role("button", name="Delete").click()
    assert page.get_by_text("None were taken.").is_visible()


def test_a_building_is_granted_to_an_admin_of_another_client(open_page: Callable) -> None:
    root = open_page("root", scripts=False)
    root.goto("/console/access")
    root.get_by_label("Who").select_option(label="admins")
    root.get_by_role("button", name="Show", exact=True).click()
    root.get_by_label("Bob may see Mill Court").check()
    root.get_by_role("button", name="Show what this changes").click()
    assert root.get_by_role("heading", name="Bob will see").is_visible()
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
    assert mia.get_by_text("No building fits.").is_visible()

    ada.get_by_role("link", name="Access").click()
    ada.get_by_label("Mia may see Mill Court").check()
    ada.get_by_role("button", name="Show what this changes").click()
    assert ada.get_by_role("heading", name="Mia will see").is_visible()
    ada.get_by_role("button", name="Do it").click()
    assert ada.get_by_role("status").inner_text() == "1 granted, 0 revoked."

    mia.reload()
    assert mia.get_by_role("link", name="Mill Court", exact=True).is_visible()
    ada.goto(f"/console/why?person={MIA}&kind=building&key=2")
    assert ada.get_by_text("The building was granted to the person.").is_visible()

    ada.goto("/console/access")
    ada.get_by_role("button", name="none for Mia").click()
    ada.get_by_role("button", name="Do it").click()
    mia.reload()
    assert mia.get_by_text("No building fits.").is_visible()


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


def test_a_board_refreshes_and_keeps_its_picture_while_the_server_is_away(
    open_page: Callable, service: Service
) -> None:
    ada = open_page("ada")
    ada.goto("/console/devices")
    ada.get_by_label("Where it hangs").fill("Hall")
    ada.get_by_label("Sees what").select_option(MOE)
    ada.get_by_role("button", name="Make the board").click()
    link = ada.get_by_role("link", name="this link").get_attribute("href")

    board = open_page()
    board.goto(link)
    board.wait_for_url("**/console/kiosk")
    board.goto("/console/kiosk?every=0.3")
    picture = board.locator("#picture")
    first = picture.get_attribute("data-now")
    assert board.get_by_text("Harbor House").first.is_visible()
    board.wait_for_function(
        "now => document.getElementById('picture').dataset.now !== now", arg=first
    )

    service.stop()
    away = board.locator("#away")
    away.wait_for(state="visible")
    assert "No answer from the server. This is the picture of" in away.inner_text()
    assert board.get_by_text("Harbor House").first.is_visible()

    last = picture.get_attribute("data-now")
    service.start()
    away.wait_for(state="hidden")
    assert picture.get_attribute("data-now") != last

    ada.goto("/console/devices")
    ada.get_by_role("button", name="Revoke").click()
    board.get_by_text("This board is signed out.").wait_for()
    assert board.get_by_text("Harbor House").count() == 0


def test_a_board_refreshes_without_scripts_too(open_page: Callable) -> None:
    page = open_page("moe", scripts=False)
    page.goto("/console/kiosk")

    assert page.locator("meta[http-equiv=refresh]").get_attribute("content") == "60"
