"""Under URL_PREFIX, every path that a response of the service names is below the prefix."""

import html
import io
import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from routes.console.components.page import STATIC_DIRECTORY, STATIC_FILES
from tests.clients.server import password_of
from tests.console.conftest import EMAILS, Form, FormClient
from tests.console.kinds_of_pages import PAGES
from tests.support import tokens
from tests.support.photographs import photograph

pytestmark = pytest.mark.one_engine

PREFIX = "/a/site"
RELATIVE_TO_CONSOLE = {"back", "next", "unsaved_path"}
"""Fields of forms that name a page of the console. The server puts the prefix before it when it answers."""


class Paths(HTMLParser):
    """Every path of this server in the attributes of a page, and in the address of a reload."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        for name, value in given.items():
            path = value.partition("url=")[2] if name == "content" else value
            if path.startswith("/") and not (name == "value" and given.get("name") in RELATIVE_TO_CONSOLE):
                self.found.append((name, path))


def outside(response: object) -> list[tuple[str, str]]:
    """Return the paths of a response, with where they stand, that are not below the prefix."""
    found = [(name, value) for name, value in response.headers if name == "Location"]
    found += [("cookie", re.search(r"Path=([^;]+)", each)[1]) for each in response.headers.getlist("Set-Cookie")]
    if response.mimetype == "text/html":
        found += Paths(response.text).found
    if response.mimetype == "application/json":
        found += [("JSON", html.unescape(each)) for each in re.findall(r'"(/[^"]*)"(?!:)', response.text)]
    return [(name, path) for name, path in found if not path.startswith(f"{PREFIX}/")]


@pytest.fixture
def open_console(app: object) -> Iterator[Callable[[str], FormClient]]:
    app.config["URL_PREFIX"] = PREFIX

    def sign_in(who: str) -> FormClient:
        browser = FormClient(app.test_client())
        given = {"email": EMAILS[who], "password": password_of(who)}
        answer = browser.send(f"{PREFIX}/console/sign-in", given)
        assert (answer.status_code, outside(answer)) == (303, [])
        return browser

    return sign_in


@pytest.mark.parametrize("who", PAGES)
def test_no_page_names_a_path_outside_of_the_prefix(open_console: Callable, who: str) -> None:
    browser = open_console(who)

    problems = {path: outside(browser.get(PREFIX + path)) for path in PAGES[who]}

    assert {path: found for path, found in problems.items() if found} == {}


def test_photographs_and_what_follows_a_form_stay_below_the_prefix(open_console: Callable, tmp_path: Path) -> None:
    browser = open_console("ada")
    form = dict(Form(browser.page(f"{PREFIX}/console/inspections/1"), f"{PREFIX}/console/inspections/1/files").fields)
    file = {"file": (io.BytesIO(photograph("stairs")), "stairs.jpg")}
    stored = browser.client.post(
        f"{PREFIX}/console/inspections/1/files", data={**form, **file}, content_type="multipart/form-data"
    )
    assert stored.status_code == 303, stored.text
    page = browser.get(f"{PREFIX}/console/inspections/1")
    key = re.search(r"/console/files/([0-9a-f-]{36})", page.text)[1]
    edited = browser.fill_in(f"{PREFIX}/console/buildings/1/edit", {"name": "Harbor Home"})
    shown = browser.get(edited.headers["Location"])

    paths = (f"files/{key}", f"files/{key}/edit", f"files/{key}/delete", "files", "inspections/1/report", "visits")
    answers = [stored, page, edited, shown, *(browser.get(f"{PREFIX}/console/{each}") for each in paths)]
    assert [each.status_code for each in answers] == [303, 200, 303, 200, *[200] * 5, 403]
    assert [outside(each) for each in answers] == [[]] * len(answers)
    assert f'src="{PREFIX}/console/files/{key}/thumbnail/640"' in page.text
    assert "saved" in shown.text


@pytest.mark.parametrize("path", ["/console/buildings/1", "/console/sign-in", "/", "/docs"])
def test_visitor_without_a_session_stays_below_the_prefix(app: object, path: str) -> None:
    app.config["URL_PREFIX"] = PREFIX
    answer = app.test_client().get(PREFIX + path, headers={"Accept": "text/html", "Sec-Fetch-Site": "cross-site"})

    assert outside(answer) == []


def test_secrets_and_data_of_the_api_name_the_prefix(open_console: Callable) -> None:
    browser = open_console("ada")
    keys_page = f"{PREFIX}/console/account/api_keys"
    form = Form(browser.page(keys_page), keys_page).with_({"name": "Sheets"})
    made = browser.client.post(keys_page, data=form)
    link = browser.send(f"{PREFIX}/console/account/calendar", {"link_name": "Phone"}, f"{PREFIX}/console/account")
    suggested = browser.get(f"{PREFIX}/console/buildings/suggest?q=h")
    keys = {"apikey": tokens.SERVICE_KEY, "Prefer": "return=headers-only"}
    document = browser.client.get(f"{PREFIX}/docs/openapi.json")
    written = browser.client.post(f"{PREFIX}/inspectors", json={"name": "Ida"}, headers=keys)

    assert f'createClient("http://localhost{PREFIX}", ' in html.unescape(made.text)
    assert f"http://localhost{PREFIX}/buildings?limit=1" in made.text
    assert f"http://localhost{PREFIX}/calendar/" in link.text
    assert suggested.json
    assert outside(suggested) == []
    assert json.loads(document.text)["servers"] == [{"url": PREFIX}]
    assert written.headers["Location"].startswith(f"{PREFIX}/inspectors?id=eq.")


@pytest.mark.parametrize("name", [each for each in STATIC_FILES if each.endswith(".js")])
def test_scripts_hold_no_path_of_the_server(name: str) -> None:
    script = (STATIC_DIRECTORY / name).read_text()

    assert re.findall(r"""["'`](/[a-z][^"'`]*)""", script) == []
