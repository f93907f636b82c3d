"""The parameters of a plan, and the comparisons of columns with them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from engine.query import operators
from engine.query.dialect.base import SqlDialect, json_array
from engine.query.shape import Filter
from engine.query.statement import Slot, parameter
from models.types import ColumnType

Expression = sa.ColumnElement[Any]


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

    def operand(self, flt: Filter, operator: operators.Operator, kind: ColumnType) -> Expression:
        """Return the parameter for a filter's value or list of values."""
        assert flt.value is not None
        dialect = self.dialect
        if kind.name == "timestamp with time zone" and operator.prepare is operators.operand:
            place = flt.value
            name = f"v{place}"
            self.operands[name] = lambda binding: operators.read_moments(binding, place)
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

    def comparison(self, flt: Filter, operator: operators.Operator, column: Expression, kind: ColumnType) -> Expression:
        """Return the comparison of a column with a filter's value or list of values."""
        operand = self.operand(flt, operator, kind)
        if flt.operator == "in" or (flt.quantifier == "any" and flt.operator == "eq"):
            return self.dialect.in_list(column, kind, operand)
        if flt.quantifier is not None:
            return self.dialect.any_or_all(
                flt.quantifier, lambda left, right: self.compare_element(operator, left, right), column, operand, kind
            )
        return operator.compare(self.dialect, column, operand)

    def compare_element(self, operator: operators.Operator, left: Expression, right: Expression) -> Expression:
        """Return the comparison with one element of a list. A slow operator checks the deadline first."""
        condition = operator.compare(self.dialect, left, right)
        if operator.leak_proof:
            return condition
        return sa.and_(self.dialect.before_deadline(costly=1), condition)
