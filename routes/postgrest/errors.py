"""The status, headers and body of a fault, as PostgREST answers it; the results of functions as JSON values."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from access.access_token import InvalidToken, RefusedClaims
from access.accounts.password import RateLimitExceeded
from engine.interface.database import Unresolved
from engine.query.catalog import AmbiguousRelationship
from models.types import Fault
from routes.postgrest.representation import MethodNotAllowed, OffsetOutOfRange

STATUSES = {
    "08006": 503,
    "08007": 503,
    "23503": 409,
    "23505": 409,
    "42501": 403,
    "42883": 404,
    "53100": 503,
    "53200": 503,
    "53300": 503,
    "55P03": 503,
    "57014": 500,
    "58030": 500,
    "58P01": 503,
    "PGRST101": 405,
    "PGRST103": 416,
    "PGRST105": 405,
    "PGRST106": 406,
    "PGRST107": 406,
    "PGRST116": 406,
    "PGRST117": 405,
    "PGRST125": 404,
    "PGRST201": 300,
    "PGRST202": 404,
    "PGRST205": 404,
    "PGRST301": 401,
    "PGRST302": 401,
    "PGRST303": 401,
    "PGRST429": 429,
    "PT404": 404,
    "XX000": 500,
    "XX001": 500,
}
"""The HTTP status of each code; 400 for the other codes."""


@dataclass(frozen=True, slots=True)
class RenderedFault:
    """A rendered error: JSON with the same four keys every time."""

    status: int
    headers: dict[str, str]
    body: bytes


def render_fault(fault: Fault) -> RenderedFault:
    """Return a fault's status, headers and body."""
    status = status_of(fault)
    details = fault.candidates if isinstance(fault, AmbiguousRelationship) else fault.details
    body = error_body(fault.code, fault.message, details, fault.hint)
    return RenderedFault(status, error_headers(fault, status, fault.code), body)


def status_of(fault: Fault) -> int:
    """Return the HTTP status of a fault."""
    return fault.status or STATUSES.get(fault.code, 400)


def error_body(code: str, message: str, details: object, hint: str | None) -> bytes:
    """Return the JSON body of an error."""
    document = {"code": code, "message": message, "details": details, "hint": hint}
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


def error_headers(fault: Fault, status: int, code: str) -> dict[str, str]:
    """Return an error's headers. Proxy-Status carries the code to HEAD, in the form that clients parse."""
    fields = {"Content-Type": "application/json; charset=utf-8", "Proxy-Status": f"PostgREST; error={code}"}
    if status == 401:
        fields["WWW-Authenticate"] = challenge(fault)
    if status == 503 and not isinstance(fault, Unresolved):
        fields["Retry-After"] = "1"
    if isinstance(fault, RateLimitExceeded):
        fields["Retry-After"] = str(fault.retry_after_seconds)
    if isinstance(fault, OffsetOutOfRange):
        fields |= {"Content-Range": f"*/{fault.total}", **fault.applied}
    if isinstance(fault, MethodNotAllowed):
        fields["Allow"] = ", ".join(fault.allowed)
    return fields


def challenge(fault: Fault) -> str:
    if isinstance(fault, InvalidToken | RefusedClaims):
        description = fault.message.replace("\\", "").replace('"', "'")
        return f'Bearer error="invalid_token", error_description="{description}"'
    return "Bearer"


def as_json(result: object) -> object:
    """Return a function's result as a JSON value. A dataclass becomes an object of its fields, in order,
    and the class of a fault its code.

    `dataclasses.asdict` copies nested values and is several times slower.
    """
    if isinstance(result, list | tuple):
        return [as_json(each) for each in result]
    if isinstance(result, type) and issubclass(result, Fault):
        return result.code
    kind: Any = type(result)
    names = field_names(kind)
    if names is None:
        return result
    return {name: as_json(getattr(result, name)) for name in names}


@cache
def field_names(kind: Any) -> tuple[str, ...] | None:
    """Return the field names of a dataclass; None for any other type."""
    if not dataclasses.is_dataclass(kind):
        return None
    return tuple(each.name for each in dataclasses.fields(kind))
