"""The planner: which rows of which relations, under which rule, in which order.

The planner writes expressions and sees neither a value nor a caller: both are parameters. Every
relation it reads is an alias that the rule was applied to; before a plan is finished it is searched
for one that is not (`UnguardedRelation`). Which rows and in which order is decided in a *page*, a
sub-select over the relation alone; what is printed of them is made outside it, so that embeds are
computed only for rows that are returned.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import visitors

from models import RESOURCES
from models.faults import Fault
from models.sql import operators
from models.sql.arms import Arm
from models.sql.arms import disjoint
from models.sql.catalog import Relation
from models.sql.catalog import Relationship
from models.sql.catalog import aliased
from models.sql.catalog import catalog
from models.sql.dialect import Spelling
from models.sql.dialect import json_array
from models.sql.query import Condition
from models.sql.query import Embed
from models.sql.query import Filter
from models.sql.query import Node
from models.sql.query import OrderTerm
from models.sql.rule import Action
from models.sql.rule import Rule
from models.sql.spelling import AmongFew
from models.sql.spelling import Led
from models.sql.statement import Slot
from models.sql.statement import Statement
from models.sql.statement import compile_statement
from models.sql.statement import parameter
from models.sql.walk import by_owner
from models.types import TEXT
from models.types import ColumnType

Expression = sa.ColumnElement[Any]

TRUSTED_ALIASES = ("rule_", "derived_")
"""What a rule looks at to decide, and what a hidden column is computed from: neither is ever printed."""


class NotEmbedded(Fault):
    """An order by, or a filter through, something that the select does not embed (PGRST108)."""


class NotToOne(Fault):
    """An order by a to-many embed (PGRST118), which has no one value."""


class UnguardedRelation(AssertionError):
    """A plan that reads a relation without its rule. Never a caller's fault: nothing is run."""


