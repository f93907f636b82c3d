"""The plans of reads: a shape compiled to statements for a rule and a database, and cached."""

from __future__ import annotations

from functools import cached_property, partial

import sqlalchemy as sa

from engine.query.catalog import catalog
from engine.query.dialect.registry import DIALECTS
from engine.query.read.embed import RowSelection, SelectBuilder, has_aggregates, require_spreadable
from engine.query.read.planner import AccessPath, Planner
from engine.query.shape import Node, Shape
from engine.query.statement import PlanCache, Rule, Statement, parameter

ROOT_LIMIT = parameter("root_limit", sa.BigInteger)
ROOT_OFFSET = parameter("root_offset", sa.BigInteger)


class ReadPlan:
    """The statements of a read. A statement that counts is built at its first use."""

    def __init__(self, database: str, relation_name: str, shape: Shape, rule: Rule) -> None:
        self.planner = partial(Planner, DIALECTS[database], rule)
        self.relation_name = relation_name
        self.shape = shape
        self.rows: Statement = read_rows(self.planner(), relation_name, shape)
        """The rows as JSON texts."""

    @cached_property
    def shown(self) -> Statement:
        """The number of rows in the range."""
        return count_shown(self.planner(), self.relation_name, self.shape)

    @cached_property
    def count(self) -> Statement:
        """The total number of rows."""
        return count_rows(self.planner(), self.relation_name, self.shape)

    @cached_property
    def is_point_read(self) -> bool:
        """Whether it reads one row by its key. A cache would be slower."""
        return self.shape.root.selects_one(catalog().relations[self.relation_name].key)

    @cached_property
    def grouped(self) -> bool:
        return has_aggregates(self.shape.root)


plan_read = PlanCache(ReadPlan, shape_at=2)
"""Return the cached `ReadPlan`."""


def make_representation(database: str, relation_name: str, shape: Shape, rule: Rule) -> Statement:
    """Return the query for written rows by key, under the rule and without the filters."""
    planner = Planner(DIALECTS[database], rule)
    relation = catalog().relations[relation_name]
    builder = SelectBuilder(planner, in_timezone=shape.timezone)
    kinds = [(name, relation.attributes[name].type) for name in relation.key]
    keys = planner.dialect.key_table("k", kinds, "keys")
    source, scope = planner.scoped(relation)
    on = [source.c[name] == keys.c[name] for name in relation.key]
    selection = RowSelection(
        source,
        [AccessPath(source, [*on, scope])],
        (parameter("rows_max", sa.BigInteger), None),
        default_order=[keys.c.position],
    )
    return planner.finish(builder.rows(shape.root, relation, selection))


plan_representation = PlanCache(make_representation, shape_at=2)


def require_relationships(relation_name: str, root: Node) -> None:
    """Raise the error of the first invalid embed of a write that returns no rows, as in PostgREST.

    The columns of embeds are not checked.
    """
    for embed in root.embeds:
        relationship = catalog().relationship(relation_name, embed.relation, embed.hint)
        if embed.spread:
            require_spreadable(embed, relationship)
        require_relationships(relationship.target, embed.node)


def read_rows(planner: Planner, relation_name: str, shape: Shape) -> Statement:
    relation = planner.catalog.relations[relation_name]
    planner.require_relationships(shape.root, relation)
    source, scope = planner.scoped(relation)
    root = shape.root
    if has_aggregates(root):
        paths = planner.access_paths(root, relation, source, scope, is_list=False)
    elif planner.stops_at_page(root, relation):
        paths = planner.access_paths(root, relation, source, scope, is_list=True)
    else:
        paths = [planner.single_path(root, relation, source, scope)]
    builder = SelectBuilder(planner, in_timezone=shape.timezone)
    selection = RowSelection(source, paths, (ROOT_LIMIT, ROOT_OFFSET))
    return planner.finish(builder.rows(root, relation, selection))


def count_shown(planner: Planner, relation_name: str, shape: Shape) -> Statement:
    relation = planner.catalog.relations[relation_name]
    source, scope = planner.scoped(relation)
    one = sa.literal_column("1", sa.Integer())
    selects = [
        sa.select(one.label("one")).select_from(path.rows).where(*path.conditions)
        for path in planner.access_paths(shape.root, relation, source, scope, is_list=False)
    ]
    rows = selects[0] if len(selects) == 1 else sa.union_all(*selects)
    page = rows.limit(ROOT_LIMIT).offset(ROOT_OFFSET)
    return planner.finish(sa.select(sa.func.count()).select_from(page.subquery("shown")))


def count_rows(planner: Planner, relation_name: str, shape: Shape) -> Statement:
    relation = planner.catalog.relations[relation_name]
    source, scope = planner.scoped(relation)
    counts = [
        sa.select(sa.func.count().label("counted")).select_from(path.rows).where(*path.conditions)
        for path in planner.access_paths(shape.root, relation, source, scope, is_list=False)
    ]
    if len(counts) == 1:
        return planner.finish(counts[0])
    branches = sa.union_all(*counts).subquery("branches")
    return planner.finish(sa.select(sa.cast(sa.func.sum(branches.c.counted), sa.BigInteger())))
