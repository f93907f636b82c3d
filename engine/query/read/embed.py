"""The select tree: what is printed of a node's rows. Pages of them, their columns, embeds of every kind.

To-one embeds are LEFT JOINs that carry the rule and the embed's filters in their ON, so that a hidden
or filtered row reads as null; to-many embeds are sub-selects of their own, and spread one for each array
(PostgREST 13 and later). What a column prints is `columns.py`'s; a node that aggregates has groups for
rows, which are `groups.py`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from engine.query.catalog import Relation
from engine.query.catalog import Relationship
from engine.query.read.aggregates import Groups
from engine.query.read.aggregates import has_aggregates
from engine.query.read.columns import Columns
from engine.query.read.columns import Output
from engine.query.read.planner import AccessPath
from engine.query.read.planner import Planner
from engine.query.shape import Column
from engine.query.shape import Embed
from engine.query.shape import Node
from engine.query.statement import parameter
from models.errors import Fault

Expression = sa.ColumnElement[Any]

OUTPUTS_MAX = 60  # SQLite may be built with functions of 127 arguments, two of which print a column
BEYOND_EVERY_ROW: Expression = sa.literal_column(str(2**61))
"""As an offset, to which a limit can be added."""
ARRAYS_MAX = 100  # each is a select of its own, which takes some milliseconds to plan


class AggregateSpread(Fault):
    """A spread of a to-many embed that aggregates (PGRST127)."""


class DuplicateEmbed(Fault):
    """Two embeds of one name at one level (42712)."""


class TooManyColumns(Fault):
    """More than OUTPUTS_MAX columns and embeds at one level, or ARRAYS_MAX arrays at all of them (54011)."""


@dataclass(slots=True)
class Source:
    """What a row is printed from: an alias, what has been joined to it, and what `count()` counts.

    Rows are counted, or where they may be absent, a column that no row is without.
    """

    alias: Any
    joined: Any
    counted: Expression | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows of a node: those of `source` that `ways` lead to, cut by `limits` (how many, from where on).

    `first` goes before the node's own order when that is empty; `correlated` is the parent.
    """

    source: Any
    ways: list[AccessPath]
    limits: tuple[Expression, Expression | None]
    correlated: Any = None
    first: list[Expression] | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of a node, ordered and cut, and what keeps them in that order where a select of a select does not."""

    rows: Source
    order: list[Expression]

    def printing(self, value: Expression) -> sa.Select[Any]:
        """A value of each of them."""
        return sa.select(value.label("row")).select_from(self.rows.joined).order_by(*self.order)


class Printer:
    """Prints rows of a planner's relations as JSON objects."""

    def __init__(self, planner: Planner, *, in_timezone: bool = False) -> None:
        self.planner = planner
        self.dialect = planner.dialect
        self.columns = Columns(planner.dialect, in_timezone=in_timezone)
        self.arrays = 0  # made of what is spread

    # A node's rows

    def rows(self, node: Node, relation: Relation, wanted: Wanted) -> sa.Select[Any]:
        """A node's rows, each one JSON object, ordered and cut."""
        if has_aggregates(node):
            return self.grouped_rows(node, relation, wanted)
        page = self.page(node, relation, wanted)
        return page.printing(self.columns.row(self.outputs(node, relation, page.rows)))

    def page(self, node: Node, relation: Relation, wanted: Wanted) -> Page:
        """The same rows, for something to be printed of each."""
        source, ways, correlated = wanted.source, wanted.ways, wanted.correlated
        order = (
            self.planner.order(node, relation, source) if self.is_ordered(node, correlated) else []
        )
        if wanted.first and not node.order:
            order = [*wanted.first, *order]
        sorts = [] if self.dialect.keeps_subquery_order else unordered(order)
        keys_first = correlated is None and (
            bool(node.order) or len(ways) > 1 or ways[0].is_partitioned
        )
        page: Any
        if keys_first:
            page = self.page_of_keys(node, relation, wanted)
        else:
            names = self.needed(node, relation)
            page = sa.select(*(source.c[name] for name in names), *labelled(sorts))
            page = page.where(*ways[0].conditions).order_by(*order)
        page = page.limit(wanted.limits[0])
        if wanted.limits[1] is not None:
            page = page.offset(wanted.limits[1])
        if correlated is not None:
            page = page.correlate(correlated)
        under = page.subquery("p" + str(source.name)[1:])
        outer = self.fetched(relation, under) if keys_first else Source(under, under)
        if not sorts:
            return Page(outer, [])
        return Page(outer, [again(term, under.c[f"s{n}"]) for n, term in enumerate(order)])

    def page_of_keys(
        self, node: Node, relation: Relation, wanted: Wanted
    ) -> sa.Select[Any] | sa.CompoundSelect[Any]:
        """The keys of rows in their order; those that are found in several ways are put in order together."""
        source, ways, limits = wanted.source, wanted.ways, wanted.limits
        keeps_order = self.dialect.keeps_subquery_order
        keys = [source.c[name] for name in relation.key]
        order: list[Expression] = []
        found: list[sa.Select[Any]] = []
        for way in ways:
            if node.order or not keeps_order:
                order = self.planner.order(node, relation, source)
            search = sa.select(*keys).select_from(way.rows).where(*way.conditions)
            if len(ways) == 1 and keeps_order:
                return search.order_by(*order)
            search = search.add_columns(*labelled(unordered(order)))
            if len(ways) > 1 and not way.is_small and not keeps_order:
                # An index ends it where the page does, which SQLite sees by itself. Not a search for few: PostgreSQL
                # might walk along an order through everybody's rows until it has met them.
                most = limits[0]
                if limits[1] is not None:
                    most += self.dialect.least(limits[1], BEYOND_EVERY_ROW)
                search = sa.select(search.order_by(*order).limit(most).subquery())
            found.append(search)
        if len(found) == 1:
            return found[0].order_by(*order)
        named: list[Expression] = [sa.literal_column(f"s{n}") for n in range(len(order))]
        return sa.union_all(*found).order_by(*map(again, order, named))

    def is_ordered(self, node: Node, correlated: Any) -> bool:
        """Whether an order has to be said, for the rows of a page to be the same within its select and around it."""
        return bool(node.order) or correlated is not None or not self.dialect.keeps_subquery_order

    def fetched(self, relation: Relation, keys: Any) -> Source:
        """The whole rows of a page of keys: a sort then carries keys only, and may live in an index.

        The rule has chosen the keys. LEFT JOIN, so that the page stays the outer loop and in order.
        """
        rows = self.planner.alias(relation)
        ties = [rows.c[name] == keys.c[name] for name in relation.key]
        return Source(rows, keys.outerjoin(rows, sa.and_(*ties)))

    def grouped_rows(self, node: Node, relation: Relation, wanted: Wanted) -> sa.Select[Any]:
        source, ways = wanted.source, wanted.ways
        if len(ways) == 1:
            origin, where = Source(source, ways[0].rows), ways[0].conditions
        else:
            # Nothing else of them: an index that holds all that is wanted is the shortest way.
            names = {*self.needed(node, relation), *(term.column for term in node.order)}
            columns = [column for column in source.c if column.name in names]
            found = [
                sa.select(*columns).select_from(way.rows).where(*way.conditions) for way in ways
            ]
            source = sa.union_all(*found).subquery("u" + str(source.name)[1:])
            origin, where = Source(source, source), []
        groups = Groups(self.planner, node, relation, source, self.outputs(node, relation, origin))
        page = groups.page(origin.joined, where, wanted.limits, wanted.correlated)
        row = self.columns.row(groups.printed(page))
        return sa.select(row.label("row")).select_from(page)

    # A row's keys

    def outputs(self, node: Node, relation: Relation, source: Source) -> list[Output]:
        """What a node prints, joining to `source` what its to-one embeds need."""
        names = [embed.name for embed in node.embeds if not embed.spread]
        for name in names:
            if names.count(name) > 1:
                raise DuplicateEmbed(
                    f'table name "{relation.name}_{name}" specified more than once'
                )
        found: list[Output] = []
        for item in node.items:
            if isinstance(item, Column):
                found += self.columns.outputs(item, relation, source.alias, source.counted)
            else:
                found += self.embed(item, relation, source)
        if len(found) > OUTPUTS_MAX:
            raise TooManyColumns(f"a select holds at most {OUTPUTS_MAX} columns and embeds a level")
        return found

    # Embeds

    def embed(self, embed: Embed, relation: Relation, source: Source) -> list[Output]:
        way = self.planner.catalog.relationship(relation.name, embed.relation, embed.hint)
        if embed.spread:
            return self.spread(embed, way, source)
        if is_empty(embed.node):
            self.check(embed, way, source)
            return []
        if not way.to_one:
            return [Output(embed.name, self.many(embed, way, source), "embed")]
        if has_aggregates(embed.node):
            return [Output(embed.name, self.one_grouped(embed, way, source), "embed")]
        return [Output(embed.name, self.one(embed, way, source), "embed")]

    def check(self, embed: Embed, way: Relationship, source: Source) -> None:
        """An empty embed prints nothing, yet its filters and what it embeds must make sense."""
        target, _, scope = self.planner.tied(way, source.alias)
        there = self.planner.catalog.relations[way.target]
        self.planner.conditions(embed.node, there, target, scope)
        for inner in embed.node.embeds:
            self.embed(inner, there, Source(target, target))

    def one(self, embed: Embed, way: Relationship, source: Source) -> Expression:
        target, outputs = self.joined(embed, way, source)
        return sa.case((target.c[way.pairs[0][1]].is_not(None), self.columns.row(outputs)))

    def spread(self, embed: Embed, way: Relationship, source: Source) -> list[Output]:
        require_spreadable(embed, way)
        if not way.to_one:
            return self.spread_many(embed, way, source)
        target, outputs = self.joined(embed, way, source)
        there = target.c[way.pairs[0][1]].is_not(None)
        return [spread_output(output, embed, there) for output in outputs]

    def joined(self, embed: Embed, way: Relationship, source: Source) -> tuple[Any, list[Output]]:
        """A to-one embed joined to `source`, with what it prints and what that needs in turn."""
        target = self.join(embed, way, source)
        inner = Source(target, source.joined, target.c[way.pairs[0][1]])
        outputs = self.outputs(embed.node, self.planner.catalog.relations[way.target], inner)
        source.joined = inner.joined
        return target, outputs

    def join(self, embed: Embed, way: Relationship, source: Source) -> Any:
        """LEFT JOIN a to-one embed, with everything that decides whether it is there in its ON."""
        target, ties, scope = self.planner.tied(way, source.alias)
        there = self.planner.catalog.relations[way.target]
        conditions = self.planner.conditions(embed.node, there, target, scope)
        conditions += self.planner.within(embed.node)
        self.planner.order(embed.node, there, target)
        source.joined = source.joined.outerjoin(target, sa.and_(*ties, scope, *conditions))
        return target

    def many(self, embed: Embed, way: Relationship, source: Source) -> Expression:
        return self.array_of(self.embedded_rows(embed, way, source), source)

    def spread_many(self, embed: Embed, way: Relationship, source: Source) -> list[Output]:
        """An array for each of its outputs, all in one order: each is a sub-select, and holds no other."""
        there = self.planner.catalog.relations[way.target]
        page = self.page(embed.node, there, self.embedded(embed, way, source))
        outputs = self.outputs(embed.node, there, page.rows)
        self.arrays += len(outputs)
        if self.arrays > ARRAYS_MAX:
            raise TooManyColumns(
                f"spreads make at most {ARRAYS_MAX} arrays, those within arrays included"
            )
        return [
            Output(
                output.key,
                self.array_of(page.printing(self.columns.printed(output)), source),
                "embed",
                embed=embed.name,
            )
            for output in outputs
        ]

    def one_grouped(self, embed: Embed, way: Relationship, source: Source) -> Expression:
        """A to-one embed that aggregates: a row of its own, there being a group even of nothing."""
        rows = self.embedded_rows(embed, way, source)
        return self.dialect.as_json(rows.correlate(source.alias).scalar_subquery())

    def embedded_rows(self, embed: Embed, way: Relationship, source: Source) -> sa.Select[Any]:
        there = self.planner.catalog.relations[way.target]
        return self.rows(embed.node, there, self.embedded(embed, way, source))

    def embedded(self, embed: Embed, way: Relationship, source: Source) -> Wanted:
        """The rows of an embed that are a row's of `source`."""
        target, ties, scope = self.planner.tied(way, source.alias)
        there = self.planner.catalog.relations[way.target]
        conditions = self.planner.conditions(embed.node, there, target, scope)
        ways = [AccessPath(target, [*ties, scope, *conditions])]
        return Wanted(target, ways, self.limits(embed.node), source.alias)

    def array_of(self, rows: sa.Select[Any], source: Source) -> Expression:
        """The rows of a select, each one JSON object, as one JSON array."""
        row = rows.selected_columns[0]
        assert isinstance(row, sa.Label)
        if self.dialect.keeps_subquery_order:
            array = rows.with_only_columns(self.dialect.json_of_rows(row.element))
            return self.dialect.as_json(array.correlate(source.alias).scalar_subquery())
        # An aggregate over nothing but a sorted sub-select takes its rows in that order.
        sorted_rows = rows.correlate(source.alias).subquery()
        array = sa.select(self.dialect.json_of_rows(sorted_rows.c.row))
        return self.dialect.as_json(array.scalar_subquery())

    def limits(self, node: Node) -> tuple[Expression, Expression | None]:
        bound = parameter("rows_max", sa.BigInteger)
        offset = self.planner.number(node.offset) if node.offset is not None else None
        if node.limit is None:
            return bound, offset
        return self.dialect.least(self.planner.number(node.limit), bound), offset

    # What a page must hand on

    def needed(self, node: Node, relation: Relation) -> list[str]:
        """The columns that printing a node's rows takes, in a fixed order."""
        names: set[str] = set()
        for item in node.items:
            if isinstance(item, Embed):
                way = self.planner.catalog.relationship(relation.name, item.relation, item.hint)
                names.update(here for here, _ in way.pairs)
            elif item.name == "*":
                names.update(relation.attributes)
            else:
                names.add(relation.attribute(item.name).name)
        return [name for name in relation.attributes if name in names] or [relation.key[0]]


