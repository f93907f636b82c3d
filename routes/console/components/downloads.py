"""A list as a file for a spreadsheet: every row that fits, however many those are.

A list of some thousand rows comes at once, in the list's own order. A longer one is sent while it is
read, by number: from one number to another in a transaction of its own, for which the caller is looked
up again, and which is over before its rows are sent. So no row comes twice or is left out, memory holds
a page of them, and no slow reader keeps a snapshot alive. A file that could not be finished says so in
its last line, with the address of the rest.
"""

from __future__ import annotations

import csv
import io
import threading
import time
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import replace
from typing import Any
from typing import cast

from flask import Response
from flask import current_app
from flask import request
from flask import stream_with_context

from access import policy
from access.caller import Caller
from engine.current import reading
from engine.query.rule import Action
from engine.storage.sqlite import ResponseTooLarge
from engine.storage.sqlite import TimedOut
from models.errors import Fault
from routes.console.components import queries as engine
from routes.console.components import search as searching
from routes.console.components.list_query import Listing
from routes.console.components.list_query import Wanted
from routes.console.components.list_query import wanted
from routes.console.components.page import POLICY
from routes.console.components.page import TooManyDownloads
from routes.console.components.page import said
from routes.console.components.queries import Row
from routes.console.session import auth as door
from routes.postgrest import querystring
from routes.postgrest.encoding import decode_pairs
from routes.postgrest.representation import row_keys

AT_ONCE_ROWS_MAX = 10_000  # some 10 MB of Python's
PAGE_ROWS = 2_000  # some 400 KB: fewer cost more turns, more keep others waiting
QUICK_SECONDS = 0.25  # of a page: then the next may reach twice as far
SECONDS_MAX = 50.0  # the server shuts a connection at 60
DOWNLOADS_MAX = 2  # long ones, of a worker: each holds one of its threads, and much of a core
BYTE_ORDER_MARK = "\ufeff"  # by which spreadsheets know that it is UTF-8
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True, slots=True)
class File:
    """What a file holds: the rows of a list as it was asked for, with columns of its own."""

    asked: Wanted
    whole: Wanted

    @property
    def relation(self) -> str:
        return self.asked.listing.relation

    def columns(self) -> list[str]:
        query = querystring.parse(self.whole.text().encode())
        return row_keys(query.shape.root, engine.relation(self.relation))

    def between(self, after: int, last: int) -> str:
        """The query string of the rows of these numbers, in their order."""
        numbers = (("id", f"gt.{after}"), ("id", f"lte.{last}"))
        filters = (*self.whole.filters, *numbers)
        return replace(self.whole, filters=filters, order="id.asc").text()

    def rest_url(self, after: int) -> str:
        """Where the rows beyond a number are to be had."""
        filters = tuple(pair for pair in self.asked.filters if not is_start(pair, after))
        rest = replace(self.asked, filters=(*filters, ("id", f"gt.{after}")))
        return request.host_url.rstrip("/") + rest.csv_url()


def is_start(pair: tuple[str, str], after: int) -> bool:
    """Whether a filter says no more than to begin after that number: where an earlier part ended."""
    name, value = pair
    number = value.removeprefix("gt.")
    return name == "id" and number.isascii() and number.isdigit() and int(number) <= after


def download(caller: Caller, listing: Listing, columns: str) -> Response:
    """The rows that the address asks for, with every column; formulas defused."""
    asked = wanted(listing, decode_pairs(request.query_string))
    file = File(asked, replace(asked, listing=replace(listing, select=columns), offset=0))
    rows = all_at_once(file)
    if rows is not None:
        names = file.columns()
        return answer(file, [beginning(names), lines(names, rows)])
    places = downloads_places()
    if not places.acquire(blocking=False):
        raise TooManyDownloads
    held = [places]

    def release() -> None:
        """Give the place back: when the file ends, or when nobody wants any more of it."""
        while held:
            held.pop().release()

    texts = read(file, time.monotonic() + SECONDS_MAX, release)
    response = answer(file, stream_with_context(texts))
    response.call_on_close(release)
    return response


