"""The audit log: the names of users and rows, the links to rows, and the values before and after."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from flask import Response, request

from access import policy
from access.caller import Caller
from engine.query.catalog import Attribute, catalog
from engine.query.statement import Action
from models import AuditLog
from models.types import Fault, InvalidInput
from routes.console.components import lists, queries, row_choice
from routes.console.components.display import label_of, value_texts
from routes.console.components.fields import SeveralMatch
from routes.console.components.list_query import EXACT_FIELD
from routes.console.components.lists import MoreFilters, list_page
from routes.console.components.page import redirect_to
from routes.console.components.row_choice import UUID_TEXT, RowChoice
from routes.console.components.tables import Presentation, Row, Section, Table, table_of
from routes.console.components.template_filters import isolated, moment, user_title, words
from routes.console.pages.rows import show_page
from routes.console.pages.undo import undo_links
from routes.console.session.urls import console_url

USERS_LISTED_MAX = 300  # of the filter; with more users, a field suggests them
PERSON = "actor_id"
TYPED_PERSON = f"{EXACT_FIELD}{PERSON}"
NO_USER = "00000000-0000-0000-0000-000000000000"

NAME = AuditLog.__tablename__


ACTIONS: Final = {
    "insert": "Created",
    "update": "Changed",
    "delete": "Deleted",
    "submitted": "Form sent",
    "refused": "Refused",
    "sign_in_try": "Password entered",
    "sign_in": "Signed in",
    "sign_out": "Signed out",
    "password": "New password",
    "create_api_key": "API key made",
    "revoke_api_key": "API key revoked",
    "create_calendar_link": "Calendar link made",
    "revoke_calendar_link": "Calendar link revoked",
    "create_kiosk_display": "Display made",
    "revoke_kiosk_display": "Display revoked",
    "import": "Imported",
    "reset_clock": "Clock set back",
}
"""What was done, by the action of an entry."""
FUNCTION_NAME: Final = re.compile(r"(?:rpc/)?([a-z]+(?:_[a-z]+)*)")


def filters(caller: Caller) -> MoreFilters:
    """Return the filters by what was done, table, user and row."""
    actions = {f"eq.{each}": label for each, label in ACTIONS.items()}
    users = row_choice.list_users(caller, USERS_LISTED_MAX)
    relations = {f"eq.{each}": table_of(each).plural for each in catalog().relations if each != NAME}
    if users is None:
        choices = {PERSON: RowChoice(caller, table_of("users"))}
        return MoreFilters({"action": actions, "relation": relations}, exact=("row_key", PERSON), choices=choices)
    people = {f"eq.{each['id']}": user_title(each) for each in users}
    return MoreFilters({"action": actions, "relation": relations, PERSON: people}, exact=("row_key",))


def person_filter(choice: RowChoice, typed: str) -> str:
    """Return the filter by the users that a text names or whose texts contain its words."""
    try:
        return f"eq.{choice.resolve(typed)}"
    except SeveralMatch as several:
        return f"in.({','.join(each.value for each in several.choices)})"
    except InvalidInput:
        return f"eq.{NO_USER}"


def add_names(caller: Caller, rows: list[Row]) -> None:
    """Add the name of each entry's user, and the title of its row, as far as the caller sees them."""
    names = row_choice.names_of(caller, (row["actor_id"] for row in rows))
    keys: dict[str, set[str]] = {}
    for row in rows:
        for relation, key in row_keys(row):
            keys.setdefault(relation, set()).add(key)
    titles = {(each, key): title for each in keys for key, title in read_titles(caller, table_of(each), keys[each])}
    for row in rows:
        row["actor_name"] = names.get(row["actor_id"])
        row["row_title"] = ", ".join(titles[each] for each in row_keys(row) if each in titles)
    add_former_titles(caller, [row for row in rows if not row["row_title"]])


def row_keys(row: Row) -> list[tuple[str, str]]:
    """Return the relation and key of the row of an entry. A row with several keys is named by the rows of its keys."""
    if row["row_key"] is None or row["relation"] not in catalog().relations:
        return []
    table = table_of(row["relation"])
    if len(table.relation.key) == 1:
        return [(table.name, row["row_key"])]
    pairs = zip(table.relation.key, row["row_key"].split(","), strict=False)
    return [(table.references[column].table.name, key) for column, key in pairs if column in table.references]


