"""The pages of every table of the registry: its list, its rows, the forms, the deletion and the CSV file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from urllib.parse import urlencode

from flask import Response, request
from flask.blueprints import BlueprintSetupState

from access import policy
from access.caller import Caller
from access.decorators import load_caller
from access.roles import Role
from engine.current import writing
from engine.query.rule import Action
from inspections.imports.mapping import TARGETS
from models import AuditLog
from routes.console.components import downloads, grants, queries, records
from routes.console.components.display import page_lines, prepare_rows, reference_cell, show_rows, value_cell
from routes.console.components.list_query import RESERVED_PARAMETERS, SEARCH_CHARACTERS_MAX
from routes.console.components.lists import Link, list_page
from routes.console.components.page import HEADERS, bp, redirect_to, render_page
from routes.console.components.quick_entry import QUICK_FORMS, quick_entry
from routes.console.components.records import require_row, require_written
from routes.console.components.row_choice import RowChoice
from routes.console.components.submissions import once
from routes.console.components.tables import PATH, Row, RowReference, Section, Table, all_tables, referring
from routes.console.components.template_filters import capital, short_title
from routes.console.session import auth
from routes.postgrest.encoding import decode_pairs
from routes.postgrest.requests import UnknownPath

RELATED_SHOWN = 15
View = Callable[..., Response]


def show_page(
    table: Table,
    caller: Caller,
    key: object,
    *,
    sections: Sequence[Callable[[Caller, Row, bool], Section | None]] = (),
    actions: Callable[[Caller, Row, bool], list[Link]] = lambda caller, row, may_edit: [],
    links: Sequence[Link] = (),
    may_add: Callable[[Caller, Row], bool] = lambda caller, row: False,
) -> Response:
    """Return the page of a row.

    `sections` are parts of the page, `actions` its buttons, and `links` are at its foot. The last argument of a
    section and of `actions` is whether the caller may edit the row. `may_add` is whether a caller who may not edit
    the row may add rows that refer to it.
    """
    row = queries.first_row(caller, table.name, f"select={table.select('*')}&{table.filters(key)}")
    if row is None:
        raise UnknownPath
    prepare_rows(table, caller, [row])
    filters = table.filters(key)
    may_edit = table.permits(caller, Action.UPDATE) and queries.is_permitted(caller, Action.UPDATE, table.name, filters)
    adds = may_edit or may_add(caller, row)
    whole = reference_cell(caller, table.parent, row) if table.parent is not None else None
    found = [section(caller, row, may_edit) for section in sections]
    return render_page(
        "page.html",
        table=table,
        row=row,
        url=table.url(row),
        heading=table.title(row),
        whole=whole if whole is not None and whole.url else None,
        badges=[value_cell(table, caller, table.relation.attributes[each], row) for each in table.presentation.badges],
        lines=page_lines(table, caller, row),
        sections=[*filter(None, (*found, *related_rows(table, caller, row, adds)))],
        actions=actions(caller, row, may_edit),
        foot=[*links, *entries_link(table, caller, row)],
        may_edit=may_edit and table.model.grant is None,
        may_delete=table.permits(caller, Action.DELETE)
        and queries.is_permitted(caller, Action.DELETE, table.name, filters),
    )


def entries_link(table: Table, caller: Caller, row: Row) -> list[tuple[str, str]]:
    """Return the link to a row's entries in the audit log, if the caller may read the log."""
    is_reader = policy.may_administer(caller.role) and policy.permits(caller.profile, Action.READ, AuditLog)
    if not is_reader or table.model is AuditLog:
        return []
    url = f"{PATH}/{AuditLog.__tablename__}?relation=eq.{table.name}&row_key=eq.{table.key_text(row)}"
    return [(f"Audit log of this {table.noun}", url)]


def related_rows(table: Table, caller: Caller, row: Row, may_add: bool) -> list[Section | None]:
    """Return the lists of rows of other tables that refer to a row."""
    return [
        related_section(other, caller, row, other.references[key.column], may_add)
        for other, key in referring(table)
        if is_related(other, key.column) and other.permits(caller, Action.READ)
        if other.presentation.related(caller, key.column, row)
    ]


def is_related(other: Table, column: str) -> bool:
    """Return whether the page of a referred row lists the rows. A user's page does not list the grants by the user."""
    grant = other.model.grant
    return grant is None or column in (grant.grantee, grant.target)


