"""Inspections: quick views, narrower lists, the form of the status, grants, changes of many, and reports.

Many inspections get another inspector or date, or are cancelled. A preview comes before the write. Reports are links,
and pages that a browser prints.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

from flask import Response, g, request
from werkzeug.datastructures import MultiDict

from access.caller import Caller
from access.decorators import load_caller
from access.roles import GrantKind
from access.session import current_time
from engine.open import local_day, writing
from engine.query.statement import Action
from models import Inspection
from models.types import BIGINT, DATE, InvalidInput
from models.vocabulary import CANCELLED, COMPLETED, IN_PROGRESS, INSPECTION_STATUSES, INSPECTION_TYPES, SCHEDULED
from routes.console.components import fields, lists, queries, records, row_choice
from routes.console.components.error_pages import RowsRefused
from routes.console.components.fields import EditConflict, Field, FormValues
from routes.console.components.list_query import ListQuery, Pairs, Part
from routes.console.components.lists import (
    CHOSEN_MAX,
    Link,
    MoreFilters,
    Offer,
    ask_for_ticks,
    chosen_rows,
    list_page,
    return_path,
)
from routes.console.components.page import Undo, redirect_to, render_confirmation
from routes.console.components.records import FunctionForm, RecordForm, field_of, read_ids, save
from routes.console.components.row_choice import IN_USE, ONLY_CLOSED
from routes.console.components.tables import Presentation, Row, Section, Table, table_of
from routes.console.components.template_filters import (
    counted,
    inspection_title,
    long_day,
    name,
    short_name,
    status,
    type_cell,
)
from routes.console.pages.grants import readers_section
from routes.console.pages.lead import lead_section
from routes.console.pages.photographs import inspection_photographs
from routes.console.pages.reports import NAME as REPORTS
from routes.console.pages.reports import has_reports, report_section
from routes.console.pages.rows import show_page
from routes.console.pages.visits import visit_section
from routes.console.session import auth
from routes.console.session.urls import console_url
from routes.http.faults import UnknownPath
from routes.postgrest.lexer import LimitExceeded

NAME, MONTH = "inspections", "month"


def inspection_filters(caller: Caller) -> MoreFilters:
    """Return the filters of the list of inspections beyond those of its columns."""
    return MoreFilters(
        {"status": {f"in.({SCHEDULED},{IN_PROGRESS})": "Open"}, row_choice.CLOSED: row_choice.OPTIONS},
        row_choice.named_filters(caller, "buildings"),
        labels={row_choice.CLOSED: row_choice.LABEL},
    )


LABELS = {"inspector_id": "Assign an inspector", "date_visited": "Move the date", "status": "Cancel the visits"}
"""The button of each column that many inspections change at once."""
MOVE_FIELDS = (
    Field("date", "New date", "date"),
    Field("days", "Or move by days", "number", hint="A negative number moves to an earlier day.", step="1"),
)

VALUES = {"inspector_id": "inspectors", "date_visited": "days"}
VALUES_NAMED_MAX = 3  # of a message, which counts more values

Edits = dict[tuple[str, str], list[int]]
"""Inspections by the text of the value before and after an edit."""


def change_buttons(caller: Caller) -> list[Link]:
    """Return the buttons below a list of inspections."""
    if not table_of(NAME).permits(caller, Action.UPDATE):
        return []
    return [(label, console_url(f"/{NAME}/change/{column}")) for column, label in LABELS.items()]


@auth.requires(Action.UPDATE, Inspection)
def show_change(caller: Caller, column: str) -> Response:
    back = return_path(request.args, NAME)
    try:
        rows = read_rows(caller, column, request.args)
        if not rows:
            return ask_for_ticks(back, "inspection", LABELS[column])
        if column == "status":
            return ask_to_cancel(caller, rows, back)
    except (InvalidInput, LimitExceeded, RowsRefused) as fault:
        return ask_for_ticks(back, "inspection", LABELS[column], fault)
    return change_form(caller, column, rows, request.args).page(fields.FormValues({}))


def ask_to_cancel(caller: Caller, rows: list[Row], back: str) -> Response:
    """Return the preview; raise RowsRefused if one of the visits is not open."""
    try:
        return ask(caller, "status", rows, {}, back)
    except InvalidInput as fault:
        raise RowsRefused(f"{fault.message}.", {row["id"] for row in rows if is_open(row)}) from fault


@auth.requires(Action.UPDATE, Inspection)
def preview_change(caller: Caller, column: str) -> Response:
    rows = read_rows(caller, column, g.form)
    form = change_form(caller, column, rows, g.form)
    values = fields.read_texts(form.fields, g.form)
    return save(
        values, lambda: ask(caller, column, rows, values.typed, form.back), lambda code: form.page(values, code)
    )


def read_rows(caller: Caller, column: str, source: MultiDict[str, str]) -> list[Row]:
    if column not in LABELS:
        raise UnknownPath
    return chosen_rows(table_of(NAME), caller, source)


def change_form(caller: Caller, column: str, rows: list[Row], source: MultiDict[str, str]) -> FunctionForm:
    table, back = table_of(NAME), return_path(source, NAME)
    own_fields = (
        MOVE_FIELDS if column == "date_visited" else (field_of(table, caller, table.relation.attributes[column]),)
    )
    hidden = (("ids", ",".join(str(row["id"]) for row in rows)), ("back", back))
    return FunctionForm(f"{LABELS[column]}: {counted(len(rows), 'inspection')}", "Preview", own_fields, back, hidden)


def ask(caller: Caller, column: str, rows: list[Row], typed: Mapping[str, str], back: str) -> Response:
    """Return the preview: each inspection with its value before and after."""
    edits: Edits = {}
    lines = []
    chosen = typed.get("inspector_id", "").strip()
    names = inspector_names(caller, [*(fields.as_text(row["inspector_id"]) for row in rows), chosen])
    if chosen and chosen not in names:
        raise InvalidInput("There is no such inspector")
    for row in rows:
        before, after = fields.as_text(row[column]), value_after(column, row, typed)
        if before != after:
            edits.setdefault((before, after), []).append(row["id"])
            shown = [shown_value(column, each, names) for each in (before, after)]
            lines.append(f"{table_of(NAME).title(row)}: {shown[0]} → {shown[1]}")
    if not edits:
        return redirect_to(back, "Nothing changed.")
    return render_confirmation(
        f"{LABELS[column]}: {counted(len(lines), 'inspection')}?",
        "Nothing is saved yet.",
        verb="Save",
        action=f"/{NAME}/change/{column}/confirm",
        back=back,
        fields=(*form_fields(edits), ("back", back)),
        names=lines,
    )


def is_open(row: Row) -> bool:
    return row["status"] in (SCHEDULED, IN_PROGRESS)


def value_after(column: str, row: Row, typed: Mapping[str, str]) -> str:
    """Return the text of the new value; raise InvalidInput if the row cannot have it."""
    if column == "status":
        if not is_open(row):
            raise InvalidInput(f"{table_of(NAME).title(row)} is not open")
        return CANCELLED
    if column == "inspector_id":
        return typed[column].strip()
    date, days = typed["date"].strip(), typed["days"].strip()
    if date and days:
        raise InvalidInput("Enter a date or a number of days, not both")
    if not date and not days:
        raise InvalidInput("Enter a date or a number of days")
    if date:
        return str(DATE.read_json(date))
    if row["date_visited"] is None:
        raise InvalidInput(f"{table_of(NAME).title(row)} cannot move by days")
    number = int(BIGINT.read_text(days) or 0)
    try:
        return str(datetime.date.fromisoformat(row["date_visited"]) + datetime.timedelta(number))
    except (ValueError, OverflowError):
        raise InvalidInput("The days lead to no date") from None


def inspector_names(caller: Caller, texts: Iterable[str]) -> dict[str, str]:
    """Return the names of inspectors, as far as the caller sees them, by the text of the id."""
    ids = {BIGINT.read_text(each) for each in texts if each}
    table = table_of("inspectors")
    text = f"select={table.title_select}&id=in.({','.join(map(str, ids))})"
    return {
        str(row["id"]): table.title(row) for row in queries.select_rows(caller, "inspectors", text, limit=len(ids)).rows
    }


def shown_value(column: str, text: str, names: Mapping[str, str]) -> str:
    if not text:
        return "no inspector" if column == "inspector_id" else "no date"
    if column == "inspector_id":
        return names.get(text, "an inspector")
    return status(text) if column == "status" else long_day(text)


def form_fields(edits: Edits) -> list[tuple[str, str]]:
    return [("edit", f"{before}:{after}:{','.join(map(str, ids))}") for (before, after), ids in edits.items()]


# The write


@auth.requires(Action.UPDATE, Inspection)
def save_change(caller: Caller, column: str) -> Response:
    """Save all edits, or none if a row has changed since the preview or refuses its edit."""
    if column not in LABELS:
        raise UnknownPath
    edits, back = parse_edits(g.form.getlist("edit")), return_path(g.form, NAME)
    number = sum(map(len, edits.values()))
    if number > CHOSEN_MAX:
        raise LimitExceeded(CHOSEN_MAX, "rows at once")
    done = result_text(caller, column, edits)
    with writing() as transaction:
        now = load_caller(transaction)
        for (before, after), ids in edits.items():
            value: Any = value_of(column, after)
            condition = f"eq.{quote(before)}" if before else "is.null"
            filters = f"id=in.({','.join(map(str, ids))})&{column}={condition}"
            if queries.update(transaction, now, NAME, filters, {column: value}) != len(ids):
                raise EditConflict
    undo = Undo(
        f"/{NAME}/change/{column}/confirm",
        (*form_fields({(after, before): ids for (before, after), ids in edits.items()}), ("back", back)),
    )
    return redirect_to(back, done, undo)


def result_text(caller: Caller, column: str, edits: Edits) -> str:
    """Return what changed, such as "13 inspections assigned to Ines Vega."; many values are counted."""
    numbers: Counter[str] = Counter()
    for (_, after), ids in edits.items():
        numbers[after] += len(ids)
    names = inspector_names(caller, numbers) if column == "inspector_id" else {}
    results = {each: result_of(column, each, short_name(shown_value(column, each, names))) for each in numbers}
    values = [each for each in numbers if each]
    if len(values) > VALUES_NAMED_MAX:
        results[values[0]] = result_of(column, values[0], f"{len(values):,} {VALUES[column]}")
        numbers[values[0]] = sum(numbers.pop(each) for each in values)
    parts = [f"{counted(number, 'inspection')} {results[each]}" for each, number in sorted(numbers.items())]
    return f"{', '.join(parts)}."


def result_of(column: str, after: str, shown: str) -> str:
    if column == "status":
        return shown.lower() if after == CANCELLED else f"set to {shown}"
    if column == "inspector_id":
        return f"assigned to {shown}" if after else "left without an inspector"
    return f"moved to {shown}" if after else "left without a date"


def value_of(column: str, text: str) -> Any:
    return table_of(NAME).relation.attributes[column].type.read_json(text) if text else None


def parse_edits(texts: list[str]) -> Edits:
    edits: Edits = {}
    for text in texts:
        before, _, rest = text.partition(":")
        after, _, ids = rest.partition(":")
        edits[before, after] = read_ids([ids])
    return edits


OPEN_STATUSES = f"in.({SCHEDULED},{IN_PROGRESS})"
FIRST_VIEW = f"status={OPEN_STATUSES}&{IN_USE}"
OPEN_PART: Part = ((("status", OPEN_STATUSES),), "date_visited.asc,id.asc")
PAST_PART: Part = (
    (("status", f"isdistinct.{SCHEDULED}"), ("status", f"isdistinct.{IN_PROGRESS}")), "date_visited.desc,id.desc"
)  # fmt: skip


def list_parts(filters: Pairs) -> Sequence[Part]:
    """Return the open inspections, the soonest first, and then the others, the newest first."""
    for column, value in filters:
        if column == "status" and value in (OPEN_STATUSES, f"eq.{SCHEDULED}", f"eq.{IN_PROGRESS}"):
            return [((), OPEN_PART[1])]
        if column == "status" and value.startswith("eq."):
            return [((), PAST_PART[1])]
    return (OPEN_PART, PAST_PART)


DATED_STATUSES = (SCHEDULED, COMPLETED)
PERIODS = (
    ("month", datetime.timedelta(days=31)),
    ("quarter", datetime.timedelta(days=92)),
    ("year", datetime.timedelta(days=366)),
)


def narrower(query: ListQuery) -> list[Offer]:
    """Return narrower lists by date, status, type and building, except for the columns that the URL filters already."""
    today = local_day(current_time())
    dates: list[tuple[str, Pairs]] = [
        (f"Last {word}", (("date_visited", f"gte.{today - ago}"), ("date_visited", f"lte.{today}")))
        for word, ago in PERIODS
    ]
    dates.append(("After today", (("date_visited", f"gt.{today}"),)))
    offers: list[Offer] = []
    if not query.filters_by("date_visited"):
        offers.append(("Date", [(word, query.narrowed_url(*pairs)) for word, pairs in dates]))
    columns = (("status", "Status", INSPECTION_STATUSES), ("inspection_type", "Type", INSPECTION_TYPES))
    for column, label, words in columns:
        if not query.filters_by(column):
            urls = [(status(word), query.narrowed_url((column, f"eq.{word}"))) for word in words]
            offers.append((label, urls))
    if query.word:
        url = console_url(f"/buildings?{urlencode({'q': query.word})}")
        offers.append(("Building", [("Buildings with this word", url)]))
    return offers


def views() -> list[tuple[str, str]]:
    """Return the quick views: first what is open, the longest overdue first."""
    today = local_day(current_time())
    monday, month = today - datetime.timedelta(today.weekday()), today.replace(day=1)
    next_month = (month + datetime.timedelta(31)).replace(day=1)
    periods = [
        ("This week", monday, monday + datetime.timedelta(6)),
        ("Next week", monday + datetime.timedelta(7), monday + datetime.timedelta(13)),
        ("This month", month, next_month - datetime.timedelta(1)),
        ("Next month", next_month, (next_month + datetime.timedelta(31)).replace(day=1) - datetime.timedelta(1)),
    ]
    return [
        ("Open", FIRST_VIEW),
        ("Late", f"{FIRST_VIEW}&date_visited=lte.{today - datetime.timedelta(1)}"),
        *((label, f"{FIRST_VIEW}&date_visited=gte.{first}&date_visited=lte.{last}") for label, first, last in periods),
        ("Completed", "status=eq.completed"),
        ("Failed", "status=eq.failed"),
        ("Closed buildings", ONLY_CLOSED),
        ("All", ""),
    ]


def require_date(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the problem of a scheduled or completed inspection without a date. The API allows it."""
    if texts.get("status") not in DATED_STATUSES or texts.get("date_visited", "").strip():
        return {}
    return {"date_visited": f"A {texts['status']} inspection needs a date."}


