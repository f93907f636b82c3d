"""/console/inspections/<n>/readings: the forms of the lead readings of an inspection."""

from __future__ import annotations

from flask import Response, request

from access import policy
from access.caller import Caller
from engine.query.rule import Action
from models import ReportLead
from routes.console.components import queries, records
from routes.console.components.fields import Field, choices
from routes.console.components.page import bp, redirect_to, render_page
from routes.console.components.queries import QueryResult
from routes.console.components.records import RecordForm, require_row, require_written
from routes.console.session import auth

NAME = "reports_lead"
PATH = "/inspections/<int:inspection>/readings"
READINGS_SHOWN = 50
COMMON_RESULTS = ("positive", "negative", "inconclusive")
FIELDS = (
    Field("gun_id", "XRF gun", "number", step="1", hint="The number of the device."),
    Field("result", "Result", "suggest", choices=choices(COMMON_RESULTS)),
)


def readings_of(caller: Caller, inspection: int, offset: int) -> tuple[QueryResult, set[int]]:
    """Return a page of an inspection's readings, newest first, and the ids that the caller may update."""
    filters = f"inspection_id=eq.{inspection}&order=id.desc"
    page = queries.select_rows(
        caller, NAME, f"select=id,gun_id,result&{filters}", limit=READINGS_SHOWN, offset=offset, total=True
    )
    if not policy.permits(caller.role, Action.UPDATE, ReportLead):
        return page, set()
    editable = queries.select_rows(
        caller, NAME, f"select=id&{filters}", limit=READINGS_SHOWN, offset=offset, within=Action.UPDATE
    )
    return page, {row["id"] for row in editable.rows}


def readings_offset() -> int:
    """Return the offset of the page of readings in the URL."""
    text = request.args.get("readings", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


@bp.get(f"{PATH}/new")
@auth.requires(Action.INSERT, ReportLead)
def new_reading(caller: Caller, inspection: int) -> Response:
    return records.render_new_form(reading_form(caller, inspection), {})


@bp.post(f"{PATH}/new")
@auth.requires(Action.INSERT, ReportLead)
def create_reading(caller: Caller, inspection: int) -> Response:
    return records.create_row(reading_form(caller, inspection))


@bp.get(f"{PATH}/<int:key>/edit")
@auth.requires(Action.UPDATE, ReportLead)
def edit_reading(caller: Caller, inspection: int, key: int) -> Response:
    return records.render_edit_form(caller, reading_form(caller, inspection), key)


@bp.post(f"{PATH}/<int:key>/edit")
@auth.requires(Action.UPDATE, ReportLead)
def update_reading(caller: Caller, inspection: int, key: int) -> Response:
    return records.update_row(caller, reading_form(caller, inspection), key)


@bp.get(f"{PATH}/<int:key>/delete")
@auth.requires(Action.DELETE, ReportLead)
def confirm_reading_deletion(caller: Caller, inspection: int, key: int) -> Response:
    row = require_row(caller, Action.DELETE, NAME, reading_filters(inspection, key))
    result = f", {row['result']}" if row["result"] else ""
    return render_page(
        "delete.html", what=f"reading {key}{result}", path=f"/inspections/{inspection}", takes=[], stops=[]
    )


@bp.post(f"{PATH}/<int:key>/delete")
@auth.requires(Action.DELETE, ReportLead)
def delete_reading(caller: Caller, inspection: int, key: int) -> Response:
    require_written(queries.delete(NAME, reading_filters(inspection, key)))
    return redirect_to(f"/inspections/{inspection}", f"Reading {key} deleted.")


def reading_filters(inspection: int, key: int) -> str:
    return f"id=eq.{key}&inspection_id=eq.{inspection}"


def reading_form(caller: Caller, inspection: int) -> RecordForm:
    """Return the form of a reading; raise UnknownPath unless the caller may update the inspection."""
    require_row(caller, Action.UPDATE, "inspections", f"id=eq.{inspection}", "select=id")
    inspection_path = f"/inspections/{inspection}"
    return RecordForm(
        NAME,
        "reading",
        FIELDS,
        inspection_path,
        within=f"&inspection_id=eq.{inspection}",
        defaults={"inspection_id": inspection},
        page_of=lambda key: inspection_path,
        title=lambda row: f"reading {row['id']}",
    )
