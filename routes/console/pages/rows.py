"""The pages of every table of the registry: its list, its rows, the forms, the deletion and the CSV file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from urllib.parse import quote, urlencode

from flask import Response, request

from access import policy
from access.caller import Caller
from access.decorators import load_caller
from engine.open import reading, writing
from engine.query.statement import Action
from inspections.imports.sources import TARGETS
from inspections.reporting.dashboard import StepState, read_first_steps
from models import AuditLog, Client
from routes.console.components import queries
from routes.console.components.display import page_lines, prepare_rows, reference_cells, show_rows, value_cell
from routes.console.components.list_query import RESERVED_PARAMETERS, SEARCH_CHARACTERS_MAX, parse_list_query
from routes.console.components.lists import Link, listing_of
from routes.console.components.page import HEADERS, redirect_to, render_page
from routes.console.components.queries import once
from routes.console.components.records import QUICK_FORMS, quick_entry, require_row, require_written
from routes.console.components.row_choice import RowChoice
from routes.console.components.tables import Row, RowReference, Section, Table, referring
from routes.console.components.template_filters import capital, short_title
from routes.console.pages.grants import grant_links
from routes.console.pages.undo import undo_of
from routes.console.session.urls import console_url
from routes.http.faults import UnknownPath
from routes.postgrest.payload import decode_pairs

RELATED_SHOWN = 15
View = Callable[..., Response]


def show_page(
    table: Table,
    caller: Caller,
    key: object,
    *,
    sections: Sequence[Callable[[Caller, Row, bool], Section | None]] = (),
    aside: Sequence[Callable[[Caller, Row, bool], Section | None]] = (),
    actions: Callable[[Caller, Row, bool], list[Link]] = lambda caller, row, may_edit: [],
    links: Sequence[Link] = (),
    may_add: Callable[[Caller, Row], bool] = lambda caller, row: False,
    is_locked: Callable[[Caller, Row], bool] = lambda caller, row: False,
    stays: Callable[[Caller, Row], bool] = lambda caller, row: False,
) -> Response:
    """Return the page of a row.

    `sections` are parts of the page, `actions` its buttons, and `links` are at its foot. With parts `aside`, these,
    the values of the row and its related rows are behind one line. The last argument of a section and of `actions` is
    whether the caller may edit the row. `may_add` is whether a caller who may not edit the row may add rows that refer
    to it. `is_locked` is whether a rule refuses the changes of the row, and `stays` whether it refuses its deletion.
    """
    row = queries.first_row(caller, table.name, f"select={table.page_select}&{table.filters(key)}")
    if row is None:
        raise UnknownPath
    prepare_rows(table, caller, [row])
    filters = table.filters(key)
    may_edit = (
        table.permits(caller, Action.UPDATE)
        and queries.is_permitted(caller, Action.UPDATE, table.name, filters)
        and not is_locked(caller, row)
    )
    adds = may_edit or may_add(caller, row)
    whole = reference_cells(caller, table.parent)(row) if table.parent is not None else None
    found = [section(caller, row, may_edit) for section in sections]
    related = filter(None, related_rows(table, caller, row, adds))
    return render_page(
        "page.html",
        table=table,
        row=row,
        url=table.url(row),
        heading=table.title(row),
        first_steps=first_steps(caller),
        whole=whole if whole is not None and whole.url else None,
        badges=[value_cell(table, caller, table.relation.attributes[each], row) for each in table.presentation.badges],
        lines=page_lines(table, caller, row),
        sections=[*filter(None, (*found, *(section(caller, row, may_edit) for section in aside))), *related],
        is_folded=bool(aside),
        actions=actions(caller, row, may_edit),
        foot=[*links, *entries_link(table, caller, row)],
        may_edit=may_edit and table.model.grant is None,
        may_delete=table.permits(caller, Action.DELETE)
        and queries.is_permitted(caller, Action.DELETE, table.name, filters)
        and not stays(caller, row),
    )


def first_steps(caller: Caller) -> list[StepState]:
    """Return the steps that a new database needs, to the role that may take them all."""
    if not policy.permits(caller.profile, Action.INSERT, Client):
        return []
    with reading() as transaction:
        return read_first_steps(transaction)


def entries_link(table: Table, caller: Caller, row: Row) -> list[tuple[str, str]]:
    """Return the link to a row's entries in the audit log, if the caller may read the log."""
    is_reader = policy.may_administer(caller.role) and policy.permits(caller.profile, Action.READ, AuditLog)
    if not is_reader or table.model is AuditLog:
        return []
    url = console_url(f"/{AuditLog.__tablename__}?relation=eq.{table.name}&row_key=eq.{table.key_text(row)}")
    return [(f"Audit log of this {table.noun}", url)]


def related_rows(table: Table, caller: Caller, row: Row, may_add: bool) -> list[Section | None]:
    """Return the lists of rows of other tables that refer to a row."""
    return [
        related_section(other, caller, row, other.references[key.column], may_add)
        for other, key in referring(table)
        if is_related(other, key.column) and other.permits(caller, Action.READ)
        if other.presentation.related is None or other.presentation.related(caller, key.column, row)
    ]


