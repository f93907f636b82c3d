"""Lists by date, walked by whose rows they are and what they are alike in, each part left at its first beyond the page.

No index of a file begins with what everybody's rows share, a date or a status, and none holds a client's rows by date
alone: each insert would write it (docs/decisions/0010). One holds, client by client and status by status, the
rows by date. So they are looked for in each of those parts that there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import eq
from typing import Any

import sqlalchemy as sa

from engine.query.catalog import Relation
from engine.query.catalog import aliased
from engine.query.shape import Condition
from engine.query.shape import Filter
from engine.query.shape import Node
from models import RESOURCES
from models.fields import Walk

Expression = sa.ColumnElement[Any]

SOUGHT_BY = ("eq", "in", "gt", "gte", "lt", "lte")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a walk begins with: rows that name a part each, when a row is of such a part, by which columns rows are then
    looked for within it, and by which parts are left out that are not wanted."""

    rows: sa.FromClause
    ties: Expression
    within: frozenset[str]
    kinds: frozenset[str] = frozenset()


def parts_to_walk(node: Node, relation: Relation, rows: Any, scope: Expression) -> Parts | None:
    """The parts in which a node's rows are looked for, of all there are or of one owner's; None where an index leads to
    them without, or the order is one that no index knows."""
    if any(names_few(condition, relation) for condition in node.conditions):
        return None
    tried = (parts_of(walk, node, relation, rows, scope) for walk in relation.model.walks)
    return next((parts for parts in tried if parts is not None), None)


def parts_of(
    walk: Walk, node: Node, relation: Relation, rows: Any, scope: Expression
) -> Parts | None:
    """The same of one walk."""
    owner = owner_said(scope, walk)
    is_everybodys = isinstance(scope, sa.True_) and walk.order not in relation.key
    if not (is_everybodys or owner is not None) or not is_seen(node, walk):
        return None
    is_one_part = walk.alike in values_said(node)
    if is_along(node, walk, relation.key):
        if is_one_part:
            return of_every_owner(walk, rows) if is_everybodys else None
        return of_every_kind(walk, relation, rows, owner)
    # Everybody's in another order may be found by that, and end with their page.
    if is_one_part or not seeks(node, walk) or (is_everybodys and node.order):
        return None
    return of_every_kind(walk, relation, rows, owner)


def of_every_owner(walk: Walk, rows: Any) -> Parts:
    owners = owners_of(walk)
    within = frozenset({walk.alike, walk.order})
    return Parts(owners, rows.c[walk.owner] == owners.c.id, within)


def of_every_kind(walk: Walk, relation: Relation, rows: Any, owner: Expression | None) -> Parts:
    """Owners, and what rows of theirs are alike in, as the index tells: it is asked for the next one after each."""
    walked = aliased(relation.table, "rule_walked")
    kinds = sa.select(walked.c[walk.owner], walked.c[walk.alike]).distinct()
    if owner is not None:
        kinds = kinds.where(walked.c[walk.owner] == owner)
    # A limit, for SQLite would have what is asked of them looked at within, row by row of those that are not wanted.
    parts = kinds.limit(sa.literal_column("-1", sa.Integer())).subquery("parts")
    ties = sa.and_(
        rows.c[walk.owner] == parts.c[walk.owner],
        rows.c[walk.alike].is_not_distinct_from(parts.c[walk.alike]),
    )
    return Parts(parts, ties, frozenset({walk.order}), frozenset({walk.alike}))


def owners_of(walk: Walk) -> sa.Alias:
    """Whose the rows are, by a name that says nothing of them is printed."""
    owners: sa.Alias = aliased(RESOURCES[walk.owners].__table__, "rule_owners")
    return owners


def owner_said(scope: Expression, walk: Walk) -> Expression | None:
    """The one owner of whose rows a rule holds, and of no others; None where it is another rule."""
    if not (isinstance(scope, sa.BinaryExpression) and scope.operator is eq):
        return None
    is_owners = isinstance(scope.left, sa.Column) and scope.left.name == walk.owner
    return scope.right if is_owners else None


def values_said(node: Node) -> set[str]:
    """The columns of which a node's filters say the one value."""
    return {
        flt.column
        for flt in node.conditions
        if isinstance(flt, Filter) and flt.is_equality and not flt.is_long
    }


def is_seen(node: Node, walk: Walk) -> bool:
    """Whether a node asks of nothing that the walk would have to fetch rows for."""
    return walk.beside is None or all(
        isinstance(each, Filter) and each.column in walk.beside for each in node.conditions
    )


def is_along(node: Node, walk: Walk, key: tuple[str, ...]) -> bool:
    """Whether a node's rows are in the order of the walk, the key breaking ties in the same direction."""
    alike = values_said(node) & {walk.alike}
    telling = [term for term in node.order if term.embed or term.column not in alike]
    columns = tuple(term.column for term in telling)
    return (
        columns in {(walk.order,), (walk.order, *key)}
        and not any(term.embed or term.path for term in telling)
        and len({term.descending for term in (*telling, node.order[-1])}) == 1
    )


def seeks(node: Node, walk: Walk) -> bool:
    """Whether its filters say between which values the rows lie in the order of the walk."""
    return any(
        isinstance(flt, Filter)
        and flt.column == walk.order
        and flt.operator in SOUGHT_BY
        and flt.quantifier != "all"
        and not (flt.negated or flt.path)
        for flt in node.conditions
    )


def names_few(condition: Condition, relation: Relation) -> bool:
    """Whether it is of rows that keys lead to."""
    if not isinstance(condition, Filter):
        every = all if condition.operator == "or" else any
        return not condition.negated and every(
            names_few(part, relation) for part in condition.operands
        )
    leading = {*relation.key, *(each.column for each in relation.foreign_keys)}
    is_of_values = condition.operator in ("eq", "in") and condition.quantifier != "all"
    return is_of_values and not condition.negated and condition.column in leading
