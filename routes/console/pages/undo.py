"""The undo of a deletion, and of schedules that one form has made, for a day.

The undo reads what happened from the audit log, as far as the caller reads that.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from urllib.parse import quote

from flask import Response

from access import policy
from access.caller import SERVICE_CALLER, Caller
from access.decorators import load_caller
from access.session import current_time
from engine.interface.database import Transaction
from engine.open import writing
from engine.query.statement import Action
from engine.query.write.rules import row_violation
from inspections.undo import Entry, are_untouched, grant_tables, new_schedules, restore_rows, restored_entries
from models import AuditLog, Schedule
from models.types import Fault
from routes.console.components import queries
from routes.console.components.page import Undo, redirect_to, render_confirmation
from routes.console.components.queries import once
from routes.console.components.records import require_row
from routes.console.components.tables import Row, table_of
from routes.console.components.template_filters import capital, counted, short_title
from routes.console.session import auth
from routes.console.session.urls import console_url
from routes.http.faults import UnknownPath

LOG, SCHEDULES = AuditLog.__tablename__, Schedule.__tablename__
UNDO_TIME = datetime.timedelta(days=1)
ENTRIES_MAX = 5_000  # of a transaction: an application of a schedule to 1,000 buildings has 3,000
LIST_VALUES_MAX = 1_000  # of a filter
CHANGES = "action=in.(insert,update,delete)"


class RowsTouched(Fault, status=409):
    """A change whose rows have changed again, so it cannot be undone."""

    def __init__(self) -> None:
        super().__init__("These rows have changed since. Nothing was undone.")


def read_entries(caller: Caller, key: int, columns: str = "id,action,relation,row_key") -> list[Row]:
    """Return the entries of the transaction of an entry.

    There are none after a day, of a transaction without a user, or if the caller does not read all but grants: a move
    to another client is a deletion for the former one.
    """
    entry = require_row(caller, Action.READ, LOG, f"id=eq.{key}", "select=at,actor_id")
    age = current_time() - datetime.datetime.fromisoformat(entry["at"]).timestamp()
    if entry["actor_id"] is None or age >= UNDO_TIME.total_seconds():
        return []
    same = f"at=eq.{quote(entry['at'])}&actor_id=eq.{entry['actor_id']}&{CHANGES}"
    near = f"id=gte.{max(1, key - ENTRIES_MAX)}&id=lte.{key + ENTRIES_MAX}"
    filters = f"{same}&{near}&order=id"
    rows = queries.select_rows(SERVICE_CALLER, LOG, f"select={columns}&{filters}", limit=ENTRIES_MAX + 1).rows
    read = {each["id"] for each in queries.select_rows(caller, LOG, f"select=id&{filters}", limit=ENTRIES_MAX + 1).rows}
    is_whole = all(each["id"] in read or each["relation"] in grant_tables() for each in rows)
    return rows if is_whole and len(rows) <= ENTRIES_MAX else []


def question_of(caller: Caller, entries: Sequence[Row]) -> str:
    """Return the question before the undo, or an empty text if the caller may not undo the change."""
    rows, schedules = restored_entries(entries), new_schedules(entries)
    if rows and policy.permits(caller.profile, Action.DELETE, table_of(rows[0]["relation"]).model):
        return f"Restore {counted(len(rows), 'deleted row')}?"
    if schedules and policy.permits(caller.profile, Action.DELETE, Schedule):
        return f"Delete {counted(len(schedules), 'new schedule')} and the open visits?"
    return ""


def undo_links(caller: Caller, key: int) -> list[tuple[str, str]]:
    """Return the button of an entry's page."""
    return [("Undo", console_url(f"/{LOG}/{key}/undo"))] if question_of(caller, read_entries(caller, key)) else []


def undo_of(caller: Caller, filters: str) -> Undo | None:
    """Return the undo of the change whose entry is the last of these filters, as far as the caller may undo it."""
    if not table_of(LOG).permits(caller, Action.READ):
        return None
    entry = queries.first_row(caller, LOG, f"select=id&{filters}&order=id.desc")
    if entry is None or not question_of(caller, read_entries(caller, entry["id"])):
        return None
    return Undo(f"/{LOG}/{entry['id']}/undo")


@auth.requires(Action.READ, AuditLog, allowed=policy.may_administer)
def confirm_undo(caller: Caller, key: int) -> Response:
    question = question_of(caller, read_entries(caller, key))
    if not question:
        raise UnknownPath
    text = "Access grants that ended with a row are not given back." if question.startswith("Restore") else ""
    path = f"/{LOG}/{key}"
    return render_confirmation(question, text, verb="Undo", action=f"{path}/undo", back=path)


@auth.requires_session(writes=True)
def undo(caller: Caller, key: int) -> Response:
    """Undo all of a change. Raise RowsTouched if its rows have changed since, and UnknownPath without an undo."""
    if not table_of(LOG).permits(caller, Action.READ):
        raise UnknownPath
    with writing() as transaction:
        now = load_caller(transaction)

        def change() -> list[str]:
            entries = read_entries(now, key, "id,action,relation,row_key,before")
            if not question_of(now, entries):
                raise UnknownPath
            rows = restored_entries(entries)
            return restore(transaction, now, rows) if rows else remove(transaction, now, new_schedules(entries))

        path, done = once(transaction, now, LOG, change)
    return redirect_to(path, done)


def restore(transaction: Transaction, caller: Caller, rows: Sequence[Entry]) -> list[str]:
    """Restore deleted rows. Return the path of the first one and the message; raise RowDenied unless all are theirs."""
    restore_rows(transaction, rows)
    keys: dict[str, list[str]] = {}
    for each in rows:
        keys.setdefault(each["relation"], []).append(each["row_key"])
    for name, restored in keys.items():
        relation = table_of(name).relation
        if policy.permits(caller.profile, Action.DELETE, relation.model):
            for first in range(0, len(restored), LIST_VALUES_MAX):
                part = restored[first : first + LIST_VALUES_MAX]
                text = f"select=count()&{relation.key[0]}=in.({','.join(part)})"
                if queries.select_rows(caller, name, text, limit=1, within=Action.DELETE).rows[0]["count"] != len(part):
                    raise row_violation(relation)
    table = table_of(rows[0]["relation"])
    row = queries.first_row(caller, table.name, f"select={table.select('*')}&{table.filters(rows[0]['row_key'])}")
    assert row is not None
    return [table.home(row, rows[0]["row_key"]), f"{short_title(capital(table.describe(row)))} restored."]


def remove(transaction: Transaction, caller: Caller, schedules: list[int]) -> list[str]:
    """Delete new schedules with their visits. Return the path of the list and the message."""
    if not are_untouched(transaction, schedules):
        raise RowsTouched
    filters = f"id=in.({','.join(map(str, schedules))})"
    if queries.delete_in(transaction, caller, SCHEDULES, filters) != len(schedules):
        raise RowsTouched
    return [f"/{SCHEDULES}", f"{counted(len(schedules), 'schedule')} deleted."]
