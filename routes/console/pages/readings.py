"""/console/inspections/<n>/readings: the lead readings of an inspection, made, changed, deleted."""

from __future__ import annotations

from flask import Response
from flask import request

from access import policy
from access.caller import Caller
from engine.query.rule import Action
from models import ReportLead
from routes.console.components import queries as engine
from routes.console.components import records
from routes.console.components.fields import Field
from routes.console.components.fields import choices
from routes.console.components.page import bp
from routes.console.components.page import go
from routes.console.components.page import show
from routes.console.components.queries import Found
from routes.console.components.records import Record
from routes.console.components.records import require_one
from routes.console.components.records import within_reach
from routes.console.session import auth as door

NAME = "reports_lead"
PATH = "/inspections/<int:inspection>/readings"
READINGS_SHOWN = 50
COMMON_RESULTS = ("positive", "negative", "inconclusive")
FIELDS = (
    Field("gun_id", "XRF gun", "number", step="1", hint="The number of the device."),
    Field("result", "Result", "suggest", choices=choices(COMMON_RESULTS)),
)


def readings_of(caller: Caller, inspection: int, offset: int) -> tuple[Found, set[int]]:
    """Some of an inspection's readings, the newest first, and which of them the caller may change."""
    named = f"inspection_id=eq.{inspection}&order=id.desc"
    found = engine.ask(
        caller,
        NAME,
        f"select=id,gun_id,result&{named}",
        limit=READINGS_SHOWN,
        offset=offset,
        total=True,
    )
    if not policy.permits(caller.role, Action.UPDATE, ReportLead):
        return found, set()
    within = engine.ask(
        caller,
        NAME,
        f"select=id&{named}",
        limit=READINGS_SHOWN,
        offset=offset,
        within=Action.UPDATE,
    )
    return found, {row["id"] for row in within.rows}


def offset_of_page() -> int:
    """How many readings stand before the ones to be shown."""
    text = request.args.get("readings", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


@bp.get(f"{PATH}/new")
@door.requires(Action.INSERT, ReportLead)
def new_reading(caller: Caller, inspection: int) -> Response:
    return records.new(record_of(caller, inspection), {})


@bp.post(f"{PATH}/new")
@door.requires(Action.INSERT, ReportLead)
def make_reading(caller: Caller, inspection: int) -> Response:
    return records.make(record_of(caller, inspection))


@bp.get(f"{PATH}/<int:key>/edit")
@door.requires(Action.UPDATE, ReportLead)
def edit_reading(caller: Caller, inspection: int, key: int) -> Response:
    return records.edit(caller, record_of(caller, inspection), key)


@bp.post(f"{PATH}/<int:key>/edit")
@door.requires(Action.UPDATE, ReportLead)
def change_reading(caller: Caller, inspection: int, key: int) -> Response:
    return records.change(caller, record_of(caller, inspection), key)


@bp.get(f"{PATH}/<int:key>/delete")
@door.requires(Action.DELETE, ReportLead)
def confirm_reading_deletion(caller: Caller, inspection: int, key: int) -> Response:
    found = within_reach(caller, Action.DELETE, NAME, named(inspection, key))
    said = f", {found['result']}" if found["result"] else ""
    return show(
        "delete.html",
        what=f"reading {key}{said}",
        path=f"/inspections/{inspection}",
        takes=[],
        stops=[],
    )


@bp.post(f"{PATH}/<int:key>/delete")
@door.requires(Action.DELETE, ReportLead)
def delete_reading(caller: Caller, inspection: int, key: int) -> Response:
    require_one(engine.delete(NAME, named(inspection, key)))
    return go(f"/inspections/{inspection}", f"Reading {key} is deleted.")


def named(inspection: int, key: int) -> str:
    return f"id=eq.{key}&inspection_id=eq.{inspection}"


def record_of(caller: Caller, inspection: int) -> Record:
    """A reading of an inspection that the caller may change, which is what they see it with."""
    within_reach(caller, Action.UPDATE, "inspections", f"id=eq.{inspection}", "select=id")
    here = f"/inspections/{inspection}"
    return Record(
        NAME,
        "reading",
        FIELDS,
        here,
        within=f"&inspection_id=eq.{inspection}",
        besides={"inspection_id": inspection},
        page_of=lambda key: here,
        title=lambda row: f"reading {row['id']}",
    )
