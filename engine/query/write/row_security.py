"""What the rule says of a write: rows that it refuses, and values that are not the caller's to choose."""

from __future__ import annotations

from engine.query.catalog import Relation
from engine.query.statement import Binding
from engine.query.statement import Statement
from engine.storage.transaction import Transaction
from models.errors import Denial
from models.errors import Fault


class RowDenied(Denial):
    """A row that would end up out of the caller's reach (42501)."""


class NotChosen(Fault):
    """A value for a column whose values only the database, or a super admin, chooses (428C9)."""


def deny(
    transaction: Transaction, relation: Relation, statement: Statement | None, binding: Binding
) -> None:
    """Raise RowDenied if the rule refuses any would-be row."""
    if (
        statement is not None
        and transaction.one(statement.sql, statement.bind(binding)) is not None
    ):
        raise row_denied(relation)


def row_denied(relation: Relation, how: str = "") -> RowDenied:
    return RowDenied(f'new row violates row-level security policy{how} for table "{relation.name}"')


def not_chosen(column: str, *, of_a_change: bool = False) -> NotChosen:
    return NotChosen(
        f'column "{column}" can only be updated to DEFAULT'
        if of_a_change
        else f'cannot insert a non-DEFAULT value into column "{column}"',
        f'Column "{column}" is chosen by the service.',
    )