def read_titles(caller: Caller, table: Table, keys: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the keys and titles of the rows that the caller reads."""
    column = table.relation.attributes[table.relation.key[0]]
    texts = sorted(each for each in keys if is_value(column, each))
    if not texts or not table.permits(caller, Action.READ):
        return
    text = f"select={table.title_select}&{column.name}=in.({','.join(texts)})"
    for row in queries.select_rows(caller, table.name, text, limit=len(texts)).rows:
        yield table.key_text(row), table.title(row)


def is_value(column: Attribute, text: str) -> bool:
    try:
        column.type.read_text(text)
    except Fault:
        return False
    return True


def add_former_titles(caller: Caller, rows: list[Row]) -> None:
    """Add the titles of rows that are gone, from the values in their entries."""
    ids = [str(row["id"]) for row in rows if row_keys(row)]
    if not ids:
        return
    text = f"select=id,before,after&id=in.({','.join(ids)})"
    entries = {each["id"]: each for each in queries.select_rows(caller, NAME, text, limit=len(ids)).rows}
    for row in rows:
        entry = entries.get(row["id"])
        values = (entry["before"] or entry["after"] or {}) if entry is not None else {}
        table = table_of(row["relation"]) if values else None
        if table is not None and len(table.relation.key) == 1 and set(table.title_columns) <= values.keys():
            row["row_title"] = table.title(values)


def actor_cell(row: Row) -> tuple[str, str]:
    if row["actor_name"] is None:
        return ("Another user" if row["actor_id"] else "–"), ""
    return row["actor_name"], console_url(f"{table_of('users').path}/{row['actor_id']}")


def row_cell(row: Row) -> tuple[str, str]:
    """Return the title and the number of the row that an entry is about, with a link to its page."""
    key = row["row_key"]
    if key is None or row["action"] == queries.SUBMITTED:
        return "–", ""
    if row["relation"] not in catalog().relations:
        return ("–" if UUID_TEXT.fullmatch(key) else isolated(key)), ""
    table = table_of(row["relation"])
    text = row["row_title"] or (key if table.has_number else f"{table.label} without a name here")
    if table.has_number and row["row_title"] and not text.endswith(f" {key}"):
        text = f"{text} ({key})"
    return text, console_url(f"{table.path}/{key}") if row["action"] != "delete" else ""


def relation_cell(row: Row) -> tuple[str, str]:
    if row["relation"] in catalog().relations:
        return table_of(row["relation"]).plural, ""
    named = FUNCTION_NAME.fullmatch(row["relation"])
    return (words(named[1]) if named is not None else isolated(row["relation"])), ""


def changes_section(caller: Caller, row: Row, may_edit: bool) -> Section | None:
    """Return the values before and after a change, field by field."""
    before, after = row["before"] or {}, row["after"] or {}
    if not before and not after:
        return None
    attributes: Mapping[str, Attribute] = {}
    if row["relation"] in catalog().relations:
        table = table_of(row["relation"])
        attributes = table.relation.attributes
        old, new = value_texts(table, caller, [before, after])
    else:
        names = row_choice.names_of(caller, [each["user_id"] for each in (before, after) if each.get("user_id")])
        old, new = (detail_texts(each, names) for each in (before, after))
    lines = [
        (label_of(attributes[each]) if each in attributes else words(each), old.get(each, "–"), new.get(each, "–"))
        for each in dict.fromkeys((*before, *after))
    ]
    return "audit_changes.html", {"lines": lines}


def detail_texts(details: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str]:
    """Return the details of an entry that is no change of a row, as text. `names` are those of users."""
    return {
        each: names.get(value, "Another user") if each == "user_id" else detail_text(value)
        for each, value in details.items()
    }


def detail_text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{words(name)}: {detail_text(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(detail_text, value))
    return "–" if value is None else isolated(str(value))


def list_entries(table: Table, caller: Caller) -> Response:
    more, typed = filters(caller), request.args.get(TYPED_PERSON, "").strip()
    if typed and PERSON in more.choices and not UUID_TEXT.fullmatch(typed):
        pairs = [(name, value) for name, value in request.args.items() if value and name != TYPED_PERSON]
        pairs.append((PERSON, person_filter(more.choices[PERSON], typed)))
        return redirect_to(f"{table.path}?{urlencode(pairs)}")
    return list_page(table, caller, more=more, is_counted=False)


def download_entries(table: Table, caller: Caller) -> Response:
    return lists.download(table, caller, filters(caller))


def show_entry(table: Table, caller: Caller, key: int) -> Response:
    return show_page(
        table, caller, key, sections=(changes_section,), actions=lambda caller, row, may_edit: undo_links(caller, key)
    )


PRESENTATIONS = {
    NAME: Presentation(
        allowed=policy.may_administer,
        title=lambda row: moment(row["at"]),
        prepare=add_names,
        cells={
            "action": lambda row: (ACTIONS.get(row["action"]) or words(row["action"]), ""),
            "actor_id": actor_cell,
            "relation": relation_cell,
            "row_key": row_cell,
        },
        hidden=("at", "before", "after", "client_id"),
    )
}