def answer(file: File, body: Iterable[str]) -> Response:
    headers = {
        "Content-Type": "text/csv; charset=utf-8",
        "Content-Disposition": f'attachment; filename="{file.relation}.csv"',
        "Content-Security-Policy": POLICY,
        "Vary": "Cookie",
    }
    return Response(body, 200, headers)


def downloads_places() -> threading.BoundedSemaphore:
    """The application's places for long downloads."""
    made = threading.BoundedSemaphore(DOWNLOADS_MAX)
    return cast(
        threading.BoundedSemaphore,
        current_app.extensions.setdefault("walkthrough.downloads", made),
    )


# Few rows


def all_at_once(file: File) -> list[Row] | None:
    """Every row in the list's own order; None where they are too many for that, or too slow to sort."""
    limit = AT_ONCE_ROWS_MAX + 1
    try:
        with reading() as transaction:
            caller = admitted(transaction, file)
            rows = searching.find(caller, file.whole, limit, total=False).rows
    except (TimedOut, ResponseTooLarge):
        return None
    return rows if len(rows) < limit else None


# Many rows


def read(file: File, deadline: float, ended: Callable[[], None]) -> Iterator[str]:
    """The file, a page at a time."""
    names, last = file.columns(), 0
    yield beginning(names)
    try:
        last, end = bounds(file)
        span = PAGE_ROWS
        while last < end:
            if time.monotonic() > deadline:
                yield unfinished(file, last, "it took too long for one file.")
                return
            began = time.monotonic()
            upper = min(end, last + span)
            try:
                rows = page(file, last, upper)
            except (TimedOut, ResponseTooLarge):
                if span == 1:
                    raise
                span = max(1, span // 16)
                continue
            is_full = len(rows) == PAGE_ROWS
            last = rows[-1]["id"] if is_full else upper
            if not is_full and time.monotonic() - began < QUICK_SECONDS:
                span *= 2
            if rows:
                yield lines(names, rows)
    except Fault as fault:
        yield unfinished(file, last, said(fault))
    finally:
        ended()


def bounds(file: File) -> tuple[int, int]:
    """The number before the first row that the caller sees, and that of the last."""
    with reading() as transaction:
        caller = admitted(transaction, file)
        ends = [
            engine.one(caller, file.relation, f"select=id&order=id.{way}")
            for way in ("asc", "desc")
        ]
    first, last = (row["id"] if row is not None else 0 for row in ends)
    return first - 1, last


def page(file: File, after: int, last: int) -> list[Row]:
    """Rows of these numbers, at most a page of them: in one snapshot, whose time is short."""
    with reading() as transaction:
        caller = admitted(transaction, file)
        text = file.between(after, last)
        return engine.ask(caller, file.relation, text, limit=PAGE_ROWS).rows


def admitted(transaction: Any, file: File) -> Caller:
    """Who downloads, as they are by now: what ends their session or their access ends the file."""
    caller = door.admit_sealed(transaction)
    policy.require(caller.role, Action.READ, engine.relation(file.relation).model)
    return caller


def unfinished(file: File, last: int, why: str) -> str:
    """The line that says that there is more."""
    rest = file.rest_url(last)
    return csv_text([[f"NOT COMPLETE, it ends after number {last}: {why} The rest: {rest}"]])


def beginning(names: list[str]) -> str:
    return BYTE_ORDER_MARK + csv_text([names])


def lines(names: list[str], rows: list[Row]) -> str:
    return csv_text([row.get(name) for name in names] for row in rows)


def csv_text(lines: Iterable[Iterable[object]]) -> str:
    """Lines for a spreadsheet: no cell begins a formula, whoever wrote it.

    >>> csv_text([["notes", "latitude"], ["=1+1", -71.5]])
    "notes,latitude\\r\\n'=1+1,-71.5\\r\\n"
    """
    file = io.StringIO()
    writer = csv.writer(file)
    for line in lines:
        writer.writerow([harmless(cell) for cell in line])
    return file.getvalue()


def harmless(cell: object) -> object:
    if isinstance(cell, str) and cell.startswith(FORMULAS):
        return f"'{cell}"
    return cell
