"""Who changed a row while a form showed it: from the audit log, as far as the caller reads it. No Flask here."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from urllib.parse import quote

from access.caller import SERVICE_CALLER, Caller
from routes.console.components import queries, user_choice
from routes.console.components.queries import Row
from routes.console.components.template_filters import moment

ENTRIES_READ_MAX: Final = 50
ANOTHER_USER: Final = "by another user"


def changes_by_field(caller: Caller, relation: str, key: str, fields: Collection[str]) -> dict[str, str]:
    """Return by whom and when each field of a row was last changed, after "was changed".

    The caller always learns that they changed it themselves. Otherwise they learn what their rule lets them read: the
    time if they read the entry, and the name if they read the user, too.
    """
    last = last_entries(relation, key, fields)
    ids = {entry["id"] for entry in last.values() if entry["actor_id"] != caller.id}
    text = f"select=id&id=in.({','.join(map(str, ids))})"
    readable = {row["id"] for row in queries.select_rows(caller, "audit_log", text, limit=len(ids)).rows} if ids else ()
    names = user_choice.names_of(caller, (entry["actor_id"] for entry in last.values()))
    return {field: author(caller, entry, entry["id"] in readable, names) for field, entry in last.items()}


def last_entries(relation: str, key: str, fields: Collection[str]) -> dict[str, Row]:
    """Return the last entry of each field, whoever made it. `changes_by_field` decides what of it the caller learns."""
    filters = f"relation=eq.{relation}&row_key=eq.{quote(key)}&action=in.(insert,update)"
    text = f"select=id,at,actor_id,after&{filters}&order=id.desc"
    last: dict[str, Row] = {}
    for entry in queries.select_rows(SERVICE_CALLER, "audit_log", text, limit=ENTRIES_READ_MAX).rows:
        for field in set(fields) & (entry["after"] or {}).keys() - last.keys():
            last[field] = entry
    return last


def author(caller: Caller, entry: Row, is_readable: bool, names: dict[str, str]) -> str:
    if caller.id is not None and entry["actor_id"] == caller.id:
        return f"by you in another tab, at {moment(entry['at'])},"
    if not is_readable:
        return ANOTHER_USER
    known = names.get(entry["actor_id"] or "")
    return f"{ANOTHER_USER if known is None else f'by {known}'} at {moment(entry['at'])}"
