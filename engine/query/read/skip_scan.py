"""Skip scans: SQLite reads a list by date partition by partition, each up to its first row beyond the page.

The only index that serves it is by client, status and date. Indexes by date alone would slow every insert
(docs/decisions/0010). A partition is the rows of one client with one status. The scan reads the distinct partitions,
then each of them in the order of the index.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import eq
from typing import Any

import sqlalchemy as sa

from engine.query.catalog import Relation, aliased
from engine.query.shape import Condition, Filter, Node
from models import RESOURCES
from models.fields import SkipScan

Expression = sa.ColumnElement[Any]


@dataclass(frozen=True, slots=True)
class Partitions:
    """A table with a row for each partition, and the condition that joins rows to it.

    `columns`: the columns on which filters apply to the partitions too.
    """

    rows: sa.FromClause
    on: Expression
    columns: frozenset[str] = frozenset()


def partitions_of(node: Node, relation: Relation, rows: Any, rule: Expression) -> Partitions | None:
    """Return the partitions of a node's rows; None if keys select the rows or the order is not that of the index."""
    scan = relation.model.skip_scan
    if scan is None or any(selects_by_key(condition, relation) for condition in node.conditions):
        return None
    if not is_along(node, scan, relation.key):
        return None
    owner = owner_of(rule, scan)
    if owner is None and not isinstance(rule, sa.True_):
        return None
    if scan.partition_by in equal_columns(node):
        return of_each_owner(scan, rows) if owner is None else None
    return of_each_value(scan, relation, rows, owner)


def of_each_owner(scan: SkipScan, rows: Any) -> Partitions:
    """Return a partition for each owner."""
    owners = owners_of(scan)
    return Partitions(owners, rows.c[scan.owner] == owners.c.id)


def of_each_value(scan: SkipScan, relation: Relation, rows: Any, owner: Expression | None) -> Partitions:
    """Return a partition for each distinct owner and value of `partition_by`. `owner` limits them to one owner."""
    scanned = aliased(relation.table, "rule_scanned")
    values = sa.select(scanned.c[scan.owner], scanned.c[scan.partition_by]).distinct()
    if owner is not None:
        values = values.where(scanned.c[scan.owner] == owner)
    # LIMIT -1 prevents SQLite from pushing filters into the DISTINCT, which would then read row by row.
    partitions = values.limit(sa.literal_column("-1", sa.Integer())).subquery("partitions")
    on = sa.and_(
        rows.c[scan.owner] == partitions.c[scan.owner],
        rows.c[scan.partition_by].is_not_distinct_from(partitions.c[scan.partition_by]),
    )
    return Partitions(partitions, on, frozenset({scan.partition_by}))


def owners_of(scan: SkipScan) -> sa.Alias:
    """Return the table of owners under a trusted alias. It is never printed."""
    owners: sa.Alias = aliased(RESOURCES[scan.owners].__table__, "rule_owners")
    return owners


def owner_of(rule: Expression, scan: SkipScan) -> Expression | None:
    """Return the owner, if a rule allows the rows of one owner; None for another rule."""
    if not (isinstance(rule, sa.BinaryExpression) and rule.operator is eq):
        return None
    is_owner = isinstance(rule.left, sa.Column) and rule.left.name == scan.owner
    return rule.right if is_owner else None


def equal_columns(node: Node) -> set[str]:
    """Return the columns that a node's filters compare with one short value."""
    return {flt.column for flt in node.conditions if isinstance(flt, Filter) and flt.is_equality and not flt.is_long}


def is_along(node: Node, scan: SkipScan, key: tuple[str, ...]) -> bool:
    """Return whether a node's order is that of the index. The key may follow in the same direction."""
    equal = equal_columns(node) & {scan.partition_by}
    terms = [term for term in node.order if term.embed or term.column not in equal]
    columns = tuple(term.column for term in terms)
    return (
        columns in {(scan.order,), (scan.order, *key)}
        and not any(term.embed or term.path for term in terms)
        and len({term.descending for term in (*terms, node.order[-1])}) == 1
    )


def selects_by_key(condition: Condition, relation: Relation) -> bool:
    """Return whether a condition selects rows by values of a key or a foreign key."""
    if not isinstance(condition, Filter):
        every = all if condition.operator == "or" else any
        return not condition.negated and every(selects_by_key(part, relation) for part in condition.operands)
    leading = {*relation.key, *(each.column for each in relation.foreign_keys)}
    is_of_values = condition.operator in ("eq", "in") and condition.quantifier != "all"
    return is_of_values and not condition.negated and condition.column in leading
