"""The table of operators: expression, preparation of the operand, and whether the operator is leak-proof.

An operator is not leak-proof if it can fail or if its time depends on the column's value. The planner puts the access
rule before it, so it never runs on a row that the caller may not see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from engine.query.catalog import Attribute
from engine.query.dialect.base import SqlDialect, json_array
from engine.query.shape import Condition, Filter, LogicTree, Path, Step
from engine.query.statement import Binding, Slot, parameter
from models.errors import Fault
from models.types import INT32, JSON, TEXT, Bound, ColumnType, read_timestamp

Expression = sa.ColumnElement[Any]


class UnknownOperator(Fault):
    """An operator that does not exist for the column's type (42883)."""


class NotBoolean(Fault):
    """`is.true`, `is.false` or `is.unknown` on a column that is not boolean (42804)."""


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
    """Return the condition of `is.null` or `is.not_null`; raise NotBoolean for truth values.

    No resource has a boolean column.
    """
    if keyword == "null":
        return column.is_(None)
    if keyword == "not_null":
        return column.is_not(None)
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
        if flt.operator == "in" or flt.quantifier is not None:
            return self.value(
                flt.value,
                lambda values: json_array(
                    operator.prepare(dialect, kind, text) if text is not None else None for text in values
                ),
            )
        return self.value(flt.value, lambda text: operator.prepare(dialect, kind, text))

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
