"""One's own account: the name, the password and the sessions."""

import html
import re
from collections.abc import Callable

import pytest

from tests.clients.server import password_of
from tests.conftest import MOE, ROOT
from tests.console.conftest import EMAILS

pytestmark = pytest.mark.one_engine

PAGE = "/console/account"
NEW = "a new one of mine"
OWN = f"{PAGE}/own_password"
ANOTHER = f'action="{PAGE}/sessions/'


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
    assert here.page(PAGE).count(ANOTHER) == 1

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
        ({"current_password": password_of("Moe"), "password": "x"}, 422, "Password should be at least 8"),
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
    assert (page.count("This session"), page.count(ANOTHER)) == (1, 1)
    here.send(f"{PAGE}/sessions", form=PAGE)

    assert there.get("/console/").status_code == 303
    page = here.page(PAGE)
    assert (page.count(ANOTHER), "Sign out other sessions" in page) == (0, False)


FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"


def test_sessions_show_their_devices_and_end_one_by_one(browse: Callable, api: Callable) -> None:
    ada, tablet, phone = browse("ada"), browse(), browse()
    given = {"email": EMAILS["ada"], "password": password_of("Ada")}
    for device, agent in ((tablet, FIREFOX), (phone, "a program\x7f/1")):
        device.client.environ_base["HTTP_USER_AGENT"] = agent
        assert device.send("/console/sign-in", given).status_code == 303
    page = ada.page(PAGE)
    [ending] = re.findall(rf'action="({PAGE}/sessions/[^"]+)"[^>]*>(?:(?!</form>).)*Firefox on Windows', page)

    assert page.count("<td>Unknown device</td>") == 1
    assert browse("bob").send(ending, form=PAGE).status_code == 303
    assert tablet.get("/console/").status_code == 200
    assert "The session has ended." in ada.page(ada.send(ending, form=PAGE).headers["Location"])
    assert [each.get("/console/").status_code for each in (tablet, phone, ada)] == [303, 200, 200]
    scopes = [each["after"] for each in api("root").get("/audit_log?action=eq.sign_out&select=after").json]
    assert scopes == [{"scope": "session"}]


def test_password_of_a_new_user_is_changed_before_any_page_opens(browse: Callable, api: Callable) -> None:
    given = {"name": "Nia", "email": "nia@acme.example", "password": "given to Nia"}
    assert browse("ada").fill_in("/console/people/new", given).status_code == 303

    nia = browse()
    typed = {"email": given["email"], "password": given["password"]}
    assert nia.send("/console/sign-in", typed).headers["Location"] == OWN
    assert [nia.get(path).headers["Location"] for path in ("/console/", "/console/buildings", PAGE)] == [OWN] * 3
    page = nia.page(OWN)
    assert "<nav" not in page
    for new, status, text in (("short", 422, "at least 8"), ("given to Nia", 422, "should be different")):
        refused = nia.send(OWN, {"current_password": given["password"], "password": new})
        assert (refused.status_code, text in refused.text) == (status, True)
    done = nia.send(OWN, {"current_password": given["password"], "password": NEW})

    assert done.headers["Location"] == "/console/"
    assert nia.get("/console/buildings").status_code == 200
    assert nia.get(OWN).headers["Location"] == PAGE
    again = browse()
    assert again.send("/console/sign-in", {**typed, "password": NEW}).headers["Location"] == "/console/"


def test_reset_password_asks_for_another_one_and_keeps_what_was_typed(browse: Callable, api: Callable) -> None:
    ada, moe, root = browse("ada"), browse("moe"), browse("root")
    late = moe.client
    page = moe.page(PAGE)
    typed = {"name": "Moe of the tower", "submission": re.findall(r'name="submission" value="([^"]+)"', page)[0]}
    reset = {"name": "Moe", "email": EMAILS["moe"], "password": "given to Moe"}
    assert root.fill_in(f"/console/people/{MOE}/edit", reset).status_code == 303

    expired = late.post(f"{PAGE}/name", data={**typed, "csrf": "old"})
    carried = {name: field_of(expired.text, name) for name in ("unsaved", "unsaved_path")}
    signing = {"email": EMAILS["moe"], "password": reset["password"], **carried}
    asked = moe.client.post("/console/sign-in", data={**signing, "csrf": moe.token()})
    assert (asked.status_code, "Choose a password" in asked.text) == (401, True)
    own = {"current_password": reset["password"], "password": NEW, **carried, "csrf": field_of(asked.text, "csrf")}
    shown = moe.client.post(OWN, data=own)

    assert (shown.status_code, "Moe of the tower" in shown.text) == (200, True)
    assert ada.get("/console/").status_code == 200


def test_form_of_an_earlier_session_leads_to_the_change_of_a_temporary_password(browse: Callable) -> None:
    moe, root = browse("moe"), browse("root")
    page = moe.page(PAGE)
    old = {name: field_of(page, name) for name in ("csrf", "submission")}
    reset = {"name": "Moe", "email": EMAILS["moe"], "password": "given to Moe"}
    assert root.fill_in(f"/console/people/{MOE}/edit", reset).status_code == 303
    assert moe.send("/console/sign-in", {"email": EMAILS["moe"], "password": reset["password"]}).status_code == 303

    asked = moe.client.post(f"{PAGE}/name", data={"name": "Moe of the tower", **old})

    assert (asked.status_code, "Choose a password" in asked.text) == (401, True)


def field_of(page: str, name: str) -> str:
    return html.unescape(re.findall(rf'name="{name}" value="([^"]*)"', page)[0])


def test_own_reset_and_the_api_set_lasting_passwords(browse: Callable, api: Callable) -> None:
    root = browse("root")
    own = {"name": "Root", "email": EMAILS["root"], "password": "my own as root"}
    assert root.fill_in(f"/console/people/{ROOT}/edit", own).status_code == 303
    assert root.get("/console/").status_code == 200
    assert api("service").put(f"/auth/v1/admin/users/{MOE}", {"password": "set by a program"}).status == 200
    given = {"email": EMAILS["moe"], "password": "set by a program"}
    assert browse().send("/console/sign-in", given).headers["Location"] == "/console/"


def test_api_signs_in_with_a_temporary_password_and_changes_it(browse: Callable, api: Callable) -> None:
    given = {"name": "Nia", "email": "nia@acme.example", "password": "given to Nia"}
    assert browse("ada").fill_in("/console/people/new", given).status_code == 303
    sign_in = {"email": given["email"], "password": given["password"]}

    session = api("nobody").post("/auth/v1/token?grant_type=password", sign_in).json
    assert "is_temporary" not in str(session)
    changed = api("nobody").put(
        "/auth/v1/user", {"password": NEW}, headers={"Authorization": f"Bearer {session['access_token']}"}
    )

    assert changed.status == 200
    again = browse()
    assert again.send("/console/sign-in", {**sign_in, "password": NEW}).headers["Location"] == "/console/"


def test_new_passwords_of_the_command_line_end_sessions(app: object, browse: Callable) -> None:
    moe = browse("moe")

    refused = app.test_cli_runner().invoke(args=["new-passwords", EMAILS["moe"], "nobody@acme.example"])
    assert (refused.exit_code, moe.get("/console/").status_code) == (1, 200)
    ended = app.test_cli_runner().invoke(args=["new-passwords", EMAILS["moe"]])

    email, password = ended.output.split()
    assert (email, moe.get("/console/").status_code) == (EMAILS["moe"], 303)
    assert moe.send("/console/sign-in", {"email": email, "password": password}).headers["Location"] == "/console/"
