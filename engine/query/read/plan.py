"""A shape resolved against catalog and rule, compiled: made once, kept, and run many times."""

from __future__ import annotations

from functools import cached_property
from functools import partial

import sqlalchemy as sa

from engine.query.catalog import catalog
from engine.query.dialect.registry import DIALECTS
from engine.query.plan_cache import PlanCache
from engine.query.read.aggregates import has_aggregates
from engine.query.read.embed import Printer
from engine.query.read.embed import Wanted
from engine.query.read.embed import require_spreadable
from engine.query.read.planner import AccessPath
from engine.query.read.planner import Planner
from engine.query.rule import Rule
from engine.query.shape import Node
from engine.query.shape import Shape
from engine.query.statement import Statement
from engine.query.statement import parameter

ROOT_LIMIT = parameter("root_limit", sa.BigInteger)
ROOT_OFFSET = parameter("root_offset", sa.BigInteger)


class ReadPlan:
    """The statements of a read. Those that count are made when they are first asked for, which most reads never do."""

    def __init__(self, database: str, relation_name: str, shape: Shape, rule: Rule) -> None:
        self.planner = partial(Planner, DIALECTS[database], rule)
        self.relation_name = relation_name
        self.shape = shape
        self.rows: Statement = read_rows(self.planner(), relation_name, shape)
        """The rows, each one JSON text."""

    @cached_property
    def shown(self) -> Statement:
        """The number of those in range."""
        return count_shown(self.planner(), self.relation_name, self.shape)

    @cached_property
    def count(self) -> Statement:
        """The number of all of them, whatever the range."""
        return count_rows(self.planner(), self.relation_name, self.shape)

    @cached_property
    def is_of_one(self) -> bool:
        """Whether it is of one row, by its key: then finding it anew is the quickest way."""
        return self.shape.root.names_one(catalog().relations[self.relation_name].key)

    @cached_property
    def grouped(self) -> bool:
        return has_aggregates(self.shape.root)


plan_read = PlanCache(ReadPlan, shape_at=2)
"""The rows of a relation that the rule lets be read, as the shape wants them printed."""


def make_representation(database: str, relation_name: str, shape: Shape, rule: Rule) -> Statement:
    """The rows that a write has touched, by their keys: filters are done with, the rule is not."""
    planner = Planner(DIALECTS[database], rule)
    relation = catalog().relations[relation_name]
    printer = Printer(planner, in_timezone=shape.timezone)
    kinds = [(name, relation.attributes[name].type) for name in relation.key]
    keys = planner.dialect.key_table("k", kinds, "keys")
    source, scope = planner.scoped(relation)
    ties = [source.c[name] == keys.c[name] for name in relation.key]
    wanted = Wanted(
        source,
        [AccessPath(source, [*ties, scope])],
        (parameter("rows_max", sa.BigInteger), None),
        first=[keys.c.position],
    )
    return planner.finish(printer.rows(shape.root, relation, wanted))


plan_representation = PlanCache(make_representation, shape_at=2)


def require_ways(relation_name: str, root: Node) -> None:
    """Find out whether every embed of a write leads somewhere, though nothing of it is wanted back: a write that is
    misspelt is none, as in PostgREST. Columns are looked at where they are shown."""
    for embed in root.embeds:
        way = catalog().relationship(relation_name, embed.relation, embed.hint)
        if embed.spread:
            require_spreadable(embed, way)
        require_ways(way.target, embed.node)


def read_rows(planner: Planner, relation_name: str, shape: Shape) -> Statement:
    relation = planner.catalog.relations[relation_name]
    planner.require_ways(shape.root, relation)
    source, scope = planner.scoped(relation)
    root = shape.root
    if has_aggregates(root):
        ways = planner.access_paths(root, relation, source, scope, is_list=False)
    elif planner.ends_early(root, relation):
        ways = planner.access_paths(root, relation, source, scope, is_list=True)
    else:
        ways = [planner.single_path(root, relation, source, scope)]
    printer = Printer(planner, in_timezone=shape.timezone)
    wanted = Wanted(source, ways, (ROOT_LIMIT, ROOT_OFFSET))
    return planner.finish(printer.rows(root, relation, wanted))


def count_shown(planner: Planner, relation_name: str, shape: Shape) -> Statement:
    relation = planner.catalog.relations[relation_name]
    source, scope = planner.scoped(relation)
    one = sa.literal_column("1", sa.Integer())
    found = [
        sa.select(one.label("one")).select_from(way.rows).where(*way.conditions)
        for way in planner.access_paths(shape.root, relation, source, scope, is_list=False)
    ]
    rows = found[0] if len(found) == 1 else sa.union_all(*found)
    page = rows.limit(ROOT_LIMIT).offset(ROOT_OFFSET)
    return planner.finish(sa.select(sa.func.count()).select_from(page.subquery("shown")))


def count_rows(planner: Planner, relation_name: str, shape: Shape) -> Statement:
    relation = planner.catalog.relations[relation_name]
    source, scope = planner.scoped(relation)
    counts = [
        sa.select(sa.func.count().label("counted")).select_from(way.rows).where(*way.conditions)
        for way in planner.access_paths(shape.root, relation, source, scope, is_list=False)
    ]
    if len(counts) == 1:
        return planner.finish(counts[0])
    found = sa.union_all(*counts).subquery("found")
    return planner.finish(sa.select(sa.cast(sa.func.sum(found.c.counted), sa.BigInteger())))
