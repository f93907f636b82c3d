"""/console/people: who signs in here, and a new one in one form: made, given a password, assigned."""

from __future__ import annotations

from flask import Response
from flask import g

from access import administration
from access import assignments
from access import policy
from access.administration import Wanted
from access.assignments import IDS_MAX
from access.caller import Caller
from access.caller import Kind
from access.caller import Role
from access.decorators import admit
from access.person import UNSAID
from access.person import EmailTaken
from access.person import Person
from access.person import Unsaid
from access.person import read_email
from access.person import read_role
from access.policy import GRANTS
from models.db import reading
from models.sql.rule import Action
from models.types import BIGINT
from models.types import InvalidInput
from models.types import read_string
from models.types import read_uuid
from routes.auth import request_deadline
from routes.auth_admin import count_taken
from routes.auth_admin import hashed
from routes.console import door
from routes.console import engine
from routes.console import fields
from routes.console import grants
from routes.console.engine import Row
from routes.console.fields import Field
from routes.console.fields import Filled
from routes.console.listing import Listing
from routes.console.lists import show_list
from routes.console.pages import ROLE_NAMES
from routes.console.pages import bp
from routes.console.pages import go
from routes.console.pages import show
from routes.console.records import kept
from routes.console.records import picked
from routes.console.records import require_one
from routes.postgrest.limits import TooMuch
from routes.postgrest.requests import UnknownPath

LISTING = Listing(
    relation="users",
    select="id,name,email,role,clients(name)",
    order="name.asc",
    searched=("name", "email"),
    equals=("role",),
    page="people",
)
GRANTS_SHOWN = 200
BUILDINGS_OFFERED = 200
FOREVER_SECONDS = 100 * 365 * 24 * 3_600
NAMES = {role.value: name for role, name in ROLE_NAMES.items()}


@bp.get("/people")
@door.requires_administrator(joins=False)
def list_people(caller: Caller) -> Response:
    return show_list(caller, LISTING, "people.html", roles=NAMES)


@bp.get("/people/<key>")
@door.requires_administrator()
def person(caller: Caller, key: str) -> Response:
    found = find(caller, key)
    with reading() as transaction:
        is_disabled = found.is_disabled(transaction.unix)
    client = engine.one(caller, "clients", f"select=id,name&id=eq.{found.client_id or 0}")
    return show(
        "person.html",
        row=found,
        role=NAMES[found.role.value],
        client=client,
        is_disabled=is_disabled,
        grants=[(kind, grants_of(caller, found, kind)) for kind in Kind],
        may_assign=found.role in grants.grantees(caller, Kind.BUILDING),
        may_change=engine.is_within_reach(caller, Action.UPDATE, "users", found.id),
        may_delete=engine.is_within_reach(caller, Action.DELETE, "users", found.id),
    )


def find(caller: Caller, key: str, action: Action = Action.READ) -> Person:
    try:
        user_id = str(read_uuid(key))
    except InvalidInput as error:
        raise UnknownPath from error
    try:
        with reading() as transaction:
            return administration.found(transaction, caller, user_id, action)
    except administration.UserNotFound as error:
        raise UnknownPath from error


def grants_of(caller: Caller, found: Person, kind: Kind) -> list[Row]:
    """What somebody was granted, newest first, as far as the caller sees it."""
    held = GRANTS.get((found.role, kind))
    if held is None:
        return []
    table = held.model.__tablename__
    target = (
        "buildings(id,name)"
        if kind is Kind.BUILDING
        else "inspections(id,inspection_type,date_visited)"
    )
    by = f"by:users!{table}_assigned_by_fkey(name)"
    text = (
        f"select=key:{held.target},assigned_at,{target},{by}"
        f"&{held.grantee}=eq.{found.id}&order=assigned_at.desc"
    )
    return engine.ask(caller, table, text, limit=GRANTS_SHOWN).rows


@bp.post("/people/<key>/revoke")
@door.requires_administrator(writes=True)
def revoke(caller: Caller, key: str) -> Response:
    found = find(caller, key)
    kind = Kind(g.form["kind"]) if g.form.get("kind") in [each.value for each in Kind] else None
    held = GRANTS.get((found.role, kind)) if kind is not None else None
    if held is None:
        raise UnknownPath
    target = BIGINT.read_text(g.form.get("key", ""))
    require_one(
        engine.delete(
            held.model.__tablename__, f"{held.grantee}=eq.{found.id}&{held.target}=eq.{target}"
        )
    )
    return go(f"/people/{found.id}", "The access is revoked.")


# Making and changing


@bp.get("/people/new")
@door.requires_administrator()
def new_person(caller: Caller) -> Response:
    return new_page(caller, Filled({}))


@bp.post("/people/new")
@door.requires_administrator(writes=True)
def make_person(caller: Caller) -> Response:
    """Made, given a password and assigned in one transaction: all of it, or nothing."""
    filled = read_person(caller, needs_password=True)
    ids = [int(BIGINT.read_text(each) or 0) for each in g.form.getlist("building")[: IDS_MAX + 1]]
    if len(ids) > IDS_MAX:
        raise TooMuch(IDS_MAX, "buildings at once")

    def keep() -> Response:
        until = request_deadline()
        wanted = wanted_of(filled)
        password_hash = hashed(filled.typed["password"], until)
        try:
            with until.writing() as transaction:
                now = admit(transaction)
                made = administration.create(transaction, now, wanted, password_hash)
                if ids:
                    assignments.assign_to_client_manager(transaction, now, made.id, ids, [])
        except EmailTaken:
            count_taken(caller, until)
            raise
        return go(f"/people/{made.id}", f"{made.name} can sign in now.")

    return kept(filled, keep, lambda status: new_page(caller, filled, status))


