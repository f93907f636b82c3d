"""The audit log: the names of users, the links to rows, and the values before and after."""

from __future__ import annotations

from flask import Response

from access import policy
from access.caller import Caller
from engine.query.catalog import catalog
from models import AuditLog
from models.types import TIMESTAMP
from routes.console.components import downloads, user_choice
from routes.console.components.display import label_of
from routes.console.components.lists import MoreFilters, list_page
from routes.console.components.tables import PATH, PRESENTATIONS, Presentation, Row, Section, Table, table_of
from routes.console.components.template_filters import moment, words
from routes.console.components.titles import user_title
from routes.console.pages.rows import own_view, show_page

USERS_LISTED_MAX = 300  # of the filter; with more users, an address takes the id


NAME = AuditLog.__tablename__


def filters(caller: Caller) -> MoreFilters:
    """Return the filters by table, user and row."""
    users = user_choice.list_users(caller, USERS_LISTED_MAX) or []
    selects = {
        "relation": {f"eq.{each}": table_of(each).plural for each in catalog().relations if each != NAME},
        "actor_id": {f"eq.{each['id']}": user_title(each) for each in users},
    }
    return MoreFilters(selects, exact=("row_key",))


def add_actor_names(caller: Caller, rows: list[Row]) -> None:
    """Add the name of each entry's user, as far as the caller sees it."""
    names = user_choice.names_of(caller, (row["actor_id"] for row in rows))
    for row in rows:
        row["actor_name"] = names.get(row["actor_id"])


def actor_cell(row: Row) -> tuple[str, str]:
    if row["actor_name"] is None:
        return ("Another user" if row["actor_id"] else "–"), ""
    return row["actor_name"], f"{PATH}{table_of('users').path}/{row['actor_id']}"


def row_cell(row: Row) -> tuple[str, str]:
    """Return the key of the row that an entry is about, with a link to its page."""
    if row["row_key"] is None:
        return "–", ""
    has_page = row["relation"] in catalog().relations and row["action"] != "delete"
    return row["row_key"], f"{PATH}{table_of(row['relation']).path}/{row['row_key']}" if has_page else ""


def relation_cell(row: Row) -> tuple[str, str]:
    is_table = row["relation"] in catalog().relations
    return (table_of(row["relation"]).plural if is_table else row["relation"]), ""


def changes_section(caller: Caller, row: Row, may_edit: bool) -> Section | None:
    """Return the values before and after a change, field by field."""
    before, after = row["before"] or {}, row["after"] or {}
    if not before and not after:
        return None
    attributes = catalog().relations[row["relation"]].attributes if row["relation"] in catalog().relations else {}
    lines = [
        (
            label_of(attributes[each]) if each in attributes else words(each),
            text_of(before.get(each), attributes.get(each)),
            text_of(after.get(each), attributes.get(each)),
        )
        for each in dict.fromkeys((*before, *after))
    ]
    return "audit_changes.html", {"lines": lines}


def text_of(value: object, attribute: object) -> str:
    if value is None:
        return "–"
    return moment(value) if getattr(attribute, "type", None) is TIMESTAMP else str(value)


@own_view(NAME, "")
def list_entries(table: Table, caller: Caller) -> Response:
    return list_page(table, caller, more=filters(caller), is_counted=False)


@own_view(NAME, ".csv")
def download_entries(table: Table, caller: Caller) -> Response:
    return downloads.download(table, caller, filters(caller))


@own_view(NAME, "/{key}")
def show_entry(table: Table, caller: Caller, key: int) -> Response:
    return show_page(table, caller, key, sections=(changes_section,))


PRESENTATIONS[NAME] = Presentation(
    allowed=policy.may_administer,
    title=lambda row: moment(row["at"]),
    prepare=add_actor_names,
    cells={
        "action": lambda row: (words(row["action"]), ""),
        "actor_id": actor_cell,
        "relation": relation_cell,
        "row_key": row_cell,
    },
    hidden=("at", "before", "after", "client_id"),
)
