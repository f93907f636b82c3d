"""How a resource is said: a declarative class whose columns carry their type and how they are filled.

A column is `column(TYPE, …)`. What the dialect needs beyond SQLAlchemy's own knowledge travels in
`info`: the wire type, whether the column is hidden, and what stands in it when a payload is silent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any
from typing import ClassVar

import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import MappedColumn
from sqlalchemy.orm import mapped_column

from models.types import ColumnType


class ColumnDefault(Enum):
    """What stands in a column that a payload does not name."""

    SEQUENCE = "the database's next id"
    RANDOM_UUID = "a random UUID"
    NOW = "now, when the row is made"
    NOW_ON_WRITE = "now, whenever the row is written"
    CALLER_ID = "the caller's user id"


Row = Any
"""Columns by name: those of an alias, or of rows that are about to exist (`row.building_id`)."""


@dataclass(frozen=True, slots=True)
class SkipScan:
    """An index that holds rows by `owner`, a key of the table `owners`, then by `partition_by`, then in `order`. Owners
    and values of `partition_by` are few."""

    owners: str
    owner: str
    partition_by: str
    order: str


class Model(DeclarativeBase):
    """A table. `derived` says how the columns that no caller knows are computed from a row,
    `carrying` with which columns, beside keys, other rows change by the schema's triggers,
    `index_prefix` which column, copied from the parent, precedes another in the index of a file that finds it,
    `skip_scan` which index finds lists in its order partition by partition,
    `indexed_texts` which free texts have an index, on PostgreSQL of the short ones only, and
    `is_published` whether documents for developers tell of it."""

    carrying: ClassVar[tuple[str, ...]] = ()
    index_prefix: ClassVar[dict[str, str]] = {}
    skip_scan: ClassVar[SkipScan | None] = None
    indexed_texts: ClassVar[tuple[str, ...]] = ()
    derived: ClassVar[dict[str, Callable[[Row], sa.ColumnElement[Any]]]] = {}
    is_published: ClassVar[bool] = True


def column(
    kind: ColumnType,
    *constraints: Any,
    primary_key: bool = False,
    required: bool = False,
    default: ColumnDefault | None = None,
    hidden: bool = False,
) -> MappedColumn[Any]:
    """A column of a wire type; `required` is NOT NULL, `hidden` keeps it out of the catalog."""
    return mapped_column(
        kind.storage,
        *constraints,
        primary_key=primary_key,
        nullable=not (required or primary_key),
        info={"type": kind, "default": default, "hidden": hidden},
    )


db = SQLAlchemy(model_class=Model, disable_autonaming=True)
