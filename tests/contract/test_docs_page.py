"""/docs serves its own files only, under a strict content security policy.

It is tested in a browser by hand, since a browser is not a dependency.
"""

import re
from collections.abc import Callable

import pytest

from routes import docs

STRICT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def test_page_needs_no_apikey(api: Callable) -> None:
    response = api("nobody").get("/docs", headers={"apikey": None})

    assert (response.status, response.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert response.headers["Content-Security-Policy"] == STRICT
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in response.headers
    assert 'id="apikey"' in response.text
    assert 'id="bearer"' in response.text


def test_page_has_no_inline_or_foreign_content(api: Callable) -> None:
    text = api("nobody").get("/docs", headers={"apikey": None}).text

    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\son[a-z]+=|\sstyle=|https?:", text) == []
    linked = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert {name.removeprefix("docs/") for name in linked} == set(docs.FILES)


@pytest.mark.parametrize("name", docs.FILES)
def test_linked_files_exist(pristine: object, name: str) -> None:
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
def test_other_files_are_not_served(api: Callable, name: str) -> None:
    response = api("nobody").get(f"/docs/{name}", headers={"apikey": None})

    assert response.status in (400, 401, 404)
    assert response.headers["Content-Type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_page_allows_only_get(api: Callable, method: str) -> None:
    assert api("root").send(method, "/docs").status == 405


def test_script_stores_no_key() -> None:
    script = (docs.PAGE / "page.js").read_text(encoding="utf-8")

    assert "localStorage" not in script
    assert "sessionStorage" not in script
    assert "cookie" not in script
    assert "innerHTML" not in script
