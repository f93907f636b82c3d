"""Flask without the machinery that the service does not use, common headers, unsupported calls and the log of denials.

docs/PERFORMANCE.md holds what each override is worth. The common headers are added outside Flask, where a list is
extended. A call of Supabase's clients that the service does not support is a 404 that names the alternative. It needs
no key: browsers open `authorize` and the WebSocket without one. Denied requests are written to the audit log. Their
answers do not wait for the writer lock.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from flask import Flask, Request, Response
from flask.sessions import NullSession, SessionInterface, SessionMixin
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Rule

from engine.interface.database import WRITE_WAIT_SECONDS_MAX, Database, Locked, LockTimeout
from engine.query.statement import ReleasingBody, is_slot_held, release_slot
from engine.query.write import row_layout
from models.types import Fault
from routes.http.faults import UnknownPath

VARY = "Authorization, apikey, Accept, Prefer, Range, Origin, Accept-Encoding"
CONTENT_POLICY = "Content-Security-Policy"

COMMON_HEADERS = [("Vary", VARY), ("X-Content-Type-Options", "nosniff")]
CACHE_CONTROL = "Cache-Control"
NO_STORE = (CACHE_CONTROL, "private, no-store")
NO_CONTENT_POLICY = (CONTENT_POLICY, "default-src 'none'; frame-ancestors 'none'")

METHODS = ("OPTIONS", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
STATUSES_WITH_BODY = frozenset({200, 201, 206})
NO_CONTENT = 204
URL_MATCHES_MAX = 1_024  # a client may invent hosts
StartResponse = Callable[..., Any]
Wsgi = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]


class NullSessionInterface(SessionInterface):
    """Disables Flask's session. API requests carry a token, and the console signs its own cookies."""

    EMPTY_SESSION = NullSession()

    def open_session(self, app: Flask, request: Request) -> SessionMixin:
        return self.EMPTY_SESSION

    def save_session(self, app: Flask, session: SessionMixin, response: Response) -> None:
        """Do nothing."""


class ApiResponse(Response):
    """A response without a default content type."""

    default_mimetype = None

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Send a complete response directly; Werkzeug would inspect its headers and body again."""
        if not self.is_sent_unchanged(environ["REQUEST_METHOD"]):
            return super().__call__(environ, start_response)
        start_response(self.status, self.headers.to_wsgi_list())
        body: list[bytes] = self.response  # type: ignore[assignment]
        return body

    def is_sent_unchanged(self, method: str) -> bool:
        """Return whether headers and body are complete and the method permits a body."""
        if method == "HEAD" or type(self.response) is not list or self._on_close:
            return False
        has_length = "Content-Length" in self.headers
        if self.status_code == NO_CONTENT:
            return not has_length and not any(self.response)
        return has_length and self.status_code in STATUSES_WITH_BODY


class LazyBuildRule(Rule):
    """A URL rule whose URL builder is compiled at first use.

    No URL is ever built, and compiling every builder takes most of the application's startup time.
    """

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        compile_builder = super()._compile_builder

        def build(rule: Rule, **values: Any) -> tuple[str, str]:
            built: tuple[str, str] = compile_builder(append_unknown)(rule, **values)
            return built

        return build


class KnownMatch:
    """Takes the place of Werkzeug's URL adapter for a URL that was matched before."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def match(self, return_rule: bool) -> tuple[Rule, dict[str, Any]]:
        return self.rule, {}


class ApiFlask(Flask):
    """The Flask application."""

    session_interface = NullSessionInterface()
    url_rule_class = LazyBuildRule
    response_class = ApiResponse

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.url_matches: dict[tuple[str, str | None, str | None], KnownMatch] = {}

    def create_url_adapter(self, request: Request | None) -> Any:
        """Return the match of an earlier request with the same method, path and host, if the path has no parameters."""
        adapter = super().create_url_adapter
        if request is None:
            return adapter(None) if self.config["SERVER_NAME"] else None
        environ = request.environ
        key = (environ["REQUEST_METHOD"], environ.get("PATH_INFO"), environ.get("HTTP_HOST"))
        match = self.url_matches.get(key)
        if match is None:
            found = adapter(request)
            if found is None or key[0] == "OPTIONS" or "HTTP_UPGRADE" in environ:
                return found
            try:
                rule, arguments = found.match(return_rule=True)
            except HTTPException:
                return found
            if arguments:
                return found
            if len(self.url_matches) >= URL_MATCHES_MAX:
                self.url_matches.clear()
            match = self.url_matches[key] = KnownMatch(rule)
        return match

    def make_default_options_response(self) -> Response:
        """Return the allowed methods in PostgREST's order."""
        response = super().make_default_options_response()
        allowed = ",".join(each for each in METHODS if each in response.allow)
        response.headers["Allow"] = allowed
        return response


