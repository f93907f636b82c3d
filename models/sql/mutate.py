"""Writes, planned as reads are: keys within reach, would-be rows against the rule, then the write by key.

The order is PostgreSQL's own: policy, then constraints. What a write would leave behind is put before
the rule as a table of *would-be rows* before anything is written, so that a hidden row and a missing
one get the same answer, no foreign key having spoken yet. A single row is judged by the statement that
writes it, which writes none that is refused (docs/decisions/0151).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from functools import lru_cache
from functools import partial

from models.sql.plan import PLANS_MAX
from models.sql.query import Shape
from models.sql.rule import Action
from models.sql.rule import Rule
from models.sql.statement import Statement
from models.sql.writer import Writer


class InsertPlan:
    """The statements of an insert of `columns`: one row's values by `Binding.new`, in that order, all rows' by
    `Binding.rows`. That of all rows is made when it is first asked for, as most never do.
    """

    def __init__(
        self, database: str, relation_name: str, columns: tuple[str, ...], rule: Rule
    ) -> None:
        self.writer = partial(Writer, database, relation_name, rule)
        self.columns = columns
        self.denied: Statement | None = self.writer().denied(columns)
        """Finds a would-be row that the rule refuses."""
        self.insert: Statement = self.writer().insert(columns)
        """Takes one row."""

    @cached_property
    def insert_judged(self) -> Statement | None:
        """The same, but for a row that the rule refuses; None where that is no row."""
        return self.writer().insert_judged(self.columns)

    @cached_property
    def insert_all(self) -> Statement | None:
        """Takes all of them; None where no column is named."""
        return self.writer().insert_all(self.columns)


class UpsertPlan:
    """The same of an upsert: where `target` is taken, rows are merged (`merged` columns) or left alone (None)."""

    def __init__(
        self,
        database: str,
        relation_name: str,
        columns: tuple[str, ...],
        target: tuple[str, ...],
        merged: tuple[str, ...] | None,
        rule: Rule,
    ) -> None:
        self.writer = partial(Writer, database, relation_name, rule)
        self.asked = columns, target, merged
        self.denied: Statement | None = self.writer().denied(columns)
        self.insert: Statement = self.writer().upsert(*self.asked)
        self.existing: Statement = self.writer().existing(columns, target)
        """Which rows exist already."""
        self.merged_denied: Statement | None = (
            self.writer().merged_denied(columns, target, merged) if merged is not None else None
        )
        """Finds a merged row that the rule refuses."""

    @cached_property
    def insert_all(self) -> Statement:
        return self.writer().upsert_all(*self.asked)


@dataclass(frozen=True, slots=True)
class UpdatePlan:
    """`keys` within reach, then `denied` over what they would become, then `update` of them all; `judged` is both."""

    keys: Statement
    denied: Statement | None
    update: Statement
    judged: Statement | None


@dataclass(frozen=True, slots=True)
class DeletePlan:
    """`keys` within reach, then `delete`."""

    keys: Statement
    delete: Statement


plan_insert = lru_cache(maxsize=PLANS_MAX)(InsertPlan)
plan_upsert = lru_cache(maxsize=PLANS_MAX)(UpsertPlan)


@lru_cache(maxsize=PLANS_MAX)
def plan_update(
    database: str, relation_name: str, columns: tuple[str, ...], shape: Shape, rule: Rule
) -> UpdatePlan:
    """An update of `columns` to the values in `Binding.new`, where the shape's filters hold."""
    return UpdatePlan(
        Writer(database, relation_name, rule).keys(shape, Action.UPDATE),
        Writer(database, relation_name, rule).update_denied(columns),
        Writer(database, relation_name, rule).update(columns),
        Writer(database, relation_name, rule).update_judged(columns),
    )


@lru_cache(maxsize=PLANS_MAX)
def plan_delete(database: str, relation_name: str, shape: Shape, rule: Rule) -> DeletePlan:
    """A delete where the shape's filters hold."""
    return DeletePlan(
        Writer(database, relation_name, rule).keys(shape, Action.DELETE),
        Writer(database, relation_name, rule).delete(),
    )
