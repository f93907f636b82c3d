"""The middleware of every request: CORS, cache headers, request log and error responses.

This is the only module that catches every exception.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from functools import partial

from flask import Flask, Response, current_app, g, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed, RequestEntityTooLarge

from access import request_state
from access.accounts import api_key
from access.caller import Caller
from access.decorators import is_public, require_valid_credentials
from engine.current import database
from engine.query.catalog import catalog
from models.errors import Denial, Fault
from routes.http import request_log
from routes.http.body import JSON_BYTES_MAX
from routes.http.compression import compress_response
from routes.http.denials import DenialLog, DeniedRequest
from routes.http.flask_app import ApiResponse, with_common_headers
from routes.http.proxies import Proxied, add_prefix
from routes.http.unsupported import unsupported_call
from routes.postgrest import calls, errors, requests
from routes.postgrest.encoding import Undecodable, decode_pairs, decode_utf8
from routes.postgrest.representation import Representation

EXPOSED_HEADERS = (
    "Content-Range, X-Supabase-Api-Version, X-Total-Count, Link, Retry-After, Location, Preference-Applied, ETag,"
    " Content-Disposition"
)
PREFLIGHT_SECONDS = "7200"
ALLOWED_METHODS = "GET, POST, PUT, PATCH, DELETE"
HASH_MESSAGE = "A '#' in a request's target is written as %23"
HEADER_NAMES = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~, -]{0,2000}")

STORAGE_PREFIX = "/storage/v1/"
"""Below it, a name with an empty segment is an invalid name."""

Renderer = Callable[[Fault], errors.RenderedFault]


def register_middleware(app: Flask, renderers: Mapping[str, Renderer]) -> None:
    """Install the middleware. By prefix of a path: what renders its faults, if not as those of the data API."""
    app.url_map.merge_slashes = False
    app.extensions["walkthrough.renderers"] = renderers
    app.extensions["walkthrough.denials"] = DenialLog()
    app.wsgi_app = Proxied(with_common_headers(app.wsgi_app), app.config)  # type: ignore[method-assign]
    app.before_request(start_request)
    app.after_request(finish_response)
    app.register_error_handler(Fault, handle_fault)
    app.register_error_handler(HTTPException, handle_http_exception)
    app.register_error_handler(Exception, handle_unexpected)


def start_request() -> Response | None:
    environ = request_state.request().environ
    request_state.state().began = environ.get("walkthrough.arrived") or time.monotonic()
    path: str = environ.get("PATH_INFO", "")
    if not path.isascii() or "\0" in path:
        decode_utf8(path.encode("latin-1", "replace"))
    query: str = environ.get("QUERY_STRING", "")
    if ("%" in query or not query.isascii()) and not path.startswith("/console/"):
        require_utf8_query(query)
    if "#" in environ.get("RAW_URI", ""):
        # The server drops the fragment, which may contain the filters of a write.
        raise credential_fault() or requests.BadRequest(HASH_MESSAGE)
    if "//" in path and not path.startswith(STORAGE_PREFIX):
        raise credential_fault() or requests.UnknownPath()
    is_preflight = "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in environ
    if environ["REQUEST_METHOD"] == "OPTIONS" and is_preflight:
        preflight = Response(status=204)
        del preflight.headers["Content-Type"]
        return preflight
    return None


def require_utf8_query(query: str) -> None:
    """Raise Undecodable for a query string that is not UTF-8, even if the view ignores it. The console is exempt."""
    try:
        decode_pairs(query.encode("latin-1"))
    except Undecodable as undecodable:
        is_open = is_public(current_app.view_functions.get(request.endpoint or ""))
        raise (None if is_open else credential_fault()) or undecodable from None


def finish_response(response: Response) -> Response:
    key_id: str | None = request_state.state().pop("api_key_id", None)
    if key_id is not None and api_key.is_use_due(key_id):
        # After the response was sent.
        response.call_on_close(partial(api_key.record_use, database(), key_id))
    add_cors(response)
    if prefix := request_state.request().environ.get("SCRIPT_NAME"):
        add_prefix(response, prefix)
    compress_response(response, request_state.request().environ.get("HTTP_ACCEPT_ENCODING"))
    request_log.log(response)
    return response


def add_cors(response: Response) -> None:
    """Add CORS headers for an allowed origin. Credentials are never allowed: the console's cookies are SameSite."""
    origin = request_state.request().environ.get("HTTP_ORIGIN")
    if origin is None or not is_allowed(origin, current_app.config["CORS_ORIGINS"]):
        return
    headers = response.headers
    headers["Access-Control-Allow-Origin"] = origin
    headers["Access-Control-Expose-Headers"] = EXPOSED_HEADERS
    if request.method == "OPTIONS":
        headers["Access-Control-Allow-Methods"] = ALLOWED_METHODS
        requested = request.headers.get("Access-Control-Request-Headers", "")
        headers["Access-Control-Allow-Headers"] = requested if HEADER_NAMES.fullmatch(requested) else ""
        headers["Access-Control-Max-Age"] = PREFLIGHT_SECONDS