def with_common_headers(inner: Wsgi) -> Wsgi:
    """Wrap a WSGI application and add the common headers to each of its responses."""

    def wsgi(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            names = [name for name, _ in headers]
            if CACHE_CONTROL not in names:  # only static files have it
                headers.append(NO_STORE)
            headers.extend(COMMON_HEADERS)
            if CONTENT_POLICY not in names:
                headers.append(NO_CONTENT_POLICY)
            return start_response(status, headers, exc_info)

        try:
            body = inner(environ, start)
        except BaseException:
            release_slot()
            raise
        # A streamed body may take a slot while it is sent.
        return body if type(body) is list and not is_slot_held() else ReleasingBody(body)

    return wsgi


ADMIN_USER: Final = re.compile(r"^admin/users/[^/]*/")

NO_MAIL: Final = "The service sends no mail: an administrator sets a new password."
NO_OAUTH: Final = "OAuth and single sign-on are not supported: sign in with e-mail and password."
NO_MFA: Final = "Multi-factor authentication and passkeys are not supported: sign in with e-mail and password."

SERVICES: Final = {
    "/realtime/v1": "Realtime is not supported: use polling, for example of /audit_log?id=gt.N.",
    "/storage/v1/upload/resumable": "Resumable uploads are not supported: upload with POST /storage/v1/object.",
    "/storage/v1/s3": "The S3 protocol is not supported: use /storage/v1/object.",
    "/storage/v1/vector": "Vector buckets are not supported: use the buckets inspections, findings and buildings.",
    "/storage/v1/iceberg": "Analytics buckets are not supported: read tables under /rest/v1.",
    "/functions/v1": "Edge Functions are not supported: call a function of the service under /rest/v1/rpc.",
    "/graphql/v1": "GraphQL is not supported: embed related rows with /rest/v1/TABLE?select=….",
}
"""Services of Supabase by path, each with the message of its answer."""

SIGN_IN_PATHS: Final = {
    "otp": "One-time passwords and magic links are not supported: sign in with e-mail and password.",
    "magiclink": "One-time passwords and magic links are not supported: sign in with e-mail and password.",
    "verify": NO_MAIL,
    "resend": NO_MAIL,
    "recover": NO_MAIL,
    "reauthenticate": "The service sends no mail: send `current_password` with the new password.",
    "invite": "The service sends no mail: an administrator creates users with POST /auth/v1/admin/users.",
    "admin/generate_link": NO_MAIL,
    "authorize": NO_OAUTH,
    "callback": NO_OAUTH,
    "sso": NO_OAUTH,
    "oauth": NO_OAUTH,
    "user/identities": NO_OAUTH,
    "user/oauth": NO_OAUTH,
    "admin/sso": NO_OAUTH,
    "admin/oauth": NO_OAUTH,
    "admin/custom-providers": NO_OAUTH,
    "factors": NO_MFA,
    "passkeys": NO_MFA,
    "admin/users/factors": NO_MFA,
    "admin/users/passkeys": NO_MFA,
    "admin/audit": "GoTrue's audit log is not supported: read /audit_log.",
}
"""Paths of GoTrue under /auth/v1, without the id of a user, each with the message of its answer."""


def unsupported_call(path: str) -> UnknownPath | None:
    """Return the fault of a path that a client library calls and the service does not have; None for other paths.

    >>> unsupported_call("/realtime/v1/websocket").message
    'Realtime is not supported: use polling, for example of /audit_log?id=gt.N.'
    >>> unsupported_call("/auth/v1/admin/users/1/factors").message == NO_MFA
    True
    """
    name = ADMIN_USER.sub("admin/users/", path.removeprefix("/auth/v1/"))
    messages, called = (SERVICES, path) if name == path else (SIGN_IN_PATHS, name)
    found = (message for known, message in messages.items() if f"{called}/".startswith(f"{known}/"))
    message = next(found, None)
    return UnknownPath(message) if message is not None else None


WAIT_SECONDS_MAX = 0.02
PENDING_MAX = 1_000

LOG = logging.getLogger("walkthrough")


@dataclass(frozen=True, slots=True)
class DeniedRequest:
    """A request that a user sent without permission, as the audit log holds it."""

    relation: str
    actor_id: str
    client_id: int | None
    message: str


class DenialLog:
    """Writes denied requests at once if the writer lock is free, else later in a thread.

    The thread is no daemon, so a process that ends waits for it. Beyond PENDING_MAX requests the oldest is dropped.
    """

    def __init__(self) -> None:
        self.mutex = threading.Lock()
        self.pending: deque[DeniedRequest] = deque(maxlen=PENDING_MAX)
        self.thread: threading.Thread | None = None

    def record(self, database: Database, denied: DeniedRequest) -> None:
        """Write a denied request, or keep it for the thread. Errors are logged."""
        try:
            write_entries(database, [denied], WAIT_SECONDS_MAX)
        except (Locked, LockTimeout):
            self.write_later(database, denied)
        except Fault:
            log_loss()

    def write_later(self, database: Database, denied: DeniedRequest) -> None:
        with self.mutex:
            self.pending.append(denied)
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(target=self.run, args=(database,), name="denials")
                self.thread.start()

    def run(self, database: Database) -> None:
        """Write what is pending until nothing is."""
        while entries := self.take_pending():
            try:
                write_entries(database, entries, WRITE_WAIT_SECONDS_MAX)
            except Fault:
                log_loss()

    def wait(self) -> None:
        """Wait until nothing is pending."""
        with self.mutex:
            thread = self.thread
        if thread is not None:
            thread.join()

    def take_pending(self) -> list[DeniedRequest]:
        with self.mutex:
            entries = list(self.pending)
            self.pending.clear()
            if not entries:
                self.thread = None
            return entries


def write_entries(database: Database, entries: Iterable[DeniedRequest], wait_seconds_max: float) -> None:
    with database.writing(wait_seconds_max=wait_seconds_max, is_brief=True) as transaction:
        for each in entries:
            row_layout.record_refusal(
                transaction, each.relation, actor_id=each.actor_id, client_id=each.client_id, message=each.message
            )


def log_loss() -> None:
    LOG.warning("a refusal was not written into the audit log")
