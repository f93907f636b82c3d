"""Indexes of a file that begin with a column copied from the parent: a building's inspections are in the index of its
client's. A search by the building names the client too, or SQLite searches client by client.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from engine.query.catalog import Relation
from engine.query.catalog import aliased
from engine.query.catalog import catalog

Expression = sa.ColumnElement[Any]


def prefix_column(relation: Relation, name: str) -> str | None:
    """Return the column that precedes another in the index that finds it; None if none does."""
    return relation.model.index_prefix.get(name)


def parent_of(relation: Relation, name: str) -> tuple[Expression, Expression]:
    """Return two columns of the parent that a foreign key names: its key, and the prefix that its rows copy."""
    (fk,) = (each for each in relation.foreign_keys if each.column == name)
    parent = aliased(catalog().relations[fk.referred].table, "rule_parent")
    return parent.c[fk.referred_column], parent.c[relation.model.index_prefix[name]]


def prefix_of_parent(relation: Relation, name: str, key: Expression) -> Expression:
    """Return the prefix of the parent with this key, as a scalar sub-select."""
    there, prefix = parent_of(relation, name)
    chosen = sa.select(prefix).where(there == key)
    return chosen.correlate_except(there.table).scalar_subquery()
