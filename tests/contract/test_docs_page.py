"""/docs serves its own files only, under a strict content security policy.

It is tested in a browser by hand, since a browser is not a dependency.
"""

import re
from collections.abc import Callable

import pytest

from routes.openapi import views

pytestmark = pytest.mark.one_engine

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


@pytest.mark.parametrize("path", ["/docs", "/"])
def test_page_has_no_inline_or_foreign_content(api: Callable, path: str) -> None:
    text = api("nobody").get(path, headers={"apikey": None}, accept="text/html").text

    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\son[a-z]+=|\sstyle=|https?:", text) == []
    links = re.findall(r'(?:src|href)="/docs/([^"]*)"', text)
    linked = {re.sub(r"\.[0-9a-f]{12}(?=\.\w+$)", "", name) for name in links}  # without the hash
    assert linked <= {*views.FILES, "openapi.json"}
    assert path == "/" or set(views.FILES) <= linked


def test_document_of_the_page_needs_no_apikey(api: Callable) -> None:
    response = api("nobody").get("/docs/openapi.json", headers={"apikey": None})

    assert response.status == 200
    assert response.json == api("root").get("/").json


BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"


def test_browser_gets_a_page_with_links_at_the_root(api: Callable, pristine: object) -> None:
    response = api("nobody").get("/", headers={"apikey": None}, accept=BROWSER)

    assert (response.status, response.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert response.headers["Content-Security-Policy"] == STRICT
    links = re.findall(r'<a href="([^"]*)"', response.text)
    assert links == ["/console/", "/docs", "/live", "/ready"]
    assert [pristine.test_client().get(link).status_code for link in links] == [303, 200, 200, 200]


@pytest.mark.parametrize(
    ("who", "accept", "apikey", "status"),
    [
        ("root", BROWSER, True, 200),
        ("nobody", BROWSER, True, 200),
        ("nobody", "*/*", True, 200),
        ("nobody", "*/*", False, 401),
        ("nobody", "application/json", False, 401),
        ("root", "text/html", True, 406),
        ("root", "text/html", False, 401),
    ],
)
def test_program_gets_the_document_or_an_error_at_the_root(
    api: Callable, who: str, accept: str, apikey: bool, status: int
) -> None:
    response = api(who).get("/", accept=accept, headers={} if apikey else {"apikey": None})

    assert response.status == status
    assert response.headers["Content-Type"].startswith("application/")
    assert api(who).get("/rest/v1/", accept="text/html", headers={"apikey": None}).status == 401


@pytest.mark.parametrize("name", views.FILES)
def test_linked_files_exist(pristine: object, name: str) -> None:
    response = pristine.test_client().get(f"/docs/{name}")

    assert response.status_code == 200
    assert response.headers["Content-Type"] == views.FILES[name][1]
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


def test_script_keeps_keys_in_the_tab_only() -> None:
    script = (views.PAGE / "page.js").read_text(encoding="utf-8")

    assert "sessionStorage" in script
    assert "localStorage" not in script
    assert "cookie" not in script
    assert "innerHTML" not in script
