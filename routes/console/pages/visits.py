"""The visits of inspectors: the page "My visits", and on an inspection's page its findings, case and forms.

A closed visit shows who closed it and when, and the button that takes its result back.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from flask import Response, g

from access import policy
from access.caller import Caller
from access.decorators import load_caller
from access.session import current_time
from engine.open import local_day, reading, writing
from engine.query.statement import Action
from engine.rows import EMBEDDED_MAX
from inspections import visits
from inspections.faults import NextVisitTouched, VisitClosed
from models import Inspection
from models.finding_move import UNRESOLVED
from models.vocabulary import CLOSED_STATUSES, COMPLETED, GRAVE, OPEN_STATUSES, SCHEDULED, VISIT_RESULTS
from routes.console.components import fields, queries, row_choice
from routes.console.components.display import Cell, Heading, Shown, reference_cells
from routes.console.components.error_pages import fault_message, record_fault
from routes.console.components.fields import FormValues
from routes.console.components.page import redirect_to, render_page
from routes.console.components.records import FunctionForm, quick_entry, require_row, require_written
from routes.console.components.tables import Row, Section, table_of
from routes.console.components.template_filters import (
    badge,
    counted,
    inspection_title,
    inspector_title,
    long_day,
    moment,
    status,
)
from routes.console.pages.findings import findings_of_case
from routes.console.pages.reports import issue_links, locking_reports
from routes.console.pages.schedules import due_text
from routes.console.session import auth
from routes.console.session.urls import console_url
from routes.functions.rpc import FUNCTIONS
from routes.http.faults import UnknownPath

TAKE_BACK_TIME = datetime.timedelta(days=1)


def read_closing(caller: Caller, row: Row) -> visits.Closing | None:
    """Return how a visit that the caller conducts was closed, for administrators."""
    if row["status"] not in CLOSED_STATUSES or not policy.may_administer(caller.role):
        return None
    with reading() as transaction:
        return visits.read_closing(transaction, row["id"])


def closing_text(caller: Caller, row: Row, closing: visits.Closing | None) -> str:
    """Return when and by whom a visit was closed, as far as the caller reads it; an empty text for an open visit.

    The service key, a deleted user and a user that the caller does not read are "another user".
    """
    if row["status"] not in CLOSED_STATUSES:
        return ""
    if closing is None:
        visited = f" Visited on {long_day(row['date_visited'])}." if row["date_visited"] else ""
        return f"This visit is closed: {status(row['status'])}.{visited}"
    name = row_choice.names_of(caller, [closing.closed_by]).get(closing.closed_by or "", "another user")
    return f"This visit is closed: {status(row['status'])} by {name} on {moment(closing.closed_at)}."


def may_take_back(row: Row, plan: Row | None, closing: visits.Closing | None, may_edit: bool) -> bool:
    """Return whether the page offers to take the result back, for a day after it was recorded."""
    if plan is None or closing is None or not may_edit or row["status"] not in VISIT_RESULTS:
        return False
    age = current_time() - datetime.datetime.fromisoformat(closing.closed_at).timestamp()
    return age < TAKE_BACK_TIME.total_seconds()


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
        link = ("Open the next visit", console_url(f"/inspections/{fault.inspection_id}"))
        return render_page("error.html", 409, title="Conflict", fault=fault.message, hint=None, link=link)
    return redirect_to(f"/inspections/{key}", "Result taken back. The visit is open again.")


NAME, CLOSE = "inspections", "close_visit"
VISITS_SHOWN = 50
VISIT_COLUMNS = "select=id,inspection_type,date_visited,status,buildings(id,name,address,city)"
PLAN_COLUMNS = (
    "select=inspection_id,round,due_on,outcome,case_id,schedules(id,grace_days),"
    "inspections(id,date_visited,status,inspectors(name,users(name)))"
)


@auth.requires_inspector
def my_visits(caller: Caller) -> Response:
    """Show the open visits of the caller's inspector."""
    today = local_day(current_time())
    is_open = open_visits(caller)
    parts = (
        ("Late", f"{is_open}&date_visited=lt.{today}"),
        ("Today", f"{is_open}&date_visited=eq.{today}"),
        ("Next", f"{is_open}&or=(date_visited.gt.{today},date_visited.is.null)"),
    )
    found = [
        (label, text, queries.first_page(caller, NAME, f"{VISIT_COLUMNS}&{text}&order=date_visited,id", VISITS_SHOWN))
        for label, text in parts
    ]
    return render_page("visits.html", parts=found, today=today, company=queries.company_of(caller))


@auth.requires_session()
def waiting(caller: Caller) -> Response:
    """Show the page in which a script lists the forms that wait on the device."""
    return render_page("waiting.html", title="What waits on this device")


def open_visits(caller: Caller) -> str:
    """Return the filters of the open visits of the caller's inspector."""
    inspector = queries.first_row(caller, "inspectors", f"select=id&user_id=eq.{caller.id}")
    return f"inspector_id=eq.{inspector['id'] if inspector else 0}&status=in.({','.join(OPEN_STATUSES)})"


