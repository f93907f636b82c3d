"""Every mutant of the rule dies: each arm dropped or opened, each predicate of a write dropped or widened, each
privilege granted, each door unlocked, each second look left out, each cascade cut.

`POLICIES` and `CALLS` are data, so the list of mutants is made from them: whoever adds a line there adds its mutants.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import wraps

import pytest
import sqlalchemy as sa
from flask import g

from access import decorators, policy
from access.caller import SERVICE_CALLER, GrantKind, GrantProfile, Role
from access.policy import FUNCTION_ROLES, POLICIES, Policy, every_row, no_row
from access.predicate import CALLER, AllOf, AnyOf, Predicate, alias, equals, in_subquery
from models import Building, Client, ClientManagerBuildingAccess, Inspection, User
from models.fields import Row
from routes import rpc
from tests.safety.examples import share
from tests.safety.killers import ELSEWHERE, every_probe, is_entered, killed
from tests.safety.planted import forget_plans
from tests.safety.planted_looks import (
    apikey_off,
    barrier_off,
    cached_caller_for_ever,
    first_look_only,
    is_count,
    key_without_caller,
    look_up_off,
    no_look_at_all,
    no_second_look,
    version_ignored,
)
from tests.safety.sites import Site
from tests.support import databases

Patch = pytest.MonkeyPatch
Apply = Callable[[Patch, Site], None]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of the rule that must not pass unnoticed, and what it is about."""

    name: str
    about: tuple[str, ...]
    apply: Apply


WHO = {Role.SUPER_ADMIN: "root", Role.CLIENT_ADMIN: "ada", Role.CLIENT_MANAGER: "moe"}


def in_policy(model: type, role: Role, changed: Policy, name: str, kind: str) -> Mutant:
    def apply(patch: Patch, site: Site) -> None:
        patch.setitem(POLICIES, model, {**POLICIES[model], role: changed})

    table = model.__tablename__
    return Mutant(f"{table} of {role.value}: {name}", (table, kind, WHO[role]), apply)


def of_policies() -> Iterator[Mutant]:
    for model, policies in POLICIES.items():
        for role, each in policies.items():
            for name, predicate in variants(each.read):
                yield in_policy(model, role, replace(each, read=predicate), f"read, {name}", "read")
            yield from of_writes(model, role, each)


def of_writes(model: type, role: Role, each: Policy) -> Iterator[Mutant]:
    if each.write is None:
        for name, predicate in (("every row", every_row), ("what is read", each.read)):
            yield in_policy(model, role, replace(each, write=predicate), f"may write {name}", "write")
        return
    yield in_policy(model, role, replace(each, write=None, check=None), "may not write", "write")
    for name, predicate in variants(each.write):
        # The check stays what it was, or what stood in for it.
        kept = each.check or each.write
        changed = replace(each, write=predicate, check=kept)
        yield in_policy(model, role, changed, f"write, {name}", "write")
    for name, predicate in variants(each.check or each.write):
        yield in_policy(model, role, replace(each, check=predicate), f"check, {name}", "write")


def variants(predicate: Predicate) -> Iterator[tuple[str, Predicate]]:
    """Every way in which a predicate may be a little wrong."""
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
                continue  # as if it were dropped
            if changed is no_row:
                continue
            yield f"{name_of(part)} {name}", kind((*parts[:place], changed, *parts[place + 1 :]))
    if predicate is policy.own_manager:
        yield "of any role", policy.client_ownership
        yield "of any client", manager_of_any_client
    if predicate is policy.to_own_manager:
        yield "whoever they are", to_anybody_of_client


def name_of(predicate: Predicate) -> str:
    return getattr(predicate, "__name__", type(predicate).__name__)


def manager_of_any_client(profile: object, user: Row) -> sa.ColumnElement[bool]:
    return equals(user.role, Role.CLIENT_MANAGER.value)


def to_anybody_of_client(profile: object, grant: Row) -> sa.ColumnElement[bool]:
    user = alias(User, "rule_users")
    return in_subquery(grant.manager_id, user.c.id, user.c.client_id == CALLER.client_id)


# Rows said to be visible because another is


def implied(model: type, role: Role, by: type) -> Mutant:
    changed = replace(POLICIES[model][role], implied_by=by)
    return in_policy(model, role, changed, f"implied by {by.__tablename__}", "read")


