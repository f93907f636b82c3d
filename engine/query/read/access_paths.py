"""Access paths: by which index the rows of a relation are found.

Each part of the rule that is a small set (what a caller was granted) is searched by an index of its own. So is each
partition of a skip scan. Filters that name rows are pushed into the rule's sub-selects.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from engine.query import operators
from engine.query.catalog import Relation
from engine.query.catalog import catalog
from engine.query.dialect.base import SqlDialect
from engine.query.dialect.in_subquery import SmallInSubquery
from engine.query.dialect.in_subquery import is_among
from engine.query.operands import Operands
from engine.query.read.disjuncts import parts_of
from engine.query.read.index_prefix import parent_of
from engine.query.read.index_prefix import prefix_column
from engine.query.read.index_prefix import prefix_of_parent
from engine.query.shape import Filter
from engine.query.shape import Node

Expression = sa.ColumnElement[Any]


class AccessPaths(Operands):
    """How the rule and a node's filters are written so that an index finds the rows."""

    def __init__(self, dialect: SqlDialect) -> None:
        super().__init__(dialect)
        self.catalog = catalog()

    def index_condition(
        self, node: Node, relation: Relation, alias: Any, scope: Expression
    ) -> Expression:
        """Return the rule, narrowed by the filters that name rows. Under those filters both hold of the same rows."""
        named = naming_filters(node)
        parts = [self.narrowed(part, named, relation) for part in parts_of(scope)]
        return parts[0] if len(parts) == 1 else sa.or_(*parts)

    def narrowed(
        self, part: Expression, named: dict[str, Filter], relation: Relation
    ) -> Expression:
        """Return a part of the rule whose sub-select finds only what the filters name."""
        if not isinstance(part, SmallInSubquery):
            return part
        equal = {name for name, flt in named.items() if flt.is_equality}
        if set(relation.key) <= equal:
            return part.as_exists()
        flt = named.get(part.column.name)
        return part if flt is None else part.where(lambda key: self.named_by(flt, relation, key))

    def prefix_conditions(self, node: Node, relation: Relation, alias: Any) -> list[Expression]:
        """Return that index prefixes are those of the parents that a node's filters name. The filters imply it."""
        found: list[Expression] = []
        for name, flt in naming_filters(node).items():
            prefix = self.prefix_column(relation, name)
            if prefix is not None:
                key, parents_prefix = parent_of(relation, name)
                prefixes = sa.select(parents_prefix).where(self.named_by(flt, relation, key))
                found.append(is_among([alias.c[prefix]], prefixes))
        return found

    def ties(
        self, pairs: Iterable[tuple[str, str]], relation: Relation, rows: Any, parent: Any
    ) -> list[Expression]:
        """Return the conditions that join rows to their parent, with the prefix of the index that holds them."""
        found: list[Expression] = []
        for here, there in pairs:
            found.append(rows.c[there] == parent.c[here])
            prefix = self.prefix_column(relation, there)
            if prefix is not None:
                found.append(rows.c[prefix] == prefix_of_parent(relation, there, parent.c[here]))
        return found

    def prefix_column(self, relation: Relation, name: str) -> str | None:
        """Return the column that precedes another in the index that finds it; None if none does."""
        return prefix_column(relation, name) if self.dialect.uses_skip_scans else None

    def named_by(self, flt: Filter, relation: Relation, column: Expression) -> Expression:
        """Return a filter's comparison, over another column with the same values."""
        kind = relation.attribute(flt.column).type
        return self.comparison(flt, operators.OPERATORS["eq"], column, kind)


def naming_filters(node: Node) -> dict[str, Filter]:
    """Return the filters that name rows by a few values, by column."""
    return {
        flt.column: flt
        for flt in node.conditions
        if isinstance(flt, Filter) and flt.names_few and not flt.is_long
    }
