"""The plans of writes: statements that find keys, check the rule, and write by key.

As in PostgreSQL, the rule is checked before constraints. A query checks the rule on *candidate rows*, the rows as they
would be after the write. So a hidden row and a missing row give the same error, and no foreign key fails first. The
write of a single row checks the rule in the same statement. Plans build each statement at its first use.
"""

from __future__ import annotations

from functools import cached_property, lru_cache, partial

from engine.query.plan_cache import PLANS_MAX, PlanCache
from engine.query.rule import Action, Rule
from engine.query.shape import Shape
from engine.query.statement import Statement
from engine.query.write.statements import WriteBuilder


class InsertPlan:
    """The statements of an insert of `columns`.

    The parameters of one row are `Binding.new`, in the order of `columns`. The parameters of all rows are
    `Binding.rows`; `Binding.new` then holds the `constant` columns, which have one value for all rows.
    """

    def __init__(
        self, database: str, relation_name: str, columns: tuple[str, ...], constant: tuple[str, ...], rule: Rule
    ) -> None:
        self.builder = partial(WriteBuilder, database, relation_name, rule, constant)
        self.columns = columns

    @cached_property
    def denied(self) -> Statement | None:
        """Find a candidate row that the rule denies; None if the rule allows every row."""
        return self.builder().denied(self.columns)

    @cached_property
    def every_denied(self) -> Statement | None:
        """Find all candidate rows that the rule denies; None if the rule allows every row."""
        return self.builder().denied(self.columns, limit=None)

    @cached_property
    def insert(self) -> Statement:
        """Insert one row."""
        return self.builder().insert(self.columns)

    @cached_property
    def insert_without_id(self) -> Statement:
        """Insert one row without its id, which the database generates."""
        return insert_without_sequence(self.builder(), self.columns)

    @cached_property
    def insert_if_allowed(self) -> Statement | None:
        """Insert one row unless the rule denies it; None if the rule allows every row."""
        return self.builder().insert_if_allowed(self.columns)

    @cached_property
    def insert_all(self) -> Statement | None:
        """Insert all rows that the rule allows; None without columns."""
        return self.builder().insert_all(self.columns)


class UpsertPlan:
    """The statements of an upsert. Where `target` exists, the `merged` columns are updated; None ignores the row."""

    def __init__(
        self,
        database: str,
        relation_name: str,
        columns: tuple[str, ...],
        constant: tuple[str, ...],
        target: tuple[str, ...],
        merged: tuple[str, ...] | None,
        rule: Rule,
    ) -> None:
        self.builder = partial(WriteBuilder, database, relation_name, rule, constant)
        self.columns, self.target, self.merged = columns, target, merged

    @cached_property
    def denied(self) -> Statement | None:
        return self.builder().denied(self.columns)

    @cached_property
    def insert(self) -> Statement:
        return self.builder().upsert(self.columns, self.target, self.merged)

    @cached_property
    def insert_without_id(self) -> Statement:
        """Insert one row without its id. The database generates the id, so there is no conflict."""
        return insert_without_sequence(self.builder(), self.columns)

    @cached_property
    def insert_all(self) -> Statement:
        return self.builder().upsert_all(self.columns, self.target, self.merged)

    @cached_property
    def existing_rows(self) -> Statement:
        """Find the rows that exist."""
        return self.builder().existing_rows(self.columns, self.target, self.merged)

    @cached_property
    def denied_merge(self) -> Statement | None:
        """Find a merged row that the rule denies."""
        if self.merged is None:
            return None
        return self.builder().denied_merge(self.columns, self.target, self.merged)


class UpdatePlan:
    """The statements that set `columns` to the values in `Binding.new` in rows that match the shape's filters."""

    def __init__(self, database: str, relation_name: str, columns: tuple[str, ...], shape: Shape, rule: Rule) -> None:
        self.builder = partial(WriteBuilder, database, relation_name, rule)
        self.columns = columns
        self.shape = shape

    @cached_property
    def update_by_key(self) -> Statement | None:
        """Update the row that the filters select by its key, if the rule allows it, and return the key.

        None if the filters may match several rows, if a column's change may change other rows, or if the domain rule
        watches a column: the statement returns the new values only.
        """
        builder = self.builder()
        relation = builder.relation
        affects_others = any(relation.affects_other_rows(name) for name in self.columns)
        if not self.shape.root.selects_one(relation.key) or affects_others or builder.watched(self.columns):
            return None
        return builder.update_if_allowed(self.columns, self.shape)

    @cached_property
    def keys(self) -> Statement:
        """Find the keys of the rows that match and that the rule allows to update."""
        return self.builder().keys(self.shape, Action.UPDATE, self.columns)

    @cached_property
    def denied(self) -> Statement | None:
        """Find a row that the rule denies in its updated state."""
        return self.builder().denied_update(self.columns)

    @cached_property
    def update(self) -> Statement:
        """Update the rows in `Binding.keys`."""
        return self.builder().update(self.columns)


class DeletePlan:
    """The statements of a delete where the shape's filters hold."""

    def __init__(self, database: str, relation_name: str, shape: Shape, rule: Rule) -> None:
        self.builder = partial(WriteBuilder, database, relation_name, rule)
        self.shape = shape

    @cached_property
    def keys(self) -> Statement:
        """Find the keys of the rows that match and that the rule allows to delete."""
        return self.builder().keys(self.shape, Action.DELETE)

    @cached_property
    def delete(self) -> Statement:
        return self.builder().delete()


def insert_without_sequence(builder: WriteBuilder, columns: tuple[str, ...]) -> Statement:
    generated = builder.relation.sequence_column
    return builder.insert(tuple(name for name in columns if name != generated))


plan_insert = lru_cache(maxsize=PLANS_MAX)(InsertPlan)
plan_upsert = lru_cache(maxsize=PLANS_MAX)(UpsertPlan)
plan_update = PlanCache(UpdatePlan, shape_at=3)
plan_delete = PlanCache(DeletePlan, shape_at=2)