def require_spreadable(embed: Embed, way: Relationship) -> None:
    """Insist that what is to be spread is one row, or several without an aggregate."""
    if not way.to_one and has_aggregates(embed.node):
        raise AggregateSpread(
            "Feature not implemented",
            "Aggregates are not implemented for one-to-many or many-to-many spreads.",
        )


def spread_output(output: Output, embed: Embed, there: Expression) -> Output:
    """An output of an embed among its parent's: null where there is no row, also if it is an array."""
    value = sa.case((there, output.value)) if output.kind == "embed" else output.value
    return replace(output, value=value, raw=None, embed=output.embed or embed.name)


def is_empty(node: Node) -> bool:
    """Whether a node prints nothing: it holds nothing, or only embeds that hold nothing."""
    return all(isinstance(item, Embed) and is_empty(item.node) for item in node.items)


def unordered(order: list[Expression]) -> list[Expression]:
    """The bare expressions of order terms, to be handed to an outer select."""
    return [bare(term) for term in order]


def labelled(sorts: list[Expression]) -> list[sa.Label[Any]]:
    """What a page is sorted by, to be told beside its columns."""
    return [term.label(f"s{place}") for place, term in enumerate(sorts)]


def bare(term: Any) -> Expression:
    while isinstance(term, sa.UnaryExpression):
        term = term.element
    column: Expression = term
    return column


def again(term: Any, column: Expression) -> Expression:
    """The same direction over another expression."""
    if not isinstance(term, sa.UnaryExpression):
        return column
    inner = again(term.element, column)
    directed_again: Expression = sa.UnaryExpression(inner, modifier=term.modifier)
    return directed_again