def next_links(caller: Caller) -> list[tuple[str, str]]:
    """Return the links to the inspector's next visit and to their visits; none for other users."""
    if not caller.profile.is_inspector:
        return []
    following = queries.first_row(caller, NAME, f"{VISIT_COLUMNS}&{open_visits(caller)}&order=date_visited,id")
    links = [("My visits", console_url("/visits"))]
    if following is None:
        return links
    return [(f"Next visit: {inspection_title(following)}", console_url(f"/{NAME}/{following['id']}")), *links]


# The first section of an inspection's page


def visit_section(caller: Caller, row: Row, may_edit: bool) -> Section:
    """Return the findings of an inspection and its case, with forms if the caller conducts it."""
    case = read_case(caller, row["id"])
    plan = next((each for each in case if each["inspection_id"] == row["id"]), None)
    conducts = queries.conducts(caller, row["id"])
    closing = read_closing(caller, row) if conducts else None
    listed, has_more = findings_of_case(caller, row, plan["case_id"] if plan is not None else row["id"])
    table = table_of(NAME)
    forms = offered_forms(caller, row, plan, case) if conducts else []
    return "inspection_visit.html", {
        "first": True,
        "tab": ("findings", "Findings", len(listed)),
        "key": row["id"],
        "inspector": reference_cells(caller, table.references["inspector_id"])(row),
        "due": due_link(plan),
        "building": queries.first_row(caller, "buildings", f"select=address,city&id=eq.{row['building_id']}"),
        "forms": [each for each in forms if each[0] != CLOSE],
        "close": closing_entry_form(caller, row, case) if CLOSE in dict(forms) else None,
        "findings": listed,
        "has_more": has_more,
        "quick": quick_entry(table_of("findings"), caller, row) if queries.records_visit(caller, row["id"]) else None,
        "closing": closing_text(caller, row, closing),
        "take_back": may_take_back(row, plan, closing, may_edit),
        "locks": locking_reports(caller, row),
        "issue": issue_links(caller, row),
        "after_closing": next_links(caller) if conducts and row["status"] not in OPEN_STATUSES else (),
        "case": show_case(case, row["id"]) if len(case) > 1 else None,
    }


def closing_entry_form(caller: Caller, row: Row, case: list[Row]) -> dict[str, object]:
    """Return the form on the page of a visit that closes it, with what it warns of."""
    warning = closing_warning(caller, row["id"], case)
    shown = fields.parameter_fields(FUNCTIONS[CLOSE].parameters).values()
    return {
        "verb": VISIT_FORMS[CLOSE].verb,
        "fields": [
            replace(each, kind="radio") if each.choices else each for each in shown if warning or each.name != "reason"
        ],
        "values": FormValues({"date_visited": str(local_day(current_time()))}),
        "warning": warning,
    }


def due_link(plan: Row | None) -> tuple[str, str] | None:
    """Return the due date and the URL of the schedule that requires an inspection."""
    if plan is None or plan["schedules"] is None:
        return None
    today = local_day(current_time())
    text = long_day(plan["due_on"]) if plan["outcome"] else due_text(plan, plan["schedules"], today)
    return text, console_url(f"/schedules/{plan['schedules']['id']}")


def read_case(caller: Caller, key: int) -> list[Row]:
    """Return the plans of the case of an inspection, by round, as far as the caller sees them."""
    plan = queries.first_row(caller, "inspection_plans", f"select=case_id&inspection_id=eq.{key}")
    if plan is None:
        return []
    text = f"{PLAN_COLUMNS}&case_id=eq.{plan['case_id']}&order=round"
    return queries.select_rows(caller, "inspection_plans", text, limit=EMBEDDED_MAX).rows


def show_case(case: list[Row], key: int) -> Shown:
    headings = [Heading("Round", "n"), Heading("Date", "when"), Heading("Status", ""), Heading("Inspector", "wide")]
    rows = []
    for each in case:
        visit = each["inspections"]
        url = console_url(f"/{NAME}/{visit['id']}") if visit["id"] != key else ""
        inspector = inspector_title(visit["inspectors"]) if visit["inspectors"] else "–"
        state = Cell(status(visit["status"]), badge=badge(visit["status"]))
        rows.append([Cell(str(each["round"])), Cell(visit["date_visited"] or "No date", url), state, Cell(inspector)])
    return Shown(headings, rows, [str(each["inspection_id"]) for each in case])


# Forms that call functions


@dataclass(frozen=True, slots=True)
class VisitForm:
    """A form of an inspection's page: its button, and the message after it."""

    verb: str
    done: str


