"""The predicates of row rules, and the functions that compose them. `access/policy.py` gives them to roles and tables.

A predicate is a function of a grant profile and a row's columns that returns an SQL condition. The row is a table
alias, or the values of a row that a write would leave. Explanations report predicates by their names. Their docstrings
are the words of the table in docs/ACCESS.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa

from access.roles import GrantKind, GrantProfile, Role
from engine.query.catalog import aliased
from engine.query.dialect.in_subquery import InSubquery, SmallInSubquery
from engine.query.statement import parameter
from models import (
    Building,
    CalibrationCheck,
    ClientAdminBuildingAccess,
    ClientAdminInspectionAccess,
    ClientManagerBuildingAccess,
    ClientManagerInspectionAccess,
    Finding,
    Inspection,
    InspectionPlan,
    Inspector,
    ReportLead,
    User,
    XrfInstrument,
)
from models.fields import Model, Row
from models.types import DATE
from models.vocabulary import OPEN_STATUSES

SUPER_ADMIN, CLIENT_ADMIN, CLIENT_MANAGER = Role

Condition = sa.ColumnElement[bool]
Predicate = Callable[[GrantProfile, Row], Condition]


class CALLER:
    """The caller's values as parameters of the plan."""

    id: sa.BindParameter[str] = parameter("caller_id", User.__table__.c.id.type)
    client_id: sa.BindParameter[int] = parameter("caller_client_id", sa.BigInteger)
    visits_since: sa.BindParameter[str] = parameter("visits_since", DATE.storage)


def equals(column: Row, value: Row) -> Condition:
    condition: Condition = column == value
    return condition


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A disjunction. The SQL omits parts that are false for the grant profile."""

    parts: tuple[Predicate, ...]

    def __call__(self, profile: GrantProfile, row: Row) -> Condition:
        conditions = [part(profile, row) for part in self.parts]
        possible = [each for each in conditions if not isinstance(each, sa.False_)]
        return sa.or_(*possible) if possible else sa.false()


@dataclass(frozen=True, slots=True)
class AllOf:
    """A conjunction."""

    parts: tuple[Predicate, ...]

    def __call__(self, profile: GrantProfile, row: Row) -> Condition:
        return sa.and_(sa.true(), *(part(profile, row) for part in self.parts))


def any_of(*parts: Predicate) -> AnyOf:
    return AnyOf(parts)


def all_of(*parts: Predicate) -> AllOf:
    return AllOf(parts)


def in_subquery(key: Row, column: Row, where: Condition) -> Condition:
    """Return `key IN (SELECT column … WHERE where)`, or false if `where` is false."""
    values = sa.select(column).where(where)
    return sa.false() if isinstance(where, sa.False_) else InSubquery(key, values)


def in_small_subquery(key: Row, column: Row, where: Condition) -> Condition:
    """Return the same condition, marked as selecting few rows: the grants of one user."""
    values = sa.select(column).where(where)
    return sa.false() if isinstance(where, sa.False_) else SmallInSubquery(key, values)


def alias(model: type[Model], name: str) -> Row:
    """Return an alias of a table for use in a rule. The plan's guard exempts these aliases by their names."""
    return aliased(model.__table__, name)


# Predicates


def every_row(profile: GrantProfile, row: Row) -> Condition:
    """Every row."""
    return sa.true()


def no_row(profile: GrantProfile, row: Row) -> Condition:
    """No row."""
    return sa.false()


def client_ownership(profile: GrantProfile, row: Row) -> Condition:
    """Rows of their client."""
    return equals(row.client_id, CALLER.client_id)


def building_grant(profile: GrantProfile, building: Row) -> Condition:
    """Granted buildings."""
    return has_grant(profile, GrantKind.BUILDING, building.id)


def through_building(profile: GrantProfile, inspection: Row) -> Condition:
    """Inspections of granted buildings."""
    return has_grant(profile, GrantKind.BUILDING, inspection.building_id)


def inspection_grant(profile: GrantProfile, inspection: Row) -> Condition:
    """Granted inspections."""
    return has_grant(profile, GrantKind.INSPECTION, inspection.id)


def own_visit(profile: GrantProfile, inspection: Row) -> Condition:
    """Visits of the inspector whose user they are: open ones, and those of the last 90 days."""
    return in_own_visits(profile, inspection.id, "id")


