"""Writes, planned as reads are: keys within reach, would-be rows against the rule, then the write by key.

The order is PostgreSQL's own: policy, then constraints. What a write would leave behind is put before
the rule as a table of *would-be rows* before anything is written, so that a hidden row and a missing
one get the same answer, no foreign key having spoken yet. A single row is judged by the statement that
writes it, which writes none that is refused. Each statement is made when it is first
asked for: most plans never need all of theirs.
"""

from __future__ import annotations

from functools import cached_property
from functools import lru_cache
from functools import partial

from engine.query.plan_cache import PLANS_MAX
from engine.query.plan_cache import PlanCache
from engine.query.rule import Action
from engine.query.rule import Rule
from engine.query.shape import Shape
from engine.query.statement import Statement
from engine.query.write.statements import Writer


class InsertPlan:
    """The statements of an insert of `columns`: one row's values by `Binding.new`, in that order, all rows' by
    `Binding.rows`, but for columns that are the `same` in all of them: those are `Binding.new` then.
    """

    def __init__(
        self,
        database: str,
        relation_name: str,
        columns: tuple[str, ...],
        same: tuple[str, ...],
        rule: Rule,
    ) -> None:
        self.writer = partial(Writer, database, relation_name, rule, same)
        self.columns = columns

    @cached_property
    def denied(self) -> Statement | None:
        """Finds a would-be row that the rule refuses."""
        return self.writer().denied(self.columns)

    @cached_property
    def insert(self) -> Statement:
        """Takes one row."""
        return self.writer().insert(self.columns)

    @cached_property
    def insert_unnumbered(self) -> Statement:
        """Takes one row without its id, which the database chooses."""
        return unnumbered(self.writer(), self.columns)

    @cached_property
    def insert_judged(self) -> Statement | None:
        """The same, but for a row that the rule refuses; None where that is no row."""
        return self.writer().insert_judged(self.columns)

    @cached_property
    def insert_all(self) -> Statement | None:
        """Takes all of them but those that the rule refuses; None where no column is named."""
        return self.writer().insert_all(self.columns)


class UpsertPlan:
    """The same of an upsert: where `target` is taken, rows are merged (`merged` columns) or left alone (None)."""

    def __init__(
        self,
        database: str,
        relation_name: str,
        columns: tuple[str, ...],
        same: tuple[str, ...],
        target: tuple[str, ...],
        merged: tuple[str, ...] | None,
        rule: Rule,
    ) -> None:
        self.writer = partial(Writer, database, relation_name, rule, same)
        self.columns, self.target, self.merged = columns, target, merged

    @cached_property
    def denied(self) -> Statement | None:
        return self.writer().denied(self.columns)

    @cached_property
    def insert(self) -> Statement:
        return self.writer().upsert(self.columns, self.target, self.merged)

    @cached_property
    def insert_unnumbered(self) -> Statement:
        """Takes one row without its id, which therefore is no other's."""
        return unnumbered(self.writer(), self.columns)

    @cached_property
    def insert_all(self) -> Statement:
        return self.writer().upsert_all(self.columns, self.target, self.merged)

    @cached_property
    def existing(self) -> Statement:
        """Which rows exist already."""
        return self.writer().existing(self.columns, self.target)

    @cached_property
    def merged_denied(self) -> Statement | None:
        """Finds a merged row that the rule refuses."""
        if self.merged is None:
            return None
        return self.writer().merged_denied(self.columns, self.target, self.merged)


class UpdatePlan:
    """The statements of an update of `columns` to the values in `Binding.new`, where the shape's filters hold."""

    def __init__(
        self,
        database: str,
        relation_name: str,
        columns: tuple[str, ...],
        shape: Shape,
        rule: Rule,
    ) -> None:
        self.writer = partial(Writer, database, relation_name, rule)
        self.columns = columns
        self.shape = shape

    @cached_property
    def at_once(self) -> Statement | None:
        """Finds, judges and changes a row that the shape names by its key, and tells the key: none of a row that
        it does not find or the rule refuses. None where the shape may name several, or others hang on what is changed.
        """
        writer = self.writer()
        names_one = self.shape.root.names_one(writer.relation.key)
        if not names_one or any(writer.relation.is_tied(name) for name in self.columns):
            return None
        return writer.update_at_once(self.columns, self.shape)

    @cached_property
    def keys(self) -> Statement:
        """Finds the keys of the rows within reach."""
        return self.writer().keys(self.shape, Action.UPDATE)

    @cached_property
    def denied(self) -> Statement | None:
        """Finds a row that the rule refuses as it would become."""
        return self.writer().update_denied(self.columns)

    @cached_property
    def update(self) -> Statement:
        """Changes all of them."""
        return self.writer().update(self.columns)


class DeletePlan:
    """The statements of a delete where the shape's filters hold."""

    def __init__(self, database: str, relation_name: str, shape: Shape, rule: Rule) -> None:
        self.writer = partial(Writer, database, relation_name, rule)
        self.shape = shape

    @cached_property
    def keys(self) -> Statement:
        """Finds the keys of the rows within reach."""
        return self.writer().keys(self.shape, Action.DELETE)

    @cached_property
    def delete(self) -> Statement:
        return self.writer().delete()


def unnumbered(writer: Writer, columns: tuple[str, ...]) -> Statement:
    return writer.insert(tuple(name for name in columns if name != writer.relation.numbered))


plan_insert = lru_cache(maxsize=PLANS_MAX)(InsertPlan)
plan_upsert = lru_cache(maxsize=PLANS_MAX)(UpsertPlan)
plan_update = PlanCache(UpdatePlan, shape_at=3)
plan_delete = PlanCache(DeletePlan, shape_at=2)
