"""The statements and the plans of writes: they find keys, check the rule, and write by key.

As in PostgreSQL, the rule is checked before constraints. A query checks the rule on *candidate rows*, the rows as they
would be after the write. So a hidden row and a missing row give the same error, and no foreign key fails first. The
write of a single row checks the rule in the same statement. A plan builds each statement at its first use.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any

import sqlalchemy as sa

from engine.query.catalog import Relation, catalog
from engine.query.dialect.base import is_among
from engine.query.dialect.registry import DIALECTS
from engine.query.read.plan import ROOT_LIMIT, ROOT_OFFSET
from engine.query.read.planner import Planner
from engine.query.shape import Shape
from engine.query.statement import PLANS_MAX, Action, PlanCache, Rule, Statement, new_value, parameter
from engine.query.write.rules import DOMAIN_RULES, rule_columns
from models.fields import ColumnDefault, Row
from models.types import ColumnType

Expression = sa.ColumnElement[Any]


@dataclass(frozen=True, slots=True)
class PayloadRows:
    """The rows of a payload as a table, the expression of each column, and the position of a row."""

    rows: sa.FromClause
    values: dict[str, Expression]
    position: Expression


class WriteBuilder:
    """Builds statements that write one relation under a rule.

    `constant`: the columns that have one value for all rows of a payload.
    """

    def __init__(self, database: str, relation_name: str, rule: Rule, constant: tuple[str, ...] = ()) -> None:
        self.constant = constant
        self.dialect = DIALECTS[database]
        self.rule = rule
        self.relation: Relation = catalog().relations[relation_name]
        self.planner = Planner(self.dialect, rule)

    @property
    def table(self) -> sa.Table:
        return self.relation.table

    # Keys

    def keys(self, shape: Shape, action: Action, columns: tuple[str, ...] = ()) -> Statement:
        """Return the query for the keys of the rows that match the filters and that the rule allows to write.

        Each key is followed by `concern`.
        """
        source, scope = self.planner.scoped(self.relation, action)
        keys = self.matching_keys(shape, source, scope)
        return self.planner.finish(keys.add_columns(*self.concern(source.c, action, columns)))

    def concern(self, row: Row, action: Action, columns: tuple[str, ...]) -> list[Expression]:
        """Return whether the table's domain rule concerns a row, as a list of one column; empty without a rule."""
        rule = DOMAIN_RULES.get(self.relation.name)
        if rule is None:
            return []
        if action is Action.DELETE:
            return [sa.case((rule.concerns_deletion(row), 1), else_=0)]
        concerns = rule.concerns_update(row, frozenset(columns))
        if self.watched(columns):
            concerns = sa.and_(concerns, self.changes_watched(row, self.parameters(columns)))
        return [sa.case((concerns, 1), else_=0)]

    def watched(self, columns: Iterable[str]) -> list[str]:
        """Return those of the columns that the table's domain rule watches."""
        rule = DOMAIN_RULES.get(self.relation.name)
        return [name for name in columns if name in rule.watched] if rule is not None else []

    def changes_watched(self, row: Row, values: dict[str, Expression]) -> Expression:
        """Return whether new values change a watched column of a row; true if the rule watches none."""
        rule = DOMAIN_RULES.get(self.relation.name)
        if rule is None or not rule.watched:
            return sa.true()
        return sa.or_(sa.false(), *(row[name].is_distinct_from(values[name]) for name in self.watched(values)))

    def matching_keys(self, shape: Shape, source: Any, scope: Expression) -> sa.Select[Any]:
        """Return the select of the keys of the rows in `source` that match the filters and the rule."""
        visible = self.rule.rows(Action.READ, self.relation.model, source.c)
        order = self.planner.order(shape.root, self.relation, source)
        keys = sa.select(*(source.c[name] for name in self.relation.key))
        if shape.root.limit is None and shape.root.offset is None:
            path = self.planner.single_path(shape.root, self.relation, source, scope)
            keys = keys.select_from(path.rows)
            return keys.where(*path.conditions, visible).order_by(*order)
        return keys.where(scope, self.within_range(shape, source)).order_by(*order)

    def within_range(self, shape: Shape, source: Any) -> Expression:
        """Return the condition that a GET with the same range returns the row.

        As in PostgREST, limit and offset apply to the readable rows, not to the writable ones.
        """
        readable, scope = self.planner.scoped(self.relation)
        order = self.planner.order(shape.root, self.relation, readable)
        path = self.planner.single_path(shape.root, self.relation, readable, scope)
        page = sa.select(*(readable.c[name] for name in self.relation.key)).select_from(path.rows)
        page = page.where(*path.conditions).order_by(*order).limit(ROOT_LIMIT).offset(ROOT_OFFSET)
        return sa.tuple_(*(source.c[name] for name in self.relation.key)).in_(page)

    @property
    def key_kinds(self) -> list[tuple[str, ColumnType]]:
        return [(name, self.relation.attributes[name].type) for name in self.relation.key]

    def key_of(self, columns: Any) -> list[Expression]:
        return [columns[name] for name in self.relation.key]

    def by_key(self, columns: Any) -> Expression:
        """Return the condition that a row's key is in `Binding.keys`."""
        keys = self.dialect.key_table("k", self.key_kinds, "keys")
        return is_among(self.key_of(columns), sa.select(*self.key_of(keys.c)))

    def by_key_in_order(self) -> Expression:
        """Return the condition that the written row's key is in `Binding.keys`, in the order of these keys."""
        return self.dialect.key_in_array(self.table.c, "k", self.key_kinds, "keys")

    # Candidate rows

    def candidate_rows(self, columns: tuple[str, ...]) -> Any:
        """Return the payload's rows as a table with every column, hidden ones included."""
        payload = self.payload_rows(columns)
        return self.complete_rows(payload.rows, payload.values, payload.position)

    def payload_rows(self, columns: tuple[str, ...]) -> PayloadRows:
        """Return the rows of `Binding.rows` with the constant columns of `Binding.new`."""
        varying = [name for name in columns if name not in self.constant]
        kinds = [(name, self.relation.attributes[name].type) for name in varying]
        rows = self.dialect.key_table("payload", kinds, "rows")
        own: dict[str, Expression] = {name: rows.c[name] for name in varying}
        values = {**own, **self.parameters(self.constant)}
        return PayloadRows(rows, {name: values[name] for name in columns}, rows.c.position)

    def complete_rows(self, source: Any, known: dict[str, Expression], position: Expression) -> Any:
        """Return rows as a table with every column: derived columns computed, unknown columns null."""
        row = RowExpressions(known, self.table)
        derived = self.relation.model.derived
        selected = [
            (derived[column.name](row) if column.name in derived else row[column.name]).label(column.name)
            for column in self.table.c
        ]
        return sa.select(*selected, position.label("position")).select_from(source).subquery("candidates")

    def denied_among(self, candidates: Any, action: Action, limit: int | None = 1) -> Statement | None:
        """Return the query for the first candidate rows that the rule denies; None if the rule allows every row."""
        allowed = self.allowed(candidates.c, action)
        if allowed is None:
            return None
        position = candidates.c.position
        denied = sa.select(position).where(sa.not_(allowed)).order_by(position).limit(limit)
        return self.planner.finish(denied)

    def denied(self, columns: tuple[str, ...], limit: int | None = 1) -> Statement | None:
        """Return the query for rows of the payload that the rule denies; None if the rule allows every row."""
        return self.denied_among(self.candidate_rows(columns), Action.INSERT, limit)

    def denied_merge(
        self, columns: tuple[str, ...], target: tuple[str, ...], merged: tuple[str, ...]
    ) -> Statement | None:
        """Return the query for an existing row that the rule denies in its merged state."""
        source, payload, on = self.conflicts(columns, target)
        known = {
            column.name: payload.values[column.name] if column.name in merged else source.c[column.name]
            for column in self.table.c
            if column.name not in self.relation.model.derived
        }
        joined = source.join(payload.rows, sa.and_(*on))
        return self.denied_among(self.complete_rows(joined, known, payload.position), Action.UPDATE)

    def conflicts(self, columns: tuple[str, ...], target: tuple[str, ...]) -> tuple[Any, PayloadRows, list[Expression]]:
        """Return the existing rows, the payload's rows, and the conditions that join them by `target`."""
        payload = self.payload_rows(columns)
        source = self.planner.alias(self.relation)
        values = self.with_derived(payload.values)
        return source, payload, [source.c[name] == values[name] for name in self.relation.unique_columns(target)]

    def existing_rows(
        self, columns: tuple[str, ...], target: tuple[str, ...], merged: tuple[str, ...] | None
    ) -> Statement:
        """Return the query for existing rows: position in the payload, whether the rule allows an update, whether the
        merge changes a watched column, and key.

        The values of `stored_columns` follow.
        """
        source, payload, on = self.conflicts(columns, target)
        allowed = sa.and_(
            self.rule.rows(Action.READ, self.relation.model, source.c),
            self.rule.rows(Action.UPDATE, self.relation.model, source.c),
        )
        key = [source.c[name] for name in (*self.relation.key, *stored_columns(self.relation, columns))]
        is_writable = sa.case((allowed, 1), else_=0)
        # A null in a computed column of the payload means the stored value.
        new = {
            name: payload.values[name] for name in merged or ()
            if self.relation.attributes[name].default is not ColumnDefault.COMPUTED
        }  # fmt: skip
        is_changed = sa.case((self.changes_watched(source.c, new), 1), else_=0)
        joined = source.join(payload.rows, sa.and_(*on))
        return self.planner.finish(sa.select(payload.position, is_writable, is_changed, *key).select_from(joined))

    # Statements that write

    def new_values(self, columns: tuple[str, ...]) -> dict[str, Expression]:
        """Return a parameter for each column, and the derived columns."""
        return self.with_derived(self.parameters(columns))

    def parameters(self, columns: tuple[str, ...]) -> dict[str, Expression]:
        """Return a parameter for each column, with its value from `Binding.new` by position."""
        values: dict[str, Expression] = {}
        for position, name in enumerate(columns):
            self.planner.slots[f"n{position}"] = new_value(position)
            values[name] = parameter(f"n{position}", self.table.c[name].type)
        return values

    def with_derived(self, values: dict[str, Expression]) -> dict[str, Expression]:
        """Return the values and the hidden columns that are derived from them."""
        row = RowExpressions(values, self.table)
        derived = {
            name: derive(row)
            for name, derive in self.relation.model.derived.items()
            if depends(derive, tuple(values), self.table)
        }
        return {**values, **derived}

    def insert(self, columns: tuple[str, ...]) -> Statement:
        values = self.with_key(self.new_values(columns))
        statement = sa.insert(self.table)
        return self.planner.finish(self.returning_id(statement.values(values) if values else statement))

    def insert_if_allowed(self, columns: tuple[str, ...]) -> Statement | None:
        """Return the insert of one row that writes nothing if the rule denies it; None if the rule allows every row."""
        values = self.with_key(self.new_values(columns))
        allowed = self.allowed(RowExpressions(values, self.table), Action.INSERT)
        if allowed is None or not columns:
            return None
        row = sa.select(*values.values()).where(allowed)
        statement = self.dialect.insert(self.table)
        return self.planner.finish(self.returning_id(statement.from_select([*values], row, include_defaults=False)))

    def insert_all(self, columns: tuple[str, ...]) -> Statement | None:
        """Return one insert of all rows that the rule allows; None without columns."""
        if not columns:
            return None
        return self.planner.finish(self.returning_id(self.insert_select(columns, checks_rule=True)))

    def insert_select(self, columns: tuple[str, ...], *, checks_rule: bool = False) -> sa.Insert:
        payload = self.payload_rows(columns)
        values = self.with_derived(payload.values)
        source, position = payload.rows, payload.position
        if checks_rule and self.relation.model.derived:
            row = [value.label(name) for name, value in values.items()]
            derived = sa.select(*row, position.label("position")).select_from(source)
            source = self.dialect.materialized(derived).subquery("derived_row")
            values, position = {name: source.c[name] for name in values}, source.c.position
        values = self.with_key(values)
        allowed = self.allowed(RowExpressions(values, self.table), Action.INSERT) if checks_rule else None
        # Without a WHERE, SQLite parses the ON of ON CONFLICT as that of a join.
        where = sa.true() if allowed is None else allowed
        rows = sa.select(*values.values()).select_from(source).where(where)
        statement = self.dialect.insert(self.table)
        ordered = self.dialect.in_array_order(rows, position)
        return statement.from_select([*values], ordered, include_defaults=False)

    def with_key(self, values: dict[str, Expression]) -> dict[str, Expression]:
        """Return the values with null for key columns without value and default, which then violate NOT NULL."""
        missing = (name for name in self.relation.key if self.relation.attributes[name].default is None)
        return {**dict.fromkeys(missing, sa.null()), **values}

    def upsert(self, columns: tuple[str, ...], target: tuple[str, ...], merged: tuple[str, ...] | None) -> Statement:
        """Return the upsert of one row."""
        insert = self.dialect.insert(self.table).values(self.new_values(columns))
        index = self.relation.unique_columns(target)
        upsert = self.dialect.on_conflict(insert, index, self.changed(columns, merged))
        return self.planner.finish(self.returning_id(upsert))

    def upsert_all(
        self, columns: tuple[str, ...], target: tuple[str, ...], merged: tuple[str, ...] | None
    ) -> Statement:
        """Return the upsert of all rows."""
        insert = self.insert_select(columns)
        index = self.relation.unique_columns(target)
        return self.planner.finish(self.dialect.on_conflict(insert, index, self.changed(columns, merged)))

    def changed(self, columns: tuple[str, ...], merged: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Return the columns that a merge updates: `merged`, columns derived from them, and update timestamps."""
        if merged is None:
            return None
        derived = [
            name for name, derive in self.relation.model.derived.items()
            if depends(derive, columns, self.table)
        ]  # fmt: skip
        timestamps = [
            name for name, each in self.relation.attributes.items()
            if each.default is ColumnDefault.NOW_ON_WRITE and name not in merged
        ]  # fmt: skip
        return tuple(dict.fromkeys((*merged, *derived, *timestamps)))

    def returning_id(self, statement: sa.Insert) -> sa.Insert:
        """Return the insert with RETURNING, if the relation has a generated id and the driver does not report it."""
        name = self.relation.sequence_column
        return statement if name is None else self.dialect.returning_id(statement, self.table.c[name])

    def denied_update(self, columns: tuple[str, ...]) -> Statement | None:
        """Return the query for a row that the rule denies in its updated state; None if the rule allows every row."""
        source = self.planner.alias(self.relation)
        values = self.new_values(columns)
        known = {column.name: values.get(column.name, source.c[column.name]) for column in self.table.c}
        selected = [known[column.name].label(column.name) for column in self.table.c]
        candidates = (
            sa.select(*selected, sa.literal_column("0").label("position"))
            .where(self.by_key(source.c))
            .subquery("candidates")
        )
        return self.denied_among(candidates, Action.UPDATE)

    def update(self, columns: tuple[str, ...]) -> Statement:
        values = self.new_values(columns)
        return self.planner.finish(sa.update(self.table).values(values).where(self.by_key_in_order()))

    def stored_values(self, columns: tuple[str, ...]) -> Statement:
        """Return the query for the keys and values of the rows in `Binding.keys`, without the rule."""
        source = self.planner.alias(self.relation)
        selected = sa.select(*self.key_of(source.c), *(source.c[name] for name in columns))
        return self.planner.finish(selected.where(self.by_key(source.c)))

    def update_if_allowed(self, columns: tuple[str, ...], shape: Shape) -> Statement:
        """Return the update of the rows of `keys` that the rule allows in their new state.

        It returns their keys, each followed by `concern`.
        """
        values = self.new_values(columns)
        keys = self.matching_keys(shape, *self.planner.scoped(self.relation, Action.UPDATE)).order_by(None)
        current = {column.name: column for column in self.table.c}
        allowed = self.allowed(RowExpressions(current | values, self.table), Action.UPDATE)
        return self.planner.finish(
            sa.update(self.table)
            .values(values)
            .where(is_among(self.key_of(self.table.c), keys), *([] if allowed is None else [allowed]))
            .returning(*self.key_of(self.table.c), *self.concern(self.table.c, Action.UPDATE, columns))
        )

    def allowed(self, row: Row, action: Action) -> Expression | None:
        """Return the condition that the rule allows a written row; None if the rule allows every row."""
        check = self.rule.check(action, self.relation.model, row)
        return None if isinstance(check, sa.True_) else sa.func.coalesce(check, sa.false())

    def delete(self) -> Statement:
        return self.planner.finish(sa.delete(self.table).where(self.by_key_in_order()))


class RowExpressions:
    """The expressions of a row's columns, the input of rules and derived columns. Unknown columns are null."""

    def __init__(self, known: dict[str, Expression], table: sa.Table) -> None:
        self.known = known
        self.table = table

    def __getattr__(self, name: str) -> Expression:
        return self[name]

    def __getitem__(self, name: str) -> Expression:
        expression = self.known.get(name)
        return expression if expression is not None else sa.cast(sa.null(), self.table.c[name].type)


def stored_columns(relation: Relation, columns: Iterable[str]) -> list[str]:
    """Return the columns whose stored values a merge needs.

    They are the computed columns, the columns that a payload does not change, and the columns of the rule.
    """
    kept = relation.service_columns | relation.insert_only_columns
    named = [
        name for name in columns
        if relation.attributes[name].default is ColumnDefault.COMPUTED or name in kept
    ]  # fmt: skip
    return list(dict.fromkeys((*named, *rule_columns(relation.name))))


def depends(derive: Any, columns: tuple[str, ...], table: sa.Table) -> bool:
    """Return whether a derived column depends on any of these columns."""
    used: set[str] = set()

    class UsedColumns(RowExpressions):
        def __getitem__(self, name: str) -> Expression:
            used.add(name)
            return table.c[name]

    derive(UsedColumns({}, table))
    return bool(used & set(columns))


class InsertPlan:
    """The statements of an insert of `columns`.

    The parameters of one row are `Binding.new`, in the order of `columns`. The parameters of all rows are
    `Binding.rows`; `Binding.new` then holds the `constant` columns, which have one value for all rows.
    """

    def __init__(
        self, database: str, relation_name: str, columns: tuple[str, ...], constant: tuple[str, ...], rule: Rule
    ) -> None:
        self.builder = partial(WriteBuilder, database, relation_name, rule, constant)
        self.columns = columns

    @cached_property
    def denied(self) -> Statement | None:
        """Find a candidate row that the rule denies; None if the rule allows every row."""
        return self.builder().denied(self.columns)

    @cached_property
    def every_denied(self) -> Statement | None:
        """Find all candidate rows that the rule denies; None if the rule allows every row."""
        return self.builder().denied(self.columns, limit=None)

    @cached_property
    def insert(self) -> Statement:
        """Insert one row."""
        return self.builder().insert(self.columns)

    @cached_property
    def insert_without_id(self) -> Statement:
        """Insert one row without its id, which the database generates."""
        return insert_without_sequence(self.builder(), self.columns)

    @cached_property
    def insert_if_allowed(self) -> Statement | None:
        """Insert one row unless the rule denies it; None if the rule allows every row."""
        return self.builder().insert_if_allowed(self.columns)

    @cached_property
    def insert_all(self) -> Statement | None:
        """Insert all rows that the rule allows; None without columns."""
        return self.builder().insert_all(self.columns)


class UpsertPlan:
    """The statements of an upsert. Where `target` exists, the `merged` columns are updated; None ignores the row."""

    def __init__(
        self,
        database: str,
        relation_name: str,
        columns: tuple[str, ...],
        constant: tuple[str, ...],
        target: tuple[str, ...],
        merged: tuple[str, ...] | None,
        rule: Rule,
    ) -> None:
        self.builder = partial(WriteBuilder, database, relation_name, rule, constant)
        self.columns, self.target, self.merged = columns, target, merged

    @cached_property
    def denied(self) -> Statement | None:
        return self.builder().denied(self.columns)

    @cached_property
    def insert(self) -> Statement:
        return self.builder().upsert(self.columns, self.target, self.merged)

    @cached_property
    def insert_without_id(self) -> Statement:
        """Insert one row without its id. The database generates the id, so there is no conflict."""
        return insert_without_sequence(self.builder(), self.columns)

    @cached_property
    def insert_all(self) -> Statement:
        return self.builder().upsert_all(self.columns, self.target, self.merged)

    @cached_property
    def existing_rows(self) -> Statement:
        """Find the rows that exist."""
        return self.builder().existing_rows(self.columns, self.target, self.merged)

    @cached_property
    def denied_merge(self) -> Statement | None:
        """Find a merged row that the rule denies."""
        if self.merged is None:
            return None
        return self.builder().denied_merge(self.columns, self.target, self.merged)


class UpdatePlan:
    """The statements that set `columns` to the values in `Binding.new` in rows that match the shape's filters."""

    def __init__(self, database: str, relation_name: str, columns: tuple[str, ...], shape: Shape, rule: Rule) -> None:
        self.builder = partial(WriteBuilder, database, relation_name, rule)
        self.columns = columns
        self.shape = shape

    @cached_property
    def update_by_key(self) -> Statement | None:
        """Update the row that the filters select by its key, if the rule allows it, and return the key.

        None if the filters may match several rows, if a column's change may change other rows, or if the domain rule
        watches a column: the statement returns the new values only.
        """
        builder = self.builder()
        relation = builder.relation
        affects_others = any(relation.affects_other_rows(name) for name in self.columns)
        if not self.shape.root.selects_one(relation.key) or affects_others or builder.watched(self.columns):
            return None
        return builder.update_if_allowed(self.columns, self.shape)

    @cached_property
    def keys(self) -> Statement:
        """Find the keys of the rows that match and that the rule allows to update."""
        return self.builder().keys(self.shape, Action.UPDATE, self.columns)

    @cached_property
    def denied(self) -> Statement | None:
        """Find a row that the rule denies in its updated state."""
        return self.builder().denied_update(self.columns)

    @cached_property
    def stored_values(self) -> Statement:
        """Read the columns of the table's domain rule in the rows in `Binding.keys`, after their keys."""
        return self.builder().stored_values(rule_columns(self.builder().relation.name))

    @cached_property
    def update(self) -> Statement:
        """Update the rows in `Binding.keys`."""
        return self.builder().update(self.columns)


class DeletePlan:
    """The statements of a delete where the shape's filters hold."""

    def __init__(self, database: str, relation_name: str, shape: Shape, rule: Rule) -> None:
        self.builder = partial(WriteBuilder, database, relation_name, rule)
        self.shape = shape

    @cached_property
    def keys(self) -> Statement:
        """Find the keys of the rows that match and that the rule allows to delete."""
        return self.builder().keys(self.shape, Action.DELETE)

    @cached_property
    def delete(self) -> Statement:
        return self.builder().delete()


def insert_without_sequence(builder: WriteBuilder, columns: tuple[str, ...]) -> Statement:
    generated = builder.relation.sequence_column
    return builder.insert(tuple(name for name in columns if name != generated))


plan_insert = lru_cache(maxsize=PLANS_MAX)(InsertPlan)
plan_upsert = lru_cache(maxsize=PLANS_MAX)(UpsertPlan)
plan_update = PlanCache(UpdatePlan, shape_at=3)
plan_delete = PlanCache(DeletePlan, shape_at=2)
