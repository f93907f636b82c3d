"""Lists of files: one level of folders, as `list` shows it, or whole names, as `listV2` does.

The first level of a bucket are the ids of rows. The files of one row are few, so that their levels are made here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from access.caller import Caller
from engine.interface.database import Transaction
from engine.query.read.planner import Planner
from engine.query.statement import parameter
from engine.rows import Select, prepared
from inspections.files.records import COLUMNS, FileRow, file_row, normalize, read_row_id, require_bucket, visible_files
from models import File
from models.types import composed

SORT_COLUMNS: Final = ("name", "created_at", "updated_at")
ROWS_MAX: Final = 1_000
ID_DIGITS_MAX: Final = 19

BEGINNING = parameter("beginning", sa.Text)
ROW = parameter("file_row", sa.BigInteger)
AFTER_NAME, AFTER_TIME = parameter("after_name", sa.Text), parameter("after_time")
LIMIT, OFFSET = parameter("page_limit", sa.BigInteger), parameter("page_offset", sa.BigInteger)


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a list, by one of SORT_COLUMNS."""

    column: str = "name"
    descending: bool = False


@dataclass(frozen=True, slots=True)
class ListEntry:
    """A folder, or a file. `name` is relative to the prefix of `list`, or whole for `listV2`."""

    name: str
    file: FileRow | None = None


