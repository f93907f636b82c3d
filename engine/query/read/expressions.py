"""The table of operators, and the expressions of selected columns.

An operator has an expression, a preparation of its operand, and a mark that says whether it is leak-proof. An operator
is not leak-proof if it can fail or if its time depends on the column's value. The planner puts the access rule before
it, so it never runs on a row that the caller may not see. A selected column may have an alias, a JSON path, a cast, a
time zone and an aggregate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from engine.query.catalog import Attribute, Relation
from engine.query.dialect import sqlite_functions
from engine.query.dialect.base import SqlDialect, json_array
from engine.query.shape import Column, Condition, Filter, LogicTree, Path, Step
from engine.query.statement import Binding, Slot, parameter
from models.types import BOOLEAN, INT32, JSON, TEXT, Bound, ColumnType, Fault, read_timestamp

Expression = sa.ColumnElement[Any]


class UnknownOperator(Fault, code="42883"):
    """An operator or aggregate that does not exist for the column's type."""


class NotBoolean(Fault, code="42804"):
    """`is.true`, `is.false` or `is.unknown` on a column that is not boolean."""


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator in PostgreSQL's notation, and how SQL and operands are made for it."""

    symbol: str
    compare: Callable[[SqlDialect, Expression, Expression], Expression]
    prepare: Callable[[SqlDialect, ColumnType, str], Bound]
    leak_proof: bool = True
    text_only: bool = False


def operand(dialect: SqlDialect, kind: ColumnType, text: str) -> Bound:
    return kind.read_text(text)


def like_operand(dialect: SqlDialect, kind: ColumnType, text: str) -> Bound:
    return dialect.like_pattern(text)


def ilike_operand(dialect: SqlDialect, kind: ColumnType, text: str) -> Bound:
    return dialect.ilike_pattern(text)


def match_operand(dialect: SqlDialect, kind: ColumnType, text: str) -> Bound:
    return dialect.match_pattern(text, ignore_case=False)


def imatch_operand(dialect: SqlDialect, kind: ColumnType, text: str) -> Bound:
    return dialect.match_pattern(text, ignore_case=True)


def read_moments(binding: Binding, place: int) -> Bound:
    """Return a timestamp operand, or a list of them as a JSON array, read in the request's preferred time zone."""
    value = binding.values[place]
    if isinstance(value, tuple):
        return json_array(read_moment(text, binding) if text is not None else None for text in value)
    return read_moment(str(value), binding)


def read_moment(text: str, binding: Binding) -> Bound:
    return read_timestamp(text, binding.zone)


OPERATORS: dict[str, Operator] = {
    "eq": Operator("=", lambda _, column, value: column == value, operand),
    "neq": Operator("<>", lambda _, column, value: column != value, operand),
    "gt": Operator(">", lambda _, column, value: column > value, operand),
    "gte": Operator(">=", lambda _, column, value: column >= value, operand),
    "lt": Operator("<", lambda _, column, value: column < value, operand),
    "lte": Operator("<=", lambda _, column, value: column <= value, operand),
    "isdistinct": Operator("IS DISTINCT FROM", lambda _, column, value: column.is_distinct_from(value), operand),
    "like": Operator("~~", lambda dialect, column, value: dialect.like(column, value), like_operand, False, True),
    "ilike": Operator("~~*", lambda dialect, column, value: dialect.ilike(column, value), ilike_operand, False, True),
    "match": Operator("~", lambda dialect, column, value: dialect.match(column, value), match_operand, False, True),
    "imatch": Operator("~*", lambda dialect, column, value: dialect.imatch(column, value), imatch_operand, False, True),
}


def costly_filters(conditions: Iterable[Condition]) -> int:
    """Return the number of filters that are not leak-proof, JSON paths included."""
    return sum(
        costly_filters(each.operands)
        if isinstance(each, LogicTree)
        else bool(each.path) or (each.operator in OPERATORS and not OPERATORS[each.operator].leak_proof)
        for each in conditions
    )


UNSUPPORTED_SYMBOLS = {
    "cs": "@>", "cd": "<@", "ov": "&&", "sl": "<<", "sr": ">>", "nxr": "&<", "nxl": "&>",
    "adj": "-|-", "fts": "@@", "plfts": "@@", "phfts": "@@", "wfts": "@@",
}  # fmt: skip
"""The symbols of PostgREST's operators on arrays, ranges and documents. No resource has such a column."""


def operator_for(name: str, kind: ColumnType) -> Operator:
    """Return the operator for a column of a type; raise UnknownOperator if the type does not have it."""
    operator = OPERATORS.get(name)
    if operator is None:
        symbol = UNSUPPORTED_SYMBOLS.get(name, name)
    elif kind.name == "json" or (operator.text_only and kind.name != "text"):
        symbol = operator.symbol
    else:
        return operator
    raise UnknownOperator(
        f"operator does not exist: {kind.name} {symbol} unknown",
        hint="No operator matches the given name and argument types. You might need to add explicit type casts.",
    )


def require_comparable(kind: str, purpose: str) -> None:
    """Raise UnknownOperator for JSON. PostgreSQL has no `ordering` and no `equality` operator for it."""
    if kind == "json":
        raise UnknownOperator(f"could not identify an {purpose} operator for type json")


IS_KEYWORDS = {"true": "IS TRUE", "false": "IS FALSE", "unknown": "IS UNKNOWN"}


def is_condition(column: Expression, kind: ColumnType, keyword: str) -> Expression:
    """Return the condition of `is.null` or `is.not_null`, or of a truth value; raise NotBoolean for another column."""
    if keyword == "null":
        return column.is_(None)
    if keyword == "not_null":
        return column.is_not(None)
    if kind is BOOLEAN:
        return column.is_(None) if keyword == "unknown" else column == sa.literal(keyword == "true", sa.Boolean())
    raise NotBoolean(f"argument of {IS_KEYWORDS[keyword]} must be type boolean, not type {kind.name}")


