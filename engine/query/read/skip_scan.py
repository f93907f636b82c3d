"""Skip scans: lists by date, read partition by partition, each only to its first row beyond the page.

No index of a file begins with a date or a status of all clients, and none holds a client's rows by date alone: each
insert would write it (docs/decisions/0158, 0167). One index holds them by client, status and date. A partition is one
client's rows of one status. The scan reads the distinct partitions, then each of them in the order of the index.
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
from models.fields import SkipScan

Expression = sa.ColumnElement[Any]


@dataclass(frozen=True, slots=True)
class Partitions:
    """A table with one row for each partition, the condition that joins rows to it, and its columns that filters of
    rows may be asked of."""

    rows: sa.FromClause
    ties: Expression
    columns: frozenset[str] = frozenset()


def partitions_of(node: Node, relation: Relation, rows: Any, rule: Expression) -> Partitions | None:
    """Return the partitions that hold a node's rows; None where keys find them, or no index is in their order."""
    scan = relation.model.skip_scan
    if scan is None or any(names_few(condition, relation) for condition in node.conditions):
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


def of_each_value(
    scan: SkipScan, relation: Relation, rows: Any, owner: Expression | None
) -> Partitions:
    """Return a partition for each owner, or for the one given, and value of `partition_by`, as the index has them."""
    scanned = aliased(relation.table, "rule_scanned")
    values = sa.select(scanned.c[scan.owner], scanned.c[scan.partition_by]).distinct()
    if owner is not None:
        values = values.where(scanned.c[scan.owner] == owner)
    # The limit stops SQLite from moving filters of the partitions into the DISTINCT, where it reads row by row.
    found = values.limit(sa.literal_column("-1", sa.Integer())).subquery("partitions")
    ties = sa.and_(
        rows.c[scan.owner] == found.c[scan.owner],
        rows.c[scan.partition_by].is_not_distinct_from(found.c[scan.partition_by]),
    )
    return Partitions(found, ties, frozenset({scan.partition_by}))


def owners_of(scan: SkipScan) -> sa.Alias:
    """Return the table of owners, under a name of the rule's: nothing of it is printed."""
    owners: sa.Alias = aliased(RESOURCES[scan.owners].__table__, "rule_owners")
    return owners


def owner_of(rule: Expression, scan: SkipScan) -> Expression | None:
    """Return the one owner whose rows a rule allows; None for any other rule."""
    if not (isinstance(rule, sa.BinaryExpression) and rule.operator is eq):
        return None
    is_owner = isinstance(rule.left, sa.Column) and rule.left.name == scan.owner
    return rule.right if is_owner else None


def equal_columns(node: Node) -> set[str]:
    """Return the columns that a node's filters compare with one value."""
    return {
        flt.column
        for flt in node.conditions
        if isinstance(flt, Filter) and flt.is_equality and not flt.is_long
    }


def is_along(node: Node, scan: SkipScan, key: tuple[str, ...]) -> bool:
    """Whether a node's order is that of the index, with the key as the last term in the same direction."""
    equal = equal_columns(node) & {scan.partition_by}
    terms = [term for term in node.order if term.embed or term.column not in equal]
    columns = tuple(term.column for term in terms)
    return (
        columns in {(scan.order,), (scan.order, *key)}
        and not any(term.embed or term.path for term in terms)
        and len({term.descending for term in (*terms, node.order[-1])}) == 1
    )


def names_few(condition: Condition, relation: Relation) -> bool:
    """Whether a condition names rows by a key or a foreign key."""
    if not isinstance(condition, Filter):
        every = all if condition.operator == "or" else any
        return not condition.negated and every(
            names_few(part, relation) for part in condition.operands
        )
    leading = {*relation.key, *(each.column for each in relation.foreign_keys)}
    is_of_values = condition.operator in ("eq", "in") and condition.quantifier != "all"
    return is_of_values and not condition.negated and condition.column in leading
