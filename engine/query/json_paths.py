"""JSON paths: the SQL for `->key` and `->>key`, for the two JSON columns of the audit log."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from engine.query.catalog import Attribute
from engine.query.dialect.base import SqlDialect
from engine.query.operators import UnknownOperator
from engine.query.shape import Path, Step
from models.types import INT32, JSON, TEXT, ColumnType

Expression = sa.ColumnElement[Any]

INDEX_CHARACTERS_MAX = 16


def path_value(
    dialect: SqlDialect, attribute: Attribute, value: Expression, path: Path
) -> tuple[ColumnType, Expression]:
    """Return the type and value at a path of at least one step: JSON for `->`, a text for `->>`.

    As in PostgREST, the value is null if the column is not JSON or the path does not exist. Raise UnknownOperator if
    a step follows `->>`.
    """
    *steps, last = path
    if any(step.as_text for step in steps):
        raise UnknownOperator("operator does not exist: text -> unknown")
    if attribute.type is not JSON or not all(map(can_exist, path)):
        return TEXT, sa.cast(sa.null(), sa.Text())
    if last.as_text:
        return TEXT, dialect.text_at_path(value, path)
    return JSON, dialect.json_at_path(value, path)


def can_exist(step: Step) -> bool:
    """Return whether a value can have this index or key. No column name has a character that SQLite cannot escape."""
    if step.is_index:
        # int() raises for thousands of digits.
        return len(step.name) <= INDEX_CHARACTERS_MAX and INT32[0] <= int(step.name) <= INT32[1]
    return '"' not in step.name and "\\" not in step.name
