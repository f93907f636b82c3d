"""The planner: which rows of which relations, under which rule, in which order.

The planner writes expressions and sees neither a value nor a caller: both are parameters. Every
relation it reads is an alias that the rule was applied to; before a plan is finished it is searched
for one that is not (`UnguardedRelation`). Which rows and in which order is decided in a *page*, a
sub-select over the relation alone; what is printed of them is made outside it, so that embeds are
computed only for rows that are returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import visitors

from engine.query import operators
from engine.query.catalog import Attribute
from engine.query.catalog import Relation
from engine.query.catalog import Relationship
from engine.query.catalog import aliased
from engine.query.dialect.base import SqlDialect
from engine.query.dialect.in_subquery import SmallInSubquery
from engine.query.json_paths import path_value
from engine.query.read.access_paths import AccessPaths
from engine.query.read.disjuncts import Disjunct
from engine.query.read.disjuncts import disjuncts
from engine.query.read.skip_scan import Partitions
from engine.query.read.skip_scan import names_few
from engine.query.read.skip_scan import partitions_of
from engine.query.rule import Action
from engine.query.rule import Rule
from engine.query.shape import Condition
from engine.query.shape import Embed
from engine.query.shape import Filter
from engine.query.shape import Node
from engine.query.shape import NotEmbedded
from engine.query.shape import OrderTerm
from engine.query.statement import Statement
from engine.query.statement import compile_statement
from models import RESOURCES
from models.errors import Fault
from models.types import ColumnType

Expression = sa.ColumnElement[Any]

TRUSTED_ALIASES = ("rule_", "derived_")
"""What a rule looks at to decide, and what a hidden column is computed from: neither is ever printed."""


class NotToOne(Fault):
    """An order by a to-many embed (PGRST118), which has no one value."""


class UnguardedRelation(AssertionError):
    """A plan that reads a relation without its rule. Never a caller's fault: nothing is run."""


@dataclass(frozen=True, slots=True)
class AccessPath:
    """A search: its rows, joined to the partitions that it reads first, and the conditions on them. `is_small`: a small
    set begins it, and its rows come in no order of an index."""

    rows: sa.FromClause
    conditions: list[Expression]
    is_small: bool = False

    @property
    def is_partitioned(self) -> bool:
        """Whether the search begins with partitions."""
        return isinstance(self.rows, sa.Join)


