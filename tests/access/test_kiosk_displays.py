"""Kiosk displays: limits, end of the token, and revocation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from access.accounts import administration, kiosk_display, people
from access.caller import SERVICE_CALLER, Caller
from access.roles import GRANT_PROFILES, Role
from engine.interface.database import Transaction
from tests.conftest import ADA, BOB, MIA, MOE, ROOT
from tests.support import databases
from tests.support.applications import open_app

SUPER = Caller(ROOT, None, GRANT_PROFILES[Role.SUPER_ADMIN, False, False])
ADMIN = Caller(ADA, 1, GRANT_PROFILES[Role.CLIENT_ADMIN, False, False])


@pytest.fixture
def transaction(base_file: object, tmp_path: object) -> Iterator[Transaction]:
    file = tmp_path / "walkthrough.db"
    databases.copy(base_file, file)
    app = open_app(file)
    with app.app_context(), app.extensions["walkthrough"].writing() as writing:
        yield writing


def test_user_has_at_most_100_kiosk_displays(transaction: Transaction) -> None:
    for number in range(kiosk_display.DISPLAYS_PER_USER_MAX):
        kiosk_display.create_display(transaction, ADMIN, MOE, f"Display {number}", 1)

    with pytest.raises(kiosk_display.InvalidKioskDisplay, match="100 kiosk displays"):
        kiosk_display.create_display(transaction, SUPER, MOE, "One more", 1)
    first = kiosk_display.list_displays(transaction, ADMIN)[0]
    kiosk_display.revoke_display(transaction, ADMIN, first.id)
    kiosk_display.create_display(transaction, ADMIN, MOE, "In its place", 1)
    kiosk_display.create_display(transaction, ADMIN, MIA, "Of another user", 1)


def test_kiosk_display_beyond_the_listed_ones_can_be_revoked(
    transaction: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kiosk_display, "LISTED_MAX", 3)
    made = [kiosk_display.create_display(transaction, ADMIN, MOE, f"Display {n}", 1) for n in range(5)]
    hidden = {each for each, _ in made} - {each.id for each in kiosk_display.list_displays(transaction, ADMIN)}

    for each in hidden:
        kiosk_display.revoke_display(transaction, ADMIN, each)

    assert len(hidden) == 2
    codes = dict(made)
    assert [kiosk_display.pair_display(transaction, codes[each], "192.0.2.1") for each in hidden] == [None, None]


def test_deactivated_user_gets_no_kiosk_display(transaction: Transaction) -> None:
    administration.ban_user(transaction, SUPER, MOE)

    with pytest.raises(kiosk_display.InvalidKioskDisplay, match="deactivated"):
        kiosk_display.create_display(transaction, ADMIN, MOE, "Hall", 1)


def test_hidden_kiosk_display_is_not_found(transaction: Transaction) -> None:
    key, code = kiosk_display.create_display(transaction, SUPER, ROOT, "Root's own", 1)
    token = kiosk_display.pair_display(transaction, code, "192.0.2.1")

    with pytest.raises(kiosk_display.KioskDisplayNotFound):
        kiosk_display.revoke_display(transaction, ADMIN, key)

    assert kiosk_display.authenticate_display(transaction, token) is not None


def test_ended_kiosk_displays_are_listed_with_the_reason(transaction: Transaction) -> None:
    kiosk_display.create_display(transaction, ADMIN, MOE, "Lobby", 90)
    kiosk_display.create_display(transaction, ADMIN, MIA, "Hall", 90)
    transaction.run(f"UPDATE users SET client_id = 2 WHERE id = '{MOE}'")
    people.end_tokens(transaction, MIA)

    bob = Caller(BOB, 2, GRANT_PROFILES[Role.CLIENT_ADMIN, False, False])

    lists = [kiosk_display.list_displays(transaction, each) for each in (ADMIN, bob, SUPER)]
    states = [[(each.name, each.has_ended, each.is_dark_because) for each in displays] for displays in lists]
    ended = [("Hall", True, kiosk_display.SESSIONS_ENDED)]
    assert states == [ended, [], ended]


def test_expired_kiosk_display_is_listed_for_30_days(transaction: Transaction) -> None:
    device_id, code = kiosk_display.create_display(transaction, ADMIN, MOE, "Lobby", 1)
    token = kiosk_display.pair_display(transaction, code, "192.0.2.1")
    transaction.run(f"UPDATE tokens SET expires_at = {transaction.unix}")

    assert kiosk_display.authenticate_display(transaction, token) is None
    [display] = kiosk_display.list_displays(transaction, ADMIN)
    assert (display.has_ended, display.is_dark_because) == (True, kiosk_display.EXPIRED)

    transaction.run(f"UPDATE tokens SET expires_at = {transaction.unix - 30 * 86_400}")
    assert kiosk_display.list_displays(transaction, ADMIN) == []
    with pytest.raises(kiosk_display.KioskDisplayNotFound):
        kiosk_display.revoke_display(transaction, ADMIN, device_id)


def test_ended_kiosk_displays_do_not_count_towards_the_limit(
    transaction: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kiosk_display, "DISPLAYS_PER_USER_MAX", 1)
    kiosk_display.create_display(transaction, ADMIN, MOE, "Lobby", 90)
    people.end_tokens(transaction, MOE)

    kiosk_display.create_display(transaction, ADMIN, MOE, "Hall", 90)

    displays = kiosk_display.list_displays(transaction, ADMIN)
    assert [each.name for each in displays if not each.has_ended] == ["Hall"]


def test_second_global_sign_out_in_one_second_ends_kiosk_displays_created_between(transaction: Transaction) -> None:
    """A thief in a session may create a display just before the user sets a new password."""
    people.end_tokens(transaction, MOE)
    _, code = kiosk_display.create_display(transaction, ADMIN, MOE, "Thief's", 365)
    token = kiosk_display.pair_display(transaction, code, "192.0.2.1")
    assert kiosk_display.authenticate_display(transaction, token) is not None

    people.end_tokens(transaction, MOE)

    assert kiosk_display.authenticate_display(transaction, token) is None


LOSSES = [
    pytest.param("DELETE FROM users WHERE id = '{maker}'", id="gone"),
    pytest.param("UPDATE users SET client_id = 2 WHERE id = '{maker}'", id="moved"),
    pytest.param("UPDATE users SET role = 'client_manager' WHERE id = '{maker}'", id="demoted"),
]


@pytest.mark.parametrize("loss", LOSSES)
def test_kiosk_display_stops_if_its_creator_loses_the_right(transaction: Transaction, loss: str) -> None:
    """They know its token."""
    _, code = kiosk_display.create_display(transaction, ADMIN, MOE, "Lobby", 90)
    token = kiosk_display.pair_display(transaction, code, "192.0.2.1")
    _, code = kiosk_display.create_display(transaction, SUPER, MOE, "Hall", 90)
    others = kiosk_display.pair_display(transaction, code, "192.0.2.1")
    _, code = kiosk_display.create_display(transaction, Caller(MOE, 1, ADMIN.profile), MOE, "His own", 90)
    own = kiosk_display.pair_display(transaction, code, "192.0.2.1")

    transaction.run(loss.format(maker=ADA))

    assert kiosk_display.authenticate_display(transaction, token) is None
    assert kiosk_display.authenticate_display(transaction, others) is not None
    assert kiosk_display.authenticate_display(transaction, own) is not None


def test_kiosk_display_is_suspended_while_its_creator_is_banned(transaction: Transaction) -> None:
    _, code = kiosk_display.create_display(transaction, ADMIN, MOE, "Lobby", 90)
    token = kiosk_display.pair_display(transaction, code, "192.0.2.1")

    administration.change_user(transaction, SUPER, ADA, administration.ban_request(3_600), None)
    assert kiosk_display.authenticate_display(transaction, token) is None

    administration.unban_user(transaction, SUPER, ADA)
    assert kiosk_display.authenticate_display(transaction, token) is not None


def test_kiosk_display_shows_again_when_its_maker_is_back(transaction: Transaction) -> None:
    _, code = kiosk_display.create_display(transaction, ADMIN, MOE, "Lobby", 90)
    token = kiosk_display.pair_display(transaction, code, "192.0.2.1")

    transaction.run(f"UPDATE users SET client_id = 2 WHERE id = '{ADA}'")
    assert kiosk_display.authenticate_display(transaction, token) is None
    [display] = kiosk_display.list_displays(transaction, SUPER)
    assert (display.has_ended, display.is_dark_because) == (False, kiosk_display.MAKER_LOST_RIGHT)

    transaction.run(f"UPDATE users SET client_id = 1 WHERE id = '{ADA}'")
    assert kiosk_display.authenticate_display(transaction, token) is not None
    [display] = kiosk_display.list_displays(transaction, SUPER)
    assert (display.has_ended, display.is_dark_because) == (False, None)


def test_kiosk_display_stays_dark_when_another_user_gets_the_id_of_its_maker(transaction: Transaction) -> None:
    _, code = kiosk_display.create_display(transaction, ADMIN, MOE, "Lobby", 90)
    token = kiosk_display.pair_display(transaction, code, "192.0.2.1")

    transaction.run(f"DELETE FROM users WHERE id = '{ADA}'")
    transaction.run(
        "INSERT INTO users (id, email, name, role, client_id, created_at, updated_at) VALUES"
        f" ('{ADA}', 'new@acme.example', 'New', 'client_admin', 1, '{transaction.now}', '{transaction.now}')"
    )

    assert kiosk_display.authenticate_display(transaction, token) is None
    [display] = kiosk_display.list_displays(transaction, SUPER)
    assert (display.has_ended, display.is_dark_because) == (True, kiosk_display.MAKER_DELETED)


def test_kiosk_display_without_a_creator_stays_in_force(transaction: Transaction) -> None:
    _, code = kiosk_display.create_display(transaction, SERVICE_CALLER, MOE, "Lobby", 90)
    token = kiosk_display.pair_display(transaction, code, "192.0.2.1")

    assert kiosk_display.authenticate_display(transaction, token) is not None


def test_audit_log_records_who_created_and_revoked_a_kiosk_display(transaction: Transaction) -> None:
    transaction.set_actor(ADA)
    key, code = kiosk_display.create_display(transaction, ADMIN, MOE, "Lobby", 90)
    token = kiosk_display.pair_display(transaction, code, "192.0.2.1")
    kiosk_display.revoke_display(transaction, ADMIN, key)

    lines = transaction.all(
        "SELECT action, actor_id, client_id, after FROM audit_log"
        f" WHERE relation = 'devices' AND row_key = '{key}' ORDER BY id"
    )
    assert [(action, str(actor), client) for action, actor, client, _ in lines] == [
        ("create_kiosk_display", ADA, 1),
        ("revoke_kiosk_display", ADA, 1),
    ]
    assert token not in str(lines)
    assert kiosk_display.token_digest(token) not in str(lines)
