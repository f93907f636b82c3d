"""The visits of inspectors: the page "My visits", and on an inspection's page its findings, its case and its forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from flask import Response, g

from access import policy
from access.authentication import current_time
from access.caller import Caller
from engine.current import local_day
from inspections.faults import VisitClosed
from models.vocabulary import CLOSED_STATUSES, COMPLETED, OPEN, OPEN_STATUSES, SEVERITIES, VISIT_RESULTS
from routes.console.components import fields, queries
from routes.console.components.display import Cell, Heading, Shown
from routes.console.components.fields import Field, FormValues
from routes.console.components.function_forms import FunctionForm
from routes.console.components.page import bp, redirect_to, render_page
from routes.console.components.quick_entry import quick_entry
from routes.console.components.tables import PATH, Row, Section, table_of
from routes.console.components.template_filters import badge, counted, long_day, status
from routes.console.components.titles import inspection_title, inspector_title
from routes.console.pages.closed_visits import closing_entry, closing_text, may_take_back
from routes.console.pages.findings import findings_of_case
from routes.console.pages.schedules import due_text
from routes.console.session import auth
from routes.functions.registry import FUNCTIONS
from routes.postgrest.requests import UnknownPath

NAME = "inspections"
VISITS_SHOWN = 50
RESULT_NAMES = {each: status(each) for each in VISIT_RESULTS}
VISIT_COLUMNS = "select=id,inspection_type,date_visited,status,buildings(id,name,address,city)"
PLAN_COLUMNS = (
    "select=inspection_id,round,due_on,outcome,case_id,schedules(id,grace_days),"
    "inspections(id,date_visited,status,inspectors(name,users(name)))"
)


@bp.get("/visits")
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
    return render_page("visits.html", parts=found, today=today)


def open_visits(caller: Caller) -> str:
    """Return the filters of the open visits of the caller's inspector."""
    inspector = queries.first_row(caller, "inspectors", f"select=id&user_id=eq.{caller.id}")
    return f"inspector_id=eq.{inspector['id'] if inspector else 0}&status=in.({','.join(OPEN_STATUSES)})"


def next_links(caller: Caller) -> list[tuple[str, str]]:
    """Return the links to the inspector's next visit and to their visits; none for other users."""
    if not caller.profile.is_inspector:
        return []
    following = queries.first_row(caller, NAME, f"{VISIT_COLUMNS}&{open_visits(caller)}&order=date_visited,id")
    links = [("My visits", f"{PATH}/visits")]
    if following is None:
        return links
    return [(f"Next visit: {inspection_title(following)}", f"{PATH}/{NAME}/{following['id']}"), *links]


# The first section of an inspection's page


def visit_section(caller: Caller, row: Row, may_edit: bool) -> Section:
    """Return the findings of an inspection and its case, with forms if the caller conducts it."""
    case = read_case(caller, row["id"])
    plan = next((each for each in case if each["inspection_id"] == row["id"]), None)
    conducts = queries.conducts(caller, row["id"])
    entry = closing_entry(caller, row)
    return "inspection_visit.html", {
        "first": True,
        "key": row["id"],
        "due": due_link(plan),
        "building": queries.first_row(caller, "buildings", f"select=address,city&id=eq.{row['building_id']}"),
        "forms": offered_forms(caller, row, plan, case) if conducts else (),
        "findings": findings_of_case(caller, row["id"], plan["case_id"] if plan is not None else row["id"]),
        "quick": quick_entry(table_of("findings"), caller, row) if adds_findings(caller, row, conducts) else None,
        "closing": closing_text(caller, row, entry),
        "take_back": may_take_back(row, plan, entry, may_edit),
        "after_closing": next_links(caller) if conducts and row["status"] not in OPEN_STATUSES else (),
        "case": show_case(case, row["id"]) if len(case) > 1 else None,
    }


def adds_findings(caller: Caller, row: Row, conducts: bool) -> bool:
    """Return whether the page has the entry of findings. That of a closed visit has it for administrators only."""
    return conducts and (row["status"] not in CLOSED_STATUSES or policy.may_administer(caller.role))


def due_link(plan: Row | None) -> tuple[str, str] | None:
    """Return the due date and the URL of the schedule that requires an inspection."""
    if plan is None or plan["schedules"] is None:
        return None
    today = local_day(current_time())
    text = long_day(plan["due_on"]) if plan["outcome"] else due_text(plan, plan["schedules"], today)
    return text, f"{PATH}/schedules/{plan['schedules']['id']}"


def read_case(caller: Caller, key: int) -> list[Row]:
    """Return the plans of the case of an inspection, by round, as far as the caller sees them."""
    plan = queries.first_row(caller, "inspection_plans", f"select=case_id&inspection_id=eq.{key}")
    if plan is None:
        return []
    text = f"{PLAN_COLUMNS}&case_id=eq.{plan['case_id']}&order=round"
    return queries.select_rows(caller, "inspection_plans", text, limit=queries.EMBEDDED_MAX).rows


