"""A fault as Storage's API answers it: status, code and error.

The HTTP status is the `statusCode` of the body. Supabase's own server answers 400 to most of them.
"""

from __future__ import annotations

import json

from access import decorators, policy
from inspections import faults
from models.types import Fault
from routes.postgrest.errors import RenderedFault, error_headers, status_of
from routes.postgrest.payload import Undecodable
from routes.storage import objects

SLOW_DOWN = (503, "SlowDown", "Service Unavailable")
UNEXPECTED = (500, "InternalError", "Internal")
NO_ROOM = (507, "InsufficientStorage", "Insufficient Storage")
INVALID_TOKEN = (401, "InvalidJWT", "Unauthorized")
EXPLAINED = (400, 415, 500)

STATUSES: dict[type[Fault] | str | int, tuple[int, str, str]] = {
    Undecodable: (400, "InvalidKey", "InvalidKey"),
    faults.NoSuchBucket: (404, "NoSuchBucket", "Bucket not found"),
    faults.NoSuchFile: (404, "NoSuchKey", "not_found"),
    faults.InvalidFileName: (400, "InvalidKey", "InvalidKey"),
    faults.UnknownFileType: (415, "InvalidMimeType", "invalid_mime_type"),
    faults.LinkExpired: (400, "ExpiredToken", "ExpiredToken"),
    faults.InvalidLink: (400, "InvalidSignature", "InvalidSignature"),
    "53100": NO_ROOM,
    "57014": SLOW_DOWN,
    "PGRST301": INVALID_TOKEN,
    "PGRST303": INVALID_TOKEN,
    400: (400, "InvalidRequest", "invalid_request"),
    401: (401, "AccessDenied", "Unauthorized"),
    403: (403, "AccessDenied", "Unauthorized"),
    404: (404, "NotFound", "not_found"),
    405: (405, "MethodNotAllowed", "method_not_allowed"),
    409: (409, "KeyAlreadyExists", "Duplicate"),
    413: (413, "EntityTooLarge", "Payload too large"),
    415: (415, "InvalidRequest", "invalid_request"),
    416: (416, "InvalidRange", "invalid_range"),
    503: SLOW_DOWN,
    507: NO_ROOM,
}
"""The status, code and error of a fault: by class, else by code, else by the fault's status."""


def render_fault(fault: Fault) -> RenderedFault:
    """Return a fault's status, headers and body in Storage's format."""
    keys = (*type(fault).__mro__, fault.code, status_of(fault))
    status, code, error = next((STATUSES[key] for key in keys if key in STATUSES), UNEXPECTED)
    body = {"statusCode": str(status), "code": code, "error": error, "message": message_of(fault, status)}
    headers = error_headers(fault, status, code)
    if isinstance(fault, objects.RangeNotSatisfiable):
        headers["Content-Range"] = f"bytes */{fault.size}"
    return RenderedFault(status, headers, json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"))


def message_of(fault: Fault, status: int) -> str:
    """Return the message, with its details for a fault of the request.

    A refusal to write has one text, whether or not the row exists.
    """
    if isinstance(fault, policy.PermissionDenied) and not isinstance(fault, decorators.ReadOnlyApiKey):
        return faults.FileDenied().message
    return fault.message if fault.details is None or status not in EXPLAINED else f"{fault.message} {fault.details}"
