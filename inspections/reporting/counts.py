"""Counts over the rows that a row rule shows: the planner of their statements, and counts by label."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from engine.interface.transaction import Transaction
from engine.query.dialect.in_subquery import SmallInSubquery
from engine.query.index_prefix import prefix_of_parent
from engine.query.read.disjuncts import or_operands
from engine.query.read.planner import Planner
from engine.query.statement import Binding, Statement, parameter
from models import Building, Inspection
from models.fields import Model
from models.types import DATE, TIMESTAMP

Expression = sa.ColumnElement[Any]
Counts = dict[str, int]

PLANS_MAX = 64  # of each kind; there are sixteen grant profiles
LABEL_CHARACTERS_MAX = 200  # statuses and types are free text of up to 64 KiB; equal prefixes count as one
NO_LABEL = "none"  # an inspection without a status, or a reading without a result
OTHER_LABEL = "other"  # the rest, beyond LABELS_MAX
LABELS_MAX = 1_000  # pairs of type and status; rarer pairs count as the rest

TYPES_OF_PARAMETERS = {"building_id": sa.BigInteger, "now": TIMESTAMP.storage}
"""The types of the parameters that are no days."""


def fetch_rows(transaction: Transaction, statement: Statement, binding: Binding) -> list[Any]:
    """Return all rows of a statement."""
    return transaction.all(statement.sql, statement.bind(binding))


class CountPlanner(Planner):
    """A planner of counts of inspections, buildings and readings."""

    def named_parameter(self, name: str) -> Expression:
        """Return the parameter of a name: a day, or of its type in TYPES_OF_PARAMETERS."""
        return parameter(name, TYPES_OF_PARAMETERS.get(name, DATE.storage))

    def visible(self, model: type[Model]) -> tuple[sa.Alias, Expression]:
        """Return an alias of a table and the condition of its visible rows."""
        return self.scoped(self.catalog.relations[model.__tablename__])

    def visible_by(self, model: type[Model], by: type[Model]) -> tuple[sa.Alias, Expression]:
        """Return an alias of a table and the condition of its visible rows that belong to a visible row of `by`.

        The condition is `true` if the rule implies it, else a CASE. No planner uses an index for a CASE, so that the
        search starts from the row of `by`.
        """
        if self.rule.implied(model, by):
            return self.alias(self.catalog.relations[model.__tablename__]), sa.true()
        alias, scope = self.visible(model)
        return alias, scope if isinstance(scope, sa.True_) else sa.case((scope, sa.true()))

    def inspections(self, *, of_building: bool) -> tuple[sa.Alias, list[Expression]]:
        """Return an alias of inspections and the conditions of the visible ones, or of those of one building."""
        if not of_building:
            inspection, scope = self.visible(Inspection)
            return inspection, [scope]
        inspection, scope = self.visible_by(Inspection, Building)
        return inspection, [*self.in_building(inspection, self.named_parameter("building_id")), scope]

    def in_building(self, inspection: sa.Alias, key: Expression) -> list[Expression]:
        """Return the conditions that an inspection belongs to a building, with the index prefix if there is one."""
        relation = self.catalog.relations[Inspection.__tablename__]
        conditions = [inspection.c.building_id == key]
        prefix = self.prefix_column(relation, "building_id")
        if prefix is not None:
            conditions.append(inspection.c[prefix] == prefix_of_parent(relation, "building_id", key))
        return conditions

    def scans_index(self, scope: Expression) -> bool:
        """Return whether an index of the client's rows finds the rows: of one client, or of every client in turn."""
        is_one = len(or_operands(scope)) == 1 and not isinstance(scope, SmallInSubquery)
        return self.dialect.uses_skip_scans and is_one


def shortened(column: Any) -> Any:
    """Return the prefix of a text column that the counts group by."""
    return sa.func.substr(column, 1, LABEL_CHARACTERS_MAX).label(column.name)


def union_columns(queries: Iterable[sa.Select[Any]]) -> Any:
    """Return the columns of the UNION ALL of several queries."""
    branches = list(queries)
    rows = branches[0] if len(branches) == 1 else sa.union_all(*branches)
    return rows.subquery("found").c


def over_all(aggregate: Any, value: Expression) -> Expression:
    """Return the aggregate of all groups, as a window function, which ignores LIMIT."""
    across: Expression = aggregate(aggregate(value)).over()
    return across


def labelled(counted: Iterable[tuple[str | None, int]], common: tuple[str, ...], rest: int = 0) -> Counts:
    """Return counts by label: first the common labels, even if 0, then the others by name.

    >>> labelled([("b", 1), (None, 2), ("b", 3), ("a", 1)], ("z", "a"), rest=5)
    {'z': 0, 'a': 1, 'b': 4, 'none': 2, 'other': 5}
    """
    counts_by_label: Counts = {}
    for label, count in counted:
        name = NO_LABEL if label is None else label
        counts_by_label[name] = counts_by_label.get(name, 0) + count
    if rest:
        counts_by_label[OTHER_LABEL] = counts_by_label.get(OTHER_LABEL, 0) + rest
    first = {name: counts_by_label.pop(name, 0) for name in common}
    return first | dict(sorted(counts_by_label.items()))
