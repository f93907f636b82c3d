"""/console/inspections: the visits, one by one and in lists; made, changed, and deleted."""

from __future__ import annotations

from collections.abc import Callable

from flask import Response
from flask import g
from flask import request

from access import policy
from access.caller import Caller
from models import Inspection
from models.faults import Fault
from models.sql.rule import Action
from routes.console import door
from routes.console import engine
from routes.console import fields
from routes.console.engine import Row
from routes.console.fields import Choice
from routes.console.fields import Field
from routes.console.fields import Filled
from routes.console.listing import Listing
from routes.console.lists import download
from routes.console.lists import show_list
from routes.console.pages import COMMON_STATUSES
from routes.console.pages import COMMON_TYPES
from routes.console.pages import bp
from routes.console.pages import go
from routes.console.pages import is_told_in_place
from routes.console.pages import note
from routes.console.pages import said
from routes.console.pages import show
from routes.console.pages import status_of
from routes.postgrest.requests import UnknownPath

NAME = "inspections"
CHOICES_MAX = 300  # of a drop-down; beyond it the building's number is typed
READINGS_MAX = 200
LISTING = Listing(
    relation=NAME,
    select="id,inspection_type,date_visited,status,notes,buildings(id,name,city),inspectors(id,name)",
    order="date_visited.desc",
    searched=("notes", "inspection_type"),
    searched_embed=("buildings", "name"),
    equals=("status", "inspection_type"),
    ranges={"date_visited": ("from", "to")},
)
FILE = (
    "id,date_visited,inspection_type,status,building_id,...buildings(building:name),"
    "...inspectors(inspector:name),notes,created_at,updated_at"
)
WHOLE = (
    "select=*,buildings(id,name,address,city,state,latitude,longitude),inspectors(id,name,email)"
)


@bp.get(f"/{NAME}")
@door.requires(Action.READ, Inspection)
def list_inspections(caller: Caller) -> Response:
    return show_list(
        caller,
        LISTING,
        "inspections.html",
        statuses=COMMON_STATUSES,
        types=COMMON_TYPES,
        may_make=policy.permits(caller.role, Action.INSERT, Inspection),
    )


@bp.get(f"/{NAME}.csv")
@door.requires(Action.READ, Inspection)
def inspections_file(caller: Caller) -> Response:
    return download(caller, LISTING, FILE)


@bp.get(f"/{NAME}/<int:key>")
@door.requires(Action.READ, Inspection)
def inspection(caller: Caller, key: int) -> Response:
    found = existing(caller, key)
    readings = engine.ask(
        caller,
        "reports_lead",
        f"select=id,gun_id,result&inspection_id=eq.{key}&order=id",
        limit=READINGS_MAX,
        total=True,
    )
    return show(
        "inspection.html",
        row=found,
        readings=readings,
        statuses=COMMON_STATUSES,
        may_change=engine.is_within_reach(caller, Action.UPDATE, NAME, key),
        may_delete=engine.is_within_reach(caller, Action.DELETE, NAME, key),
    )


@bp.get(f"/{NAME}/new")
@door.requires(Action.INSERT, Inspection)
def new_inspection(caller: Caller) -> Response:
    typed = {"building_id": request.args.get("building_id", ""), "status": "scheduled"}
    return form_page(caller, Filled(typed))


@bp.post(f"/{NAME}/new")
@door.requires(Action.INSERT, Inspection)
def make_inspection(caller: Caller) -> Response:
    filled = fields.read(form_fields(caller), g.form, engine.relation(NAME))
    return kept(
        filled,
        lambda: go(f"/{NAME}/{engine.insert(NAME, filled.row)}", "The inspection is made."),
        lambda status: form_page(caller, filled, None, status),
    )


@bp.get(f"/{NAME}/<int:key>/edit")
@door.requires(Action.UPDATE, Inspection)
def edit_inspection(caller: Caller, key: int) -> Response:
    found = changeable(caller, NAME, key)
    return form_page(caller, Filled(fields.shown(form_fields(caller), found)), found)


