"""Access paths: rewrites the rule and the filters of a node so that an index finds the rows.

Each small set in the rule, such as the caller's grants, has its own index search. Selective filters are pushed into the
rule's sub-selects. `a OR b` is split into branches that never return the same row: `a`; `b AND NOT a`. Each branch uses
its own index, and UNION ALL needs no deduplication. An OR of small sets would fetch every row before it is filtered
(docs/decisions/0010). A skip scan reads a list by date on SQLite. The index that serves it is by client, status and
date. A partition is the rows of one client with one status. Each is read up to its first row beyond the page. Indexes
by date alone would slow every insert.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import eq, or_
from typing import Any

import sqlalchemy as sa

from engine.query.catalog import Relation, aliased, catalog, parent_of, prefix_column, prefix_of_parent
from engine.query.dialect.base import SmallInSubquery, SqlDialect, is_among
from engine.query.read import expressions
from engine.query.read.expressions import Operands
from engine.query.shape import Condition, Embed, Filter, Node
from models import RESOURCES
from models.fields import TENANT_COLUMN, SkipScan

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


class AccessPaths(Operands):
    """Rewrites the rule and a node's filters for index searches."""

    def __init__(self, dialect: SqlDialect) -> None:
        super().__init__(dialect)
        self.catalog = catalog()

    def index_condition(self, node: Node, relation: Relation, alias: Any, scope: Expression) -> Expression:
        """Return the rule with selective filters pushed into it. With those filters, both match the same rows."""
        filters = selective_filters(node)
        parts = [self.narrowed(part, filters, relation) for part in or_operands(scope)]
        return parts[0] if len(parts) == 1 else sa.or_(*parts)

    def narrowed(self, part: Expression, filters: dict[str, Filter], relation: Relation) -> Expression:
        """Return a part of the rule with the filters pushed into its sub-select."""
        if not isinstance(part, SmallInSubquery):
            return part
        equal = {name for name, flt in filters.items() if flt.is_equality}
        if set(relation.key) <= equal:
            return part.as_exists()
        flt = filters.get(part.column.name)
        return part if flt is None else part.where(lambda key: self.value_condition(flt, relation, key))

    def prefix_conditions(self, node: Node, relation: Relation, alias: Any) -> list[Expression]:
        """Return conditions on index prefixes that a node's filters on parents imply."""
        conditions: list[Expression] = []
        for name, flt in selective_filters(node).items():
            prefix = self.prefix_column(relation, name)
            if prefix is not None:
                key, parent_prefix = parent_of(relation, name)
                prefixes = sa.select(parent_prefix).where(self.value_condition(flt, relation, key))
                conditions.append(is_among([alias.c[prefix]], prefixes))
        return conditions

    def copy_conditions(self, embed: Embed, relation: Relation, alias: Any) -> list[Expression]:
        """Return the condition on a row's copy of its parent's client that the filters of the parent's embed imply.

        An example is `buildings.client_id=eq.3` of inspections.
        """
        relationship = self.catalog.relationship(relation.name, embed.relation, embed.hint)
        target = self.catalog.relations[relationship.target]
        flt = selective_filters(embed.node).get(TENANT_COLUMN)
        is_parent = relationship.to_one and relationship.pairs[0][0] == relation.model.tenant
        if flt is None or not is_parent or TENANT_COLUMN not in relation.model.derived:
            return []
        return [self.value_condition(flt, target, alias.c[TENANT_COLUMN])]

    def join_conditions(
        self, pairs: Iterable[tuple[str, str]], relation: Relation, rows: Any, parent: Any
    ) -> list[Expression]:
        """Return the conditions that join rows to their parent, including that on the index prefix."""
        conditions: list[Expression] = []
        for key, column in pairs:
            conditions.append(rows.c[column] == parent.c[key])
            prefix = self.prefix_column(relation, column)
            if prefix is not None:
                parent_prefix = prefix_of_parent(relation, column, parent.c[key])
                conditions.append(rows.c[prefix] == parent_prefix)
        return conditions

    def prefix_column(self, relation: Relation, name: str) -> str | None:
        """Return the column, copied from the parent, with which the index of column `name` begins.

        Return None if no such index is used.
        """
        return prefix_column(relation, name) if self.dialect.uses_skip_scans else None

    def value_condition(self, flt: Filter, relation: Relation, column: Expression) -> Expression:
        """Return a filter's comparison on another column with the same values."""
        kind = relation.attribute(flt.column).type
        return self.comparison(flt, expressions.OPERATORS["eq"], column, kind)


def selective_filters(node: Node) -> dict[str, Filter]:
    """Return the filters that list a few short values, by column."""
    return {
        flt.column: flt for flt in node.conditions if isinstance(flt, Filter) and flt.is_selective and not flt.is_long
    }


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
