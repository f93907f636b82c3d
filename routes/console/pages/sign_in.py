"""/console/sign-in and /console/sign-out: the API's sign-in, with its throttling, and a session cookie.

A user whose password an administrator chose in the console changes it before any other page opens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

from flask import Response, current_app, g, request

import config
from access.accounts import people
from access.accounts import sign_in as accounts_sign_in
from access.accounts.password import PASSWORD_CHARACTERS_MIN
from access.accounts.sign_in import OwnAccountChanges, Scope
from access.caller import SERVICE_CALLER, Caller
from access.decorators import load_caller, public
from access.session import authenticator
from engine.open import reading
from models.types import Fault
from routes.console.components import queries
from routes.console.components.error_pages import (
    fault_message,
    fault_status,
    is_shown_in_form,
    render_unsaved,
    with_retry_after,
)
from routes.console.components.fields import Field, FormValues, read_texts
from routes.console.components.page import HEADERS, redirect_to, reload_with_cookies, render_page
from routes.console.components.records import save
from routes.console.session import auth, submissions
from routes.console.session.urls import PATH, console_url, safe_redirect
from routes.http.middleware import client_address, client_device, request_deadline, url_path

NEW_PASSWORD = Field(
    "password",
    "New password",
    "password",
    required=True,
    hint=f"At least {PASSWORD_CHARACTERS_MIN} characters.",
    autocomplete="new-password",
)


@public("shows the sign-in form")
def sign_in_form() -> Response:
    if auth.is_cross_site_without_cookies():
        return reload_with_cookies()  # a new nonce would invalidate an open sign-in page
    return show_form(safe_redirect(request.args.get("next", "")))


def show_form(
    target: str, email: str = "", fault: Fault | None = None, form: Mapping[str, str] = MappingProxyType({})
) -> Response:
    """Return the form, with the command that creates the first user if there is none.

    A busy database is not asked for users.
    """
    problem, status = (fault_message(fault), fault_status(fault)) if fault is not None else (None, 200)
    command = "" if status >= 500 or is_any_user() else config.create_super_admin(current_app.config["DATABASE_URL"])
    return render_page(
        "sign_in.html",
        status,
        email=email,
        problem=problem,
        next=target,
        command=command,
        unsaved=form.get("unsaved", ""),
        unsaved_path=form.get("unsaved_path", ""),
    )


@public("takes a password, with the throttling of the API's sign-in")
def sign_in() -> Response:
    form = auth.read_sign_in_form()
    email, target = form.get("email", ""), safe_redirect(form.get("next", ""))
    try:
        signed_in = accounts_sign_in.sign_in_with_password(
            authenticator().refresh_tokens,
            email,
            form.get("password", ""),
            client_address(),
            request_deadline(),
            client_device(),
        )
    except Fault as fault:
        if not is_shown_in_form(fault) and fault_status(fault) != 401:
            raise
        g.refusal = type(fault).__name__
        return with_retry_after(show_form(target, email, fault, form), fault)
    auth.start_session(signed_in)
    unsaved = submissions.carried_form(form, signed_in.person.id)
    if signed_in.person.has_temporary_password:
        response = ask_for_password(unsaved)
    elif unsaved is not None:
        with reading() as transaction:
            auth.admit_session(transaction)
        response = render_unsaved(unsaved, 200)
    else:
        response = to_first_page(signed_in.person.id, target)
    auth.set_session_cookie(response)
    return response


def is_any_user() -> bool:
    with reading() as transaction:
        return people.is_any(transaction)


def to_first_page(user_id: str, target: str = "") -> Response:
    """Return the redirect after a sign-in: to the target, or to the page that the user works with."""
    if not target:
        inspector = queries.first_row(SERVICE_CALLER, "inspectors", f"select=id&user_id=eq.{user_id}")
        target = f"{PATH}/visits" if inspector is not None else f"{PATH}/"
    return Response("", 303, {**HEADERS, "Location": url_path(target)})


# A password that an administrator chose

OWN_PASSWORD = (
    Field(
        "current_password", "Password that you were given", "password", required=True, autocomplete="current-password"
    ),
    NEW_PASSWORD,
)


def require_own_password(fault: Fault) -> Response:
    """Lead to the form that changes a temporary password. A form that was not saved is saved after the change."""
    g.refusal = type(fault).__name__
    return ask_for_password(submissions.unsaved_form())


def ask_for_password(unsaved: submissions.UnsavedForm | None) -> Response:
    if unsaved is None:
        return Response("", 303, {**HEADERS, "Location": console_url("/account/own_password")})
    return show_password_form(FormValues({}), unsaved.text, unsaved.path, status=401)


def show_password_form(values: FormValues, unsaved: str = "", unsaved_path: str = "", status: int = 200) -> Response:
    return render_page(
        "own_password.html", status, fields=OWN_PASSWORD, values=values, unsaved=unsaved, unsaved_path=unsaved_path
    )


@auth.requires_session(takes_temporary_password=True)
def own_password_form(caller: Caller) -> Response:
    return show_password_form(FormValues({})) if caller.has_temporary_password else redirect_to("/account")


@auth.requires_session(writes=True, takes_temporary_password=True)
def choose_own_password(caller: Caller) -> Response:
    values = read_texts(OWN_PASSWORD, g.form)

    def store() -> Response:
        replace_password(caller, values)
        unsaved = submissions.carried_form(g.form, caller.id or "")
        if unsaved is None:
            return to_first_page(caller.id or "")
        with reading() as transaction:
            auth.admit_session(transaction)
        return render_unsaved(unsaved, 200)

    carried = (g.form.get("unsaved", ""), g.form.get("unsaved_path", ""))
    return save(values, store, lambda status: show_password_form(values, *carried, status=status))


def replace_password(caller: Caller, values: FormValues) -> None:
    """Set a password by the typed one and the current one."""
    typed = values.typed
    change_account(caller, OwnAccountChanges(None, None, {}, typed["password"], typed["current_password"]))


def change_account(caller: Caller, changes: OwnAccountChanges) -> None:
    until = request_deadline()
    new = accounts_sign_in.prepare_password(caller, changes, client_address(), until)
    with until.writing() as transaction:
        accounts_sign_in.change_own_account(transaction, load_caller(transaction), changes, new)


@auth.requires_session()
def session(caller: Caller) -> Response:
    """Return who is signed in, and the token of the session's forms, for the script that sends kept forms."""
    g.is_unattended = True
    return Response(
        json.dumps({"user_id": caller.id, "csrf": auth.csrf_token()}), 200, {"Content-Type": "application/json"}
    )


@auth.requires_session(writes=True, takes_temporary_password=True)
def sign_out(caller: Caller) -> Response:
    with request_deadline().writing() as transaction:
        accounts_sign_in.sign_out(transaction, load_caller(transaction), Scope.LOCAL)
    response = Response("", 303, {**HEADERS, "Location": console_url("/sign-in")})
    g.ended = True
    return response