class Planner(AccessPaths):
    """The state of one plan in the making: dialect, rule, slots, operands, and what has been guarded."""

    def __init__(self, dialect: SqlDialect, rule: Rule) -> None:
        super().__init__(dialect)
        self.rule = rule
        self.guarded: set[Any] = set()
        self.implied: set[Any] = set()  # aliases of rows that visible ones imply

    # Relations and their rule

    def alias(self, relation: Relation) -> Any:
        alias = aliased(relation.table, f"t{len(self.guarded)}")
        self.guarded.add(alias)
        return alias

    def scoped(self, relation: Relation, action: Action = Action.READ) -> tuple[Any, Expression]:
        """A relation under a new name, and the condition that the rule puts on its rows."""
        alias = self.alias(relation)
        return alias, self.rule.rows(action, relation.model, alias.c)

    def scoped_embed(self, relation: Relation, way: Relationship) -> tuple[Any, Expression]:
        """The same at the end of a relationship, where a visible row on this side may imply it."""
        alias = self.alias(relation)
        source = self.catalog.relations[way.source].model
        if way.junction is None and self.rule.implied(relation.model, source):
            self.implied.add(alias)
            return alias, sa.true()
        return alias, self.rule.rows(Action.READ, relation.model, alias.c)

    def barrier(self, relation: Relation, alias: Any, scope: Expression) -> Expression:
        """What a filter that tells stands behind: where others imply rows, a database may begin with these."""
        if alias not in self.implied:
            return scope
        return self.rule.rows(Action.READ, relation.model, alias.c)

    # Conditions

    def conditions(
        self, node: Node, relation: Relation, alias: Any, scope: Expression
    ) -> list[Expression]:
        """A node's filters and inner embeds, over an alias of its relation."""
        found = [self.condition(item, node, relation, alias, scope) for item in node.conditions]
        inner = [embed for embed in node.embeds if embed.join == "inner"]
        return found + [self.embed_exists(embed, relation, alias) for embed in inner]

    # Access paths to the rows of a node

    def access_paths(
        self, node: Node, relation: Relation, alias: Any, scope: Expression, *, is_list: bool
    ) -> list[AccessPath]:
        """Return a search for each disjunct of the rule: of a list, which ends at its page, or of all rows."""
        condition = self.index_condition(node, relation, alias, scope)
        ordered = node if is_list else replace(node, order=())
        return [
            self.access_path(
                node, relation, alias, scope, each, self.partitions(ordered, relation, alias, each)
            )
            for each in disjuncts(scope, condition)
        ]

    def single_path(
        self, node: Node, relation: Relation, alias: Any, scope: Expression
    ) -> AccessPath:
        """Return one search for all rows by the whole rule."""
        condition = self.index_condition(node, relation, alias, scope)
        whole = Disjunct(scope, condition)
        return self.access_path(node, relation, alias, scope, whole, None)

    def ends_early(self, node: Node, relation: Relation) -> bool:
        """Whether a list of a node's rows may end at its page: it has an order, or is not of rows that keys name."""
        if node.order:
            return True
        is_of_few = any(names_few(condition, relation) for condition in node.conditions)
        return self.dialect.uses_skip_scans and not is_of_few

    def partitions(
        self, node: Node, relation: Relation, alias: Any, disjunct: Disjunct
    ) -> Partitions | None:
        """Return the partitions that a skip scan of a disjunct reads; None where it needs none."""
        if not self.dialect.uses_skip_scans:
            return None
        return partitions_of(node, relation, alias, disjunct.rule)

    def access_path(
        self,
        node: Node,
        relation: Relation,
        alias: Any,
        scope: Expression,
        disjunct: Disjunct,
        partitions: Partitions | None,
    ) -> AccessPath:
        """Return the search for a disjunct's rows."""
        conditions = [
            disjunct.condition,
            *self.prefix_conditions(node, relation, alias),
            *disjunct.rest,
            *self.conditions(node, relation, alias, scope),
        ]
        if partitions is None:
            return AccessPath(alias, conditions, isinstance(disjunct.condition, SmallInSubquery))
        joined = self.dialect.nested_loop(partitions.rows, alias, partitions.ties)
        return AccessPath(
            joined, [*conditions, *self.partition_filters(node, relation, partitions)]
        )

    def partition_filters(
        self, node: Node, relation: Relation, partitions: Partitions
    ) -> list[Expression]:
        """Return the filters that hold or fail for whole partitions."""
        return [
            self.filter(flt, node, relation, partitions.rows, sa.true())
            for flt in node.conditions
            if isinstance(flt, Filter)
            and flt.column in partitions.columns
            and self.null_filtered(flt, node) is None
        ]

    def condition(
        self, item: Condition, node: Node, relation: Relation, alias: Any, scope: Expression
    ) -> Expression:
        if isinstance(item, Filter):
            return self.filter(item, node, relation, alias, scope)
        parts = [self.condition(part, node, relation, alias, scope) for part in item.operands]
        joined = sa.and_(*parts) if item.operator == "and" else sa.or_(*parts)
        return sa.not_(joined.self_group()) if item.negated else joined

    def filter(
        self, flt: Filter, node: Node, relation: Relation, alias: Any, scope: Expression
    ) -> Expression:
        embed = self.null_filtered(flt, node)
        if embed is not None:
            exists = self.embed_exists(embed, relation, alias)
            wants_null = (flt.keyword == "null") != flt.negated
            return ~exists if wants_null else exists
        kind, column = self.operand_column(flt, relation, alias)
        if flt.operator == "is":
            assert flt.keyword is not None
            condition, leak_proof = operators.is_condition(column, kind, flt.keyword), True
        else:
            operator = operators.operator_for("eq" if flt.operator == "in" else flt.operator, kind)
            leak_proof = operator.leak_proof
            condition = self.comparison(flt, operator, column, kind)
            if flt.column in relation.model.indexed_texts and flt.is_of_short_values:
                condition = self.dialect.with_length_limit(column, condition)
            condition = condition.self_group() if flt.negated else condition
        if flt.negated:
            condition = sa.not_(condition)
        if leak_proof and not flt.path:  # to read JSON takes the longer the more there is of it
            return condition
        timely = self.dialect.before_deadline(costly=operators.costly(node.conditions))
        barrier = sa.and_(self.barrier(relation, alias, scope), timely)
        # Not an AND: of several a database runs what it likes first, and what is alike in an OR but once.
        return condition if isinstance(barrier, sa.True_) else sa.case((barrier, condition))

    def operand_column(
        self, flt: Filter, relation: Relation, alias: Any
    ) -> tuple[ColumnType, Expression]:
        attribute = relation.attribute(flt.column)
        if flt.path:
            return path_value(self.dialect, attribute, alias.c[attribute.name], flt.path)
        return attribute.type, alias.c[attribute.name]

    def null_filtered(self, flt: Filter, node: Node) -> Embed | None:
        """The embed that `embed=is.null` or `embed=not.is.null` asks about, if it is one."""
        if flt.operator != "is" or flt.keyword not in ("null", "not_null") or flt.path:
            return None
        return next((embed for embed in node.embeds if flt.column == embed.name), None)

    # Embeds as conditions

    def require_ways(self, node: Node, relation: Relation) -> None:
        """Find out whether every embed leads somewhere, which is told before anything of columns."""
        for embed in node.embeds:
            way = self.catalog.relationship(relation.name, embed.relation, embed.hint)
            self.require_ways(embed.node, self.catalog.relations[way.target])

    def embed_exists(self, embed: Embed, relation: Relation, alias: Any) -> Expression:
        """Whether an embed has any row for a row of its parent, its limit and offset applied."""
        way = self.catalog.relationship(relation.name, embed.relation, embed.hint)
        target, ties, scope = self.tied(way, alias)
        node = embed.node
        where = [*ties, scope]
        where += self.conditions(node, self.catalog.relations[way.target], target, scope)
        if node.is_total and not embed.spread:
            return sa.and_(sa.true(), *self.within(node))
        if way.to_one:
            where += self.within(node)
        elif node.limit is not None or node.offset is not None:
            return self.dialect.per_row(self.rows_left(node, where).correlate(alias).exists())
        return self.dialect.per_row(sa.exists().where(*where).correlate(alias))

    def rows_left(self, node: Node, where: list[Expression]) -> sa.Select[Any]:
        """What a limit and an offset leave of the rows of a to-many embed."""
        rows: sa.Select[Any] = sa.select(sa.literal_column("1")).where(*where)
        if node.limit is not None:
            rows = rows.limit(self.number(node.limit))
        return rows if node.offset is None else rows.offset(self.number(node.offset))

    def within(self, node: Node) -> list[Expression]:
        """What a limit and an offset ask of the one row that there is."""
        found: list[Expression] = []
        if node.limit is not None:
            found.append(self.number(node.limit) > 0)
        if node.offset is not None:
            found.append(self.number(node.offset) == 0)
        return found

    def tied(self, way: Relationship, parent: Any) -> tuple[Any, list[Expression], Expression]:
        """The far side of a relationship, what ties it to a parent's row, and its rule."""
        target, scope = self.scoped_embed(self.catalog.relations[way.target], way)
        if way.junction is None:
            relation = self.catalog.relations[way.target]
            return target, self.ties(way.pairs, relation, target, parent), scope
        between = self.catalog.relations[way.junction]
        junction, junction_scope = self.scoped(between)
        near = self.ties(way.pairs, between, junction, parent)
        far = [target.c[there] == junction.c[here] for here, there in way.far_pairs]
        return target, [*near, *far, junction_scope], scope

    # Order

    def order(
        self, node: Node, relation: Relation, alias: Any, *, by_key: bool = True
    ) -> list[Expression]:
        """A node's order, made total by the primary key."""
        terms = [self.order_term(term, node, relation, alias) for term in node.order]
        if by_key:
            named = {term.column for term in node.order if term.embed is None}
            last = node.order[-1].descending if node.order else False
            keys = [alias.c[name] for name in relation.key if name not in named]
            terms += [key.desc() if last else key.asc() for key in keys]
        return terms

    def order_term(self, term: OrderTerm, node: Node, relation: Relation, alias: Any) -> Expression:
        if term.embed is not None:
            return directed(self.embed_column(term, node, relation, alias), term, nullable=True)
        attribute = relation.attribute(term.column)
        value = self.ordering(attribute, alias.c[attribute.name], term)
        return directed(value, term, nullable=bool(term.path) or not attribute.required)

    def ordering(self, attribute: Attribute, column: Expression, term: OrderTerm) -> Expression:
        """A column, or what a path into it leads to, if that is anything to order by."""
        kind = attribute.type
        if term.path:
            kind, column = path_value(self.dialect, attribute, column, term.path)
        operators.require_comparable(kind.name, "ordering")
        return column

    def embed_column(
        self, term: OrderTerm, node: Node, relation: Relation, alias: Any
    ) -> Expression:
        """A column of a to-one embed, for its parent to be ordered by."""
        assert term.embed is not None
        embed = next((each for each in node.embeds if term.embed == each.name), None)
        if embed is None:
            raise NotEmbedded(term.embed)
        way = self.catalog.relationship(relation.name, embed.relation, embed.hint)
        if not way.to_one:
            raise NotToOne(
                f"A related order on '{term.embed}' is not possible",
                f"'{relation.name}' and '{term.embed}' do not form a many-to-one or "
                "one-to-one relationship",
            )
        there = self.catalog.relations[way.target]
        attribute = there.attribute(term.column)
        target, ties, scope = self.tied(way, alias)
        conditions = self.conditions(embed.node, there, target, scope) + self.within(embed.node)
        column = self.ordering(attribute, target.c[attribute.name], term)
        chosen = sa.select(column).where(*ties, scope, *conditions)
        return chosen.correlate(alias).scalar_subquery()

    # The guard

    def finish(self, statement: Any) -> Statement:
        """Compile, after a search for relations that no rule was applied to."""
        for element in visitors.iterate(statement):
            if isinstance(element, sa.Alias):
                trusted = str(element.name).startswith(TRUSTED_ALIASES)
                table: Any = element.element
                if is_resource(table) and element not in self.guarded and not trusted:
                    raise UnguardedRelation(table.name)
        finished = compile_statement(statement, self.dialect.sa_dialect, self.slots, self.operands)
        for table in finished.unaliased_tables:
            if is_resource(table):
                raise UnguardedRelation(table.name)
        return finished


def is_resource(table: Any) -> bool:
    return isinstance(table, sa.Table) and table.name in RESOURCES


def directed(column: Expression, term: OrderTerm, *, nullable: bool) -> Expression:
    """A column with its direction; where it may be null, nulls stand as in PostgreSQL."""
    ordered = column.desc() if term.descending else column.asc()
    if not nullable:
        return ordered
    nulls = term.nulls or ("nullsfirst" if term.descending else "nullslast")
    return ordered.nulls_first() if nulls == "nullsfirst" else ordered.nulls_last()
