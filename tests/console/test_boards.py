"""Boards: what one shows, what ends it, and that it can do nothing else."""

import re
from collections.abc import Callable

import pytest

from routes.console.session.session_cookie import IDLE_SECONDS_MAX
from routes.console.session.session_cookie import RENEWED_AFTER_SECONDS
from tests.clients.server import password_of
from tests.conftest import ADA
from tests.conftest import BOB
from tests.conftest import CAST
from tests.conftest import MAX
from tests.conftest import MOE
from tests.conftest import ROOT
from tests.conftest import Bearer
from tests.console.conftest import EMAILS

USER = f"/auth/v1/admin/users/{MOE}"


def make_board(admin: object, person: str = MOE, days: str = "90") -> str:
    answer = admin.send("/console/devices", {"name": "Hall", "person": person, "days": days})
    found = re.search(r'class="token">(wtk_[^<]+)<', answer.text)
    assert found, answer.text
    return found[1]


def enter(desk: Callable, token: str) -> object:
    board = desk()
    answer = board.send("/console/kiosk/enter", {"token": token})
    assert answer.status_code == 303, answer.text
    flags = next(each for each in answer.headers.getlist("Set-Cookie") if "kiosk" in each)
    assert "HttpOnly" in flags
    assert "SameSite=Strict" in flags
    assert "Path=/console/kiosk" in flags
    return board


def test_a_board_shows_what_its_user_sees_and_nothing_else(desk: Callable) -> None:
    board = enter(desk, make_board(desk("ada")))

    page = board.page("/console/kiosk")

    assert "Harbor House" in page
    assert "Ash, " not in page
    for path in ("/console/", "/console/inspections", "/console/buildings/1", "/console/why"):
        assert board.get(path).status_code == 303, path
    for path in ("/console/kiosk", "/console/kiosk/board"):
        assert board.client.post(path).status_code == 405


def test_a_board_cannot_write_by_construction(
    app: object, desk: Callable, monkeypatch: object
) -> None:
    from engine.current import writing
    from routes.console.pages import kiosk

    board = enter(desk, make_board(desk("ada")))
    tried: list[str] = []

    def attempt(caller: object) -> dict:
        from engine.current import reading

        for way in (lambda: writing().__enter__(), lambda: None):
            try:
                way()
                with reading() as transaction:
                    transaction.run("UPDATE buildings SET name = 'x'")
            except Exception as refusal:  # noqa: BLE001  (whichever it is, it is refused)
                tried.append(type(refusal).__name__)
        return {}

    monkeypatch.setattr(kiosk, "picture", attempt)
    board.get("/console/kiosk/board")

    assert len(tried) == 2
    assert "x" not in re.findall(r'class="where">([^<]*)<', desk("ada").page("/console/"))


@pytest.mark.parametrize("token", ["", "x", "wtk_", "wtk_" + "A" * 43, "ö", "A" * 3_000])
def test_a_wrong_token_shows_nothing(desk: Callable, token: str) -> None:
    board = desk()
    assert board.send("/console/kiosk/enter", {"token": token}).status_code == 401
    if token.isascii():
        board.client.set_cookie("walkthrough_kiosk", token, path="/console/kiosk")
        assert board.get("/console/kiosk/board").status_code == 401


def revoke_board(desk: Callable, api: Callable) -> None:
    ada = desk("ada")
    found = re.search(r"/console/devices/([^/]+)/revoke", ada.page("/console/devices"))
    assert found
    ada.send(f"/console/devices/{found[1]}/revoke", form="/console/devices")


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(revoke_board, id="revoked"),
        pytest.param(lambda desk, api: api("root").delete(f"/users?id=eq.{MOE}"), id="user deleted"),
        pytest.param(lambda desk, api: api("root").put(USER, {"role": "client_admin"}), id="promoted"),
        pytest.param(lambda desk, api: api("root").put(USER, {"ban_duration": "24h"}), id="disabled"),
        pytest.param(lambda desk, api: api("root").put(USER, {"password": "another one"}), id="new password"),
    ],
)  # fmt: skip
def test_what_ends_a_board(desk: Callable, api: Callable, end: Callable) -> None:
    board = enter(desk, make_board(desk("ada")))
    assert board.get("/console/kiosk/board").status_code == 200

    end(desk, api)

    assert board.get("/console/kiosk/board").status_code == 401


