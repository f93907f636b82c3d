"""Faults of looking: who asks is not looked up, or not again; what is cached is stale, or answers another caller;
a filter looks at rows behind the rule."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from flask import g

from access import decorators
from access.accounts.access_token import Claims
from access.caller import GRANT_PROFILES, Caller
from engine.current import reading
from engine.query import operators
from engine.storage.transaction import Transaction
from engine.storage.versioned_cache import VersionedCache
from routes import resource
from routes.relation_request import RelationRequest
from tests.safety.sites import Site

Patch = pytest.MonkeyPatch
Apply = Callable[[Patch, Site], None]


def apikey_off(patch: Patch, site: Site) -> None:
    patch.setattr(decorators, "check_apikey", lambda *_: None)


def look_up_off(patch: Patch, site: Site) -> None:
    patch.setattr(
        decorators,
        "look_up_caller",
        lambda transaction, claims: Caller(
            claims.user_id, claims.client_id, GRANT_PROFILES[claims.role, True, True], claims.session_id
        ),
    )


def cached_caller_for_ever(patch: Patch, site: Site) -> None:
    """The rights of a user are cached, whatever the data version."""
    found: dict[object, object] = {}
    cached = Transaction.cached

    def stale(self: Transaction, key: tuple, compute: Callable, *more: object, **how: bool) -> Any:
        if key[0] != "caller":
            return cached(self, key, compute, *more, **how)
        if key not in found:
            found[key] = compute()
        return found[key]

    patch.setattr(Transaction, "cached", stale)


def held_for_ever(patch: Patch, site: Site) -> None:
    """What somebody holds is remembered from one request to the next, whatever their token."""
    look_up, known = decorators.look_up_caller, {}

    def remember(transaction: Transaction, claims: Claims) -> Caller:
        fresh = look_up(transaction, claims)
        return known.setdefault((claims.user_id, claims.role, claims.client_id), fresh)

    patch.setattr(decorators, "look_up_caller", remember)


def version_ignored(patch: Patch, site: Site) -> None:
    """A cached list, count or caller answers every data version."""
    get = VersionedCache.get
    patch.setattr(VersionedCache, "get", lambda cache, _, *given: get(cache, 0, *given))


def is_count(key: tuple) -> bool:
    return "count(*)" in str(key[0])


def key_without_caller(applies: Callable[[tuple], bool]) -> Apply:
    """The key of a cached value is its statement alone."""

    def apply(patch: Patch, site: Site) -> None:
        get = VersionedCache.get

        def forgetful(cache: VersionedCache, version: int | None, key: tuple, *given: object) -> Any:
            return get(cache, version, key[:1] if applies(key) else key, *given)

        patch.setattr(VersionedCache, "get", forgetful)

    return apply


def barrier_off(patch: Patch, site: Site) -> None:
    bare = {name: replace(each, leak_proof=True) for name, each in operators.OPERATORS.items()}
    patch.setattr(operators, "OPERATORS", bare)


def no_second_look(room: object) -> Apply:
    return lambda patch, site: patch.setattr(room, "load_caller", lambda transaction: g.caller)


def first_look_only(patch: Patch, site: Site) -> None:
    """Who writes is looked up when the request is read, and not in its turn."""
    read = RelationRequest.__init__

    def read_and_look(asked: RelationRequest, relation: object) -> None:
        read(asked, relation)
        with reading() as transaction:
            decorators.load_caller(transaction)

    patch.setattr(RelationRequest, "__init__", read_and_look)
    patch.setattr(resource, "load_caller", lambda transaction: g.caller)


def no_look_at_all(patch: Patch, site: Site) -> None:
    """Whose write comes to nothing is not looked up."""
    patch.setattr(decorators, "require_looked_up", lambda: None)
