"""CSV downloads of a list.

A short list is read at once, in the order of the list. A long list is streamed in the order of its ids. Each range of
ids is read in its own transaction, which looks up the caller again and ends before its rows are sent. No row is
repeated or left out, memory holds one range, and a slow client keeps no snapshot open. The last line of an incomplete
file says so and contains the URL of the rest.
"""

from __future__ import annotations

import csv
import io
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from flask import Response, current_app, request, stream_with_context

from access import policy
from access.caller import Caller
from engine.current import reading
from engine.query.rule import Action
from engine.storage.sqlite import ResponseTooLarge, TimedOut
from models.errors import Fault
from routes.console.components import queries
from routes.console.components.error_pages import TooManyDownloads, TooManyRows, fault_message
from routes.console.components.list_query import ListQuery, parse_list_query
from routes.console.components.lists import find_rows, listing_of
from routes.console.components.page import CONTENT_SECURITY_POLICY
from routes.console.components.queries import Row
from routes.console.components.tables import Table
from routes.console.session import auth
from routes.postgrest import querystring
from routes.postgrest.encoding import decode_pairs
from routes.postgrest.representation import row_keys

AT_ONCE_ROWS_MAX = 10_000  # about 10 MB in memory
PAGE_ROWS = 2_000  # about 400 KB: smaller ranges cost more transactions, larger ones delay other requests
QUICK_SECONDS = 0.25  # if a range is faster, the next spans twice as many ids
SECONDS_MAX = 50.0  # the server closes a connection after 60 s
DOWNLOADS_MAX = 2  # long downloads of one process: each occupies a thread
BYTE_ORDER_MARK = "\ufeff"  # marks the file as UTF-8 for spreadsheets
FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file: the query of the list, and the same query with the columns of the file."""

    query: ListQuery
    file_query: ListQuery

    @property
    def relation(self) -> str:
        return self.query.listing.relation

    def columns(self) -> list[str]:
        parsed = querystring.parse(self.file_query.text().encode())
        return row_keys(parsed.shape.root, queries.relation(self.relation))

    def between(self, after: int, last: int) -> str:
        """Return the query string of the rows with ids in (after, last], ordered by id."""
        ids = (("id", f"gt.{after}"), ("id", f"lte.{last}"))
        filters = (*self.file_query.filters, *ids)
        return replace(self.file_query, filters=filters, order="id.asc").text()

    def rest_url(self, after: int) -> str:
        """Return the URL of the CSV file of the rows with ids above `after`."""
        filters = tuple(pair for pair in self.query.filters if not starts_before(pair, after))
        rest = replace(self.query, filters=(*filters, ("id", f"gt.{after}")))
        return request.host_url.rstrip("/") + rest.csv_url()


def starts_before(pair: tuple[str, str], after: int) -> bool:
    """Return whether a filter is a lower bound of the id that `after` makes redundant."""
    name, value = pair
    number = value.removeprefix("gt.")
    return name == "id" and number.isascii() and number.isdigit() and int(number) <= after


def download(table: Table, caller: Caller) -> Response:
    """Return the CSV file of the rows that the URL selects.

    Raise TooManyDownloads if no slot is free, and TooManyRows if the table has no numbers to divide the file by.
    """
    listing = listing_of(table, caller)
    query = parse_list_query(listing, decode_pairs(request.query_string))
    file = CsvFile(query, replace(query, listing=replace(listing, select=file_columns(table)), offset=0))
    rows = read_all(file)
    if rows is not None:
        names = file.columns()
        return csv_response(file, [header_line(names), row_lines(names, rows)])
    if not table.has_number:
        raise TooManyRows
    slots = download_slots()
    if not slots.acquire(blocking=False):
        raise TooManyDownloads
    acquired = [slots]

    def release() -> None:
        """Release the slot when the file ends or the client disconnects."""
        while acquired:
            acquired.pop().release()

    texts = stream_csv(file, time.monotonic() + SECONDS_MAX, release)
    response = csv_response(file, stream_with_context(texts))
    response.call_on_close(release)
    return response


def file_columns(table: Table) -> str:
    """Return `select=` for every column of a table, each reference with the title of its row."""
    columns: list[str] = []
    for name in table.relation.attributes:
        columns.append(name)
        if reference := table.references.get(name):
            label = name.removesuffix("_id") if name.endswith("_id") else f"{name}_title"
            columns.append(f"...{reference.key.referred}!{reference.key.name}({label}:{reference.table.title_column})")
    return ",".join(columns)


def csv_response(file: CsvFile, body: Iterable[str]) -> Response:
    headers = {
        "Content-Type": "text/csv; charset=utf-8",
        "Content-Disposition": f'attachment; filename="{file.relation}.csv"',
        "Content-Security-Policy": CONTENT_SECURITY_POLICY,
        "Vary": "Cookie",
    }
    return Response(body, 200, headers)


def download_slots() -> threading.BoundedSemaphore:
    """Return the semaphore of the long downloads of this process."""
    slots = threading.BoundedSemaphore(DOWNLOADS_MAX)
    return cast(threading.BoundedSemaphore, current_app.extensions.setdefault("walkthrough.downloads", slots))


# Short lists


def read_all(file: CsvFile) -> list[Row] | None:
    """Return every row in the order of the list, or None if there are too many or the query takes too long."""
    limit = AT_ONCE_ROWS_MAX + 1
    try:
        rows = find_rows(file.file_query, limit, total=False).rows
    except (TimedOut, ResponseTooLarge):
        return None
    return rows if len(rows) < limit else None


# Long lists


def stream_csv(file: CsvFile, deadline: float, release: Callable[[], None]) -> Iterator[str]:
    """Yield the file range by range, and call `release` at the end."""
    names, last = file.columns(), 0
    yield header_line(names)
    try:
        last, end = id_bounds(file)
        span = PAGE_ROWS
        while last < end:
            if time.monotonic() > deadline:
                yield incomplete_line(file, last, "the download reached its time limit.")
                return
            start = time.monotonic()
            upper = min(end, last + span)
            try:
                rows = read_range(file, last, upper)
            except (TimedOut, ResponseTooLarge):
                if span == 1:
                    raise
                span = max(1, span // 16)
                continue
            is_full = len(rows) == PAGE_ROWS
            last = rows[-1]["id"] if is_full else upper
            if not is_full and time.monotonic() - start < QUICK_SECONDS:
                span *= 2
            if rows:
                yield row_lines(names, rows)
    except Fault as fault:
        yield incomplete_line(file, last, fault_message(fault))
    finally:
        release()


def id_bounds(file: CsvFile) -> tuple[int, int]:
    """Return the id before the caller's first row, and the id of the caller's last row."""
    with reading() as transaction:
        caller = admit_reader(transaction, file)
        ends = [
            queries.first_row(caller, file.relation, f"select=id&order=id.{direction}") for direction in ("asc", "desc")
        ]
    first, last = (row["id"] if row is not None else 0 for row in ends)
    return first - 1, last


def read_range(file: CsvFile, after: int, last: int) -> list[Row]:
    """Return at most PAGE_ROWS rows with ids in (after, last]."""
    with reading() as transaction:
        caller = admit_reader(transaction, file)
        text = file.between(after, last)
        return queries.select_rows(caller, file.relation, text, limit=PAGE_ROWS).rows


def admit_reader(transaction: Any, file: CsvFile) -> Caller:
    """Return the caller as of this transaction; raise a fault if their session or privilege has ended."""
    caller = auth.admit_session(transaction)
    policy.require(caller.role, Action.READ, queries.relation(file.relation).model)
    return caller


def incomplete_line(file: CsvFile, last: int, reason: str) -> str:
    """Return the line that marks an incomplete file."""
    rest = file.rest_url(last)
    return csv_text([[f"NOT COMPLETE. Ends after number {last}: {reason} The rest: {rest}"]])


def header_line(names: list[str]) -> str:
    return BYTE_ORDER_MARK + csv_text([names])


def row_lines(names: list[str], rows: list[Row]) -> str:
    return csv_text([row.get(name) for name in names] for row in rows)


def csv_text(lines: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV, with cells that a spreadsheet would run as formulas escaped.

    >>> csv_text([["notes", "latitude"], ["=1+1", -71.5]])
    "notes,latitude\\r\\n'=1+1,-71.5\\r\\n"
    """
    file = io.StringIO()
    writer = csv.writer(file)
    for line in lines:
        writer.writerow([escape_formula(cell) for cell in line])
    return file.getvalue()


def escape_formula(cell: object) -> object:
    """Return a cell as text that no spreadsheet runs as a formula. JSON values keep their form."""
    if isinstance(cell, dict | list):
        return json.dumps(cell, ensure_ascii=False)
    if isinstance(cell, str) and cell.startswith(FORMULA_PREFIXES):
        return f"'{cell}"
    return cell
