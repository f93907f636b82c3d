"""/console/inspections: the list, the page and the forms of inspections."""

from __future__ import annotations

import datetime
from dataclasses import replace
from urllib.parse import urlencode

from flask import Response, request

from access import policy
from access.caller import Caller
from access.decorators import current_time
from engine.query.rule import Action
from models import Inspection, ReportLead
from routes.console.components import fields, queries, records
from routes.console.components.downloads import download
from routes.console.components.fields import Field, choices
from routes.console.components.list_query import Listing, ListQuery, Pairs
from routes.console.components.lists import Offer, render_list
from routes.console.components.page import INSPECTION_TYPES, ROLE_NAMES, bp, redirect_to, render_page
from routes.console.components.records import RecordForm, require_row, require_written, row_choice
from routes.console.components.template_filters import COMMON_STATUSES, name, status
from routes.console.pages.inspection_access import inspection_grants
from routes.console.pages.readings import COMMON_RESULTS, READINGS_SHOWN, readings_of, readings_offset
from routes.console.session import auth
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
        "inspection_type": tuple(f"eq.{each}" for each in INSPECTION_TYPES),
    },
    ranges={"date_visited": ("from", "to")},
)
CSV_COLUMNS = (
    "id,date_visited,inspection_type,status,building_id,...buildings(building:name),"
    "...inspectors(inspector:name),notes,created_at,updated_at"
)
PERIODS = (
    ("month", datetime.timedelta(days=31)),
    ("quarter", datetime.timedelta(days=92)),
    ("year", datetime.timedelta(days=366)),
)
DETAIL_COLUMNS = "select=*,buildings(id,name,address,city,state,latitude,longitude),inspectors(id,name,email)"

STATUS = Field(
    "status", "Status", "suggest", choices=choices(COMMON_STATUSES, {each: status(each) for each in COMMON_STATUSES})
)
STATUS_FORM = RecordForm(
    NAME,
    "inspection",
    (replace(STATUS, kind="select"),),
    f"/{NAME}",
    title=lambda row: f"the status of inspection {row['id']}",
)
"""The form on an inspection's page that changes only its status."""


@bp.get(f"/{NAME}")
@auth.requires(Action.READ, Inspection, shares_snapshot=False)
def list_inspections(caller: Caller) -> Response:
    return render_list(
        caller,
        LISTING,
        "inspections.html",
        narrower,
        statuses=COMMON_STATUSES,
        types=INSPECTION_TYPES,
        open_statuses=OPEN_STATUSES,
        may_create=policy.permits(caller.role, Action.INSERT, Inspection),
    )


def narrower(query: ListQuery) -> list[Offer]:
    """Return narrower lists by date, status, type and building, except for the columns that the URL filters already."""
    today = datetime.datetime.fromtimestamp(current_time(), datetime.UTC).date()
    dates: list[tuple[str, Pairs]] = [
        (f"Last {word}", (("date_visited", f"gte.{today - ago}"), ("date_visited", f"lte.{today}")))
        for word, ago in PERIODS
    ]
    dates.append(("After today", (("date_visited", f"gt.{today}"),)))
    offers: list[Offer] = []
    if not query.filters_by("date_visited"):
        offers.append(("Date", [(word, query.narrowed_url(*pairs)) for word, pairs in dates]))
    for column, label, words in (("status", "Status", COMMON_STATUSES), ("inspection_type", "Type", INSPECTION_TYPES)):
        if not query.filters_by(column):
            urls = [(status(word), query.narrowed_url((column, f"eq.{word}"))) for word in words]
            offers.append((label, urls))
    if word := query.form_values().get("q"):
        parameters = urlencode({"find": "1", "q": word})
        offers.append(("Building", [("Buildings with this word", f"{PATH}/buildings?{parameters}")]))
    return offers


@bp.get(f"/{NAME}.csv")
@auth.requires(Action.READ, Inspection, shares_snapshot=False)
def inspections_csv(caller: Caller) -> Response:
    return download(caller, LISTING, CSV_COLUMNS)