# Sections of the page


def status_section(caller: Caller, row: Row, may_edit: bool) -> Section | None:
    """Return the form of the status, for a caller who may edit the inspection."""
    if not may_edit:
        return None
    form = status_form(row)
    return "inspection_status.html", {
        "field": form.fields[0],
        "form_values": fields.initial_values(form.fields, fields.row_texts(form.fields, row)),
        "path": console_url(f"/{NAME}/{row['id']}/status"),
    }


# The form that changes only the status


def status_form(row: Row | None = None) -> RecordForm:
    table = table_of(NAME)
    known = row is None or row["status"] in (None, *INSPECTION_STATUSES)
    choices = fields.choices(INSPECTION_STATUSES, {each: status(each) for each in INSPECTION_STATUSES})
    if row is not None and not known:
        choices = (*choices, fields.Choice(row["status"], name(row["status"], 80)))
    field = fields.Field("status", "Status", "select", choices=choices)
    return RecordForm(table, (field,), verb="Change the status of", find_problems=require_date)


@auth.requires(Action.UPDATE, Inspection)
def update_status(caller: Caller, key: int) -> Response:
    return records.update_row(table_of(NAME), caller, key, lambda table, caller: status_form())


# Pages of any row


def month_url(query: ListQuery, day: datetime.date | None = None) -> str:
    """Return the URL of the visits of the month of a day, or of this month, with the filters of a list."""
    filters = replace(query, order=query.listing.order).path().partition("?")[2]
    parts = [f"{MONTH}={day:%Y-%m}"] if day is not None else []
    return console_url(f"/{NAME}/{MONTH}?{'&'.join(filter(None, (*parts, filters)))}".rstrip("?"))


