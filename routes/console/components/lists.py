"""Render the list of any table as a page with search, filters, order and pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from flask import Response, request

from access import policy
from access.caller import Caller
from engine.current import reading
from engine.interface.faults import TimedOut
from engine.interface.transaction import Transaction
from engine.query.rule import Action
from inspections.imports.mapping import TARGETS
from models.types import DATE, TIMESTAMP
from routes.console.components import queries
from routes.console.components.display import is_dated, label_of, show_rows, sort_column
from routes.console.components.error_pages import fault_message, record_fault
from routes.console.components.filter_words import filter_words
from routes.console.components.list_query import (
    EXACT_FIELD,
    NUMBERED,
    PAGE_ROWS,
    TITLE_FIELD,
    Listing,
    ListQuery,
    Pairs,
    parse_list_query,
)
from routes.console.components.page import render_page
from routes.console.components.queries import QueryResult, ResultPage
from routes.console.components.row_choice import RowChoice
from routes.console.components.row_filters import RowFilter, row_filters
from routes.console.components.searched import searched_labels, searched_texts
from routes.console.components.tables import PATH, Table
from routes.console.components.template_filters import words
from routes.console.session import auth
from routes.postgrest.encoding import decode_pairs

EMPTY_PAGE = ResultPage([], PAGE_ROWS, has_more=False, total=None)

Link = tuple[str, str]
"""A label, and a URL or a query string."""
Offer = tuple[str, list[tuple[str, str]]]
"""A label, and narrower lists of that kind: their names and URLs."""


@dataclass(frozen=True, slots=True)
class MoreFilters:
    """Filters that a table's list and its CSV file have beyond those of its columns."""

    selects: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Options of the list's selects: by column, the filter's value and its label."""
    named: Mapping[tuple[str, str], Pairs] = field(default_factory=dict)
    """Filters of the list's URL that stand for others, such as those of the current time."""
    exact: tuple[str, ...] = ()
    """Columns whose value the list's form takes as text."""
    choices: Mapping[str, RowChoice] = field(default_factory=dict)
    """By column of `exact`: the rows whose keys are the values, which the field suggests."""


NO_FILTERS = MoreFilters()


def listing_of(
    table: Table, caller: Caller, by_row: Sequence[RowFilter] = (), more: MoreFilters = NO_FILTERS
) -> Listing:
    """Return the query of a table's list. Its form has the filters `by_row` and `more`, too."""
    columns = table.listed(caller)
    orders = {each.name: sort_column(table, each) for each in columns}
    dates = [each for each in columns if each.type in (DATE, TIMESTAMP)]
    return Listing(
        relation=table.name,
        select=table.list_select(caller),
        order=table.order,
        searched=searched_texts(table, caller),
        equals=value_filters(table, caller, more) | {each.column: each.options for each in by_row if each.options},
        exact=(*more.exact, *(each.column for each in by_row if not each.options and not each.title)),
        titles={each.title: each.column for each in by_row if not each.options and each.title},
        ranges={
            each.name: (f"from_{each.name}", f"to_{each.name}") if place else ("from", "to")
            for place, each in enumerate(dates)
        },
        moments=frozenset(each.name for each in dates if each.type is TIMESTAMP),
        named=more.named,
        newest_first=frozenset(orders[each.name] for each in columns if is_dated(table, each)),
        own_orders=frozenset(
            [*table.presentation.orders.values(), *(each.name for each in columns if each.info.ranked)]
        ),
        key=table.relation.key,
        page=table.path,
    )


def value_filters(table: Table, caller: Caller, more: MoreFilters) -> dict[str, dict[str, str]]:
    """Return the filters of the list's selects: by column, the filter's value and its label."""
    filters: dict[str, dict[str, str]] = {}
    for each in table.listed(caller):
        if known := each.info.allowed_values or each.info.common_values:
            filters[each.name] = {f"eq.{value}": words(value) for value in known}
    for name, options in more.selects.items():
        filters[name] = {**filters.get(name, {}), **options}
    for name, values in filters.items():
        if not table.relation.attributes[name].required and name not in more.exact:
            values["is.null"] = f"No {label_of(table.relation.attributes[name]).lower()}"
    return filters


