"""The base class of tables, and the functions that describe their columns.

A model describes its table once. The schemas of both engines, the audit log, export and import, the OpenAPI documents
and the console are derived from the description. The access policy is written by hand (access/policy.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, ClassVar

import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from models.types import BIGINT, ColumnType

TENANT_COLUMN = "client_id"
"""The column that holds a row's client. Tables that belong to a parent row hold a hidden copy of it."""


class ColumnDefault(Enum):
    """The value of a column that a payload omits."""

    SEQUENCE = "the database's next id"
    RANDOM_UUID = "a random UUID"
    NOW = "the time of the insert"
    NOW_ON_WRITE = "the time of the last write"
    CALLER_ID = "the caller's user id"
    COMPUTED = "the value that the domain rule computes; a null means it, too, and in a merge the stored value"


Row = Any
"""Columns by name, of an alias or of rows to insert: `row.building_id`."""


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """What a column's description says beyond SQL. It is `info["column"]` of the SQLAlchemy column."""

    type: ColumnType
    default: ColumnDefault | None = None
    hidden: bool = False
    """The API does not have the column."""
    logged: bool = True
    """The audit log holds the values of the column."""
    minimum: float | None = None
    maximum: float | None = None
    bytes_max: int | None = None
    """The length of a text in UTF-8. It defaults to TEXT_BYTES_MAX in tables that the API writes."""
    stored_default: str | int | None = None
    """The DEFAULT of the table: the value of rows that omit the column, and of existing rows of a migration."""
    is_composed: bool = False
    """The column holds text in Unicode NFC. Filters compare their values in NFC, too."""
    service: bool = False
    """Only the service changes the column. A payload may name its default in a new row."""
    insert_only: bool = False
    """A payload may set the column in a new row. Afterwards only functions change it."""
    allowed_values: tuple[str, ...] = ()
    """The only values that the table takes; empty for any."""
    ranked: bool = False
    """The allowed values are in the order in which the console sorts them. The API sorts by the alphabet."""
    common_values: tuple[str, ...] = ()
    """Values that documents and forms offer. The table takes others."""
    label: str = ""
    """The column's name in the console. It defaults to the column's name in words."""
    help: str = ""
    """One sentence that OpenAPI and the console show."""
    listed: bool = False
    """The console's list shows the column."""
    narrow: bool = False
    """The list shows the column on a telephone. Without any such column it shows the title and two more."""
    searchable: bool = False
    """The console's search looks into the column."""
    multiline: bool = False
    """The console's form has a text area."""
    example: object = None


@dataclass(frozen=True, slots=True)
class Index:
    """An index. `columns` are SQL: names of columns, or expressions.

    `distinct` are the rows with equal values of the first column, of the first two, and so on, for SQLite's planner.
    `engine` is `sqlite` or `postgresql`; None stands for both.
    """

    name: str
    columns: tuple[str, ...]
    engine: str | None = None
    unique: bool = False
    where: str = ""
    expected_rows: int | None = None
    """The number of entries of a partial index. It defaults to that of the table."""
    distinct: tuple[int, ...] = ()
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Grant:
    """A table of grants: users of a role who may read a row in addition to the rows of their role."""

    grantee: str
    """The column of the user who may read the row."""
    target: str
    """The column of the row."""
    role: str
    """The role that the grantee must have."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Writes that triggers refuse with 23514, whatever code or command makes them.

    `key` is SQL about `{row}`, the row before or after the write. `condition` is SQL about `{keys}`, the keys of both,
    and `{actor}`, the id of the user who writes, or NULL.
    """

    name: str
    """The middle of the triggers' names, after that of the table."""
    constraint: str
    message: str
    key: str
    condition: str
    columns: tuple[str, ...] = ()
    """The columns whose updates count. Empty: all."""
    events: tuple[str, ...] = ("insert", "update", "delete")
    is_about_changes: bool = False
    """Whether an update counts only if a column changes. Without columns: all but the hidden client, `updated_at`, and
    references that a deletion sets to null."""
    is_about_moves: bool = False
    """Whether an update counts only if it changes the key. Then `{keys}` is the key before it."""


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


CONSTRAINT_NAMES = {"fk": "%(table_name)s_%(column_0_name)s_fkey", "pk": "%(table_name)s_pkey"}


