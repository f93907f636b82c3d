"""/console/inspections: the visits, one by one and in lists; made, changed, and deleted."""

from __future__ import annotations

import datetime
from dataclasses import replace
from urllib.parse import urlencode

from flask import Response
from flask import request

from access import policy
from access.caller import Caller
from access.decorators import current_time
from engine.query.rule import Action
from models import Inspection
from models import ReportLead
from routes.console.components import fields
from routes.console.components import queries as engine
from routes.console.components import records
from routes.console.components.downloads import download
from routes.console.components.fields import Field
from routes.console.components.fields import choices
from routes.console.components.list_query import Listing
from routes.console.components.list_query import Pairs
from routes.console.components.list_query import Wanted
from routes.console.components.lists import Offer
from routes.console.components.lists import show_list
from routes.console.components.page import COMMON_TYPES
from routes.console.components.page import ROLE_NAMES
from routes.console.components.page import bp
from routes.console.components.page import go
from routes.console.components.page import show
from routes.console.components.records import Record
from routes.console.components.records import picked
from routes.console.components.records import require_one
from routes.console.components.records import within_reach
from routes.console.components.template_filters import COMMON_STATUSES
from routes.console.components.template_filters import name
from routes.console.components.template_filters import status
from routes.console.pages.inspection_access import sharing
from routes.console.pages.readings import COMMON_RESULTS
from routes.console.pages.readings import READINGS_SHOWN
from routes.console.pages.readings import offset_of_page
from routes.console.pages.readings import readings_of
from routes.console.session import auth as door
from routes.console.session.auth import PATH
from routes.postgrest.requests import UnknownPath

NAME = "inspections"
OPEN_STATUSES = "in.(scheduled,in_progress)"
LISTING = Listing(
    relation=NAME,
    select="id,inspection_type,date_visited,status,notes,buildings(id,name,city),inspectors(id,name)",
    order="date_visited.desc",
    searched=("notes", "inspection_type"),
    searched_embed=("buildings", "name"),
    searched_key="building_id",
    equals={
        "status": (*(f"eq.{each}" for each in COMMON_STATUSES), OPEN_STATUSES, "is.null"),
        "inspection_type": tuple(f"eq.{each}" for each in COMMON_TYPES),
    },
    ranges={"date_visited": ("from", "to")},
)
FILE = (
    "id,date_visited,inspection_type,status,building_id,...buildings(building:name),"
    "...inspectors(inspector:name),notes,created_at,updated_at"
)
PERIODS = (
    ("month", datetime.timedelta(days=31)),
    ("quarter", datetime.timedelta(days=92)),
    ("year", datetime.timedelta(days=366)),
)
WHOLE = (
    "select=*,buildings(id,name,address,city,state,latitude,longitude),inspectors(id,name,email)"
)

STATUS = Field("status", "Status", "suggest", choices=choices(COMMON_STATUSES))
STATUS_ALONE = Record(
    NAME,
    "inspection",
    (replace(STATUS, kind="select"),),
    f"/{NAME}",
    title=lambda row: f"the status of inspection {row['id']}",
)
"""What the small form on an inspection's page changes."""


@bp.get(f"/{NAME}")
@door.requires(Action.READ, Inspection, joins=False)
def list_inspections(caller: Caller) -> Response:
    return show_list(
        caller,
        LISTING,
        "inspections.html",
        narrower,
        statuses=COMMON_STATUSES,
        types=COMMON_TYPES,
        open_statuses=OPEN_STATUSES,
        may_make=policy.permits(caller.role, Action.INSERT, Inspection),
    )


def narrower(asked: Wanted) -> list[Offer]:
    """Ways to fewer inspections than those of an address: by what it says nothing of yet."""
    today = datetime.datetime.fromtimestamp(current_time(), datetime.UTC).date()
    dates: list[tuple[str, Pairs]] = [
        (
            f"the last {word}",
            (("date_visited", f"gte.{today - ago}"), ("date_visited", f"lte.{today}")),
        )
        for word, ago in PERIODS
    ]
    dates.append(("after today", (("date_visited", f"gt.{today}"),)))
    offers: list[Offer] = []
    if not asked.filters_by("date_visited"):
        offers.append(("Date", [(word, asked.narrowed_url(*pairs)) for word, pairs in dates]))
    for column, label, words in (
        ("status", "Status", COMMON_STATUSES),
        ("inspection_type", "Type", COMMON_TYPES),
    ):
        if not asked.filters_by(column):
            urls = [(status(word), asked.narrowed_url((column, f"eq.{word}"))) for word in words]
            offers.append((label, urls))
    if word := asked.typed().get("q"):
        named = urlencode({"find": "1", "q": word})
        offers.append(("Building", [("buildings with these words", f"{PATH}/buildings?{named}")]))
    return offers


