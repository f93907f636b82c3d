"""The expressions of selected columns: aliases, JSON paths, casts, time zones and aggregates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from engine.query.catalog import Relation
from engine.query.dialect import sqlite_functions as functions
from engine.query.dialect.base import SqlDialect
from engine.query.read.operators import path_value
from engine.query.shape import Column, Path
from engine.query.statement import parameter
from models.errors import Fault

Expression = sa.ColumnElement[Any]

TIMESTAMP_NAME = "timestamp with time zone"
EMBED = "embed"
"""The kind of an embed's JSON."""


class UnknownAggregate(Fault):
    """An aggregate that does not exist for the column's type (42883)."""


@dataclass(frozen=True, slots=True)
class Output:
    """A key of a printed row, with the expression and type of its value.

    `column`: the relation's column that it prints. `path`: the column and path of a JSON value. `uncast`: the column,
    if the value is a cast of it. `embed`: the name of the spread embed that it comes from.
    """

    key: str
    value: Expression
    kind: str
    column: str | None = None
    path: tuple[str, Path] | None = None
    aggregate: bool = False
    uncast: Expression | None = None
    embed: str | None = None

    @property
    def is_embedded(self) -> bool:
        """Whether the value comes from an embed."""
        return self.embed is not None or self.kind == EMBED


class ColumnProjection:
    """Builds the outputs of an alias's columns."""

    def __init__(self, dialect: SqlDialect, *, in_timezone: bool) -> None:
        self.dialect = dialect
        self.uses_time_zone = in_timezone

    def outputs(self, item: Column, relation: Relation, alias: Any, counted: Expression | None = None) -> list[Output]:
        """Return the outputs of a select item: one, or one for each column of `*`.

        `counted`: the expression that `count()` counts, by default rows.
        """
        if item.name == "*" and item.aggregate is None:
            return [
                Output(name, self.in_time_zone(alias.c[name], each.type.name), each.type.name, name)
                for name, each in relation.attributes.items()
            ]
        if item.name == "*":
            count = sa.func.count() if counted is None else sa.func.count(counted)
            return [self.aggregated(item, count, "bigint", item.key)]
        attribute = relation.attribute(item.name)
        value: Expression = alias.c[attribute.name]
        kind = attribute.type.name
        if item.path:
            path_type, value = path_value(self.dialect, attribute, value, item.path)
            kind = path_type.name
        if item.cast is not None:
            value, kind = self.cast(value, kind, item.cast)
        if item.aggregate is not None:
            return [self.aggregate(item, value, kind)]
        # GROUP BY and ORDER BY use the cast value if the item has an alias, else the column.
        is_column = not item.path and (item.cast is None or item.alias is None)
        column = item.name if is_column else None
        uncast = alias.c[attribute.name] if is_column and item.cast is not None else None
        path = (item.name, item.path) if item.path and item.cast is None else None
        value = self.in_time_zone(value, kind)
        return [Output(item.key, value, kind, column, path, uncast=uncast)]

    def in_time_zone(self, value: Expression, kind: str) -> Expression:
        """Return a timestamp in the request's time zone; other values unchanged."""
        if self.uses_time_zone and kind == TIMESTAMP_NAME:
            return sa.func.in_timezone(value, parameter("timezone", sa.Text))
        return value

    def cast(self, value: Expression, source: str, name: str) -> tuple[Expression, str]:
        """Return a cast value and the name of its type."""
        target = functions.type_named(name)
        functions.require_castable(source, target)
        if self.uses_time_zone and source == TIMESTAMP_NAME != target:
            zoned = self.in_time_zone(value, source)
            return self.dialect.cast_zoned_timestamp(zoned, target), target
        if self.uses_time_zone and target == TIMESTAMP_NAME != source:
            zone = parameter("timezone", sa.Text)
            return self.dialect.cast_local_time(value, source, zone), target
        return self.dialect.cast(value, source, target), target

    def aggregate(self, item: Column, value: Expression, kind: str) -> Output:
        assert item.aggregate is not None
        key = item.key
        if item.aggregate == "count":
            return self.aggregated(item, sa.func.count(value), "bigint", key)
        require_aggregate(item.aggregate, kind)
        if item.aggregate in ("avg", "sum"):
            average = item.aggregate == "avg"
            if average and kind in functions.INTEGERS and is_text(item.aggregate_cast):
                return Output(key, self.dialect.average_text(value), "text", aggregate=True)
            total: Expression = sa.func.avg(value) if average else sa.func.sum(value)
            if kind not in functions.INTEGERS:
                total = self.dialect.require_finite(total)
            kind = average_type(kind) if average else sum_type(kind)
            return self.aggregated(item, total, kind, key)
        extreme = sa.func.max(value) if item.aggregate == "max" else sa.func.min(value)
        return self.aggregated(item, extreme, kind, key)

    def aggregated(self, item: Column, value: Expression, kind: str, key: str) -> Output:
        if item.aggregate_cast is not None:
            value, kind = self.cast(value, kind, item.aggregate_cast)
        return Output(key, self.in_time_zone(value, kind), kind, aggregate=True)

    def row(self, outputs: Iterable[Output]) -> Expression:
        """Return a row as a JSON object.

        Of several outputs with the same key the last is printed, and embeds follow columns. PostgREST prints all of
        them in this order, and JSON parsers keep the last.
        """
        outputs = list(outputs)
        by_key: dict[str, Output | None] = dict.fromkeys(output.key for output in outputs)
        by_key |= {output.key: output for output in sorted(outputs, key=lambda each: each.is_embedded)}
        return self.dialect.json_of_row((key, self.printed(output)) for key, output in by_key.items() if output)

    def printed(self, output: Output) -> Expression:
        """Return an output's value as JSON."""
        return self.dialect.json_value(output.kind, output.value)


def require_aggregate(name: str, kind: str) -> None:
    """Raise UnknownAggregate if a type does not have an aggregate."""
    numeric = kind in functions.NUMBERS
    comparable = numeric or kind in ("text", "date", "timestamp with time zone", "timestamp", "time")
    if not (numeric if name in ("sum", "avg") else comparable):
        raise UnknownAggregate(
            f"function {name}({kind}) does not exist",
            hint="No function matches the given name and argument types. You might need to add explicit type casts.",
        )


def is_text(cast: str | None) -> bool:
    return cast is not None and functions.type_named(cast) == "text"


def average_type(kind: str) -> str:
    return "double precision" if kind in ("double precision", "real") else "numeric"


def sum_type(kind: str) -> str:
    if kind in ("integer", "smallint"):
        return "bigint"
    return "numeric" if kind == "bigint" else kind