@bp.get("/people/<key>/edit")
@door.requires_administrator()
def edit_person(caller: Caller, key: str) -> Response:
    found = find(caller, key, Action.UPDATE)
    typed = {
        "name": found.name,
        "email": found.email,
        "role": found.role.value,
        "client_id": str(found.client_id or ""),
    }
    return edit_page(caller, found, Filled(typed))


@bp.post("/people/<key>/edit")
@door.requires_administrator(writes=True)
def change_person(caller: Caller, key: str) -> Response:
    found = find(caller, key, Action.UPDATE)
    filled = read_person(caller, needs_password=False)

    def keep() -> Response:
        until = request_deadline()
        wanted = wanted_of(filled)
        password_hash = hashed(filled.typed["password"] or None, until)
        try:
            with until.writing() as transaction:
                administration.change(
                    transaction, admit(transaction), found.id, wanted, password_hash
                )
        except EmailTaken:
            count_taken(caller, until)
            raise
        return go(f"/people/{found.id}", "The changes are kept.")

    return kept(filled, keep, lambda status: edit_page(caller, found, filled, status))


@bp.post("/people/<key>/disable")
@door.requires_administrator(writes=True)
def disable(caller: Caller, key: str) -> Response:
    return ban(key, FOREVER_SECONDS, "They cannot sign in any more, and are signed out.")


@bp.post("/people/<key>/enable")
@door.requires_administrator(writes=True)
def enable(caller: Caller, key: str) -> Response:
    return ban(key, 0, "They can sign in again.")


def ban(key: str, seconds: int, done: str) -> Response:
    wanted = Wanted(None, None, None, None, UNSAID, {}, {}, seconds)
    with request_deadline().writing() as transaction:
        administration.change(transaction, admit(transaction), read_uuid(key), wanted, None)
    return go(f"/people/{read_uuid(key)}", done)


@bp.get("/people/<key>/delete")
@door.requires_administrator()
def confirm_person_deletion(caller: Caller, key: str) -> Response:
    found = find(caller, key, Action.DELETE)
    held = sum(
        engine.number(caller, each.model.__tablename__, f"{each.grantee}=eq.{found.id}")
        for (role, _), each in GRANTS.items()
        if role is found.role
    )
    return show(
        "delete.html",
        what=found.name,
        path=f"/people/{found.id}",
        takes=[("grants of access that they hold", held)],
        stops=[],
    )


@bp.post("/people/<key>/delete")
@door.requires_administrator(writes=True)
def delete_person(caller: Caller, key: str) -> Response:
    with request_deadline().writing() as transaction:
        administration.remove(transaction, admit(transaction), read_uuid(key))
    return go("/people", "They are deleted, with their sessions and access.")


# Forms


def person_fields(caller: Caller, *, needs_password: bool) -> tuple[Field, ...]:
    password_hint = (
        "At least 6 characters." if needs_password else "Leave empty to keep the old one."
    )
    plain = (
        Field("name", "Name", required=True),
        Field("email", "E-mail", "email", required=True),
        Field(
            "password",
            "Password" if needs_password else "New password",
            "password",
            required=needs_password,
            hint=password_hint,
            autocomplete="new-password",
        ),
    )
    if policy.role_unless_said(caller.role) is not None:
        return plain
    return (
        *plain,
        Field("role", "Role", "select", required=True, choices=fields.choices(NAMES, NAMES)),
        picked(caller, "client_id", "Client", "clients", Action.READ),
    )


def read_person(caller: Caller, *, needs_password: bool) -> Filled:
    """What the form says of a user; values are read where they are wanted."""
    asked = person_fields(caller, needs_password=needs_password)
    typed = {each.name: g.form.get(each.name, "") for each in asked}
    filled = Filled({**typed, "building": " ".join(g.form.getlist("building"))})
    for each in asked:
        if each.required and not typed[each.name].strip():
            filled.problems[each.name] = f"{each.label} is needed."
    return filled


def wanted_of(filled: Filled) -> Wanted:
    typed = filled.typed
    client: int | Unsaid | None = UNSAID
    role: Role | None = None
    if "role" in typed:
        role = read_role(typed["role"])
        client = int(BIGINT.read_text(typed["client_id"]) or 0) if typed["client_id"] else None
    return Wanted(
        None, read_email(typed["email"]), read_string(typed["name"]), role, client, {}, {}, None
    )


def new_page(caller: Caller, filled: Filled, status: int = 200) -> Response:
    role = policy.role_unless_said(caller.role)
    buildings = engine.ask(
        caller,
        "buildings",
        "select=id,name,city,clients(name)&order=client_id,name",
        limit=BUILDINGS_OFFERED,
        within=Action.UPDATE,
    ).rows
    return show(
        "person_form.html",
        status,
        title=f"New {ROLE_NAMES[role].lower()}" if role is not None else "New person",
        back="/people",
        fields=person_fields(caller, needs_password=True),
        filled=filled,
        verb="Make and let in",
        buildings=buildings,
        chosen=filled.typed.get("building", "").split(),
    )


def edit_page(caller: Caller, found: Person, filled: Filled, status: int = 200) -> Response:
    return show(
        "person_form.html",
        status,
        title=f"Change {found.name}",
        back=f"/people/{found.id}",
        fields=person_fields(caller, needs_password=False),
        filled=filled,
        verb="Keep the changes",
        buildings=[],
        chosen=[],
    )
