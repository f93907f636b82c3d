"""Boards on walls: as many as a person may have, and each of them can be ended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from access import device
from access import people
from access.caller import STANDINGS
from access.caller import Caller
from access.caller import Role
from models.db import Transaction
from tests import databases
from tests.applications import open_app
from tests.conftest import ADA
from tests.conftest import BOB
from tests.conftest import MIA
from tests.conftest import MOE
from tests.conftest import ROOT

SUPER = Caller(ROOT, None, STANDINGS[Role.SUPER_ADMIN, False, False])
ADMIN = Caller(ADA, 1, STANDINGS[Role.CLIENT_ADMIN, False, False])


@pytest.fixture
def transaction(base_file: object, tmp_path: object) -> Iterator[Transaction]:
    file = tmp_path / "walkthrough.db"
    databases.copy(base_file, file)
    app = open_app(file)
    with app.app_context(), app.extensions["walkthrough"].writing() as writing:
        yield writing


def test_a_person_has_only_so_many_boards(transaction: Transaction) -> None:
    for number in range(device.BOARDS_MAX):
        device.make(transaction, ADMIN, MOE, f"Board {number}", 1)

    with pytest.raises(device.UnfitDevice, match="100 boards"):
        device.make(transaction, SUPER, MOE, "One more", 1)
    first = device.listed(transaction, ADMIN)[0]
    device.revoke(transaction, ADMIN, first.id)
    device.make(transaction, ADMIN, MOE, "In its place", 1)
    device.make(transaction, ADMIN, MIA, "Somebody else's", 1)


def test_a_board_beyond_those_that_are_shown_can_be_ended(
    transaction: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "DEVICES_MAX", 3)
    device.within_reach.cache_clear()
    made = [device.make(transaction, ADMIN, MOE, f"Board {n}", 1) for n in range(5)]
    hidden = {each for each, _ in made} - {each.id for each in device.listed(transaction, ADMIN)}

    for each in hidden:
        device.revoke(transaction, ADMIN, each)

    assert len(hidden) == 2
    tokens = dict(made)
    assert [device.enter(transaction, tokens[each]) for each in hidden] == [None, None]
    device.within_reach.cache_clear()


def test_a_board_out_of_reach_is_as_one_that_is_not_there(transaction: Transaction) -> None:
    key, token = device.make(transaction, SUPER, ROOT, "Root's own", 1)

    with pytest.raises(device.NoSuchDevice):
        device.revoke(transaction, ADMIN, key)

    assert device.enter(transaction, token) is not None


def test_boards_that_have_ended_are_nobodys(transaction: Transaction) -> None:
    device.make(transaction, ADMIN, MOE, "Lobby", 90)
    device.make(transaction, ADMIN, MIA, "Hall", 90)
    transaction.run(f"UPDATE users SET client_id = 2 WHERE id = '{MOE}'")
    people.end_tokens(transaction, MIA)

    bob = Caller(BOB, 2, STANDINGS[Role.CLIENT_ADMIN, False, False])

    assert [device.listed(transaction, each) for each in (ADMIN, bob, SUPER)] == [[], [], []]


def test_boards_that_have_ended_make_room(
    transaction: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "BOARDS_MAX", 1)
    device.make(transaction, ADMIN, MOE, "Lobby", 90)
    people.end_tokens(transaction, MOE)

    device.make(transaction, ADMIN, MOE, "Hall", 90)

    assert [each.name for each in device.listed(transaction, ADMIN)] == ["Hall"]