def has_own_visit(profile: GrantProfile, building: Row) -> Condition:
    """Buildings of such visits."""
    return in_own_visits(profile, building.id, "building_id")


def of_own_visit(profile: GrantProfile, row: Row) -> Condition:
    """Rows of their own visits."""
    return in_own_visits(profile, row.inspection_id, "id")


def of_own_case(profile: GrantProfile, finding: Row) -> Condition:
    """Findings of cases with such a visit."""
    if not profile.is_inspector:
        return sa.false()
    plan = alias(InspectionPlan, "rule_plans")
    of_case = in_small_subquery(finding.case_id, plan.c.case_id, of_own_visit(profile, plan.c))
    return sa.or_(of_own_visit(profile, finding), of_case)


def in_own_visits(profile: GrantProfile, key: Row, column: str) -> Condition:
    """Return the condition that a key is a column of one of the caller's own visits."""
    if not profile.is_inspector:
        return sa.false()
    visit, inspector = alias(Inspection, "rule_visits"), alias(Inspector, "rule_inspectors")
    link = sa.select(inspector.c.id).where(inspector.c.user_id == CALLER.id).scalar_subquery()
    is_current = sa.or_(visit.c.status.in_(OPEN_STATUSES), visit.c.date_visited >= CALLER.visits_since)
    return in_small_subquery(key, visit.c[column], sa.and_(visit.c.inspector_id == link, is_current))


def of_visible_inspection(profile: GrantProfile, row: Row) -> Condition:
    """Rows of inspections that a grant or a visit of theirs shows."""
    inspection = alias(Inspection, "rule_inspections")
    return in_small_subquery(row.inspection_id, inspection.c.id, visible_by_claim(profile, inspection.c))


def of_visible_building(profile: GrantProfile, row: Row) -> Condition:
    """Rows of buildings that a grant or a visit of theirs shows."""
    building = alias(Building, "rule_buildings")
    return in_small_subquery(row.building_id, building.c.id, building_by_claim(profile, building.c))


def of_visible_finding(profile: GrantProfile, row: Row) -> Condition:
    """Rows of findings that they read."""
    return of_finding(profile, row, of_visible_inspection)


def of_own_finding(profile: GrantProfile, row: Row) -> Condition:
    """Rows of findings of their own visits."""
    return of_finding(profile, row, of_own_visit)


def of_finding(profile: GrantProfile, row: Row, predicate: Predicate) -> Condition:
    """Return the condition that a predicate holds for the finding of a row."""
    finding = alias(Finding, "rule_findings")
    return in_small_subquery(row.finding_id, finding.c.id, predicate(profile, finding.c))


def shared(profile: GrantProfile, instrument: Row) -> Condition:
    """Shared instruments: those without a client."""
    condition: Condition = instrument.client_id.is_(None)
    return condition


def used_in_visible_inspection(profile: GrantProfile, instrument: Row) -> Condition:
    """Instruments, shared or of the inspection's client, that a reading or check of an inspection they read names."""
    readings, checks = alias(ReportLead, "rule_readings"), alias(CalibrationCheck, "rule_checks")
    visible = [(row.c, of_visible_inspection(profile, row.c)) for row in (readings, checks)]
    if any(isinstance(where, sa.False_) for _, where in visible):
        return sa.false()
    used = sa.union(*(sa.select(row.gun_id, row.client_id).where(where) for row, where in visible)).subquery(
        "rule_used"
    )
    is_shared = sa.and_(shared(profile, instrument), instrument.gun_id.in_(sa.select(used.c.gun_id)))
    return sa.or_(is_shared, sa.tuple_(instrument.gun_id, instrument.client_id).in_(sa.select(used)))


def of_own_instrument(profile: GrantProfile, limit: Row) -> Condition:
    """Limits of instruments of their client."""
    return of_instrument(profile, limit, client_ownership)


def of_shared_instrument(profile: GrantProfile, limit: Row) -> Condition:
    """Limits of shared instruments."""
    return of_instrument(profile, limit, shared)


def of_used_instrument(profile: GrantProfile, limit: Row) -> Condition:
    """Limits of instruments that they read."""
    return of_instrument(profile, limit, used_in_visible_inspection)


def of_instrument(profile: GrantProfile, limit: Row, predicate: Predicate) -> Condition:
    """Return the condition that a predicate holds for the instrument of a limit."""
    instrument = alias(XrfInstrument, "rule_instruments")
    return in_subquery(limit.gun_id, instrument.c.gun_id, predicate(profile, instrument.c))


