"""What a column prints: itself, under an alias, along a path, cast, in a time zone, or as an aggregate.

A leaf of the select tree (`embed.py`): it reads one alias's columns and knows of no embed and no rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from engine.query.catalog import Relation
from engine.query.dialect.base import SqlDialect
from engine.query.json_paths import path_value
from engine.query.shape import Column
from engine.query.shape import Path
from engine.query.statement import parameter
from engine.storage import sql_functions as functions
from models.errors import Fault

Expression = sa.ColumnElement[Any]

MOMENT = "timestamp with time zone"


class UnknownAggregate(Fault):
    """An aggregate that the column's type has not (42883)."""


@dataclass(frozen=True, slots=True)
class Output:
    """A key of a printed row: its value, the type that prints it, and whether it is an aggregate.

    `column` is the relation's that it prints, `path` what it prints of one along a path, `raw` that column where a cast
    hides it, and `embed` the one that it was spread from.
    """

    key: str
    value: Expression
    kind: str
    column: str | None = None
    path: tuple[str, Path] | None = None
    aggregate: bool = False
    raw: Expression | None = None
    embed: str | None = None


class Columns:
    """Prints the columns of an alias."""

    def __init__(self, dialect: SqlDialect, *, in_timezone: bool) -> None:
        self.dialect = dialect
        self.in_timezone = in_timezone

    def outputs(
        self, item: Column, relation: Relation, alias: Any, counted: Expression | None = None
    ) -> list[Output]:
        """What an item of a select prints: one output, or one for each column of `*`.

        `counted` is what `count()` counts, where that is not the rows.
        """
        if item.name == "*" and item.aggregate is None:
            return [
                Output(name, self.plain(alias.c[name], each.type.name), each.type.name, name)
                for name, each in relation.attributes.items()
            ]
        if item.name == "*":
            count = sa.func.count() if counted is None else sa.func.count(counted)
            return [self.aggregated(item, count, "bigint", item.key)]
        attribute = relation.attribute(item.name)
        value: Expression = alias.c[attribute.name]
        kind = attribute.type.name
        if item.path:
            found, value = path_value(self.dialect, attribute, value, item.path)
            kind = found.name
        if item.cast is not None:
            value, kind = self.cast(value, kind, item.cast)
        if item.aggregate is not None:
            return [self.aggregate(item, value, kind)]
        # An alias stands for the value as it is cast, a column's own name for the column.
        own = not item.path and (item.cast is None or item.alias is None)
        column = item.name if own else None
        raw = alias.c[attribute.name] if own and item.cast is not None else None
        path = (item.name, item.path) if item.path and item.cast is None else None
        return [Output(item.key, self.plain(value, kind), kind, column, path, raw=raw)]

    def plain(self, value: Expression, kind: str) -> Expression:
        if self.in_timezone and kind == MOMENT:
            return sa.func.in_timezone(value, parameter("timezone", sa.Text))
        return value

    def cast(self, value: Expression, source: str, name: str) -> tuple[Expression, str]:
        target = functions.type_named(name)
        functions.require_castable(source, target)
        if self.in_timezone and source == MOMENT != target:
            here = self.plain(value, source)
            return self.dialect.cast_zoned_timestamp(here, target), target
        if self.in_timezone and target == MOMENT != source:
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
            return self.aggregated(item, total, averaged(kind) if average else summed(kind), key)
        extreme = sa.func.max(value) if item.aggregate == "max" else sa.func.min(value)
        return self.aggregated(item, extreme, kind, key)

    def aggregated(self, item: Column, value: Expression, kind: str, key: str) -> Output:
        if item.aggregate_cast is not None:
            value, kind = self.cast(value, kind, item.aggregate_cast)
        return Output(key, self.plain(value, kind), kind, aggregate=True)

    def row(self, outputs: Iterable[Output]) -> Expression:
        """The JSON object; of two outputs with one key the later is printed."""
        by_key = {output.key: output for output in outputs}
        return self.dialect.json_of_row(
            (key, self.printed(output)) for key, output in by_key.items()
        )

    def printed(self, output: Output) -> Expression:
        """An output's value as JSON holds it."""
        return self.dialect.json_value(output.kind, output.value)


def require_aggregate(name: str, kind: str) -> None:
    numeric = kind in functions.NUMBERS
    comparable = numeric or kind in (
        "text",
        "date",
        "timestamp with time zone",
        "timestamp",
        "time",
    )
    if not (numeric if name in ("sum", "avg") else comparable):
        raise UnknownAggregate(
            f"function {name}({kind}) does not exist",
            hint="No function matches the given name and argument types. "
            "You might need to add explicit type casts.",
        )


def is_text(cast: str | None) -> bool:
    return cast is not None and functions.type_named(cast) == "text"


def averaged(kind: str) -> str:
    return "double precision" if kind in ("double precision", "real") else "numeric"


def summed(kind: str) -> str:
    if kind in ("integer", "smallint"):
        return "bigint"
    return "numeric" if kind == "bigint" else kind
