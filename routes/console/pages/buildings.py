"""/console/buildings: the list, the page and the forms of buildings."""

from __future__ import annotations

from flask import Response

from access import policy
from access.caller import Caller, GrantKind
from engine.current import reading
from engine.query.rule import Action
from engine.reporting.dashboard import read_building_stats
from models import Building, Inspection
from routes.console.components import charts, grants, queries, records
from routes.console.components.downloads import download
from routes.console.components.fields import Field
from routes.console.components.list_query import Listing
from routes.console.components.lists import render_list
from routes.console.components.page import ROLE_NAMES, bp, redirect_to, render_page
from routes.console.components.records import RecordForm, require_row, require_written, row_choice
from routes.console.components.template_filters import name
from routes.console.session import auth
from routes.postgrest.requests import UnknownPath

NAME = "buildings"
INSPECTIONS_SHOWN = 15
LISTING = Listing(
    relation=NAME,
    select="id,name,address,city,state,building_type,floors,units,latitude,longitude",
    order="name.asc",
    searched=("name", "address", "city", "zip", "building_type"),
)
CSV_COLUMNS = (
    "id,name,address,city,state,zip,building_type,floors,units,latitude,longitude,client_id,created_at,updated_at"
)
PLAIN_FIELDS: tuple[Field, ...] = (
    Field("name", "Name", required=True),
    Field("address", "Street and number"),
    Field("city", "City"),
    Field("state", "State"),
    Field("zip", "Postal code"),
    Field("building_type", "Building type"),
    Field("floors", "Floors", "number", step="1"),
    Field("units", "Units", "number", step="1"),
    Field("latitude", "Latitude", "number", step="any", hint="In degrees; north is positive."),
    Field("longitude", "Longitude", "number", step="any", hint="In degrees; east is positive."),
)


@bp.get(f"/{NAME}")
@auth.requires(Action.READ, Building, shares_snapshot=False)
def list_buildings(caller: Caller) -> Response:
    may_create = policy.permits(caller.role, Action.INSERT, Building)
    return render_list(caller, LISTING, "buildings.html", may_create=may_create)


@bp.get(f"/{NAME}.csv")
@auth.requires(Action.READ, Building, shares_snapshot=False)
def buildings_csv(caller: Caller) -> Response:
    return download(caller, LISTING, CSV_COLUMNS)


@bp.get(f"/{NAME}/<int:key>")
@auth.requires(Action.READ, Building)
def building(caller: Caller, key: int) -> Response:
    row = queries.first_row(caller, NAME, f"select=*,clients(name)&id=eq.{key}")
    if row is None:
        raise UnknownPath
    with reading() as transaction:
        numbers = read_building_stats(transaction, queries.visible_to(caller), key)
    inspections = queries.select_rows(
        caller,
        "inspections",
        "select=id,inspection_type,date_visited,status,inspectors(name)"
        f"&building_id=eq.{key}&order=date_visited.desc,id.desc",
        limit=INSPECTIONS_SHOWN,
    )
    return render_page(
        "building.html",
        row=row,
        numbers=numbers,
        statuses=charts.shares(numbers.by_status),
        lead=charts.shares(numbers.lead.by_result),
        inspections=inspections,
        holders=grants.holders(caller, GrantKind.BUILDING, key),
        assignable=[
            (role.value, ROLE_NAMES[role]) for role in reversed(grants.grantable_roles(caller, GrantKind.BUILDING))
        ],
        roles=ROLE_NAMES,
        may_create=policy.permits(caller.role, Action.INSERT, Inspection),
        may_edit=queries.is_permitted(caller, Action.UPDATE, NAME, key),
        may_delete=queries.is_permitted(caller, Action.DELETE, NAME, key),
    )


@bp.get(f"/{NAME}/new")
@auth.requires(Action.INSERT, Building)
def new_building(caller: Caller) -> Response:
    return records.render_new_form(building_form(caller), {})


@bp.post(f"/{NAME}/new")
@auth.requires(Action.INSERT, Building)
def create_building(caller: Caller) -> Response:
    return records.create_row(building_form(caller))


@bp.get(f"/{NAME}/<int:key>/edit")
@auth.requires(Action.UPDATE, Building)
def edit_building(caller: Caller, key: int) -> Response:
    return records.render_edit_form(caller, building_form(caller), key)


@bp.post(f"/{NAME}/<int:key>/edit")
@auth.requires(Action.UPDATE, Building)
def update_building(caller: Caller, key: int) -> Response:
    return records.update_row(caller, building_form(caller), key)


@bp.get(f"/{NAME}/<int:key>/delete")
@auth.requires(Action.DELETE, Building)
def confirm_building_deletion(caller: Caller, key: int) -> Response:
    row = require_row(caller, Action.DELETE, NAME, f"id=eq.{key}")
    filters = f"building_id=eq.{key}"
    grants_count = sum(
        queries.count_rows(caller, table, filters)
        for table in ("client_manager_building_access", "client_admin_building_access")
    )
    inspections = queries.count_rows(caller, "inspections", filters)
    return render_page(
        "delete.html",
        what=name(row["name"], 160),
        path=f"/{NAME}/{key}",
        takes=[("access grants", grants_count)],
        stops=[("inspections", inspections)] if inspections else [],
    )


@bp.post(f"/{NAME}/<int:key>/delete")
@auth.requires(Action.DELETE, Building)
def delete_building(caller: Caller, key: int) -> Response:
    require_written(queries.delete(NAME, f"id=eq.{key}"))
    return redirect_to(f"/{NAME}", "Building deleted.")


def building_form(caller: Caller) -> RecordForm:
    """Return the form of a building. A user of one client creates buildings of that client only."""
    fields, defaults = PLAIN_FIELDS, {"client_id": caller.client_id}
    if caller.client_id is None:
        client = row_choice(caller, "client_id", "Client", "clients", Action.READ, required=True)
        fields, defaults = (PLAIN_FIELDS[0], client, *PLAIN_FIELDS[1:]), {}
    return RecordForm(NAME, "building", fields, f"/{NAME}", defaults=defaults, title=lambda row: name(row["name"], 160))
