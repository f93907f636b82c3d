"""/console/sign-in and sign-out: the API's own sign-in, throttled as it is, with a cookie for its answer."""

from __future__ import annotations

from flask import Response
from flask import g
from flask import request

from access.accounts import sign_in as signin
from access.accounts.sign_in import Scope
from access.caller import Caller
from access.decorators import authenticator
from access.decorators import load_caller
from access.decorators import public
from models.errors import Fault
from routes.auth import client_address
from routes.auth import request_deadline
from routes.console.components.page import HEADERS
from routes.console.components.page import ask_again
from routes.console.components.page import bp
from routes.console.components.page import is_told_in_place
from routes.console.components.page import said
from routes.console.components.page import show
from routes.console.components.page import status_of
from routes.console.components.page import told_to_wait
from routes.console.session import auth as door
from routes.console.session.auth import PATH
from routes.console.session.redirects import safe


@bp.get("/sign-in")
@public("the form by which one signs in")
def sign_in_form() -> Response:
    if door.has_left_cookies_behind():
        return ask_again()  # or an open sign-in page would lose its nonce to this one
    return show("sign_in.html", email="", problem=None, next=safe(request.args.get("next", "")))


@bp.post("/sign-in")
@public("takes a password, throttled as the API's sign-in is")
def sign_in() -> Response:
    form = door.read_sign_in_form()
    email, after = form.get("email", ""), safe(form.get("next", ""))
    try:
        signed_in = signin.sign_in_with_password(
            authenticator().refresh_tokens,
            email,
            form.get("password", ""),
            client_address(),
            request_deadline(),
        )
    except Fault as fault:
        if not is_told_in_place(fault) and status_of(fault) != 401:
            raise
        g.refusal = type(fault).__name__
        answer = show(
            "sign_in.html", status_of(fault), email=email, problem=said(fault), next=after
        )
        return told_to_wait(answer, fault)
    response = Response("", 303, {**HEADERS, "Location": after or f"{PATH}/"})
    door.begin(response, signed_in)
    return response


@bp.post("/sign-out")
@door.requires_session(writes=True)
def sign_out(caller: Caller) -> Response:
    with request_deadline().writing() as transaction:
        signin.sign_out(transaction, load_caller(transaction), Scope.LOCAL)
    response = Response("", 303, {**HEADERS, "Location": f"{PATH}/sign-in"})
    g.ended = True
    return response
