"""/auth/v1: sign in, go on, one's own account, sign out."""

from __future__ import annotations

from flask import Blueprint
from flask import Response
from flask import current_app
from flask import g
from flask import request

from access import request_state
from access.accounts import own_account
from access.accounts import people
from access.accounts import sign_in as signin
from access.accounts import throttle
from access.accounts.deadline import Deadline
from access.accounts.deadline import deadline
from access.accounts.sign_in import SignedIn
from access.caller import Caller
from access.decorators import authenticator
from access.decorators import load_caller
from access.decorators import requires_apikey
from access.decorators import requires_user
from engine.current import reading
from models.errors import Fault
from routes.body import read_body
from routes.gotrue import bodies
from routes.gotrue import sessions
from routes.gotrue import users
from routes.gotrue.errors import SignupDisabled
from routes.gotrue.payload import BODY_BYTES_MAX
from routes.gotrue.payload import Object
from routes.middleware import is_sign_in

PREFIX = "/auth/v1"

bp = Blueprint("auth", __name__, url_prefix=PREFIX)


@bp.post("/token")
@requires_apikey
def token() -> Response:
    grant = request.args.get("grant_type")
    if grant == "password":
        return session_of(sign_in())
    if grant == "refresh_token":
        return session_of(go_on())
    raise sessions.UnknownGrant("unsupported_grant_type")


@bp.get("/user")
@requires_user(writes=False)
def read_user(caller: Caller) -> Response:
    with reading() as transaction:
        person = people.by_id(transaction, caller.id or "")
        assert person is not None, "just looked up"
        return answer(bodies.user_body(person, transaction.unix))


@bp.put("/user")
@requires_user(writes=True)
def change_user(caller: Caller) -> Response:
    own = users.read_own_changes(read_auth_body())
    until = request_deadline()
    new = own_account.prepare_password(caller, own, client_address(), until)
    with until.writing() as transaction:
        person = own_account.keep_own(transaction, load_caller(transaction), own, new)
        return answer(bodies.user_body(person, transaction.unix))


@bp.post("/logout")
@requires_user(writes=True)
def sign_out(caller: Caller) -> Response:
    read_auth_body()
    scope = sessions.read_scope(request.args.get("scope"))
    with request_deadline().writing() as transaction:
        signin.sign_out(transaction, load_caller(transaction), scope)
    return Response(status=204)


@bp.post("/signup")
@requires_apikey
def sign_up() -> Response:
    raise SignupDisabled


@bp.get("/settings")
@requires_apikey
def settings() -> Response:
    return answer(bodies.SETTINGS)


@bp.get("/health")
@requires_apikey
def health() -> Response:
    return answer(bodies.HEALTH)


@bp.after_app_request
def say_version(response: Response) -> Response:
    """Answer in the version that was asked for: by this header clients know how to read an error."""
    if is_sign_in(request_state.request().path):
        asked = request.headers.get("X-Supabase-Api-Version")
        response.headers["X-Supabase-Api-Version"] = bodies.version_header(asked)
    return response


def sign_in() -> SignedIn:
    grant = sessions.read_password_grant(read_auth_body())
    return signin.sign_in(
        authenticator().refresh_tokens,
        grant.email,
        grant.password,
        client_address(),
        request_deadline(),
    )


def go_on() -> SignedIn:
    text = sessions.read_refresh_grant(read_auth_body())
    with request_deadline().writing() as transaction:
        refreshed = signin.refresh(transaction, authenticator().refresh_tokens, text)
    # Raised only now: what the refusal ended has ended.
    if isinstance(refreshed, Fault):
        raise refreshed
    return refreshed


def session_of(signed_in: SignedIn) -> Response:
    """A session's answer: an access token of its own, and the refresh token that follows."""
    seconds: int = current_app.config["ACCESS_TOKEN_SECONDS"]
    person = signed_in.person
    claims = people.claims_for(person, signed_in.now, seconds, signed_in.session_id)
    access_token = authenticator().signers.issue(claims)
    return answer(bodies.session_body(signed_in, access_token, seconds))


def client_address() -> str:
    return throttle.client_address(
        request.environ.get("REMOTE_ADDR") or "",
        request.headers.get("X-Forwarded-For"),
        current_app.config["TRUSTED_PROXIES"],
    )


def request_deadline() -> Deadline:
    return deadline(g.began)


def read_auth_body() -> bytes:
    return read_body(BODY_BYTES_MAX)


def answer(body: Object, headers: dict[str, str] | None = None) -> Response:
    return Response(
        bodies.write(body), 200, headers or {}, content_type="application/json; charset=utf-8"
    )
