"""The arms of a rule: what its OR joins, told apart, so that each can be a search of its own.

Where a caller's grants name few rows, each arm finds its rows in an index that may hold all that is asked; by an
OR of them every row is fetched (docs/decisions/0010).
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import or_
from typing import Any

import sqlalchemy as sa

Expression = sa.ColumnElement[Any]


@dataclass(frozen=True, slots=True)
class Arm:
    """What the rule says, the same as it is searched for, and what leaves out the rows that those before have found."""

    said: Expression
    sought: Expression
    rest: tuple[Expression, ...]


def disjoint(whole: Expression, sought: Expression) -> list[Arm]:
    """Arms of which one at most finds any row, and one finds each of which the rule holds.

    `whole` is the rule as it is, `sought` the same rule as it is searched for. Each arm leaves out what those
    before it have found; of what is null nothing was found.
    """
    before: list[Expression] = []
    found = []
    for said, searched in zip(parts_of(whole), parts_of(sought), strict=True):
        found.append(Arm(said, searched, tuple(before)))
        before.append(sa.not_(sa.func.coalesce(said, sa.false())))
    return found


def parts_of(condition: Expression) -> list[Expression]:
    """What an OR joins; anything else is its own only part."""
    if isinstance(condition, sa.BooleanClauseList) and condition.operator is or_:
        return list(condition.clauses)
    return [condition]
