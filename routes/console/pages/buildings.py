"""/console/buildings: one by one and in lists, with what happened in each and who may see it."""

from __future__ import annotations

from flask import Response

from access import policy
from access.caller import Caller
from access.caller import GrantKind
from engine.current import reading
from engine.query.rule import Action
from engine.reporting.dashboard import read_building_stats
from models import Building
from models import Inspection
from routes.console.components import charts
from routes.console.components import grants
from routes.console.components import queries as engine
from routes.console.components import records
from routes.console.components.downloads import download
from routes.console.components.fields import Field
from routes.console.components.list_query import Listing
from routes.console.components.lists import show_list
from routes.console.components.page import ROLE_NAMES
from routes.console.components.page import bp
from routes.console.components.page import go
from routes.console.components.page import show
from routes.console.components.records import Record
from routes.console.components.records import picked
from routes.console.components.records import require_one
from routes.console.components.records import within_reach
from routes.console.components.template_filters import name
from routes.console.session import auth as door
from routes.postgrest.requests import UnknownPath

NAME = "buildings"
INSPECTIONS_SHOWN = 15
LISTING = Listing(
    relation=NAME,
    select="id,name,address,city,state,building_type,floors,units,latitude,longitude",
    order="name.asc",
    searched=("name", "address", "city", "zip", "building_type"),
)
FILE = (
    "id,name,address,city,state,zip,building_type,floors,units,latitude,longitude,client_id,"
    "created_at,updated_at"
)
PLAIN_FIELDS: tuple[Field, ...] = (
    Field("name", "Name", required=True),
    Field("address", "Street and number"),
    Field("city", "City"),
    Field("state", "State"),
    Field("zip", "Postal code"),
    Field("building_type", "Kind of building"),
    Field("floors", "Floors", "number", step="1"),
    Field("units", "Units", "number", step="1"),
    Field("latitude", "Latitude", "number", step="any", hint="In degrees, north is positive."),
    Field("longitude", "Longitude", "number", step="any", hint="In degrees, east is positive."),
)


@bp.get(f"/{NAME}")
@door.requires(Action.READ, Building, joins=False)
def list_buildings(caller: Caller) -> Response:
    may_make = policy.permits(caller.role, Action.INSERT, Building)
    return show_list(caller, LISTING, "buildings.html", may_make=may_make)


@bp.get(f"/{NAME}.csv")
@door.requires(Action.READ, Building, joins=False)
def buildings_file(caller: Caller) -> Response:
    return download(caller, LISTING, FILE)


@bp.get(f"/{NAME}/<int:key>")
@door.requires(Action.READ, Building)
def building(caller: Caller, key: int) -> Response:
    found = engine.one(caller, NAME, f"select=*,clients(name)&id=eq.{key}")
    if found is None:
        raise UnknownPath
    with reading() as transaction:
        numbers = read_building_stats(transaction, engine.visible_to(caller), key)
    inspections = engine.ask(
        caller,
        "inspections",
        "select=id,inspection_type,date_visited,status,inspectors(name)"
        f"&building_id=eq.{key}&order=date_visited.desc,id.desc",
        limit=INSPECTIONS_SHOWN,
    )
    return show(
        "building.html",
        row=found,
        numbers=numbers,
        statuses=charts.shares(numbers.by_status),
        lead=charts.shares(numbers.lead.by_result),
        inspections=inspections,
        holders=grants.holders(caller, GrantKind.BUILDING, key),
        assignable=[
            (role.value, ROLE_NAMES[role])
            for role in reversed(grants.grantees(caller, GrantKind.BUILDING))
        ],
        roles=ROLE_NAMES,
        may_make=policy.permits(caller.role, Action.INSERT, Inspection),
        may_change=engine.is_within_reach(caller, Action.UPDATE, NAME, key),
        may_delete=engine.is_within_reach(caller, Action.DELETE, NAME, key),
    )


@bp.get(f"/{NAME}/new")
@door.requires(Action.INSERT, Building)
def new_building(caller: Caller) -> Response:
    return records.new(record_of(caller), {})


@bp.post(f"/{NAME}/new")
@door.requires(Action.INSERT, Building)
def make_building(caller: Caller) -> Response:
    return records.make(record_of(caller))


@bp.get(f"/{NAME}/<int:key>/edit")
@door.requires(Action.UPDATE, Building)
def edit_building(caller: Caller, key: int) -> Response:
    return records.edit(caller, record_of(caller), key)


@bp.post(f"/{NAME}/<int:key>/edit")
@door.requires(Action.UPDATE, Building)
def change_building(caller: Caller, key: int) -> Response:
    return records.change(caller, record_of(caller), key)


@bp.get(f"/{NAME}/<int:key>/delete")
@door.requires(Action.DELETE, Building)
def confirm_building_deletion(caller: Caller, key: int) -> Response:
    found = within_reach(caller, Action.DELETE, NAME, f"id=eq.{key}")
    here = f"building_id=eq.{key}"
    held = sum(
        engine.number(caller, table, here)
        for table in ("client_manager_building_access", "client_admin_building_access")
    )
    inspections = engine.number(caller, "inspections", here)
    return show(
        "delete.html",
        what=name(found["name"], 160),
        path=f"/{NAME}/{key}",
        takes=[("people's access to it", held)],
        stops=[("inspections", inspections)] if inspections else [],
    )


@bp.post(f"/{NAME}/<int:key>/delete")
@door.requires(Action.DELETE, Building)
def delete_building(caller: Caller, key: int) -> Response:
    require_one(engine.delete(NAME, f"id=eq.{key}"))
    return go(f"/{NAME}", "The building is deleted.")


def record_of(caller: Caller) -> Record:
    """A building; whoever belongs to one client makes and keeps buildings of that one."""
    fields, besides = PLAIN_FIELDS, {"client_id": caller.client_id}
    if caller.client_id is None:
        client = picked(caller, "client_id", "Client", "clients", Action.READ, required=True)
        fields, besides = (PLAIN_FIELDS[0], client, *PLAIN_FIELDS[1:]), {}
    return Record(
        NAME,
        "building",
        fields,
        f"/{NAME}",
        besides=besides,
        title=lambda row: name(row["name"], 160),
    )
