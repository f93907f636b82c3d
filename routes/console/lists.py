"""A list as a page and as a file: parsed, asked, shown, for whichever relation."""

from __future__ import annotations

import csv
import io
from typing import Any

from flask import Response
from flask import request

from access.caller import Caller
from models.sql.catalog import catalog
from routes.console import engine
from routes.console.engine import Row
from routes.console.listing import PAGE_ROWS
from routes.console.listing import Listing
from routes.console.listing import Wanted
from routes.console.listing import in_dialect
from routes.console.listing import wanted
from routes.console.pages import HEADERS
from routes.console.pages import POLICY
from routes.console.pages import show
from routes.postgrest import querystring
from routes.postgrest.encoding import decode_pairs
from routes.postgrest.representation import row_keys

CSV_ROWS_MAX = 10_000
BYTE_ORDER_MARK = "\ufeff"  # by which spreadsheets know that it is UTF-8
FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def show_list(caller: Caller, listing: Listing, template: str, **values: Any) -> Response:
    """The page of the rows that the address asks for, or, for a form, the way to it."""
    pairs = decode_pairs(request.query_string)
    if any(name == "find" for name, _ in pairs):
        form = {name: value or "" for name, value in pairs}
        return Response("", 303, {**HEADERS, "Location": in_dialect(listing, form)})
    asked = wanted(listing, pairs)
    # A search looks at every row: one more than is shown says whether there are others.
    found = engine.ask(
        caller,
        listing.relation,
        asked.text(),
        limit=PAGE_ROWS + 1,
        offset=asked.offset,
        total=not asked.is_searched,
    )
    return show(
        template,
        asked=asked,
        rows=found.rows[:PAGE_ROWS],
        total=found.total,
        first=asked.offset + 1,
        last=asked.offset + min(len(found.rows), PAGE_ROWS),
        before=asked.url(offset=max(0, asked.offset - PAGE_ROWS)) if asked.offset else None,
        after=asked.url(offset=asked.offset + PAGE_ROWS) if len(found.rows) > PAGE_ROWS else None,
        typed=asked.typed(),
        **values,
    )


def download(caller: Caller, listing: Listing, columns: str) -> Response:
    """The same rows as a file, with every column, for a spreadsheet."""
    asked = wanted(listing, decode_pairs(request.query_string))
    whole = Listing(
        listing.relation, columns, listing.order, listing.searched, listing.searched_embed
    )
    text = Wanted(whole, asked.filters, asked.order, 0).text()
    found = engine.ask(caller, listing.relation, text, limit=CSV_ROWS_MAX)
    names = row_keys(
        querystring.parse(text.encode()).shape.root,
        engine.relation(listing.relation),
        catalog().relations,
    )
    headers = {
        "Content-Type": "text/csv; charset=utf-8",
        "Content-Disposition": f'attachment; filename="{listing.relation}.csv"',
        "Content-Security-Policy": POLICY,
        "Vary": "Cookie",
    }
    return Response(BYTE_ORDER_MARK + csv_text(names, found.rows), 200, headers)


def csv_text(names: list[str], rows: list[Row]) -> str:
    """Rows for a spreadsheet: no cell begins a formula, whoever wrote it.

    >>> csv_text(["notes", "latitude"], [{"notes": "=1+1", "latitude": -71.5}])
    "notes,latitude\\r\\n'=1+1,-71.5\\r\\n"
    """
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(names)
    for row in rows:
        writer.writerow([harmless(row.get(name)) for name in names])
    return file.getvalue()


def harmless(cell: object) -> object:
    if isinstance(cell, str) and cell.startswith(FORMULAS):
        return f"'{cell}"
    return cell
