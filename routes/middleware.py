"""What every request and answer gets, whatever it asks for: sizes, CORS, cache headers, a log line, and
JSON whatever went wrong. The only place that catches everything."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from collections.abc import Collection
from difflib import get_close_matches

from flask import Flask
from flask import Response
from flask import current_app
from flask import g
from flask import request
from werkzeug.exceptions import HTTPException
from werkzeug.exceptions import MethodNotAllowed
from werkzeug.exceptions import RequestEntityTooLarge

from access import request_state
from access.caller import Caller
from access.decorators import is_public
from access.decorators import require_valid_credentials
from engine import audit
from engine.current import database
from engine.query.catalog import catalog
from models.errors import Denial
from models.errors import Fault
from routes import request_log
from routes import timing
from routes.body import JSON_BYTES_MAX
from routes.flask_app import ApiResponse
from routes.flask_app import with_common_headers
from routes.postgrest import calls
from routes.postgrest import errors
from routes.postgrest import requests
from routes.postgrest.encoding import Undecodable
from routes.postgrest.encoding import decode_pairs
from routes.postgrest.encoding import decode_utf8
from routes.postgrest.representation import Representation

EXPOSED = "Content-Range, X-Supabase-Api-Version, X-Total-Count, Link, Retry-After, Location, Preference-Applied"
PREFLIGHT_SECONDS = "7200"
ALLOWED_METHODS = "GET, POST, PUT, PATCH, DELETE"
HASH = "A '#' in a request's target is written as %23"
HEADER_NAMES = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~, -]{0,2000}")

LOG = logging.getLogger("walkthrough")

Renderer = Callable[[Fault], errors.Answer]


def register_middleware(app: Flask, sign_in_renderer: Renderer) -> None:
    """Put the edge around an application; faults under /auth/v1 speak the sign-in language."""
    app.url_map.merge_slashes = False
    app.extensions["walkthrough.render"] = (errors.answer, sign_in_renderer)
    app.wsgi_app = with_common_headers(app.wsgi_app)  # type: ignore[method-assign,assignment]
    app.before_request(begin)
    app.after_request(finish)
    app.register_error_handler(Fault, answer_fault)
    app.register_error_handler(HTTPException, answer_http)
    app.register_error_handler(Exception, answer_unexpected)


def begin() -> Response | None:
    request_state.state().began = time.monotonic()
    environ = request_state.request().environ
    path: str = environ.get("PATH_INFO", "")
    if not path.isascii() or "\0" in path:
        decode_utf8(path.encode("latin-1", "replace"))
    query: str = environ.get("QUERY_STRING", "")
    if ("%" in query or not query.isascii()) and not path.startswith("/console/"):
        require_text(query)
    if "#" in environ.get("RAW_URI", ""):
        # The server has left out what follows it, which may be a write's conditions.
        raise refused_entrance() or requests.BadRequest(HASH)
    if "//" in path:
        raise refused_entrance() or requests.UnknownPath()
    is_preflight = "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in environ
    if environ["REQUEST_METHOD"] == "OPTIONS" and is_preflight:
        preflight = Response(status=204)
        del preflight.headers["Content-Type"]  # of nothing
        return preflight
    return None


def require_text(query: str) -> None:
    """Refuse bytes that are no text, also where nobody reads the query. (The console reads its own.)"""
    try:
        decode_pairs(query.encode("latin-1"))
    except Undecodable as undecodable:
        is_open = is_public(current_app.view_functions.get(request.endpoint or ""))
        raise (None if is_open else refused_entrance()) or undecodable from None


def finish(response: Response) -> Response:
    add_cors(response)
    timing.tell_timing(response)
    request_log.log(response)
    return response


def add_cors(response: Response) -> None:
    """Let pages of the allowed origins read the answer; never with credentials: the console's cookies
    are SameSite, and no other origin's to use."""
    origin = request_state.request().environ.get("HTTP_ORIGIN")
    if origin is None or not is_allowed(origin, current_app.config["CORS_ORIGINS"]):
        return
    headers = response.headers
    headers["Access-Control-Allow-Origin"] = origin
    headers["Access-Control-Expose-Headers"] = EXPOSED
    if request.method == "OPTIONS":
        headers["Access-Control-Allow-Methods"] = ALLOWED_METHODS
        asked = request.headers.get("Access-Control-Request-Headers", "")
        headers["Access-Control-Allow-Headers"] = asked if HEADER_NAMES.fullmatch(asked) else ""
        headers["Access-Control-Max-Age"] = PREFLIGHT_SECONDS