class Planner:
    """The state of one plan in the making: spelling, rule, slots, operands, and what has been guarded."""

    def __init__(self, spelling: Spelling, rule: Rule) -> None:
        self.spelling = spelling
        self.rule = rule
        self.catalog = catalog()
        self.slots: dict[str, Slot] = {}
        self.operands: dict[str, Slot] = {}
        self.guarded: set[Any] = set()
        self.narrow: dict[Any, Expression] = {}  # aliases of which the rule knows the rows best
        self.implied: set[Any] = set()  # aliases of rows that visible ones imply
        self.tied_to: set[Any] = set()  # aliases of embeds of whose rows some may be hidden

    # Relations and their rule

    def alias(self, relation: Relation) -> Any:
        alias = aliased(relation.table, f"t{len(self.guarded)}")
        self.guarded.add(alias)
        return alias

    def scoped(self, relation: Relation, action: Action = Action.READ) -> tuple[Any, Expression]:
        """A relation under a new name, and the condition that the rule puts on its rows."""
        alias = self.alias(relation)
        scope = self.rule.rows(action, relation.model, alias.c)
        if self.rule.narrow(relation.model):
            self.narrow[alias] = scope
        return alias, scope

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

    # Values

    def value(self, place: int, prepare: Any, suffix: str = "") -> Expression:
        """The parameter for the query's value at `place`, converted by `prepare` when bound."""
        name = f"v{place}{suffix}"
        self.operands[name] = lambda binding: prepare(binding.values[place])
        return parameter(name)

    def operand(self, flt: Filter, operator: operators.Operator, kind: ColumnType) -> Expression:
        assert flt.value is not None
        spelling = self.spelling
        if kind.name == "timestamp with time zone" and operator.prepare is operators.operand:
            place = flt.value
            name = f"v{place}"
            self.operands[name] = lambda binding: operators.read_moments(binding, place, kind)
            return parameter(name)
        if flt.operator == "in" or flt.quantifier is not None:
            return self.value(
                flt.value,
                lambda values: json_array(
                    operator.prepare(spelling, kind, text) for text in values
                ),
            )
        return self.value(flt.value, lambda text: operator.prepare(spelling, kind, text))

    # Conditions

    def conditions(
        self, node: Node, relation: Relation, alias: Any, scope: Expression
    ) -> list[Expression]:
        """A node's filters and inner embeds, over an alias of its relation."""
        found = [self.condition(item, node, relation, alias, scope) for item in node.conditions]
        inner = [embed for embed in node.embeds if embed.join == "inner"]
        return found + [self.embed_exists(embed, relation, alias) for embed in inner]

    def where(
        self, node: Node, relation: Relation, alias: Any, scope: Expression
    ) -> list[Expression]:
        """The rule and a node's filters."""
        conditions = self.conditions(node, relation, alias, scope)
        return [self.sought(node, relation, alias, scope), *conditions]

    def sought(self, node: Node, relation: Relation, alias: Any, scope: Expression) -> Expression:
        """The rule on rows of which a node's filters hold: where it knows few, no others are looked at."""
        if alias not in self.narrow:
            return scope
        said = {
            flt.column: flt
            for flt in node.conditions
            if isinstance(flt, Filter) and flt.is_equality and not flt.is_long
        }

        def narrowed(element: Any, **_: Any) -> Expression | None:
            if not isinstance(element, AmongFew):
                return None
            if set(relation.key) <= said.keys():
                return element.of_one_row()
            within = relation.model.indexed_within.get(element.column.name, ())
            more = [said[name] for name in within if name in said]
            if not more:
                return element
            values = {alias.c[flt.column]: self.equal_to(flt, relation) for flt in more}
            filters = [self.filter(flt, node, relation, alias, scope) for flt in more]
            return self.spelling.sought_by(element, values, filters)

        found: Expression = visitors.replacement_traverse(scope, {}, narrowed)
        return found

    def arms(self, alias: Any, sought: Expression) -> list[Arm]:
        """The rule in arms that are searched one by one, where it knows few rows by each; else as it is."""
        whole = self.narrow.get(alias)
        return [Arm(sought, ())] if whole is None else disjoint(whole, sought)

    def led(self, node: Node, relation: Relation, alias: Any, arm: Arm) -> Led | None:
        """An arm as a join that begins with the few that it looks for, be they the owners of all that there is; None
        where the database does by itself."""
        few = by_owner(node, relation, alias) if self.walks(arm.sought) else arm.sought
        return self.spelling.led_by(few, alias) if isinstance(few, AmongFew) else None

    def walks(self, scope: Expression) -> bool:
        """Whether rows within it are best found owner by owner: all there are, in no index that holds all of them."""
        return self.spelling.walks_by_owner and isinstance(scope, sa.True_)

    def equal_to(self, flt: Filter, relation: Relation) -> Expression:
        """What an equality compares its column with."""
        return self.operand(flt, operators.OPERATORS["eq"], relation.attribute(flt.column).type)

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
            condition = operators.is_condition(column, kind, flt.keyword)
            return sa.not_(condition) if flt.negated else condition
        operator = operators.operator_for("eq" if flt.operator == "in" else flt.operator, kind)
        condition = self.comparison(flt, operator, column, kind)
        if flt.column in relation.model.indexed_texts and flt.is_of_short_values:
            condition = self.spelling.of_short_text(column, condition)
        if flt.negated:
            condition = sa.not_(condition.self_group())
        if operator.leak_proof:
            return condition
        timely = self.spelling.in_time(costly=operators.costly(node.conditions))
        barrier = sa.and_(self.barrier(relation, alias, scope), timely)
        # Not an AND: of several a database runs what it likes first, and what is alike in an OR but once.
        return condition if isinstance(barrier, sa.True_) else sa.case((barrier, condition))

    def comparison(
        self, flt: Filter, operator: operators.Operator, column: Expression, kind: ColumnType
    ) -> Expression:
        operand = self.operand(flt, operator, kind)
        if flt.operator == "in" or (flt.quantifier == "any" and flt.operator == "eq"):
            return self.spelling.in_list(column, kind, operand)
        if flt.quantifier is not None:
            return self.spelling.any_or_all(
                flt.quantifier,
                lambda here, there: self.compare_one(operator, here, there),
                column,
                operand,
                kind,
            )
        return operator.compare(self.spelling, column, operand)

    def compare_one(
        self, operator: operators.Operator, here: Expression, there: Expression
    ) -> Expression:
        """A value with one of many, each a row; a costly operator looks at the clock before it."""
        found = operator.compare(self.spelling, here, there)
        return found if operator.leak_proof else sa.and_(self.spelling.in_time(costly=1), found)

    def operand_column(
        self, flt: Filter, relation: Relation, alias: Any
    ) -> tuple[ColumnType, Expression]:
        attribute = relation.attribute(flt.column)
        if flt.path:
            return TEXT, no_text()
        return attribute.type, self.column(relation, alias, attribute.name)

    def column(self, relation: Relation, alias: Any, name: str) -> Expression:
        """A column to filter by, or to order a list by; where the rule knows the rows best, none that leads elsewhere.

        In an embed not even a key does: its rows are looked for from those of its parent. A search by a value of
        hidden rows, once for each of a thousand, would take long enough to tell what is there.
        """
        column: Expression = alias.c[name]
        if alias in self.tied_to:
            return self.spelling.not_sought(column)
        leads = name in relation.key or any(fk.column == name for fk in relation.foreign_keys)
        return column if leads or alias not in self.narrow else self.spelling.not_leading(column)

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
            return self.rows_left(node, where).correlate(alias).exists()
        return sa.exists().where(*where).correlate(alias)

    def rows_left(self, node: Node, where: list[Expression]) -> sa.Select[Any]:
        """What a limit and an offset leave of the rows of a to-many embed."""
        rows: sa.Select[Any] = sa.select(sa.literal_column("1")).where(*where)
        if node.limit is not None:
            rows = rows.limit(self.number(node.limit))
        return rows if node.offset is None else rows.offset(self.number(node.offset))

    def number(self, place: int) -> Expression:
        """The parameter for a limit or an offset."""
        return sa.type_coerce(self.value(place, int), sa.BigInteger())

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
        model = self.catalog.relations[way.target].model
        if not isinstance(self.rule.rows(Action.READ, model, target.c), sa.True_):
            self.tied_to.add(target)
        if way.junction is None:
            return target, [target.c[there] == parent.c[here] for here, there in way.pairs], scope
        junction, junction_scope = self.scoped(self.catalog.relations[way.junction])
        near = [junction.c[there] == parent.c[here] for here, there in way.pairs]
        far = [target.c[there] == junction.c[here] for here, there in way.far_pairs]
        return target, [*near, *far, junction_scope], scope

    # Order

    def order(
        self,
        node: Node,
        relation: Relation,
        alias: Any,
        *,
        by_key: bool = True,
        is_led: bool = False,
    ) -> list[Expression]:
        """A node's order, made total by the primary key. `is_led`: it is plain already where the search begins."""
        terms = [self.order_term(term, node, relation, alias, is_led) for term in node.order]
        if by_key:
            named = {term.column for term in node.order if term.embed is None}
            last = node.order[-1].descending if node.order else False
            keys = [alias.c[name] for name in relation.key if name not in named]
            terms += [key.desc() if last else key.asc() for key in keys]
        return terms

    def order_term(
        self, term: OrderTerm, node: Node, relation: Relation, alias: Any, is_led: bool
    ) -> Expression:
        if term.embed is not None:
            return directed(self.embed_column(term, node, relation, alias), term, nullable=True)
        attribute = relation.attribute(term.column)
        column: Expression = alias.c[attribute.name]
        # An embed's order may follow the index that ties it to its parent: it seeks no value.
        if not is_led and alias not in self.tied_to:
            column = self.column(relation, alias, attribute.name)
        if term.path:
            return directed(no_text(), term, nullable=True)
        return directed(column, term, nullable=not attribute.required)

    def embed_column(
        self, term: OrderTerm, node: Node, relation: Relation, alias: Any
    ) -> Expression:
        """A column of a to-one embed, for its parent to be ordered by."""
        embed = next((each for each in node.embeds if term.embed == each.name), None)
        if embed is None:
            raise NotEmbedded(
                f"'{term.embed}' is not an embedded resource in this request",
                hint=f"Verify that '{term.embed}' is included in the 'select' query parameter.",
            )
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
        column = no_text() if term.path else target.c[attribute.name]
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
        finished = compile_statement(statement, self.spelling.sa_dialect, self.slots, self.operands)
        for table in finished.read_unnamed:
            if is_resource(table):
                raise UnguardedRelation(table.name)
        return finished


def is_resource(table: Any) -> bool:
    return isinstance(table, sa.Table) and table.name in RESOURCES


def no_text() -> Expression:
    """What a path leads to: no resource has a JSON column, and into anything else it is null, as PostgREST has it."""
    return sa.cast(sa.null(), sa.Text())


def directed(column: Expression, term: OrderTerm, *, nullable: bool) -> Expression:
    """A column with its direction; where it may be null, nulls stand as in PostgreSQL."""
    ordered = column.desc() if term.descending else column.asc()
    if not nullable:
        return ordered
    nulls = term.nulls or ("nullsfirst" if term.descending else "nullslast")
    return ordered.nulls_first() if nulls == "nullsfirst" else ordered.nulls_last()
