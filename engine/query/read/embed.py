"""Builds the selects of a node of the select tree: its page of rows, their columns, its embeds and groups.

A to-one embed is a LEFT JOIN. Its ON holds the rule and the embed's filters, so a hidden or filtered row is null. A
to-many embed is a sub-select. A to-many spread is a sub-select for each array, as in PostgREST 13 and later. With an
aggregate in `select`, every other item is a key of GROUP BY, the items of spread embeds included. A grouped select is
ordered by what it selects.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import visitors

from engine.query.catalog import Relation, Relationship
from engine.query.read.expressions import EMBED, ColumnProjection, Output, require_comparable
from engine.query.read.planner import AccessPath, Planner, with_direction, without_direction
from engine.query.shape import Column, Embed, Node, OrderTerm
from engine.query.statement import parameter
from models.types import Fault

Expression = sa.ColumnElement[Any]


class NotGrouped(Fault, code="42803"):
    """An order by a column that is neither grouped nor aggregated."""


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


OUTPUTS_MAX = 60  # SQLite functions have at most 127 arguments, and json_object takes two for each column
OFFSET_MAX: Expression = sa.literal_column(str(2**61))
SORTED_ROWS_MAX = 20_000  # of a table whose rows SQLite sorts without being asked
"""An offset beyond every row, to which a limit can be added without overflow."""
ARRAYS_MAX = 100  # each is a sub-select, which takes milliseconds to plan


class AggregateSpread(Fault, code="PGRST127"):
    """An aggregate in a to-many spread."""


class DuplicateEmbed(Fault, code="42712"):
    """Two embeds with the same name at one level."""


class TooManyColumns(Fault, code="54011"):
    """More than OUTPUTS_MAX columns and embeds at one level, or more than ARRAYS_MAX arrays in all."""


@dataclass(slots=True)
class JoinedRows:
    """The FROM clause of a node: the alias of its relation, and the joins to it so far.

    `counted`: the expression that `count()` counts. It is None for rows, and a NOT NULL column for a LEFT JOIN.
    """

    alias: Any
    joined: Any
    counted: Expression | None = None


@dataclass(frozen=True, slots=True)
class RowSelection:
    """The rows of a node: the access paths to the rows of alias `source`, and their limit and offset.

    `correlated`: the parent's alias. `default_order`: the order if the node has none. `keys_first`: the sort carries
    keys only.
    """

    source: Any
    paths: list[AccessPath]
    limits: tuple[Expression, Expression | None]
    correlated: Any = None
    default_order: list[Expression] | None = None
    keys_first: bool = False


@dataclass(frozen=True, slots=True)
class RowPage:
    """A page of a node's rows. `order` repeats the order outside the sub-select, if the database does not keep it."""

    rows: JoinedRows
    order: list[Expression]

    def select_value(self, value: Expression) -> sa.Select[Any]:
        """Return the select of an expression over the rows of the page."""
        return sa.select(value.label("row")).select_from(self.rows.joined).order_by(*self.order)


