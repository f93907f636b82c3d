"""Grants of buildings and of single inspections: who holds them, who may be given one, what it shows or hides.

What somebody sees, with a grant or without it, is the rule's own answer for that user; which table a
grant stands in is `access/policy.py`'s to say; giving is `access/assignments.py`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace

from access import assignments
from access import explain
from access import policy
from access.assignments import InvalidGrantee
from access.caller import Caller
from access.caller import GrantKind
from access.caller import Role
from access.policy import GRANT_TABLES
from access.policy import AccessRule
from access.policy import GrantTable
from engine.current import reading
from engine.query.rule import Action
from engine.storage.transaction import Transaction
from models import Building
from routes.console.components import queries as engine
from routes.console.components.queries import Row

HOLDERS_SHOWN = 25  # of a table
HELD_SHOWN = 200  # of a person, in a table
SHOWN_OF = {
    GrantKind.BUILDING: "buildings(id,name)",
    GrantKind.INSPECTION: "inspections(id,inspection_type,date_visited)",
}
TARGETS = {GrantKind.BUILDING: "building_id", GrantKind.INSPECTION: "id"}
"""What of an inspection a grant of that kind names."""


@dataclass(frozen=True, slots=True)
class Held:
    """Grants with their `person` or `target`, and whether those are not all of them."""

    rows: list[Row]
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Sight:
    """How much of something is seen."""

    inspections: int
    readings: int

    def beyond(self, other: Sight) -> Sight:
        """What of this is not in the other, which is a part of it."""
        return Sight(
            max(0, self.inspections - other.inspections), max(0, self.readings - other.readings)
        )


def grantees(caller: Caller, kind: GrantKind) -> list[Role]:
    """The roles whose grants of that kind the caller may make; the one below the others comes last."""
    return [
        role
        for (role, each), grants in GRANT_TABLES.items()
        if each is kind and policy.permits(caller.role, Action.INSERT, grants.model)
    ]


def grants_to(caller: Caller, person: str, kind: GrantKind) -> GrantTable:
    """Where the grants of somebody stand whom the caller sees, and who may hold any."""
    row = engine.one(caller, "users", f"select=role&id=eq.{person}")
    grants = GRANT_TABLES.get((Role(row["role"]), kind)) if row is not None else None
    if grants is None:
        raise InvalidGrantee(grantees(caller, kind)[-1])
    return grants


def holders(caller: Caller, kind: GrantKind, key: int, person: str | None = None) -> Held:
    """Who was granted it, or the one in question, as far as the caller sees grants."""
    found: list[Row] = []
    is_cut = False
    if not policy.may_administer(caller.role):
        return Held(found, is_cut)
    for (_, each), grants in GRANT_TABLES.items():
        if each is not kind:
            continue
        named = f"{grants.target}=eq.{key}&order=assigned_at,{grants.grantee}"
        if person is not None:
            named += f"&{grants.grantee}=eq.{person}"
        held = held_in(caller, grants, named)
        is_cut = is_cut or held.is_cut
        found += held.rows
    return Held([row for row in found if row["person"] is not None], is_cut)


def held_in(caller: Caller, grants: GrantTable, named: str) -> Held:
    """Grants of one table to whoever holds them."""
    table = grants.model.__tablename__
    person = f"person:users!{table}_{grants.grantee}_fkey(id,name,role,clients(name))"
    return listed(caller, grants, grants.grantee, person, named, HOLDERS_SHOWN)


def held_by(caller: Caller, grants: GrantTable, person: str) -> Held:
    """What somebody was granted in one table, newest first: its `target`, where the caller sees that."""
    target = f"target:{SHOWN_OF[grants.kind]}"
    named = f"{grants.grantee}=eq.{person}&order=assigned_at.desc,{grants.target}"
    return listed(caller, grants, grants.target, target, named, HELD_SHOWN)


def listed(caller: Caller, grants: GrantTable, key: str, shown: str, named: str, size: int) -> Held:
    """Grants of one table that the caller sees, as a `key` with what is shown of it; `revocable` are
    those that they may take back."""
    table = grants.model.__tablename__
    by = f"by:users!{table}_assigned_by_fkey(name)"
    select = f"select=key:{key},assigned_at,{shown},{by}&{named}"
    found = engine.first(caller, table, select, size)
    select = f"select=key:{key}&{named}"
    within = engine.ask(caller, table, select, limit=found.size, within=Action.DELETE).rows
    keys = {row["key"] for row in within}
    rows = [{**row, "revocable": row["key"] in keys} for row in found.rows]
    return Held(rows, found.has_more)


# What it shows


def user(caller: Caller, person: str) -> Caller:
    """Somebody whom the caller sees, as one who asks."""
    with reading() as transaction:
        return explain.readable_user(transaction, caller, person)


def without(person: Caller, kind: GrantKind) -> Caller:
    """The same without any grant of that kind."""
    profile = replace(person.profile, kinds=person.profile.kinds - {kind})
    return replace(person, profile=profile)


def sight(person: Caller, kind: GrantKind, ids: list[int]) -> Sight:
    """What somebody sees of these buildings, or of these inspections."""
    named = f"{TARGETS[kind]}=in.({','.join(map(str, ids))})"
    return Sight(
        engine.number(person, "inspections", named),
        engine.number(person, "reports_lead", f"select=id,inspections!inner()&inspections.{named}"),
    )


def gained(caller: Caller, person: Caller, kind: GrantKind, ids: list[int]) -> Sight:
    """What grants of these would show to somebody, of what the caller sees."""
    return sight(caller, kind, ids).beyond(sight(person, kind, ids))


def lost(person: Caller, kind: GrantKind, ids: list[int]) -> Sight:
    """What somebody would see no more without their grants of these."""
    return sight(person, kind, ids).beyond(sight(without(person, kind), kind, ids))


def seen_anyway(caller: Caller, person: str, ids: list[int]) -> set[int]:
    """Those of the buildings that somebody sees without any grant."""
    asked = without(user(caller, person), GrantKind.BUILDING)
    if AccessRule(asked.profile).reads_by_grants_only(Building):
        return set()
    text = f"select=id&id=in.({','.join(map(str, ids))})"
    return {row["id"] for row in engine.ask(asked, "buildings", text, limit=len(ids)).rows}


# Giving and taking, in a turn to write


def give(
    transaction: Transaction, caller: Caller, person: str, kind: GrantKind, ids: list[int]
) -> int:
    """How many grants were made: what there was already stays as it is, and is not counted."""
    grants = grants_to(caller, person, kind)
    policy.require(caller.role, Action.INSERT, grants.model)
    role = next(role for (role, _), each in GRANT_TABLES.items() if each is grants)
    return assignments.assign_to_user(transaction, caller, role, person, kind, ids).created


def take(
    transaction: Transaction, caller: Caller, person: str, kind: GrantKind, ids: list[int]
) -> int:
    """How many were taken back: what was gone already, or is out of reach, is not counted."""
    grants = grants_to(caller, person, kind)
    named = f"{grants.grantee}=eq.{person}&{grants.target}=in.({','.join(map(str, ids))})"
    return engine.delete_in(transaction, caller, grants.model.__tablename__, named)
