"""Mutation tests of the policy: predicates, privileges, decorators, caller checks, caches and triggers.

`POLICIES` and `FUNCTIONS` are data from which the mutants are generated. A new entry adds its mutants.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import wraps

import pytest
import sqlalchemy as sa
from flask import g

from access import decorators, policy, predicates
from access.caller import SERVICE_CALLER
from access.decorators import Function
from access.policy import POLICIES, Policy
from access.predicates import CALLER, AllOf, AnyOf, Predicate, alias, equals, every_row, in_subquery, no_row
from access.roles import GrantKind, GrantProfile, Role
from models import Building, Client, ClientManagerBuildingAccess, Inspection, User
from models.fields import Row
from routes.functions import rpc
from routes.functions.rpc import FUNCTIONS
from tests.safety.hypothesis_settings import scaled_count
from tests.safety.mutation_suite import UNPROBED_ENDPOINTS, all_probes, first_failing_probe, is_guarded_view
from tests.safety.plan_caches import clear_plan_caches
from tests.safety.planted_faults import (
    apikey_off,
    barrier_off,
    cache_version_ignored,
    caller_lookup_off,
    is_count_key,
    key_without_caller,
    no_caller_recheck,
    no_check_of_empty_writes,
    no_recheck_under_lock,
    stale_cached_caller,
)
from tests.safety.service_instances import ServiceInstance
from tests.support import databases

Patch = pytest.MonkeyPatch
Apply = Callable[[Patch, ServiceInstance], None]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of the policy that some probe must detect. `tags` name what it changes."""

    name: str
    tags: tuple[str, ...]
    apply: Apply


CAST_NAMES = {Role.SUPER_ADMIN: "root", Role.CLIENT_ADMIN: "ada", Role.CLIENT_MANAGER: "moe"}


def policy_mutant(model: type, role: Role, changed: Policy, name: str, kind: str) -> Mutant:
    def apply(patch: Patch, instance: ServiceInstance) -> None:
        patch.setitem(POLICIES, model, {**POLICIES[model], role: changed})

    table = model.__tablename__
    return Mutant(f"{table} of {role.value}: {name}", (table, kind, CAST_NAMES[role]), apply)


def policy_mutants() -> Iterator[Mutant]:
    for model, policies in POLICIES.items():
        for role, each in policies.items():
            for name, predicate in variants(each.read):
                yield policy_mutant(model, role, replace(each, read=predicate), f"read, {name}", "read")
            yield from write_mutants(model, role, each)


def write_mutants(model: type, role: Role, each: Policy) -> Iterator[Mutant]:
    own = {name: getattr(each, name) for name in ("insert", "update", "delete") if getattr(each, name) is not None}
    for action, chosen in own.items():
        for name, predicate in variants(chosen):
            yield policy_mutant(model, role, replace(each, **{action: predicate}), f"{action}, {name}", "write")
    if len(own) == 3:  # `write` decides nothing
        return
    if each.write is None:
        for name, predicate in (("every row", every_row), ("what is read", each.read)):
            if predicate is no_row:  # gives no privilege, as before
                continue
            yield policy_mutant(model, role, replace(each, write=predicate), f"may write {name}", "write")
        return
    yield policy_mutant(model, role, replace(each, write=None, check=None), "may not write", "write")
    for name, predicate in variants(each.write):
        # The check stays unchanged: without an explicit check, it is the write predicate.
        kept = each.check or each.write
        changed = replace(each, write=predicate, check=kept)
        yield policy_mutant(model, role, changed, f"write, {name}", "write")
    for name, predicate in variants(each.check or each.write):
        yield policy_mutant(model, role, replace(each, check=predicate), f"check, {name}", "write")


RIGHTS = ("FILE_WRITES", "LETTERED_FINDINGS", "SERVED_LETTERS", "WITHDRAWN_LETTERS", "WITHDRAWN_REPORTS")
"""The names of the rights besides the policies."""


