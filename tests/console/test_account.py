"""One's own account: the name, the password and the sessions."""

from collections.abc import Callable

import pytest

from tests.clients.server import password_of
from tests.conftest import MOE
from tests.console.conftest import EMAILS

PAGE = "/console/account"
NEW = "a new one of mine"


@pytest.mark.parametrize("who", ["root", "ada", "moe"])
def test_user_changes_their_own_name(browse: Callable, api: Callable, who: str) -> None:
    user = browse(who)

    sent = user.send(f"{PAGE}/name", {"name": "Another name"}, form=PAGE)

    page = user.page(sent.headers["Location"])
    assert "Name saved." in page
    assert 'value="Another name"' in page
    assert "Another name<small>" in user.page("/console/")
    assert api("root").get("/users?name=eq.Another name").json[0]["email"] == EMAILS[who]


def test_name_is_required(browse: Callable, api: Callable) -> None:
    answer = browse("moe").send(f"{PAGE}/name", {"name": " "}, form=PAGE)

    assert (answer.status_code, "Name is required." in answer.text) == (400, True)
    assert api("root").get(f"/users?id=eq.{MOE}&select=name").json == [{"name": "Moe"}]


def test_new_password_ends_other_sessions(browse: Callable) -> None:
    here, there = browse("moe"), browse("moe")
    assert here.page(PAGE).count("Another session") == 1

    sent = here.send(f"{PAGE}/password", {"current_password": password_of("Moe"), "password": NEW}, form=PAGE)

    assert "Password changed." in here.page(sent.headers["Location"])
    assert there.get("/console/").status_code == 303
    given = {"email": EMAILS["moe"], "password": NEW}
    assert browse().send("/console/sign-in", given).status_code == 303


@pytest.mark.parametrize(
    ("typed", "status", "text"),
    [
        ({"current_password": "wrong one", "password": NEW}, 400, "Current password is incorrect."),
        ({"current_password": "", "password": NEW}, 400, "Current password is required."),
        ({"current_password": password_of("Moe"), "password": "x"}, 422, "Password should be at least 6"),
        ({"current_password": password_of("Moe"), "password": password_of("Moe")}, 422, "should be different"),
    ],
)
def test_invalid_password_change_is_refused(browse: Callable, typed: dict[str, str], status: int, text: str) -> None:
    moe = browse("moe")

    answer = moe.send(f"{PAGE}/password", typed, form=PAGE)

    assert (answer.status_code, text in answer.text) == (status, True), answer.text
    assert NEW not in answer.text
    assert browse("moe").get("/console/").status_code == 200


def test_other_sessions_are_listed_and_ended(browse: Callable) -> None:
    here, there = browse("ada"), browse("ada")

    page = here.page(PAGE)
    assert (page.count("This session"), page.count("Another session")) == (1, 1)
    here.send(f"{PAGE}/sessions", form=PAGE)

    assert there.get("/console/").status_code == 303
    page = here.page(PAGE)
    assert (page.count("Another session"), "Sign out other sessions" in page) == (0, False)
