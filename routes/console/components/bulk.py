"""The rows that a list's form names: those of the ticked boxes, of the page, or of the whole list."""

from __future__ import annotations

from flask import Response
from werkzeug.datastructures import MultiDict

from access.caller import Caller
from engine.query.rule import Action
from models.errors import Fault
from models.types import InvalidInput
from routes.console.components import queries
from routes.console.components.error_pages import record_fault
from routes.console.components.function_forms import read_ids
from routes.console.components.list_query import parse_list_query
from routes.console.components.lists import MoreFilters, listing_of
from routes.console.components.page import redirect_to
from routes.console.components.row_filters import row_filters
from routes.console.components.tables import PATH, Row, Table
from routes.console.session.redirects import safe_redirect
from routes.postgrest.encoding import decode_pairs
from routes.postgrest.limits import LimitExceeded

CHOSEN_MAX = 200


def return_path(source: MultiDict[str, str], name: str) -> str:
    """Return the page that a form names in `back`, or the list of a table."""
    return safe_redirect(PATH + source.get("back", "")).removeprefix(PATH) or f"/{name}"


def ask_for_ticks(back: str, noun: str, verb: str, fault: Fault | None = None) -> Response:
    """Return to the list, which says what to tick: a row, or others than those that the fault refuses."""
    text = f"Tick at least one {noun}, then press {verb}."
    if fault is not None:
        record_fault(fault)
        text = f"{fault.message.rstrip('.')}. Tick other {noun}s, then press {verb}."
    return redirect_to(back, text)


def chosen_ids(table: Table, caller: Caller, source: MultiDict[str, str], more: MoreFilters) -> list[int]:
    """Return the ids that a form names; raise LimitExceeded if there are too many.

    `ids` are ticked, `all` are those of the page, and `every` stands for the list of `back`.
    """
    texts = [*source.getlist("ids"), source.get("all", "")]
    if "every" in source:
        listing = listing_of(table, caller, row_filters(table, caller), more)
        query = parse_list_query(listing, decode_pairs(source.get("back", "").partition("?")[2].encode()))
        rows = queries.select_rows(caller, table.name, query.text(), limit=CHOSEN_MAX + 1).rows
        texts = [str(row["id"]) for row in rows]
    ids = read_ids(texts) if any(texts) else []
    if len(ids) > CHOSEN_MAX:
        raise LimitExceeded(CHOSEN_MAX, "rows at once")
    return ids


def chosen_rows(table: Table, caller: Caller, source: MultiDict[str, str], more: MoreFilters) -> list[Row]:
    """Return the rows that a form names; raise InvalidInput unless the caller may change each of them."""
    ids = chosen_ids(table, caller, source, more)
    if not ids:
        return []
    text = f"{table.list_select(caller)}&id=in.({','.join(map(str, ids))})&order={table.order},id"
    rows = queries.select_rows(caller, table.name, f"select={text}", limit=len(ids), within=Action.UPDATE).rows
    if len(rows) < len(ids):
        raise InvalidInput(f"You may not change {len(ids) - len(rows)} of the chosen rows")
    return rows