def right_mutants() -> Iterator[Mutant]:
    for right in RIGHTS:
        rights = getattr(policy, right)
        for role, predicate in rights.items():
            for name, changed in variants(predicate):

                def apply(
                    patch: Patch, instance: ServiceInstance, rights: dict = rights, role: Role = role, new=changed
                ) -> None:
                    patch.setitem(rights, role, new)

                tags = ("files", "write") if right == "FILE_WRITES" else (right, "call")
                yield Mutant(f"{right} of {role.value}: {name}", (*tags, CAST_NAMES[role]), apply)


def variants(predicate: Predicate) -> Iterator[tuple[str, Predicate]]:
    """Yield the mutations of a predicate by name."""
    if predicate is not every_row:
        yield "opened", every_row
    if predicate is not no_row:
        yield "closed", no_row
    parts = getattr(predicate, "parts", ())
    kind = AnyOf if isinstance(predicate, AnyOf) else AllOf
    for place, part in enumerate(parts):
        rest = (*parts[:place], *parts[place + 1 :])
        yield f"without {name_of(part)}", kind(rest)
        for name, changed in variants(part):
            if changed is every_row and kind is AllOf:
                continue  # equal to dropping the part
            if changed is no_row:
                continue
            yield f"{name_of(part)} {name}", kind((*parts[:place], changed, *parts[place + 1 :]))
    if predicate is predicates.own_manager:
        yield "of any role", predicates.client_ownership
        yield "of any client", manager_of_any_client
    if predicate is predicates.to_own_manager:
        yield "for any role", to_any_user_of_client


def name_of(predicate: Predicate) -> str:
    return getattr(predicate, "__name__", type(predicate).__name__)


def manager_of_any_client(profile: object, user: Row) -> sa.ColumnElement[bool]:
    return equals(user.role, Role.CLIENT_MANAGER.value)


def to_any_user_of_client(profile: object, grant: Row) -> sa.ColumnElement[bool]:
    user = alias(User, "rule_users")
    return in_subquery(grant.manager_id, user.c.id, user.c.client_id == CALLER.client_id)


# Rows that the visibility of another row implies


def implied_by_mutant(model: type, role: Role, by: type) -> Mutant:
    changed = replace(POLICIES[model][role], implied_by=by)
    return policy_mutant(model, role, changed, f"implied by {by.__tablename__}", "read")


IMPLIED_BY_MUTANTS = [
    implied_by_mutant(Building, Role.CLIENT_MANAGER, Inspection),
    implied_by_mutant(Building, Role.CLIENT_ADMIN, Inspection),
    implied_by_mutant(Client, Role.CLIENT_ADMIN, Building),
    implied_by_mutant(User, Role.CLIENT_MANAGER, ClientManagerBuildingAccess),
]

# Grants, functions, writable columns


def grants_of_any_user(patch: Patch, instance: ServiceInstance) -> None:
    def has_grant(profile: GrantProfile, kind: GrantKind, key: Row) -> sa.ColumnElement[bool]:
        if kind not in profile.kinds or (profile.role, kind) not in predicates.GRANT_TABLES:
            return sa.false()
        grants = predicates.GRANT_TABLES[profile.role, kind]
        grant = alias(grants.model, f"rule_{kind.value}_grants")
        return in_subquery(key, grant.c[grants.target], sa.true())

    patch.setattr(predicates, "has_grant", has_grant)


def function_mutants() -> Iterator[Mutant]:
    for function in FUNCTIONS.values():
        for role in Role:
            changed = function.roles ^ {role}
            verb = "may not call" if role in function.roles else "may call"

            def apply(
                patch: Patch, instance: ServiceInstance, function: Function = function, changed: frozenset = changed
            ) -> None:
                patch.setattr(function, "roles", changed)

            name = f"{role.value} {verb} {function.name}"
            yield Mutant(name, (function.name, "call", CAST_NAMES[role], f"rpc.{function.name}"), apply)


def all_columns_writable(patch: Patch, instance: ServiceInstance) -> None:
    patch.setattr(policy, "read_only_columns", lambda role, model: frozenset())