def show_case(case: list[Row], key: int) -> Shown:
    headings = [Heading("Round", "n"), Heading("Date", "when"), Heading("Status", ""), Heading("Inspector", "wide")]
    rows = []
    for each in case:
        visit = each["inspections"]
        url = f"{PATH}/{NAME}/{visit['id']}" if visit["id"] != key else ""
        inspector = inspector_title(visit["inspectors"]) if visit["inspectors"] else "–"
        state = Cell(status(visit["status"]), badge=badge(visit["status"]))
        rows.append([Cell(str(each["round"])), Cell(visit["date_visited"] or "No date", url), state, Cell(inspector)])
    return Shown(headings, rows, [str(each["inspection_id"]) for each in case])


# Forms that call functions


@dataclass(frozen=True, slots=True)
class VisitForm:
    """A form of an inspection's page: its button, its fields, and the message after it."""

    verb: str
    fields: tuple[Field, ...]
    done: str


VISIT_FORMS: Mapping[str, VisitForm] = {
    "start_visit": VisitForm("Start visit", (), "Visit started."),
    "close_visit": VisitForm(
        "Close visit",
        (
            Field("status", "Result", "select", True, fields.choices(VISIT_RESULTS, RESULT_NAMES)),
            Field("date_visited", "Visited on", "date"),
            Field("reinspect_on", "Re-inspect on", "date", hint="If the visit failed."),
            Field("notes", "Notes", "textarea", hint="Added to the notes of the visit."),
        ),
        "Visit closed.",
    ),
    "reinspect": VisitForm(
        "Re-inspect", (Field("date_visited", "Date", "date", required=True),), "Re-inspection scheduled."
    ),
    "skip_occurrence": VisitForm(
        "Skip", (Field("reason", "Reason", "textarea", required=True),), "Skipped. The next inspection is scheduled."
    ),
}
"""The forms by the function that they call."""


def closing_problems(texts: Mapping[str, str], warning: str) -> dict[str, str]:
    """Return the problems of a completed visit: a date of re-inspection, and a warning without an answer."""
    if texts.get("status") != COMPLETED:
        return {}
    if texts.get("reinspect_on", "").strip():
        return {"reinspect_on": "Only a failed visit is re-inspected. Choose Failed, or leave this date out."}
    return {"status": warning} if warning and "result" not in g.form else {}


def closing_warning(caller: Caller, key: int) -> str:
    """Return the warning of open life-threatening findings of a case; an empty text if there are none."""
    case = read_case(caller, key)
    text = f"case_id=eq.{case[0]['case_id'] if case else key}&severity=eq.{SEVERITIES[0]}&status=eq.{OPEN}"
    number = queries.count_rows(caller, "findings", text)
    verb = "is" if number == 1 else "are"
    return f"{counted(number, 'life-threatening finding')} of this case {verb} open." if number else ""


def done_message(function: str, result: Row) -> str:
    """Return the message after a form. That of a completed visit names its open findings."""
    if function == "close_visit" and result["status"] == VISIT_RESULTS[0] and (number := result["open_findings"]):
        return f"Visit closed as completed. {number:,} {'finding is' if number == 1 else 'findings are'} open."
    return VISIT_FORMS[function].done


def offered_forms(caller: Caller, row: Row, plan: Row | None, case: list[Row]) -> list[tuple[str, str]]:
    """Return the functions that apply to an inspection in its state, and their buttons."""
    is_open = row["status"] in OPEN_STATUSES
    applies = {
        "start_visit": row["status"] == OPEN_STATUSES[0],
        "close_visit": is_open,
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
    if function != "close_visit":
        return FunctionForm(title, form.verb, form.fields, back)
    if row["status"] in CLOSED_STATUSES and not auth.is_form():  # the function refuses, or answers as the first time
        raise VisitClosed(row["status"])
    warning = closing_warning(caller, key)
    more = ("closing_warning.html", {"text": warning}) if warning else None
    problems = partial(closing_problems, warning=warning)
    return FunctionForm(title, form.verb, form.fields, back, more=more, problems=problems)


def show_visit_form(function: str, caller: Caller, key: int) -> Response:
    today = str(local_day(current_time())) if function == "close_visit" else ""
    try:
        form = form_of(function, caller, key)
    except VisitClosed as fault:
        return redirect_to(f"/{NAME}/{key}", fault.message)
    return form.page(FormValues({"date_visited": today}))


def submit_visit_form(function: str, caller: Caller, key: int) -> Response:
    def call(arguments: dict[str, Any]) -> tuple[str, None]:
        given = {name: value for name, value in arguments.items() if name != "p_notes" or value}
        return done_message(function, queries.call_to_write(function, {**given, "p_inspection_id": key})), None

    chosen = {"status": g.form["result"]} if function == "close_visit" and "result" in g.form else {}
    return form_of(function, caller, key).submit(call, chosen)


for each in VISIT_FORMS:
    for method, view in (("GET", show_visit_form), ("POST", submit_visit_form)):
        guarded_view = auth.requires_call(FUNCTIONS[each])(partial(view, each))
        bp.add_url_rule(f"/{NAME}/<int:key>/{each}", f"{method} {each}", guarded_view, methods=[method])
