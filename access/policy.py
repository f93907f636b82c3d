"""THE rule. Everything that decides who reads or changes what stands in this file.

If you are writing a role's name elsewhere, stop. First the predicates, each named like a claim about one
row (access/predicate.py says what one is); then the table of who may what; then the questions that others
ask. The names of the arms are the rules that explanations give.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import sqlalchemy as sa

from access.caller import Kind
from access.caller import Role
from access.caller import Standing
from access.predicate import CALLER
from access.predicate import Condition
from access.predicate import Either
from access.predicate import Predicate
from access.predicate import alias
from access.predicate import among
from access.predicate import among_few
from access.predicate import both
from access.predicate import either
from access.predicate import equals
from engine.query.rule import Action
from engine.query.rule import ReadScope
from models import AuditLog
from models import Building
from models import Client
from models import ClientAdminBuildingAccess
from models import ClientAdminInspectionAccess
from models import ClientManagerBuildingAccess
from models import ClientManagerInspectionAccess
from models import Inspection
from models import Inspector
from models import ReportLead
from models import User
from models.errors import Denial
from models.fields import Model
from models.fields import Row

SUPER_ADMIN, CLIENT_ADMIN, CLIENT_MANAGER = Role


@dataclass(frozen=True, slots=True)
class Policy:
    """What a role may do with a relation's rows. No predicate: no privilege at all (403).

    `write`: the rows a write may touch. `check`: the rows a write may leave behind; unless said, the
    same. `implied_by`: a model whose visible rows show these, whoever reaches them by their foreign key.
    `is_narrow`: what is visible is visible by grants alone.
    """

    read: Predicate
    write: Predicate | None = None
    check: Predicate | None = None
    implied_by: type[Model] | None = None
    is_narrow: bool = False

    def predicate(self, action: Action) -> Predicate | None:
        """The condition on rows that exist."""
        return self.read if action is Action.READ else self.write

    def would_be(self) -> Predicate | None:
        """The condition on rows that are about to exist."""
        return self.check or self.write


# Predicates


def every_row(standing: Standing, row: Row) -> Condition:
    return sa.true()


def no_row(standing: Standing, row: Row) -> Condition:
    return sa.false()


def client_ownership(standing: Standing, row: Row) -> Condition:
    return equals(row.client_id, CALLER.client_id)


def building_grant(standing: Standing, building: Row) -> Condition:
    return granted(standing, Kind.BUILDING, building.id)


def through_building(standing: Standing, inspection: Row) -> Condition:
    return granted(standing, Kind.BUILDING, inspection.building_id)


def inspection_grant(standing: Standing, inspection: Row) -> Condition:
    return granted(standing, Kind.INSPECTION, inspection.id)


def of_granted_inspection(standing: Standing, reading: Row) -> Condition:
    inspection = alias(Inspection, "rule_inspections")
    return among_few(
        reading.inspection_id, inspection.c.id, visible_by_grant(standing, inspection.c)
    )


def on_visible_inspection(standing: Standing, inspector: Row) -> Condition:
    inspection = alias(Inspection, "rule_inspections")
    visible = visible_by_grant(standing, inspection.c)
    return among(inspector.id, inspection.c.inspector_id, visible)


def own_company(standing: Standing, client: Row) -> Condition:
    return equals(client.id, CALLER.client_id)


def oneself(standing: Standing, user: Row) -> Condition:
    return equals(user.id, CALLER.id)


def own_manager(standing: Standing, user: Row) -> Condition:
    return sa.and_(user.client_id == CALLER.client_id, user.role == CLIENT_MANAGER.value)


def to_own_user(standing: Standing, grant: Row) -> Condition:
    user = alias(User, "rule_users")
    return among(grant.admin_id, user.c.id, user.c.client_id == CALLER.client_id)


def to_own_manager(standing: Standing, grant: Row) -> Condition:
    user = alias(User, "rule_users")
    return among(grant.manager_id, user.c.id, own_manager(standing, user.c))


def to_oneself(standing: Standing, grant: Row) -> Condition:
    return equals(grant.manager_id, CALLER.id)


def on_own_building(standing: Standing, grant: Row) -> Condition:
    building = alias(Building, "rule_buildings")
    return among(grant.building_id, building.c.id, client_ownership(standing, building.c))


def on_own_inspection(standing: Standing, grant: Row) -> Condition:
    inspection = alias(Inspection, "rule_inspections")
    return among(grant.inspection_id, inspection.c.id, client_ownership(standing, inspection.c))


def signed_by_nobody_else(standing: Standing, grant: Row) -> Condition:
    return sa.or_(grant.assigned_by.is_(None), grant.assigned_by == CALLER.id)


visible_by_grant = either(through_building, inspection_grant)


@dataclass(frozen=True, slots=True)
class Grants:
    """An access table, and which of its columns are the grantee and the target.

    `count_beyond_own`: one of their own client's building shows its holder nothing that they do not see anyway, and
    makes no other standing of theirs.
    """

    model: type[Model]
    grantee: str
    target: str
    kind: Kind
    count_beyond_own: bool = False


GRANTS: dict[tuple[Role, Kind], Grants] = {
    (CLIENT_ADMIN, Kind.BUILDING): Grants(
        ClientAdminBuildingAccess,
        "admin_id",
        "building_id",
        Kind.BUILDING,
        count_beyond_own=True,
    ),
    (CLIENT_ADMIN, Kind.INSPECTION): Grants(
        ClientAdminInspectionAccess, "admin_id", "inspection_id", Kind.INSPECTION
    ),
    (CLIENT_MANAGER, Kind.BUILDING): Grants(
        ClientManagerBuildingAccess, "manager_id", "building_id", Kind.BUILDING
    ),
    (CLIENT_MANAGER, Kind.INSPECTION): Grants(
        ClientManagerInspectionAccess, "manager_id", "inspection_id", Kind.INSPECTION
    ),
}


def granted(standing: Standing, kind: Kind, key: Row) -> Condition:
    """The caller holds a grant of that kind on that key. Uncorrelated, so that lists start from it."""
    if kind not in standing.holds or (standing.role, kind) not in GRANTS:
        return sa.false()
    grants = GRANTS[standing.role, kind]
    grant = alias(grants.model, f"rule_{kind.value}_grants")
    return among_few(key, grant.c[grants.target], grant.c[grants.grantee] == CALLER.id)


# The table

EVERYTHING = Policy(read=every_row, write=every_row)

# Written by triggers alone: nobody, not even a super admin, has the privilege to change what was.
AUDIT = {
    SUPER_ADMIN: Policy(read=every_row),
    CLIENT_ADMIN: Policy(read=client_ownership),
    CLIENT_MANAGER: Policy(read=no_row),
}

ADMIN_GRANTS = {
    SUPER_ADMIN: EVERYTHING,
    CLIENT_ADMIN: Policy(read=to_own_user),
    CLIENT_MANAGER: Policy(read=no_row),
}

POLICIES: dict[type[Model], dict[Role, Policy]] = {
    Building: {
        SUPER_ADMIN: EVERYTHING,
        CLIENT_ADMIN: Policy(read=either(client_ownership, building_grant), write=client_ownership),
        CLIENT_MANAGER: Policy(read=either(building_grant), is_narrow=True),
    },
    Inspection: {
        SUPER_ADMIN: EVERYTHING,
        CLIENT_ADMIN: Policy(
            read=either(client_ownership, through_building, inspection_grant),
            write=client_ownership,
            implied_by=Building,
        ),
        CLIENT_MANAGER: Policy(read=visible_by_grant, implied_by=Building, is_narrow=True),
    },
    ReportLead: {
        SUPER_ADMIN: EVERYTHING,
        CLIENT_ADMIN: Policy(
            read=either(client_ownership, of_granted_inspection),
            write=client_ownership,
            implied_by=Inspection,
        ),
        CLIENT_MANAGER: Policy(read=of_granted_inspection, implied_by=Inspection),
    },
    Inspector: {
        SUPER_ADMIN: EVERYTHING,
        CLIENT_ADMIN: Policy(read=every_row),
        CLIENT_MANAGER: Policy(read=on_visible_inspection, implied_by=Inspection),
    },
    Client: {
        SUPER_ADMIN: EVERYTHING,
        CLIENT_ADMIN: Policy(read=own_company),
        CLIENT_MANAGER: Policy(read=own_company),
    },
    User: {
        SUPER_ADMIN: EVERYTHING,
        CLIENT_ADMIN: Policy(read=client_ownership, write=own_manager),
        CLIENT_MANAGER: Policy(read=oneself),
    },
    AuditLog: AUDIT,
    ClientAdminBuildingAccess: ADMIN_GRANTS,
    ClientAdminInspectionAccess: ADMIN_GRANTS,
    ClientManagerBuildingAccess: {
        SUPER_ADMIN: EVERYTHING,
        CLIENT_ADMIN: Policy(
            read=to_own_manager,
            write=both(to_own_manager, on_own_building),
            check=both(to_own_manager, on_own_building, signed_by_nobody_else),
        ),
        CLIENT_MANAGER: Policy(read=to_oneself),
    },
    ClientManagerInspectionAccess: {
        SUPER_ADMIN: EVERYTHING,
        CLIENT_ADMIN: Policy(
            read=to_own_manager,
            write=both(to_own_manager, on_own_inspection),
            check=both(to_own_manager, on_own_inspection, signed_by_nobody_else),
        ),
        CLIENT_MANAGER: Policy(read=to_oneself),
    },
}

CALLS: dict[str, frozenset[Role]] = {
    "get_inspections_dashboard_summary_fast": frozenset(Role),
    "get_building_stats_chart_fast": frozenset(Role),
    "get_building_stats": frozenset(Role),
    "assign_buildings_to_client_admin": frozenset({SUPER_ADMIN}),
    "assign_inspections_to_client_admin": frozenset({SUPER_ADMIN}),
    "assign_to_client_manager": frozenset({SUPER_ADMIN, CLIENT_ADMIN}),
    "check_building_access_v2": frozenset(Role),
    "check_inspection_access": frozenset(Role),
    "explain_building_access": frozenset(Role),
    "explain_inspection_access": frozenset(Role),
}
"""Who may call which function."""

CHOSEN_BY_SUPER_ADMIN = frozenset({"id", "created_at", "updated_at"})
"""Columns whose values only a super admin chooses."""

UNSAID_ROLES: dict[Role, Role] = {CLIENT_ADMIN: CLIENT_MANAGER}
"""The role of a user whose maker says none; a maker who is not here has to say it."""


# The questions that others ask


def permits(role: Role, action: Action, model: type[Model]) -> bool:
    """Whether the role has the privilege to do this to any row of the relation."""
    policy = POLICIES[model].get(role)
    return policy is not None and policy.predicate(action) is not None


def sees_all(role: Role, model: type[Model]) -> bool:
    """Whether no row of the relation is hidden from the role."""
    policy = POLICIES[model].get(role)
    return policy is not None and policy.read is every_row


READ_SCOPES: dict[Predicate, ReadScope] = {
    every_row: ReadScope.EVERYTHING,
    client_ownership: ReadScope.OWN_CLIENT,
}


@cache
def read_scope_of(read: Predicate, standing: Standing, model: type[Model]) -> ReadScope | None:
    """How far a claim reaches; None if it takes a look at other rows, as grants do."""
    row = alias(model, "rule_rows").c
    arms = read.arms if isinstance(read, Either) else (read,)
    claims = [arm for arm in arms if not isinstance(arm(standing, row), sa.False_)]
    return READ_SCOPES.get(claims[0]) if len(claims) == 1 else None


class PermissionDenied(Denial):
    """A role that lacks the privilege (403, 42501)."""


def require(role: Role, action: Action, model: type[Model]) -> None:
    """Raise PermissionDenied where the privilege is lacking."""
    if not permits(role, action, model):
        raise PermissionDenied(f"permission denied for table {model.__tablename__}")


def not_chosen_by(role: Role) -> frozenset[str]:
    """The columns that the role may give no value of its own."""
    return frozenset() if role is SUPER_ADMIN else CHOSEN_BY_SUPER_ADMIN


def may_call(role: Role, function: str) -> bool:
    """Whether the role has the privilege to call this function."""
    return role in CALLS.get(function, frozenset())


def may_administer(role: Role) -> bool:
    """Whether the role may write users at all."""
    return permits(role, Action.INSERT, User)


def role_unless_said(role: Role) -> Role | None:
    """The role of a user whom this role makes without a word of it."""
    return UNSAID_ROLES.get(role)


@dataclass(frozen=True, slots=True)
class AccessRule:
    """The rule under one standing, as the query engine receives it."""

    standing: Standing

    def rows(self, action: Action, model: type[Model], row: Row) -> Condition:
        """The existing rows within reach of an action; none where the privilege is lacking."""
        return self.apply(POLICIES[model].get(self.standing.role), action, row)

    def apply(self, policy: Policy | None, action: Action, row: Row) -> Condition:
        predicate = policy.predicate(action) if policy is not None else None
        return predicate(self.standing, row) if predicate is not None else sa.false()

    def check(self, model: type[Model], row: Row) -> Condition:
        """The rows that a write may leave behind."""
        policy = POLICIES[model].get(self.standing.role)
        predicate = policy.would_be() if policy is not None else None
        return predicate(self.standing, row) if predicate is not None else sa.false()

    def implied(self, model: type[Model], by: type[Model]) -> bool:
        """Whether a row of `model` is visible because a visible row of `by` points at it or is its parent."""
        policy = POLICIES[model].get(self.standing.role)
        return policy is not None and policy.implied_by is by

    def read_scope(self, model: type[Model]) -> ReadScope | None:
        """How far reads reach, if one claim says it all and takes no look at other rows."""
        policy = POLICIES[model].get(self.standing.role)
        return read_scope_of(policy.read, self.standing, model) if policy is not None else None

    def narrow(self, model: type[Model]) -> bool:
        """Whether the caller sees of a model what they were granted, and nothing else."""
        policy = POLICIES[model].get(self.standing.role)
        return policy is not None and policy.is_narrow

    @property
    def unchosen(self) -> frozenset[str]:
        """The columns that a payload may give no value."""
        return not_chosen_by(self.standing.role)
