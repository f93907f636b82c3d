"""The rows of files: put, read, move, copy and remove them under the caller's rule, in the transaction of the request.

A caller may write the files of a row that they read and that `policy.FILE_WRITES` gives them. The service writes the
rows, since the REST dialect inserts and deletes none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from functools import cache
from typing import Any, Final

import sqlalchemy as sa

from access.caller import Caller
from access.explain import ROW_ID
from access.policy import FILE_WRITES, AccessRule
from engine.interface.transaction import Transaction
from engine.query.catalog import catalog
from engine.query.dialect.in_subquery import is_among
from engine.query.dialect.registry import DIALECTS
from engine.query.read.planner import Planner
from engine.query.statement import Binding, Statement, compile_statement, parameter
from engine.query.write.insert import keys_as_json
from engine.query.write.statements import RowExpressions
from inspections.faults import BytesMissing, FileDenied, FileExists, InvalidFileName, NoRoomForFile, NoSuchFile
from inspections.files.keys import COLUMNS, FileKey, parse_key
from inspections.files.store import FileStore, KeptBytes
from inspections.writes import delete_rows, insert_rows, update_rows
from models import File
from models.fields import Row
from models.types import TEXT

TABLE: Final = File.__tablename__
ROW_FILES_MAX: Final = 200
"""The number of files of a row."""

BUCKET = parameter("file_bucket", sa.Text)


@dataclass(frozen=True, slots=True)
class Upload:
    """What a row says of its bytes. `user_metadata` is JSON."""

    sha256: str
    size: int
    mimetype: str
    width: int | None = None
    height: int | None = None
    taken_at: str | None = None
    cache_control: str | None = None
    user_metadata: str | None = None

    def changes(self) -> dict[str, Any]:
        return dict(zip((each.name for each in fields(Upload)), astuple(self), strict=True))


@dataclass(frozen=True, slots=True)
class FileRow:
    """A visible file, and whether the caller may write it. Timestamps are as the API prints them."""

    id: str
    bucket: str
    name: str
    inspection_id: int | None
    finding_id: int | None
    building_id: int | None
    sha256: str
    size: int
    mimetype: str
    width: int | None
    height: int | None
    taken_at: str | None
    caption: str | None
    cache_control: str | None
    user_metadata: str | None
    created_by: str | None
    created_at: str
    updated_at: str
    is_writable: bool

    @property
    def kept(self) -> KeptBytes:
        return KeptBytes(self.sha256, self.size)


COLUMN_NAMES: Final = tuple(each.name for each in fields(FileRow))[:-1]


# Reading


def find(transaction: Transaction, caller: Caller, key: FileKey) -> FileRow:
    """Return a visible file. Raise NoSuchFile."""
    found = find_all(transaction, caller, key.bucket, [key.name]).get(key.name)
    if found is None:
        raise NoSuchFile
    return found


def find_all(transaction: Transaction, caller: Caller, bucket: str, names: Sequence[str]) -> dict[str, FileRow]:
    """Return the visible files of these names by name. Hidden and missing ones are absent."""
    statement = files_statement(transaction.dialect.name, caller.rule)
    binding = Binding(
        parameters={**caller.parameters, "file_bucket": bucket}, keys=keys_as_json((name,) for name in set(names))
    )
    rows = (file_row(row) for row in transaction.all(statement.sql, statement.bind(binding)))
    return {row.name: row for row in rows}


def file_row(row: Sequence[Any]) -> FileRow:
    """Return a row of `file_columns`."""
    return FileRow(*(*row[:-1], bool(row[-1])))


def require_writable(transaction: Transaction, caller: Caller, key: FileKey) -> None:
    """Raise FileDenied unless the caller may write files of the row that a key names."""
    statement = parent_statement(transaction.dialect.name, caller.rule, key.bucket)
    if not transaction.value(statement.sql, statement.bind(caller.binding(row_id=key.row_id))):
        raise FileDenied


# Writing


def check_put(
    transaction: Transaction, caller: Caller, key: FileKey, upload: Upload | None, *, upsert: bool, total_max: int
) -> FileRow | None:
    """Return the file that `put` would replace or leave as it is, or None. Raise what `put` raises.

    Without an upload, its bytes have not arrived yet: a file of this name may still turn out to be the same.
    """
    require_writable(transaction, caller, key)
    existing = find_all(transaction, caller, key.bucket, [key.name]).get(key.name)
    if upload is None or (existing is not None and existing.sha256 == upload.sha256):
        return existing
    if existing is not None and not upsert:
        raise FileExists
    require_room(transaction, key, existing, upload.size, total_max)
    return existing


def put(
    transaction: Transaction,
    caller: Caller,
    store: FileStore,
    key: FileKey,
    upload: Upload,
    *,
    upsert: bool,
    total_max: int,
) -> FileRow:
    """Write the row of an upload whose bytes are kept, and return it.

    The same bytes under the same name change nothing. Raise FileDenied, FileExists, NoRoomForFile or BytesMissing.
    """
    existing = check_put(transaction, caller, key, upload, upsert=upsert, total_max=total_max)
    if existing is not None and existing.sha256 == upload.sha256:
        return existing
    # The sweep holds the writer lock, too. Bytes that it removed have no row yet.
    if not store.has(KeptBytes(upload.sha256, upload.size)):
        raise BytesMissing
    write(transaction, key, existing, upload.changes())
    return find(transaction, caller, key)


def write(transaction: Transaction, key: FileKey, existing: FileRow | None, values: dict[str, Any]) -> None:
    if existing is None:
        insert_rows(transaction, TABLE, [{"bucket": key.bucket, "name": key.name, key.column: key.row_id, **values}])
    else:
        update_rows(transaction, TABLE, [(existing.id,)], values)


def move(transaction: Transaction, caller: Caller, source: FileKey, target: FileKey) -> FileRow:
    """Give a file another name, and return it. Raise NoSuchFile, FileDenied, FileExists or NoRoomForFile."""
    moved = find(transaction, caller, source)
    if not moved.is_writable:
        raise FileDenied
    require_writable(transaction, caller, target)
    if source == target:
        return moved
    if find_all(transaction, caller, target.bucket, [target.name]):
        raise FileExists
    if (source.bucket, source.row_id) != (target.bucket, target.row_id):
        require_place(transaction, target)
    parents = dict.fromkeys(COLUMNS.values()) | {target.column: target.row_id}
    update_rows(transaction, TABLE, [(moved.id,)], {"bucket": target.bucket, "name": target.name, **parents})
    return find(transaction, caller, target)


def copy(
    transaction: Transaction,
    caller: Caller,
    source: FileKey,
    target: FileKey,
    *,
    upsert: bool,
    with_metadata: bool,
    total_max: int,
) -> FileRow:
    """Add a row with the bytes and the caption of another, and return it. Raise NoSuchFile, or as `put`."""
    original = find(transaction, caller, source)
    values = {each.name: getattr(original, each.name) for each in fields(Upload)}
    if not with_metadata:
        values |= {"cache_control": None, "user_metadata": None}
    existing = check_put(transaction, caller, target, Upload(**values), upsert=upsert, total_max=total_max)
    if existing is None or existing.sha256 != original.sha256:
        write(transaction, target, existing, {**values, "caption": original.caption})
    return find(transaction, caller, target)


def remove(transaction: Transaction, caller: Caller, key: FileKey) -> FileRow:
    """Delete the row of a file, and return it. Raise FileDenied or NoSuchFile."""
    require_writable(transaction, caller, key)
    removed = find(transaction, caller, key)
    delete_rows(transaction, TABLE, [(removed.id,)])
    return removed


def remove_all(transaction: Transaction, caller: Caller, bucket: str, names: Sequence[str]) -> list[FileRow]:
    """Delete the rows of these names that the caller may write, and return them in this order. Skip the others."""
    keys = []
    for name in names:
        try:
            keys.append(parse_key(bucket, name).name)
        except InvalidFileName:
            continue
    found = find_all(transaction, caller, bucket, keys)
    removed = [found[name] for name in dict.fromkeys(keys) if name in found and found[name].is_writable]
    delete_rows(transaction, TABLE, [(row.id,) for row in removed])
    return removed


# Room


def require_room(transaction: Transaction, key: FileKey, existing: FileRow | None, size: int, total_max: int) -> None:
    """Raise NoRoomForFile for too many files of a row, or too many bytes of all files."""
    if existing is None:
        require_place(transaction, key)
    statement = total_statement(transaction.dialect.name)
    total = transaction.value(statement.sql, statement.bind(Binding()))
    if total + size - (existing.size if existing is not None else 0) > total_max:
        raise NoRoomForFile(f"There is no room: all files together have at most {total_max} bytes.")


def require_place(transaction: Transaction, key: FileKey) -> None:
    statement = count_statement(transaction.dialect.name, key.column)
    if transaction.value(statement.sql, statement.bind(Binding(parameters={"row_id": key.row_id}))) >= ROW_FILES_MAX:
        raise NoRoomForFile(f"There is no room: a row has at most {ROW_FILES_MAX} files.")


# Statements


def file_columns(rule: AccessRule, row: Row) -> list[sa.ColumnElement[Any]]:
    """Return the columns of FileRow."""
    is_writable = FILE_WRITES[rule.profile.role](rule.profile, row)
    return [*(row[name] for name in COLUMN_NAMES), sa.case((is_writable, 1), else_=0)]


@cache
def files_statement(database: str, rule: AccessRule) -> Statement:
    """Return the statement for the visible files of a bucket whose names are in `Binding.keys`."""
    planner = Planner(DIALECTS[database], rule)
    row, scope = planner.scoped(catalog().relations[TABLE])
    keys = DIALECTS[database].key_table("k", [("name", TEXT)], "keys")
    is_named = is_among([row.c.name], sa.select(keys.c.name))
    return planner.finish(sa.select(*file_columns(rule, row.c)).where(row.c.bucket == BUCKET, is_named, scope))


@cache
def parent_statement(database: str, rule: AccessRule, bucket: str) -> Statement:
    """Return the statement for whether the caller may write files of one visible row."""
    planner = Planner(DIALECTS[database], rule)
    row, scope = planner.scoped(catalog().relations[bucket])
    file = RowExpressions({COLUMNS[bucket]: row.c.id, "client_id": row.c.client_id}, catalog().relations[TABLE].table)
    is_writable = FILE_WRITES[rule.profile.role](rule.profile, file)
    return planner.finish(sa.select(sa.case((is_writable, 1), else_=0)).where(row.c.id == ROW_ID, scope))


@cache
def count_statement(database: str, column: str) -> Statement:
    file = File.__table__.alias("file")
    statement = sa.select(sa.func.count()).select_from(file).where(file.c[column] == parameter("row_id", sa.BigInteger))
    return compile_statement(statement, DIALECTS[database].sa_dialect)


@cache
def total_statement(database: str) -> Statement:
    file = File.__table__.alias("file")
    statement = sa.select(sa.func.coalesce(sa.func.sum(file.c.size), 0))
    return compile_statement(statement, DIALECTS[database].sa_dialect)