class Operands:
    """The parameters of a plan that is being built. Binding converts their values."""

    def __init__(self, dialect: SqlDialect) -> None:
        self.dialect = dialect
        self.slots: dict[str, Slot] = {}
        self.operands: dict[str, Slot] = {}

    def value(self, place: int, prepare: Any, suffix: str = "") -> Expression:
        """Return the parameter for the query's value at `place`. Binding converts the value by `prepare`."""
        name = f"v{place}{suffix}"
        self.operands[name] = lambda binding: prepare(binding.values[place])
        return parameter(name)

    def operand(self, flt: Filter, operator: Operator, kind: ColumnType) -> Expression:
        """Return the parameter for a filter's value or list of values."""
        assert flt.value is not None
        dialect = self.dialect
        if kind.name == "timestamp with time zone" and operator.prepare is operand:
            place = flt.value
            name = f"v{place}"
            self.operands[name] = lambda binding: read_moments(binding, place)
            return parameter(name)

        def prepare(text: str) -> Bound:
            return operator.prepare(dialect, kind, kind.normalize(text))

        if flt.operator == "in" or flt.quantifier is not None:
            return self.value(
                flt.value, lambda values: json_array(prepare(text) if text is not None else None for text in values)
            )
        return self.value(flt.value, prepare)

    def number(self, place: int) -> Expression:
        """Return the parameter for a limit or an offset."""
        return sa.type_coerce(self.value(place, int), sa.BigInteger())

    def comparison(self, flt: Filter, operator: Operator, column: Expression, kind: ColumnType) -> Expression:
        """Return the comparison of a column with a filter's value or list of values."""
        operand = self.operand(flt, operator, kind)
        if flt.operator == "in" or (flt.quantifier == "any" and flt.operator == "eq"):
            return self.dialect.in_list(column, kind, operand)
        if flt.quantifier is not None:
            return self.dialect.any_or_all(
                flt.quantifier, lambda left, right: self.compare_element(operator, left, right), column, operand, kind
            )
        return operator.compare(self.dialect, column, operand)

    def compare_element(self, operator: Operator, left: Expression, right: Expression) -> Expression:
        """Return the comparison with one element of a list. A slow operator checks the deadline first."""
        condition = operator.compare(self.dialect, left, right)
        if operator.leak_proof:
            return condition
        return sa.and_(self.dialect.before_deadline(costly=1), condition)


INDEX_CHARACTERS_MAX = 16


def path_value(
    dialect: SqlDialect, attribute: Attribute, value: Expression, path: Path
) -> tuple[ColumnType, Expression]:
    """Return the type and value at a path of at least one step: JSON for `->`, a text for `->>`.

    As in PostgREST, the value is null if the column is not JSON or the path does not exist. Raise UnknownOperator if
    a step follows `->>`.
    """
    *steps, last = path
    if any(step.as_text for step in steps):
        raise UnknownOperator("operator does not exist: text -> unknown")
    if attribute.type is not JSON or not all(map(can_exist, path)):
        return TEXT, sa.cast(sa.null(), sa.Text())
    if last.as_text:
        return TEXT, dialect.text_at_path(value, path)
    return JSON, dialect.json_at_path(value, path)


def can_exist(step: Step) -> bool:
    """Return whether a value can have this index or key. No column name has a character that SQLite cannot escape."""
    if step.is_index:
        # int() raises for thousands of digits.
        return len(step.name) <= INDEX_CHARACTERS_MAX and INT32[0] <= int(step.name) <= INT32[1]
    return '"' not in step.name and "\\" not in step.name


TIMESTAMP_NAME = "timestamp with time zone"
EMBED = "embed"
"""The kind of an embed's JSON."""


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
        target = sqlite_functions.type_named(name)
        sqlite_functions.require_castable(source, target)
        if self.uses_time_zone and source == TIMESTAMP_NAME != target:
            zoned = self.in_time_zone(value, source)
            return self.dialect.cast_zoned_timestamp(zoned, target), target
        return self.dialect.cast(value, source, target), target

    def aggregate(self, item: Column, value: Expression, kind: str) -> Output:
        assert item.aggregate is not None
        key = item.key
        if item.aggregate == "count":
            return self.aggregated(item, sa.func.count(value), "bigint", key)
        require_aggregate(item.aggregate, kind)
        if item.aggregate in ("avg", "sum"):
            average = item.aggregate == "avg"
            if average and kind in sqlite_functions.INTEGERS and is_text(item.aggregate_cast):
                return Output(key, self.dialect.average_text(value), "text", aggregate=True)
            total: Expression = sa.func.avg(value) if average else sa.func.sum(value)
            if kind not in sqlite_functions.INTEGERS:
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
    """Raise UnknownOperator if a type does not have an aggregate."""
    numeric = kind in sqlite_functions.NUMBERS
    comparable = numeric or kind in ("text", "date", TIMESTAMP_NAME)
    if not (numeric if name in ("sum", "avg") else comparable):
        raise UnknownOperator(
            f"function {name}({kind}) does not exist",
            hint="No function matches the given name and argument types. You might need to add explicit type casts.",
        )


def is_text(cast: str | None) -> bool:
    return cast is not None and sqlite_functions.type_named(cast) == "text"


def average_type(kind: str) -> str:
    return kind if kind == "double precision" else "numeric"


def sum_type(kind: str) -> str:
    if kind == "integer":
        return "bigint"
    return "numeric" if kind == "bigint" else kind
