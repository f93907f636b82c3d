"""Grants of buildings and inspections: their holders, the roles that may receive one, and what a grant reveals.

The access rule decides what a user sees, `access/predicates.py` names the table of each grant, and
`access/assignments.py` creates grants.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from access import assignments, explain, policy
from access.assignments import InvalidGrantee
from access.caller import Caller
from access.policy import AccessRule
from access.predicates import GRANT_TABLES, GrantTable
from access.roles import GrantKind, Role
from engine.current import reading
from engine.interface.transaction import Transaction
from engine.query.rule import Action
from models import Building
from routes.console.components import queries
from routes.console.components.page import ROLE_NAMES
from routes.console.components.submissions import once
from routes.console.components.tables import PATH, Row, Table

INSPECTION_COLUMNS = {GrantKind.BUILDING: "building_id", GrantKind.INSPECTION: "id"}
"""The column of an inspection that a grant of that kind refers to."""


@dataclass(frozen=True, slots=True)
class VisibleCounts:
    """Numbers of visible inspections and lead readings."""

    inspections: int
    readings: int

    def beyond(self, other: VisibleCounts) -> VisibleCounts:
        """Return the counts of this without those of `other`, which is a subset."""
        return VisibleCounts(max(0, self.inspections - other.inspections), max(0, self.readings - other.readings))


def grantable_roles(caller: Caller, kind: GrantKind) -> list[Role]:
    """Return the roles to which the caller may grant that kind, the least privileged role last."""
    return [
        role
        for (role, each), grants in GRANT_TABLES.items()
        if each is kind and policy.permits(caller.profile, Action.INSERT, grants.model)
    ]


def grant_table(caller: Caller, user_id: str, kind: GrantKind) -> GrantTable:
    """Return the table of the grants of a user; raise InvalidGrantee if the user cannot hold that kind."""
    row = queries.first_row(caller, "users", f"select=role&id=eq.{user_id}")
    grants = GRANT_TABLES.get((Role(row["role"]), kind)) if row is not None else None
    if grants is None:
        raise InvalidGrantee(grantable_roles(caller, kind)[-1])
    return grants


def grantees(caller: Caller, kind: GrantKind, key: int, size: int) -> set[str]:
    """Return the ids of at most `size` users of each role with a grant of a row, as far as the caller sees them."""
    return {
        row["id"]
        for (_, each), grants in GRANT_TABLES.items()
        if each is kind
        for row in queries.first_page(
            caller, grants.model.__tablename__, f"select=id:{grants.grantee}&{grants.target}=eq.{key}", size
        ).rows
    }


def grant_links(table: Table, caller: Caller, rows: list[Row], back: str) -> dict[str, list[tuple[str, str]]]:
    """Return the links that explain and revoke grants, by key. A revocation returns to the page `back`."""
    grant = table.model.grant
    assert grant is not None
    links: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        key, person, target = table.key_text(row), row[grant.grantee], row[grant.target]
        kind = GrantKind(grant.target.removesuffix("_id"))
        links[key] = [("Why?", f"{PATH}/why?person={person}&kind={kind.value}&key={target}")]
        if queries.is_permitted(caller, Action.DELETE, table.name, table.filters(key)):
            links[key].append(("Revoke", f"{PATH}/{kind.value}s/{target}/access?person={person}&back={back}"))
    return links


def matrix_links(caller: Caller, filters: str) -> list[tuple[str, str]]:
    """Return the links to the access matrix of each role to which the caller may grant buildings."""
    return [
        (f"Assign {ROLE_NAMES[role].lower()}s", f"{PATH}/access?role={role.value}&{filters}")
        for role in reversed(grantable_roles(caller, GrantKind.BUILDING))
    ]


# Previews


def caller_of(caller: Caller, user_id: str) -> Caller:
    """Return a user that the caller may see as a caller."""
    with reading() as transaction:
        return explain.readable_user(transaction, caller, user_id)


def without_grants(user: Caller, kind: GrantKind) -> Caller:
    """Return a caller without the grants of that kind."""
    profile = replace(user.profile, kinds=user.profile.kinds - {kind})
    return replace(user, profile=profile)


def count_visible(user: Caller, kind: GrantKind, ids: list[int]) -> VisibleCounts:
    """Return what a caller sees of these buildings or inspections."""
    filters = f"{INSPECTION_COLUMNS[kind]}=in.({','.join(map(str, ids))})"
    return VisibleCounts(
        queries.count_rows(user, "inspections", filters),
        queries.count_rows(user, "reports_lead", f"select=id,inspections!inner()&inspections.{filters}"),
    )


def gain(caller: Caller, user: Caller, kind: GrantKind, ids: list[int]) -> VisibleCounts:
    """Return what grants of these would reveal to a user, of what the caller sees."""
    return count_visible(caller, kind, ids).beyond(count_visible(user, kind, ids))


def loss(user: Caller, kind: GrantKind, ids: list[int]) -> VisibleCounts:
    """Return what a user would lose with the grants of these."""
    return count_visible(user, kind, ids).beyond(count_visible(without_grants(user, kind), kind, ids))


def visible_without_grant(caller: Caller, user_id: str, ids: list[int]) -> set[int]:
    """Return those of the buildings that a user sees without a grant."""
    user = without_grants(caller_of(caller, user_id), GrantKind.BUILDING)
    if AccessRule(user.profile).reads_by_grants_only(Building):
        return set()
    text = f"select=id&id=in.({','.join(map(str, ids))})"
    return {row["id"] for row in queries.select_rows(user, "buildings", text, limit=len(ids)).rows}


# Writes, in an open transaction


def create_grants(transaction: Transaction, caller: Caller, user_id: str, kind: GrantKind, ids: list[int]) -> int:
    """Create grants and return the number of new ones."""
    grants = grant_table(caller, user_id, kind)
    policy.require(caller.profile, Action.INSERT, grants.model)
    role = next(role for (role, _), each in GRANT_TABLES.items() if each is grants)

    def create() -> int:
        return assignments.assign_to_user(transaction, caller, role, user_id, kind, ids).created

    return int(once(transaction, caller, grants.model.__tablename__, create))


def revoke_grants(transaction: Transaction, caller: Caller, user_id: str, kind: GrantKind, ids: list[int]) -> int:
    """Revoke grants and return the number of deleted ones."""
    grants = grant_table(caller, user_id, kind)
    filters = f"{grants.grantee}=eq.{user_id}&{grants.target}=in.({','.join(map(str, ids))})"
    name = grants.model.__tablename__
    return int(once(transaction, caller, name, lambda: queries.delete_in(transaction, caller, name, filters)))
