"""SQLite indexes that begin with a column copied from the parent.

An example is the index of inspections by client and building. A search by building includes the building's client, or
SQLite searches client by client.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from engine.query.catalog import Relation, aliased, catalog

Expression = sa.ColumnElement[Any]


def prefix_column(relation: Relation, name: str) -> str | None:
    """Return the column, copied from the parent, with which the index of column `name` begins; None without one."""
    return relation.model.index_prefix.get(name)


def parent_of(relation: Relation, name: str) -> tuple[Expression, Expression]:
    """Return two columns of a foreign key's parent: its key, and the prefix that its rows copy."""
    (fk,) = (each for each in relation.foreign_keys if each.column == name)
    parent = aliased(catalog().relations[fk.referred].table, "rule_parent")
    return parent.c[fk.referred_column], parent.c[relation.model.index_prefix[name]]


def prefix_of_parent(relation: Relation, name: str, key: Expression) -> Expression:
    """Return the prefix of the parent with this key, as a scalar sub-select."""
    parent_key, prefix = parent_of(relation, name)
    row = sa.select(prefix).where(parent_key == key)
    return row.correlate_except(parent_key.table).scalar_subquery()
