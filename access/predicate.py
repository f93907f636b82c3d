"""What a predicate is, and what predicates are made of. Nothing is decided here and no role is named.

A predicate is a claim about one row: given a standing and that row's columns, be they an alias's or
those of a row about to exist, it returns an SQL condition. Which claims there are, and of whom they are
asked, is access/policy.py's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa

from access.caller import Standing
from engine.query.catalog import aliased
from engine.query.dialect.in_subquery import InSubquery
from engine.query.dialect.in_subquery import SmallInSubquery
from engine.query.statement import parameter
from models import User
from models.fields import Model
from models.fields import Row

Condition = sa.ColumnElement[bool]
Predicate = Callable[[Standing, Row], Condition]


class CALLER:
    """The caller's values, as the plan's parameters."""

    id: sa.BindParameter[str] = parameter("caller_id", User.__table__.c.id.type)
    client_id: sa.BindParameter[int] = parameter("caller_client_id", sa.BigInteger)


def equals(column: Row, value: Row) -> Condition:
    condition: Condition = column == value
    return condition


@dataclass(frozen=True, slots=True)
class Either:
    """Any of the arms; those that are false under a standing leave no trace in the SQL."""

    arms: tuple[Predicate, ...]

    def __call__(self, standing: Standing, row: Row) -> Condition:
        found = [arm(standing, row) for arm in self.arms]
        held = [each for each in found if not isinstance(each, sa.False_)]
        return sa.or_(*held) if held else sa.false()


@dataclass(frozen=True, slots=True)
class Both:
    """All of the claims."""

    claims: tuple[Predicate, ...]

    def __call__(self, standing: Standing, row: Row) -> Condition:
        return sa.and_(sa.true(), *(claim(standing, row) for claim in self.claims))


def either(*arms: Predicate) -> Either:
    return Either(arms)


def both(*claims: Predicate) -> Both:
    return Both(claims)


def among(key: Row, column: Row, where: Condition) -> Condition:
    """A key among those of rows of which a condition holds; of none, if it cannot hold under a standing."""
    found = sa.select(column).where(where)
    return sa.false() if isinstance(where, sa.False_) else InSubquery(key, found)


def among_few(key: Row, column: Row, where: Condition) -> Condition:
    """The same where those are few: what is granted to one person."""
    few = sa.select(column).where(where)
    return sa.false() if isinstance(where, sa.False_) else SmallInSubquery(key, few)


def alias(model: type[Model], name: str) -> Row:
    """A table that only a rule looks at: its name says so, and the plan's guard lets it pass."""
    return aliased(model.__table__, name)
