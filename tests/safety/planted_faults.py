"""Planted faults of caller checks and caches: missing checks, stale entries, incomplete keys, no barrier."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from flask import g

from access import decorators, session
from access.access_token import Claims
from access.caller import Caller
from access.roles import GRANT_PROFILES
from engine.interface.database import Transaction
from engine.interface.versioned_cache import VersionedCache
from engine.open import reading
from engine.query.read import expressions
from routes import resource
from routes.resource import RelationRequest
from tests.safety.service_instances import ServiceInstance

Patch = pytest.MonkeyPatch
Apply = Callable[[Patch, ServiceInstance], None]


def apikey_off(patch: Patch, instance: ServiceInstance) -> None:
    for module in (session, decorators):
        patch.setattr(module, "check_apikey", lambda *_: None)


def caller_lookup_off(patch: Patch, instance: ServiceInstance) -> None:
    patch.setattr(
        decorators,
        "look_up_caller",
        lambda transaction, claims: Caller(
            claims.user_id, claims.client_id, GRANT_PROFILES[claims.role, True, True], claims.session_id
        ),
    )


def stale_cached_caller(patch: Patch, instance: ServiceInstance) -> None:
    """Cache a caller's rights for all data versions."""
    found: dict[object, object] = {}
    cached = Transaction.cached

    def stale(self: Transaction, key: tuple, compute: Callable, *arguments: object, **options: bool) -> Any:
        if key[0] != "caller":
            return cached(self, key, compute, *arguments, **options)
        if key not in found:
            found[key] = compute()
        return found[key]

    patch.setattr(Transaction, "cached", stale)


def caller_cached_by_claims(patch: Patch, instance: ServiceInstance) -> None:
    """Cache a caller's rights across requests, by user, role and client."""
    look_up, callers = decorators.look_up_caller, {}

    def look_up_once(transaction: Transaction, claims: Claims) -> Caller:
        caller = look_up(transaction, claims)
        return callers.setdefault((claims.user_id, claims.role, claims.client_id), caller)

    patch.setattr(decorators, "look_up_caller", look_up_once)


def cache_version_ignored(patch: Patch, instance: ServiceInstance) -> None:
    """Ignore the data version: cached lists, counts and callers never expire."""
    get = VersionedCache.get
    patch.setattr(VersionedCache, "get", lambda cache, _, *arguments: get(cache, 0, *arguments))


def is_count_key(key: tuple) -> bool:
    return "count(*)" in str(key[0])


def key_without_caller(applies: Callable[[tuple], bool]) -> Apply:
    """Omit the caller from cache keys: only the statement remains."""

    def apply(patch: Patch, instance: ServiceInstance) -> None:
        get = VersionedCache.get

        def get_without_caller(cache: VersionedCache, version: int | None, key: tuple, *arguments: object) -> Any:
            return get(cache, version, key[:1] if applies(key) else key, *arguments)

        patch.setattr(VersionedCache, "get", get_without_caller)

    return apply


def barrier_off(patch: Patch, instance: ServiceInstance) -> None:
    leak_proof_operators = {name: replace(each, leak_proof=True) for name, each in expressions.OPERATORS.items()}
    patch.setattr(expressions, "OPERATORS", leak_proof_operators)


def no_caller_recheck(module: object) -> Apply:
    return lambda patch, instance: patch.setattr(module, "load_caller", lambda transaction: g.caller)


def no_recheck_under_lock(patch: Patch, instance: ServiceInstance) -> None:
    """Check the caller of a write before the writer lock only."""
    read = RelationRequest.__init__

    def read_and_load_caller(relation_request: RelationRequest, relation: object) -> None:
        read(relation_request, relation)
        with reading() as transaction:
            decorators.load_caller(transaction)

    patch.setattr(RelationRequest, "__init__", read_and_load_caller)
    patch.setattr(resource, "load_caller", lambda transaction: g.caller)


def no_check_of_empty_writes(patch: Patch, instance: ServiceInstance) -> None:
    """Omit the caller check of writes that affect no row."""
    patch.setattr(decorators, "require_looked_up", lambda: None)
