"""Split `a OR b` into branches that never return the same row: `a`; `b AND NOT a`.

Each branch uses its own index, and UNION ALL needs no deduplication. An OR of small sets fetches every row before it
can be filtered (docs/decisions/0010).
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import or_
from typing import Any

import sqlalchemy as sa

from engine.query.dialect.in_subquery import SmallInSubquery

Expression = sa.ColumnElement[Any]


@dataclass(frozen=True, slots=True)
class Disjunct:
    """One branch: its part of the rule, the same part as an index finds it, and the negated parts before it."""

    rule: Expression
    condition: Expression
    rest: tuple[Expression, ...] = ()


def disjuncts(rule: Expression, condition: Expression) -> list[Disjunct]:
    """Split a rule that has a small set among its parts, else return it whole.

    `condition` is the same rule as an index finds it, part by part.
    """
    parts = parts_of(rule)
    if not any(isinstance(part, SmallInSubquery) for part in parts):
        return [Disjunct(rule, condition)]
    before: list[Expression] = []
    found = []
    for part, searched in zip(parts, parts_of(condition), strict=True):
        found.append(Disjunct(part, searched, tuple(before)))
        before.append(sa.not_(sa.func.coalesce(part, sa.false())))
    return found


def parts_of(condition: Expression) -> list[Expression]:
    """Return what an OR joins, or the condition alone."""
    if isinstance(condition, sa.BooleanClauseList) and condition.operator is or_:
        return list(condition.clauses)
    return [condition]
