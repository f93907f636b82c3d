"""Grouped selects: with an aggregate in `select`, every other item is a key of GROUP BY, as in PostgREST.

The items of spread embeds are keys too. A grouped select is ordered by what it selects.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import visitors

from engine.query.catalog import Relation
from engine.query.read.columns import Output
from engine.query.read.operators import require_comparable
from engine.query.read.planner import Planner, with_direction, without_direction
from engine.query.shape import Column, Embed, Node, OrderTerm
from models.errors import Fault

Expression = sa.ColumnElement[Any]


class NotGrouped(Fault):
    """An order by a column that is neither grouped nor aggregated (42803)."""


def has_aggregates(node: Node) -> bool:
    """Return whether a node's rows are groups: it has an aggregate, or one of its spread embeds has."""
    return any(
        has_aggregates(item.node) if isinstance(item, Embed) and item.spread
        else isinstance(item, Column) and item.aggregate is not None
        for item in node.items
    )  # fmt: skip


class GroupedSelect:
    """Builds the select of a node's groups from its outputs over `source`."""

    def __init__(self, planner: Planner, node: Node, relation: Relation, source: Any, outputs: list[Output]) -> None:
        self.planner = planner
        self.dialect = planner.dialect
        self.node = node
        self.relation = relation
        self.source = source
        self.outputs = outputs
        self.values = [self.groupable(output) for output in outputs]

    def page(
        self, joined: Any, where: list[Expression], limits: tuple[Expression, Expression | None], correlated: Any
    ) -> Any:
        """Return a page of groups as a sub-select with one column for each output.

        `limits`: the limit and the offset. `correlated`: the parent's alias.
        """
        labelled = [value.label(f"c{position}") for position, value in enumerate(self.values)]
        keys, order = self.keys_and_order()
        page = sa.select(*labelled).select_from(joined).where(*where)
        if keys:
            page = page.group_by(*keys)
        # The keys make the order total, so that a page depends neither on the plan nor on hidden rows.
        page = page.order_by(*order, *(key.asc().nulls_last() for key in keys)).limit(limits[0])
        if limits[1] is not None:
            page = page.offset(limits[1])
        if correlated is not None:
            page = page.correlate(correlated)
        return page.subquery("g" + str(self.source.name)[1:])

    def printed(self, page: Any) -> list[Output]:
        """Return the outputs over a page."""
        return [
            Output(output.key, self.printable(output, page.c[f"c{position}"]), output.kind, embed=output.embed)
            for position, output in enumerate(self.outputs)
        ]

    def keys_and_order(self) -> tuple[list[Expression], list[Expression]]:
        """Return the terms of GROUP BY and of ORDER BY."""
        pairs = zip(self.outputs, self.values, strict=True)
        keys = [self.key(output, value) for output, value in pairs if not output.aggregate]
        own = [output for output in self.outputs if output.embed is None]
        selected = {output.column for output in own if not output.aggregate}
        if not set(self.relation.key) <= selected:
            return keys, [self.order_term(term) for term in self.node.order]
        # The primary key determines all columns, so rows may be ordered by any of them. PostgreSQL infers this for a
        # table only, so the columns of ORDER BY join GROUP BY.
        order = self.planner.order(self.node, self.relation, self.source, by_key=False)
        # For a JSON path, the value at the path is grouped: JSON has no equality operator.
        terms = list(zip(self.node.order, order, strict=True))
        paths = [without_direction(each) for term, each in terms if term.path and term.embed is None]
        others = [each for term, each in terms if not term.path or term.embed is not None]
        return [*keys, *columns_in(others, self.source), *paths], order

    def key(self, output: Output, value: Expression) -> Expression:
        """Return an output's term of GROUP BY; raise UnknownOperator if its type has no equality operator."""
        kind = output.kind
        if output.uncast is not None and output.embed is None and output.column is not None:
            kind = self.relation.attributes[output.column].type.name
        require_comparable(kind, "equality")
        return grouped_by(output, value)

    def order_term(self, term: OrderTerm) -> Expression:
        """Return a term of ORDER BY for a grouped column or an aggregate; raise NotGrouped for another column."""
        for output, value in zip(self.outputs, self.values, strict=True):
            if refers_to(term, output):
                return with_direction(grouped_by(output, value), term, nullable=True)
        if term.embed is None:
            self.relation.attribute(term.column)
        else:
            self.planner.embed_column(term, self.node, self.relation, self.source)
        raise NotGrouped(
            f'column "{term.embed or self.relation.name}.{term.column}" must appear in the '
            "GROUP BY clause or be used in an aggregate function"
        )

    def groupable(self, output: Output) -> Expression:
        return self.dialect.json_group_key(output.value) if output.kind == "embed" else output.value

    def printable(self, output: Output, value: Expression) -> Expression:
        return self.dialect.as_json(value) if output.kind == "embed" else value


def columns_in(terms: Iterable[Expression], source: Any) -> list[Expression]:
    """Return the columns of `source` in expressions, including the join columns of their sub-selects."""
    columns = {
        element.name: element
        for term in terms
        for element in visitors.iterate(term)
        if isinstance(element, sa.ColumnClause) and element.table is source
    }
    return list(columns.values())


def refers_to(term: OrderTerm, output: Output) -> bool:
    """Return whether an order term refers to an output: a column of the same relation, or any aggregate's name."""
    if term.path:
        return term.embed == output.embed and (term.column, term.path) == output.path
    if term.embed is None and output.embed is not None:
        return output.aggregate and term.column == output.key
    return term.embed == output.embed and term.column in (output.column, output.key)


def grouped_by(output: Output, value: Expression) -> Expression:
    """Return the expression that an output is grouped by: its value, or its column before a cast."""
    return value if output.uncast is None else output.uncast
