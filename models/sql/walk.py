"""Lists of everybody's rows, walked owner by owner, each left at its first row beyond the page.

No index of a file begins with what everybody's rows share, a date or a status: each insert would write it, and few
people read by it (docs/decisions/0158).
"""

from __future__ import annotations

import sqlalchemy as sa

from models import RESOURCES
from models.base import Walk
from models.sql.catalog import Relation
from models.sql.catalog import aliased
from models.sql.query import Condition
from models.sql.query import Filter
from models.sql.query import Node
from models.sql.spelling import AmongFew


def by_owner(node: Node, relation: Relation, rows: sa.Alias) -> AmongFew | None:
    """Everybody's rows as those of every owner; None where no index holds an owner's rows in the order of the node, or
    its filters name few rows themselves."""
    walk = relation.model.walk
    if walk is None or not is_along(node, walk, relation.key):
        return None
    if any(names_few(condition, relation) for condition in node.conditions):
        return None
    return AmongFew(rows.c[walk.owner], sa.select(owners_of(walk).c.id))


def owners_of(walk: Walk) -> sa.Alias:
    """Whose the rows are, by a name that says nothing of them is printed."""
    owners: sa.Alias = aliased(RESOURCES[walk.owners].__table__, "rule_owners")
    return owners


def is_along(node: Node, walk: Walk, key: tuple[str, ...]) -> bool:
    """Whether a node's rows are in the order of the walk, the key breaking ties in the same direction."""
    alike = {
        flt.column
        for flt in node.conditions
        if isinstance(flt, Filter) and flt.is_equality and not flt.is_long
    }
    telling = [term for term in node.order if term.embed or term.column not in alike & walk.within]
    columns = tuple(term.column for term in telling)
    return (
        columns in {(walk.order,), (walk.order, *key)}
        and not any(term.embed or term.path for term in telling)
        and len({term.descending for term in (*telling, node.order[-1])}) == 1
    )


def names_few(condition: Condition, relation: Relation) -> bool:
    """Whether it is of rows that keys lead to."""
    if not isinstance(condition, Filter):
        every = all if condition.operator == "or" else any
        return not condition.negated and every(
            names_few(part, relation) for part in condition.operands
        )
    leading = {*relation.key, *(each.column for each in relation.foreign_keys)}
    is_of_values = condition.operator in ("eq", "in") and condition.quantifier != "all"
    return is_of_values and not condition.negated and condition.column in leading