def is_related(other: Table, column: str) -> bool:
    """Return whether the page of a referred row lists the rows. A user's page does not list the grants by the user."""
    grant, columns = other.model.grant, other.presentation.related_by
    return (grant is None or column in (grant.grantee, grant.target)) and (columns is None or column in columns)


def related_section(other: Table, caller: Caller, row: Row, reference: RowReference, may_add: bool) -> Section | None:
    key, is_grant = row[reference.key.referred_column], other.model.grant is not None
    listing = listing_of(other, caller)
    listed = parse_list_query(listing, [(reference.column, f"eq.{key}")])
    page = queries.fetch_page(
        lambda limit: queries.select_parts(caller, other.name, listed.parts(), limit=limit), RELATED_SHOWN
    )
    if is_grant and not page.rows:
        return None
    actions: dict[str, list[tuple[str, str]]] = {}
    if is_grant:
        actions = grant_links(other, caller, page.rows, reference.table.row_path(row))
    elif other.presentation.part_of == reference.column and may_add and other.permits(caller, Action.UPDATE):
        for each in page.rows:
            url = other.url(each)
            links = [("Edit", f"{url}/edit"), *other.presentation.row_links(each, url), ("Delete", f"{url}/delete")]
            actions[other.key_text(each)] = links
    return "related.html", {
        "shown": show_rows(other, caller, page.rows, without=reference.column),
        "actions": actions,
        "has_more": page.has_more,
        **related_links(other, caller, row, reference, may_add),
    }


def related_links(other: Table, caller: Caller, row: Row, reference: RowReference, may_add: bool) -> dict[str, object]:
    """Return the links to all rows of a table that refer to a row, and the forms that add such a row."""
    key = row[reference.key.referred_column]
    may_create = other.permits(caller, Action.INSERT) and (may_add or reference != other.parent)
    may_create = may_create and other.model.grant is None
    return {
        "other": other,
        "all": console_url(f"{other.path}?{reference.column}=eq.{key}"),
        "new": console_url(f"{other.path}/new?{reference.column}={key}") if may_create else "",
        "import": console_url(f"/import/{other.name}?{reference.column}={key}")
        if may_create and other.name in TARGETS and reference == other.parent
        else "",
        "quick": quick_entry(other, caller, row) if may_create and other.name in QUICK_FORMS else None,
    }


def delete_page(table: Table, caller: Caller, key: object) -> Response:
    row = require_row(caller, Action.DELETE, table.name, table.filters(key), f"select={table.select('*')}")
    takes: dict[str, int] = {}
    stops: dict[str, int] = {}
    for other, foreign_key in referring(table):
        if foreign_key.ondelete == "SET NULL" or not policy.permits(caller.profile, Action.READ, other.model):
            continue
        referred = row[foreign_key.referred_column]
        count = queries.count_rows(caller, other.name, f"{foreign_key.column}=eq.{referred}")
        counts = takes if foreign_key.ondelete == "CASCADE" else stops
        label = "access grant" if other.model.grant is not None else other.nouns.removesuffix("s")
        counts[label] = counts.get(label, 0) + count
    return render_page(
        "delete.html",
        what=table.describe(row),
        path=table.home(row, key),
        takes=takes.items(),
        stops=[(label, count) for label, count in stops.items() if count],
    )


def delete_row(table: Table, caller: Caller, key: object) -> Response:
    filters = table.filters(key)
    with writing() as transaction:
        now = load_caller(transaction)

        def delete() -> list[str]:
            row = require_row(now, Action.DELETE, table.name, filters, f"select={table.select('*')}")
            require_written(queries.delete_in(transaction, now, table.name, filters))
            return [table.home(row), f"{short_title(capital(table.describe(row)))} deleted."]

        home, done = once(transaction, now, table.name, delete)
        undo = undo_of(now, f"relation=eq.{table.name}&row_key=eq.{quote(str(key))}&action=eq.delete")
    return redirect_to(home, done, undo)


def suggest(table: Table, caller: Caller) -> Response:
    """Return rows that contain every word of `q`, as texts that choose them, for the suggestions of a field."""
    pairs = decode_pairs(request.query_string)
    named = dict(pairs)
    skipped = ("q", "within", *RESERVED_PARAMETERS)
    filters = urlencode([(key, value or "") for key, value in pairs if key not in skipped])
    may_update = named.get("within") == "update" and table.permits(caller, Action.UPDATE)
    choice = RowChoice(caller, table, Action.UPDATE if may_update else Action.READ, filters)
    word = (named.get("q") or "").strip()[:SEARCH_CHARACTERS_MAX]
    found = [asdict(choice.suggestion(row)) for row in choice.find(word)] if word else []
    return Response(json.dumps(found, ensure_ascii=False), 200, {**HEADERS, "Content-Type": "application/json"})
