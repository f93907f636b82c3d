"""Access paths: rewrites the rule and the filters of a node so that an index finds the rows.

Each small set in the rule, such as the caller's grants, has its own index search. So has each partition of a skip
scan. Selective filters are pushed into the rule's sub-selects.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from engine.query.catalog import Relation, catalog
from engine.query.dialect.base import SqlDialect
from engine.query.dialect.in_subquery import SmallInSubquery, is_among
from engine.query.index_prefix import parent_of, prefix_column, prefix_of_parent
from engine.query.read import operators
from engine.query.read.disjuncts import or_operands
from engine.query.read.operators import Operands
from engine.query.shape import Embed, Filter, Node
from models.fields import TENANT_COLUMN

Expression = sa.ColumnElement[Any]


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
        return self.comparison(flt, operators.OPERATORS["eq"], column, kind)


def selective_filters(node: Node) -> dict[str, Filter]:
    """Return the filters that list a few short values, by column."""
    return {
        flt.column: flt for flt in node.conditions if isinstance(flt, Filter) and flt.is_selective and not flt.is_long
    }