@bp.get(f"/{NAME}.csv")
@door.requires(Action.READ, Inspection, joins=False)
def inspections_file(caller: Caller) -> Response:
    return download(caller, LISTING, FILE)


@bp.get(f"/{NAME}/<int:key>")
@door.requires(Action.READ, Inspection)
def inspection(caller: Caller, key: int) -> Response:
    found = engine.one(caller, NAME, f"{WHOLE}&id=eq.{key}")
    if found is None:
        raise UnknownPath
    offset = offset_of_page()
    readings, changeable = readings_of(caller, key, offset)
    may_change = engine.is_within_reach(caller, Action.UPDATE, NAME, key)
    return show(
        "inspection.html",
        row=found,
        readings=readings,
        changeable=changeable,
        offset=offset,
        a_page=READINGS_SHOWN,
        results=COMMON_RESULTS,
        roles=ROLE_NAMES,
        sharing=sharing(caller, key, may_give=may_change),
        statuses=COMMON_STATUSES,
        status_form=fields.untouched(STATUS_ALONE.fields, fields.shown(STATUS_ALONE.fields, found)),
        may_add_readings=may_change and policy.permits(caller.role, Action.INSERT, ReportLead),
        may_change=may_change,
        may_delete=engine.is_within_reach(caller, Action.DELETE, NAME, key),
    )


@bp.get(f"/{NAME}/new")
@door.requires(Action.INSERT, Inspection)
def new_inspection(caller: Caller) -> Response:
    typed = {"building_id": request.args.get("building_id", ""), "status": "scheduled"}
    return records.new(record_of(caller), typed)


@bp.post(f"/{NAME}/new")
@door.requires(Action.INSERT, Inspection)
def make_inspection(caller: Caller) -> Response:
    return records.make(record_of(caller))


@bp.get(f"/{NAME}/<int:key>/edit")
@door.requires(Action.UPDATE, Inspection)
def edit_inspection(caller: Caller, key: int) -> Response:
    return records.edit(caller, record_of(caller), key)


@bp.post(f"/{NAME}/<int:key>/edit")
@door.requires(Action.UPDATE, Inspection)
def change_inspection(caller: Caller, key: int) -> Response:
    return records.change(caller, record_of(caller), key)


@bp.post(f"/{NAME}/<int:key>/status")
@door.requires(Action.UPDATE, Inspection)
def change_status(caller: Caller, key: int) -> Response:
    return records.change(caller, STATUS_ALONE, key)


@bp.get(f"/{NAME}/<int:key>/delete")
@door.requires(Action.DELETE, Inspection)
def confirm_deletion(caller: Caller, key: int) -> Response:
    found = within_reach(caller, Action.DELETE, NAME, f"id=eq.{key}", WHOLE)
    building = found["buildings"]
    kind = name(found["inspection_type"], 80)
    what = f"the {kind} inspection of {found['date_visited'] or 'no date'}"
    return show(
        "delete.html",
        what=what + (f" at {name(building['name'], 80)}" if building else ""),
        path=f"/{NAME}/{key}",
        takes=takes(caller, key),
        stops=[],
    )


@bp.post(f"/{NAME}/<int:key>/delete")
@door.requires(Action.DELETE, Inspection)
def delete_inspection(caller: Caller, key: int) -> Response:
    require_one(engine.delete(NAME, f"id=eq.{key}"))
    return go(f"/{NAME}", f"Inspection {key} is deleted.")


def takes(caller: Caller, key: int) -> list[tuple[str, int]]:
    """What goes with an inspection, as far as the caller sees it."""
    here = f"inspection_id=eq.{key}"
    return [
        ("lead readings", engine.number(caller, "reports_lead", here)),
        (
            "people's access to it",
            engine.number(caller, "client_manager_inspection_access", here)
            + engine.number(caller, "client_admin_inspection_access", here),
        ),
    ]


def record_of(caller: Caller) -> Record:
    asked = (
        picked(caller, "building_id", "Building", "buildings", Action.UPDATE, required=True),
        Field(
            "inspection_type",
            "Type",
            "suggest",
            required=True,
            choices=choices(COMMON_TYPES),
        ),
        Field("date_visited", "Date", "date"),
        STATUS,
        picked(caller, "inspector_id", "Inspector", "inspectors", Action.READ),
        Field("notes", "Notes", "textarea"),
    )
    return Record(
        NAME, "inspection", asked, f"/{NAME}", title=lambda row: f"inspection {row['id']}"
    )