VISIT_FORMS: Mapping[str, VisitForm] = {
    "start_visit": VisitForm("Start visit", "Visit started."),
    CLOSE: VisitForm("Close visit", "Visit closed."),
    "reinspect": VisitForm("Re-inspect", "Re-inspection scheduled."),
    "skip_occurrence": VisitForm("Skip", "Skipped. The next inspection is scheduled."),
}
"""The forms by the function that they call, whose parameters are the fields."""


def closing_problems(texts: Mapping[str, str], warning: str) -> dict[str, str]:
    """Return the problems of a completed visit: a date of re-inspection, and a warning without an answer."""
    if texts.get("status") != COMPLETED:
        return {}
    if texts.get("reinspect_on", "").strip():
        return {"reinspect_on": "Only a failed visit is re-inspected. Choose Failed, or leave this date out."}
    if not warning or texts.get("reason", "").strip():
        return {}
    return {"reason": "Say why the visit is completed all the same."} if "result" in g.form else {"status": warning}


def closing_warning(caller: Caller, key: int, case: list[Row]) -> str:
    """Return the warning of open life-threatening or severe findings of a case; an empty text if there are none."""
    of_case = f"case_id=eq.{case[0]['case_id'] if case else key}"
    text = f"{of_case}&severity=in.({','.join(GRAVE)})&status=in.({','.join(UNRESOLVED)})"
    number = queries.count_rows(caller, "findings", text)
    verb = "is" if number == 1 else "are"
    return f"{counted(number, 'life-threatening or severe finding')} of this case {verb} open." if number else ""


def done_message(function: str, result: Row) -> str:
    """Return the message after a form. That of a completed visit names its open findings."""
    if function == CLOSE and result["status"] == VISIT_RESULTS[0] and (number := result["open_findings"]):
        return f"Visit closed as completed. {number:,} {'finding is' if number == 1 else 'findings are'} open."
    return VISIT_FORMS[function].done


def offered_forms(caller: Caller, row: Row, plan: Row | None, case: list[Row]) -> list[tuple[str, str]]:
    """Return the functions that apply to an inspection in its state, and their buttons."""
    is_open = row["status"] in OPEN_STATUSES
    applies = {
        "start_visit": row["status"] == OPEN_STATUSES[0],
        CLOSE: is_open,
        "reinspect": row["status"] in VISIT_RESULTS and all(each["outcome"] for each in case),
        "skip_occurrence": is_open and plan is not None and plan["schedules"] and not plan["outcome"],
    }
    return [
        (function, VISIT_FORMS[function].verb)
        for function, holds in applies.items()
        if holds and caller.role in FUNCTIONS[function].roles
    ]


def form_of(function: str, caller: Caller, key: int) -> FunctionForm:
    """Return the form for an inspection; raise UnknownPath, or PermissionDenied if the caller does not conduct it."""
    table = table_of(NAME)
    row = queries.first_row(caller, NAME, f"select={table.select('*')}&id=eq.{key}")
    if row is None:
        raise UnknownPath
    if not queries.conducts(caller, key):
        raise policy.PermissionDenied(f"permission denied for function {function}")
    form = VISIT_FORMS[function]
    title, back = f"{form.verb}: {table.describe(row)}", f"/{NAME}/{key}"
    shown = [*fields.parameter_fields(FUNCTIONS[function].parameters).values()]
    if function != CLOSE:
        return FunctionForm(title, form.verb, shown, back)
    if row["status"] in CLOSED_STATUSES and not auth.is_form():  # the function refuses, or answers as the first time
        raise VisitClosed(row["status"])
    warning = closing_warning(caller, key, read_case(caller, key))
    more = ("closing_warning.html", {"text": warning}) if warning else None
    problems = partial(closing_problems, warning=warning)
    if not warning:
        shown = [each for each in shown if each.name != "reason"]
    return FunctionForm(title, form.verb, shown, back, more=more, problems=problems)


def show_visit_form(function: str, caller: Caller, key: int) -> Response:
    today = str(local_day(current_time())) if function == CLOSE else ""
    try:
        form = form_of(function, caller, key)
    except VisitClosed as fault:
        return redirect_to(f"/{NAME}/{key}", fault_message(fault))
    return form.page(FormValues({"date_visited": today}))


def submit_visit_form(function: str, caller: Caller, key: int) -> Response:
    def call(arguments: dict[str, Any]) -> tuple[str, None]:
        given = {name: value for name, value in arguments.items() if name not in ("p_notes", "p_reason") or value}
        return done_message(function, queries.call_to_write(function, {**given, "p_inspection_id": key})), None

    chosen = {"status": g.form["result"]} if function == CLOSE and "result" in g.form else {}
    return form_of(function, caller, key).submit(call, chosen)


def guarded_form(view: Callable[..., Response], function: str) -> Callable[..., Response]:
    return auth.requires_call(FUNCTIONS[function])(partial(view, function))


FORM_VIEWS = {
    each: (guarded_form(show_visit_form, each), guarded_form(submit_visit_form, each)) for each in VISIT_FORMS
}
"""By function: the view that shows its form, and the view that takes it."""
