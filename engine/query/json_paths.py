"""JSON paths: what `->key` and `->>key` lead to, in the two columns of the audit trail that hold JSON."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from engine.query.catalog import Attribute
from engine.query.dialect.base import Spelling
from engine.query.operators import UnknownOperator
from engine.query.shape import Path
from engine.query.shape import Step
from models.types import INT32
from models.types import JSON
from models.types import TEXT
from models.types import ColumnType

Expression = sa.ColumnElement[Any]

PLACE_CHARACTERS_MAX = 16


def follow(
    spelling: Spelling, attribute: Attribute, value: Expression, path: Path
) -> tuple[ColumnType, Expression]:
    """What a path of at least one step leads to in a column: JSON by `->`, a text by `->>`.

    Into anything but JSON, and to what is not there, it leads to null, as PostgREST has it.
    """
    *steps, last = path
    if any(step.as_text for step in steps):
        raise UnknownOperator("operator does not exist: text -> unknown")
    if attribute.type is not JSON or not all(map(can_be_there, path)):
        return TEXT, sa.cast(sa.null(), sa.Text())
    if last.as_text:
        return TEXT, spelling.json_text(value, path)
    return JSON, spelling.json_part(value, path)


def can_be_there(step: Step) -> bool:
    """Whether there may be such a place in an array, or such a name: no column's has a mark that SQLite cannot say."""
    if step.is_place:
        # Of thousands of digits Python makes no number.
        return len(step.name) <= PLACE_CHARACTERS_MAX and INT32[0] <= int(step.name) <= INT32[1]
    return '"' not in step.name and "\\" not in step.name
