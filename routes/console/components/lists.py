"""Render a list of any relation as a page with search, filters, order and pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Response, request

from access.caller import Caller
from engine.current import reading
from engine.storage.sqlite import TimedOut
from routes.console.components import queries, search
from routes.console.components.error_pages import fault_message, record_fault
from routes.console.components.list_query import PAGE_ROWS, Listing, ListQuery, list_url, parse_list_query
from routes.console.components.page import HEADERS, render_page
from routes.console.components.queries import QueryResult, ResultPage
from routes.console.session import auth
from routes.postgrest.encoding import decode_pairs

EMPTY_PAGE = ResultPage([], PAGE_ROWS, has_more=False, total=None)

Offer = tuple[str, list[tuple[str, str]]]
"""A label, and narrower lists of that kind: their names and URLs."""


def no_offers(query: ListQuery) -> list[Offer]:
    return []


def render_list(
    caller: Caller,
    listing: Listing,
    template: str,
    narrower: Callable[[ListQuery], list[Offer]] = no_offers,
    **values: Any,
) -> Response:
    """Return the page of the rows that the URL selects.

    Redirect a submitted form to the URL of its filters. If the query takes too long, show the narrower lists that
    `narrower` offers.
    """
    pairs = decode_pairs(request.query_string)
    if any(name == "find" for name, _ in pairs):
        # Browsers submit line ends as CR LF.
        form = [(name, (value or "").replace("\r\n", "\n")) for name, value in pairs]
        unshown = [value for name, value in form if name == "keep"]
        return Response("", 303, {**HEADERS, "Location": list_url(listing, dict(form), unshown)})
    query = parse_list_query(listing, pairs)
    problem: str | None = None

    def find(limit: int) -> QueryResult:
        with reading() as transaction:
            # Its own transaction: it has the full time limit, and looks the caller up again.
            return search.find_rows(auth.admit_session(transaction), query, limit)

    try:
        page = queries.fetch_page(find, PAGE_ROWS)
    except TimedOut as fault:
        record_fault(fault)
        problem, page = fault_message(fault), EMPTY_PAGE
    return render_page(
        template,
        400 if problem else 200,
        query=query,
        problem=problem,
        offers=narrower(query) if problem else [],
        rows=page.rows,
        total=page.total,
        first=query.offset + 1,
        last=query.offset + len(page.rows),
        before=query.url(offset=max(0, query.offset - page.size)) if query.offset else None,
        after=query.url(offset=query.offset + page.size) if page.has_more else None,
        typed=query.form_values(),
        **values,
    )
