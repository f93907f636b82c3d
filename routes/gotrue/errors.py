"""The faults of the sign-in API: GoTrue's status and code for each. The nearest base class applies.

One body serves all versions of Supabase's clients: it has `code` and `error_code`, `message` and `msg`.
"""

from __future__ import annotations

import json

from access import access_token, decorators, policy, session
from access.accounts import administration, api_key, own_account, password, person, sign_in, throttle
from engine.interface.faults import (
    DiskFull,
    Locked,
    LockTimeout,
    ResponseTooLarge,
    TimedOut,
    TooManyConnections,
    Unreachable,
    Unresolved,
)
from engine.query import constraints
from engine.storage import file_identity
from models import types
from models.errors import Fault
from routes.gotrue import payload as gotrue_payload
from routes.gotrue import sign_in as gotrue_sign_in
from routes.gotrue import users
from routes.postgrest import encoding, limits, media, payload, requests
from routes.postgrest.errors import RenderedFault

UNEXPECTED = (500, "unexpected_failure")


STATUSES: dict[type[Fault], tuple[int, str]] = {
    # Requests
    requests.UnknownPath: (404, "not_found"),
    requests.UnknownRelation: (404, "not_found"),
    requests.MethodNotAllowed: (405, "method_not_allowed"),
    requests.BadRequest: (400, "bad_json"),
    requests.BodyTooLarge: (413, "request_too_large"),
    media.UnsupportedContentEncoding: (415, "bad_json"),
    encoding.Undecodable: (400, "bad_json"),
    payload.InvalidPayload: (400, "bad_json"),
    payload.UntranslatableText: (400, "bad_json"),
    limits.LimitExceeded: (400, "bad_json"),
    limits.NumberOutOfRange: (400, "bad_json"),
    gotrue_payload.BadJson: (400, "bad_json"),
    gotrue_payload.InvalidBody: (400, "validation_failed"),
    users.InvalidUser: (422, "validation_failed"),
    gotrue_sign_in.UnknownGrant: (400, "unsupported_grant_type"),
    gotrue_payload.PhoneNotServed: (422, "phone_provider_disabled"),
    users.NotAnId: (404, "validation_failed"),
    gotrue_sign_in.SignupDisabled: (422, "signup_disabled"),
    # Credentials
    session.InvalidApiKey: (401, "no_authorization"),
    decorators.AnonymousDenied: (401, "no_authorization"),
    decorators.NoUserAccount: (403, "bad_jwt"),
    policy.PermissionDenied: (403, "not_admin"),
    access_token.InvalidToken: (403, "bad_jwt"),
    access_token.RefusedClaims: (403, "bad_jwt"),
    session.UserGone: (403, "user_not_found"),
    session.UserDisabled: (403, "user_banned"),
    session.SessionGone: (403, "session_not_found"),
    # Sign-in
    password.WeakPassword: (422, "weak_password"),
    password.InvalidPassword: (422, "validation_failed"),
    password.HashQueueFull: (429, "over_request_rate_limit"),
    throttle.RateLimitExceeded: (429, "over_request_rate_limit"),
    sign_in.WrongCredentials: (400, "invalid_credentials"),
    sign_in.UserBanned: (400, "user_banned"),
    sign_in.RefreshTokenNotFound: (400, "refresh_token_not_found"),
    sign_in.RefreshTokenUsed: (400, "refresh_token_already_used"),
    sign_in.SessionExpired: (400, "session_expired"),
    own_account.SamePassword: (422, "same_password"),
    own_account.CurrentPasswordRequired: (400, "current_password_required"),
    own_account.WrongCurrentPassword: (400, "current_password_invalid"),
    own_account.EmailNotOwn: (422, "validation_failed"),
    # Users
    person.InvalidUserAccount: (422, "validation_failed"),
    person.InvalidEmail: (400, "validation_failed"),
    person.EmailTaken: (422, "email_exists"),
    person.IdTaken: (422, "user_already_exists"),
    person.MetadataTooLong: (422, "validation_failed"),
    administration.UserNotFound: (404, "user_not_found"),
    administration.UserNotAllowed: (403, "not_admin"),
    api_key.InvalidApiKeyRequest: (422, "validation_failed"),
    api_key.ApiKeyNotFound: (404, "api_key_not_found"),
    types.InvalidInput: (422, "validation_failed"),
    types.OutOfRange: (422, "validation_failed"),
    types.NulInText: (422, "validation_failed"),
    types.TextTooLong: (422, "validation_failed"),
    constraints.CheckViolation: (400, "23514"),
    # The database
    TimedOut: (503, "request_timeout"),
    ResponseTooLarge: (400, "validation_failed"),
    DiskFull: (503, "unexpected_failure"),
    file_identity.DatabaseFileReplaced: (503, "unexpected_failure"),
    Locked: (503, "request_timeout"),
    Unreachable: (503, "request_timeout"),
    LockTimeout: (503, "request_timeout"),
    TooManyConnections: (503, "request_timeout"),
}

MESSAGES: dict[type[Fault], str] = {
    decorators.AnonymousDenied: "This endpoint requires a valid Bearer token",
    policy.PermissionDenied: "User not allowed",
    session.UserGone: "User from sub claim in JWT does not exist",
    session.UserDisabled: "User is banned",
    session.SessionGone: "Session from session_id claim in JWT does not exist",
}
"""GoTrue's messages where the data API has others."""


def render_fault(fault: Fault) -> RenderedFault:
    """Return a fault's status, headers and body in GoTrue's format."""
    status, code = next((STATUSES[kind] for kind in type(fault).__mro__ if kind in STATUSES), UNEXPECTED)
    return RenderedFault(status, error_headers(fault, status), error_body(fault, code))


def error_body(fault: Fault, code: str) -> bytes:
    message = message_of(fault, code)
    shape: dict[str, object] = {
        "code": code,
        "error_code": code,
        "message": message,
        "msg": message,
        "details": fault.details,
        "hint": fault.hint,
    }
    if isinstance(fault, password.WeakPassword):
        shape["weak_password"] = {"reasons": list(fault.reasons)}
    return json.dumps(shape, ensure_ascii=False).encode("utf-8", "replace")


def message_of(fault: Fault, code: str) -> str:
    if code == "bad_jwt":
        return f"invalid JWT: {fault.message}"
    return MESSAGES.get(type(fault), fault.message)


def error_headers(fault: Fault, status: int) -> dict[str, str]:
    fields = {"Content-Type": "application/json; charset=utf-8"}
    if isinstance(fault, throttle.RateLimitExceeded | password.HashQueueFull):
        fields["Retry-After"] = str(fault.retry_after_seconds)
    elif status == 503 and not isinstance(fault, Unresolved):
        fields["Retry-After"] = "1"
    if isinstance(fault, requests.MethodNotAllowed):
        fields["Allow"] = ", ".join(fault.allowed)
    return fields
