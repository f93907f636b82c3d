"""How the columns of new rows are computed, and the entries of the audit log that no trigger writes.

A column's value comes from a payload's JSON or from its default. The entries are refusals, sign-ins, changes of
credentials and the results of forms. Triggers write the entries of changes, cascades included:
engine/schema/sqlite_triggers.py and postgres/triggers.py. The transaction sets the actor first
(`Transaction.set_actor`).
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Protocol

import sqlalchemy as sa

from engine.interface.database import Transaction
from engine.query.catalog import Attribute, NotNullViolation, Relation, catalog
from engine.query.dialect.registry import DIALECTS
from engine.query.statement import PLANS_MAX, Binding, Statement, compile_statement, parameter
from engine.query.write.rules import DOMAIN_RULES, DomainRule
from models.audit_log import AuditLog
from models.fields import ColumnDefault
from models.types import DOUBLE, TIMESTAMP, Bound, OutOfRange, new_uuid, read_timestamp, write_timestamp

CHOSEN_ID_MAX = 2**52  # JavaScript can represent the ids that follow the chosen one
IMPORTED_ID_MAX = 2**52 + 2**51  # an export may hold ids that follow CHOSEN_ID_MAX
ID_MAX = 2**53 - 1  # the limit of the tables

Row = dict[str, object]


class RowContext(Protocol):
    """The insert whose rows are computed."""

    transaction: Transaction
    relation: Relation
    request: Binding

    def written(self, row: Row) -> Row: ...


@dataclass(frozen=True, slots=True)
class ColumnSource:
    """How the value of a column is computed from a row.

    `from_row` computes it. `convert`, if present, computes it from the row's JSON value alone. `is_constant`: all rows
    have the same value. `is_memoized`: conversions of equal JSON values are computed once. `from_rows`, if present,
    computes the values of all rows at once.
    """

    from_row: Callable[[RowContext, Row], Bound]
    convert: Callable[[object], Bound] | None = None
    is_constant: bool = False
    is_memoized: bool = False
    from_rows: Callable[[RowContext, Sequence[Row]], list[Bound]] | None = None


MEMOIZED_TYPES = ({str}, {str, type(None)}, {int}, {int, type(None)})
"""The sets of types within which equal values convert alike. Mixed numbers do not (1 == 1.0 == True), and neither do
doubles (0.0 == -0.0)."""


class MemoizedConverter(dict[Any, Bound]):
    """A cache of conversions. Dates, statuses and buildings repeat within a body."""

    def __init__(self, convert: Callable[[object], Bound]) -> None:
        super().__init__()
        self.convert = convert

    def __missing__(self, raw: object) -> Bound:
        value = self[raw] = self.convert(raw)
        return value


@dataclass(frozen=True, slots=True)
class RowLayout:
    """The columns of the rows to write, and the source of each column.

    `constant`: the last of the columns, which have one value for all rows. `required`: the names and positions of the
    required columns. The position is None if the rows do not have the column.
    """

    columns: tuple[str, ...]
    constant: tuple[str, ...]
    sources: tuple[ColumnSource, ...]
    required: tuple[tuple[str, int | None], ...]


@lru_cache(maxsize=PLANS_MAX)
def row_layout(relation_name: str, named: tuple[str, ...], default_missing: bool) -> RowLayout:
    """Return the layout of rows that set the `named` columns. The other columns have their defaults."""
    relation = catalog().relations[relation_name]
    attributes = relation.attributes
    unnamed = [
        each for name, each in attributes.items()
        if name not in named and each.has_default and each.default is not ColumnDefault.SEQUENCE
    ]  # fmt: skip
    constant = [each for each in unnamed if default_source(each).is_constant]
    unnamed = [*(each for each in unnamed if each not in constant), *constant]
    columns = (*named, *(each.name for each in unnamed))
    required = [
        name for name, each in attributes.items()
        if each.required
        and name not in relation.model.derived
        and (each.default is not ColumnDefault.SEQUENCE or (name in named and not default_missing))
    ]  # fmt: skip
    return RowLayout(
        columns,
        tuple(each.name for each in constant),
        (*(payload_source(attributes[name], default_missing) for name in named), *map(default_source, unnamed)),
        tuple((name, columns.index(name) if name in columns else None) for name in required),
    )


def payload_source(attribute: Attribute, default_missing: bool) -> ColumnSource:
    """Return the source of a named column: the row's JSON value, or the default or null if the row has none."""
    name, convert = attribute.name, attribute.type.read_json
    missing = default_source(attribute).from_row if default_missing else null_value
    if attribute.default is ColumnDefault.COMPUTED:
        return computed_source(attribute)
    if attribute.type is TIMESTAMP:
        return ColumnSource(
            lambda rows, row: convert_value(attribute, row[name], rows.request) if name in row else missing(rows, row)
        )
    if attribute.default is ColumnDefault.SEQUENCE:
        return ColumnSource(
            lambda rows, row: require_id(rows.relation, convert(row[name])) if name in row else missing(rows, row)
        )
    return ColumnSource(
        lambda rows, row: convert(row[name]) if name in row else missing(rows, row),
        convert,
        # A column of doubles accepts integers of hundreds of digits, for which a client can provoke hash collisions.
        is_memoized=attribute.type is not DOUBLE,
    )


def default_source(attribute: Attribute) -> ColumnSource:
    """Return the source of a column's default."""
    if not attribute.has_default:
        return ColumnSource(null_value, is_constant=True)
    if attribute.default is ColumnDefault.COMPUTED:
        return computed_source(attribute)
    return ColumnSource(
        lambda rows, row: default_value(rows.relation, attribute, rows.transaction, rows.request, row),
        is_constant=attribute.default is not ColumnDefault.RANDOM_UUID,
    )


