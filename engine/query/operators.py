"""One row per operator: its expression, how its operand is prepared, and whether it is leak-proof.

An operator that can raise, or whose time depends on the value it looks at, is not leak-proof: the plan
keeps it behind the rule, so that it is never run on a row that the caller may not see.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from engine.query.dialect.base import SqlDialect
from engine.query.dialect.base import json_array
from engine.query.shape import Condition
from engine.query.shape import LogicTree
from engine.query.statement import Binding
from models.errors import Fault
from models.types import Bound
from models.types import ColumnType
from models.types import read_timestamp

Expression = sa.ColumnElement[Any]


class UnknownOperator(Fault):
    """An operator that the column's type has not (42883)."""


class NotBoolean(Fault):
    """`is.true` and its kin on a column that is none (42804)."""


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator's row."""

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
    """A timestamp operand, or a list of them, read in the time zone that the request prefers."""
    value = binding.values[place]
    if isinstance(value, tuple):
        return json_array(read_moment(text, binding) for text in value)
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
    "isdistinct": Operator(
        "IS DISTINCT FROM", lambda _, column, value: column.is_distinct_from(value), operand
    ),
    "like": Operator(
        "~~", lambda dialect, column, value: dialect.like(column, value), like_operand, False, True
    ),
    "ilike": Operator(
        "~~*",
        lambda dialect, column, value: dialect.ilike(column, value),
        ilike_operand,
        False,
        True,
    ),
    "match": Operator(
        "~", lambda dialect, column, value: dialect.match(column, value), match_operand, False, True
    ),
    "imatch": Operator(
        "~*",
        lambda dialect, column, value: dialect.imatch(column, value),
        imatch_operand,
        False,
        True,
    ),
}


def costly(conditions: Iterable[Condition]) -> int:
    """How many of the filters among these take their time, or may raise."""
    return sum(
        costly(each.operands)
        if isinstance(each, LogicTree)
        else bool(each.path)
        or (each.operator in OPERATORS and not OPERATORS[each.operator].leak_proof)
        for each in conditions
    )


ELSEWHERE = {
    "cs": "@>", "cd": "<@", "ov": "&&", "sl": "<<", "sr": ">>", "nxr": "&<", "nxl": "&>",
    "adj": "-|-", "fts": "@@", "plfts": "@@", "phfts": "@@", "wfts": "@@",
}  # fmt: skip
"""PostgREST's operators on arrays, ranges and documents, of which no resource has a column."""


def operator_for(name: str, kind: ColumnType) -> Operator:
    """The operator of that name on a column of that type, or UnknownOperator."""
    found = OPERATORS.get(name)
    if found is not None and kind.name != "json" and (kind.name == "text" or not found.text_only):
        return found
    symbol = found.symbol if found is not None else ELSEWHERE.get(name, name)
    raise UnknownOperator(
        f"operator does not exist: {kind.name} {symbol} unknown",
        hint="No operator matches the given name and argument types. "
        "You might need to add explicit type casts.",
    )


def require_comparable(kind: str, purpose: str) -> None:
    """Refuse an `ordering` by JSON, or groups by its `equality`: PostgreSQL has no such operators of it."""
    if kind == "json":
        raise UnknownOperator(f"could not identify an {purpose} operator for type json")


IS_KEYWORDS = {"true": "IS TRUE", "false": "IS FALSE", "unknown": "IS UNKNOWN"}


def is_condition(column: Expression, kind: ColumnType, keyword: str) -> Expression:
    """`is.null` and `is.not_null`; the truth values need a boolean, which no resource has."""
    if keyword == "null":
        return column.is_(None)
    if keyword == "not_null":
        return column.is_not(None)
    raise NotBoolean(
        f"argument of {IS_KEYWORDS[keyword]} must be type boolean, not type {kind.name}"
    )
