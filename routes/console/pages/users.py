"""What is special about users: their account and grants, and the forms that set a password and the first buildings."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from flask import Response, g, request

from access import assignments, policy
from access.accounts import administration
from access.accounts.administration import UserRequest
from access.accounts.password import PASSWORD_CHARACTERS_MIN
from access.accounts.people import UNSET, UserAccount, read_email, read_role
from access.assignments import IDS_MAX
from access.caller import Caller
from access.decorators import load_caller
from access.roles import GrantKind, Role
from engine.open import reading
from engine.query.statement import Action
from inspections.inspectors import LINKED_ROLE
from models import User
from models.fields import TENANT_COLUMN
from models.types import BIGINT, InvalidInput, read_string, read_uuid
from routes.console.components import fields, queries
from routes.console.components import row_choice as user_choice
from routes.console.components.fields import Field, FormValues
from routes.console.components.page import ROLE_NAMES, Undo, redirect_to, render_confirmation, render_page
from routes.console.components.queries import once
from routes.console.components.records import (
    RecordForm,
    conflict_problems,
    form_page,
    merge_form,
    only_choice,
    record_form,
    require_row,
    require_unchanged,
    require_written,
    save,
)
from routes.console.components.row_choice import row_choice
from routes.console.components.tables import Presentation, Row, Section, Table, table_of
from routes.console.components.template_filters import inspector_title, short_name, user_title
from routes.console.pages.grants import grantable_roles
from routes.console.pages.inspections import hand_over_links
from routes.console.pages.rows import show_page
from routes.console.session import auth
from routes.console.session.urls import console_url
from routes.gotrue.users import hash_new_password
from routes.http.faults import UnknownPath
from routes.http.middleware import request_deadline
from routes.postgrest.lexer import LimitExceeded

NAMES = {role.value: name for role, name in ROLE_NAMES.items()}
INSPECTORS = "inspectors"
BUILDINGS_LISTED_MAX = 200
PASSWORD_BYTES = 12  # of a generated password: 96 random bits, 16 characters


# Sections of the page


def account_section(caller: Caller, row: Row, may_edit: bool) -> Section:
    user = require_user(caller, row["id"])
    with reading() as transaction:
        is_disabled = user.is_disabled(transaction.unix)
    inspector = queries.first_row(caller, "inspectors", f"select=id,name&user_id=eq.{user.id}")
    values = {"user": user, "is_disabled": is_disabled, "may_edit": may_edit, "inspector": inspector}
    return "user_account.html", {"beside": True, **values}


def assign_action(caller: Caller, row: Row, may_edit: bool) -> list[tuple[str, str]]:
    if Role(row["role"]) not in grantable_roles(caller, GrantKind.BUILDING):
        return []
    return [("Assign buildings", console_url(f"/access?role={row['role']}&person={row['id']}"))]


def require_user(caller: Caller, key: str, action: Action = Action.READ) -> UserAccount:
    try:
        user_id = str(read_uuid(key))
    except InvalidInput as error:
        raise UnknownPath from error
    try:
        with reading() as transaction:
            return administration.find_user(transaction, caller, user_id, action)
    except administration.UserNotFound as error:
        raise UnknownPath from error


# Create and edit


@auth.requires_administrator()
def new_user(caller: Caller) -> Response:
    chosen = {each.name: only_choice(each) for each in user_fields(caller, needs_password=True)}
    if client := request.args.get(TENANT_COLUMN):
        chosen[TENANT_COLUMN] = client
    if request.args.get("inspector"):
        inspector = require_unlinked_inspector(caller)
        chosen |= {"name": inspector["name"], "email": inspector["email"] or "", "role": LINKED_ROLE}
    return new_page(caller, FormValues(chosen))


@auth.requires_administrator(writes=True)
def create_user(caller: Caller) -> Response:
    """Create a user with a password and buildings, and link the inspector of the URL, in one transaction."""
    inspector = require_unlinked_inspector(caller) if request.args.get("inspector") else None
    values = read_user_form(user_fields(caller, needs_password=True))
    if "generate" in g.form:
        return new_page(caller, with_generated_password(values))
    ids = [int(BIGINT.read_text(each) or 0) for each in g.form.getlist("building")[: IDS_MAX + 1]]
    if len(ids) > IDS_MAX:
        raise LimitExceeded(IDS_MAX, "buildings at once")
    values.problems.update(client_problem(values.typed))
    if not values.problems:
        values.problems.update(foreign_buildings_problem(caller, values.typed, ids))

    def store() -> Response:
        until = request_deadline()
        wanted = user_values(values, values.typed)
        password_hash = hash_new_password(values.typed["password"], until)
        is_new = False

        def create() -> str:
            nonlocal is_new
            is_new = True
            created = administration.create_user(transaction, now, wanted, password_hash, is_temporary=True)
            if ids:
                assignments.assign_to_client_manager(transaction, now, created.id, ids, [])
            if inspector is not None:
                filters = f"id=eq.{inspector['id']}&user_id=is.null"
                require_written(queries.update(transaction, now, INSPECTORS, filters, {"user_id": created.id}))
            return created.id

        with administration.counting_disclosures(until.writing()) as transaction:
            now = load_caller(transaction)
            user_id = once(transaction, now, "users", create)
        created = f"User {short_name(values.typed['name'])} created."
        return redirect_to(f"/people/{user_id}", created if is_new else f"{created} The first password holds.")

    return save(values, store, lambda status: new_page(caller, values, status))


@auth.requires_administrator()
def edit_user(caller: Caller, key: str) -> Response:
    user = require_user(caller, key, Action.UPDATE)
    form_fields = user_fields(caller, needs_password=False)
    return edit_page(user, form_fields, fields.initial_values(form_fields, user_texts(user)))


@auth.requires_administrator(writes=True)
def update_user(caller: Caller, key: str) -> Response:
    """Save the fields that differ from the user, and a new password; see `records.update_row`."""
    user = require_user(caller, key, Action.UPDATE)
    form_fields = user_fields(caller, needs_password=False)
    before = user_texts(user)
    values = merge_form(form_fields, read_user_form(form_fields), before)
    record = RecordForm(table_of("users"), form_fields)
    values.problems.update(conflict_problems(record, caller, values, before, user.id))
    values.problems.update(client_problem(values.typed))
    if "generate" in g.form:
        return edit_page(user, form_fields, with_generated_password(values))

    def store() -> Response:
        if values.changed:
            until = request_deadline()
            wanted = user_values(values, values.changed)
            password_hash = hash_new_password(values.typed["password"] or None, until)
            with administration.counting_disclosures(until.writing()) as transaction:
                now = load_caller(transaction)
                require_unchanged(before, user_texts(require_user(now, user.id, Action.UPDATE)))
                administration.change_user(transaction, now, user.id, wanted, password_hash, is_temporary=True)
        return redirect_to(f"/people/{user.id}", "Changes saved.")

    return save(values, store, lambda status: edit_page(user, form_fields, values, status))


@auth.requires_administrator()
def confirm_deactivation(caller: Caller, key: str) -> Response:
    user = require_user(caller, key, Action.UPDATE)
    return render_confirmation(
        f"Deactivate {short_name(user.name)}?",
        "Their sessions, API keys and kiosk displays end, and so does the link to an inspector. "
        "New sign-ins are refused. Undo allows sign-in again; it does not bring these back.",
        verb="Deactivate",
        action=f"/people/{user.id}/disable",
        back=f"/people/{user.id}",
    )


@auth.requires_administrator(writes=True)
def deactivate(caller: Caller, key: str) -> Response:
    user_id = read_uuid(key)
    with request_deadline().writing() as transaction:
        administration.ban_user(transaction, load_caller(transaction), user_id)
    path = f"/people/{user_id}"
    return redirect_to(path, "User deactivated and signed out.", Undo(f"{path}/enable"))


@auth.requires_administrator(writes=True)
def reactivate(caller: Caller, key: str) -> Response:
    user_id = read_uuid(key)
    with request_deadline().writing() as transaction:
        administration.unban_user(transaction, load_caller(transaction), user_id)
    return redirect_to(f"/people/{user_id}", "User reactivated.")


# Forms


def require_unlinked_inspector(caller: Caller) -> Row:
    """Return the inspector of the URL, for whom the form makes the user; raise UnknownPath if there is none."""
    key = BIGINT.read_text(request.args["inspector"])
    return require_row(caller, Action.UPDATE, INSPECTORS, f"id=eq.{key}&user_id=is.null")


def with_generated_password(values: FormValues) -> FormValues:
    """Return the typed values with a new random password, which the form shows this once."""
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    return replace(values, typed={**values.typed, "password": password}, problems={}, generated=password)


def user_fields(caller: Caller, *, needs_password: bool) -> tuple[Field, ...]:
    length = f"At least {PASSWORD_CHARACTERS_MIN} characters. The user changes it at the first sign-in to the console."
    password_hint = length if needs_password else f"Leave empty to keep the current password. {length}"
    plain = (
        Field("name", "Name", required=True, characters_max=fields.NAME_CHARACTERS_MAX),
        Field("email", "E-mail", "email", required=True),
        Field(
            "password",
            "Password" if needs_password else "New password",
            "password",
            required=needs_password,
            hint=password_hint,
            autocomplete="new-password",
            generates=True,
        ),
    )
    if policy.DEFAULT_ROLES.get(caller.role) is not None:
        return plain
    users = table_of("users")
    return (
        *plain,
        Field("role", "Role", "select", required=True, choices=fields.choices(NAMES, NAMES)),
        row_choice(caller, users, users.references["client_id"], "Client"),
    )


def user_texts(user: UserAccount) -> dict[str, str]:
    """Return the fields of a user as text, without the password."""
    return {"name": user.name, "email": user.email, "role": user.role.value, "client_id": str(user.client_id or "")}


def read_user_form(form_fields: Sequence[Field]) -> FormValues:
    """Return the values of the submitted form. `user_values` parses them."""
    return fields.read_texts(form_fields, g.form, building=" ".join(g.form.getlist("building")))


def user_values(values: FormValues, names: Collection[str]) -> UserRequest:
    """Return the submitted values of these fields as a user; the other fields are unset."""
    typed = {name: text for name, text in values.typed.items() if name in names}
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
    """Return the number of a client, or None for an empty field."""
    return int(BIGINT.read_text(text) or 0) if text else None


def client_problem(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the problem of a client that does not fit the role, by field. Without a role field there is none."""
    role, has_client = texts.get("role", ""), bool(texts.get("client_id", "").strip())
    if role not in NAMES or has_client != policy.sees_all(Role(role), User):
        return {}
    verb = "has no" if has_client else "needs a"
    return {"client_id": f"A {NAMES[role].lower()} {verb} client."}