def computed_source(attribute: Attribute) -> ColumnSource:
    """Return the source of a column that the domain rule computes where a row has no value."""

    def from_rows(context: RowContext, rows: Sequence[Row]) -> list[Bound]:
        written = [context.written(row) for row in rows]
        given = [row.get(attribute.name) for row in written]
        missing = [row for row, value in zip(written, given, strict=True) if value is None]
        computed = iter(computed_values(context.relation, attribute, context.transaction, context.request, missing))
        return [next(computed) if each is None else convert_value(attribute, each, context.request) for each in given]

    return ColumnSource(lambda context, row: from_rows(context, [row])[0], from_rows=from_rows)


def null_value(rows: RowContext, row: Row) -> Bound:
    return None


def default_value(
    relation: Relation, attribute: Attribute, transaction: Transaction, binding: Binding, row: Row
) -> Bound:
    """Return a column's default in a row; None if it has none or if the database generates it from a sequence."""
    kind = attribute.default
    if kind is ColumnDefault.RANDOM_UUID:
        return new_uuid()
    if kind in (ColumnDefault.NOW, ColumnDefault.NOW_ON_WRITE):
        return transaction.now
    if kind is ColumnDefault.COMPUTED:
        return computed_values(relation, attribute, transaction, binding, [row])[0]
    if kind is ColumnDefault.CALLER_ID:
        return binding.parameters.get("caller_id")
    return attribute.stored_default


def computed_values(
    relation: Relation, attribute: Attribute, transaction: Transaction, binding: Binding, rows: Sequence[Row]
) -> Sequence[Bound]:
    """Return the values that the domain rule computes for a column of rows."""
    rule = DOMAIN_RULES.get(relation.name, NO_RULE)
    return rule.defaults(transaction, binding, attribute.name, rows) if rows else []


NO_RULE = DomainRule()

# Values


def require_id(relation: Relation, value: Bound, at_most: int = CHOSEN_ID_MAX) -> Bound:
    """Return an id that a payload sets; raise OutOfRange unless it is an integer from 1 to `at_most`."""
    if value is None:
        raise NotNullViolation(relation.name, "id")
    if not isinstance(value, int) or not 1 <= value <= at_most:
        raise OutOfRange(f'value "{value}" is out of range for a chosen id (1 to {at_most})')
    return value


def convert_value(attribute: Attribute, value: object, binding: Binding) -> Bound:
    """Return a JSON value converted to a column's type. Timestamps are read in the preferred time zone."""
    if attribute.type is TIMESTAMP and binding.zone is not None and isinstance(value, str):
        return read_timestamp(value, binding.zone)
    return attribute.type.read_json(value)


@cache
def insert_statement(database: str) -> Statement:
    """Return the statement that inserts an entry."""
    names = ("at", "actor_id", "action", "relation", "row_key", "client_id", "after")
    table: Any = AuditLog.__table__
    values = {name: parameter(name, table.c[name].type) for name in names}
    return compile_statement(sa.insert(table).values(values), DIALECTS[database].sa_dialect)


REFUSED = "refused"
REFUSALS_PER_MINUTE_MAX = 60  # per user: refusals may not fill the disk


def record_refusal(
    transaction: Transaction, relation: str, *, actor_id: str, client_id: int | None, message: str
) -> None:
    """Record that a user was refused, unless the limit per minute is reached."""
    # A literal, since the partial index is for this action.
    is_refusal = AuditLog.action == sa.literal_column(f"'{REFUSED}'")
    refusals = sa.select(AuditLog.at).where(AuditLog.actor_id == actor_id, is_refusal)
    newest_first = refusals.order_by(AuditLog.id.desc()).limit(1).offset(REFUSALS_PER_MINUTE_MAX - 1)
    earlier = transaction.execute(newest_first).scalar()
    minute_ago = write_timestamp(transaction.moment - datetime.timedelta(minutes=1))
    if earlier is None or str(earlier) < minute_ago:
        details = {"message": message}
        record_entry(transaction, REFUSED, relation, actor_id=actor_id, client_id=client_id, details=details)


def record_entry(
    transaction: Transaction,
    action: str,
    relation: str,
    *,
    actor_id: str | None,
    client_id: int | None,
    row_key: str | None = None,
    details: dict[str, Any] | None = None,
) -> None:
    """Record an entry that is not a change of a row: a sign-in, a sign-out, a refusal. `details` hold no secrets."""
    after = json.dumps(details) if details is not None else None
    statement = insert_statement(transaction.dialect.name)
    values = {
        "at": transaction.now,
        "actor_id": actor_id,
        "action": action,
        "relation": relation,
        "row_key": row_key,
        "client_id": client_id,
        "after": after,
    }
    transaction.run(statement.sql, statement.bind(Binding(parameters=values)))


def read_details(
    transaction: Transaction, action: str, relation: str, *, actor_id: str, row_key: str, since: datetime.datetime
) -> dict[str, Any] | None:
    """Return the details of an entry that `record_entry` has recorded, or None if there is none since this moment."""
    entry = sa.select(AuditLog.after).where(
        AuditLog.action == action,
        AuditLog.relation == relation,
        AuditLog.actor_id == actor_id,
        AuditLog.row_key == row_key,
        # The index of PostgreSQL has the first 200 characters of the key.
        sa.func.substr(AuditLog.row_key, 1, 200) == row_key,
        AuditLog.at >= write_timestamp(since),
    )
    text = transaction.execute(entry.limit(1)).scalar()
    details: dict[str, Any] | None = json.loads(text) if isinstance(text, str) else text
    return details
