"""The middleware of every request: proxy headers, CORS, cache headers, compression, errors, log and static files.

This is the only module that catches every exception. The service reads the headers of trusted proxies only:
TRUSTED_PROXIES, and every client of the Unix socket. The URL prefix is WSGI's SCRIPT_NAME. Request paths are without
it, and `url_path` puts it before each path that a response names. A proxy that removes the prefix itself sends
X-Forwarded-Prefix. With URL_PREFIX alone, request paths include the prefix. Large answers are compressed for clients
that ask for it, except HTML. A page repeats text from its URL beside its CSRF token, and the size would reveal the
token. The request log has caller, path, status and duration, and never query values, headers, tokens or bodies.
serving/logging.py formats its lines. Static files come from a fixed table, so that no path is formed from a request.
Their URLs have a hash of the content, so that browsers keep them for a year. Plain names work too and are not cached.
"""

from __future__ import annotations

import hashlib
import ipaddress
import logging
import re
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache, partial
from importlib.resources.abc import Traversable
from secrets import token_hex
from typing import Any, Final, NamedTuple

from flask import Flask, Response, current_app, g, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed, RequestEntityTooLarge

from access import session
from access.accounts import long_lived_tokens, password
from access.caller import Caller
from access.decorators import is_public, require_valid_credentials
from access.session import TOKEN_PREFIXES
from engine.open import database
from engine.query.catalog import catalog
from models.credential import CALENDAR_LINK
from models.types import Denial, Fault
from routes.http.faults import BodyTooLarge, UnknownPath, UnknownRelation
from routes.http.flask_app import (
    ApiResponse,
    DenialLog,
    DeniedRequest,
    StartResponse,
    Wsgi,
    unsupported_call,
    with_common_headers,
)
from routes.postgrest import calls, errors
from routes.postgrest import representation as requests
from routes.postgrest.lexer import excerpt
from routes.postgrest.payload import Undecodable, decode_pairs, decode_utf8
from routes.postgrest.representation import Representation
from settings import JSON_BYTES_MAX, Network, read_prefix

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

UNIX_PEER: Final = "unix:"
SCHEMES: Final = ("http", "https")
ADDRESS_WITH_PORT: Final = re.compile(r"(?:\[([^\[\]]+)\]|([0-9.]+))(?::[0-9]{1,5})?", re.ASCII)


class ForwardedClient(NamedTuple):
    """The client of the outermost trusted proxy, and the number of trusted proxies. Without any, it is the peer."""

    address: str
    proxies: int


class Proxied:
    """A WSGI application behind proxies: it sees the client's address and scheme, and paths without the prefix."""

    def __init__(self, inner: Wsgi, config: Mapping[str, Any]) -> None:
        self.inner, self.config = inner, config

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        peer, trusted = environ.get("REMOTE_ADDR") or "", self.config["TRUSTED_PROXIES"]
        prefix = ""
        if trusted or peer == UNIX_PEER:
            client = find_client(peer, environ.get("HTTP_X_FORWARDED_FOR"), trusted)
            environ["REMOTE_ADDR"] = client.address
            if client.proxies:
                scheme = chosen_scheme(environ.get("HTTP_X_FORWARDED_PROTO", ""), client.proxies)
                environ["wsgi.url_scheme"] = scheme or environ["wsgi.url_scheme"]
                prefix = chosen_prefix(environ.get("HTTP_X_FORWARDED_PREFIX", ""))
        if not prefix and (prefix := self.config["URL_PREFIX"]):
            environ["PATH_INFO"] = without_prefix(environ["PATH_INFO"], prefix)
        if prefix:
            environ["SCRIPT_NAME"] = environ.get("SCRIPT_NAME", "") + prefix
        return self.inner(environ, start_response)


