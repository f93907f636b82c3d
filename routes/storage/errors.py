"""The faults of Storage's API: status, code and error for each. The nearest base class applies.

The HTTP status is the `statusCode` of the body. Supabase's own server answers 400 to most of them.
"""

from __future__ import annotations

import json

from access import access_token, decorators, policy, session
from engine.interface.faults import (
    DiskFailed,
    DiskFull,
    Locked,
    LockTimeout,
    ResponseTooLarge,
    TimedOut,
    TooManyConnections,
    Unreachable,
    Unresolved,
)
from engine.storage import file_identity
from inspections import faults
from models.errors import Denial, Fault
from models.types import InvalidInput, NulInText, OutOfRange, TextTooLong
from routes.gotrue import payload as gotrue_payload
from routes.postgrest import encoding, limits, media, payload, requests
from routes.postgrest.errors import RenderedFault, error_headers
from routes.storage import buckets, downloads

INVALID_REQUEST = (400, "InvalidRequest", "invalid_request")
SLOW_DOWN = (503, "SlowDown", "Service Unavailable")
UNEXPECTED = (500, "InternalError", "Internal")
EXPLAINED = (400, 415, 500)

STATUSES: dict[type[Fault], tuple[int, str, str]] = {
    # Requests
    requests.UnknownPath: (404, "NotFound", "not_found"),
    requests.UnknownRelation: (404, "NotFound", "not_found"),
    requests.MethodNotAllowed: (405, "MethodNotAllowed", "method_not_allowed"),
    requests.BadRequest: INVALID_REQUEST,
    requests.BodyTooLarge: (413, "EntityTooLarge", "Payload too large"),
    media.UnsupportedContentEncoding: (415, "InvalidRequest", "invalid_request"),
    encoding.Undecodable: (400, "InvalidKey", "InvalidKey"),
    payload.InvalidPayload: INVALID_REQUEST,
    payload.UntranslatableText: INVALID_REQUEST,
    limits.LimitExceeded: INVALID_REQUEST,
    limits.NumberOutOfRange: INVALID_REQUEST,
    gotrue_payload.BadJson: INVALID_REQUEST,
    gotrue_payload.InvalidBody: INVALID_REQUEST,
    InvalidInput: INVALID_REQUEST,
    OutOfRange: INVALID_REQUEST,
    NulInText: INVALID_REQUEST,
    TextTooLong: INVALID_REQUEST,
    downloads.RangeNotSatisfiable: (416, "InvalidRange", "invalid_range"),
    # Credentials
    session.InvalidApiKey: (401, "AccessDenied", "Unauthorized"),
    decorators.AnonymousDenied: (401, "AccessDenied", "Unauthorized"),
    access_token.InvalidToken: (401, "InvalidJWT", "Unauthorized"),
    access_token.RefusedClaims: (401, "InvalidJWT", "Unauthorized"),
    Denial: (403, "AccessDenied", "Unauthorized"),
    # Files
    buckets.FixedBuckets: (403, "AccessDenied", "Unauthorized"),
    faults.NoSuchBucket: (404, "NoSuchBucket", "Bucket not found"),
    faults.NoSuchFile: (404, "NoSuchKey", "not_found"),
    faults.FileExists: (409, "KeyAlreadyExists", "Duplicate"),
    faults.InvalidFileName: (400, "InvalidKey", "InvalidKey"),
    faults.FileTooLarge: (413, "EntityTooLarge", "Payload too large"),
    faults.FileEmpty: INVALID_REQUEST,
    faults.UnknownFileType: (415, "InvalidMimeType", "invalid_mime_type"),
    faults.NoRoomForFile: (507, "InsufficientStorage", "Insufficient Storage"),
    faults.NoThumbnail: INVALID_REQUEST,
    faults.LinkExpired: (400, "ExpiredToken", "ExpiredToken"),
    faults.InvalidLink: (400, "InvalidSignature", "InvalidSignature"),
    # The service
    faults.BytesMissing: SLOW_DOWN,
    downloads.TooManyLargeFiles: SLOW_DOWN,
    TimedOut: SLOW_DOWN,
    ResponseTooLarge: INVALID_REQUEST,
    DiskFull: (507, "InsufficientStorage", "Insufficient Storage"),
    DiskFailed: UNEXPECTED,
    file_identity.DatabaseFileReplaced: SLOW_DOWN,
    Locked: SLOW_DOWN,
    Unreachable: SLOW_DOWN,
    LockTimeout: SLOW_DOWN,
    Unresolved: SLOW_DOWN,
    TooManyConnections: SLOW_DOWN,
}


def render_fault(fault: Fault) -> RenderedFault:
    """Return a fault's status, headers and body in Storage's format."""
    status, code, error = next((STATUSES[kind] for kind in type(fault).__mro__ if kind in STATUSES), UNEXPECTED)
    body = {"statusCode": str(status), "code": code, "error": error, "message": message_of(fault, status)}
    headers = error_headers(fault, status, code)
    if isinstance(fault, downloads.RangeNotSatisfiable):
        headers["Content-Range"] = f"bytes */{fault.size}"
    return RenderedFault(status, headers, json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"))


def message_of(fault: Fault, status: int) -> str:
    """Return the message, with its details for a fault of the request.

    A refusal to write has one text, whether or not the row exists.
    """
    if isinstance(fault, policy.PermissionDenied) and not isinstance(fault, decorators.ReadOnlyApiKey):
        return faults.FileDenied().message
    return fault.message if fault.details is None or status not in EXPLAINED else f"{fault.message} {fault.details}"