def column_writable(column: str) -> Mutant:
    def apply(patch: Patch, instance: ServiceInstance) -> None:
        patch.setattr(policy, "SUPER_ADMIN_COLUMNS", policy.SUPER_ADMIN_COLUMNS - {column})

    return Mutant(f"any admin chooses {column}", ("buildings", "write", "ada"), apply)


# Guarded views


def guarded_views(instance: ServiceInstance) -> Iterator[tuple[str, object, dict[str, object]]]:
    """Yield the views behind `guarded`, with the variables of its closure."""
    for endpoint, view in sorted(instance.app.view_functions.items()):
        if is_guarded_view(view) and not endpoint.startswith(UNPROBED_ENDPOINTS):
            cells = zip(view.__code__.co_freevars, view.__closure__, strict=True)
            yield endpoint, view, {name: cell.cell_contents for name, cell in cells}


def without_decorator(endpoint: str, parts: dict[str, object]) -> Mutant:
    """Remove the decorator: every request runs with the service key's rights."""

    def apply(patch: Patch, instance: ServiceInstance) -> None:
        @wraps(parts["view"])
        def unguarded(*arguments: object, **named: object) -> object:
            g.credential, g.caller = None, SERVICE_CALLER
            callers = () if parts.get("loads_caller") else (SERVICE_CALLER,)
            return parts["view"](*callers, *arguments, **named)

        patch.setitem(instance.app.view_functions, endpoint, unguarded)

    return Mutant(f"{endpoint}: no decorator", ("route", endpoint), apply)


def without_privilege_check(endpoint: str, parts: dict[str, object]) -> Mutant:
    """Remove the privilege check of the decorator."""

    def apply(patch: Patch, instance: ServiceInstance) -> None:
        view = decorators.guarded(
            lambda profile: True, **{name: part for name, part in parts.items() if name != "allowed"}
        )
        patch.setitem(instance.app.view_functions, endpoint, view)

    return Mutant(f"{endpoint}: no privilege required", ("route", endpoint), apply)


def view_mutants(instance: ServiceInstance) -> Iterator[Mutant]:
    for endpoint, _, parts in guarded_views(instance):
        yield without_decorator(endpoint, parts)
        if not all(parts["allowed"](GrantProfile(role)) for role in Role):
            yield without_privilege_check(endpoint, parts)


OTHER_MUTANTS = [
    Mutant("grants of any user count", ("buildings", "read", "moe"), grants_of_any_user),
    Mutant("any admin chooses ids", ("buildings", "write", "ada"), all_columns_writable),
    *map(column_writable, ("id", "updated_at")),
    Mutant("no apikey required", ("route",), apikey_off),
    Mutant("the caller is not loaded", ("session",), caller_lookup_off),
    Mutant("no barrier before filters", ("barrier",), barrier_off),
    Mutant("a write does not recheck its caller under the lock", ("recheck",), no_recheck_under_lock),
    Mutant("a write of no rows does not check its caller", ("session",), no_check_of_empty_writes),
    Mutant("a function call does not recheck its caller", ("recheck",), no_caller_recheck(rpc)),
]

# Cache mutants apply to SQLite only

CACHE_MUTANTS = (
    [
        Mutant("the cached caller is stale", ("session",), stale_cached_caller),
        Mutant("the version of a cached list is ignored", ("lists",), cache_version_ignored),
        Mutant("the version of a cached count is ignored", ("counts",), cache_version_ignored),
        Mutant(
            "the key of a cached list lacks the caller",
            ("lists",),
            key_without_caller(lambda key: key[0] != "caller" and not is_count_key(key)),
        ),
        Mutant("the key of a cached count lacks the caller", ("counts",), key_without_caller(is_count_key)),
        Mutant(
            "the key of a cached caller lacks the user",
            ("session",),
            key_without_caller(lambda key: key[0] == "caller"),
        ),
    ]
    if databases.SERVER is None
    else []
)

# Triggers