def find_client(peer: str, forwarded: str | None, trusted: Collection[Network]) -> ForwardedClient:
    """Return the peer, or the last address in `forwarded` that no trusted proxy has.

    A proxy appends the address of its own peer. A client can forge all addresses before that.

    >>> proxies = [ipaddress.ip_network("10.0.0.0/8")]
    >>> find_client("10.0.0.1", "6.6.6.6, 192.0.2.7:51234", proxies)
    ForwardedClient(address='192.0.2.7', proxies=1)
    >>> find_client("192.0.2.7", "6.6.6.6", proxies)
    ForwardedClient(address='192.0.2.7', proxies=0)
    """
    hops = [hop.strip() for hop in forwarded.split(",")] if forwarded else []
    address = read_address(peer)
    proxies = 0
    is_proxy = peer == UNIX_PEER or is_trusted(address, trusted)
    while is_proxy:
        proxies += 1
        hop = read_address(hops.pop()) if hops else None
        if hop is None:
            break
        address, is_proxy = hop, is_trusted(hop, trusted)
    return ForwardedClient(str(address) if address is not None else peer[:64], proxies)


def is_trusted(address: Address | None, trusted: Collection[Network]) -> bool:
    return address is not None and any(address in network for network in trusted)


def read_address(text: str) -> Address | None:
    """Return an address, which may have a port or brackets.

    >>> [str(read_address(text)) for text in ("203.0.113.7:51234", "[2001:db8::1]:443", "2001:db8::1", "unknown")]
    ['203.0.113.7', '2001:db8::1', '2001:db8::1', 'None']
    """
    match = ADDRESS_WITH_PORT.fullmatch(text)
    try:
        address = ipaddress.ip_address((match[1] or match[2]) if match else text)
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, ipaddress.IPv6Address) else address


def chosen_scheme(listed: str, proxies: int) -> str | None:
    """Return the scheme that the outermost trusted proxy saw, or None. Each proxy appends one to the list.

    >>> chosen_scheme("https", 2), chosen_scheme("https, http", 2), chosen_scheme("https, http", 1)
    ('https', 'https', 'http')
    """
    schemes = [each.strip().lower() for each in listed.split(",")]
    scheme = schemes[max(len(schemes) - proxies, 0)]
    return scheme if scheme in SCHEMES else None


def chosen_prefix(text: str) -> str:
    """Return the prefix of a header; none if it is malformed."""
    try:
        return read_prefix(text.strip())
    except ValueError:
        return ""


def without_prefix(path: str, prefix: str) -> str:
    """Return the path below the prefix, or the path itself if it is elsewhere: a proxy may remove the prefix.

    >>> without_prefix("/site/console/", "/site"), without_prefix("/site", "/site"), without_prefix("/live", "/site")
    ('/console/', '/', '/live')
    """
    if path == prefix:
        return "/"
    return path.removeprefix(prefix) if path.startswith(f"{prefix}/") else path


def url_path(*paths: str) -> str:
    """Return the path of a URL of this service, for a response: `paths`, one after the other, below the prefix."""
    prefix: str = session.request().environ.get("SCRIPT_NAME", "")
    return "".join((prefix, *paths))


BYTES_MIN: Final = 16_384  # a smaller answer fits into a few packets
LEVEL: Final = 1  # twice as fast as the default, for a tenth more bytes
GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
COMPRESSIBLE: Final = re.compile(r"application/([\w.-]+\+)?json|text/(csv|css|javascript|calendar)|image/svg\+xml")
CODING: Final = re.compile(r"\s*([\w*-]+)\s*(?:;\s*[qQ]\s*=\s*([0-9.]{1,5})\s*)?")


def compress_response(response: Response, accepted: str | None) -> None:
    """Compress the body of a large answer in place, if its type and the request's Accept-Encoding allow it."""
    body = response.response
    if accepted is None or type(body) is not list or len(body) != 1 or len(body[0]) < BYTES_MIN:
        return
    headers = response.headers
    is_compressible = "Content-Encoding" not in headers and COMPRESSIBLE.match(headers.get("Content-Type", ""))
    if not is_compressible or not accepts_gzip(accepted):
        return
    compressed = gzipped(body[0])
    response.response = [compressed]
    headers["Content-Encoding"] = "gzip"
    headers["Content-Length"] = str(len(compressed))