LOCAL_ORIGIN = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?")


def is_allowed(origin: str, allowed: Collection[str] | None) -> bool:
    """Whether a page's origin may read answers; unless configured, only this machine's own pages."""
    if allowed is None:
        return LOCAL_ORIGIN.fullmatch(origin) is not None
    return "*" in allowed or origin in allowed


def respond(answer: Representation) -> Response:
    """A representation as Flask's response; whoever named a profile is told whose rows these are."""
    headers = answer.headers
    if "Content-Type" in headers and requests.names_profile(request_state.request().environ):
        headers = {**headers, "Content-Profile": requests.PROFILE}
    if answer.body is not None:
        return ApiResponse.of(answer.status, headers, answer.body.encode())
    response = ApiResponse(status=answer.status, headers=headers)
    # A body that was never made has a length that nobody knows.
    response.automatically_set_content_length = False
    return response


def answer_fault(fault: Fault) -> Response:
    data, sign_in = current_app.extensions["walkthrough.render"]
    answered = (sign_in if is_sign_in(request.path) else data)(fault)
    g.refusal = type(fault).__name__
    if isinstance(fault, Denial):
        note_refusal(fault)
    return Response(answered.body, answered.status, answered.headers)


REFUSAL_WAIT_SECONDS = 1.0


def note_refusal(fault: Fault) -> None:
    """Write a refusal into the audit trail; the answer does not depend on whether there was a turn."""
    caller: Caller | None = g.get("caller")
    if caller is None or caller.id is None:
        return
    relation = request.path.removeprefix("/rest/v1").strip("/")[:64]
    try:
        with database().writing(
            wait_seconds_max=REFUSAL_WAIT_SECONDS, is_brief=True
        ) as transaction:
            audit.note_refusal(
                transaction,
                relation,
                actor_id=caller.id,
                client_id=caller.client_id,
                message=fault.message,
            )
    except Fault:
        LOG.warning("a refusal was not written into the audit trail")


def is_sign_in(path: str) -> bool:
    return path.startswith("/auth/v1/")


def answer_http(error: HTTPException) -> Response:
    """What Werkzeug refuses by itself, in our shape."""
    if isinstance(error, MethodNotAllowed):
        refused = requests.MethodNotAllowed(request.method, error.valid_methods or ())
        has_token = "Authorization" in request.headers  # as no browser has that opens a page
        return answer_fault((refused_entrance() if has_token else None) or refused)
    if error.code == 404:
        return answer_fault(refused_entrance() or refused_schema() or unknown_path(request.path))
    if isinstance(error, RequestEntityTooLarge):
        return answer_fault(requests.BodyTooLarge(JSON_BYTES_MAX))
    status = error.code or 500
    body = errors.body(f"PGRST{status}", error.name, None, None)
    return Response(body, status, {"Content-Type": "application/json; charset=utf-8"})


def refused_entrance() -> Fault | None:
    """What is wrong with the request's apikey or token, which are looked at wherever there is something, too."""
    if request.method == "OPTIONS":
        return None
    try:
        require_valid_credentials()
    except Fault as refusal:
        return refusal
    return None


def refused_schema() -> Fault | None:
    """What is wrong with the schema that the request names: of another one it hears that, not that a name is none."""
    if request.method == "OPTIONS" or is_sign_in(request.path):
        return None
    try:
        requests.require_profiles(*map(request.headers.get, requests.PROFILE_HEADERS))
    except Fault as refusal:
        return refusal
    return None


def unknown_path(path: str) -> Fault:
    """A path that is none: a relation or a function that does not exist, or no path of ours at all."""
    name = path.removeprefix("/rest/v1").removeprefix("/")
    if name == "rpc/":
        return calls.UnknownFunction("", calls.Sent({}), None)
    if not name or "/" in name:
        return requests.UnknownPath()
    folded = name[: calls.NAME_CHARACTERS_MAX].lower()
    close = get_close_matches(folded, catalog().relations, n=1, cutoff=calls.LIKENESS_MIN)
    hint = f"Perhaps you meant the table 'public.{close[0]}'" if close else None
    return requests.UnknownRelation(name[:200], hint)


def answer_unexpected(error: Exception) -> Response:
    """A server error is our bug: all that is told of it is a number to find it in the log by."""
    incident = request_log.log_incident(error)
    if is_sign_in(request.path):
        return answer_fault(Fault("Internal server error", f"incident {incident}"))
    body = errors.body("XX000", "Internal server error", f"incident {incident}", None)
    return Response(body, 500, {"Content-Type": "application/json; charset=utf-8"})
