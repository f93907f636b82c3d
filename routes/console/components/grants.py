"""Grants of buildings and inspections: their holders, the roles that may receive one, and what a grant reveals.

The access rule decides what a user sees, `access/policy.py` names the table of each grant, and
`access/assignments.py` creates grants.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from access import assignments, explain, policy
from access.assignments import InvalidGrantee
from access.caller import Caller, GrantKind, Role
from access.policy import GRANT_TABLES, AccessRule, GrantTable
from engine.current import reading
from engine.query.rule import Action
from engine.storage.transaction import Transaction
from models import Building
from routes.console.components import queries, user_choice
from routes.console.components.queries import Row

HOLDERS_SHOWN = 25  # for each table
GRANTS_SHOWN = 200  # of a user, for each table
TARGET_COLUMNS = {
    GrantKind.BUILDING: "buildings(id,name)",
    GrantKind.INSPECTION: "inspections(id,inspection_type,date_visited)",
}
INSPECTION_COLUMNS = {GrantKind.BUILDING: "building_id", GrantKind.INSPECTION: "id"}
"""The column of an inspection that a grant of that kind refers to."""


@dataclass(frozen=True, slots=True)
class GrantPage:
    """Grants with their `person` or `target`, and whether the list was cut."""

    rows: list[Row]
    is_cut: bool


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
        if each is kind and policy.permits(caller.role, Action.INSERT, grants.model)
    ]


def grant_table(caller: Caller, user_id: str, kind: GrantKind) -> GrantTable:
    """Return the table of the grants of a user; raise InvalidGrantee if the user cannot hold that kind."""
    row = queries.first_row(caller, "users", f"select=role&id=eq.{user_id}")
    grants = GRANT_TABLES.get((Role(row["role"]), kind)) if row is not None else None
    if grants is None:
        raise InvalidGrantee(grantable_roles(caller, kind)[-1])
    return grants


def holders(caller: Caller, kind: GrantKind, key: int, user_id: str | None = None) -> GrantPage:
    """Return the grants of a row that the caller may see: all of them, or those of one user."""
    rows: list[Row] = []
    is_cut = False
    if not policy.may_administer(caller.role):
        return GrantPage(rows, is_cut)
    for (_, each), grants in GRANT_TABLES.items():
        if each is not kind:
            continue
        filters = f"{grants.target}=eq.{key}&order=assigned_at,{grants.grantee}"
        if user_id is not None:
            filters += f"&{grants.grantee}=eq.{user_id}"
        holders_page = holders_in(caller, grants, filters)
        is_cut = is_cut or holders_page.is_cut
        rows += holders_page.rows
    rows = [row for row in rows if row["person"] is not None]
    user_choice.mark_deactivated([row["person"] for row in rows])
    return GrantPage(rows, is_cut)


def holders_in(caller: Caller, grants: GrantTable, filters: str) -> GrantPage:
    """Return the grants of one table with their users."""
    table = grants.model.__tablename__
    person = f"person:users!{table}_{grants.grantee}_fkey(id,name,role,clients(name))"
    return list_grants(caller, grants, grants.grantee, person, filters, HOLDERS_SHOWN)


def grants_of(caller: Caller, grants: GrantTable, user_id: str, key: int | None = None) -> GrantPage:
    """Return the grants of a user in one table, or one of them, newest first, with the `target` if it is visible."""
    target = f"target:{TARGET_COLUMNS[grants.kind]}"
    filters = f"{grants.grantee}=eq.{user_id}&order=assigned_at.desc,{grants.target}"
    if key is not None:
        filters += f"&{grants.target}=eq.{key}"
    return list_grants(caller, grants, grants.target, target, filters, GRANTS_SHOWN)


def list_grants(caller: Caller, grants: GrantTable, key: str, columns: str, filters: str, size: int) -> GrantPage:
    """Return grants of one table that the caller may see, with `revocable` where the caller may revoke one."""
    table = grants.model.__tablename__
    by = f"by:users!{table}_assigned_by_fkey(name)"
    select = f"select=key:{key},assigned_at,{columns},{by}&{filters}"
    page = queries.first_page(caller, table, select, size)
    select = f"select=key:{key}&{filters}"
    revocable = queries.select_rows(caller, table, select, limit=page.size, within=Action.DELETE).rows
    keys = {row["key"] for row in revocable}
    rows = [{**row, "revocable": row["key"] in keys} for row in page.rows]
    return GrantPage(rows, page.has_more)


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
    policy.require(caller.role, Action.INSERT, grants.model)
    role = next(role for (role, _), each in GRANT_TABLES.items() if each is grants)
    return assignments.assign_to_user(transaction, caller, role, user_id, kind, ids).created


def revoke_grants(transaction: Transaction, caller: Caller, user_id: str, kind: GrantKind, ids: list[int]) -> int:
    """Revoke grants and return the number of deleted ones."""
    grants = grant_table(caller, user_id, kind)
    filters = f"{grants.grantee}=eq.{user_id}&{grants.target}=in.({','.join(map(str, ids))})"
    return queries.delete_in(transaction, caller, grants.model.__tablename__, filters)