def gzipped(data: bytes, level: int = LEVEL) -> bytes:
    """Return data in the format of gzip, without a time."""
    compressor = zlib.compressobj(level, wbits=GZIP_WINDOW)
    return compressor.compress(data) + compressor.flush()


def accepts_gzip(accepted: str) -> bool:
    """Return whether an Accept-Encoding admits gzip (RFC 9110, 12.5.3).

    >>> [accepts_gzip(each) for each in ("gzip, br", "br;q=1, *;q=0.1", "gzip;q=0, *", "identity", "")]
    [True, True, False, False, False]
    """
    qualities: dict[str, float] = {}
    for part in accepted.split(","):
        if found := CODING.fullmatch(part):
            try:
                qualities[found[1].lower()] = float(found[2] or 1)
            except ValueError:
                continue
    return qualities.get("gzip", qualities.get("*", 0)) > 0


LOG = logging.getLogger("walkthrough")

PROXY_IDS = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The accepted request ids of a proxy. No key or token has this form (docs/decisions/0019)."""


CALENDAR_TOKEN = re.compile(f"(?<={TOKEN_PREFIXES[CALENDAR_LINK]})[A-Za-z0-9_-]+")


def request_id() -> str:
    """Return the request's id. It is chosen at the first call."""
    notes = session.state()
    if "request_id" not in notes:
        notes.request_id = chosen_id(session.request().environ.get("HTTP_X_REQUEST_ID"))
    chosen: str = notes.request_id
    return chosen


def chosen_id(sent: str | None) -> str:
    """Return the proxy's request id if it is valid; else a new one."""
    return sent if sent is not None and PROXY_IDS.fullmatch(sent) else token_hex(16)


def log(response: Response) -> None:
    """Write the log line of a request."""
    if not LOG.isEnabledFor(logging.INFO):
        return
    request, notes = session.request(), session.state()
    caller: Caller | None = notes.get("caller")
    LOG.info(
        {
            "event": "request",
            "request_id": request_id(),
            "method": request.method,
            "path": excerpt(CALENDAR_TOKEN.sub("…", request.path)),
            "status": response.status_code,
            "milliseconds": round((time.monotonic() - notes.began) * 1_000, 1),
            "user_id": caller.id if caller is not None else None,
            "role": caller.role.value if caller is not None else None,
            "refusal": notes.get("refusal"),
        }
    )


def log_incident(error: Exception) -> str:
    """Log an unexpected exception and return its incident id."""
    incident = request_id()
    LOG.error({"event": "incident", "request_id": incident}, exc_info=error)
    return incident


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
    environ = session.request().environ
    session.state().began = environ.get("walkthrough.arrived") or time.monotonic()
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
        raise credential_fault() or UnknownPath()
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
    key_id: str | None = session.state().pop("api_key_id", None)
    if key_id is not None and long_lived_tokens.is_use_due(key_id):
        # After the response was sent.
        response.call_on_close(partial(long_lived_tokens.record_use, database(), key_id))
    add_cors(response)
    compress_response(response, session.request().environ.get("HTTP_ACCEPT_ENCODING"))
    log(response)
    return response


def add_cors(response: Response) -> None:
    """Add CORS headers for an allowed origin. Credentials are never allowed: the console's cookies are SameSite."""
    origin = session.request().environ.get("HTTP_ORIGIN")
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
    if "Location" in headers:
        headers = {**headers, "Location": url_path(headers["Location"])}
    if "Content-Type" in headers and requests.names_profile(session.request().environ):
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
        return handle_fault(BodyTooLarge(JSON_BYTES_MAX))
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
        return UnknownPath()
    lowered = name[: calls.NAME_CHARACTERS_MAX].lower()
    matches = get_close_matches(lowered, catalog().relations, n=1, cutoff=calls.LIKENESS_MIN)
    hint = f"Perhaps you meant the table 'public.{matches[0]}'" if matches else None
    return UnknownRelation(name[:200], hint)


def handle_unexpected(error: Exception) -> Response:
    """Log an unexpected exception and respond with its incident id. The response contains nothing else."""
    incident = log_incident(error)
    if own_renderer(request.path):
        return handle_fault(Fault("Internal server error", f"incident {incident}"))
    body = errors.error_body("XX000", "Internal server error", f"incident {incident}", None)
    return Response(body, 500, {"Content-Type": "application/json; charset=utf-8"})