def foreign_buildings_problem(caller: Caller, texts: Mapping[str, str], ids: Sequence[int]) -> dict[str, str]:
    """Return the warning of buildings of another client than the user's, unless the form was sent after it."""
    client = texts.get("client_id", "")
    if not ids or not client.isdigit() or g.form.get("warned") == texts["building"]:
        return {}
    text = f"select=name,clients(name)&id=in.({','.join(map(str, ids))})&client_id=neq.{client}&order=name"
    rows = queries.select_rows(caller, "buildings", text, limit=len(ids)).rows
    names = ", ".join(f"{short_name(row['name'])} ({short_name(row['clients']['name'])})" for row in rows)
    return {"building": f"Beyond their client: {names}. Create the user again to grant them."} if rows else {}


def new_page(caller: Caller, values: FormValues, status: int = 200) -> Response:
    role = policy.DEFAULT_ROLES.get(caller.role)
    text = "select=id,name,city,clients(name)&order=client_id,name,id"
    buildings = queries.first_page(caller, "buildings", text, BUILDINGS_LISTED_MAX, within=Action.UPDATE)
    return render_page(
        "user_form.html",
        status,
        title=f"New {ROLE_NAMES[role].lower()}" if role is not None else "New user",
        back="/people",
        fields=user_fields(caller, needs_password=True),
        values=values,
        verb="Create",
        buildings=buildings.rows,
        are_first=buildings.has_more,
        chosen=values.typed.get("building", "").split(),
    )


