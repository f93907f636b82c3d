"""The audit log: the names of users and rows, the links to rows, and the values before and after."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

from flask import Response, request

from access import policy
from access.caller import Caller
from engine.query.catalog import Attribute, catalog
from engine.query.rule import Action
from models import AuditLog
from models.errors import Fault
from models.types import DATE, TIMESTAMP, InvalidInput
from routes.console.components import downloads, queries, user_choice
from routes.console.components.display import label_of
from routes.console.components.fields import SeveralMatch
from routes.console.components.list_query import EXACT_FIELD
from routes.console.components.lists import MoreFilters, list_page
from routes.console.components.page import redirect_to
from routes.console.components.row_choice import RowChoice
from routes.console.components.tables import PATH, PRESENTATIONS, Presentation, Row, Section, Table, table_of
from routes.console.components.template_filters import long_day, moment, words
from routes.console.components.titles import user_title
from routes.console.components.user_choice import UUID_TEXT
from routes.console.pages.rows import own_view, show_page

USERS_LISTED_MAX = 300  # of the filter; with more users, a field suggests them
PERSON = "actor_id"
TYPED_PERSON = f"{EXACT_FIELD}{PERSON}"
NOBODY = "00000000-0000-0000-0000-000000000000"

NAME = AuditLog.__tablename__


def filters(caller: Caller) -> MoreFilters:
    """Return the filters by table, user and row."""
    users = user_choice.list_users(caller, USERS_LISTED_MAX)
    relations = {f"eq.{each}": table_of(each).plural for each in catalog().relations if each != NAME}
    if users is None:
        choices = {PERSON: RowChoice(caller, table_of("users"))}
        return MoreFilters({"relation": relations}, exact=("row_key", PERSON), choices=choices)
    people = {f"eq.{each['id']}": user_title(each) for each in users}
    return MoreFilters({"relation": relations, PERSON: people}, exact=("row_key",))


def person_filter(choice: RowChoice, typed: str) -> str:
    """Return the filter by the users that a text names or whose texts contain its words."""
    try:
        return f"eq.{choice.resolve(typed)}"
    except SeveralMatch as several:
        return f"in.({','.join(each.value for each in several.choices)})"
    except InvalidInput:
        return f"eq.{NOBODY}"


def add_names(caller: Caller, rows: list[Row]) -> None:
    """Add the name of each entry's user, and the title of its row, as far as the caller sees them."""
    names = user_choice.names_of(caller, (row["actor_id"] for row in rows))
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
    return row["actor_name"], f"{PATH}{table_of('users').path}/{row['actor_id']}"


def row_cell(row: Row) -> tuple[str, str]:
    """Return the title and the number of the row that an entry is about, with a link to its page."""
    key = row["row_key"]
    if key is None:
        return "–", ""
    if row["relation"] not in catalog().relations:
        return key, ""
    table = table_of(row["relation"])
    text = row["row_title"] or key
    if table.has_number and row["row_title"] and not text.endswith(f" {key}"):
        text = f"{text} ({key})"
    return text, f"{PATH}{table.path}/{key}" if row["action"] != "delete" else ""


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
    kind = getattr(attribute, "type", None)
    return moment(value) if kind is TIMESTAMP else long_day(value) if kind is DATE else str(value)


@own_view(NAME, "")
def list_entries(table: Table, caller: Caller) -> Response:
    more, typed = filters(caller), request.args.get(TYPED_PERSON, "").strip()
    if typed and PERSON in more.choices and not UUID_TEXT.fullmatch(typed):
        pairs = [(name, value) for name, value in request.args.items() if value and name != TYPED_PERSON]
        pairs.append((PERSON, person_filter(more.choices[PERSON], typed)))
        return redirect_to(f"{table.path}?{urlencode(pairs)}")
    return list_page(table, caller, more=more, is_counted=False)


@own_view(NAME, ".csv")
def download_entries(table: Table, caller: Caller) -> Response:
    return downloads.download(table, caller, filters(caller))


@own_view(NAME, "/{key}")
def show_entry(table: Table, caller: Caller, key: int) -> Response:
    return show_page(table, caller, key, sections=(changes_section,))


PRESENTATIONS[NAME] = Presentation(
    allowed=policy.may_administer,
    title=lambda row: moment(row["at"]),
    prepare=add_names,
    cells={
        "action": lambda row: (words(row["action"]), ""),
        "actor_id": actor_cell,
        "relation": relation_cell,
        "row_key": row_cell,
    },
    hidden=("at", "before", "after", "client_id"),
)