@bp.post(f"/{NAME}/<int:key>/edit")
@door.requires(Action.UPDATE, Inspection)
def change_inspection(caller: Caller, key: int) -> Response:
    found = changeable(caller, NAME, key)
    filled = fields.read(form_fields(caller), g.form, engine.relation(NAME))

    def keep() -> Response:
        require_one(engine.update(NAME, f"id=eq.{key}", filled.row))
        return go(f"/{NAME}/{key}", "The changes are kept.")

    return kept(filled, keep, lambda status: form_page(caller, filled, found, status))


@bp.post(f"/{NAME}/<int:key>/status")
@door.requires(Action.UPDATE, Inspection)
def change_status(caller: Caller, key: int) -> Response:
    status = g.form.get("status", "").strip() or None
    require_one(engine.update(NAME, f"id=eq.{key}", {"status": status}))
    return go(f"/{NAME}/{key}", "The status is changed.")


@bp.get(f"/{NAME}/<int:key>/delete")
@door.requires(Action.DELETE, Inspection)
def confirm_deletion(caller: Caller, key: int) -> Response:
    found = changeable(caller, NAME, key, Action.DELETE)
    building = found["buildings"]
    name = f"the {found['inspection_type']} inspection of {found['date_visited'] or 'no date'}"
    return show(
        "delete.html",
        what=name + (f" at {building['name']}" if building else ""),
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


# What the forms of inspections and buildings have in common


def existing(caller: Caller, key: int) -> Row:
    found = engine.one(caller, NAME, f"{WHOLE}&id=eq.{key}")
    if found is None:
        raise UnknownPath
    return found


def changeable(caller: Caller, name: str, key: int, action: Action = Action.UPDATE) -> Row:
    """A row that the caller may do that to, or nothing at all."""
    select = WHOLE if name == NAME else "select=*"
    found = engine.one(caller, name, f"{select}&id=eq.{key}", within=action)
    if found is None:
        raise UnknownPath
    return found


def require_one(written: int) -> None:
    """A row that was not within reach was not there."""
    if not written:
        raise UnknownPath


def kept(
    filled: Filled, keep: Callable[[], Response], again: Callable[[int], Response]
) -> Response:
    """Keep what a form says and go on; or show it again, with what is wrong with it."""
    if filled.problems:
        return again(400)
    try:
        return keep()
    except Fault as fault:
        if isinstance(fault, UnknownPath) or not is_told_in_place(fault):
            raise
        note(fault)
        filled.problems[""] = said(fault)
        return again(status_of(fault))


def form_page(
    caller: Caller, filled: Filled, row: Row | None = None, status: int = 200
) -> Response:
    return show(
        "form.html",
        status,
        title=f"Change inspection {row['id']}" if row else "New inspection",
        back=f"/{NAME}/{row['id']}" if row else f"/{NAME}",
        fields=form_fields(caller),
        filled=filled,
        verb="Keep the changes" if row else "Make the inspection",
    )


def form_fields(caller: Caller) -> tuple[Field, ...]:
    if "fields" not in g:
        g.fields = (
            picked(caller, "building_id", "Building", "buildings", Action.UPDATE, required=True),
            Field(
                "inspection_type",
                "Type",
                "suggest",
                required=True,
                choices=fields.choices(COMMON_TYPES),
            ),
            Field("date_visited", "Date", "date"),
            Field("status", "Status", "suggest", choices=fields.choices(COMMON_STATUSES)),
            picked(caller, "inspector_id", "Inspector", "inspectors", Action.READ),
            Field("notes", "Notes", "textarea"),
        )
    found: tuple[Field, ...] = g.fields
    return found


def picked(
    caller: Caller, name: str, label: str, relation: str, within: Action, *, required: bool = False
) -> Field:
    """A choice among the rows within reach; where they are too many to list, a number."""
    rows = engine.ask(
        caller, relation, "select=id,name&order=name,id", limit=CHOICES_MAX + 1, within=within
    ).rows
    if len(rows) > CHOICES_MAX:
        return Field(
            name,
            f"{label} number",
            "number",
            required,
            hint=f"Its number, as {label.lower()} pages show it.",
        )
    options = tuple(Choice(str(row["id"]), row["name"]) for row in rows)
    return Field(name, label, "select", required, options)