def edit_page(user: UserAccount, form_fields: tuple[Field, ...], values: FormValues, status: int = 200) -> Response:
    record = RecordForm(table_of("users"), form_fields)
    return form_page(record, values, {"id": user.id, "name": user.name, "inspectors": None}, status)


def show_user(table: Table, caller: Caller, key: str) -> Response:
    links = [("Explain the access of this user", console_url(f"/why?person={key}"))]
    return show_page(table, caller, key, sections=(account_section,), actions=assign_action, links=links)


def inspector_links(caller: Caller, row: Row, may_edit: bool) -> list[tuple[str, str]]:
    return [*hand_over_links(caller, row), *sign_in_links(row, may_edit)]


def sign_in_links(row: Row, may_edit: bool) -> list[tuple[str, str]]:
    is_linkable = may_edit and row["user_id"] is None
    return [("Make a user to sign in as", console_url(f"/people/new?inspector={row['id']}"))] if is_linkable else []


def show_inspector(table: Table, caller: Caller, key: int) -> Response:
    return show_page(table, caller, key, actions=inspector_links)


def inspector_form(table: Table, caller: Caller) -> RecordForm:
    """Return the form of an inspector. Its second button leads to the form of their user, unless they have one."""
    form = record_form(table, caller, {"user_id": f"role=eq.{LINKED_ROLE}"})
    label = "Create, then make a user to sign in as"
    return replace(form, next_label=label, next_path=new_user_path)


def new_user_path(inspector: Row, key: object) -> str:
    """Return the path of the form of the inspector's user, or an empty text if the inspector has a user."""
    return "" if inspector.get("user_id") else f"/people/new?inspector={key}"


PRESENTATIONS = {
    "users": Presentation(
        path="people",
        has_own_forms=True,
        title=user_title,
        title_embeds=("inspectors(name)",),
        choice_columns=("email",),
        prepare=lambda caller, rows: user_choice.mark_deactivated(rows),
        cells={"name": lambda row: (user_title(row), "")},
        allowed=policy.may_administer,
    ),
    INSPECTORS: Presentation(
        choice_columns=("email",),
        title=inspector_title,
        cells={"name": lambda row: (inspector_title(row), "")},
        title_references=("user_id",),
        related_by=(),
    ),
}
