"""Fixtures of the console's tests: a client that submits forms as a browser does, and a real browser."""

import html
import json
import pathlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client, TestResponse

from tests.clients.server import KEYS, Server, environment, password_of, start, stop, wait_until_live
from tests.conftest import DATASET, Database, api_over
from tests.support import databases
from tests.support.applications import import_rows, open_app, reused_app
from tests.support.browsers import BINARY, FLAGS
from tests.support.ports import free_port

EMAILS = {user["name"].lower(): user["email"] for user in json.loads(DATASET.read_text())["users"]}
COOKIE = "walkthrough_console"
PATIENT = "tests.support.patient:create()"  # a page is never refused because the machine is busy
PATIENCE_MS = 60_000
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
TOKEN = re.compile(r'name="csrf" value="([^"]+)"')
SHOWABLE = {
    "number": re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"),
    "date": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
}
"""The values that an input of that type shows. Any other value becomes empty."""


class Form(HTMLParser):
    """A form of a page, with the values that a browser without scripts submits if the user changes nothing.

    It is the form with this action. A form without an action submits to its own page.
    """

    def __init__(self, page: str, action: str | None = None) -> None:
        super().__init__()
        self.fields: list[tuple[str, str]] = []
        self.action = action
        self.is_inside = False
        self.name: str | None = None
        self.chosen: list[tuple[str, bool]] = []
        # Browsers normalize CR LF and CR to LF.
        self.feed(page.replace("\r\n", "\n").replace("\r", "\n"))
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag == "form":
            self.is_inside = given.get("action") == self.action
        elif not self.is_inside:
            return
        elif tag == "input" and given.get("name"):
            self.read_input(given["name"], given.get("type", "text"), given)
        elif tag == "textarea":
            self.name = given["name"]
            self.fields.append((self.name, ""))
        elif tag == "select":
            self.name, self.chosen = given["name"], []
        elif tag == "option" and self.name is not None:
            self.chosen.append((given["value"], "selected" in given))

    def read_input(self, name: str, kind: str, given: dict[str, str | None]) -> None:
        value = given.get("value") or ""
        if kind in ("checkbox", "radio") and "checked" not in given:
            return
        if kind not in ("hidden", "checkbox", "radio"):
            value = value.replace("\n", "")
        if kind in SHOWABLE and not SHOWABLE[kind].fullmatch(value):
            value = ""
        self.fields.append((name, value))

    def handle_data(self, data: str) -> None:
        if self.name is not None and self.fields and self.fields[-1][0] == self.name:
            self.fields[-1] = (self.name, self.fields[-1][1] + data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.is_inside = False
        elif tag == "textarea" and self.name is not None:
            name, text = self.fields.pop()
            self.fields.append((name, text.removeprefix("\n")))
            self.name = None
        elif tag == "select" and self.name is not None:
            selected = [value for value, is_selected in self.chosen if is_selected]
            self.fields.append((self.name, [*selected[-1:], self.chosen[0][0]][0]))
            self.name = None

    def with_(self, typed: dict[str, str]) -> dict[str, list[str]]:
        """Return the submitted values after these fields are typed. Line ends are CR LF."""
        assert typed.keys() <= {name for name, _ in self.fields}, "no such field"
        sent: dict[str, list[str]] = {}
        for name, value in self.fields:
            sent.setdefault(name, []).append(typed.get(name, value).replace("\n", "\r\n"))
        return sent


BLOCK = (
    "/?(?:p|div|section|h[1-3]|form|nav|ul|ol|li|dl|dt|dd|table|caption|thead|tbody|tr|th|td|select|option|details)\\b"
)
KEPT = re.compile('(<(?:textarea|pre).*?</(?:textarea|pre)>|value="[^"]*")', re.DOTALL)


class PageResponse:
    """A response whose text has white space as a browser shows it: the line breaks of templates do not matter."""

    @property
    def text(self) -> str:
        text = super().text
        if self.mimetype != "text/html":
            return text
        parts = KEPT.split(text)
        return "".join(part if place % 2 else collapse(part) for place, part in enumerate(parts))


def collapse(text: str) -> str:
    text = re.sub(r"\s*\n\s*", "\n", text)
    text = re.sub(rf"\n(?=<{BLOCK})|(?<=>)\n(?=<(?:input|button))", "", text)
    text = re.sub(rf"(<{BLOCK}[^<>]*>)\n", r"\1", text)
    return text.replace("\n>", ">").replace("\n", " ")


@dataclass(slots=True)
class FormClient:
    """A browser without scripts."""

    client: Client
    pages: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.client.response_wrapper = type("Answer", (PageResponse, self.client.response_wrapper), {})

    def get(self, path: str, **options: object) -> TestResponse:
        return self.client.get(path, **options)

    def page(self, path: str) -> str:
        """Return the page at a path, which must exist."""
        answer = self.client.get(path)
        assert answer.status_code == 200, (path, answer.status_code, answer.text[:2000])
        return answer.text

    def token(self, path: str = "/console/sign-in") -> str:
        found = TOKEN.search(self.client.get(path).text)
        assert found, f"no form at {path}"
        return html.unescape(found[1])

    def send(self, path: str, fields: object = None, form: str | None = None) -> TestResponse:
        """Submit a form with the CSRF token of its page."""
        csrf = self.token(form or path)
        given = fields.items(multi=True) if hasattr(fields, "multi") else (fields or {})
        return self.client.post(path, data={"csrf": csrf, **dict(given)})

    def fill_in(self, path: str, typed: dict[str, str], page: str | None = None) -> TestResponse:
        """Submit the complete form at a path with the typed values; `page` is a page loaded earlier."""
        shown = self.page(path) if page is None else page
        return self.client.post(path, data=Form(shown).with_(typed))

    def narrow(self, path: str, typed: dict[str, str]) -> TestResponse:
        """Submit the form of a list, which keeps the list's filters."""
        form = Form(self.page(path), path.partition("?")[0])
        return self.client.get(path.partition("?")[0], query_string=form.with_(typed))

    def sign_in(self, name: str) -> TestResponse:
        given = {"email": EMAILS[name], "password": password_of(name)}
        return self.send("/console/sign-in", given)

    def sign_in_first(self, email: str, password: str) -> None:
        """Sign in with a temporary password, and choose another one."""
        asked = self.send("/console/sign-in", {"email": email, "password": password})
        path = "/console/account/own_password"
        assert asked.headers["Location"] == path
        chosen = self.send(path, {"current_password": password, "password": f"my own: {password}"})
        assert chosen.status_code == 303

    @property
    def cookie(self) -> object:
        return self.client.get_cookie(COOKIE, path="/console")


@pytest.fixture(scope="session")
def users_file(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Return a database file with the data set and the passwords of its users."""
    directory = tmp_path_factory.mktemp("users")
    rows = json.loads(DATASET.read_text())
    for user in rows["users"]:
        user["password"] = password_of(user["name"])
    source, file = directory / "dataset.json", directory / "base.db"
    source.write_text(json.dumps(rows))
    app = open_app(file)
    import_rows(app, source)
    databases.close_for_copy(app, file)
    return file


@pytest.fixture
def app(users_file: pathlib.Path, tmp_path: pathlib.Path) -> Iterator[object]:
    file = tmp_path / "walkthrough.db"
    databases.copy(users_file, file)
    with reused_app(file) as lent:
        yield lent


@pytest.fixture
def api(app: object) -> Callable:
    """Return the API over the same database as `browse`."""
    return api_over(Database(lambda: app, None, app))


@pytest.fixture
def browse(app: object) -> Callable[..., FormClient]:
    """Return `browse`: `browse("ada")` is signed in as Ada, `browse()` is signed out."""

    def sign_in_as(name: str | None = None) -> FormClient:
        found = FormClient(app.test_client())
        if name is not None:
            answer = found.sign_in(name)
            assert answer.status_code == 303, answer.text
        return found

    return sign_in_as


@pytest.fixture(scope="module")
def browse_shared(users_file: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], FormClient]:
    """Return `browse` over one read-only database for a module."""
    file = tmp_path_factory.mktemp("shared") / "walkthrough.db"
    databases.copy(users_file, file)
    made = open_app(file)
    clients: dict[str, FormClient] = {}

    def sign_in_as(name: str) -> FormClient:
        if name not in clients:
            clients[name] = FormClient(made.test_client())
            assert name == "nobody" or clients[name].sign_in(name).status_code == 303
        return clients[name]

    return sign_in_as


# A real browser and its server


class Service:
    """A server that stops and restarts at the same address."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        port = free_port()
        self.server = Server(f"http://127.0.0.1:{port}", directory)
        self.environment = environment(
            **KEYS, DATABASE_URL=databases.url(directory / "walkthrough.db"), HOST="127.0.0.1", PORT=str(port)
        )
        self.process = None

    @property
    def url(self) -> str:
        return self.server.url

    def start(self) -> None:
        with (self.directory / "gunicorn.log").open("ab") as log:
            self.process = start(self.environment, log, PATIENT)
        wait_until_live(self.process, self.server)

    def stop(self) -> None:
        if self.process is not None:
            stop(self.process, self.server)
            self.process = None


@pytest.fixture(scope="module")
def service(users_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    directory = tmp_path_factory.mktemp("console")
    databases.copy(users_file, directory / "walkthrough.db")
    made = Service(directory)
    made.start()
    yield made
    made.stop()
    databases.release_databases_below(directory)


@pytest.fixture(scope="module")
def browser(service: Service, driver: Any) -> Iterator[Any]:
    """Return a browser. It closes before the service stops, because it keeps connections open."""
    assert service.process, "the service starts first and stops last"
    found = driver.chromium.launch(executable_path=BINARY, args=list(FLAGS))
    yield found
    found.close()


@pytest.fixture(scope="module")
def signed_in() -> dict[str, dict]:
    """Return the cookies of earlier sign-ins, by user."""
    return {}


@pytest.fixture
def open_page(browser: Any, service: Service, signed_in: dict[str, dict]) -> Iterator[Callable]:
    """Return a function that opens a page signed in as a user, on their first page; `anew` starts a new session."""
    contexts = []

    def make(who: str | None = None, *, scripts: bool = True, size: dict = DESK, anew: bool = False) -> Any:
        known = None if anew else signed_in.get(who or "")
        context = browser.new_context(
            viewport=size, java_script_enabled=scripts, base_url=service.url, accept_downloads=True, storage_state=known
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
            page.get_by_role("button", name="Sign out").wait_for()
            if not anew:
                signed_in[who] = context.storage_state()
        return page

    yield make
    for context in contexts:
        context.close()