def test_a_board_runs_out(app: object, desk: Callable) -> None:
    import time

    import engine.storage.database

    board = enter(desk, make_board(desk("ada"), days="30"))
    real = time.time
    try:
        engine.storage.database.time.time = lambda: real() + 30 * 86_400 + 1
        assert board.get("/console/kiosk/board").status_code == 401
    finally:
        engine.storage.database.time.time = real


def test_a_boards_token_is_no_bearer_and_is_not_kept(
    app: object, desk: Callable, api: Callable
) -> None:
    from tests.conftest import Bearer

    token = make_board(desk("ada"))

    assert api(Bearer(f"Bearer {token}")).get("/inspections").status == 401
    with app.app_context():
        from engine.current import reading

        with reading() as transaction:
            rows = transaction.all("SELECT * FROM devices")
    assert len(rows) == 1
    assert token not in str(rows)


@pytest.mark.parametrize(
    ("who", "person", "made"),
    [
        ("ada", MOE, True),
        ("ada", ADA, True),
        ("ada", BOB, False),
        ("ada", MAX, False),
        ("ada", ROOT, False),
        ("root", BOB, True),
        ("root", ROOT, True),
    ],
)
def test_whose_board_one_may_make(desk: Callable, who: str, person: str, made: bool) -> None:
    answer = desk(who).send("/console/devices", {"name": "Hall", "person": person, "days": "30"})

    assert ("wtk_" in answer.text) is made


def test_one_revokes_only_what_one_could_make(desk: Callable) -> None:
    root, ada = desk("root"), desk("ada")
    board = enter(desk, make_board(root, BOB))
    found = re.search(r"/console/devices/([^/]+)/revoke", root.page("/console/devices"))
    assert found
    assert found[1] not in ada.page("/console/devices")

    answer = ada.send(f"/console/devices/{found[1]}/revoke", form="/console/devices")

    assert answer.status_code == 404
    assert board.get("/console/kiosk/board").status_code == 200


def clocked(app: object, seconds: int) -> None:
    clock = app.extensions["walkthrough.clock"]
    app.extensions["walkthrough.clock"] = lambda: clock() + seconds


@pytest.mark.parametrize("path", ["/console/kiosk", "/console/kiosk/board"])
def test_a_board_that_asks_by_itself_keeps_nobody_signed_in(
    app: object, desk: Callable, path: str
) -> None:
    ada = desk("ada")
    clocked(app, RENEWED_AFTER_SECONDS + 1)

    board, page = ada.get(path), ada.get("/console/")

    assert (board.status_code, "Set-Cookie" in board.headers) == (200, False)
    assert (page.status_code, "Set-Cookie" in page.headers) == (200, True)
    clocked(app, IDLE_SECONDS_MAX - 60)
    assert ada.get(path).status_code == 200
    clocked(app, 61)
    assert ada.get(path).status_code == 303


def test_a_dead_token_locks_nobody_out(app: object, desk: Callable, api: Callable) -> None:
    ada = desk("ada")
    token = make_board(ada, ADA)
    assert ada.send("/console/kiosk/enter", {"token": token}).status_code == 303
    assert "what Ada sees" in ada.page("/console/kiosk")
    revoke_board(desk, api)

    assert "what Ada sees" in ada.page("/console/kiosk")
    assert ada.get("/console/kiosk/board").status_code == 200

    ada.send("/console/sign-out", form="/console/")
    assert ada.get("/console/kiosk/board").status_code == 401


def test_a_token_in_force_comes_before_whoever_is_signed_in(desk: Callable) -> None:
    ada = desk("ada")
    token = make_board(ada)
    assert ada.send("/console/kiosk/enter", {"token": token}).status_code == 303

    assert "what Moe sees" in ada.page("/console/kiosk")


