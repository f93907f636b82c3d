"""Choose a user in a form: from a list, or by e-mail if there are too many to list.

A hidden user and a missing one cause the same queries and the same response.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from access.accounts import people
from access.caller import Caller
from engine.current import reading
from engine.query.rule import Action
from models.types import InvalidInput, NulInText, TextTooLong, new_uuid, read_string, read_uuid
from routes.console.components import queries
from routes.console.components.list_query import quote_pattern
from routes.console.components.queries import Row
from routes.console.components.titles import user_title

UUID_TEXT = re.compile(r"[0-9a-fA-F-]{36}")
COLUMNS = "select=id,name,email,role,clients(name),inspectors(name)"


def list_users(caller: Caller, size: int, filters: str = "", *, within: Action = Action.READ) -> list[Row] | None:
    """Return the users to choose from, or None if there are more than `size`."""
    text = f"{COLUMNS}{filters}&order=name,id"
    page = queries.first_page(caller, "users", text, size, within=within)
    if page.has_more:
        return None
    mark_deactivated(page.rows)
    return page.rows


def mark_deactivated(rows: list[Row]) -> None:
    """Set `is_deactivated` of users' rows."""
    with reading() as transaction:
        disabled = people.disabled_users(transaction, [row["id"] for row in rows])
    for row in rows:
        row["is_deactivated"] = row["id"] in disabled


def parse_user_id(text: str) -> str:
    """Return the id that a form submits, or the id of the user with the submitted e-mail."""
    return user_id_by_email(read_string(text)) if "@" in text else str(read_uuid(text))


def find_user(caller: Caller, text: str) -> Row | None:
    """Return a user that the caller may see, by id or e-mail, or None."""
    try:
        user_id = parse_user_id(text)
    except (InvalidInput, NulInText, TextTooLong):
        return None
    return queries.first_row(caller, "users", f"{COLUMNS}&id=eq.{user_id}")


def find_named_user(caller: Caller, text: str) -> str:
    """Return an id or e-mail unchanged, and for a part of a name the id of the only user that the caller sees.

    Raise InvalidInput if there is none, or if there are several.
    """
    if "@" in text or UUID_TEXT.fullmatch(text):
        return text
    filters = f"select=id&name=ilike.*{quote_pattern(text)}*"
    rows = queries.select_rows(caller, "users", filters, limit=2).rows
    if len(rows) != 1:
        number = "Several users have" if rows else "You can see no user of"
        raise InvalidInput(f"{number} this name. Enter the e-mail")
    return str(rows[0]["id"])


def names_of(caller: Caller, ids: Iterable[str | None]) -> dict[str, str]:
    """Return the names of the users with these ids, as far as the caller sees them."""
    known = sorted({each for each in ids if each})
    if not known:
        return {}
    text = f"select=id,name,inspectors(name)&id=in.({','.join(known)})"
    return {row["id"]: user_title(row) for row in queries.select_rows(caller, "users", text, limit=len(known)).rows}


def user_id_by_email(email: str) -> str:
    """Return the id of the user who signs in with the e-mail, visible or not.

    Return a new random id if there is none, so that hidden and missing users cause the same queries.
    """
    with reading() as transaction:
        user = people.by_email(transaction, email)
    new_id = new_uuid()  # drawn for a known e-mail too, so that both cases take the same steps
    return user.id if user is not None else new_id