def without_trigger(name: str) -> Mutant:
    def apply(patch: Patch, instance: ServiceInstance) -> None:
        instance.direct_database.drop_trigger(name)

    if "audit" in name:
        return Mutant(f"no trigger {name}", ("audit",), apply)
    subject = name.split("_role")[0] if "_role" in name else "last" if "last" in name else "cascade"
    return Mutant(f"no trigger {name}", (subject, "write", "root", *name.split("_")[:1]), apply)


def is_trigger(mutant: Mutant) -> bool:
    return mutant.name.startswith("no trigger ")


def all_mutants(instance: ServiceInstance) -> list[Mutant]:
    return [
        *policy_mutants(),
        *right_mutants(),
        *IMPLIED_BY_MUTANTS,
        *function_mutants(),
        *OTHER_MUTANTS,
        *CACHE_MUTANTS,
        *view_mutants(instance),
        *map(without_trigger, instance.direct_database.triggers()),
    ]


def mutant_result(mutant: Mutant, instance: ServiceInstance, probes: list) -> str | None:
    """Return the name of the probe that kills a mutant, or None if the mutant survives."""
    kept = instance.direct_database.triggers()
    with pytest.MonkeyPatch.context() as patch:
        mutant.apply(patch, instance)
        clear_caches(instance)
        try:
            return first_failing_probe(instance, probes, mutant.tags)
        finally:
            patch.undo()
            for name in kept.keys() - instance.direct_database.triggers().keys():
                instance.direct_database.sql(kept[name])
            clear_caches(instance)


def clear_caches(instance: ServiceInstance) -> None:
    """Clear plans, lists and authenticated tokens, so that no mutant affects the next."""
    clear_plan_caches()
    database = instance.app.extensions["walkthrough"]
    database.cache.clear()
    instance.app.extensions["walkthrough.authenticator"].authenticate_cached.cache_clear()


def replace_by_copy(patch: Patch, instance: ServiceInstance) -> None:
    patch.setitem(POLICIES, Building, dict(POLICIES[Building]))


NULL_MUTANT = Mutant("null mutant", ("buildings", "xrf_limits"), replace_by_copy)

EQUIVALENT = (
    *(
        f"{table} of client_admin: write, {change}"
        for table in ("client_manager_building_access", "client_manager_inspection_access")
        for change in ("to_own_manager for any role", "without to_own_manager")
    ),
    "users of client_admin: write, of any client",
    "no trigger buildings_as_held_delete",
    "SERVED_LETTERS of client_admin: opened",
    "WITHDRAWN_LETTERS of client_admin: opened",
)
"""Equivalent mutants: a written row must be readable too, and the read predicate has the same condition. The details of
a held building go with it, and their trigger refuses that. Admins read letters of their own client only."""


PARTS = 4


@pytest.mark.parametrize("first", range(PARTS))
def test_every_policy_mutant_is_killed(instance: ServiceInstance, first: int) -> None:
    probes = all_probes(instance)
    generated_mutants = all_mutants(instance)
    mutants = [mutant for mutant in generated_mutants if mutant.name not in EQUIVALENT]
    assert len(mutants) == len(generated_mutants) - len(EQUIVALENT) > 400
    assert mutant_result(NULL_MUTANT, instance, probes) is None, "a probe fails without a change of the policy"
    random.Random(0).shuffle(mutants)
    # A server runs a quarter of the mutants. Those of the database come first, so every engine runs them.
    mutants.sort(key=lambda mutant: not (mutant in CACHE_MUTANTS or is_trigger(mutant)))

    survivors = [
        mutant.name
        for mutant in mutants[first : scaled_count(len(mutants)) : PARTS]
        if mutant_result(mutant, instance, probes) is None
    ]

    assert survivors == [], "\n".join(survivors)


@pytest.mark.long
def test_equivalent_mutants_survive(instance: ServiceInstance) -> None:
    """Run every probe against each equivalent mutant. A mutant that dies is not equivalent."""
    probes = all_probes(instance)
    equivalent = [mutant for mutant in all_mutants(instance) if mutant.name in EQUIVALENT]

    assert len(equivalent) == len(EQUIVALENT)
    assert [mutant_result(mutant, instance, probes) for mutant in equivalent] == [None] * len(EQUIVALENT)