def report_links() -> list[Link]:
    table = table_of(REPORTS)
    return [(table.plural, console_url(f"{table.path}?{table.presentation.first_view}"))]


def list_inspections(table: Table, caller: Caller) -> Response:
    return list_page(
        table,
        caller,
        more=inspection_filters(caller),
        views=views(),
        offers=narrower,
        actions=lambda query: [("Month", month_url(query)), *report_links()],
        bulk=change_buttons(caller),
        bulk_action=Action.UPDATE,
    )


def download_inspections(table: Table, caller: Caller) -> Response:
    return lists.download(table, caller, inspection_filters(caller))


def show_inspection(table: Table, caller: Caller, key: int) -> Response:
    return show_page(
        table,
        caller,
        key,
        sections=(visit_section, lead_section, inspection_photographs, report_section),
        aside=(status_section, readers_section(GrantKind.INSPECTION)),
        may_add=lambda caller, row: queries.records_visit(caller, row["id"]),
        is_locked=lambda caller, row: queries.is_reported(row["id"]),
        stays=has_reports,
        links=[("Why can I see this?", console_url(f"/why?kind=inspection&key={key}"))],
    )


def inspection_form(table: Table, caller: Caller) -> RecordForm:
    initial = {"status": SCHEDULED, "date_visited": str(local_day(current_time()))}
    return replace(records.record_form(table, caller), initial=initial, find_problems=require_date)


