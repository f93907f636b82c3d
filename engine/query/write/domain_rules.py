"""The interface of domain rules: what a write of one table checks, and what follows from it in the same transaction.

Every write of the API, of functions and of the console runs them. An archive's import and `flask copy` do not: their
rows are complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import sqlalchemy as sa

from models.fields import Row
from models.types import Bound

if TYPE_CHECKING:
    from engine.interface.transaction import Transaction
    from engine.query.statement import Binding

Key = tuple[Bound, ...]


class DomainRule:
    """The rule of one table. Each method may raise a fault, which undoes the write.

    The statements of a write also compute which rows the rule concerns. It does not run for the others.
    """

    watched: ClassVar[frozenset[str]] = frozenset()
    """If any: an update that sets some of these columns concerns only the rows in which one of them changes."""

    def concerns_update(self, row: Row, columns: frozenset[str]) -> sa.ColumnElement[bool]:
        """Return the condition that `updated` runs for a row whose `columns` are set."""
        return sa.true()

    def concerns_deletion(self, row: Row) -> sa.ColumnElement[bool]:
        """Return the condition that `deleting` runs for a row."""
        return sa.true()

    def defaults(
        self, transaction: Transaction, binding: Binding, column: str, rows: Sequence[Mapping[str, object]]
    ) -> Sequence[Bound]:
        """Return the values of a column with ColumnDefault.COMPUTED. `rows` hold the JSON values of the others."""
        return [None] * len(rows)

    def inserted(self, transaction: Transaction, keys: Sequence[Key]) -> None:
        """Run after rows were inserted. `keys` are theirs, in the order of the payload."""

    def updated(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        """Run after rows were updated. `columns` are the changed ones."""

    def merged(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        """Run after an upsert that inserted some of the rows and updated the others.

        `keys` lack the updated rows in which no watched column changed.
        """
        self.updated(transaction, keys, columns)

    def deleting(self, transaction: Transaction, keys: Sequence[Key]) -> None:
        """Run before rows are deleted."""


DOMAIN_RULES: dict[str, DomainRule] = {}
"""The rules by table. The application registers them."""
