"""What is special about the audit log: the names of users, the links to rows, and the values before and after."""

from __future__ import annotations

from access import policy
from access.caller import Caller
from engine.query.catalog import catalog
from models import AuditLog
from models.types import TIMESTAMP
from routes.console.components import user_choice
from routes.console.components.display import label_of
from routes.console.components.tables import HOOKS, PATH, Hooks, Row, Section, table_of
from routes.console.components.template_filters import moment, name, words

USERS_LISTED_MAX = 300  # of the filter; with more users, an address takes the id


def filters(caller: Caller) -> dict[str, dict[str, str]]:
    """Return the filters by table, action and user."""
    users = user_choice.list_users(caller, USERS_LISTED_MAX) or []
    return {
        "relation": {f"eq.{each}": table_of(each).plural for each in catalog().relations if each != HOOKED},
        "actor_id": {f"eq.{each['id']}": name(each["name"], 60) for each in users},
    }


def add_actor_names(caller: Caller, rows: list[Row]) -> None:
    """Add the name of each entry's user, as far as the caller sees it."""
    names = user_choice.names_of(caller, (row["actor_id"] for row in rows))
    for row in rows:
        row["actor_name"] = names.get(row["actor_id"])


def actor_cell(row: Row) -> tuple[str, str]:
    if row["actor_name"] is None:
        return ("Another user" if row["actor_id"] else "–"), ""
    return name(row["actor_name"], 60), f"{PATH}{table_of('users').path}/{row['actor_id']}"


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


HOOKED = AuditLog.__tablename__
HOOKS[HOOKED] = Hooks(
    allowed=policy.may_administer,
    is_counted=False,
    title=lambda row: moment(row["at"]),
    filters=filters,
    exact=("row_key",),
    prepare=add_actor_names,
    cells={
        "action": lambda row: (words(row["action"]), ""),
        "actor_id": actor_cell,
        "relation": relation_cell,
        "row_key": row_cell,
    },
    hidden=("before", "after", "client_id"),
    sections=(changes_section,),
)
