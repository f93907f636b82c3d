"""Boards on walls: as many as a person may have, and each of them can be ended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from access.accounts import administration
from access.accounts import kiosk_display
from access.accounts import people
from access.caller import GRANT_PROFILES
from access.caller import SERVICE_CALLER
from access.caller import Caller
from access.caller import Role
from engine.storage.transaction import Transaction
from tests import databases
from tests.applications import open_app
from tests.conftest import ADA
from tests.conftest import BOB
from tests.conftest import MIA
from tests.conftest import MOE
from tests.conftest import ROOT

SUPER = Caller(ROOT, None, GRANT_PROFILES[Role.SUPER_ADMIN, False, False])
ADMIN = Caller(ADA, 1, GRANT_PROFILES[Role.CLIENT_ADMIN, False, False])


@pytest.fixture
def transaction(base_file: object, tmp_path: object) -> Iterator[Transaction]:
    file = tmp_path / "walkthrough.db"
    databases.copy(base_file, file)
    app = open_app(file)
    with app.app_context(), app.extensions["walkthrough"].writing() as writing:
        yield writing


def test_a_person_has_only_so_many_boards(transaction: Transaction) -> None:
    for number in range(kiosk_display.BOARDS_MAX):
        kiosk_display.make(transaction, ADMIN, MOE, f"Board {number}", 1)

    with pytest.raises(kiosk_display.UnfitDevice, match="100 boards"):
        kiosk_display.make(transaction, SUPER, MOE, "One more", 1)
    first = kiosk_display.listed(transaction, ADMIN)[0]
    kiosk_display.revoke(transaction, ADMIN, first.id)
    kiosk_display.make(transaction, ADMIN, MOE, "In its place", 1)
    kiosk_display.make(transaction, ADMIN, MIA, "Somebody else's", 1)


def test_a_board_beyond_those_that_are_shown_can_be_ended(
    transaction: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kiosk_display, "DEVICES_MAX", 3)
    kiosk_display.within_reach.cache_clear()
    made = [kiosk_display.make(transaction, ADMIN, MOE, f"Board {n}", 1) for n in range(5)]
    hidden = {each for each, _ in made} - {
        each.id for each in kiosk_display.listed(transaction, ADMIN)
    }

    for each in hidden:
        kiosk_display.revoke(transaction, ADMIN, each)

    assert len(hidden) == 2
    tokens = dict(made)
    assert [kiosk_display.enter(transaction, tokens[each]) for each in hidden] == [None, None]
    kiosk_display.within_reach.cache_clear()


def test_a_board_out_of_reach_is_as_one_that_is_not_there(transaction: Transaction) -> None:
    key, token = kiosk_display.make(transaction, SUPER, ROOT, "Root's own", 1)

    with pytest.raises(kiosk_display.NoSuchDevice):
        kiosk_display.revoke(transaction, ADMIN, key)

    assert kiosk_display.enter(transaction, token) is not None


def test_boards_that_have_ended_are_nobodys(transaction: Transaction) -> None:
    kiosk_display.make(transaction, ADMIN, MOE, "Lobby", 90)
    kiosk_display.make(transaction, ADMIN, MIA, "Hall", 90)
    transaction.run(f"UPDATE users SET client_id = 2 WHERE id = '{MOE}'")
    people.end_tokens(transaction, MIA)

    bob = Caller(BOB, 2, GRANT_PROFILES[Role.CLIENT_ADMIN, False, False])

    assert [kiosk_display.listed(transaction, each) for each in (ADMIN, bob, SUPER)] == [[], [], []]


def test_a_board_whose_days_are_over_is_nobodys(transaction: Transaction) -> None:
    device_id, token = kiosk_display.make(transaction, ADMIN, MOE, "Lobby", 1)
    transaction.run(f"UPDATE devices SET expires_at = {transaction.unix}")

    assert kiosk_display.enter(transaction, token) is None
    assert kiosk_display.listed(transaction, ADMIN) == []
    with pytest.raises(kiosk_display.NoSuchDevice):
        kiosk_display.revoke(transaction, ADMIN, device_id)


def test_boards_that_have_ended_make_room(
    transaction: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kiosk_display, "BOARDS_MAX", 1)
    kiosk_display.make(transaction, ADMIN, MOE, "Lobby", 90)
    people.end_tokens(transaction, MOE)

    kiosk_display.make(transaction, ADMIN, MOE, "Hall", 90)

    assert [each.name for each in kiosk_display.listed(transaction, ADMIN)] == ["Hall"]


def test_a_board_made_between_two_ends_of_one_second_ends_with_the_second(
    transaction: Transaction,
) -> None:
    """As whoever has got into somebody's session may make one, a moment before they get a new password."""
    people.end_tokens(transaction, MOE)
    _, token = kiosk_display.make(transaction, ADMIN, MOE, "Thief's", 365)
    assert kiosk_display.enter(transaction, token) is not None

    people.end_tokens(transaction, MOE)

    assert kiosk_display.enter(transaction, token) is None


