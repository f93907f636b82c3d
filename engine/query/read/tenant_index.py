"""Rows that an index of a file has among those of their owner: a building's inspections stand among its client's.

Who looks for them by the building has to say whose it is, or SQLite would look for them client by client.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from engine.query.catalog import Relation
from engine.query.catalog import aliased
from engine.query.catalog import catalog

Expression = sa.ColumnElement[Any]


def owner_column(relation: Relation, name: str) -> str | None:
    """Behind which column one stands in the index by which its rows are looked for."""
    return relation.model.sought_behind.get(name)


def parent_of(relation: Relation, name: str) -> tuple[Expression, Expression]:
    """The key of the parent that a column names, and the parent's owner."""
    (fk,) = (each for each in relation.foreign_keys if each.column == name)
    parent = aliased(catalog().relations[fk.referred].table, "rule_parent")
    owner = relation.model.inherited[name][relation.model.sought_behind[name]]
    return parent.c[fk.referred_column], parent.c[owner]


def owner_of(relation: Relation, name: str, key: Expression) -> Expression:
    """The owner of the parent that a key names."""
    there, owner = parent_of(relation, name)
    chosen = sa.select(owner).where(there == key)
    return chosen.correlate_except(there.table).scalar_subquery()
