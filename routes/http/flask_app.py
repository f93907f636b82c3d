"""Flask without the costliest machinery that this application does not use, and the headers of every response.

docs/PERFORMANCE.md holds what each override is worth. The common headers are added outside Flask, where a list is
extended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from flask import Flask, Request, Response
from flask.sessions import NullSession, SessionInterface, SessionMixin
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Rule

from engine.query.large_results import ReleasingBody, is_slot_held, release_slot

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
