"""A person's browser gets a page from the addresses of programs, with the status of the answer for programs."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.test_docs_page import BROWSER, STRICT

pytestmark = pytest.mark.one_engine

LINK = "/storage/v1/object/sign/inspections/1/door.jpg?token=x"
PLACES = [
    ("/nothing", 401, "There is no page here"),
    ("/rest/v1/nothing", 401, "There is no page here"),
    ("/inspections?id=eq.1", 401, "There is no page here"),
    ("/inspections//1", 401, "There is no page here"),
    ("/reports/inspections/1?kind=lead", 401, "There is no page here"),
    ("/metrics", 401, "There is no page here"),
    ("/docs/nothing", 404, "There is no page here"),
    ("/auth/v1/user", 401, "There is no page here"),
    ("/calendar/revoked.ics", 404, "This calendar link does not work"),
    (LINK, 400, "This link to a file does not work"),
    ("/live?a=%ff", 400, "There is no page here"),
    ("/live", 200, "The service is live."),
    ("/ready", 200, "The service is ready."),
]


@pytest.mark.parametrize(("path", "status", "text"), PLACES)
def test_browser_gets_a_page(api: Callable, path: str, status: int, text: str) -> None:
    answer = api("nobody").get(path, headers={"apikey": None}, accept=BROWSER)

    assert (answer.status, answer.headers["Content-Type"]) == (status, "text/html; charset=utf-8")
    assert answer.headers["Content-Security-Policy"] == STRICT
    assert text in answer.text
    assert 'href="/console/"' in answer.text


@pytest.mark.parametrize(("path", "status", "text"), PLACES)
@pytest.mark.parametrize(
    ("accept", "headers"),
    [("*/*", {"apikey": None}), ("application/json", {"apikey": None}), (BROWSER, {}), (BROWSER, {"apikey": "wrong"})],
)
def test_program_gets_no_page(api: Callable, path: str, status: int, text: str, accept: str, headers: dict) -> None:
    answer: Any = api("nobody").get(path, headers=headers, accept=accept)

    assert not answer.headers["Content-Type"].startswith("text/html")
    assert text not in answer.text


def test_page_of_a_wrong_address_does_not_depend_on_what_exists(api: Callable) -> None:
    paths = ("/inspections?id=eq.1", "/inspections?id=eq.999999", "/nothing", "/rpc/nothing")

    pages = {api("nobody").get(path, headers={"apikey": None}, accept=BROWSER).text for path in paths}

    assert len(pages) == 1


def test_page_of_the_console_is_left_as_it_is(api: Callable) -> None:
    answer = api("nobody").get("/console/nothing", headers={"apikey": None}, accept=BROWSER)

    assert answer.status == 404
    assert "This page does not exist" in answer.text


@pytest.mark.parametrize(("method", "path"), [("post", "/live"), ("delete", "/ready"), ("post", "/auth/v1/token")])
def test_only_what_a_browser_shows_becomes_a_page(api: Callable, method: str, path: str) -> None:
    answer = getattr(api("nobody"), method)(path, headers={"apikey": None}, accept=BROWSER)

    assert 400 <= answer.status < 500
    assert answer.headers["Content-Type"].startswith("application/json")
