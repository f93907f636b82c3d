"""Row-level security of writes: rows that the rule denies, and columns that a payload may not set."""

from __future__ import annotations

from collections.abc import Callable

from engine.interface.transaction import Transaction
from engine.query.catalog import Relation
from engine.query.statement import Binding, Statement
from models.errors import Denial, Fault


class RowDenied(Denial):
    """A write whose resulting row the rule denies (42501)."""


class ProtectedColumn(Fault):
    """A value for a column that only the database or a super admin sets (428C9)."""


def require_allowed(
    transaction: Transaction,
    relation: Relation,
    statement: Statement | None,
    binding: Binding,
    locate: Callable[[Fault, int], object] | None = None,
) -> None:
    """Run a statement that finds a denied candidate row; raise RowDenied if it finds one. None allows all rows.

    `locate`: adds the position of the row in the payload to the fault.
    """
    if statement is None:
        return
    denied = transaction.one(statement.sql, statement.bind(binding))
    if denied is not None:
        violation = row_violation(relation)
        if locate is not None:
            locate(violation, denied[0])
        raise violation


def row_violation(relation: Relation, clause: str = "") -> RowDenied:
    """Return PostgreSQL's error for a denied row. `clause` is ` (USING expression)` for an existing row."""
    return RowDenied(f'new row violates row-level security policy{clause} for table "{relation.name}"')


def protected_column(column: str, *, is_update: bool = False) -> ProtectedColumn:
    """Return PostgreSQL's error for a value for a generated column."""
    return ProtectedColumn(
        f'column "{column}" can only be updated to DEFAULT'
        if is_update
        else f'cannot insert a non-DEFAULT value into column "{column}"',
        f'The service sets column "{column}".',
    )
