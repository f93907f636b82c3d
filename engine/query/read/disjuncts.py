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
    """A branch: its part of the rule, that part as an index search, and the negations of the parts before it."""

    rule: Expression
    condition: Expression
    rest: tuple[Expression, ...] = ()


def disjuncts(rule: Expression, condition: Expression) -> list[Disjunct]:
    """Return the branches of a rule that has a small set among its parts, else one branch.

    `condition` is the rule with each part as an index search.
    """
    parts = or_operands(rule)
    if not any(isinstance(part, SmallInSubquery) for part in parts):
        return [Disjunct(rule, condition)]
    before: list[Expression] = []
    branches = []
    for part, searched in zip(parts, or_operands(condition), strict=True):
        branches.append(Disjunct(part, searched, tuple(before)))
        before.append(sa.not_(sa.func.coalesce(part, sa.false())))
    return branches


def or_operands(condition: Expression) -> list[Expression]:
    """Return the operands of an OR, or the condition alone."""
    if isinstance(condition, sa.BooleanClauseList) and condition.operator is or_:
        return list(condition.clauses)
    return [condition]
