"""/console/people: who signs in here, and a new one in one form: made, given a password, assigned."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence

from flask import Response
from flask import g

from access import assignments
from access import policy
from access.accounts import administration
from access.accounts import email_disclosure
from access.accounts.administration import UserRequest
from access.accounts.person import UNSET
from access.accounts.person import UserAccount
from access.accounts.person import read_email
from access.accounts.person import read_role
from access.assignments import IDS_MAX
from access.caller import Caller
from access.caller import GrantKind
from access.decorators import load_caller
from access.policy import GRANT_TABLES
from engine.current import reading
from engine.query.rule import Action
from models.types import BIGINT
from models.types import InvalidInput
from models.types import read_string
from models.types import read_uuid
from routes.auth import request_deadline
from routes.auth_admin import hash_new_password
from routes.console.components import fields
from routes.console.components import grants
from routes.console.components import queries as engine
from routes.console.components.fields import Field
from routes.console.components.fields import Filled
from routes.console.components.grants import Held
from routes.console.components.list_query import Listing
from routes.console.components.lists import show_list
from routes.console.components.page import ROLE_NAMES
from routes.console.components.page import bp
from routes.console.components.page import go
from routes.console.components.page import show
from routes.console.components.records import kept
from routes.console.components.records import merged
from routes.console.components.records import picked
from routes.console.components.records import require_one
from routes.console.components.records import require_same
from routes.console.components.template_filters import name
from routes.console.components.template_filters import told
from routes.console.session import auth as door
from routes.postgrest.limits import LimitExceeded
from routes.postgrest.requests import UnknownPath

NAMES = {role.value: name for role, name in ROLE_NAMES.items()}
LISTING = Listing(
    relation="users",
    select="id,name,email,role,clients(name)",
    order="name.asc",
    searched=("name", "email"),
    equals={"role": tuple(f"eq.{role}" for role in NAMES)},
    page="people",
)
BUILDINGS_OFFERED = 200


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
        grants=[(kind, grants_of(caller, found, kind)) for kind in GrantKind],
        may_assign=found.role in grants.grantees(caller, GrantKind.BUILDING),
        may_change=engine.is_within_reach(caller, Action.UPDATE, "users", found.id),
        may_delete=engine.is_within_reach(caller, Action.DELETE, "users", found.id),
    )


def find(caller: Caller, key: str, action: Action = Action.READ) -> UserAccount:
    try:
        user_id = str(read_uuid(key))
    except InvalidInput as error:
        raise UnknownPath from error
    try:
        with reading() as transaction:
            return administration.find_user(transaction, caller, user_id, action)
    except administration.UserNotFound as error:
        raise UnknownPath from error


def grants_of(caller: Caller, found: UserAccount, kind: GrantKind) -> Held:
    """What somebody was granted, newest first, as far as the caller sees it."""
    held = GRANT_TABLES.get((found.role, kind))
    return grants.held_by(caller, held, found.id) if held is not None else Held([], is_cut=False)


@bp.post("/people/<key>/revoke")
@door.requires_administrator(writes=True)
def revoke(caller: Caller, key: str) -> Response:
    found = find(caller, key)
    kind = (
        GrantKind(g.form["kind"])
        if g.form.get("kind") in [each.value for each in GrantKind]
        else None
    )
    held = GRANT_TABLES.get((found.role, kind)) if kind is not None else None
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
    filled = read_person(person_fields(caller, needs_password=True))
    ids = [int(BIGINT.read_text(each) or 0) for each in g.form.getlist("building")[: IDS_MAX + 1]]
    if len(ids) > IDS_MAX:
        raise LimitExceeded(IDS_MAX, "buildings at once")

    def keep() -> Response:
        until = request_deadline()
        wanted = wanted_of(filled, filled.typed)
        password_hash = hash_new_password(filled.typed["password"], until)
        with email_disclosure.counting_disclosures(until.writing()) as transaction:
            now = load_caller(transaction)
            made = administration.create_user(transaction, now, wanted, password_hash)
            if ids:
                assignments.assign_to_client_manager(transaction, now, made.id, ids, [])
        return go(f"/people/{made.id}", f"{told(made.name)} can sign in now.")

    return kept(filled, keep, lambda status: new_page(caller, filled, status))


@bp.get("/people/<key>/edit")
@door.requires_administrator()
def edit_person(caller: Caller, key: str) -> Response:
    found = find(caller, key, Action.UPDATE)
    asked = person_fields(caller, needs_password=False)
    return edit_page(found, asked, fields.untouched(asked, shown_of(found)))


@bp.post("/people/<key>/edit")
@door.requires_administrator(writes=True)
def change_person(caller: Caller, key: str) -> Response:
    """Keep what differs from the person as they are, and a new password; as `records.change` does."""
    found = find(caller, key, Action.UPDATE)
    asked = person_fields(caller, needs_password=False)
    before = shown_of(found)
    filled = merged(asked, read_person(asked), before)

    def keep() -> Response:
        if filled.changed:
            until = request_deadline()
            wanted = wanted_of(filled, filled.changed)
            password_hash = hash_new_password(filled.typed["password"] or None, until)
            with email_disclosure.counting_disclosures(until.writing()) as transaction:
                now = load_caller(transaction)
                require_same(before, shown_of(find(now, found.id, Action.UPDATE)))
                administration.change_user(transaction, now, found.id, wanted, password_hash)
        return go(f"/people/{found.id}", "The changes are kept.")

    return kept(filled, keep, lambda status: edit_page(found, asked, filled, status))


@bp.post("/people/<key>/disable")
@door.requires_administrator(writes=True)
def disable(caller: Caller, key: str) -> Response:
    user_id = read_uuid(key)
    with request_deadline().writing() as transaction:
        administration.ban_user(transaction, load_caller(transaction), user_id)
    return go(f"/people/{user_id}", "They cannot sign in any more, and are signed out.")


@bp.post("/people/<key>/enable")
@door.requires_administrator(writes=True)
def enable(caller: Caller, key: str) -> Response:
    user_id = read_uuid(key)
    with request_deadline().writing() as transaction:
        administration.unban_user(transaction, load_caller(transaction), user_id)
    return go(f"/people/{user_id}", "They can sign in again.")


@bp.get("/people/<key>/delete")
@door.requires_administrator()
def confirm_person_deletion(caller: Caller, key: str) -> Response:
    found = find(caller, key, Action.DELETE)
    held = sum(
        engine.number(caller, each.model.__tablename__, f"{each.grantee}=eq.{found.id}")
        for (role, _), each in GRANT_TABLES.items()
        if role is found.role
    )
    return show(
        "delete.html",
        what=name(found.name, 160),
        path=f"/people/{found.id}",
        takes=[("grants of access that they hold", held)],
        stops=[],
    )


@bp.post("/people/<key>/delete")
@door.requires_administrator(writes=True)
def delete_person(caller: Caller, key: str) -> Response:
    with request_deadline().writing() as transaction:
        administration.delete_user(transaction, load_caller(transaction), read_uuid(key))
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
    if policy.default_role(caller.role) is not None:
        return plain
    return (
        *plain,
        Field("role", "Role", "select", required=True, choices=fields.choices(NAMES, NAMES)),
        picked(caller, "client_id", "Client", "clients", Action.READ),
    )


def shown_of(found: UserAccount) -> dict[str, str]:
    """Somebody as a form shows them, which is without a password."""
    return {
        "name": found.name,
        "email": found.email,
        "role": found.role.value,
        "client_id": str(found.client_id or ""),
    }


def read_person(asked: Sequence[Field]) -> Filled:
    """What the form says of a user; values are read where they are wanted."""
    typed = {each.name: g.form.get(each.name, "") for each in asked}
    filled = Filled({**typed, "building": " ".join(g.form.getlist("building"))})
    for each in asked:
        if each.required and not typed[each.name].strip():
            filled.problems[each.name] = f"{each.label} is needed."
    return filled


def wanted_of(filled: Filled, said: Collection[str]) -> UserRequest:
    """What the form says of a user in these of its fields; nothing of all else."""
    typed = {name: text for name, text in filled.typed.items() if name in said}
    email, name, role, client = (typed.get(each) for each in ("email", "name", "role", "client_id"))
    return UserRequest(
        None,
        read_email(email) if email is not None else None,
        read_string(name) if name is not None else None,
        read_role(role) if role is not None else None,
        read_client(client) if client is not None else UNSET,
        {},
        {},
        None,
    )


def read_client(text: str) -> int | None:
    """A client by its number; nothing typed is none."""
    return int(BIGINT.read_text(text) or 0) if text else None


def new_page(caller: Caller, filled: Filled, status: int = 200) -> Response:
    role = policy.default_role(caller.role)
    buildings = engine.first(
        caller,
        "buildings",
        "select=id,name,city,clients(name)&order=client_id,name,id",
        BUILDINGS_OFFERED,
        within=Action.UPDATE,
    )
    return show(
        "person_form.html",
        status,
        title=f"New {ROLE_NAMES[role].lower()}" if role is not None else "New person",
        back="/people",
        fields=person_fields(caller, needs_password=True),
        filled=filled,
        verb="Make and let in",
        buildings=buildings.rows,
        are_first=buildings.has_more,
        chosen=filled.typed.get("building", "").split(),
    )


def edit_page(
    found: UserAccount, asked: Sequence[Field], filled: Filled, status: int = 200
) -> Response:
    return show(
        "person_form.html",
        status,
        title=f"Change {name(found.name, 160)}",
        back=f"/people/{found.id}",
        fields=asked,
        filled=filled,
        verb="Keep the changes",
        buildings=[],
        are_first=False,
        chosen=[],
    )