def related_section(other: Table, caller: Caller, row: Row, reference: RowReference, may_add: bool) -> Section | None:
    key, is_grant = row[reference.key.referred_column], other.model.grant is not None
    text = f"select={other.list_select(caller)}&{reference.column}=eq.{key}&order={other.order}"
    if other.order != "id.desc":
        text += "".join(f",{each}.desc" for each in other.relation.key)
    page = queries.first_page(caller, other.name, text, RELATED_SHOWN)
    if is_grant and not page.rows:
        return None
    may_create = other.permits(caller, Action.INSERT) and (may_add or reference != other.parent)
    may_create = may_create and not is_grant
    actions: dict[str, list[tuple[str, str]]] = {}
    if is_grant:
        actions = grants.grant_links(other, caller, page.rows, reference.table.url(row).removeprefix(PATH))
    elif other.presentation.part_of == reference.column and may_add and other.permits(caller, Action.UPDATE):
        urls = {other.key_text(each): other.url(each) for each in page.rows}
        actions = {each: [("Edit", f"{url}/edit"), ("Delete", f"{url}/delete")] for each, url in urls.items()}
    return "related.html", {
        "other": other,
        "shown": show_rows(other, caller, page.rows, without=reference.column),
        "actions": actions,
        "all": f"{PATH}{other.path}?{reference.column}=eq.{key}",
        "new": f"{PATH}{other.path}/new?{reference.column}={key}" if may_create else "",
        "import": f"{PATH}/import/{other.name}?{reference.column}={key}"
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
        label = "access grant" if other.model.grant is not None else other.plural.lower().removesuffix("s")
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
    return redirect_to(home, done)


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


VIEWS: tuple[tuple[str, Action, View, View | None], ...] = (
    ("", Action.READ, list_page, None),
    (".csv", Action.READ, downloads.download, None),
    ("/suggest", Action.READ, suggest, None),
    ("/{key}", Action.READ, show_page, None),
    ("/new", Action.INSERT, records.new_row, records.create_row),
    ("/{key}/edit", Action.UPDATE, records.edit_row, records.update_row),
    ("/{key}/delete", Action.DELETE, delete_page, delete_row),
)
"""By the end of the URL: the privilege that the page needs, the page, and what its form does."""


OWN_VIEWS: dict[tuple[str, str], View] = {}
OWN_FORMS: dict[str, records.FormOf] = {}


def own_view(name: str, suffix: str) -> Callable[[View], View]:
    """Register the page of a table that has more than the page of any table, by the end of its URL."""

    def register(view: View) -> View:
        OWN_VIEWS[name, suffix] = view
        return view

    return register


def own_form(name: str) -> Callable[[records.FormOf], records.FormOf]:
    """Register the form of a table that has more than the form of any table."""

    def register(form: records.FormOf) -> records.FormOf:
        OWN_FORMS[name] = form
        return form

    return register


@bp.record
def register_tables(state: BlueprintSetupState) -> None:
    """Register the pages of each table for the actions that a role has the privilege for."""
    for table in all_tables():
        has_forms = not table.presentation.has_own_forms and table.model.grant is None
        actions = Action if has_forms else (Action.READ, Action.DELETE)
        permitted = {action for action in actions if any(policy.may_permit(role, action, table.model) for role in Role)}
        for suffix, action, view, submit in VIEWS:
            if action in permitted:
                register_view(state, table, suffix, action, OWN_VIEWS.get((table.name, suffix), view), submit)


def register_view(
    state: BlueprintSetupState, table: Table, suffix: str, action: Action, view: View, submit: View | None
) -> None:
    rule = table.path + suffix.format(key="<int:key>" if table.has_number else "<key>")
    # Each transaction of a list or a file has the full time limit.
    guard = auth.requires(
        action,
        table.model,
        shares_snapshot=suffix == "/{key}" or submit is not None,
        allowed=table.presentation.allowed,
    )
    is_form = action in (Action.INSERT, Action.UPDATE)
    own = {"form": OWN_FORMS[table.name]} if is_form and table.name in OWN_FORMS else {}
    for method, handler in (("GET", view), ("POST", submit)):
        if handler is not None:
            endpoint = f"{method} {rule}".replace(".", " ")
            state.add_url_rule(rule, endpoint, guard(partial(handler, table, **own)), methods=[method])