LOSSES = [
    pytest.param("DELETE FROM users WHERE id = '{maker}'", id="gone"),
    pytest.param("UPDATE users SET client_id = 2 WHERE id = '{maker}'", id="moved"),
    pytest.param("UPDATE users SET role = 'client_manager' WHERE id = '{maker}'", id="demoted"),
]


@pytest.mark.parametrize("loss", LOSSES)
def test_who_may_not_make_a_board_any_more_has_none(transaction: Transaction, loss: str) -> None:
    """They know its token."""
    _, token = kiosk_display.make(transaction, ADMIN, MOE, "Lobby", 90)
    _, others = kiosk_display.make(transaction, SUPER, MOE, "Hall", 90)
    _, own = kiosk_display.make(transaction, Caller(MOE, 1, ADMIN.profile), MOE, "His own", 90)

    transaction.run(loss.format(maker=ADA))

    assert kiosk_display.enter(transaction, token) is None
    assert kiosk_display.enter(transaction, others) is not None
    assert kiosk_display.enter(transaction, own) is not None


def test_a_board_waits_for_the_end_of_its_maker_s_ban(transaction: Transaction) -> None:
    _, token = kiosk_display.make(transaction, ADMIN, MOE, "Lobby", 90)

    administration.change(transaction, SUPER, ADA, administration.banned(3_600), None)
    assert kiosk_display.enter(transaction, token) is None

    administration.let_in(transaction, SUPER, ADA)
    assert kiosk_display.enter(transaction, token) is not None


def test_a_board_of_the_service_key_or_of_nobody_knows_who_stays(transaction: Transaction) -> None:
    _, token = kiosk_display.make(transaction, SERVICE_CALLER, MOE, "Lobby", 90)
    older = "wtk_older"
    transaction.run(
        "INSERT INTO devices (id, user_id, name, token_digest, created_at, expires_at)"
        f" VALUES ('older', '{MOE}', 'Older', '{kiosk_display.digest(older)}', 4102444800, 4102444801)"
    )

    assert kiosk_display.enter(transaction, token) is not None
    assert kiosk_display.enter(transaction, older) is not None


def test_who_made_and_who_revoked_a_board_stands_in_the_trail(transaction: Transaction) -> None:
    transaction.set_actor(ADA)
    key, token = kiosk_display.make(transaction, ADMIN, MOE, "Lobby", 90)
    kiosk_display.revoke(transaction, ADMIN, key)

    lines = transaction.all(
        "SELECT action, actor_id, client_id, after FROM audit_log"
        f" WHERE relation = 'devices' AND row_key = '{key}' ORDER BY id"
    )
    assert [(action, str(actor), client) for action, actor, client, _ in lines] == [
        ("make_board", ADA, 1),
        ("revoke_board", ADA, 1),
    ]
    assert token not in str(lines)
    assert kiosk_display.digest(token) not in str(lines)
