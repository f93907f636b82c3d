"""The rows that reports count: those that a row rule shows to a caller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.query.rule import Rule
from engine.query.statement import Binding, Statement
from engine.storage.transaction import Transaction
from inspections.reporting import counts
from models.types import Bound


@dataclass(frozen=True, slots=True)
class VisibleRows:
    """A row rule and the caller's values that its parameters take."""

    rule: Rule
    caller_id: str | None
    caller_client_id: int | None
    visits_since: str | None = None

    def binding(self, keys: str = "[]", **values: Bound) -> Binding:
        """Return the parameter values of a statement. `keys` is a JSON array of ids."""
        return Binding(
            caller_id=self.caller_id,
            caller_client_id=self.caller_client_id,
            visits_since=self.visits_since,
            keys=keys,
            new=counts.parameter_values(**values),
        )


def fetch_rows(transaction: Transaction, statement: Statement, binding: Binding) -> list[Any]:
    """Return all rows of a statement."""
    return transaction.all(statement.sql, statement.bind(binding))