@bp.get(f"/{NAME}/<int:key>")
@auth.requires(Action.READ, Inspection)
def inspection(caller: Caller, key: int) -> Response:
    row = queries.first_row(caller, NAME, f"{DETAIL_COLUMNS}&id=eq.{key}")
    if row is None:
        raise UnknownPath
    offset = readings_offset()
    readings, editable = readings_of(caller, key, offset)
    may_edit = queries.is_permitted(caller, Action.UPDATE, NAME, key)
    return render_page(
        "inspection.html",
        row=row,
        readings=readings,
        editable=editable,
        offset=offset,
        page_size=READINGS_SHOWN,
        results=COMMON_RESULTS,
        roles=ROLE_NAMES,
        grants=inspection_grants(caller, key, may_grant=may_edit),
        statuses=COMMON_STATUSES,
        status_form=fields.initial_values(STATUS_FORM.fields, fields.row_texts(STATUS_FORM.fields, row)),
        may_add_readings=may_edit and policy.permits(caller.role, Action.INSERT, ReportLead),
        may_edit=may_edit,
        may_delete=queries.is_permitted(caller, Action.DELETE, NAME, key),
    )


@bp.get(f"/{NAME}/new")
@auth.requires(Action.INSERT, Inspection)
def new_inspection(caller: Caller) -> Response:
    typed = {"building_id": request.args.get("building_id", ""), "status": "scheduled"}
    return records.render_new_form(inspection_form(caller), typed)


@bp.post(f"/{NAME}/new")
@auth.requires(Action.INSERT, Inspection)
def create_inspection(caller: Caller) -> Response:
    return records.create_row(inspection_form(caller))


@bp.get(f"/{NAME}/<int:key>/edit")
@auth.requires(Action.UPDATE, Inspection)
def edit_inspection(caller: Caller, key: int) -> Response:
    return records.render_edit_form(caller, inspection_form(caller), key)


@bp.post(f"/{NAME}/<int:key>/edit")
@auth.requires(Action.UPDATE, Inspection)
def update_inspection(caller: Caller, key: int) -> Response:
    return records.update_row(caller, inspection_form(caller), key)


@bp.post(f"/{NAME}/<int:key>/status")
@auth.requires(Action.UPDATE, Inspection)
def update_status(caller: Caller, key: int) -> Response:
    return records.update_row(caller, STATUS_FORM, key)


@bp.get(f"/{NAME}/<int:key>/delete")
@auth.requires(Action.DELETE, Inspection)
def confirm_inspection_deletion(caller: Caller, key: int) -> Response:
    row = require_row(caller, Action.DELETE, NAME, f"id=eq.{key}", DETAIL_COLUMNS)
    building = row["buildings"]
    kind = name(row["inspection_type"], 80)
    what = f"the {kind} inspection of {row['date_visited'] or 'no date'}"
    return render_page(
        "delete.html",
        what=what + (f" at {name(building['name'], 80)}" if building else ""),
        path=f"/{NAME}/{key}",
        takes=deleted_with(caller, key),
        stops=[],
    )


@bp.post(f"/{NAME}/<int:key>/delete")
@auth.requires(Action.DELETE, Inspection)
def delete_inspection(caller: Caller, key: int) -> Response:
    require_written(queries.delete(NAME, f"id=eq.{key}"))
    return redirect_to(f"/{NAME}", f"Inspection {key} deleted.")


def deleted_with(caller: Caller, key: int) -> list[tuple[str, int]]:
    """Return what is deleted with an inspection, as far as the caller sees it."""
    filters = f"inspection_id=eq.{key}"
    return [
        ("lead readings", queries.count_rows(caller, "reports_lead", filters)),
        (
            "access grants",
            queries.count_rows(caller, "client_manager_inspection_access", filters)
            + queries.count_rows(caller, "client_admin_inspection_access", filters),
        ),
    ]


def inspection_form(caller: Caller) -> RecordForm:
    form_fields = (
        row_choice(caller, "building_id", "Building", "buildings", Action.UPDATE, required=True),
        Field("inspection_type", "Type", "suggest", required=True, choices=choices(INSPECTION_TYPES)),
        Field("date_visited", "Date", "date"),
        STATUS,
        row_choice(caller, "inspector_id", "Inspector", "inspectors", Action.READ),
        Field("notes", "Notes", "textarea"),
    )
    return RecordForm(NAME, "inspection", form_fields, f"/{NAME}", title=lambda row: f"inspection {row['id']}")
