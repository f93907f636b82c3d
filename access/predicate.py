"""Predicates and the functions that compose them. This module decides nothing and names no role.

A predicate is a function of a grant profile and a row's columns that returns an SQL condition. The row is a table
alias, or the values of a row that a write would leave. `access/policy.py` assigns predicates to roles and tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa

from access.roles import GrantProfile
from engine.query.catalog import aliased
from engine.query.dialect.in_subquery import InSubquery, SmallInSubquery
from engine.query.statement import parameter
from models import User
from models.fields import Model, Row
from models.types import DATE

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