class Model(DeclarativeBase):
    """A table. Its docstring is the comment in the schemas and the description in OpenAPI."""

    metadata = sa.MetaData(naming_convention=CONSTRAINT_NAMES)

    tenant: ClassVar[str | None] = None
    """The column that determines a row's client: the client's id, or a reference to a parent row that has a client.

    A table with a parent gets a hidden column `client_id`, which always equals the parent's. None: the rows belong to
    no client.
    """

    other_tenants: ClassVar[tuple[str, ...]] = ()
    """Columns that refer to such a parent row where `tenant` is null. A row has exactly one parent."""

    sqlite_compound_key: ClassVar[bool] = False
    """Whether children refer to (id, client_id) on SQLite, too. Else triggers keep their client_id equal.

    The compound key needs an index, which costs time at each insert of a parent row. PostgreSQL always has it.
    """

    grant: ClassVar[Grant | None] = None
    """Set for tables of grants."""

    unique: ClassVar[dict[str, tuple[str, ...]]] = {}
    """Combinations of columns that no two rows share, by the end of the constraint's name: `<table>_<end>`."""

    checks: ClassVar[dict[str, str]] = {}
    """Conditions of a row, in SQL of both engines, by the end of the constraint's name: `<table>_<end>`."""

    refusals: ClassVar[tuple[Refusal, ...]] = ()
    """The writes that triggers refuse."""

    indexes: ClassVar[tuple[Index, ...]] = ()
    """The indexes. A foreign key without one gets one by itself (`indexes_of`)."""

    written_by_triggers: ClassVar[bool] = False
    """Whether only triggers write the table. It has neither audit triggers nor CHECKs."""

    written_by_service: ClassVar[bool] = False
    """Whether only functions and domain rules insert and delete rows, beside imports and copies (inspections/)."""

    expected_rows: ClassVar[int] = 1_000
    """The number of rows that SQLite's planner assumes (engine/maintenance/planner_stats.py)."""

    key_distinct: ClassVar[tuple[int, ...]] = ()
    """As Index.distinct, of a primary key of several columns."""

    cascading_columns: ClassVar[tuple[str, ...]] = ()
    """Columns, other than keys, whose change makes triggers change rows of other tables."""

    deciding_columns: ClassVar[tuple[str, ...]] = ()
    """Columns, other than keys and references, whose change may change who reads rows of other tables."""

    index_prefix: ClassVar[dict[str, str]] = {}
    """By column: the column before it in its SQLite index, whose value is a copy of the parent's."""

    skip_scan: ClassVar[SkipScan | None] = None
    """The index that returns lists in its order, partition by partition."""

    indexed_texts: ClassVar[tuple[str, ...]] = ()
    """Free-text columns with an index. The index of PostgreSQL holds short texts only."""

    shipped: ClassVar[tuple[Mapping[str, str | float | None], ...]] = ()
    """The rows of a new database. The rows of an archive or of `flask copy` replace them."""

    is_published: ClassVar[bool] = True
    """Whether the OpenAPI documents contain the table."""

    label: ClassVar[str] = ""
    """The singular in the console. It defaults to the class name in words."""

    plural: ClassVar[str] = ""
    """The plural in the console. It defaults to the table's name in words."""

    title_column: ClassVar[str | None] = None
    """The column that names a row in the console's links and headings. It defaults to `name`, else to the key."""

    list_order: ClassVar[str] = ""
    """The order of the console's list, as in `order=`. It defaults to the title, then the key."""

    derived: ClassVar[dict[str, Callable[[Row], sa.ColumnElement[Any]]]] = {}
    """By column: the expression that computes it from the row's other columns. The hidden client follows from `tenant`.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        if cls.tenant not in (None, "id", TENANT_COLUMN):
            setattr(cls, TENANT_COLUMN, column(BIGINT, required=True, hidden=True))
            cls.derived = {TENANT_COLUMN: partial(client_of_parent, cls)}
        constraints = (
            sa.UniqueConstraint(*columns, name=f"{cls.__tablename__}_{end}") for end, columns in cls.unique.items()
        )
        cls.__table_args__ = tuple(constraints)
        super().__init_subclass__(**options)


def references(target: str, *, on_delete: str = "restrict", on_update: str | None = None) -> sa.ForeignKey:
    """Return a foreign key to `table.column`. `on_delete` is restrict, cascade or set null."""
    return sa.ForeignKey(target, ondelete=on_delete.upper(), onupdate=on_update.upper() if on_update else None)


def column(
    kind: ColumnType, *constraints: Any, primary_key: bool = False, required: bool = False, **described: Any
) -> Mapped[Any]:
    """Return a column of a wire type. `required` means NOT NULL; `described` are the fields of ColumnInfo."""
    return mapped_column(
        kind.storage,
        *constraints,
        primary_key=primary_key,
        nullable=not (required or primary_key),
        info={"column": ColumnInfo(kind, **described)},
    )


def parents_of(model: type[Model]) -> list[sa.ForeignKey]:
    """Return the foreign keys to the row whose client a row has; none if the row names its client itself."""
    if model.tenant in (None, "id", TENANT_COLUMN):
        return []
    return [next(iter(model.__table__.c[name].foreign_keys)) for name in (model.tenant, *model.other_tenants)]


def indexes_of(model: type[Model], engine: str) -> list[Index]:
    """Return a table's indexes on `sqlite` or `postgresql`: the described ones, and one for each other foreign key and
    for a hidden client.

    The hidden client before a foreign key does not count: a search repeats for each client.
    """
    described = [index for index in model.indexes if index.engine in (None, engine)]
    key = tuple(column.name for column in model.__table__.primary_key)
    covered = {columns[0] for columns in (key, *model.unique.values(), *(index.columns for index in described))}
    covered |= {index.columns[1] for index in described if index.columns[0] == TENANT_COLUMN and index.columns[1:]}
    name = model.__tablename__
    searched = {column.name for column in model.__table__.c if column.foreign_keys} | set(model.derived)
    others = (column.name for column in model.__table__.c if column.name in searched - covered)
    return [*described, *(Index(f"{name}_{column}", (column,)) for column in others)]


def client_of_parent(model: type[Model], row: Row) -> sa.ColumnElement[Any]:
    """Return the client of the parent of a new row, or 0 without a parent.

    With 0 the foreign key fails, as it should, and not NOT NULL.
    """
    clients = []
    for key in parents_of(model):
        parent = key.column.table.alias(f"derived_{key.column.table.name}")
        of_row = parent.c[key.column.name] == getattr(row, key.parent.name)
        clients.append(sa.select(parent.c[TENANT_COLUMN]).where(of_row).scalar_subquery())
    return sa.func.coalesce(*clients, sa.literal_column("0"))


db = SQLAlchemy(model_class=Model, disable_autonaming=True)