IMPLIED = [
    implied(Building, Role.CLIENT_MANAGER, Inspection),
    implied(Building, Role.CLIENT_ADMIN, Inspection),
    implied(Client, Role.CLIENT_ADMIN, Building),
    implied(User, Role.CLIENT_MANAGER, ClientManagerBuildingAccess),
]

# Grants, functions, chosen columns


def grants_of_anybody(patch: Patch, site: Site) -> None:
    def has_grant(profile: GrantProfile, kind: GrantKind, key: Row) -> sa.ColumnElement[bool]:
        if kind not in profile.kinds or (profile.role, kind) not in policy.GRANT_TABLES:
            return sa.false()
        grants = policy.GRANT_TABLES[profile.role, kind]
        grant = alias(grants.model, f"rule_{kind.value}_grants")
        return in_subquery(key, grant.c[grants.target], sa.true())

    patch.setattr(policy, "has_grant", has_grant)


def of_calls() -> Iterator[Mutant]:
    for function, roles in FUNCTION_ROLES.items():
        for role in Role:
            changed = roles ^ {role}
            verb = "may not call" if role in roles else "may call"

            def apply(patch: Patch, site: Site, function: str = function, changed: frozenset = changed) -> None:
                patch.setitem(FUNCTION_ROLES, function, changed)

            name = f"{role.value} {verb} {function}"
            yield Mutant(name, (function, "call", WHO[role], f"rpc.{function}"), apply)


def may_choose_all(patch: Patch, site: Site) -> None:
    patch.setattr(policy, "read_only_columns", lambda role: frozenset())


def may_choose_one(column: str) -> Mutant:
    def apply(patch: Patch, site: Site) -> None:
        patch.setattr(policy, "SUPER_ADMIN_COLUMNS", policy.SUPER_ADMIN_COLUMNS - {column})

    return Mutant(f"anybody chooses {column}", ("buildings", "write", "ada"), apply)


# Doors


def views(site: Site) -> Iterator[tuple[str, object, dict[str, object]]]:
    """The views behind a decorator that asks for a caller, with what it was made of."""
    for endpoint, view in sorted(site.app.view_functions.items()):
        if is_entered(view) and not endpoint.startswith(ELSEWHERE):
            cells = zip(view.__code__.co_freevars, view.__closure__, strict=True)
            yield endpoint, view, {name: cell.cell_contents for name, cell in cells}


def unlocked(endpoint: str, parts: dict[str, object]) -> Mutant:
    """The decorator taken off: whoever knocks is let in, as one who may do anything."""

    def apply(patch: Patch, site: Site) -> None:
        @wraps(parts["view"])
        def entered(*arguments: object, **named: object) -> object:
            g.claims, g.caller = None, SERVICE_CALLER
            callers = () if parts.get("loads_caller") else (SERVICE_CALLER,)
            return parts["view"](*callers, *arguments, **named)

        patch.setitem(site.app.view_functions, endpoint, entered)

    return Mutant(f"{endpoint}: no decorator", ("door", endpoint), apply)


def unprivileged(endpoint: str, parts: dict[str, object]) -> Mutant:
    """The decorator no longer asks for the privilege."""

    def apply(patch: Patch, site: Site) -> None:
        view = decorators.guarded(
            lambda role: True, **{name: part for name, part in parts.items() if name != "allowed"}
        )
        patch.setitem(site.app.view_functions, endpoint, view)

    return Mutant(f"{endpoint}: no privilege asked for", ("door", endpoint), apply)


def of_doors(site: Site) -> Iterator[Mutant]:
    for endpoint, _, parts in views(site):
        yield unlocked(endpoint, parts)
        if not all(parts["allowed"](role) for role in Role):
            yield unprivileged(endpoint, parts)


OTHERS = [
    Mutant("grants of anybody count", ("buildings", "read", "moe"), grants_of_anybody),
    Mutant("anybody chooses ids", ("buildings", "write", "ada"), may_choose_all),
    *map(may_choose_one, ("id", "updated_at")),
    Mutant("no apikey asked for", ("door",), apikey_off),
    Mutant("the user is not looked up", ("session",), look_up_off),
    Mutant("no barrier before filters", ("barrier",), barrier_off),
    Mutant("a write does not ask in its turn", ("again",), first_look_only),
    Mutant("a write that comes to nothing does not ask", ("session",), no_look_at_all),
    Mutant("a call does not ask again", ("again",), no_second_look(rpc)),
]

