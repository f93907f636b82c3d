"""Lists of any table: the page with search, filters and order, the CSV download, and the rows that its form names.

A form names the rows of the ticked boxes. A list with ticked rows is one page: no ticked row is out of sight. A short
list is downloaded at once, in its own order. A long one is streamed in the order of its ids. Each page is read in its
own transaction, which looks up the caller again and ends before its rows are sent. No row is repeated or left out,
memory holds one page, and a slow client keeps no snapshot open. The last line of an incomplete file says so and
contains the URL of the rest. The API takes a complete file back unchanged (routes/postgrest/payload.py).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import cast
from urllib.parse import parse_qsl, urlencode

from flask import Response, current_app, request, stream_with_context
from werkzeug.datastructures import MultiDict

from access import policy
from access.caller import Caller
from engine.interface.database import ResponseTooLarge, TimedOut, Transaction
from engine.open import reading, zone_info
from engine.query.statement import Action
from engine.rows import QueryResult
from inspections.imports.sources import TARGETS
from models.types import BYTE_ORDER_MARK, DATE, TIMESTAMP, Fault, escape_formula, read_date
from routes.console.components import queries
from routes.console.components.display import (
    is_dated,
    label_of,
    searched_labels,
    searched_texts,
    show_rows,
    sort_column,
)
from routes.console.components.error_pages import (
    RowsRefused,
    TooManyDownloads,
    TooManyRows,
    fault_message,
    record_fault,
)
from routes.console.components.list_query import (
    EXACT_FIELD,
    IN_PARTS,
    NUMBERED,
    PAGE_ROWS,
    TICKED,
    TITLE_FIELD,
    Listing,
    ListQuery,
    Pairs,
    parse_list_query,
)
from routes.console.components.page import CONTENT_SECURITY_POLICY, redirect_to, render_page
from routes.console.components.queries import ResultPage
from routes.console.components.records import read_ids
from routes.console.components.row_choice import RowChoice, RowFilter, row_filters
from routes.console.components.tables import Row, Table
from routes.console.components.template_filters import long_day, short, words
from routes.console.session import auth
from routes.console.session.urls import console_url, page_path
from routes.postgrest import querystring
from routes.postgrest.lexer import LimitExceeded
from routes.postgrest.payload import decode_pairs, title_name
from routes.postgrest.representation import cell, row_keys

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
    """Filters of the list's URL that stand for others and their embeds, such as those of the current time."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The labels of the selects that are of no column."""
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
        order=IN_PARTS if table.presentation.parts(()) else table.order,
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
        parts=table.presentation.parts,
        order_in_api=table.order,
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
        if name not in more.labels and not table.relation.attributes[name].required and name not in more.exact:
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
    bulk_action: Action | None = None,
) -> Response:
    """Return the page of the rows that the URL selects.

    `views` are the labels and query strings of the quick views. `counts_views` shows the number of rows of each.
    `is_counted` shows the total number of rows. `offers` are narrower lists for a query that takes too long.
    `actions` are buttons of the list. `bulk` are buttons for the ticked rows, whose paths take the keys as `ids`.
    Only rows on which the caller may perform `bulk_action` have a box.
    """
    by_row = row_filters(table, caller)
    listing = listing_of(table, caller, by_row, more)
    query = parse_list_query(listing, decode_pairs(request.query_string))
    problem: str | None = None
    counts: dict[str, int] = {}
    ticked = request.args.get(TICKED, "")
    end: int | None = None
    try:
        counts = count_views(caller, listing, views) if counts_views else {}
        page = queries.fetch_page(
            lambda limit: find_rows(query, limit, total=is_counted), CHOSEN_MAX if ticked else PAGE_ROWS
        )
        if query.offset and not page.rows:
            end = queries.count_rows(caller, listing.relation, query.text())
    except TimedOut as fault:
        record_fault(fault)
        problem, page = fault_message(fault), EMPTY_PAGE
    last = query.offset + len(page.rows)
    typed, unshown = query.form_values()
    labels, suggests = labels_of_filters(table, by_row, more), suggestions_of(by_row, more)
    typed |= {name: shown_choice(suggests, name, typed[name]) for name in suggests if name in typed}
    shown = show_rows(table, caller, page.rows)
    boxes = boxes_of(table, caller, shown.keys, bulk_action) if bulk else []
    total = last if page.total is None and page.rows and not page.has_more else page.total
    return render_page(
        "list.html",
        400 if problem else 200,
        table=table,
        query=query,
        zone=zone_info() if listing.moments else None,
        labels=labels,
        problem=problem,
        offers=offers(query) if problem else [],
        shown=shown,
        boxes=boxes,
        ticked=boxes if ticked == EVERY else ticked.split(","),
        every=(f"all {total:,}" if total is not None and total <= CHOSEN_MAX else f"the first {CHOSEN_MAX}"),
        every_url=console_url(with_ticks(query.path(), EVERY)),
        total=total,
        end=end,
        end_url=query.url(offset=max(0, (end or 0) - 1) // PAGE_ROWS * PAGE_ROWS),
        first=query.offset + 1,
        last=last,
        pages=page_links(query, page),
        before=query.url(offset=max(0, query.offset - page.size)) if query.offset else None,
        after=query.url(offset=query.offset + page.size) if page.has_more else None,
        typed=typed,
        unshown=unshown,
        filters=filters_in_words(query, labels, suggests),
        company=queries.company_of(caller),
        searched=searched_labels(table, caller),
        suggests=suggests,
        may_create=table.permits(caller, Action.INSERT) and table.model.grant is None,
        views=views,
        counts=counts,
        actions=[*actions(query), *import_links(table, caller)],
        bulk=bulk,
    )


def labels_of_filters(table: Table, by_row: Sequence[RowFilter], more: MoreFilters) -> dict[str, str]:
    """Return the labels of the fields of a list's form, by column."""
    labels = {each.name: label_of(each) for each in table.relation.attributes.values()}
    return labels | {each.column: each.label for each in by_row} | {**more.labels}


def suggestions_of(by_row: Sequence[RowFilter], more: MoreFilters) -> dict[str, RowChoice]:
    """Return the rows that the fields of a list's form suggest, by name of the field."""
    by_column = {f"{EXACT_FIELD}{column}": choice for column, choice in more.choices.items()}
    return {field_name(each): each.choice for each in by_row if not each.options} | by_column


def shown_choice(suggests: Mapping[str, RowChoice], name: str, text: str) -> str:
    """Return the text of a field. The field of a row has the row's title with a key or a number."""
    numbered = NUMBERED.fullmatch(text)
    is_row = name in suggests and (numbered or name.startswith(EXACT_FIELD))
    return suggests[name].shown(numbered[1] if numbered else text) if is_row else text


def filters_in_words(query: ListQuery, labels: Mapping[str, str], suggests: Mapping[str, RowChoice]) -> list[str]:
    """Return the filters of a list in words. One without a field of the form is as it is written."""
    found = [f"Contains “{query.word}”"] if query.word else []
    return found + [filter_in_words(query.listing, labels, suggests, *each) for each in query.filters]


def filter_in_words(
    listing: Listing, labels: Mapping[str, str], suggests: Mapping[str, RowChoice], column: str, value: str
) -> str:
    represented = listing.field_of(column, value)
    if represented is None:
        return f"{column}={value}"
    field_of_form, text = represented
    label = labels[listing.titles.get(column, column)]
    if option := listing.equals.get(column, {}).get(value):
        return option if value == "is.null" else f"{label}: {option}"
    if column in listing.ranges:
        return f"{label} {'from' if value.startswith('gte') else 'until'} {long_day(read_date(text))}"
    if column in listing.titles:
        return f"{label} contains “{short(text)}”"
    return f"{label}: {short(shown_choice(suggests, field_of_form, text))}"


def boxes_of(table: Table, caller: Caller, keys: Sequence[str], action: Action | None) -> list[str]:
    """Return the keys of the rows that have a box."""
    if action is None or not keys:
        return list(keys)
    text = f"select=id&id=in.({','.join(keys)})"
    allowed = {
        str(row["id"]) for row in queries.select_rows(caller, table.name, text, limit=len(keys), within=action).rows
    }
    return [each for each in keys if each in allowed]


def import_links(table: Table, caller: Caller) -> list[Link]:
    if table.name not in TARGETS or not table.permits(caller, Action.INSERT):
        return []
    return [("Import", console_url(f"/import/{table.name}"))]


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
        return queries.select_parts(
            caller, listing.relation, query.parts(), limit=limit, offset=query.offset, total=total and not query.word
        )


def admit_reader(transaction: Transaction, name: str) -> Caller:
    """Return the caller as of this transaction; raise a fault if their session or privilege has ended."""
    caller = auth.admit_session(transaction)
    policy.require(caller.profile, Action.READ, queries.relation(name).model)
    return caller


AT_ONCE_ROWS_MAX = 10_000  # about 10 MB in memory
DOWNLOAD_PAGE_ROWS = 2_000  # about 400 KB: smaller pages cost more transactions, larger ones delay other requests
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
    """Return `select=` for the columns of a table, each reference with the title of its row."""
    columns: list[str] = []
    for name in table.shown_columns:
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
    size = DOWNLOAD_PAGE_ROWS
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
    url = request.host_url.rstrip("/") + query.csv_url(("id", f"gt.{after}"))
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


CHOSEN_MAX = 200
NAMED_MAX = 4
EVERY = "all"
"""Instead of the keys of ticked rows: each row of the page that has a box."""


def return_path(source: MultiDict[str, str], name: str) -> str:
    """Return the page that a form names in `back`, or the list of a table."""
    return page_path(source.get("back")) or f"/{name}"


def ask_for_ticks(back: str, noun: str, verb: str, fault: Fault | None = None) -> Response:
    """Return to the list, which says what to tick: a row, or other rows than the refused ones.

    The rows that the fault does not refuse stay ticked.
    """
    if fault is None:
        return redirect_to(back, f"Tick at least one {noun}, then press {verb}.")
    record_fault(fault)
    text = f"{fault.message.rstrip('.')}. Tick other {noun}s, then press {verb}."
    if isinstance(fault, RowsRefused) and fault.allowed:
        text = f"{fault.message} The others are still ticked: press {verb}."
        back = with_ticks(back, ",".join(map(str, sorted(fault.allowed))))
    return redirect_to(back, text)


def with_ticks(path: str, keys: str) -> str:
    """Return the path of a list whose rows with these keys are ticked: its first CHOSEN_MAX rows are one page."""
    return f"{path}{'&' if '?' in path else '?'}{TICKED}={keys}"


def require_allowed(table: Table, caller: Caller, ids: Collection[int], allowed: set[int], doing: str) -> None:
    """Raise RowsRefused unless all of these rows are allowed. The message names refused rows that the caller sees."""
    refused = [each for each in ids if each not in allowed]
    if not refused:
        return
    text = f"select={table.title_select}&id=in.({','.join(map(str, refused))})&order=id"
    named = [table.title(row) for row in queries.select_rows(caller, table.name, text, limit=NAMED_MAX).rows]
    others = len(refused) - len(named)
    listed = [*named, *([f"{others} other{'s' if others > 1 else ''}"] if named and others else [])]
    what = " and ".join(filter(None, (", ".join(listed[:-1]), *listed[-1:])))
    raise RowsRefused(f"You may not {doing} {what or f'{others} of the chosen rows'}.", allowed & set(ids))


def chosen_ids(source: MultiDict[str, str]) -> list[int]:
    """Return the ids of the ticked rows of a form; raise LimitExceeded if there are too many."""
    texts = source.getlist("ids")
    ids = read_ids(texts) if any(texts) else []
    if len(ids) > CHOSEN_MAX:
        raise LimitExceeded(CHOSEN_MAX, "rows at once")
    return ids


def chosen_rows(table: Table, caller: Caller, source: MultiDict[str, str]) -> list[Row]:
    """Return the rows that a form names; raise RowsRefused unless the caller may change each of them."""
    ids = chosen_ids(source)
    if not ids:
        return []
    text = f"{table.list_select(caller)}&id=in.({','.join(map(str, ids))})&order={table.order},id"
    rows = queries.select_rows(caller, table.name, f"select={text}", limit=len(ids), within=Action.UPDATE).rows
    require_allowed(table, caller, ids, {row["id"] for row in rows}, "change")
    return rows
