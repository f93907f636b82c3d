"""A fault as the sign-in API answers it: GoTrue's status and code.

One body serves all versions of Supabase's clients: it has `code` and `error_code`, `message` and `msg`.
"""

from __future__ import annotations

import json

from access import decorators, policy, session
from access.accounts.administration import UserNotAllowed
from access.accounts.password import HashQueueFull, RateLimitExceeded, WeakPassword
from engine.interface.database import Unresolved
from models.types import AccountFault, Fault
from routes.http.faults import BodyTooLarge, UnsupportedContentEncoding
from routes.postgrest.errors import RenderedFault, status_of
from routes.postgrest.lexer import NumberOutOfRange, TooManyNames
from routes.postgrest.payload import UntranslatableText
from routes.postgrest.representation import MethodNotAllowed

BAD_JSON = (400, "bad_json")
TIMEOUT = (503, "request_timeout")
INVALID = (422, "validation_failed")
UNEXPECTED = (500, "unexpected_failure")

STATUSES: dict[type[Fault] | str, tuple[int, str]] = {
    BodyTooLarge: (413, "request_too_large"),
    UnsupportedContentEncoding: (415, "bad_json"),
    UntranslatableText: BAD_JSON,
    NumberOutOfRange: BAD_JSON,
    TooManyNames: BAD_JSON,
    decorators.AnonymousDenied: (401, "no_authorization"),
    policy.PermissionDenied: (403, "not_admin"),
    UserNotAllowed: (403, "not_admin"),
    session.UserGone: (403, "user_not_found"),
    session.UserDisabled: (403, "user_banned"),
    session.SessionGone: (403, "session_not_found"),
    "08006": TIMEOUT,
    "08007": TIMEOUT,
    "22001": INVALID,
    "22003": INVALID,
    "22P02": INVALID,
    "22P05": INVALID,
    "23514": (400, "23514"),
    "53100": (503, "unexpected_failure"),
    "53300": TIMEOUT,
    "54000": (400, "validation_failed"),
    "55P03": TIMEOUT,
    "57014": TIMEOUT,
    "58P01": (503, "unexpected_failure"),
    "PGRST100": BAD_JSON,
    "PGRST101": (405, "method_not_allowed"),
    "PGRST102": BAD_JSON,
    "PGRST117": (405, "method_not_allowed"),
    "PGRST125": (404, "not_found"),
    "PGRST205": (404, "not_found"),
    "PGRST301": (403, "bad_jwt"),
    "PGRST302": (401, "no_authorization"),
    "PGRST303": (403, "bad_jwt"),
    "PGRST429": (429, "over_request_rate_limit"),
}
"""GoTrue's status and code of the data API's faults: by class, else by code."""

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
    status, code = status_and_code(fault)
    return RenderedFault(status, error_headers(fault, status), error_body(fault, code))


def status_and_code(fault: Fault) -> tuple[int, str]:
    if isinstance(fault, AccountFault):
        return status_of(fault), fault.code
    return next((STATUSES[key] for key in (*type(fault).__mro__, fault.code) if key in STATUSES), UNEXPECTED)


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
    if isinstance(fault, WeakPassword):
        shape["weak_password"] = {"reasons": list(fault.reasons)}
    return json.dumps(shape, ensure_ascii=False).encode("utf-8", "replace")


def message_of(fault: Fault, code: str) -> str:
    if code == "bad_jwt":
        return f"invalid JWT: {fault.message}"
    return MESSAGES.get(type(fault), fault.message)


def error_headers(fault: Fault, status: int) -> dict[str, str]:
    fields = {"Content-Type": "application/json; charset=utf-8"}
    if isinstance(fault, RateLimitExceeded | HashQueueFull):
        fields["Retry-After"] = str(fault.retry_after_seconds)
    elif status == 503 and not isinstance(fault, Unresolved):
        fields["Retry-After"] = "1"
    if isinstance(fault, MethodNotAllowed):
        fields["Allow"] = ", ".join(fault.allowed)
    return fields
