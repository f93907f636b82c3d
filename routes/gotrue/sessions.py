"""/auth/v1: sign in, refresh a session, read and change one's own account, sign out."""

from __future__ import annotations

from dataclasses import dataclass, field

from flask import Blueprint, Response, current_app, request
from marshmallow import Schema

from access import session
from access.accounts import people
from access.accounts import sign_in as accounts_sign_in
from access.accounts import sign_in as own_account
from access.accounts.sign_in import IssuedSession, Scope
from access.caller import Caller
from access.decorators import load_caller, public, requires_apikey, requires_user
from access.session import authenticator
from engine.open import reading
from models.types import AccountFault, Fault
from routes.gotrue import bodies
from routes.gotrue.bodies import PREFIX, PhoneNotServed, read_auth_body
from routes.gotrue.users import read_own_changes
from routes.http.body import json_response, load_body, text, text_value
from routes.http.faults import InvalidBody
from routes.http.middleware import client_address, client_device, is_sign_in, request_deadline

bp = Blueprint("auth", __name__, url_prefix=PREFIX)

# Views


@bp.post("/token")
@requires_apikey
def token() -> Response:
    grant = request.args.get("grant_type")
    if grant == "password":
        return session_response(sign_in())
    if grant == "refresh_token":
        return session_response(refresh())
    raise UnknownGrant("unsupported_grant_type", hint="grant_type is password or refresh_token.")


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
    changes = read_own_changes(read_auth_body())
    until = request_deadline()
    new = own_account.prepare_password(caller, changes, client_address(), until)
    with until.writing() as transaction:
        person = own_account.change_own_account(transaction, load_caller(transaction), changes, new)
        return json_response(bodies.user_body(person, transaction.unix))


@bp.post("/logout")
@requires_user(writes=True)
def sign_out(caller: Caller) -> Response:
    read_auth_body()
    scope = read_scope(request.args.get("scope"))
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
    if is_sign_in(session.request().path):
        requested = request.headers.get("X-Supabase-Api-Version")
        response.headers["X-Supabase-Api-Version"] = bodies.version_header(requested)
    return response


def sign_in() -> IssuedSession:
    grant = read_password_grant(read_auth_body())
    return accounts_sign_in.sign_in_with_password(
        authenticator().refresh_tokens,
        grant.email,
        grant.password,
        client_address(),
        request_deadline(),
        client_device(),
    )


def refresh() -> IssuedSession:
    text = read_refresh_grant(read_auth_body())
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


# Requests


class SignupDisabled(AccountFault, code="signup_disabled"):
    """A sign-up. Administrators create the users."""

    def __init__(self) -> None:
        super().__init__("Signups not allowed for this instance")


class UnknownGrant(AccountFault, code="unsupported_grant_type", status=400):
    """An unsupported grant_type."""


class PasswordGrantSchema(Schema):
    email = text(format="email")
    phone = text(unlisted=True)
    password = text(format="password")


class RefreshGrantSchema(Schema):
    refresh_token = text()


PASSWORD_GRANT = PasswordGrantSchema()
REFRESH_GRANT = RefreshGrantSchema()


@dataclass(frozen=True, slots=True)
class PasswordGrant:
    """An e-mail and a password. `repr` omits the password."""

    email: str
    password: str = field(repr=False)


def read_password_grant(body: bytes) -> PasswordGrant:
    loaded = load_body(PASSWORD_GRANT, body)
    email, password = text_value(loaded, "email"), text_value(loaded, "password")
    if not email:
        if text_value(loaded, "phone"):
            raise PhoneNotServed("Phone logins are disabled")
        raise InvalidBody("missing email or phone")
    return PasswordGrant(email, password or "")


def read_refresh_grant(body: bytes) -> str:
    token = text_value(load_body(REFRESH_GRANT, body), "refresh_token")
    if not token:
        raise InvalidBody("refresh_token required")
    return token


def read_scope(text: str | None) -> Scope:
    """Return the sessions to end. The default is all, as in GoTrue."""
    try:
        return Scope(text or Scope.GLOBAL.value)
    except ValueError:
        raise InvalidBody(f"Unsupported logout scope {(text or '')[:40]}") from None