class SelectBuilder:
    """Builds selects that print the rows of nodes as JSON objects."""

    def __init__(self, planner: Planner, *, in_timezone: bool = False) -> None:
        self.planner = planner
        self.dialect = planner.dialect
        self.columns = ColumnProjection(planner.dialect, in_timezone=in_timezone)
        self.array_count = 0  # arrays of to-many spreads

    # Rows

    def rows(self, node: Node, relation: Relation, selection: RowSelection) -> sa.Select[Any]:
        """Return the select of a page of a node's rows as JSON objects."""
        if has_aggregates(node):
            return self.grouped_rows(node, relation, selection)
        page = self.page(node, relation, selection)
        return page.select_value(self.columns.row(self.outputs(node, relation, page.rows)))

    def page(self, node: Node, relation: Relation, selection: RowSelection) -> RowPage:
        """Return a page of a node's rows."""
        source, paths, correlated = selection.source, selection.paths, selection.correlated
        order = self.planner.order(node, relation, source) if self.is_ordered(node, relation, correlated) else []
        if selection.default_order and not node.order:
            order = [*selection.default_order, *order]
        sort_keys = [] if self.dialect.keeps_subquery_order else list(map(without_direction, order))
        is_sorted = bool(node.order) or len(paths) > 1 or paths[0].is_partitioned
        keys_first = selection.keys_first or (correlated is None and is_sorted)
        page: Any
        if keys_first:
            page = self.page_of_keys(node, relation, selection)
        else:
            names = self.needed_columns(node, relation)
            page = sa.select(*(source.c[name] for name in names), *labelled(sort_keys))
            page = page.where(*paths[0].conditions).order_by(*order)
        page = page.limit(selection.limits[0])
        if selection.limits[1] is not None:
            page = page.offset(selection.limits[1])
        if correlated is not None:
            page = page.correlate(correlated)
        inner = page.subquery("p" + str(source.name)[1:])
        rows = self.rows_by_key(relation, inner) if keys_first else JoinedRows(inner, inner)
        if not sort_keys:
            return RowPage(rows, [])
        return RowPage(rows, [same_direction(term, inner.c[f"s{n}"]) for n, term in enumerate(order)])

    def page_of_keys(
        self, node: Node, relation: Relation, selection: RowSelection
    ) -> sa.Select[Any] | sa.CompoundSelect[Any]:
        """Return the select of the rows' keys in order. Several access paths are merged by UNION ALL."""
        source, paths, limits = selection.source, selection.paths, selection.limits
        keeps_order = self.dialect.keeps_subquery_order
        keys = [source.c[name] for name in relation.key]
        order: list[Expression] = []
        selects: list[sa.Select[Any]] = []
        for path in paths:
            if self.is_ordered(node, relation, selection.correlated):
                order = self.planner.order(node, relation, source)
            search = sa.select(*keys).select_from(path.rows).where(*path.conditions)
            if len(paths) == 1 and keeps_order:
                return search.order_by(*order)
            search = search.add_columns(*labelled(map(without_direction, order)))
            if len(paths) > 1 and not path.is_small and not keeps_order:
                # PostgreSQL needs a LIMIT in each branch to stop at the page; SQLite does not. Without it for a
                # small set: PostgreSQL might scan an ordered index over the rows of all clients to find that set.
                limit = limits[0]
                if limits[1] is not None:
                    limit += self.dialect.least(limits[1], OFFSET_MAX)
                search = sa.select(search.order_by(*order).limit(limit).subquery())
            selects.append(search)
        if len(selects) == 1:
            return selects[0].order_by(*order)
        sort_keys: list[Expression] = [sa.literal_column(f"s{n}") for n in range(len(order))]
        return sa.union_all(*selects).order_by(*map(same_direction, order, sort_keys))

    def is_ordered(self, node: Node, relation: Relation, correlated: Any) -> bool:
        """Return whether a page has an ORDER BY: by the node's order, else by the primary key.

        PostgreSQL needs one to have the same rows inside and outside of the page's sub-select. SQLite does without one
        in large tables, where the sort of all visible rows would precede the first page.
        """
        is_small = relation.model.expected_rows <= SORTED_ROWS_MAX
        return bool(node.order) or correlated is not None or not self.dialect.keeps_subquery_order or is_small

    def rows_by_key(self, relation: Relation, keys: Any) -> JoinedRows:
        """Return the full rows of a page of keys. So the sort carries keys only, and a covering index may suffice.

        The keys are those of readable rows. The LEFT JOIN keeps the page as the outer loop and keeps its order.
        """
        rows = self.planner.alias(relation)
        on = [rows.c[name] == keys.c[name] for name in relation.key]
        return JoinedRows(rows, keys.outerjoin(rows, sa.and_(*on)))

    def grouped_rows(self, node: Node, relation: Relation, selection: RowSelection) -> sa.Select[Any]:
        """Return the select of a page of a node's groups as JSON objects."""
        source, paths = selection.source, selection.paths
        if len(paths) == 1:
            rows, where = JoinedRows(source, paths[0].rows), paths[0].conditions
        else:
            # Only the needed columns, so that a covering index can suffice.
            names = {*self.needed_columns(node, relation), *(term.column for term in node.order)}
            columns = [column for column in source.c if column.name in names]
            selects = [sa.select(*columns).select_from(path.rows).where(*path.conditions) for path in paths]
            source = sa.union_all(*selects).subquery("u" + str(source.name)[1:])
            rows, where = JoinedRows(source, source), []
        outputs = self.outputs(node, relation, rows)
        groups = GroupedSelect(self.planner, node, relation, source, outputs)
        page = groups.page(rows.joined, where, selection.limits, selection.correlated)
        row = self.columns.row(groups.printed(page))
        return sa.select(row.label("row")).select_from(page)

    # Outputs

    def outputs(self, node: Node, relation: Relation, source: JoinedRows) -> list[Output]:
        """Return the outputs of a node, and join its to-one embeds to `source`."""
        names = [embed.name for embed in node.embeds if not embed.spread]
        for name in names:
            if names.count(name) > 1:
                raise DuplicateEmbed(f'table name "{relation.name}_{name}" specified more than once')
        outputs: list[Output] = []
        for item in node.items:
            if isinstance(item, Column):
                outputs += self.columns.outputs(item, relation, source.alias, source.counted)
            else:
                outputs += self.embed(item, relation, source)
        if len(outputs) > OUTPUTS_MAX:
            raise TooManyColumns(f"a select holds at most {OUTPUTS_MAX} columns and embeds a level")
        return outputs

    # Embeds

    def embed(self, embed: Embed, relation: Relation, source: JoinedRows) -> list[Output]:
        relationship = self.planner.catalog.relationship(relation.name, embed.relation, embed.hint)
        if embed.spread:
            return self.spread(embed, relationship, source)
        if is_empty(embed.node):
            self.validate(embed, relationship, source)
            return []
        if not relationship.to_one:
            array = self.json_array(self.embedded_rows(embed, relationship, source), source)
            return [Output(embed.name, array, EMBED)]
        if has_aggregates(embed.node):
            return [Output(embed.name, self.to_one_group(embed, relationship, source), EMBED)]
        return [Output(embed.name, self.to_one(embed, relationship, source), EMBED)]

    def validate(self, embed: Embed, relationship: Relationship, source: JoinedRows) -> None:
        """Raise the errors in the filters and embeds of an empty embed, which prints nothing."""
        target, _, scope = self.planner.joined_target(relationship, source.alias)
        target_relation = self.planner.catalog.relations[relationship.target]
        self.planner.conditions(embed.node, target_relation, target, scope)
        for inner in embed.node.embeds:
            self.embed(inner, target_relation, JoinedRows(target, target))

    def to_one(self, embed: Embed, relationship: Relationship, source: JoinedRows) -> Expression:
        """Return the JSON object of a to-one embed; null if there is no row."""
        target, outputs = self.join_to_one(embed, relationship, source)
        exists = target.c[relationship.pairs[0][1]].is_not(None)
        return sa.case((exists, self.columns.row(outputs)))

    def spread(self, embed: Embed, relationship: Relationship, source: JoinedRows) -> list[Output]:
        """Return the outputs of a spread embed among those of its parent."""
        require_spreadable(embed, relationship)
        if not relationship.to_one:
            return self.spread_many(embed, relationship, source)
        target, outputs = self.join_to_one(embed, relationship, source)
        exists = target.c[relationship.pairs[0][1]].is_not(None)
        return [spread_output(output, embed, exists) for output in outputs]

    def join_to_one(self, embed: Embed, relationship: Relationship, source: JoinedRows) -> tuple[Any, list[Output]]:
        """LEFT JOIN a to-one embed and its own to-one embeds to `source`. Return its alias and its outputs.

        The ON holds the rule, the filters and the range of the embed.
        """
        target, on, scope = self.planner.joined_target(relationship, source.alias)
        target_relation = self.planner.catalog.relations[relationship.target]
        conditions = self.planner.conditions(embed.node, target_relation, target, scope)
        conditions += self.planner.range_conditions(embed.node)
        self.planner.order(embed.node, target_relation, target)
        joined = source.joined.outerjoin(target, sa.and_(*on, scope, *conditions))
        inner = JoinedRows(target, joined, target.c[relationship.pairs[0][1]])
        outputs = self.outputs(embed.node, target_relation, inner)
        source.joined = inner.joined
        return target, outputs

    def spread_many(self, embed: Embed, relationship: Relationship, source: JoinedRows) -> list[Output]:
        """Return an array for each output of a to-many spread. All arrays have the same order.

        Each array is a sub-select. An array of a nested spread is not part of another array.
        """
        target_relation = self.planner.catalog.relations[relationship.target]
        # The sorts of all arrays stay in memory until the end, so that they must not carry the rows.
        selection = replace(self.embedded_selection(embed, relationship, source), keys_first=True)
        page = self.page(embed.node, target_relation, selection)
        outputs = self.outputs(embed.node, target_relation, page.rows)
        self.array_count += len(outputs)
        if self.array_count > ARRAYS_MAX:
            raise TooManyColumns(f"spreads make at most {ARRAYS_MAX} arrays, those within arrays included")
        return [
            Output(
                output.key,
                self.json_array(page.select_value(self.columns.printed(output)), source),
                EMBED,
                embed=embed.name,
            )
            for output in outputs
        ]

    def to_one_group(self, embed: Embed, relationship: Relationship, source: JoinedRows) -> Expression:
        """Return the JSON object of a to-one embed with aggregates. There is a group even without rows."""
        rows = self.embedded_rows(embed, relationship, source)
        return self.dialect.as_json(rows.correlate(source.alias).scalar_subquery())

    def embedded_rows(self, embed: Embed, relationship: Relationship, source: JoinedRows) -> sa.Select[Any]:
        target_relation = self.planner.catalog.relations[relationship.target]
        selection = self.embedded_selection(embed, relationship, source)
        return self.rows(embed.node, target_relation, selection)

    def embedded_selection(self, embed: Embed, relationship: Relationship, source: JoinedRows) -> RowSelection:
        """Return the selection of an embed's rows for a row of `source`."""
        target, on, scope = self.planner.joined_target(relationship, source.alias)
        target_relation = self.planner.catalog.relations[relationship.target]
        conditions = self.planner.conditions(embed.node, target_relation, target, scope)
        path = AccessPath(target, [*on, scope, *conditions])
        return RowSelection(target, [path], self.limits(embed.node), source.alias)

    def json_array(self, rows: sa.Select[Any], source: JoinedRows) -> Expression:
        """Return a select of JSON objects as a JSON array."""
        row = rows.selected_columns[0]
        assert isinstance(row, sa.Label)
        if self.dialect.keeps_subquery_order:
            array = rows.with_only_columns(self.dialect.json_of_rows(row.element))
            return self.dialect.as_json(array.correlate(source.alias).scalar_subquery())
        # PostgreSQL feeds an aggregate over a sorted sub-select alone in that order.
        sorted_rows = rows.correlate(source.alias).subquery()
        array = sa.select(self.dialect.json_of_rows(sorted_rows.c.row))
        return self.dialect.as_json(array.scalar_subquery())

    def limits(self, node: Node) -> tuple[Expression, Expression | None]:
        """Return the limit and the offset of an embed. The limit is at most `rows_max`."""
        rows_max = parameter("rows_max", sa.BigInteger)
        offset = self.planner.number(node.offset) if node.offset is not None else None
        if node.limit is None:
            return rows_max, offset
        return self.dialect.least(self.planner.number(node.limit), rows_max), offset

    def needed_columns(self, node: Node, relation: Relation) -> list[str]:
        """Return the columns that the outputs of a node read, in the relation's order."""
        names: set[str] = set()
        for item in node.items:
            if isinstance(item, Embed):
                relationship = self.planner.catalog.relationship(relation.name, item.relation, item.hint)
                names.update(source_column for source_column, _ in relationship.pairs)
            elif item.name == "*":
                names.update(relation.attributes)
            else:
                names.add(relation.attribute(item.name).name)
        return [name for name in relation.attributes if name in names] or [relation.key[0]]


