"""CSV downloads of a list.

A short list is read at once, in the order of the list. A long list is streamed in the order of its ids. Each page is
read in its own transaction, which looks up the caller again and ends before its rows are sent. No row is repeated or
left out, memory holds one page, and a slow client keeps no snapshot open. The last line of an incomplete file says so
and contains the URL of the rest. The API takes a complete file back unchanged (routes/postgrest/csv.py).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import cast
from urllib.parse import urlencode

from flask import Response, current_app, request, stream_with_context

from access.caller import Caller
from engine.current import reading
from engine.interface.faults import ResponseTooLarge, TimedOut
from models.errors import Fault
from models.spreadsheets import BYTE_ORDER_MARK, escape_formula
from routes.console.components import queries
from routes.console.components.error_pages import TooManyDownloads, TooManyRows, fault_message
from routes.console.components.list_query import ListQuery, parse_list_query
from routes.console.components.lists import NO_FILTERS, MoreFilters, admit_reader, find_rows, listing_of
from routes.console.components.page import CONTENT_SECURITY_POLICY
from routes.console.components.queries import Row
from routes.console.components.tables import Table
from routes.postgrest import querystring
from routes.postgrest.csv import title_name
from routes.postgrest.encoding import decode_pairs
from routes.postgrest.representation import cell, row_keys

AT_ONCE_ROWS_MAX = 10_000  # about 10 MB in memory
PAGE_ROWS = 2_000  # about 400 KB: smaller pages cost more transactions, larger ones delay other requests
SECONDS_MAX = 50.0  # the server closes a connection after 60 s
DOWNLOADS_MAX = 2  # long downloads of one process: each occupies a thread


def download(table: Table, caller: Caller, more: MoreFilters = NO_FILTERS) -> Response:
    """Return the CSV file of the rows that the URL selects.

    Raise TooManyDownloads if no slot is free, and TooManyRows if the table has no numbers to divide the file by.
    """
    listing = replace(listing_of(table, caller, more=more), select=file_columns(table))
    query = replace(parse_list_query(listing, decode_pairs(request.query_string)), offset=0)
    names = row_keys(querystring.parse(query.text().encode()).shape.root, table.relation)
    rows = read_all(query)
    if rows is not None:
        return csv_response(table, [header_line(names), row_lines(names, rows)])
    if not table.has_number:
        raise TooManyRows
    slots = download_slots()
    if not slots.acquire(blocking=False):
        raise TooManyDownloads
    slot = ExitStack()  # released when the file ends or the client disconnects, whichever is first
    slot.callback(slots.release)
    texts = stream_csv(query, names, time.monotonic() + SECONDS_MAX, slot)
    response = csv_response(table, stream_with_context(texts))
    response.call_on_close(slot.close)
    return response


def file_columns(table: Table) -> str:
    """Return `select=` for every column of a table, each reference with the title of its row."""
    columns: list[str] = []
    for name in table.relation.attributes:
        columns.append(name)
        if reference := table.references.get(name):
            title = f"{title_name(name)}:{reference.table.title_column}"
            columns.append(f"...{reference.key.referred}!{reference.key.name}({title})")
            if not reference.is_only:
                columns.append(f"{reference.embed}:{reference.source}()")  # for the order by it
    return ",".join(columns)


def csv_response(table: Table, body: Iterable[str]) -> Response:
    headers = {
        "Content-Type": "text/csv; charset=utf-8",
        "Content-Disposition": f'attachment; filename="{table.name}.csv"',
        "Content-Security-Policy": CONTENT_SECURITY_POLICY,
        "Vary": "Cookie",
    }
    return Response(body, 200, headers)


def download_slots() -> threading.BoundedSemaphore:
    """Return the semaphore of the long downloads of this process."""
    slots = threading.BoundedSemaphore(DOWNLOADS_MAX)
    return cast(threading.BoundedSemaphore, current_app.extensions.setdefault("walkthrough.downloads", slots))


# Short lists


def read_all(query: ListQuery) -> list[Row] | None:
    """Return every row in the order of the list, or None if there are too many or the query takes too long."""
    limit = AT_ONCE_ROWS_MAX + 1
    try:
        rows = find_rows(query, limit, total=False).rows
    except (TimedOut, ResponseTooLarge):
        return None
    return rows if len(rows) < limit else None


# Long lists


def stream_csv(query: ListQuery, names: list[str], deadline: float, slot: ExitStack) -> Iterator[str]:
    """Yield the file page by page, and release the slot at the end."""
    last: int | None = None
    size = PAGE_ROWS
    yield header_line(names)
    try:
        while True:
            if time.monotonic() > deadline:
                yield incomplete_line(query, last, "the download reached its time limit.")
                return
            try:
                rows, end = read_page(query, last, size)
            except (TimedOut, ResponseTooLarge):
                if size == 1:
                    raise
                size = max(1, size // 16)
                continue
            if rows:
                yield row_lines(names, rows)
            if end is None:
                return
            last = end
    except Fault as fault:
        yield incomplete_line(query, last, fault_message(fault))
    finally:
        slot.close()


def read_page(query: ListQuery, after: int | None, size: int) -> tuple[list[Row], int | None]:
    """Return the matching rows among the next `size` rows of the caller, and the id of the last, or None at the end.

    A page is bounded by ids, so that a filter with few matches does not scan the whole table.
    """
    relation = query.listing.relation
    above = (("id", f"gt.{after}"),) if after is not None else ()
    bounds = urlencode([("select", "id"), *above, ("order", "id.asc")])
    with reading() as transaction:
        caller = admit_reader(transaction, relation)
        ends = queries.select_rows(caller, relation, bounds, limit=1, offset=size - 1).rows
        below = tuple(("id", f"lte.{row['id']}") for row in ends)
        page = replace(query, filters=(*query.filters, *above, *below), order="id.asc")
        rows = queries.select_rows(caller, relation, page.text(), limit=queries.NO_LIMIT).rows
    return rows, ends[0]["id"] if ends else None


def incomplete_line(query: ListQuery, last: int | None, reason: str) -> str:
    """Return the line that marks an incomplete file, with the URL of the rows that it lacks."""
    after = last or 0
    url = request.url_root.rstrip("/") + query.csv_url(("id", f"gt.{after}"))
    return csv_text([[f"NOT COMPLETE. Ends after number {after}: {reason} The rest: {url}"]])


def header_line(names: list[str]) -> str:
    return BYTE_ORDER_MARK + csv_text([names])


def row_lines(names: list[str], rows: list[Row]) -> str:
    return csv_text([row.get(name) for name in names] for row in rows)


def csv_text(lines: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV, with cells that a spreadsheet would run as formulas escaped.

    >>> csv_text([["notes", "latitude"], ["=1+1", -71.5]])
    "notes,latitude\\r\\n'=1+1,-71.5\\r\\n"
    """
    return "".join(",".join(map(file_cell, line)) + "\r\n" for line in lines)


def file_cell(value: object) -> str:
    """Return a value as a cell of the file. JSON values keep their form."""
    if isinstance(value, dict | list):
        return cell(json.dumps(value, ensure_ascii=False))
    return cell(escape_formula(value) if isinstance(value, str) else value)
