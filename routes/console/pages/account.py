"""/console/account: a user's own name, password, calendar links and sessions."""

from __future__ import annotations

from flask import Response, g, request

from access import policy
from access.accounts import people, sign_in
from access.accounts.api_key import list_keys_of_user, new_calendar_link
from access.accounts.sign_in import OwnAccountChanges, Scope
from access.caller import Caller
from access.decorators import load_caller
from engine.open import reading
from routes.console.components.charts import qr_code
from routes.console.components.fields import NAME_CHARACTERS_MAX, Field, FormValues, read_texts
from routes.console.components.page import ROLE_NAMES, redirect_to, render_page
from routes.console.components.records import save
from routes.console.pages.api_keys import create_once
from routes.console.pages.sign_in import NEW_PASSWORD, change_account, replace_password
from routes.console.session import auth
from routes.http.middleware import request_deadline

NAME = (Field("name", "Name", required=True, characters_max=NAME_CHARACTERS_MAX),)
PASSWORD = (
    Field("current_password", "Current password", "password", required=True, autocomplete="current-password"),
    NEW_PASSWORD,
)

CALENDAR = (
    Field(
        "link_name",
        "Name",
        required=True,
        characters_max=NAME_CHARACTERS_MAX,
        hint="The calendar that uses the link, such as My phone.",
    ),
)


@auth.requires_session()
def account(caller: Caller) -> Response:
    return render_account(caller)


@auth.requires_session(writes=True)
def change_name(caller: Caller) -> Response:
    values = read_texts(NAME, g.form)

    def store() -> Response:
        change_account(caller, OwnAccountChanges(None, values.typed["name"], {}, None, None))
        response = redirect_to("/account", "Name saved.")
        auth.rename_session(response, values.typed["name"])
        return response

    return save(values, store, lambda status: render_account(caller, name_values=values, status=status))


@auth.requires_session(writes=True)
def change_password(caller: Caller) -> Response:
    values = read_texts(PASSWORD, g.form)

    def store() -> Response:
        replace_password(caller, values)
        return redirect_to("/account", "Password changed. Your other sessions have ended.")

    return save(values, store, lambda status: render_account(caller, password_values=values, status=status))


@auth.requires_session(writes=True)
def create_calendar_link(caller: Caller) -> Response:
    """Create a calendar link, and show it once."""
    values = read_texts(CALENDAR, g.form)

    def store() -> Response:
        token = create_once(caller.id or "", lambda now: new_calendar_link(values.typed["link_name"]))
        if token is None:
            return redirect_to("/account", "This calendar link was created before. It was shown once.")
        return render_account(caller, calendar_url=f"{request.url_root}calendar/{token}.ics")

    return save(values, store, lambda status: render_account(caller, calendar_values=values, status=status))


@auth.requires_session(writes=True)
def end_other_sessions(caller: Caller) -> Response:
    with request_deadline().writing() as transaction:
        sign_in.sign_out(transaction, load_caller(transaction), Scope.OTHERS)
    return redirect_to("/account", "Your other sessions have ended.")


@auth.requires_session(writes=True)
def end_session(caller: Caller, key: str) -> Response:
    with request_deadline().writing() as transaction:
        sign_in.end_session(transaction, load_caller(transaction), key)
    return redirect_to("/account", "The session has ended.", anchor="sessions")


def render_account(
    caller: Caller,
    name_values: FormValues | None = None,
    password_values: FormValues | None = None,
    calendar_values: FormValues | None = None,
    calendar_url: str = "",
    status: int = 200,
) -> Response:
    """Return the page; `calendar_url` is a new calendar link."""
    webcal_url = f"webcal:{calendar_url.partition(':')[2]}"
    with reading() as transaction:
        user = people.by_id(transaction, caller.id or "")
        sessions = sign_in.list_sessions(transaction, caller.id or "")
        keys = list_keys_of_user(transaction, caller, caller.id or "")
    assert user is not None, "just looked up"
    return render_page(
        "account.html",
        status,
        user=user,
        role=ROLE_NAMES[user.role],
        name_fields=NAME,
        name_values=name_values or FormValues({"name": user.name}),
        password_fields=PASSWORD,
        password_values=password_values or FormValues({}),
        calendar_fields=CALENDAR if policy.has_calendar(caller.profile) else (),
        calendar_values=calendar_values or FormValues({}),
        calendar_url=calendar_url,
        webcal_url=webcal_url,
        qr_code=qr_code(webcal_url) if calendar_url else None,
        calendar_links=[each for each in keys if each.is_calendar_link],
        sessions=sessions,
        current=caller.session_id,
    )
