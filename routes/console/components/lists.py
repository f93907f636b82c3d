"""A list as a page: parsed, asked, shown, for whichever relation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Response
from flask import request

from access.caller import Caller
from engine.current import reading
from engine.storage.sqlite import TimedOut
from routes.console.components import queries as engine
from routes.console.components import search as searching
from routes.console.components.list_query import PAGE_ROWS
from routes.console.components.list_query import Listing
from routes.console.components.list_query import Wanted
from routes.console.components.list_query import in_dialect
from routes.console.components.list_query import wanted
from routes.console.components.page import HEADERS
from routes.console.components.page import note
from routes.console.components.page import said
from routes.console.components.page import show
from routes.console.components.queries import Found
from routes.console.components.queries import Page
from routes.console.session import auth as door
from routes.postgrest.encoding import decode_pairs

NONE = Page([], PAGE_ROWS, has_more=False, total=None)

Offer = tuple[str, list[tuple[str, str]]]
"""Ways to fewer rows, of one kind: each with its address."""


def nothing(asked: Wanted) -> list[Offer]:
    return []


def show_list(
    caller: Caller,
    listing: Listing,
    template: str,
    narrower: Callable[[Wanted], list[Offer]] = nothing,
    **values: Any,
) -> Response:
    """The page of the rows that the address asks for, or, for a form, the way to it. Where those take
    too long to find, `narrower` has the ways to fewer."""
    pairs = decode_pairs(request.query_string)
    if any(name == "find" for name, _ in pairs):
        # Browsers send line ends as CR LF, whatever stood in the form.
        form = [(name, (value or "").replace("\r\n", "\n")) for name, value in pairs]
        kept = [value for name, value in form if name == "keep"]
        return Response("", 303, {**HEADERS, "Location": in_dialect(listing, dict(form), kept)})
    asked = wanted(listing, pairs)
    problem: str | None = None

    def find(limit: int) -> Found:
        with reading() as transaction:
            # In a time of its own, and the caller as they are in it.
            return searching.find(door.admit_sealed(transaction), asked, limit)

    try:
        found = engine.page(find, PAGE_ROWS)
    except TimedOut as fault:
        note(fault)
        problem, found = said(fault), NONE
    return show(
        template,
        400 if problem else 200,
        asked=asked,
        problem=problem,
        offers=narrower(asked) if problem else [],
        rows=found.rows,
        total=found.total,
        first=asked.offset + 1,
        last=asked.offset + len(found.rows),
        before=asked.url(offset=max(0, asked.offset - found.size)) if asked.offset else None,
        after=asked.url(offset=asked.offset + found.size) if found.has_more else None,
        typed=asked.typed(),
        **values,
    )
