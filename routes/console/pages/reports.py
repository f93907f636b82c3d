"""Reports of inspections: drafts, the form that issues one, and the list and pages of issued reports.

Issuing waits for the answer on its page: the device does not keep the form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode

from flask import Response, g, request

from access import policy
from access.caller import Caller
from access.decorators import load_caller
from engine.open import reading, writing
from engine.query.statement import Action
from inspections.faults import NoSuchRow, ReportIssued, ReportWithdrawn, ReportWithoutResult
from inspections.files.thumbnails import FORMATS
from inspections.reports.content import FINDINGS_REPORT, LEAD_REPORT, InspectionReport, LeadReport, ReportedFile
from inspections.reports.issue import NAME_CHARACTERS_MAX, read_issuable
from inspections.reports.issued import ISSUED, REPLACED, may_withdraw, read_issued, state_of
from inspections.reports.reports import FEDERAL, RULES
from models import Inspection, IssuedReport
from models.vocabulary import CANCELLED, COMPLETED, FAILED, REPORT_KINDS, VISIT_RESULTS
from routes.console.components import fields, lists, queries, row_choice
from routes.console.components.error_pages import fault_message, record_fault
from routes.console.components.fields import Choice, Field, FormValues
from routes.console.components.lists import Link, MoreFilters, list_page
from routes.console.components.page import redirect_to, render_page
from routes.console.components.queries import once
from routes.console.components.records import FunctionForm, save
from routes.console.components.tables import Presentation, Row, Section, Table, table_of
from routes.console.components.template_filters import day, isolated, moment, name
from routes.console.pages.lead import expects_readings
from routes.console.pages.rows import show_page
from routes.console.session import auth
from routes.console.session.urls import console_url
from routes.functions.rpc import FUNCTIONS
from routes.http.faults import UnknownPath
from routes.postgrest.preferences import MediaType
from routes.reports.views import IMAGE_WIDTH, frozen_answer, report_page, requested_report

NAME, VISITS = "issued_reports", "inspections"
ISSUE, WITHDRAW = "issue_report", "withdraw_report"
NAMES: Final = {LEAD_REPORT: "Lead report", FINDINGS_REPORT: "Findings report"}
SHOWN_MAX: Final = 100
"""The issued reports that a page shows."""


# Drafts


def report_kinds(caller: Caller, row: Row) -> tuple[str, ...]:
    """Return the kinds of report of an inspection."""
    return (LEAD_REPORT, FINDINGS_REPORT) if expects_readings(caller, row) else (FINDINGS_REPORT,)


def draft_links(key: int, kinds: Sequence[str]) -> list[Link]:
    return [(f"Draft {NAMES[each].lower()}", draft_url(key, each)) for each in kinds]


def draft_url(key: int, kind: str) -> str:
    return console_url(f"/{VISITS}/{key}/report?kind={kind}")


def image_url(file: ReportedFile) -> str:
    """Return the URL of a photograph in the console; an empty text for a document."""
    return console_url(f"/files/{file.id}/thumbnail/{IMAGE_WIDTH}") if file.mimetype in FORMATS else ""


@auth.requires(Action.READ, Inspection)
def show_report(caller: Caller, key: int) -> Response:
    """Show a draft with links to the inspection and to the reports by the other rules."""
    try:
        report = requested_report(caller, str(key))
    except NoSuchRow as fault:
        raise UnknownPath from fault
    links = [("Inspection", console_url(f"/{VISITS}/{key}"))]
    if isinstance(report, LeadReport):
        url = draft_url(key, LEAD_REPORT)
        names = [(each.capitalize() if each == FEDERAL else each, each) for each in RULES if each != report.rule]
        links += [(f"{name} rule", f"{url}&rule={rule}") for name, rule in names]
    response = report_page(report, links, image_url, "'self'")
    response.headers["Vary"] = "Cookie"
    return response


# Issued reports as pages show them


@dataclass(frozen=True, slots=True)
class ShownReport:
    """An issued report in words. `visit` is the title and the URL of its inspection, if the caller sees that."""

    row: Row
    title: str
    state: str
    state_badge: str
    text: str
    page: str
    withdraw: str
    visit: tuple[str, str] | None


STATE_BADGES: Final = {ISSUED: COMPLETED, REPLACED: CANCELLED}
"""The CSS suffixes of the states. That of a withdrawn report is that of a failed inspection."""


def find_reports(caller: Caller, filters: str) -> list[ShownReport]:
    """Return the issued reports that the filters select and the caller reads, the newest first."""
    visits = table_of(VISITS)
    columns = "id,inspection_id,kind,number,signed_name,issued_at,issued_by,withdrawn_at,withdrawn_by,withdrawn_note"
    text = f"select={columns},{VISITS}({visits.title_select})&{filters}&order=id.desc"
    rows = queries.select_rows(caller, NAME, text, limit=SHOWN_MAX).rows
    add_neighbours(caller, rows)
    names = row_choice.names_of(caller, [row[each] for row in rows for each in ("issued_by", "withdrawn_by")])
    return [shown_report(caller, row, names) for row in rows]


def shown_report(caller: Caller, row: Row, names: dict[str, str]) -> ShownReport:
    issuer, withdrawer = (names.get(row[each] or "", "another user") for each in ("issued_by", "withdrawn_by"))
    parts = [f"Issued on {moment(row['issued_at'])} by {issuer}. Signed by {name(row['signed_name'])}."]
    if row["withdrawn_at"] is not None:
        parts.append(f"Withdrawn on {moment(row['withdrawn_at'])} by {withdrawer}: {isolated(row['withdrawn_note'])}")
    if row["replaced_by"] is not None:
        parts.append(f"Replaced by {row['replaced_by']}.")
    url, visit = console_url(f"/{NAME}/{row['id']}"), row[VISITS]
    with reading() as transaction:
        is_withdrawable = may_withdraw(transaction, caller, row["id"])
    return ShownReport(
        row,
        f"{NAMES[row['kind']]} {row['number']}",
        *state_cell(row),
        " ".join(parts),
        f"{url}/page",
        f"{url}/withdraw" if is_withdrawable else "",
        (table_of(VISITS).title(visit), console_url(f"/{VISITS}/{visit['id']}")) if visit is not None else None,
    )


def add_neighbours(caller: Caller, rows: list[Row]) -> None:
    """Add the numbers of the reports that replace the rows, and of those that they replace."""
    withdrawn = [row["id"] for row in rows if row.get("withdrawn_at")]
    former = [row["replaces_id"] for row in rows if row.get("replaces_id")]
    ids = [",".join(map(str, each)) for each in (former, withdrawn)]
    text = f"select=id,number,replaces_id&or=(id.in.({ids[0]}),replaces_id.in.({ids[1]}))"
    limit = len(former) + len(withdrawn)
    found = queries.select_rows(caller, NAME, text, limit=limit).rows if limit else []
    for row in rows:
        row["replaced_by"] = next((each["number"] for each in found if each["replaces_id"] == row["id"]), None)
        row["replaced"] = next((each["number"] for each in found if each["id"] == row.get("replaces_id")), None)


def state_cell(row: Row) -> tuple[str, str]:
    """Return the state of an issued report and its badge. The page of the report has the day of a withdrawal."""
    state = state_of(row["withdrawn_at"], row["replaced_by"])
    since = f", {day(row['withdrawn_at'])}" if row["withdrawn_at"] and "sha256" in row else ""
    return f"{state.capitalize()}{since}", STATE_BADGES.get(state, FAILED)


def former_cell(row: Row) -> tuple[str, str]:
    """Return the number of the report that an issued report replaces, with its link."""
    if row["replaces_id"] is None:
        return "–", ""
    return row["replaced"] or str(row["replaces_id"]), console_url(f"/{NAME}/{row['replaces_id']}")


# On the page of an inspection


def reports_of(caller: Caller, row: Row) -> list[ShownReport]:
    """Return the issued reports of an inspection. They are read once for a request."""
    known: dict[int, list[ShownReport]] = g.setdefault("reports_of_visits", {})
    if row["id"] not in known:
        known[row["id"]] = find_reports(caller, f"inspection_id=eq.{row['id']}")
    return known[row["id"]]


def locking_reports(caller: Caller, row: Row) -> list[ShownReport]:
    """Return the reports that lock the rows of an inspection: those that are not withdrawn."""
    return [each for each in reports_of(caller, row) if each.row["withdrawn_at"] is None]


def has_reports(caller: Caller, row: Row) -> bool:
    """Return whether an inspection has an issued report, withdrawn or not. It is then not deleted."""
    return bool(reports_of(caller, row))


def issue_links(caller: Caller, row: Row) -> list[Link]:
    """Return the links to the forms that issue the reports which an inspection does not have yet."""
    if row["status"] not in VISIT_RESULTS or not queries.conducts(caller, row["id"]):
        return []
    active = {each.row["kind"] for each in locking_reports(caller, row)}
    return [
        (f"Issue {NAMES[each].lower()}", console_url(f"/{VISITS}/{row['id']}/issue?kind={each}"))
        for each in report_kinds(caller, row)
        if each not in active
    ]


def report_section(caller: Caller, row: Row, may_edit: bool) -> Section:
    """Return the issued reports of an inspection, the forms that issue one, and the drafts."""
    reports = reports_of(caller, row)
    return "inspection_reports.html", {
        "first": True,
        "tab": ("report", "Report", len(reports)),
        "links": [*issue_links(caller, row), *draft_links(row["id"], report_kinds(caller, row))],
        "reports": reports,
    }


# The form that issues a report


def chosen_kind() -> str:
    kind = request.args.get("kind", "")
    if kind not in REPORT_KINDS:
        raise UnknownPath
    return kind


def issuable(caller: Caller, key: int, kind: str, rule: str | None) -> tuple[InspectionReport, Row | None]:
    """Return the report that the caller may issue, and the withdrawn one that it replaces.

    Raise UnknownPath, PermissionDenied, ReportWithoutResult, ReportIssued or ReportTooLarge.
    """
    with reading() as transaction:
        try:
            return read_issuable(transaction, caller, key, kind, rule, "")
        except NoSuchRow as fault:
            raise UnknownPath from fault


def issue_fields(kind: str, *, has_gaps: bool) -> list[Field]:
    shown = fields.parameter_fields(FUNCTIONS[ISSUE].parameters)
    rules = tuple(Choice(each, each.capitalize() if each == FEDERAL else each) for each in RULES)
    rule = [replace(shown["p_rule"], required=True, choices=rules, hint="")] if kind == LEAD_REPORT else []
    reason = [replace(shown["p_gaps_reason"], required=True)] if has_gaps else []
    return [*rule, replace(shown["p_signed_name"], characters_max=NAME_CHARACTERS_MAX), *reason]


def issue_page(caller: Caller, key: int, kind: str, values: FormValues | None, status: int = 200) -> Response:
    """Return the form. It says first what the report lacks by the chosen rule."""
    visit = read_visit(caller, key)
    rule = values.typed.get("rule") if values is not None else request.args.get("rule")
    try:
        report, former = issuable(caller, key, kind, rule if kind == LEAD_REPORT and rule in RULES else None)
    except (ReportIssued, ReportWithoutResult) as fault:
        return redirect_to(f"/{VISITS}/{key}", fault_message(fault))
    gaps = report.gaps if isinstance(report, LeadReport) else ()
    if values is None:
        name = g.session_cookie.name or report.inspector.name
        values = FormValues({"signed_name": name or "", "rule": report.rule if isinstance(report, LeadReport) else ""})
    return render_page(
        "report_issue.html",
        status,
        title=f"Issue {NAMES[kind].lower()}: {table_of(VISITS).title(visit)}",
        is_lead=kind == LEAD_REPORT,
        former=former,
        gaps=[(each.text, gap_url(caller, report, visit, each.code)) for each in gaps],
        fields=issue_fields(kind, has_gaps=bool(gaps)),
        values=values,
        draft=draft_url(key, kind),
        back=f"/{VISITS}/{key}",
    )


def read_visit(caller: Caller, key: int) -> Row:
    """Return a visible inspection. Raise UnknownPath."""
    text = f"select={table_of(VISITS).title_select},inspector_id&id=eq.{key}"
    row = queries.first_row(caller, VISITS, text)
    if row is None:
        raise UnknownPath
    return row


def gap_url(caller: Caller, report: InspectionReport, visit: Row, code: str) -> str:
    """Return the page on which the caller corrects what a report lacks; an empty text if the caller may not."""
    part, key = code.partition(".")[0], visit["id"]
    targets = {
        "inspection": (VISITS, key, "/edit"),
        "building": ("buildings", report.building.id, "/edit"),
        "year_built": ("buildings", report.building.id, "#details"),
        "owner": ("buildings", report.building.id, "#details"),
        "inspector": ("inspectors", visit["inspector_id"], "/edit"),
    }
    if part in targets:
        name, number, place = targets[part]
        if number is None or not queries.is_permitted(caller, Action.UPDATE, name, f"id=eq.{number}"):
            return ""
        return console_url(f"/{name}/{number}{place}")
    if part == "xrf_instruments":
        return console_url(f"/{part}") if table_of(part).permits(caller, Action.UPDATE) else ""
    return console_url(f"/{VISITS}/{key}#reports_lead") if queries.records_visit(caller, key) else ""


@auth.requires_call(FUNCTIONS[ISSUE])
def show_issue(caller: Caller, key: int) -> Response:
    return issue_page(caller, key, chosen_kind(), None)


@auth.requires_call(FUNCTIONS[ISSUE])
def submit_issue(caller: Caller, key: int) -> Response:
    kind = chosen_kind()
    drawn = {each: g.form.get(each, "") for each in ("signature_png", "gaps_reason")}
    values = fields.read_texts(issue_fields(kind, has_gaps=False), g.form, **drawn)

    def store() -> Response:
        given = {f"p_{name}": text.strip() for name, text in values.typed.items() if text.strip()}
        try:
            made = issue(caller, {**given, "p_inspection_id": key, "p_kind": kind})
        except (ReportIssued, ReportWithoutResult) as fault:
            record_fault(fault)
            return redirect_to(f"/{VISITS}/{key}", fault_message(fault))
        return redirect_to(f"/{VISITS}/{key}", f"Report {made['number']} issued.")

    return save(values, store, lambda status: issue_page(caller, key, kind, values, status))


def issue(caller: Caller, arguments: Row) -> Any:
    """Return the result of issue_report, or its first result for a form that was sent before."""
    seconds = FUNCTIONS[ISSUE].seconds_max
    prepared: dict[str, Any] | None = None
    refusal: ReportIssued | None = None
    try:
        with reading(seconds) as snapshot:
            prepared = queries.prepare(snapshot, load_caller(snapshot), ISSUE, arguments)
    except NoSuchRow as fault:
        raise UnknownPath from fault
    except ReportIssued as fault:  # perhaps by this very form
        refusal = fault
    with writing(seconds_max=seconds) as transaction:
        now = load_caller(transaction)

        def change() -> Any:
            if prepared is None:
                assert refusal is not None
                raise refusal
            return queries.call_prepared(transaction, now, ISSUE, prepared)

        return once(transaction, now, ISSUE, change)


# The withdrawal


def withdraw_form(caller: Caller, key: int) -> tuple[Row, FunctionForm]:
    """Return the report and its form; raise UnknownPath, PermissionDenied or ReportWithdrawn."""
    text = f"select=id,number,withdrawn_at,inspection_id,{VISITS}(id)&id=eq.{key}"
    row = queries.first_row(caller, NAME, text)
    if row is None:
        raise UnknownPath
    if row["withdrawn_at"] is not None and not auth.is_form():  # the function refuses, or answers as the first time
        raise ReportWithdrawn
    if row["withdrawn_at"] is None:
        with reading() as transaction:
            if not may_withdraw(transaction, caller, key):
                raise policy.PermissionDenied(f"permission denied for function {WITHDRAW}")
    shown = [*fields.parameter_fields(FUNCTIONS[WITHDRAW].parameters).values()]
    back = f"/{VISITS}/{row['inspection_id']}" if row[VISITS] is not None else f"/{NAME}/{key}"
    return row, FunctionForm(f"Withdraw report {row['number']}", "Withdraw", shown, back)


@auth.requires_call(FUNCTIONS[WITHDRAW])
def show_withdraw(caller: Caller, key: int) -> Response:
    try:
        _, form = withdraw_form(caller, key)
    except ReportWithdrawn as fault:
        return redirect_to(f"/{NAME}/{key}", fault_message(fault))
    return form.page(FormValues({}))


@auth.requires_call(FUNCTIONS[WITHDRAW])
def submit_withdraw(caller: Caller, key: int) -> Response:
    row, form = withdraw_form(caller, key)

    def call(arguments: dict[str, str]) -> tuple[str, None]:
        queries.call_to_write(WITHDRAW, {**arguments, "p_id": key})
        return f"Report {row['number']} withdrawn. Its visit can be changed.", None

    return form.submit(call)


# The list and the page of a report

STATES: Final = {"issued": "Issued", "withdrawn": "Withdrawn"}
FILTERS: Final = MoreFilters(
    {"state": STATES},
    {("state", "issued"): (("withdrawn_at", "is.null"),), ("state", "withdrawn"): (("withdrawn_at", "not.is.null"),)},
    labels={"state": "State"},
)
VIEWS: Final = (*((label, f"state={state}") for state, label in STATES.items()), ("All", ""))


def list_reports(table: Table, caller: Caller) -> Response:
    links = [("Verify", console_url("/verify"))]
    return list_page(table, caller, more=FILTERS, views=VIEWS, actions=lambda query: links)


def download_reports(table: Table, caller: Caller) -> Response:
    return lists.download(table, caller, FILTERS)


def page_links(caller: Caller, row: Row, may_edit: bool) -> list[Link]:
    """Return the buttons of the page of an issued report."""
    url = console_url(f"/{NAME}/{row['id']}")
    links = [("Page", f"{url}/page")]
    if row[VISITS] is not None:
        links.append(("Visit", console_url(f"/{VISITS}/{row['inspection_id']}")))
    with reading() as transaction:
        return [*links, ("Withdraw", f"{url}/withdraw")] if may_withdraw(transaction, caller, row["id"]) else links


def show_issued_report(table: Table, caller: Caller, key: int) -> Response:
    return show_page(table, caller, key, actions=page_links)


@auth.requires(Action.READ, IssuedReport)
def show_frozen_page(caller: Caller, key: int) -> Response:
    """Show the page that was frozen: the same bytes as those of the API."""
    row = queries.first_row(caller, NAME, f"select=id&id=eq.{key}")
    if row is None:
        raise UnknownPath
    with reading() as transaction:
        report = read_issued(transaction, caller, row["id"])
    response = frozen_answer(MediaType.HTML, report.number, report.content, report.sha256, report.signature)
    response.headers["Vary"] = "Cookie"
    return response


# Verification

SHA256: Final = re.compile("[0-9a-f]{64}")


@auth.requires_session()
def verify(caller: Caller) -> Response:
    """Show what the number or the SHA-256 in the URL says of a report. Hidden and missing reports are alike."""
    typed = request.args.get("report", "").strip()
    column, value = ("sha256", typed.lower()) if SHA256.fullmatch(typed.lower()) else ("number", typed)
    found = find_reports(caller, urlencode({column: f"eq.{value}"})) if value else []
    return render_page("report_verify.html", title="Verify a report", typed=typed, reports=found)


PRESENTATIONS = {
    NAME: Presentation(
        in_navigation=False,
        first_view=VIEWS[0][1],
        related_by=("client_id",),
        hidden=("id",),
        badges=("withdrawn_at",),
        states={"withdrawn_at": state_cell},
        labels={"withdrawn_at": "State"},
        prepare=add_neighbours,
        cells={"replaces_id": former_cell},
        describe=lambda row: f"report {row['number']}",
    )
}
