"""Inspections: quick views, narrower lists, the form of the status, and grants."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlencode

from flask import Response

from access.authentication import current_time
from access.caller import Caller
from engine.current import local_day
from engine.query.rule import Action
from models import Inspection
from models.vocabulary import COMPLETED, INSPECTION_STATUSES, INSPECTION_TYPES, SCHEDULED
from routes.console.components import downloads, fields, queries, records
from routes.console.components.list_query import ListQuery, Pairs
from routes.console.components.lists import Offer, list_page
from routes.console.components.page import bp
from routes.console.components.records import RecordForm
from routes.console.components.tables import PATH, PRESENTATIONS, Presentation, Row, Section, Table, table_of
from routes.console.components.template_filters import name, status
from routes.console.components.titles import inspection_title, type_cell
from routes.console.pages.explain_access import readers_section
from routes.console.pages.grants_of_row import grants_section
from routes.console.pages.inspection_changes import FILTERS, change_buttons
from routes.console.pages.inspection_reports import reports_section
from routes.console.pages.lead import expects_readings, lead_section
from routes.console.pages.photographs import inspection_photographs
from routes.console.pages.rows import own_form, own_view, show_page
from routes.console.pages.visits import visit_section
from routes.console.session import auth

NAME = "inspections"
OPEN_STATUSES = "in.(scheduled,in_progress)"
FIRST_VIEW = f"status={OPEN_STATUSES}&order=date_visited.asc"
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
        url = f"{PATH}/buildings?{urlencode({'q': query.word})}"
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
        ("Late", f"status={OPEN_STATUSES}&date_visited=lte.{today - datetime.timedelta(1)}&order=date_visited.asc"),
        *(
            (label, f"status={OPEN_STATUSES}&date_visited=gte.{first}&date_visited=lte.{last}&order=date_visited.asc")
            for label, first, last in periods
        ),
        ("Completed", "status=eq.completed"),
        ("Failed", "status=eq.failed"),
        ("All", ""),
    ]


def require_date(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the problem of a scheduled or completed inspection without a date. The API allows it."""
    if texts.get("status") not in DATED_STATUSES or texts.get("date_visited", "").strip():
        return {}
    return {"date_visited": f"A {texts['status']} inspection needs a date."}


# Sections of the page


def status_section(caller: Caller, row: Row, may_edit: bool) -> Section | None:
    if not may_edit:
        return None
    form = status_form(row)
    return "inspection_status.html", {
        "field": form.fields[0],
        "form_values": fields.initial_values(form.fields, fields.row_texts(form.fields, row)),
        "path": f"{PATH}/{NAME}/{row['id']}/status",
    }


def report_section(caller: Caller, row: Row, may_edit: bool) -> Section:
    return reports_section(row["id"], has_readings=expects_readings(caller, "inspection_id", row))


# The form that changes only the status


def status_form(row: Row | None = None) -> RecordForm:
    table = table_of(NAME)
    known = row is None or row["status"] in (None, *INSPECTION_STATUSES)
    choices = fields.choices(INSPECTION_STATUSES, {each: status(each) for each in INSPECTION_STATUSES})
    if row is not None and not known:
        choices = (*choices, fields.Choice(row["status"], name(row["status"], 80)))
    field = fields.Field("status", "Status", "select", choices=choices)
    return RecordForm(table, (field,), verb="Change the status of", find_problems=require_date)


@bp.post(f"/{NAME}/<int:key>/status")
@auth.requires(Action.UPDATE, Inspection)
def update_status(caller: Caller, key: int) -> Response:
    return records.update_row(table_of(NAME), caller, key, lambda table, caller: status_form())


# Pages of any row


@own_view(NAME, "")
def list_inspections(table: Table, caller: Caller) -> Response:
    return list_page(table, caller, more=FILTERS, views=views(), offers=narrower, bulk=change_buttons(caller))


@own_view(NAME, ".csv")
def download_inspections(table: Table, caller: Caller) -> Response:
    return downloads.download(table, caller, FILTERS)


@own_view(NAME, "/{key}")
def show_inspection(table: Table, caller: Caller, key: int) -> Response:
    return show_page(
        table,
        caller,
        key,
        sections=(
            visit_section,
            inspection_photographs,
            lead_section,
            status_section,
            report_section,
            grants_section,
            readers_section("inspection"),
        ),
        may_add=lambda caller, row: queries.conducts(caller, row["id"]),
        links=[("Why can I see this?", f"{PATH}/why?kind=inspection&key={key}")],
    )


@own_form(NAME)
def inspection_form(table: Table, caller: Caller) -> RecordForm:
    initial = {"status": SCHEDULED, "date_visited": str(local_day(current_time()))}
    return replace(records.record_form(table, caller), initial=initial, find_problems=require_date)


PRESENTATIONS[NAME] = Presentation(
    first_view=FIRST_VIEW,
    title=inspection_title,
    title_columns=("inspection_type",),
    title_references=("building_id",),
    badges=("status",),
    cells={"inspection_type": type_cell},
    hidden=("inspection_type", "date_visited"),
)
