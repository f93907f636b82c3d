"""Closed visits: who closed one and when, and the button that takes its result back."""

from __future__ import annotations

import datetime
from urllib.parse import urlencode

from flask import Response

from access import policy
from access.authentication import current_time
from access.caller import Caller
from access.decorators import load_caller
from engine.current import writing
from engine.query.rule import Action
from inspections.faults import NextVisitTouched
from models import Inspection
from models.vocabulary import CLOSED_STATUSES, SCHEDULED, VISIT_RESULTS
from routes.console.components import queries, user_choice
from routes.console.components.error_pages import record_fault
from routes.console.components.page import bp, redirect_to, render_page
from routes.console.components.records import require_row, require_written
from routes.console.components.tables import PATH, Row
from routes.console.components.template_filters import long_day, moment, status
from routes.console.session import auth

ENTRIES_READ = 100  # of the audit log, the latest first
TAKE_BACK_TIME = datetime.timedelta(days=1)


def closing_entry(caller: Caller, row: Row) -> Row | None:
    """Return the entry of the audit log that closed a visit, if the caller reads the log."""
    if row["status"] not in CLOSED_STATUSES or not policy.may_administer(caller.role):
        return None
    text = f"select=at,actor_id,before,after&relation=eq.inspections&row_key=eq.{row['id']}&order=id.desc"
    for entry in queries.first_page(caller, "audit_log", text, ENTRIES_READ).rows:
        before, after = entry["before"] or {}, entry["after"] or {}
        if after.get("status") == row["status"] != before.get("status"):
            return entry
    return None


def closing_text(caller: Caller, row: Row, entry: Row | None) -> str:
    """Return when and by whom a visit was closed, as far as the caller reads it; an empty text for an open visit."""
    if row["status"] not in CLOSED_STATUSES:
        return ""
    if entry is None:
        visited = f" Visited on {long_day(row['date_visited'])}." if row["date_visited"] else ""
        return f"This visit is closed: {status(row['status'])}.{visited}"
    names = user_choice.names_of(caller, [entry["actor_id"]])
    by = f" by {names.get(entry['actor_id'], 'another user')}" if entry["actor_id"] else ""
    return f"This visit is closed: {status(row['status'])}{by} on {moment(entry['at'])}."


def may_take_back(row: Row, plan: Row | None, entry: Row | None, may_edit: bool) -> bool:
    """Return whether the page offers to take the result back, for a day after it was recorded."""
    if plan is None or entry is None or not may_edit or row["status"] not in VISIT_RESULTS:
        return False
    age = current_time() - datetime.datetime.fromisoformat(entry["at"]).timestamp()
    return age < TAKE_BACK_TIME.total_seconds()


@bp.post("/inspections/<int:key>/take_back")
@auth.requires(Action.UPDATE, Inspection)
def take_back(caller: Caller, key: int) -> Response:
    """Set a visit with a result to scheduled. A next visit that a person has edited is shown with its link."""
    row = require_row(caller, Action.UPDATE, "inspections", f"id=eq.{key}")
    result = urlencode({"status": f"in.({','.join(VISIT_RESULTS)})"})
    try:
        with writing() as transaction:
            now = load_caller(transaction)
            changes = {"status": SCHEDULED}
            require_written(queries.update(transaction, now, "inspections", f"id=eq.{row['id']}&{result}", changes))
    except NextVisitTouched as fault:
        record_fault(fault)
        link = ("Open the next visit", f"{PATH}/inspections/{fault.inspection_id}")
        return render_page("error.html", 409, title="Conflict", fault=fault.message, hint=None, link=link)
    return redirect_to(f"/inspections/{key}", "Result taken back. The visit is open again.")