def list_page(
    table: Table,
    caller: Caller,
    *,
    more: MoreFilters = NO_FILTERS,
    views: Sequence[Link] = (),
    counts_views: bool = False,
    is_counted: bool = True,
    offers: Callable[[ListQuery], list[Offer]] = lambda query: [],
    actions: Callable[[ListQuery], list[Link]] = lambda query: [],
    bulk: Sequence[Link] = (),
) -> Response:
    """Return the page of the rows that the URL selects.

    `views` are the labels and query strings of the quick views. `counts_views` shows the number of rows of each.
    `is_counted` shows the total number of rows. `offers` are narrower lists for a query that takes too long.
    `actions` are buttons of the list. `bulk` are buttons for the ticked rows, whose paths take the keys as `ids`.
    """
    by_row = row_filters(table, caller)
    listing = listing_of(table, caller, by_row, more)
    query = parse_list_query(listing, decode_pairs(request.query_string))
    problem: str | None = None
    counts: dict[str, int] = {}
    try:
        counts = count_views(caller, listing, views) if counts_views else {}
        page = queries.fetch_page(lambda limit: find_rows(query, limit, total=is_counted), PAGE_ROWS)
    except TimedOut as fault:
        record_fault(fault)
        problem, page = fault_message(fault), EMPTY_PAGE
    last = query.offset + len(page.rows)
    typed, unshown = query.form_values()
    suggests = {field_name(each): each.choice for each in by_row if not each.options}
    for column, choice in more.choices.items():
        suggests[name := f"{EXACT_FIELD}{column}"] = choice
        typed[name] = choice.shown(typed.get(name, ""))
    for name, choice in suggests.items():
        if numbered := NUMBERED.fullmatch(typed.get(name, "")):
            typed[name] = choice.shown(numbered[1])
    return render_page(
        "list.html",
        400 if problem else 200,
        table=table,
        query=query,
        labels={each.name: label_of(each) for each in table.relation.attributes.values()}
        | {each.column: each.label for each in by_row},
        problem=problem,
        offers=offers(query) if problem else [],
        shown=show_rows(table, caller, page.rows),
        total=last if page.total is None and page.rows and not page.has_more else page.total,
        first=query.offset + 1,
        last=last,
        pages=page_links(query, page),
        before=query.url(offset=max(0, query.offset - page.size)) if query.offset else None,
        after=query.url(offset=query.offset + page.size) if page.has_more else None,
        typed=typed,
        unshown=[(*pair, filter_words(table, caller, listing, *pair)) for pair in unshown],
        searched=searched_labels(table, caller),
        suggests=suggests,
        may_create=table.permits(caller, Action.INSERT) and table.model.grant is None,
        views=views,
        counts=counts,
        actions=[*actions(query), *import_links(table, caller)],
        bulk=bulk,
    )


def import_links(table: Table, caller: Caller) -> list[Link]:
    if table.name not in TARGETS or not table.permits(caller, Action.INSERT):
        return []
    return [("Import", f"{PATH}/import/{table.name}")]


def field_name(each: RowFilter) -> str:
    """Return the name of the field of a filter by row without options."""
    return f"{TITLE_FIELD}{each.title}" if each.title else f"{EXACT_FIELD}{each.column}"


def page_links(query: ListQuery, page: ResultPage) -> list[tuple[int, str]]:
    """Return the number and URL of the first, the last and the neighbouring pages. The shown page has no URL."""
    shown = query.offset // page.size + 1
    last = shown + page.has_more if page.total is None else max(1, -(-page.total // page.size))
    return [
        (each, "" if each == shown else query.url(offset=(each - 1) * page.size))
        for each in neighboring_pages(shown, last)
    ]


def neighboring_pages(shown: int, last: int) -> list[int]:
    """Return the numbers of the first, the last and the neighbouring pages.

    >>> neighboring_pages(1, 1), neighboring_pages(7, 84)
    ([1], [1, 5, 6, 7, 8, 9, 84])
    """
    return sorted({1, last, *range(max(1, shown - 2), min(last, shown + 2) + 1)})


def count_views(caller: Caller, listing: Listing, views: Sequence[Link]) -> dict[str, int]:
    """Return the numbers of rows of the quick views, by query string."""
    queries_of = {text: parse_list_query(listing, parse_qsl(text)).text() for _, text in views}
    return {text: queries.count_rows(caller, listing.relation, query) for text, query in queries_of.items()}


def find_rows(query: ListQuery, limit: int, *, total: bool) -> QueryResult:
    """Return rows of a list in an own transaction, which has the full time limit and looks the caller up again.

    The total of a search would need a scan of the whole table.
    """
    listing = query.listing
    with reading() as transaction:
        caller = admit_reader(transaction, listing.relation)
        return queries.select_rows(
            caller, listing.relation, query.text(), limit=limit, offset=query.offset, total=total and not query.word
        )


def admit_reader(transaction: Transaction, name: str) -> Caller:
    """Return the caller as of this transaction; raise a fault if their session or privilege has ended."""
    caller = auth.admit_session(transaction)
    policy.require(caller.profile, Action.READ, queries.relation(name).model)
    return caller