PRESENTATIONS = {
    NAME: Presentation(
        parts=list_parts,
        first_view=FIRST_VIEW,
        title=inspection_title,
        title_columns=("inspection_type",),
        title_references=("building_id",),
        badges=("status",),
        cells={"inspection_type": type_cell},
        hidden=("inspection_type", "date_visited"),
    )
}


# The open visits of an inspector, from one day to another, are handed over to another inspector

INSPECTORS, TO = "inspectors", "inspector_id"
DAYS = (
    Field("first_day", "From", "date", hint="Empty: the late visits, too."),
    Field("last_day", "To", "date", hint="Empty: all later visits. Without both days, also visits without a date."),
)


def hand_over_links(caller: Caller, row: Row) -> list[tuple[str, str]]:
    """Return the button of an inspector's page, for users who change inspections."""
    if not table_of(NAME).permits(caller, Action.UPDATE):
        return []
    return [("Hand over", console_url(f"/{INSPECTORS}/{row['id']}/hand_over"))]


def hand_over_form(caller: Caller, key: int) -> FunctionForm:
    inspectors, inspections = table_of(INSPECTORS), table_of(NAME)
    row = queries.first_row(caller, INSPECTORS, f"select={inspectors.title_select}&id=eq.{key}")
    if row is None:
        raise UnknownPath
    to = replace(field_of(inspections, caller, inspections.relation.attributes[TO]), label="To whom", required=True)
    return FunctionForm(
        f"Hand over the open visits of {inspectors.title(row)}", "Preview", (*DAYS, to), f"/{INSPECTORS}/{key}"
    )


