"""Error pages of the console: a signed-in user keeps the menu, and reads what their role may not do."""

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.one_engine

MENU = 'aria-label="Pages"'


@pytest.mark.parametrize("who", ["ada", "moe"])
@pytest.mark.parametrize(
    ("method", "path", "status", "text"),
    [
        ("GET", "/console/nope", 404, "This page does not exist"),
        ("GET", "/console/buildings/abc", 404, "This page does not exist"),
        ("GET", "/console/buildings/999", 404, "This page does not exist"),
        ("POST", "/console/nope", 404, "This page does not exist"),
        ("POST", "/console/why", 405, "This address does not take such a request."),
        ("DELETE", "/console/buildings/1", 405, "This address does not take such a request."),
        ("PUT", "/console/account/sessions", 405, "This address does not take such a request."),
        ("GET", "/console/clients/new", 403, "you may not create clients. Ask a super admin."),
    ],
)
def test_wrong_address_keeps_the_menu(
    browse_shared: Callable, who: str, method: str, path: str, status: int, text: str
) -> None:
    answer = browse_shared(who).client.open(path, method=method)

    assert answer.status_code == status
    assert (MENU in answer.text, text in answer.text) == (True, True), answer.text
    assert answer.mimetype == "text/html"


@pytest.mark.parametrize(
    ("who", "path", "text"),
    [
        ("moe", "/console/people/new", "you may not manage users. Ask a client admin or a super admin."),
        ("moe", "/console/buildings/new", "you may not create buildings. Ask a client admin or a super admin."),
        ("moe", "/console/audit_log", "As a client manager, you may not open Audit log. Ask a client admin or "),
        ("ada", "/console/inspectors/1/edit", "As a client admin, you may not edit inspectors. Ask a super admin."),
        ("moe", "/console/visits", "Only a user who is linked to an inspector may open the visits of an inspector."),
        ("ada", "/console/visits", "Only a user who is linked to an inspector may open the visits of an inspector."),
    ],
)  # fmt: skip
def test_refusal_says_what_the_role_may_not_do_and_whom_to_ask(
    browse_shared: Callable, who: str, path: str, text: str
) -> None:
    answer = browse_shared(who).get(path)

    assert answer.status_code == 403
    assert text in answer.text
    assert "permission denied" not in answer.text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/console/nope", 404), ("POST", "/console/why", 405), ("GET", "/console/why", 303)],
)
def test_signed_out_visitor_has_no_menu(browse: Callable, method: str, path: str, status: int) -> None:
    answer = browse().client.open(path, method=method)

    assert answer.status_code == status
    assert MENU not in answer.text


def test_ended_session_has_no_menu(browse: Callable) -> None:
    ada, other = browse("ada"), browse("ada")
    other.send("/console/account/sessions", form="/console/account")

    answer = ada.get("/console/nope")

    assert answer.status_code == 404
    assert MENU not in answer.text


def test_method_not_allowed_names_the_methods(browse_shared: Callable) -> None:
    answer = browse_shared("ada").client.post("/console/why")

    assert set(answer.headers["Allow"].split(", ")) >= {"GET", "HEAD"}
    assert "POST" not in answer.headers["Allow"]


def test_other_addresses_have_errors_of_the_api(browse_shared: Callable) -> None:
    answer = browse_shared("ada").client.post("/docs")

    assert (answer.status_code, answer.mimetype) == (405, "application/json")
