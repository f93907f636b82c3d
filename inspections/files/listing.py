"""Lists of files: one level of folders, as `list` shows it, or whole names, as `listV2` does.

The first level of a bucket are the ids of rows. The files of one row are few, so that their levels are made here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import sqlalchemy as sa

from access.caller import Caller
from access.policy import AccessRule
from engine.interface.transaction import Transaction
from engine.query.catalog import catalog
from engine.query.dialect.registry import DIALECTS
from engine.query.read.planner import Planner
from engine.query.statement import Statement, parameter
from inspections.files.keys import COLUMNS, normalize, read_row_id, require_bucket
from inspections.files.records import TABLE, FileRow, file_columns, file_row

SORT_COLUMNS: Final = ("name", "created_at", "updated_at")
ROWS_MAX: Final = 1_000

BEGINNING = parameter("beginning", sa.Text)
ROW = parameter("file_row", sa.BigInteger)
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
class Page:
    """A page of `listV2`. Whole names of folders end in a slash. `next_cursor` is None at the end."""

    folders: list[str]
    files: list[FileRow]
    next_cursor: str | None


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
        return [ListEntry(name) for name in row_ids(transaction, caller, bucket, search, order, limit, offset)]
    files = files_of_row(transaction, caller, bucket, base)
    begins = search.casefold()
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
    offset: int = 0,
) -> Page:
    """Return the visible files whose whole names begin with a prefix, or its next level with a delimiter.

    The cursor of the next page is its offset. Raise NoSuchBucket.
    """
    require_bucket(bucket)
    entries = matching_entries(transaction, caller, bucket, prefix.lstrip("/"), with_delimiter, order, limit, offset)
    shown = entries[:limit]
    return Page(
        [each.name for each in shown if each.file is None],
        [each.file for each in shown if each.file is not None],
        str(offset + limit) if len(entries) > limit else None,
    )


def matching_entries(
    transaction: Transaction,
    caller: Caller,
    bucket: str,
    prefix: str,
    with_delimiter: bool,
    order: Order,
    limit: int,
    offset: int,
) -> list[ListEntry]:
    """Return the entries of a page, and one more if there is a next page. Names are whole."""
    if "/" not in prefix:
        if with_delimiter:
            ids = row_ids(transaction, caller, bucket, prefix, order, limit + 1, offset)
            return [ListEntry(f"{name}/") for name in ids]
        return [
            ListEntry(row.name, row)
            for row in files_of_bucket(transaction, caller, bucket, prefix, order, limit + 1, offset)
        ]
    files = (row for row in files_of_row(transaction, caller, bucket, prefix) if row.name.startswith(prefix))
    if not with_delimiter:
        entries: Iterable[ListEntry] = (ListEntry(row.name, row) for row in files)
    else:
        base = prefix[: prefix.rindex("/") + 1]
        entries = (
            ListEntry(base + each.name + ("/" if each.file is None else ""), each.file)
            for each in entries_below(files, base)
        )
    return in_order(entries, order)[offset : offset + limit + 1]


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

    def value(entry: ListEntry) -> tuple[bool, str]:
        if order.column == "name":
            return False, entry.name
        return entry.file is None, "" if entry.file is None else getattr(entry.file, order.column)

    by_name = sorted(entries, key=lambda each: each.name)
    return sorted(by_name, key=value, reverse=order.descending)


# Statements


def files_of_row(transaction: Transaction, caller: Caller, bucket: str, name: str) -> list[FileRow]:
    """Return the visible files of the row whose id is the first segment of a name."""
    row_id = read_row_id(name.split("/", 1)[0])
    if row_id is None:
        return []
    statement = row_statement(transaction.dialect.name, caller.rule, bucket)
    found = transaction.all(statement.sql, statement.bind(caller.binding(file_row=row_id)))
    return [file_row(row) for row in found]


def files_of_bucket(
    transaction: Transaction, caller: Caller, bucket: str, prefix: str, order: Order, limit: int, offset: int
) -> list[FileRow]:
    """Return a page of the visible files of a bucket whose row ids begin with these digits."""
    if prefix and not is_digits(prefix):
        return []
    statement = bucket_statement(transaction.dialect.name, caller.rule, bucket, order)
    values = caller.binding(beginning=f"{prefix}%", page_limit=limit, page_offset=offset)
    return [file_row(row) for row in transaction.all(statement.sql, statement.bind(values))]


def row_ids(
    transaction: Transaction, caller: Caller, bucket: str, prefix: str, order: Order, limit: int, offset: int
) -> list[str]:
    """Return a page of the ids, which begin with these digits, of rows with visible files, in the order of text."""
    if prefix and not is_digits(prefix):
        return []
    is_descending = order.descending and order.column == "name"
    statement = ids_statement(transaction.dialect.name, caller.rule, bucket, is_descending)
    values = caller.binding(beginning=f"{prefix}%", page_limit=limit, page_offset=offset)
    return [row[0] for row in transaction.all(statement.sql, statement.bind(values))]


def is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


@cache
def row_statement(database: str, rule: AccessRule, bucket: str) -> Statement:
    planner = Planner(DIALECTS[database], rule)
    row, scope = planner.scoped(catalog().relations[TABLE])
    return planner.finish(sa.select(*file_columns(rule, row.c)).where(row.c[COLUMNS[bucket]] == ROW, scope))


@cache
def bucket_statement(database: str, rule: AccessRule, bucket: str, order: Order) -> Statement:
    planner = Planner(DIALECTS[database], rule)
    row, scope = planner.scoped(catalog().relations[TABLE])
    column: Any = row.c[order.column]
    selected = sa.select(*file_columns(rule, row.c)).where(row.c.bucket == bucket, row.c.name.like(BEGINNING), scope)
    ordered = selected.order_by(column.desc() if order.descending else column, row.c.name)
    return planner.finish(ordered.limit(LIMIT).offset(OFFSET))


@cache
def ids_statement(database: str, rule: AccessRule, bucket: str, is_descending: bool) -> Statement:
    planner = Planner(DIALECTS[database], rule)
    row, scope = planner.scoped(catalog().relations[TABLE])
    column = row.c[COLUMNS[bucket]]
    text: Any = sa.cast(column, sa.Text)
    selected = sa.select(text).distinct().where(column.is_not(None), text.like(BEGINNING), scope)
    ordered = selected.order_by(text.desc() if is_descending else text)
    return planner.finish(ordered.limit(LIMIT).offset(OFFSET))
