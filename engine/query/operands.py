"""The values that a plan is given when it runs, and how a column compares with them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from engine.query import operators
from engine.query.catalog import Relation
from engine.query.dialect.base import Spelling
from engine.query.dialect.base import json_array
from engine.query.shape import Filter
from engine.query.statement import Slot
from engine.query.statement import parameter
from models.types import ColumnType

Expression = sa.ColumnElement[Any]


class Operands:
    """The parameters of one plan in the making, each converted when it is bound."""

    def __init__(self, spelling: Spelling) -> None:
        self.spelling = spelling
        self.slots: dict[str, Slot] = {}
        self.operands: dict[str, Slot] = {}

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
            self.operands[name] = lambda binding: operators.read_moments(binding, place)
            return parameter(name)
        if flt.operator == "in" or flt.quantifier is not None:
            return self.value(
                flt.value,
                lambda values: json_array(
                    operator.prepare(spelling, kind, text) for text in values
                ),
            )
        return self.value(flt.value, lambda text: operator.prepare(spelling, kind, text))

    def number(self, place: int) -> Expression:
        """The parameter for a limit or an offset."""
        return sa.type_coerce(self.value(place, int), sa.BigInteger())

    def equal_to(self, flt: Filter, relation: Relation) -> Expression:
        """What an equality compares its column with."""
        return self.operand(flt, operators.OPERATORS["eq"], relation.attribute(flt.column).type)

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
