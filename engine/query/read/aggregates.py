"""Rows that are groups: what an aggregate beside it makes of everything else that is selected.

Everything that is no aggregate is a key of the groups, spread embeds included, as PostgREST has it; a
select that is grouped is ordered by what it selects.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import visitors
from sqlalchemy.sql.elements import UnaryExpression

from engine.query.catalog import Relation
from engine.query.operators import require_comparable
from engine.query.read.columns import Output
from engine.query.read.planner import Planner
from engine.query.read.planner import directed
from engine.query.shape import Column
from engine.query.shape import Embed
from engine.query.shape import Node
from engine.query.shape import OrderTerm
from models.errors import Fault

Expression = sa.ColumnElement[Any]


class NotGrouped(Fault):
    """An order by a column that an aggregate has swallowed (42803)."""


def has_aggregates(node: Node) -> bool:
    """Whether a node's rows are groups: it aggregates, or an embed spread into it does."""
    return any(
        has_aggregates(item.node) if isinstance(item, Embed) and item.spread
        else isinstance(item, Column) and item.aggregate is not None
        for item in node.items
    )  # fmt: skip


class Groups:
    """The groups of a node's rows, by its outputs over `source`."""

    def __init__(
        self, planner: Planner, node: Node, relation: Relation, source: Any, outputs: list[Output]
    ) -> None:
        self.planner = planner
        self.dialect = planner.dialect
        self.node = node
        self.relation = relation
        self.source = source
        self.outputs = outputs
        self.values = [self.grouped(output) for output in outputs]

    def page(
        self,
        joined: Any,
        where: list[Expression],
        limits: tuple[Expression, Expression | None],
        correlated: Any,
    ) -> Any:
        """The groups as a sub-select, a column an output: `where` over `joined`, ordered and cut."""
        named = [value.label(f"c{place}") for place, value in enumerate(self.values)]
        keys, order = self.keys_and_order()
        page = sa.select(*named).select_from(joined).where(*where)
        if keys:
            page = page.group_by(*keys)
        # By their keys at last: which are the first few is for no plan to decide, nor for what else is there.
        page = page.order_by(*order, *(key.asc().nulls_last() for key in keys)).limit(limits[0])
        if limits[1] is not None:
            page = page.offset(limits[1])
        if correlated is not None:
            page = page.correlate(correlated)
        return page.subquery("g" + str(self.source.name)[1:])

    def printed(self, page: Any) -> list[Output]:
        """The outputs again, over the sub-select."""
        return [
            Output(output.key, self.ungrouped(output, page.c[f"c{place}"]), output.kind)
            for place, output in enumerate(self.outputs)
        ]

    def keys_and_order(self) -> tuple[list[Expression], list[Expression]]:
        pairs = zip(self.outputs, self.values, strict=True)
        keys = [self.key(output, value) for output, value in pairs if not output.aggregate]
        own = [output for output in self.outputs if output.embed is None]
        chosen = {output.column for output in own if not output.aggregate}
        if not set(self.relation.key) <= chosen:
            return keys, [self.order_term(term) for term in self.node.order]
        # Grouped by its key a row is alone, and what else it holds goes without saying.
        # (For PostgreSQL it does of a table, but not of what a rule lets through.)
        order = self.planner.order(self.node, self.relation, self.source, by_key=False)
        # Of a path it is what that leads to: JSON itself is nothing to group by.
        asked = list(zip(self.node.order, order, strict=True))
        paths = [undirected(each) for term, each in asked if term.path and term.embed is None]
        others = [each for term, each in asked if not term.path or term.embed is not None]
        return [*keys, *columns_in(others, self.source), *paths], order

    def key(self, output: Output, value: Expression) -> Expression:
        """What an output makes groups of, whose values have to be ones that can equal each other."""
        kind = output.kind
        if output.raw is not None and output.embed is None and output.column is not None:
            kind = self.relation.attributes[output.column].type.name
        require_comparable(kind, "equality")
        return grouped_by(output, value)

    def order_term(self, term: OrderTerm) -> Expression:
        """A grouped select is ordered by what it selects: a grouped column, or an aggregate's name."""
        for output, value in zip(self.outputs, self.values, strict=True):
            if names(term, output):
                return directed(grouped_by(output, value), term, nullable=True)
        if term.embed is None:
            self.relation.attribute(term.column)
        else:
            self.planner.embed_column(term, self.node, self.relation, self.source)
        raise NotGrouped(
            f'column "{term.embed or self.relation.name}.{term.column}" must appear in the '
            "GROUP BY clause or be used in an aggregate function"
        )

    def grouped(self, output: Output) -> Expression:
        return self.dialect.json_group_key(output.value) if output.kind == "embed" else output.value

    def ungrouped(self, output: Output, value: Expression) -> Expression:
        return self.dialect.as_json(value) if output.kind == "embed" else value


def columns_in(terms: Iterable[Expression], source: Any) -> list[Expression]:
    """The columns of `source` that these are made of, those included that tie what they look up."""
    found = {
        element.name: element
        for term in terms
        for element in visitors.iterate(term)
        if isinstance(element, sa.ColumnClause) and element.table is source
    }
    return list(found.values())


def names(term: OrderTerm, output: Output) -> bool:
    """Whether an order means an output. A bare name is the relation's own column, or any aggregate's."""
    if term.path:
        return term.embed == output.embed and (term.column, term.path) == output.path
    if term.embed is None and output.embed is not None:
        return output.aggregate and term.column == output.key
    return term.embed == output.embed and term.column in (output.column, output.key)


def undirected(ordered: Expression) -> Expression:
    """What is ordered by, without its direction and where its nulls stand."""
    while isinstance(ordered, UnaryExpression) and ordered.modifier is not None:
        ordered = ordered.element
    return ordered


def grouped_by(output: Output, value: Expression) -> Expression:
    """What an output makes groups of: itself, or the column that it shows through a cast."""
    return value if output.raw is None else output.raw
