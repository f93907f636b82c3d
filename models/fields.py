"""The base class of tables and the `column` function that declares their columns.

`info` of a column holds what SQLAlchemy has no field for: the wire type, the default and whether it is hidden.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, MappedColumn, mapped_column

from models.types import ColumnType


class ColumnDefault(Enum):
    """The value of a column that a payload omits."""

    SEQUENCE = "the database's next id"
    RANDOM_UUID = "a random UUID"
    NOW = "the time of the insert"
    NOW_ON_WRITE = "the time of the last write"
    CALLER_ID = "the caller's user id"


Row = Any
"""Columns by name, of an alias or of rows to insert: `row.building_id`."""


@dataclass(frozen=True, slots=True)
class SkipScan:
    """An index by owner, then partition, then order, with few owners and few partitions.

    A list in that order merges one range scan of each owner and partition.
    """

    owners: str
    """The table of the owners."""
    owner: str
    """The column that refers to an owner."""
    partition_by: str
    """The column whose values are the partitions."""
    order: str
    """The column that orders the rows of a partition."""


class Model(DeclarativeBase):
    """A table."""

    cascading_columns: ClassVar[tuple[str, ...]] = ()
    """Columns, other than keys, whose change makes triggers change rows of other tables."""

    index_prefix: ClassVar[dict[str, str]] = {}
    """By column: the column before it in its SQLite index, whose value is a copy of the parent's."""

    skip_scan: ClassVar[SkipScan | None] = None
    """The index that returns lists in its order, partition by partition."""

    indexed_texts: ClassVar[tuple[str, ...]] = ()
    """Free-text columns with an index. The index of PostgreSQL holds short texts only."""

    derived: ClassVar[dict[str, Callable[[Row], sa.ColumnElement[Any]]]] = {}
    """By hidden column: the expression that computes it from the row's other columns."""

    is_published: ClassVar[bool] = True
    """Whether the OpenAPI documents contain the table."""


def column(
    kind: ColumnType,
    *constraints: Any,
    primary_key: bool = False,
    required: bool = False,
    default: ColumnDefault | None = None,
    hidden: bool = False,
) -> MappedColumn[Any]:
    """Return a column of a wire type. `required` means NOT NULL; the catalog omits a `hidden` column."""
    return mapped_column(
        kind.storage,
        *constraints,
        primary_key=primary_key,
        nullable=not (required or primary_key),
        info={"type": kind, "default": default, "hidden": hidden},
    )


db = SQLAlchemy(model_class=Model, disable_autonaming=True)
