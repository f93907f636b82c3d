"""The planner: the rows of relations under the access rule, their filters and their order.

Values and callers are parameters of a plan. A plan reads relations only by aliases to which the rule was applied;
`Planner.finish` verifies this (`UnguardedRelation`). A *page*, a sub-select over one relation, chooses and orders the
rows. Everything that is printed is computed outside the page, so embeds are computed only for returned rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import visitors
from sqlalchemy.sql.elements import UnaryExpression

from engine.query.catalog import Attribute, Relation, Relationship, aliased
from engine.query.dialect.base import SmallInSubquery, SqlDialect
from engine.query.read import expressions
from engine.query.read.access_paths import AccessPaths, Disjunct, Partitions, disjuncts, partitions_of, selects_by_key
from engine.query.read.expressions import path_value
from engine.query.shape import Condition, Embed, Filter, Node, NotEmbedded, OrderTerm
from engine.query.statement import Action, Rule, Statement, compile_statement
from models import RESOURCES
from models.fields import Model
from models.types import ColumnType, Fault

Expression = sa.ColumnElement[Any]

TRUSTED_ALIASES = ("rule_", "derived_")
"""Alias prefixes of the tables that rules and derived columns read. They are never printed."""


class NotToOne(Fault, code="PGRST118"):
    """An order by a to-many embed."""


class UnguardedRelation(AssertionError):
    """A plan that reads a relation without the rule. It is a bug, and the plan does not run."""


@dataclass(frozen=True, slots=True)
class AccessPath:
    """A search for rows: the FROM clause, with the partitions of a skip scan, and the conditions.

    `is_small`: the search begins with a small set of keys, and its rows are not in the order of an index.
    """

    rows: sa.FromClause
    conditions: list[Expression]
    is_small: bool = False

    @property
    def is_partitioned(self) -> bool:
        """Whether the search is a skip scan over partitions."""
        return isinstance(self.rows, sa.Join)


class Planner(AccessPaths):
    """The state of a plan that is being built: dialect, rule, slots, operands, and guarded aliases."""

    def __init__(self, dialect: SqlDialect, rule: Rule) -> None:
        super().__init__(dialect)
        self.rule = rule
        self.guarded: set[Any] = set()
        self.implied: set[Any] = set()  # aliases that the rule of a joined row already covers

    # Relations and their rule

    def alias(self, relation: Relation) -> Any:
        """Return a new alias of a relation. The caller must apply the rule to it."""
        alias = aliased(relation.table, f"t{len(self.guarded)}")
        self.guarded.add(alias)
        return alias

    def scoped(self, relation: Relation, action: Action = Action.READ) -> tuple[Any, Expression]:
        """Return a new alias of a relation, and the rule's condition on its rows."""
        alias = self.alias(relation)
        return alias, self.rule.rows(action, relation.model, alias.c)

    def visible(self, model: type[Model], action: Action = Action.READ) -> tuple[Any, Expression]:
        """Return `scoped` for the table of a model."""
        return self.scoped(self.catalog.relations[model.__tablename__], action)

    def scoped_target(self, relation: Relation, relationship: Relationship) -> tuple[Any, Expression]:
        """Return `scoped` for the target of a relationship. The condition is true if the source's rule implies it."""
        alias = self.alias(relation)
        source = self.catalog.relations[relationship.source].model
        if relationship.junction is None and self.rule.implied(relation.model, source):
            self.implied.add(alias)
            return alias, sa.true()
        return alias, self.rule.rows(Action.READ, relation.model, alias.c)

    def barrier(self, relation: Relation, alias: Any, scope: Expression) -> Expression:
        """Return the condition that must hold before a filter that is not leak-proof.

        It is the rule itself where a join implies it, because the database may evaluate the filter before the join.
        """
        if alias not in self.implied:
            return scope
        return self.rule.rows(Action.READ, relation.model, alias.c)

    # Conditions

    def conditions(self, node: Node, relation: Relation, alias: Any, scope: Expression) -> list[Expression]:
        """Return the conditions of a node's filters and inner embeds on an alias of its relation."""
        filters = [self.condition(item, node, relation, alias, scope) for item in node.conditions]
        inner = [embed for embed in node.embeds if embed.join == "inner"]
        return filters + [self.embed_required(embed, relation, alias) for embed in inner]

    # Access paths

    def access_paths(
        self, node: Node, relation: Relation, alias: Any, scope: Expression, *, is_list: bool
    ) -> list[AccessPath]:
        """Return a search for each disjunct of the rule. A list is read in order and stops at its page."""
        condition = self.index_condition(node, relation, alias, scope)
        ordered = node if is_list else replace(node, order=())
        return [
            self.access_path(node, relation, alias, scope, each, self.partitions(ordered, relation, alias, each))
            for each in disjuncts(scope, condition)
        ]

    def single_path(self, node: Node, relation: Relation, alias: Any, scope: Expression) -> AccessPath:
        """Return one search for all rows, by the whole rule."""
        condition = self.index_condition(node, relation, alias, scope)
        whole = Disjunct(scope, condition)
        return self.access_path(node, relation, alias, scope, whole, None)

    def stops_at_page(self, node: Node, relation: Relation) -> bool:
        """Return whether a read may stop at its page: it has an order, or its filters do not select rows by key."""
        if node.order:
            return True
        is_by_key = any(selects_by_key(condition, relation) for condition in node.conditions)
        return self.dialect.uses_skip_scans and not is_by_key

    def partitions(self, node: Node, relation: Relation, alias: Any, disjunct: Disjunct) -> Partitions | None:
        """Return the partitions of a skip scan for a disjunct; None if a skip scan does not apply."""
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
        """Return the search for the rows of a disjunct."""
        conditions = [
            disjunct.condition,
            *self.prefix_conditions(node, relation, alias),
            *disjunct.rest,
            *self.conditions(node, relation, alias, scope),
        ]
        if partitions is None:
            return AccessPath(alias, conditions, isinstance(disjunct.condition, SmallInSubquery))
        joined = self.dialect.nested_loop(partitions.rows, alias, partitions.on)
        return AccessPath(joined, [*conditions, *self.partition_filters(node, relation, partitions)])

    def partition_filters(self, node: Node, relation: Relation, partitions: Partitions) -> list[Expression]:
        """Return the filters that hold or fail for a whole partition, as conditions on the partitions."""
        return [
            self.filter(flt, node, relation, partitions.rows, sa.true())
            for flt in node.conditions
            if isinstance(flt, Filter)
            and flt.column in partitions.columns
            and self.null_filtered_embed(flt, node) is None
        ]

    def condition(self, item: Condition, node: Node, relation: Relation, alias: Any, scope: Expression) -> Expression:
        if isinstance(item, Filter):
            return self.filter(item, node, relation, alias, scope)
        parts = [self.condition(part, node, relation, alias, scope) for part in item.operands]
        joined = sa.and_(*parts) if item.operator == "and" else sa.or_(*parts)
        return sa.not_(joined.self_group()) if item.negated else joined

    def filter(self, flt: Filter, node: Node, relation: Relation, alias: Any, scope: Expression) -> Expression:
        embed = self.null_filtered_embed(flt, node)
        if embed is not None:
            wants_null = (flt.keyword == "null") != flt.negated
            if wants_null:
                return ~self.embed_exists(embed, relation, alias)
            return self.embed_required(embed, relation, alias)
        kind, column = self.operand_column(flt, relation, alias)
        if flt.operator == "is":
            assert flt.keyword is not None
            condition, leak_proof = expressions.is_condition(column, kind, flt.keyword), True
        else:
            operator = expressions.operator_for("eq" if flt.operator == "in" else flt.operator, kind)
            leak_proof = operator.leak_proof
            condition = self.comparison(flt, operator, column, kind)
            if flt.column in relation.model.indexed_texts and flt.matches_short_texts_only:
                condition = self.dialect.with_length_limit(column, condition)
            condition = condition.self_group() if flt.negated else condition
        if flt.negated:
            condition = sa.not_(condition)
        if leak_proof and not flt.path:  # the time to read JSON depends on its length
            return condition
        in_time = self.dialect.before_deadline(costly=expressions.costly_filters(node.conditions))
        barrier = sa.and_(self.barrier(relation, alias, scope), in_time)
        # CASE, because a database may evaluate the operands of AND in any order, and equal operands of OR once.
        return condition if isinstance(barrier, sa.True_) else sa.case((barrier, condition))

    def operand_column(self, flt: Filter, relation: Relation, alias: Any) -> tuple[ColumnType, Expression]:
        attribute = relation.attribute(flt.column)
        if flt.path:
            return path_value(self.dialect, attribute, alias.c[attribute.name], flt.path)
        return attribute.filter_type, alias.c[attribute.name]

    def null_filtered_embed(self, flt: Filter, node: Node) -> Embed | None:
        """Return the embed of a filter `embed=is.null` or `embed=not.is.null`; None for another filter."""
        if flt.operator != "is" or flt.keyword not in ("null", "not_null") or flt.path:
            return None
        return next((embed for embed in node.embeds if flt.column == embed.name), None)

    # Embeds as conditions

    def require_relationships(self, node: Node, relation: Relation) -> None:
        """Raise the error of the first embed without a relationship. It precedes all errors of columns."""
        for embed in node.embeds:
            relationship = self.catalog.relationship(relation.name, embed.relation, embed.hint)
            self.require_relationships(embed.node, self.catalog.relations[relationship.target])

    def embed_required(self, embed: Embed, relation: Relation, alias: Any) -> Expression:
        """Return `embed_exists`, with the conditions that it implies and that an index may find."""
        return sa.and_(*self.copy_conditions(embed, relation, alias), self.embed_exists(embed, relation, alias))

    def embed_exists(self, embed: Embed, relation: Relation, alias: Any) -> Expression:
        """Return the condition that an embed has a row for a row of its parent, within its limit and offset."""
        relationship = self.catalog.relationship(relation.name, embed.relation, embed.hint)
        target, on, scope = self.joined_target(relationship, alias)
        node = embed.node
        target_relation = self.catalog.relations[relationship.target]
        where = [*on, scope, *self.conditions(node, target_relation, target, scope)]
        if node.is_single_group and not embed.spread:
            return sa.and_(sa.true(), *self.range_conditions(node))
        if relationship.to_one:
            where += self.range_conditions(node)
        elif node.limit is not None or node.offset is not None:
            return self.dialect.per_row(self.rows_in_range(node, where).correlate(alias).exists())
        return self.dialect.per_row(sa.exists().where(*where).correlate(alias))

    def rows_in_range(self, node: Node, where: list[Expression]) -> sa.Select[Any]:
        """Return the select of a to-many embed's rows within its limit and offset."""
        rows: sa.Select[Any] = sa.select(sa.literal_column("1")).where(*where)
        if node.limit is not None:
            rows = rows.limit(self.number(node.limit))
        return rows if node.offset is None else rows.offset(self.number(node.offset))

    def range_conditions(self, node: Node) -> list[Expression]:
        """Return the conditions of a limit and an offset on a single row."""
        conditions: list[Expression] = []
        if node.limit is not None:
            conditions.append(self.number(node.limit) > 0)
        if node.offset is not None:
            conditions.append(self.number(node.offset) == 0)
        return conditions

    def joined_target(self, relationship: Relationship, parent: Any) -> tuple[Any, list[Expression], Expression]:
        """Return the alias of a relationship's target, its join conditions with the parent, and its rule."""
        relation = self.catalog.relations[relationship.target]
        target, scope = self.scoped_target(relation, relationship)
        if relationship.junction is None:
            return target, self.join_conditions(relationship.pairs, relation, target, parent), scope
        junction_relation = self.catalog.relations[relationship.junction]
        junction, junction_scope = self.scoped(junction_relation)
        near = self.join_conditions(relationship.pairs, junction_relation, junction, parent)
        far = [target.c[column] == junction.c[key] for key, column in relationship.far_pairs]
        return target, [*near, *far, junction_scope], scope

    # Order

    def order(self, node: Node, relation: Relation, alias: Any, *, by_key: bool = True) -> list[Expression]:
        """Return the terms of a node's order. With `by_key`, the primary key makes the order total."""
        terms = [self.order_term(term, node, relation, alias) for term in node.order]
        if by_key:
            ordered = {term.column for term in node.order if term.embed is None}
            descending = node.order[-1].descending if node.order else False
            keys = [alias.c[name] for name in relation.key if name not in ordered]
            terms += [key.desc() if descending else key.asc() for key in keys]
        return terms

    def order_term(self, term: OrderTerm, node: Node, relation: Relation, alias: Any) -> Expression:
        if term.embed is not None:
            return with_direction(self.embed_column(term, node, relation, alias), term, nullable=True)
        attribute = relation.attribute(term.column)
        value = self.order_value(attribute, alias.c[attribute.name], term)
        return with_direction(value, term, nullable=bool(term.path) or not attribute.required)

    def order_value(self, attribute: Attribute, column: Expression, term: OrderTerm) -> Expression:
        """Return a column or the value at a path; raise UnknownOperator if its type has no order."""
        kind = attribute.type
        if term.path:
            kind, column = path_value(self.dialect, attribute, column, term.path)
        expressions.require_comparable(kind.name, "ordering")
        if term.ranked:
            ranks = enumerate(f"'{each}'" for each in attribute.info.allowed_values)
            return sa.case(*((column == sa.literal_column(each), sa.literal_column(str(rank))) for rank, each in ranks))
        return column

    def embed_column(self, term: OrderTerm, node: Node, relation: Relation, alias: Any) -> Expression:
        """Return a column of a to-one embed, as a sub-select for the order of the parent."""
        assert term.embed is not None
        embed = next((each for each in node.embeds if term.embed == each.name), None)
        if embed is None:
            raise NotEmbedded(term.embed)
        relationship = self.catalog.relationship(relation.name, embed.relation, embed.hint)
        if not relationship.to_one:
            raise NotToOne(
                f"A related order on '{term.embed}' is not possible",
                f"'{relation.name}' and '{term.embed}' do not form a many-to-one or one-to-one relationship",
            )
        target_relation = self.catalog.relations[relationship.target]
        target, on, scope = self.joined_target(relationship, alias)
        if term.through is None:
            attribute = target_relation.attribute(term.column)
            column = self.order_value(attribute, target.c[attribute.name], term)
        else:
            inner = replace(term, embed=term.through, through=None)
            column = self.embed_column(inner, Node((Embed(term.through, Node(())),)), target_relation, target)
        conditions = [*self.conditions(embed.node, target_relation, target, scope), *self.range_conditions(embed.node)]
        row = sa.select(column).where(*on, scope, *conditions)
        return row.correlate(alias).scalar_subquery()

    # Compilation

    def finish(self, statement: Any) -> Statement:
        """Compile a statement; raise UnguardedRelation if it reads a relation without the rule."""
        for element in visitors.iterate(statement):
            if isinstance(element, sa.Alias):
                trusted = str(element.name).startswith(TRUSTED_ALIASES)
                table: Any = element.element
                if is_resource(table) and element not in self.guarded and not trusted:
                    raise UnguardedRelation(table.name)
        compiled = compile_statement(statement, self.dialect.sa_dialect, self.slots, self.operands)
        for table in compiled.unaliased_tables:
            if is_resource(table):
                raise UnguardedRelation(table.name)
        return compiled


def is_resource(table: Any) -> bool:
    return isinstance(table, sa.Table) and table.name in RESOURCES


def with_direction(column: Expression, term: OrderTerm, *, nullable: bool) -> Expression:
    """Return a column with a term's direction. The default position of nulls is PostgreSQL's."""
    ordered = column.desc() if term.descending else column.asc()
    if not nullable:
        return ordered
    nulls = term.nulls or ("nullsfirst" if term.descending else "nullslast")
    return ordered.nulls_first() if nulls == "nullsfirst" else ordered.nulls_last()


def without_direction(ordered: Expression) -> Expression:
    """Return the expression of an order term."""
    while isinstance(ordered, UnaryExpression) and ordered.modifier is not None:
        ordered = ordered.element
    return ordered
