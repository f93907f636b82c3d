"""/console/sign-in and /console/sign-out: the API's sign-in, with its throttling, and a session cookie."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from flask import Response, g, request

import config
from access.accounts import people
from access.accounts import sign_in as accounts_sign_in
from access.accounts.sign_in import Scope
from access.authentication import authenticator
from access.caller import SERVICE_CALLER, Caller
from access.decorators import load_caller, public
from engine.current import reading
from models.errors import Fault
from routes.console.components import queries
from routes.console.components.error_pages import (
    fault_message,
    fault_status,
    is_shown_in_form,
    render_unsaved,
    with_retry_after,
)
from routes.console.components.page import HEADERS, bp, reload_with_cookies, render_page
from routes.console.session import auth, submissions
from routes.console.session.auth import PATH
from routes.console.session.redirects import safe_redirect
from routes.gotrue.bodies import client_address, request_deadline


@bp.get("/sign-in")
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
    command = "" if status >= 500 or is_any_user() else config.CREATE_SUPER_ADMIN
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


@bp.post("/sign-in")
@public("takes a password, with the throttling of the API's sign-in")
def sign_in() -> Response:
    form = auth.read_sign_in_form()
    email, target = form.get("email", ""), safe_redirect(form.get("next", ""))
    try:
        signed_in = accounts_sign_in.sign_in_with_password(
            authenticator().refresh_tokens, email, form.get("password", ""), client_address(), request_deadline()
        )
    except Fault as fault:
        if not is_shown_in_form(fault) and fault_status(fault) != 401:
            raise
        g.refusal = type(fault).__name__
        return with_retry_after(show_form(target, email, fault, form), fault)
    auth.start_session(signed_in)
    unsaved = submissions.carried_form(form, signed_in.person.id)
    if unsaved is not None:
        with reading() as transaction:
            auth.admit_session(transaction)
        response = render_unsaved(unsaved, 200)
    else:
        response = Response("", 303, {**HEADERS, "Location": target or first_page(signed_in.person.id)})
    auth.set_session_cookie(response)
    return response


def is_any_user() -> bool:
    with reading() as transaction:
        return people.is_any(transaction)


def first_page(user_id: str) -> str:
    """Return the page that a user opens after sign-in."""
    inspector = queries.first_row(SERVICE_CALLER, "inspectors", f"select=id&user_id=eq.{user_id}")
    return f"{PATH}/visits" if inspector is not None else f"{PATH}/"


@bp.post("/sign-out")
@auth.requires_session(writes=True)
def sign_out(caller: Caller) -> Response:
    with request_deadline().writing() as transaction:
        accounts_sign_in.sign_out(transaction, load_caller(transaction), Scope.LOCAL)
    response = Response("", 303, {**HEADERS, "Location": f"{PATH}/sign-in"})
    g.ended = True
    return response
