"""/console/sign-in and sign-out: the API's own sign-in, throttled as it is, with a cookie for its answer."""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Response
from flask import g
from flask import request

from access import signin
from access.caller import Caller
from access.decorators import admit
from access.decorators import credentials
from access.decorators import public
from access.signin import Scope
from models.faults import Fault
from routes.auth import client_address
from routes.auth import request_deadline
from routes.console import door
from routes.console.door import PATH
from routes.console.pages import HEADERS
from routes.console.pages import bp
from routes.console.pages import is_told_in_place
from routes.console.pages import show
from routes.console.pages import status_of


@bp.get("/sign-in")
@public("the form by which one signs in")
def sign_in_form() -> Response:
    return show("sign_in.html", email="", problem=None, next=safe(request.args.get("next", "")))


@bp.post("/sign-in")
@public("takes a password, throttled as the API's sign-in is")
def sign_in() -> Response:
    form = door.read_sign_in_form()
    email, after = form.get("email", ""), safe(form.get("next", ""))
    try:
        signed_in = signin.sign_in(
            credentials().refresh_tokens,
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
            "sign_in.html", status_of(fault), email=email, problem=fault.message, next=after
        )
        if status_of(fault) == 429:
            answer.headers["Retry-After"] = str(getattr(fault, "retry_after_seconds", 1))
        return answer
    response = Response("", 303, {**HEADERS, "Location": after or f"{PATH}/"})
    door.begin(response, signed_in)
    return response


@bp.post("/sign-out")
@door.requires_session(writes=True)
def sign_out(caller: Caller) -> Response:
    with request_deadline().writing() as transaction:
        signin.sign_out(transaction, admit(transaction), Scope.LOCAL)
    response = Response("", 303, {**HEADERS, "Location": f"{PATH}/sign-in"})
    g.ended = True
    return response


def safe(path: str) -> str:
    """A page of the console to go on to, or nothing: never another place.

    >>> safe("/console/buildings?city=eq.Lynn"), safe("//evil.example/console/"), safe("/\\\\evil")
    ('/console/buildings?city=eq.Lynn', '', '')
    """
    parts = urlsplit(path)
    fits = path.startswith(f"{PATH}/") and not parts.netloc and not parts.scheme
    if not fits or "\\" in path or not path.isprintable() or not path.isascii():
        return ""
    return "" if parts.path.startswith((f"{PATH}/sign-", f"{PATH}/static")) else path