LOCAL_ORIGIN = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?")


def is_allowed(origin: str, allowed: Collection[str] | None) -> bool:
    """Return whether an origin may read responses. By default, only origins on this machine may."""
    if allowed is None:
        return LOCAL_ORIGIN.fullmatch(origin) is not None
    return "*" in allowed or origin in allowed


def respond(representation: Representation) -> Response:
    """Return a representation as Flask's response, with Content-Profile if the request names a profile."""
    headers = representation.headers
    if "Content-Type" in headers and requests.names_profile(request_state.request().environ):
        headers = {**headers, "Content-Profile": requests.PROFILE}
    if representation.body is not None:
        return ApiResponse(representation.body.encode(), representation.status, headers)
    response = ApiResponse(status=representation.status, headers=headers)
    # The length of a body that was not rendered is unknown.
    response.automatically_set_content_length = False
    return response


def handle_fault(fault: Fault) -> Response:
    rendered = (own_renderer(request.path) or errors.render_fault)(fault)
    g.refusal = type(fault).__name__
    if isinstance(fault, Denial):
        record_denial(fault)
    return Response(rendered.body, rendered.status, rendered.headers)


def record_denial(fault: Fault) -> None:
    """Write a denied request to the audit log. The response does not wait for the writer lock."""
    caller: Caller | None = g.get("caller")
    if caller is None or caller.id is None:
        return
    relation = request.path.removeprefix("/rest/v1").strip("/")[:64]
    denials: DenialLog = current_app.extensions["walkthrough.denials"]
    denials.record(database(), DeniedRequest(relation, caller.id, caller.client_id, fault.message))


def is_sign_in(path: str) -> bool:
    return path.startswith("/auth/v1/")


def own_renderer(path: str) -> Renderer | None:
    """Return what renders the faults of a path; None for paths of the data API."""
    renderers: Mapping[str, Renderer] = current_app.extensions["walkthrough.renderers"]
    return next((render for prefix, render in renderers.items() if path.startswith(prefix)), None)


def handle_http_exception(error: HTTPException) -> Response:
    """Render Werkzeug's HTTP exceptions as the API's errors."""
    if isinstance(error, MethodNotAllowed):
        refused = requests.MethodNotAllowed(request.method, error.valid_methods or ())
        has_token = "Authorization" in request.headers
        return handle_fault((credential_fault() if has_token else None) or refused)
    if error.code == 404:
        return handle_fault(
            unsupported_call(request.path) or credential_fault() or profile_fault() or unknown_path_fault(request.path)
        )
    if isinstance(error, RequestEntityTooLarge):
        return handle_fault(requests.BodyTooLarge(JSON_BYTES_MAX))
    status = error.code or 500
    body = errors.error_body(f"PGRST{status}", error.name, None, None)
    return Response(body, status, {"Content-Type": "application/json; charset=utf-8"})


def credential_fault() -> Fault | None:
    """Return the fault of the request's apikey or token, or None if both are valid."""
    if request.method == "OPTIONS":
        return None
    try:
        require_valid_credentials()
    except Fault as refusal:
        return refusal
    return None


def profile_fault() -> Fault | None:
    """Return the fault of an unknown schema in the request's headers, or None."""
    if request.method == "OPTIONS" or own_renderer(request.path):
        return None
    try:
        requests.require_profiles(*map(request.headers.get, requests.PROFILE_HEADERS))
    except Fault as refusal:
        return refusal
    return None


def unknown_path_fault(path: str) -> Fault:
    """Return the fault for an unknown relation, function or path."""
    name = path.removeprefix("/rest/v1").removeprefix("/")
    if name == "rpc/":
        return calls.UnknownFunction("", calls.CallInput({}), None)
    if not name or "/" in name:
        return requests.UnknownPath()
    lowered = name[: calls.NAME_CHARACTERS_MAX].lower()
    matches = get_close_matches(lowered, catalog().relations, n=1, cutoff=calls.LIKENESS_MIN)
    hint = f"Perhaps you meant the table 'public.{matches[0]}'" if matches else None
    return requests.UnknownRelation(name[:200], hint)


def handle_unexpected(error: Exception) -> Response:
    """Log an unexpected exception and respond with its incident id. The response contains nothing else."""
    incident = request_log.log_incident(error)
    if own_renderer(request.path):
        return handle_fault(Fault("Internal server error", f"incident {incident}"))
    body = errors.error_body("XX000", "Internal server error", f"incident {incident}", None)
    return Response(body, 500, {"Content-Type": "application/json; charset=utf-8"})
