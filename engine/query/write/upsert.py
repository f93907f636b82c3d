"""Upserts: what is to be written may be there already, and not everything that is there may be touched.

The order of the questions is the order of their answers: keys that are not the caller's to choose, the
rule over what would be new, what exists out of reach, the rule over what a merge would leave.
"""

from __future__ import annotations

from engine.query.catalog import Relation
from engine.query.catalog import UnknownColumn
from engine.query.constraints import UniqueViolation
from engine.query.rule import Rule
from engine.query.write import plan as mutate
from engine.query.write.insert import Conflict
from engine.query.write.insert import Insertion
from engine.query.write.insert import Key
from engine.query.write.insert import Rows
from engine.query.write.insert import WriteResult
from engine.query.write.row_security import deny
from engine.query.write.row_security import not_chosen
from engine.query.write.row_security import row_denied
from engine.storage.transaction import Transaction
from models.errors import Fault
from models.types import Bound


class NoSuchConstraint(Fault):
    """An `on_conflict` over columns that no key covers (42P10)."""


class SameRowTwice(Fault):
    """A merge that names one row twice (21000)."""


def upsert(
    transaction: Transaction, relation: Relation, insertion: Insertion, rule: Rule, rows: Rows
) -> WriteResult:
    """Rows that are merged into those that exist by the target, or give way to them."""
    target = conflict_target(relation, insertion.target)
    merge = insertion.conflict is Conflict.MERGE
    if not set(target) <= set(rows.columns):
        # The key is the database's to choose, so nothing can be taken.
        return insert_new(transaction, relation, insertion, rule, rows)
    merged = insertion.columns if merge else None
    statements = mutate.plan_upsert(
        transaction.dialect.name, relation.name, rows.columns, rows.same, target, merged, rule
    )
    existing = {
        found[0]: (bool(found[1]), tuple(found[2:]))
        for found in transaction.all(
            statements.existing.sql, statements.existing.bind(rows.binding)
        )
    }
    require_own_keys(relation, insertion, target, existing, rule)
    deny(transaction, relation, statements.denied, rows.binding)
    require_reached(relation, target, existing)
    deny(transaction, relation, statements.merged_denied, rows.binding)
    written: list[Key] | None = None
    if merge:
        require_distinct(rows, target)
        # Within a statement a key that moves away may be given to another row, before anybody asks what hangs on it.
        keeps_keys = set(relation.key) & set(insertion.columns) <= set(target)
        written = rows.write_at_once(statements) if keeps_keys and rows.have_keys else None
    keys: list[Key] = []
    inserted = 0
    for position, values in enumerate(rows.values):
        if position in existing and not merge:
            rows.require_complete(values)
            continue
        key = rows.write_by(statements, values) if written is None else written[position]
        if position in existing:
            keys.append(
                key_after_merge(relation, existing[position][1], values, rows.columns, merged)
            )
        elif key is not None:
            keys.append(key)
            inserted += 1
    return WriteResult(keys, inserted)


def insert_new(
    transaction: Transaction, relation: Relation, insertion: Insertion, rule: Rule, rows: Rows
) -> WriteResult:
    """Rows none of which is there: their keys are new, or a constraint says that they are not."""
    statements = mutate.plan_insert(
        transaction.dialect.name, relation.name, rows.columns, rows.same, rule
    )
    judged = statements.insert_judged if len(rows.values) == 1 else None
    if judged is not None and rows.missing(rows.values[0]) is None:
        key = rows.write(judged, rows.values[0])
        if key is None:
            raise row_denied(relation)
        return WriteResult([key], 1)
    keys = rows.write_at_once(statements)
    if keys is None:
        deny(transaction, relation, statements.denied, rows.binding)
        keys = rows.write_each(statements)
    return WriteResult(keys, len(keys))


def key_after_merge(
    relation: Relation,
    key: Key,
    values: tuple[Bound, ...],
    columns: tuple[str, ...],
    merged: tuple[str, ...] | None,
) -> Key:
    """The key of a row once a merge has written it: the payload's, where it names one."""
    return tuple(
        values[columns.index(name)] if merged is not None and name in merged else old
        for name, old in zip(relation.key, key, strict=True)
    )


def require_target(relation: Relation, insertion: Insertion) -> None:
    """Refuse a target that is no key, where something is said of duplicates; whether there are rows or not."""
    if insertion.conflict is not Conflict.FAIL:
        conflict_target(relation, insertion.target)


def conflict_target(relation: Relation, wanted: tuple[str, ...] | None) -> tuple[str, ...]:
    if wanted is None:
        return relation.key
    for name in wanted:
        if name not in relation.attributes:
            raise UnknownColumn(f'column "{name}" does not exist')
    for columns in relation.uniques.values():
        if set(columns) == set(wanted):
            return columns
    raise NoSuchConstraint(
        "there is no unique or exclusion constraint matching the ON CONFLICT specification"
    )


def require_own_keys(
    relation: Relation,
    insertion: Insertion,
    target: tuple[str, ...],
    existing: dict[int, tuple[bool, Key]],
    rule: Rule,
) -> None:
    """A key that one may not choose must be that of a row that one may write."""
    chosen = next(
        (name for name in relation.key if name in insertion.columns and name in rule.unchosen),
        None,
    )
    if chosen is not None:
        named = {position for position, (reached, _) in existing.items() if reached}
        choosing = insertion.saying(chosen)
        if choosing and (chosen not in target or not choosing <= named):
            raise not_chosen(chosen)


def require_reached(
    relation: Relation, target: tuple[str, ...], existing: dict[int, tuple[bool, Key]]
) -> None:
    """What exists must be within reach of a write."""
    if all(reached for reached, _ in existing.values()):
        return
    if target == relation.key:
        raise row_denied(relation, " (USING expression)")
    constraint = next(name for name, over in relation.uniques.items() if over == target)
    raise UniqueViolation(constraint)


def require_distinct(rows: Rows, target: tuple[str, ...]) -> None:
    """Refuse rows of which two would be merged into the same one."""
    places = [rows.columns.index(name) for name in target]
    keys = [tuple(values[place] for place in places) for values in rows.values]
    whole = [key for key in keys if None not in key]  # a null is no other null's equal
    if len(set(whole)) < len(whole):
        raise SameRowTwice(
            "ON CONFLICT DO UPDATE command cannot affect row a second time",
            hint="Ensure that no rows proposed for insertion within the same command have "
            "duplicate constrained values.",
        )
