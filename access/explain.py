"""May that user read it, and why: the same predicates, with that user's values in the caller's place.

Whoever may read a user may ask about them, and nobody else; that is settled before any row is looked
at. A row that the asker cannot see is told about as one that does not exist, whoever is asked about.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import sqlalchemy as sa

from access.caller import Caller
from access.caller import Kind
from access.caller import Role
from access.policy import GRANTS
from access.policy import POLICIES
from access.policy import AccessRule
from access.policy import PermissionDenied
from access.policy import building_grant
from access.policy import every_row
from access.policy import inspection_grant
from access.policy import through_building
from access.predicate import CALLER
from access.predicate import Predicate
from access.predicate import alias
from access.session import person
from engine.query.catalog import catalog
from engine.query.dialect.registry import DIALECTS
from engine.query.read.planner import Planner
from engine.query.rule import Action
from engine.query.statement import Binding
from engine.query.statement import Statement
from engine.query.statement import new_value
from engine.query.statement import parameter
from engine.storage.database import Transaction
from models import User
from models.fields import Model
from models.fields import Row

EVIDENCE: dict[Predicate, tuple[Kind, str]] = {
    building_grant: (Kind.BUILDING, "id"),
    through_building: (Kind.BUILDING, "building_id"),
    inspection_grant: (Kind.INSPECTION, "id"),
}
"""Arms that rest on a grant: of which kind, and which of the row's columns it names."""


class UserOutOfReach(PermissionDenied):
    """A question about a user whom the caller cannot read, or who does not exist: nobody learns which."""

    def __init__(self) -> None:
        super().__init__("permission denied to ask about this user")


@dataclass(frozen=True, slots=True)
class Reason:
    """A rule that lets a user read a row, by its name in the policy; who granted it, if it is a grant."""

    rule: str
    granted_by: str | None
    granted_at: str | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Whether a user may read a row, and every rule by which they may."""

    allowed: bool
    reasons: tuple[Reason, ...]


REFUSED = Explanation(False, ())


def check(
    transaction: Transaction, caller: Caller, model: type[Model], key: int, user_id: str
) -> bool:
    """Whether a user may read a row that the caller can see."""
    user = asked_about(transaction, caller, user_id)
    return sees(transaction, caller, model, key) and sees(transaction, user, model, key)


def explain(
    transaction: Transaction, caller: Caller, model: type[Model], key: int, user_id: str
) -> Explanation:
    """Every reason for which a user may read a row that the caller can see."""
    user = asked_about(transaction, caller, user_id)
    if not sees(transaction, caller, model, key):
        return REFUSED
    plan = plan_reasons(transaction.dialect.name, AccessRule(user.standing), model)
    row = transaction.one(plan.sql, plan.bind(binding_of(user, key)))
    arms = arms_of(user.role, model)
    found = [row[place * 3 : place * 3 + 3] for place in range(len(arms))] if row else []
    reasons = tuple(
        Reason(name_of(arm, user.role), granted_by, granted_at)
        for arm, (holds, granted_by, granted_at) in zip(arms, found, strict=bool(row))
        if holds
    )
    return Explanation(bool(reasons), reasons)


def asked_about(transaction: Transaction, caller: Caller, user_id: str) -> Caller:
    """The user as a caller, if the caller may read them; else UserOutOfReach."""
    user = person(transaction, user_id) if sees(transaction, caller, User, user_id) else None
    if user is None:
        raise UserOutOfReach
    return user


def sees(transaction: Transaction, caller: Caller, model: type[Model], key: int | str) -> bool:
    """Whether the rule lets somebody read the row of that id."""
    plan = plan_sight(transaction.dialect.name, AccessRule(caller.standing), model)
    return transaction.one(plan.sql, plan.bind(binding_of(caller, key))) is not None


@cache
def plan_sight(database: str, rule: AccessRule, model: type[Model]) -> Statement:
    planner = Planner(DIALECTS[database], rule)
    row = planner.alias(catalog().relations[model.__tablename__])
    within = rule.rows(Action.READ, model, row.c)
    return planner.finish(sa.select(row.c.id).where(row.c.id == row_id(planner), within))


@cache
def plan_reasons(database: str, rule: AccessRule, model: type[Model]) -> Statement:
    """Of one row three columns an arm: whether it holds, and grantor and time of its grant."""
    planner = Planner(DIALECTS[database], rule)
    row = planner.alias(catalog().relations[model.__tablename__])
    columns = [
        column
        for arm in arms_of(rule.standing.role, model)
        for column in (sa.case((arm(rule.standing, row.c), 1)), *evidence(rule, arm, row.c))
    ]
    chosen = sa.select(*columns).select_from(row)
    return planner.finish(chosen.where(row.c.id == row_id(planner)))


def row_id(planner: Planner) -> sa.BindParameter[object]:
    """Where the id of the row in question goes."""
    planner.slots["row_id"] = new_value(0)
    return parameter("row_id")


def evidence(
    rule: AccessRule, arm: Predicate, row: Row
) -> tuple[sa.ColumnElement[object], sa.ColumnElement[object]]:
    """Who granted, and when, what an arm rests on; nulls where it rests on no grant."""
    kind, column = EVIDENCE.get(arm, (None, ""))
    grants = GRANTS.get((rule.standing.role, kind)) if kind is not None else None
    if grants is None:
        return sa.literal(None), sa.literal(None)
    grant = alias(grants.model, f"rule_{arm.__name__}").c
    held = (grant[grants.grantee] == CALLER.id, grant[grants.target] == row[column])
    return (
        sa.select(grant.assigned_by).where(*held).scalar_subquery(),
        sa.select(grant.assigned_at).where(*held).scalar_subquery(),
    )


def arms_of(role: Role, model: type[Model]) -> tuple[Predicate, ...]:
    """The alternatives by which a role reads rows of a relation."""
    read = POLICIES[model][role].read
    arms: tuple[Predicate, ...] = getattr(read, "arms", (read,))
    return arms


def name_of(arm: Predicate, role: Role) -> str:
    """The name of an arm; who reads every row does so by their role."""
    return role.value if arm is every_row else arm.__name__


def binding_of(user: Caller, key: int | str) -> Binding:
    return Binding(caller_id=user.id, caller_client_id=user.client_id, new=(key,))