def require_spreadable(embed: Embed, relationship: Relationship) -> None:
    """Raise AggregateSpread for an aggregate in a to-many spread."""
    if not relationship.to_one and has_aggregates(embed.node):
        raise AggregateSpread(
            "Feature not implemented", "Aggregates are not implemented for one-to-many or many-to-many spreads."
        )


def spread_output(output: Output, embed: Embed, exists: Expression) -> Output:
    """Return the output of a spread to-one embed. It is null if there is no row, an array included."""
    value = sa.case((exists, output.value)) if output.kind == "embed" else output.value
    return replace(output, value=value, uncast=None, embed=output.embed or embed.name)


def is_empty(node: Node) -> bool:
    """Return whether a node prints nothing: it has no items, or only empty embeds."""
    return all(isinstance(item, Embed) and is_empty(item.node) for item in node.items)


def labelled(sort_keys: Iterable[Expression]) -> list[sa.Label[Any]]:
    """Return sort keys as columns `s0`, `s1`… of a page, for the ORDER BY of an outer select."""
    return [term.label(f"s{position}") for position, term in enumerate(sort_keys)]


def same_direction(term: Any, column: Expression) -> Expression:
    """Return a column with the direction of an order term."""
    if not isinstance(term, sa.UnaryExpression):
        return column
    inner = same_direction(term.element, column)
    ordered: Expression = sa.UnaryExpression(inner, modifier=term.modifier)
    return ordered