def on_visible_inspection(profile: GrantProfile, inspector: Row) -> Condition:
    """Inspectors of inspections that they read."""
    inspection = alias(Inspection, "rule_inspections")
    visible = visible_by_claim(profile, inspection.c)
    return in_subquery(inspector.id, inspection.c.inspector_id, visible)


def own_client(profile: GrantProfile, client: Row) -> Condition:
    """Their client."""
    return equals(client.id, CALLER.client_id)


def own_user(profile: GrantProfile, user: Row) -> Condition:
    """Themselves."""
    return equals(user.id, CALLER.id)


def own_manager(profile: GrantProfile, user: Row) -> Condition:
    """Managers of their client."""
    return sa.and_(user.client_id == CALLER.client_id, user.role == CLIENT_MANAGER.value)


def to_own_user(profile: GrantProfile, grant: Row) -> Condition:
    """Grants to users of their client."""
    user = alias(User, "rule_users")
    return in_subquery(grant.admin_id, user.c.id, user.c.client_id == CALLER.client_id)


def to_own_manager(profile: GrantProfile, grant: Row) -> Condition:
    """Grants to managers of their client."""
    user = alias(User, "rule_users")
    return in_subquery(grant.manager_id, user.c.id, own_manager(profile, user.c))


def to_caller(profile: GrantProfile, grant: Row) -> Condition:
    """Grants to themselves."""
    return equals(grant.manager_id, CALLER.id)


def on_own_building(profile: GrantProfile, grant: Row) -> Condition:
    """On buildings of their client."""
    building = alias(Building, "rule_buildings")
    return in_subquery(grant.building_id, building.c.id, client_ownership(profile, building.c))


def on_own_inspection(profile: GrantProfile, grant: Row) -> Condition:
    """On inspections of their client."""
    inspection = alias(Inspection, "rule_inspections")
    return in_subquery(grant.inspection_id, inspection.c.id, client_ownership(profile, inspection.c))


def signed_by_caller_or_unsigned(profile: GrantProfile, grant: Row) -> Condition:
    """With `assigned_by` null or themselves."""
    return sa.or_(grant.assigned_by.is_(None), grant.assigned_by == CALLER.id)


VISIT_DAYS = 90
"""An inspector reads a visit of theirs for this number of days after it."""

visible_by_claim = any_of(through_building, inspection_grant, own_visit)
building_by_claim = any_of(building_grant, has_own_visit)


@dataclass(frozen=True, slots=True)
class GrantTable:
    """A table of grants, and the names of its columns for the grantee and the target.

    `ignore_own_client`: the role reads all buildings of its own client. A grant on one of these adds nothing, so it
    does not count in the grant profile.
    """

    model: type[Model]
    grantee: str
    target: str
    kind: GrantKind
    ignore_own_client: bool = False


def grant_table(model: type[Model], kind: GrantKind, *, ignore_own_client: bool = False) -> GrantTable:
    assert model.grant is not None
    return GrantTable(model, model.grant.grantee, model.grant.target, kind, ignore_own_client)


GRANT_TABLES: dict[tuple[Role, GrantKind], GrantTable] = {
    (CLIENT_ADMIN, GrantKind.BUILDING): grant_table(
        ClientAdminBuildingAccess, GrantKind.BUILDING, ignore_own_client=True
    ),
    (CLIENT_ADMIN, GrantKind.INSPECTION): grant_table(ClientAdminInspectionAccess, GrantKind.INSPECTION),
    (CLIENT_MANAGER, GrantKind.BUILDING): grant_table(ClientManagerBuildingAccess, GrantKind.BUILDING),
    (CLIENT_MANAGER, GrantKind.INSPECTION): grant_table(ClientManagerInspectionAccess, GrantKind.INSPECTION),
}


def has_grant(profile: GrantProfile, kind: GrantKind, key: Row) -> Condition:
    """Return the condition that the caller holds a grant of this kind on the key.

    The subquery is not correlated, so that the planner can start a list from it.
    """
    if kind not in profile.kinds or (profile.role, kind) not in GRANT_TABLES:
        return sa.false()
    grants = GRANT_TABLES[profile.role, kind]
    grant = alias(grants.model, f"rule_{kind.value}_grants")
    return in_small_subquery(key, grant.c[grants.target], grant.c[grants.grantee] == CALLER.id)