@auth.requires(Action.UPDATE, Inspection)
def show_hand_over(caller: Caller, key: int) -> Response:
    return hand_over_form(caller, key).page(FormValues({"first_day": str(local_day(current_time()))}))


@auth.requires(Action.UPDATE, Inspection)
def preview_hand_over(caller: Caller, key: int) -> Response:
    """Show the preview of the change, whose form is that of the ticked rows of a list."""
    form = hand_over_form(caller, key)
    values = fields.read_texts(form.fields, g.form)

    def preview() -> Response:
        return ask(caller, TO, open_visits(caller, key, values.typed), values.typed, form.back)

    return save(values, preview, lambda code: form.page(values, code))


def open_visits(caller: Caller, key: int, typed: Mapping[str, str]) -> list[Row]:
    """Return the open visits of an inspector that the caller may change; raise InvalidInput for none or too many."""
    table = table_of(NAME)
    days = [(operator, typed[name].strip()) for name, operator in (("first_day", "gte"), ("last_day", "lte"))]
    bounds = "".join(f"&date_visited={operator}.{DATE.read_json(day)}" for operator, day in days if day)
    text = f"select={table.list_select(caller)}&inspector_id=eq.{key}&status={OPEN_STATUSES}{bounds}"
    found = queries.select_rows(
        caller, NAME, f"{text}&order=date_visited,id", limit=CHOSEN_MAX + 1, within=Action.UPDATE
    )
    if not found.rows:
        raise InvalidInput("No open visits on these days")
    if len(found.rows) > CHOSEN_MAX:
        raise InvalidInput(f"These are more than {CHOSEN_MAX} visits. Choose fewer days")
    return found.rows