# The cache of a file

OF_THE_DATABASE = (
    [
        Mutant("the cached caller is stale", ("session",), cached_caller_for_ever),
        Mutant("the version of a cached list is ignored", ("lists",), version_ignored),
        Mutant("the version of a cached count is ignored", ("counts",), version_ignored),
        Mutant(
            "the key of a cached list lacks the caller",
            ("lists",),
            key_without_caller(lambda key: key[0] != "caller" and not is_count(key)),
        ),
        Mutant("the key of a cached count lacks the caller", ("counts",), key_without_caller(is_count)),
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
    def apply(patch: Patch, site: Site) -> None:
        site.side.drop_trigger(name)

    if "audit" in name:
        return Mutant(f"no trigger {name}", ("trail",), apply)
    subject = name.split("_role")[0] if "_role" in name else "last" if "last" in name else "follow"
    return Mutant(f"no trigger {name}", (subject, "write", "root", *name.split("_")[:1]), apply)


def is_trigger(mutant: Mutant) -> bool:
    return mutant.name.startswith("no trigger ")


def every_mutant(site: Site) -> list[Mutant]:
    return [
        *of_policies(),
        *IMPLIED,
        *of_calls(),
        *OTHERS,
        *OF_THE_DATABASE,
        *of_doors(site),
        *map(without_trigger, site.side.triggers()),
    ]


def fate(mutant: Mutant, site: Site, probes: list) -> str | None:
    """What kills a mutant; None where it survives."""
    kept = site.side.triggers()
    with pytest.MonkeyPatch.context() as patch:
        mutant.apply(patch, site)
        forget(site)
        try:
            return killed(site, probes, mutant.about)
        finally:
            patch.undo()
            for name in kept.keys() - site.side.triggers().keys():
                site.side.sql(kept[name])
            forget(site)


def forget(site: Site) -> None:
    """What one mutant let in is not to be remembered under the next: plans, lists, and who came by which key."""
    forget_plans()
    database = site.app.extensions["walkthrough"]
    database.cache.clear()
    site.app.extensions["walkthrough.authenticator"].authenticate_cached.cache_clear()


EQUIVALENT = (
    *(
        f"{table} of client_admin: write, {change}"
        for table in ("client_manager_building_access", "client_manager_inspection_access")
        for change in ("to_own_manager whoever they are", "without to_own_manager")
    ),
    "users of client_admin: write, of any client",
)
"""Mutants that change nothing: whatever is written must be readable too, and the rule for reading says the same."""


def test_every_mutant_of_the_rule_is_killed(site: Site) -> None:
    probes = every_probe(site)
    every = every_mutant(site)
    mutants = [mutant for mutant in every if mutant.name not in EQUIVALENT]
    assert len(mutants) == len(every) - len(EQUIVALENT) > 400
    random.Random(0).shuffle(mutants)
    # What is the database's own is asked of each.
    mutants.sort(key=lambda mutant: not (mutant in OF_THE_DATABASE or is_trigger(mutant)))

    survivors = [mutant.name for mutant in mutants[: share(len(mutants))] if fate(mutant, site, probes) is None]

    assert survivors == [], "\n".join(survivors)


@pytest.mark.long
def test_what_changes_nothing_is_told_by_nothing(site: Site) -> None:
    """Five times every question that there is; one that is killed is a mutant like the others."""
    probes = every_probe(site)
    equivalent = [mutant for mutant in every_mutant(site) if mutant.name in EQUIVALENT]

    assert len(equivalent) == len(EQUIVALENT)
    assert [fate(mutant, site, probes) for mutant in equivalent] == [None] * len(EQUIVALENT)


@pytest.mark.control
def test_a_mutant_that_changes_nothing_survives(site: Site) -> None:
    """The control: the suite does not cry wolf."""

    def nothing(patch: Patch, site: Site) -> None:
        patch.setitem(POLICIES, Building, dict(POLICIES[Building]))

    mutant = Mutant("nothing", ("buildings",), nothing)
    assert fate(mutant, site, every_probe(site)) is None
