"""/docs: a page from our own files under a strict policy, and no other file than those.

That it works in a browser is shown by hand: no browser is a dependency.
"""

import re
from collections.abc import Callable

import pytest

from routes import docs

STRICT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def test_the_page_is_open_to_whoever_has_no_key(api: Callable) -> None:
    response = api("nobody").get("/docs", headers={"apikey": None})

    assert (response.status, response.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert response.headers["Content-Security-Policy"] == STRICT
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in response.headers
    assert 'id="apikey"' in response.text
    assert 'id="bearer"' in response.text


def test_the_page_holds_nothing_inline_and_nothing_foreign(api: Callable) -> None:
    text = api("nobody").get("/docs", headers={"apikey": None}).text

    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\son[a-z]+=|\sstyle=|https?:", text) == []
    linked = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert {name.removeprefix("docs/") for name in linked} == set(docs.FILES)


@pytest.mark.parametrize("name", docs.FILES)
def test_what_the_page_links_is_there(pristine: object, name: str) -> None:
    response = pristine.test_client().get(f"/docs/{name}")

    assert response.status_code == 200
    assert response.headers["Content-Type"] == docs.FILES[name][1]
    assert response.headers["Content-Security-Policy"] == STRICT
    assert len(response.data) > 100


@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "swagger-ui.js",
        "LICENSE",
        "../app.py",
        "..%2f..%2fapp.py",
        "..%2F..%2F..%2Finstance%2Fkeys.json",
        "%2e%2e/%2e%2e/config.py",
        "..%5c..%5capp.py",
        "%2fetc%2fpasswd",
        "page.js%00.css",
        "page.js/",
        "PAGE.JS",
        "",
    ],
)
def test_no_other_file_is_served(api: Callable, name: str) -> None:
    response = api("nobody").get(f"/docs/{name}", headers={"apikey": None})

    assert response.status in (400, 401, 404)
    assert response.headers["Content-Type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_the_page_is_only_read(api: Callable, method: str) -> None:
    assert api("root").send(method, "/docs").status == 405


def test_the_script_keeps_no_key() -> None:
    script = (docs.PAGE / "page.js").read_text(encoding="utf-8")

    assert "localStorage" not in script
    assert "sessionStorage" not in script
    assert "cookie" not in script
    assert "innerHTML" not in script
