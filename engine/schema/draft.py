"""Draft a migration of both engines: the difference between the committed schemas and the models.

The committed schemas are those of the last migration. Functions and triggers, and all other objects of SQLite, are
recreated by every upgrade, so a draft leaves them out. A person reviews it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.schema.description import POSTGRESQL, SQLITE
from engine.schema.parse import ParsedSchema, ParsedTable, parse_schema
from engine.schema.script import RECREATED_MARKER

BY_HAND = "-- By hand: "
"""Begins a line of a draft that a person replaces by statements."""


def draft_script(engine: str, before: str, after: str) -> str:
    """Return the statements that change a database of the schema `before` to `after`; nothing for equal tables."""
    lines = draft_lines(engine, parse_schema(before), parse_schema(after))
    if engine == POSTGRESQL:
        lines = [*lines, *draft_objects(*(parse_schema(each.split(RECREATED_MARKER)[0]) for each in (before, after)))]
        lines += draft_removals(parse_schema(before), parse_schema(after))
    return "".join(f"{line}\n" for line in lines)


def draft_lines(engine: str, before: ParsedSchema, after: ParsedSchema) -> list[str]:
    """Return the statements for tables."""
    lines = [f"{BY_HAND}the table {name} is dropped." for name in before.tables if name not in after.tables]
    for name, table in after.tables.items():
        old = before.tables.get(name)
        lines += [table.sql] if old is None else draft_table(engine, name, old, table)
    return lines


def draft_table(engine: str, name: str, old: ParsedTable, new: ParsedTable) -> Iterator[str]:
    """Yield the statements for a table that both schemas have."""
    for column in old.columns:
        if column not in new.columns:
            yield f"{BY_HAND}the column {name}.{column} is dropped."
    added = [column for column in new.columns if column not in old.columns]
    for column, definition in new.columns.items():
        if column in added:
            yield add_column(engine, name, column, definition, new)
        elif old.columns[column] != definition:
            yield f"{BY_HAND}the column {name}.{column} changes from {old.columns[column]} to {definition}."
    with_column = {own_constraint(name, column, end) for column in added for end in ENDS}
    for constraint, condition in new.constraints.items():
        before = old.constraints.get(constraint)
        if before != condition and constraint not in with_column:
            yield from change_constraint(engine, name, constraint, before, condition)
    for constraint in (each for each in old.constraints if each not in new.constraints):
        if engine == POSTGRESQL:
            yield f"ALTER TABLE {name} DROP CONSTRAINT IF EXISTS {constraint};"
        else:
            yield f"{BY_HAND}{constraint} is dropped, for which the table {name} is rebuilt."


ENDS = ("check", "fkey")


def own_constraint(table: str, column: str, end: str) -> str:
    return f"{table}_{column}_{end}"


def add_column(engine: str, table: str, column: str, definition: str, new: ParsedTable) -> str:
    """Return the statement that adds a column with its CHECK and its foreign key."""
    if "NOT NULL" in definition and "DEFAULT" not in definition:
        return f"{BY_HAND}{table}.{column} ({definition}) needs a value in existing rows."
    words = [definition]
    for end in ENDS:
        name = own_constraint(table, column, end)
        if name in new.constraints:
            # A column's own foreign key does not name the column. A compound key is no column's own.
            condition = new.constraints[name].removeprefix(f"FOREIGN KEY ({column}) ")
            if condition.startswith("FOREIGN KEY"):
                return f"{BY_HAND}{table}.{column} has the compound key {name}."
            words.append(f"CONSTRAINT {name} {condition}")
    return f"ALTER TABLE {table} ADD COLUMN {column} {' '.join(words)};"


def change_constraint(engine: str, table: str, name: str, before: str | None, condition: str) -> Iterator[str]:
    """Yield the statements for a new or changed constraint. SQLite can only rebuild the table."""
    if engine == SQLITE:
        yield f"{BY_HAND}{name} becomes {condition}, for which the table {table} is rebuilt."
        return
    if before is not None:
        yield f"ALTER TABLE {table} DROP CONSTRAINT {name};"
    yield f"ALTER TABLE {table} ADD CONSTRAINT {name} {condition};"


def draft_objects(before: ParsedSchema, after: ParsedSchema) -> Iterator[str]:
    """Yield the statements for PostgreSQL's indexes and statistics, and for the functions that indexes call."""
    changed = []
    for name, function in after.of_kind("FUNCTION").items():
        old = before.objects.get(("FUNCTION", name))
        if old is None or old.sql != function.sql:
            changed.append(name)
            yield re.sub(r"^CREATE (OR REPLACE )?", "CREATE OR REPLACE ", function.sql)
    for (kind, name), each in after.objects.items():
        if kind not in ("INDEX", "STATISTICS"):
            continue
        old = before.objects.get((kind, name))
        if old is not None and old.sql == each.sql and not any(f"{function}(" in each.sql for function in changed):
            continue
        if old is not None:
            yield f"DROP {kind} {name};"
        yield each.sql


def draft_removals(before: ParsedSchema, after: ParsedSchema) -> Iterator[str]:
    """Yield the statements that drop what PostgreSQL's new schema lacks. A table's own objects fall with it.

    A function with new arguments is dropped, too. Else it would stay beside the new one.
    """
    for (kind, name), old in before.objects.items():
        new = after.objects.get((kind, name))
        if old.table and old.table not in after.tables:
            continue
        if kind == "FUNCTION" and (new is None or signature(new.sql) != signature(old.sql)):
            yield f"DROP FUNCTION {name} CASCADE;"
        elif new is None:
            yield f"DROP {kind} IF EXISTS {name}{f' ON {old.table}' if kind == 'TRIGGER' else ''};"


def signature(function: str) -> str:
    """Return the first line of a function: its arguments and its type."""
    return function.partition("\n")[0]
