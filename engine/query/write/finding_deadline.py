"""The deadlines of new findings, and the stored values that a merge keeps."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping

from engine.query.catalog import Attribute, Relation
from engine.query.statement import Binding
from engine.storage.transaction import Transaction
from models.fields import ColumnDefault
from models.types import read_timestamp


def finding_deadline(transaction: Transaction, binding: Binding, row: Mapping[str, object]) -> str:
    """Return the deadline of a finding by its severity; now for an unknown one, which the table refuses."""
    deadline = transaction.finding_deadlines.get(str(row.get("severity")))
    if deadline is None:
        return transaction.now
    found = transaction.moment
    if isinstance(given := row.get("created_at"), str):
        found = datetime.datetime.fromisoformat(read_timestamp(given, binding.zone))
    return deadline.after(found, transaction.time_zone)


def is_deadline(attribute: Attribute) -> bool:
    """Return whether a null means the deadline, and in a merge the stored value."""
    return attribute.default is ColumnDefault.FINDING_DEADLINE


def stored_columns(relation: Relation, columns: Iterable[str]) -> list[str]:
    """Return those of the columns whose stored values a merge needs: deadlines, and columns of the service."""
    return [
        name for name in columns
        if is_deadline(relation.attributes[name]) or relation.attributes[name].info.service
    ]  # fmt: skip
