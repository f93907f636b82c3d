"""Faults of looking: who asks is not looked up, or not again; what was found is remembered too long, or for anybody;
a filter looks at rows behind the rule."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from flask import g

from access import decorators
from access.accounts.access_token import Claims
from access.caller import STANDINGS
from access.caller import Caller
from engine.query import execute
from engine.query import operators
from engine.storage.database import reading
from engine.storage.transaction import Transaction
from routes import resource
from routes.relation_request import Asked
from tests.safety.sites import Site

Patch = pytest.MonkeyPatch
Apply = Callable[[Patch, Site], None]


def apikey_off(patch: Patch, site: Site) -> None:
    patch.setattr(decorators, "check_apikey", lambda *_: None)


def look_up_off(patch: Patch, site: Site) -> None:
    patch.setattr(
        decorators,
        "look_up",
        lambda transaction, claims: Caller(
            claims.user_id, claims.client_id, STANDINGS[claims.role, True, True], claims.session_id
        ),
    )


def found_for_ever(patch: Patch, site: Site) -> None:
    found: dict[object, object] = {}

    def recall(self: Transaction, question: object, ask: Callable[[], object]) -> object:
        if question not in found:
            found[question] = ask()
        return found[question]

    patch.setattr(Transaction, "recall", recall)


def held_for_ever(patch: Patch, site: Site) -> None:
    """What somebody holds is remembered from one request to the next, whatever their token."""
    look_up, known = decorators.look_up, {}

    def remember(transaction: Transaction, claims: Claims) -> Caller:
        fresh = look_up(transaction, claims)
        return known.setdefault((claims.user_id, claims.role, claims.client_id), fresh)

    patch.setattr(decorators, "look_up", remember)


def counted_for_ever(patch: Patch, site: Site) -> None:
    patch.setattr(execute, "last_change", lambda transaction: 0)


def counted_for_anybody(patch: Patch, site: Site) -> None:
    """What is remembered is remembered by its statement alone."""
    get = Remembered.get

    def forgetful(kept: Remembered, change: int, question: tuple, answer: Callable) -> object:
        return get(kept, change, question[:1], answer)

    patch.setattr(Remembered, "get", forgetful)


def listed_for_ever(patch: Patch, site: Site) -> None:
    get, keep = Pages.get, Pages.keep
    patch.setattr(Pages, "get", lambda pages, _, question: get(pages, None, question))
    patch.setattr(Pages, "keep", lambda pages, _, question, rows: keep(pages, None, question, rows))


def listed_for_anybody(patch: Patch, site: Site) -> None:
    """What was listed is known by its statement alone."""
    get, keep = Pages.get, Pages.keep
    patch.setattr(Pages, "get", lambda pages, seen, question: get(pages, seen, question[:1]))
    patch.setattr(
        Pages, "keep", lambda pages, seen, question, rows: keep(pages, seen, question[:1], rows)
    )


def barrier_off(patch: Patch, site: Site) -> None:
    bare = {name: replace(each, leak_proof=True) for name, each in operators.OPERATORS.items()}
    patch.setattr(operators, "OPERATORS", bare)


def no_second_look(room: object) -> Apply:
    return lambda patch, site: patch.setattr(room, "admit", lambda transaction: g.caller)


def first_look_only(patch: Patch, site: Site) -> None:
    """Who writes is looked up when the request is read, and not in its turn."""
    read = Asked.__init__

    def read_and_look(asked: Asked, relation: object) -> None:
        read(asked, relation)
        with reading() as transaction:
            decorators.admit(transaction)

    patch.setattr(Asked, "__init__", read_and_look)
    patch.setattr(resource, "admit", lambda transaction: g.caller)


def no_look_at_all(patch: Patch, site: Site) -> None:
    """Whose write comes to nothing is not looked up."""
    patch.setattr(decorators, "require_admitted", lambda: None)
