"""The rows that statistics count: whatever a rule lets somebody see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.query.rule import Rule
from engine.query.statement import Binding
from engine.query.statement import Statement
from engine.reporting import counts
from engine.storage.transaction import Transaction
from models.types import Bound


@dataclass(frozen=True, slots=True)
class VisibleRows:
    """The rows that count: a rule, and the values that it takes of whoever asks."""

    rule: Rule
    caller_id: str | None
    caller_client_id: int | None

    def binding(self, keys: str = "[]", **value_of: Bound) -> Binding:
        return Binding(
            caller_id=self.caller_id,
            caller_client_id=self.caller_client_id,
            keys=keys,
            new=counts.parameter_values(**value_of),
        )


def read_rows(transaction: Transaction, statement: Statement, binding: Binding) -> list[Any]:
    return transaction.all(statement.sql, statement.bind(binding))
