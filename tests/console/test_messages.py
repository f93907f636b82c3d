"""The message after a change: its page shows it once, in its session, with the button that undoes the change."""

import html
import re
from collections.abc import Callable

import pytest

from tests.conftest import MOE
from tests.console.conftest import Form, FormClient

pytestmark = pytest.mark.one_engine

MESSAGE = "walkthrough_message"
PATH = "/console/buildings/1"


def revoke(client: FormClient) -> str:
    """Revoke a grant and return the address of the page that says so."""
    action = f"{PATH}/access"
    sent = client.client.post(action, data=Form(client.page(f"{action}?person={MOE}"), action).with_({}))
    return str(sent.headers["Location"])


def test_message_is_shown_once_and_not_again_after_a_reload(browse: Callable) -> None:
    ada = browse("ada")
    location = revoke(ada)

    first, again = ada.page(location), ada.page(location)

    assert location == PATH
    assert ("Access revoked from Moe." in first, "note undo" in first) == (True, True)
    assert ("Access revoked from Moe." in again, "note undo" in again) == (False, False)


def test_button_of_a_message_undoes_after_the_message_is_gone(browse: Callable) -> None:
    ada = browse("ada")
    page = ada.page(revoke(ada))
    ada.page(PATH)

    action = html.unescape(re.search(r'<form class="note undo" method="post" action="([^"]+)"', page)[1])
    undone = ada.client.post(action, data=Form(page, action).with_({}))

    assert "Building granted to Moe." in ada.page(undone.headers["Location"])


def test_message_waits_for_its_page(browse: Callable) -> None:
    ada = browse("ada")
    location = revoke(ada)

    assert "Access revoked" not in ada.page("/console/buildings")
    assert ada.client.head(location).status_code == 200
    assert "Access revoked" in ada.page(location)


def test_message_is_shown_only_in_its_session(browse: Callable) -> None:
    ada = browse("ada")
    revoke(ada)
    cookie = ada.client.get_cookie(MESSAGE, path="/console").value

    for other in (browse("ada"), browse("root"), browse()):
        other.client.set_cookie(MESSAGE, cookie, path="/console")
        assert "Access revoked" not in other.get(PATH).text


def test_changed_message_and_odd_cookies_are_not_shown(browse: Callable) -> None:
    ada = browse("ada")
    revoke(ada)
    cookie = ada.client.get_cookie(MESSAGE, path="/console").value
    session = ada.cookie.value

    for value in (f"x{cookie}", cookie[:-1], session, "", ".", "W10.x"):
        ada.client.set_cookie(MESSAGE, value, path="/console")
        assert "Access revoked" not in ada.page(PATH)


def test_address_shows_no_message(browse: Callable) -> None:
    ada = browse("ada")

    assert "call 555" not in ada.page("/console/?done=call+555&signature=x")
    assert "call 555" not in ada.page(f"{PATH}?done=call+555&undo=x")


def test_long_name_leaves_the_end_of_the_message_visible(browse: Callable) -> None:
    ada, given = browse("ada"), {"email": "n@x.example", "password": "nia walks too"}
    name = "Your account must be verified. Call 555. "

    sent = ada.send("/console/people/new", {"name": name * 4, **given})

    assert "… created.</p>" in ada.page(sent.headers["Location"])


def test_undo_that_is_too_long_for_a_cookie_has_no_button(browse: Callable, api: Callable) -> None:
    root = api("root")
    buildings = [{"id": 1_000 + each * 7_919, "name": f"B{each}", "client_id": 1} for each in range(600)]
    assert root.post("/buildings", buildings).status == 201
    ada = browse("ada")
    pairs = [f"{MOE}:{each['id']}" for each in buildings]
    csrf = ada.token("/console/buildings/new")

    sent = ada.client.post("/console/access/confirm", data={"csrf": csrf, "made": pairs})

    assert all(len(each) < 4_096 for each in sent.headers.getlist("Set-Cookie"))
    page = ada.page(sent.headers["Location"])
    assert ("600 granted, 0 revoked." in page, "note undo" in page) == (True, False)
