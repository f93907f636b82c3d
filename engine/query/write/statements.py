"""A write in the making: would-be rows against the rule, keys within reach, and the statements that write.

As `planner.py` is for reads; what it makes is kept by `mutate.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from engine.query.catalog import Relation
from engine.query.catalog import catalog
from engine.query.dialect.in_subquery import is_among
from engine.query.dialect.registry import DIALECTS
from engine.query.read.plan import ROOT_LIMIT
from engine.query.read.plan import ROOT_OFFSET
from engine.query.read.planner import Planner
from engine.query.rule import Action
from engine.query.rule import Rule
from engine.query.shape import Shape
from engine.query.statement import Statement
from engine.query.statement import new_value
from engine.query.statement import parameter
from models.fields import ColumnDefault
from models.fields import Row
from models.types import ColumnType

Expression = sa.ColumnElement[Any]


@dataclass(frozen=True, slots=True)
class Given:
    """The rows of a payload, where each of their columns stands, and which of them comes first."""

    rows: sa.FromClause
    values: dict[str, Expression]
    position: Expression


class Writer:
    """The state of one write's plan in the making."""

    def __init__(
        self, database: str, relation_name: str, rule: Rule, same: tuple[str, ...] = ()
    ) -> None:
        self.same = same
        self.dialect = DIALECTS[database]
        self.rule = rule
        self.relation: Relation = catalog().relations[relation_name]
        self.planner = Planner(self.dialect, rule)

    @property
    def table(self) -> sa.Table:
        return self.relation.table

    # Keys

    def keys(self, shape: Shape, action: Action) -> Statement:
        """The keys of the rows that a write's filters match and its action reaches."""
        return self.planner.finish(self.reached(shape, action))

    def reached(self, shape: Shape, action: Action) -> sa.Select[Any]:
        """The same, to be part of a statement."""
        source, scope = self.planner.scoped(self.relation, action)
        visible = self.rule.rows(Action.READ, self.relation.model, source.c)
        order = self.planner.order(shape.root, self.relation, source)
        keys = sa.select(*(source.c[name] for name in self.relation.key))
        if shape.root.limit is None and shape.root.offset is None:
            way = self.planner.single_path(shape.root, self.relation, source, scope)
            keys = keys.select_from(way.rows)
            return keys.where(*way.conditions, visible).order_by(*order)
        return keys.where(scope, self.within_range(shape, source)).order_by(*order)

    def within_range(self, shape: Shape, source: Any) -> Expression:
        """Whether a row is among those that a GET with this range would show: then it may be written.

        As in PostgREST: the range is taken of what is visible, not of what may be written.
        """
        shown, visible = self.planner.scoped(self.relation)
        order = self.planner.order(shape.root, self.relation, shown)
        way = self.planner.single_path(shape.root, self.relation, shown, visible)
        page = sa.select(*(shown.c[name] for name in self.relation.key)).select_from(way.rows)
        page = page.where(*way.conditions).order_by(*order).limit(ROOT_LIMIT).offset(ROOT_OFFSET)
        return sa.tuple_(*(source.c[name] for name in self.relation.key)).in_(page)

    @property
    def key_kinds(self) -> list[tuple[str, ColumnType]]:
        return [(name, self.relation.attributes[name].type) for name in self.relation.key]

    def key_of(self, columns: Any) -> list[Expression]:
        return [columns[name] for name in self.relation.key]

    def by_key(self, columns: Any) -> Expression:
        """Whether a row's key is among `Binding.keys`."""
        keys = self.dialect.key_table("k", self.key_kinds, "keys")
        return is_among(self.key_of(columns), sa.select(*self.key_of(keys.c)))

    def in_order(self) -> Expression:
        """The same of the rows that are written, in the order of those keys."""
        return self.dialect.key_in_array(self.table.c, "k", self.key_kinds, "keys")

    # Would-be rows

    def would_be(self, columns: tuple[str, ...]) -> Any:
        """The rows of `Binding.rows` as a table with every column, hidden ones included."""
        given = self.given(columns)
        return self.completed(given.rows, given.values, given.position)

    def given(self, columns: tuple[str, ...]) -> Given:
        """The rows of `Binding.rows`, and what is the same in all of them, which is `Binding.new`."""
        varying = [name for name in columns if name not in self.same]
        kinds = [(name, self.relation.attributes[name].type) for name in varying]
        rows = self.dialect.key_table("given", kinds, "rows")
        own: dict[str, Expression] = {name: rows.c[name] for name in varying}
        values = {**own, **self.parameters(self.same)}
        return Given(rows, {name: values[name] for name in columns}, rows.c.position)

    def completed(self, source: Any, known: dict[str, Expression], position: Expression) -> Any:
        row = Columns(known, self.table)
        derived = self.relation.model.derived
        selected = [
            (derived[column.name](row) if column.name in derived else row[column.name]).label(
                column.name
            )
            for column in self.table.c
        ]
        return (
            sa.select(*selected, position.label("position"))
            .select_from(source)
            .subquery("would_be")
        )

    def violation(self, rows: Any) -> Statement | None:
        """Find a would-be row that the rule refuses; None where it refuses none, ever."""
        allowed = self.allowed(rows.c)
        if allowed is None:
            return None
        return self.planner.finish(sa.select(rows.c.position).where(sa.not_(allowed)).limit(1))

    def denied(self, columns: tuple[str, ...]) -> Statement | None:
        return self.violation(self.would_be(columns))

    def merged_denied(
        self, columns: tuple[str, ...], target: tuple[str, ...], merged: tuple[str, ...]
    ) -> Statement | None:
        """The same over rows that exist, as a merge would leave them."""
        source, given, ties = self.conflicts(columns, target)
        known = {
            column.name: given.values[column.name]
            if column.name in merged
            else source.c[column.name]
            for column in self.table.c
            if column.name not in self.relation.model.derived
        }
        joined = source.join(given.rows, sa.and_(*ties))
        return self.violation(self.completed(joined, known, given.position))

    def conflicts(
        self, columns: tuple[str, ...], target: tuple[str, ...]
    ) -> tuple[Any, Given, list[Expression]]:
        given = self.given(columns)
        source = self.planner.alias(self.relation)
        return source, given, [source.c[name] == given.values[name] for name in target]

    def existing(self, columns: tuple[str, ...], target: tuple[str, ...]) -> Statement:
        """Of the rows to be written those that exist: position, key, and whether a write reaches it."""
        source, given, ties = self.conflicts(columns, target)
        reach = sa.and_(
            self.rule.rows(Action.READ, self.relation.model, source.c),
            self.rule.rows(Action.UPDATE, self.relation.model, source.c),
        )
        key = [source.c[name] for name in self.relation.key]
        within = sa.case((reach, 1), else_=0)
        found = sa.select(given.position, within, *key).select_from(
            source.join(given.rows, sa.and_(*ties))
        )
        return self.planner.finish(found)

    # Statements that write

    def new_values(self, columns: tuple[str, ...]) -> dict[str, Expression]:
        """A parameter for each column, and what is computed from them."""
        return self.with_derived(self.parameters(columns))

    def parameters(self, columns: tuple[str, ...]) -> dict[str, Expression]:
        """A parameter for each column, its value taken from `Binding.new` by place."""
        values: dict[str, Expression] = {}
        for place, name in enumerate(columns):
            self.planner.slots[f"n{place}"] = new_value(place)
            values[name] = parameter(f"n{place}", self.table.c[name].type)
        return values

    def with_derived(self, values: dict[str, Expression]) -> dict[str, Expression]:
        """The same, and what the hidden columns are that are computed from them."""
        row = Columns(values, self.table)
        derived = {
            name: derive(row)
            for name, derive in self.relation.model.derived.items()
            if depends(derive, tuple(values), self.table)
        }
        return {**values, **derived}

    def insert(self, columns: tuple[str, ...]) -> Statement:
        values = self.with_key(self.new_values(columns))
        statement = sa.insert(self.table)
        return self.planner.finish(
            self.returning_id(statement.values(values) if values else statement)
        )

    def insert_judged(self, columns: tuple[str, ...]) -> Statement | None:
        """The same of a row that the rule lets be; of one that it refuses, none. None where it refuses none, ever."""
        values = self.with_key(self.new_values(columns))
        allowed = self.allowed(Columns(values, self.table))
        if allowed is None or not columns:
            return None
        row = sa.select(*values.values()).where(allowed)
        statement = self.dialect.insert(self.table)
        return self.planner.finish(
            self.returning_id(statement.from_select([*values], row, include_defaults=False))
        )

    def insert_all(self, columns: tuple[str, ...]) -> Statement | None:
        """One statement whatever their number: each has a savepoint of its own, triggers, and a way to a server."""
        if not columns:
            return None
        return self.planner.finish(self.returning_id(self.of_all(columns, is_judged=True)))

    def of_all(self, columns: tuple[str, ...], *, is_judged: bool = False) -> sa.Insert:
        given = self.given(columns)
        values = self.with_derived(given.values)
        source, position = given.rows, given.position
        if is_judged and self.relation.model.derived:
            row = [value.label(name) for name, value in values.items()]
            first = sa.select(*row, position.label("position")).select_from(source)
            source = self.dialect.materialized(first).subquery("derived_row")
            values, position = {name: source.c[name] for name in values}, source.c.position
        values = self.with_key(values)
        allowed = self.allowed(Columns(values, self.table)) if is_judged else None
        # Where it is said what to do about a conflict, SQLite would take its ON for a join's.
        where = sa.true() if allowed is None else allowed
        rows = sa.select(*values.values()).select_from(source).where(where)
        statement = self.dialect.insert(self.table)
        ordered = self.dialect.in_array_order(rows, position)
        return statement.from_select([*values], ordered, include_defaults=False)

    def with_key(self, values: dict[str, Expression]) -> dict[str, Expression]:
        """The same; a key that nothing fills is null, for NOT NULL to complain of, not the compiler."""
        missing = (
            name for name in self.relation.key if self.relation.attributes[name].default is None
        )
        return {**dict.fromkeys(missing, sa.null()), **values}

    def upsert(
        self, columns: tuple[str, ...], target: tuple[str, ...], merged: tuple[str, ...] | None
    ) -> Statement:
        values = self.new_values(columns)
        one = self.dialect.insert(self.table).values(values)
        changed = self.changed(columns, merged)
        return self.planner.finish(
            self.returning_id(self.dialect.on_conflict(one, target, changed))
        )

    def upsert_all(
        self, columns: tuple[str, ...], target: tuple[str, ...], merged: tuple[str, ...] | None
    ) -> Statement:
        rows = self.of_all(columns)
        return self.planner.finish(
            self.dialect.on_conflict(rows, target, self.changed(columns, merged))
        )

    def changed(
        self, columns: tuple[str, ...], merged: tuple[str, ...] | None
    ) -> tuple[str, ...] | None:
        """The columns that a merge writes: those that were named, what is computed from them, and clocks."""
        if merged is None:
            return None
        hidden = [
            name for name, derive in self.relation.model.derived.items()
            if depends(derive, columns, self.table)
        ]  # fmt: skip
        clocks = [
            name for name, each in self.relation.attributes.items()
            if each.default is ColumnDefault.NOW_ON_WRITE and name not in merged
        ]  # fmt: skip
        return (*merged, *hidden, *clocks)

    def returning_id(self, statement: sa.Insert) -> sa.Insert:
        """The insert, with_table_tracking the id of its row where the database chooses one."""
        name = self.relation.numbered
        return (
            statement if name is None else self.dialect.returning_id(statement, self.table.c[name])
        )

    def update_denied(self, columns: tuple[str, ...]) -> Statement | None:
        source = self.planner.alias(self.relation)
        values = self.new_values(columns)
        known = {
            column.name: values.get(column.name, source.c[column.name]) for column in self.table.c
        }
        selected = [known[column.name].label(column.name) for column in self.table.c]
        rows = (
            sa.select(*selected, sa.literal_column("0").label("position"))
            .where(self.by_key(source.c))
            .subquery("would_be")
        )
        return self.violation(rows)

    def update(self, columns: tuple[str, ...]) -> Statement:
        values = self.new_values(columns)
        return self.planner.finish(sa.update(self.table).values(values).where(self.in_order()))

    def update_at_once(self, columns: tuple[str, ...], shape: Shape) -> Statement:
        """Change the rows that `keys` finds, but for those that the rule refuses as they would become; their keys."""
        values = self.new_values(columns)
        keys = self.reached(shape, Action.UPDATE).order_by(None)
        now = {column.name: column for column in self.table.c}
        allowed = self.allowed(Columns(now | values, self.table))
        return self.planner.finish(
            sa.update(self.table)
            .values(values)
            .where(
                is_among(self.key_of(self.table.c), keys),
                *([] if allowed is None else [allowed]),
            )
            .returning(*self.key_of(self.table.c))
        )

    def allowed(self, row: Row) -> Expression | None:
        """Whether the rule lets a row be; None where it refuses none, ever."""
        check = self.rule.check(self.relation.model, row)
        return None if isinstance(check, sa.True_) else sa.func.coalesce(check, sa.false())

    def delete(self) -> Statement:
        return self.planner.finish(sa.delete(self.table).where(self.in_order()))


class Columns:
    """Expressions by column name, null where nothing is known: what rules and derivations look at."""

    def __init__(self, known: dict[str, Expression], table: sa.Table) -> None:
        self.known = known
        self.table = table

    def __getattr__(self, name: str) -> Expression:
        return self[name]

    def __getitem__(self, name: str) -> Expression:
        found = self.known.get(name)
        return found if found is not None else sa.cast(sa.null(), self.table.c[name].type)


def depends(derive: Any, columns: tuple[str, ...], table: sa.Table) -> bool:
    """Whether a hidden column is computed from any of these."""
    asked: set[str] = set()

    class Watch(Columns):
        def __getitem__(self, name: str) -> Expression:
            asked.add(name)
            return table.c[name]

    derive(Watch({}, table))
    return bool(asked & set(columns))