def test_who_is_let_in_again_signs_in_again(desk: Callable, api: Callable) -> None:
    """Cookie, refresh token, token without a session and board: none of them comes back to life."""
    ada, moe, path = desk("ada"), desk("moe"), f"/console/people/{MOE}"
    token = make_board(ada)
    board = enter(desk, token)
    given = {"email": EMAILS["moe"], "password": password_of("Moe")}
    signed_in = api("nobody").post("/auth/v1/token?grant_type=password", given).json
    tokens = (f"Bearer {signed_in['access_token']}", CAST["moe"].authorization())
    bearers = [Bearer(each) for each in tokens]
    assert [api(each).get("/buildings").status for each in bearers] == [200, 200]

    ada.send(f"{path}/disable", form=path)
    assert ada.send(f"{path}/enable", form=path).status_code == 303

    assert moe.get("/console/").status_code == 303
    refresh = {"refresh_token": signed_in["refresh_token"]}
    refreshed = api("nobody").post("/auth/v1/token?grant_type=refresh_token", refresh)
    assert (refreshed.status, refreshed.code) == (400, "refresh_token_not_found")
    assert [api(each).get("/buildings").status for each in bearers] == [401, 401]
    assert board.get("/console/kiosk/board").status_code == 401
    assert desk().send("/console/kiosk/enter", {"token": token}).status_code == 401
    assert desk("moe").get("/console/").status_code == 200
    assert enter(desk, make_board(ada)).get("/console/kiosk/board").status_code == 200


@pytest.mark.parametrize(
    ("site", "by_itself"),
    [
        (None, True),
        ("none", True),
        ("same-origin", True),
        ("same-site", False),
        ("cross-site", False),
    ],
)
def test_a_links_token_goes_in_by_itself_unless_another_site_had_it_opened(
    desk: Callable, site: str | None, by_itself: bool
) -> None:
    headers = {"Sec-Fetch-Site": site} if site else {}

    page = desk().get("/console/kiosk/enter", headers=headers).text

    assert ("data-by-itself" in page, 'id="token"' in page) == (by_itself, True)


def test_a_links_token_replaces_nothing_by_itself(desk: Callable, api: Callable) -> None:
    ada = desk("ada")
    board = enter(desk, make_board(ada))

    assert "data-by-itself" not in ada.page("/console/kiosk/enter")
    assert "data-by-itself" not in board.page("/console/kiosk/enter")

    revoke_board(desk, api)
    assert "data-by-itself" in board.page("/console/kiosk/enter")
    assert 'href="/console/kiosk/enter">Sign it in anew' in board.get("/console/kiosk").text


def test_a_board_is_signed_out_of_one_browser(desk: Callable) -> None:
    token = make_board(desk("ada"))
    board, other = enter(desk, token), enter(desk, token)
    assert 'href="/console/kiosk/enter">Sign out</a>' in board.page("/console/kiosk")
    assert 'href="/console/kiosk/enter"' in desk("ada").page("/console/devices")

    refused = board.client.post("/console/kiosk/leave", data={"csrf": "x"})
    assert (refused.status_code, board.get("/console/kiosk").status_code) == (403, 200)
    answer = board.send("/console/kiosk/leave", form="/console/kiosk/enter")

    assert (answer.status_code, answer.headers["Location"]) == (303, "/console/kiosk/enter")
    assert board.get("/console/kiosk").status_code == 401
    assert "Sign this board out" not in board.page("/console/kiosk/enter")
    assert other.get("/console/kiosk").status_code == 200


REFRESH = '<meta http-equiv="refresh" content="60">'


def test_a_board_whose_person_is_banned_for_a_while_comes_back_by_itself(
    desk: Callable, api: Callable
) -> None:
    board = enter(desk, make_board(desk("ada")))

    assert api("root").put(USER, {"ban_duration": "24h"}).status == 200
    banned = board.get("/console/kiosk")
    assert (banned.status_code, banned.text.count(REFRESH)) == (401, 1)
    assert "This board is signed out" in banned.text
    assert not banned.headers.getlist("Set-Cookie")
    assert REFRESH not in board.page("/console/kiosk/enter")

    assert api("root").put(USER, {"ban_duration": "none"}).status == 200
    assert "what Moe sees" in board.page("/console/kiosk")


def test_a_board_that_meets_a_busy_service_asks_again(
    desk: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.storage.writer_lock import LockTimeout
    from routes.console.pages import kiosk

    def fail(caller: object) -> dict:
        raise LockTimeout

    board, ada = enter(desk, make_board(desk("ada"))), desk("ada")
    monkeypatch.setattr(kiosk, "picture", fail)

    answers = [each.get("/console/kiosk") for each in (board, ada)]
    assert [(each.status_code, REFRESH in each.text) for each in answers] == [
        (503, True),
        (503, False),
    ]
    assert REFRESH not in board.get("/console/nowhere").text