CACHE_FOR_A_YEAR: Final = "public, max-age=31536000, immutable"
HASH_DIGITS: Final = 12
COMPRESSION_LEVEL: Final = 9


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file's content, its compressed content if that is smaller, and its name with the hash."""

    content: bytes
    compressed: bytes | None
    hashed_name: str


class StaticFiles:
    """The files of a page: each name with its directory and content type."""

    def __init__(self, path: str, table: Mapping[str, tuple[Traversable, str]], content_policy: str) -> None:
        self.path, self.table, self.content_policy = path, table, content_policy
        self.load = lru_cache(maxsize=None)(self.read)

    def read(self, name: str) -> StaticFile:
        content = (self.table[name][0] / name).read_bytes()
        digest = hashlib.sha256(content).hexdigest()[:HASH_DIGITS]
        stem, _, suffix = name.rpartition(".")
        compressed = gzipped(content, COMPRESSION_LEVEL)
        return StaticFile(content, compressed if len(compressed) < len(content) else None, f"{stem}.{digest}.{suffix}")

    def url(self, name: str) -> str:
        """Return the URL of a file, with its hash."""
        return url_path(f"{self.path}/{self.load(name).hashed_name}")

    def respond(self, requested: str) -> Response:
        """Return a file by its name with or without the hash; raise UnknownPath."""
        stem, _, suffix = requested.rpartition(".")
        name = requested if requested in self.table else f"{stem.rpartition('.')[0]}.{suffix}"
        if name not in self.table:
            raise UnknownPath
        file = self.load(name)
        headers = {"Content-Type": self.table[name][1], "Content-Security-Policy": self.content_policy}
        if requested == file.hashed_name:
            headers["Cache-Control"] = CACHE_FOR_A_YEAR
        elif requested != name:
            raise UnknownPath
        if file.compressed is not None and accepts_gzip(request.headers.get("Accept-Encoding", "")):
            return Response(file.compressed, 200, {**headers, "Content-Encoding": "gzip"})
        return Response(file.content, 200, headers)


# The client: its device and its address. A client may send any User-Agent, so the device is a hint and no proof.

BROWSERS: Final = {
    "Edg": "Edge", "OPR/": "Opera", "SamsungBrowser/": "Samsung Internet", "Firefox/": "Firefox", "FxiOS/": "Firefox",
    "CriOS/": "Chrome", "Chrome/": "Chrome", "Safari/": "Safari",
}  # fmt: skip
"""By a part of the User-Agent. A browser also names its ancestors, so the first match counts."""
SYSTEMS: Final = {
    "iPhone": "iPhone", "iPad": "iPad", "Android": "Android", "Windows": "Windows", "CrOS": "ChromeOS",
    "Mac OS X": "macOS", "Linux": "Linux",
}  # fmt: skip
PROGRAM_CHARACTERS_MAX: Final = 40


def client_device() -> str | None:
    """Return the device of the request, or None if the request names none."""
    return device_of(session.request().headers.get("User-Agent", ""))


def device_of(user_agent: str) -> str | None:
    """Return the browser and system of a User-Agent, or the first word of a program's.

    >>> device_of("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
    'Firefox on Linux'
    >>> device_of("python-httpx/0.28.1"), device_of("\x07"), device_of("")
    ('python-httpx', None, None)
    """
    browser = next((name for part, name in BROWSERS.items() if part in user_agent), None)
    system = next((name for part, name in SYSTEMS.items() if part in user_agent), None)
    if browser is not None:
        return f"{browser} on {system}" if system is not None else browser
    program = user_agent.partition("/")[0][:PROGRAM_CHARACTERS_MAX].strip()
    return program if program and program.isascii() and program.isprintable() else None


def client_address() -> str:
    return password.origin_of(request.environ.get("REMOTE_ADDR") or "")


def request_deadline() -> password.Deadline:
    return password.deadline(g.began)