@dataclass(frozen=True, slots=True)
class ListPosition:
    """A place in a list: the name of an entry, and its time in a list by time. A folder has no time."""

    name: str
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A page of `listV2`, and the position of its last entry, or None at the end. Names of folders end in a slash."""

    folders: list[str]
    files: list[FileRow]
    next_position: ListPosition | None


BY_NAME = Order()


def list_level(
    transaction: Transaction,
    caller: Caller,
    bucket: str,
    folder: str,
    *,
    search: str = "",
    order: Order = BY_NAME,
    limit: int = 100,
    offset: int = 0,
) -> list[ListEntry]:
    """Return the visible entries of a folder whose names begin with `search`, in any case. Raise NoSuchBucket."""
    require_bucket(bucket)
    base = normalize(folder)
    if not base:
        ids = row_ids(transaction, caller, bucket, search, order, None, limit, offset)
        return [ListEntry(name) for name in ids]
    files = files_of_row(transaction, caller, bucket, base)
    begins = composed(search).casefold()
    entries = (each for each in entries_below(files, f"{base}/") if each.name.casefold().startswith(begins))
    return in_order(entries, order)[offset : offset + limit]


def list_page(
    transaction: Transaction,
    caller: Caller,
    bucket: str,
    prefix: str,
    *,
    with_delimiter: bool = False,
    order: Order = BY_NAME,
    limit: int = ROWS_MAX,
    after: ListPosition | None = None,
) -> Page:
    """Return the visible files whose whole names begin with a prefix, or its next level with a delimiter.

    `after`: the position of the last entry of the page before. Raise NoSuchBucket.
    """
    require_bucket(bucket)
    begins = composed(prefix.lstrip("/"))
    entries = matching_entries(transaction, caller, bucket, begins, with_delimiter, order, limit + 1, after)
    shown = entries[:limit]
    return Page(
        [each.name for each in shown if each.file is None],
        [each.file for each in shown if each.file is not None],
        position_of(shown[-1], order) if len(entries) > limit else None,
    )


def matching_entries(
    transaction: Transaction,
    caller: Caller,
    bucket: str,
    prefix: str,
    with_delimiter: bool,
    order: Order,
    limit: int,
    after: ListPosition | None,
) -> list[ListEntry]:
    """Return the entries after a position. Names are whole."""
    if "/" not in prefix:
        if with_delimiter:
            ids = row_ids(transaction, caller, bucket, prefix, order, after, limit)
            return [ListEntry(f"{name}/") for name in ids]
        files = files_of_bucket(transaction, caller, bucket, prefix, order, after, limit)
        return [ListEntry(row.name, row) for row in files]
    files = [row for row in files_of_row(transaction, caller, bucket, prefix) if row.name.startswith(prefix)]
    if not with_delimiter:
        entries: Iterable[ListEntry] = (ListEntry(row.name, row) for row in files)
    else:
        base = prefix[: prefix.rindex("/") + 1]
        entries = (
            ListEntry(base + each.name + ("/" if each.file is None else ""), each.file)
            for each in entries_below(files, base)
        )
    return [each for each in in_order(entries, order) if is_after(each, order, after)][:limit]


def entries_below(files: Iterable[FileRow], base: str) -> Iterator[ListEntry]:
    """Yield the files and folders directly below a base, which ends in a slash. Each folder comes once."""
    folders: set[str] = set()
    for row in files:
        if not row.name.startswith(base):
            continue
        name, slash, _ = row.name.removeprefix(base).partition("/")
        if not slash:
            yield ListEntry(name, row)
        elif name not in folders:
            folders.add(name)
            yield ListEntry(name)


def in_order(entries: Iterable[ListEntry], order: Order) -> list[ListEntry]:
    """Return entries in order, by name among equals. A folder has no times: it comes last, as nulls in PostgreSQL."""
    by_name = sorted(entries, key=lambda each: each.name)
    return sorted(by_name, key=lambda each: sort_value(position_of(each, order), order), reverse=order.descending)


def position_of(entry: ListEntry, order: Order) -> ListPosition:
    """Return the position of an entry in a list in this order."""
    is_timed = order.column != "name" and entry.file is not None
    return ListPosition(entry.name, getattr(entry.file, order.column) if is_timed else None)


def sort_value(position: ListPosition, order: Order) -> tuple[bool, str]:
    if order.column == "name":
        return False, position.name
    return position.time is None, position.time or ""


def is_after(entry: ListEntry, order: Order, after: ListPosition | None) -> bool:
    if after is None:
        return True
    value, last = sort_value(position_of(entry, order), order), sort_value(after, order)
    if value == last:
        return entry.name > after.name
    return value < last if order.descending else value > last


# Statements


def files_of_row(transaction: Transaction, caller: Caller, bucket: str, name: str) -> list[FileRow]:
    """Return the visible files of the row whose id is the first segment of a name."""
    row_id = read_row_id(name.split("/", 1)[0])
    if row_id is None:
        return []
    return [file_row(row) for row in row_statement.all(transaction, caller, bucket, file_row=row_id)]


def files_of_bucket(
    transaction: Transaction,
    caller: Caller,
    bucket: str,
    prefix: str,
    order: Order,
    after: ListPosition | None,
    limit: int,
) -> list[FileRow]:
    """Return the visible files of a bucket after a position whose row ids begin with these digits."""
    if not is_start_of_id(prefix) or (after is not None and after.time is None and order.column != "name"):
        return []
    shape = bucket, order, after is not None
    values = {"beginning": f"{prefix}%", "page_limit": limit, **position_values(after)}
    return [file_row(row) for row in bucket_statement.all(transaction, caller, *shape, **values)]


def row_ids(
    transaction: Transaction,
    caller: Caller,
    bucket: str,
    prefix: str,
    order: Order,
    after: ListPosition | None,
    limit: int,
    offset: int = 0,
) -> list[str]:
    """Return the ids, which begin with these digits, of rows with visible files, in the order of text."""
    if not is_start_of_id(prefix):
        return []
    is_descending = order.descending and order.column == "name"
    shape = bucket, is_descending, after is not None
    values = {"page_limit": limit, "page_offset": offset, **position_values(after, suffix="/")}
    return [row[0] for row in ids_statement.all(transaction, caller, *shape, beginning=f"{prefix}%", **values)]


def position_values(after: ListPosition | None, suffix: str = "") -> dict[str, str | None]:
    """Return the parameters of a position. The name of a folder is without its suffix."""
    return {} if after is None else {"after_name": after.name.removesuffix(suffix), "after_time": after.time}


def is_start_of_id(text: str) -> bool:
    """Return whether an id may begin with these digits, of which it has ID_DIGITS_MAX."""
    return not text or (text.isascii() and text.isdigit() and len(text) <= ID_DIGITS_MAX)


@prepared(Planner)
def row_statement(planner: Planner, bucket: str) -> Select:
    columns, files = visible_files(planner)
    return files.where(columns[COLUMNS[bucket]] == ROW)


@prepared(Planner)
def bucket_statement(planner: Planner, bucket: str, order: Order, is_after: bool) -> Select:
    columns, files = visible_files(planner)
    name, column = columns.name, columns[order.column]
    selected = files.where(columns.bucket == bucket, name.like(BEGINNING))
    if is_after and order.column == "name":
        selected = selected.where(name < AFTER_NAME if order.descending else name > AFTER_NAME)
    elif is_after:
        is_later = column < AFTER_TIME if order.descending else column > AFTER_TIME
        selected = selected.where(sa.or_(is_later, sa.and_(column == AFTER_TIME, name > AFTER_NAME)))
    ordered = selected.order_by(column.desc() if order.descending else column, name)
    return ordered.limit(LIMIT)


@prepared(Planner)
def ids_statement(planner: Planner, bucket: str, is_descending: bool, is_after: bool) -> Select:
    row, scope = planner.visible(File)
    column = row.c[COLUMNS[bucket]]
    text: Any = sa.cast(column, sa.Text)
    selected = sa.select(text).distinct().where(column.is_not(None), text.like(BEGINNING), scope)
    if is_after:
        selected = selected.where(text < AFTER_NAME if is_descending else text > AFTER_NAME)
    ordered = selected.order_by(text.desc() if is_descending else text)
    return ordered.limit(LIMIT).offset(OFFSET)
