"""/auth/v1: sign in, refresh a session, read and change one's own account, sign out."""

from __future__ import annotations

from flask import Blueprint, Response, current_app, g, request

from access import request_state
from access.accounts import own_account, people, throttle
from access.accounts import sign_in as accounts_sign_in
from access.accounts.deadline import Deadline, deadline
from access.accounts.sign_in import IssuedSession
from access.caller import Caller
from access.decorators import authenticator, load_caller, public, requires_apikey, requires_user
from engine.current import reading
from models.errors import Fault
from routes.gotrue import bodies, sessions, users
from routes.gotrue.errors import SignupDisabled
from routes.gotrue.payload import BODY_BYTES_MAX, Object
from routes.http.body import read_body
from routes.http.middleware import is_sign_in

PREFIX = "/auth/v1"

bp = Blueprint("auth", __name__, url_prefix=PREFIX)


@bp.post("/token")
@requires_apikey
def token() -> Response:
    grant = request.args.get("grant_type")
    if grant == "password":
        return session_response(sign_in())
    if grant == "refresh_token":
        return session_response(refresh())
    raise sessions.UnknownGrant("unsupported_grant_type", hint="grant_type is password or refresh_token.")


@bp.get("/user")
@requires_user(writes=False)
def read_user(caller: Caller) -> Response:
    with reading() as transaction:
        person = people.by_id(transaction, caller.id or "")
        assert person is not None, "the decorator has read the user"
        return json_response(bodies.user_body(person, transaction.unix))


@bp.put("/user")
@requires_user(writes=True)
def change_user(caller: Caller) -> Response:
    changes = users.read_own_changes(read_auth_body())
    until = request_deadline()
    new = own_account.prepare_password(caller, changes, client_address(), until)
    with until.writing() as transaction:
        person = own_account.change_own_account(transaction, load_caller(transaction), changes, new)
        return json_response(bodies.user_body(person, transaction.unix))


@bp.post("/logout")
@requires_user(writes=True)
def sign_out(caller: Caller) -> Response:
    read_auth_body()
    scope = sessions.read_scope(request.args.get("scope"))
    with request_deadline().writing() as transaction:
        accounts_sign_in.sign_out(transaction, load_caller(transaction), scope)
    return Response(status=204)


@bp.post("/signup")
@requires_apikey
def sign_up() -> Response:
    raise SignupDisabled


@bp.get("/settings")
@requires_apikey
def settings() -> Response:
    return json_response(bodies.SETTINGS)


@bp.get("/.well-known/jwks.json")
@public("a public key is no secret, and there is none")
def public_keys() -> Response:
    return json_response(bodies.NO_PUBLIC_KEYS)


@bp.get("/health")
@requires_apikey
def health() -> Response:
    return json_response(bodies.HEALTH)


@bp.after_app_request
def add_version_header(response: Response) -> Response:
    """Add the API version. Client libraries select their error format by this header."""
    if is_sign_in(request_state.request().path):
        requested = request.headers.get("X-Supabase-Api-Version")
        response.headers["X-Supabase-Api-Version"] = bodies.version_header(requested)
    return response


def sign_in() -> IssuedSession:
    grant = sessions.read_password_grant(read_auth_body())
    return accounts_sign_in.sign_in_with_password(
        authenticator().refresh_tokens, grant.email, grant.password, client_address(), request_deadline()
    )


def refresh() -> IssuedSession:
    text = sessions.read_refresh_grant(read_auth_body())
    with request_deadline().writing() as transaction:
        refreshed = accounts_sign_in.refresh_session(transaction, authenticator().refresh_tokens, text)
    # Raised after the commit: a refusal may end the session.
    if isinstance(refreshed, Fault):
        raise refreshed
    return refreshed


def session_response(signed_in: IssuedSession) -> Response:
    """Return a session: a new access token and the next refresh token."""
    seconds: int = current_app.config["ACCESS_TOKEN_SECONDS"]
    person = signed_in.person
    claims = people.claims_for(person, signed_in.now, seconds, signed_in.session_id)
    access_token = authenticator().signers.issue(claims)
    return json_response(bodies.session_body(signed_in, access_token, seconds))


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


def json_response(body: Object, headers: dict[str, str] | None = None) -> Response:
    return Response(bodies.write(body), 200, headers or {}, content_type="application/json; charset=utf-8")
