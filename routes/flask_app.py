"""Flask, without what no request here needs, and with the headers that every answer has.

Flask's session, coroutines, signals that nobody receives and lists of functions that are empty would together cost
more than finding a row does. The headers are put on outside Flask, where a list is just extended, and so
stand on whatever goes out.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from flask import Flask
from flask import Request
from flask import Response
from flask import appcontext_tearing_down
from flask import request_tearing_down
from flask.sessions import NullSession
from flask.sessions import SessionInterface
from flask.sessions import SessionMixin
from werkzeug.datastructures import Headers
from werkzeug.routing import Rule

from access import request_state

VARY = "Authorization, apikey, Accept, Prefer, Range, Origin"
CONTENT_POLICY = "Content-Security-Policy"

COMMON_HEADERS = [
    ("Cache-Control", "private, no-store"),
    ("Vary", VARY),
    ("X-Content-Type-Options", "nosniff"),
]
NO_CONTENT_AT_ALL = (CONTENT_POLICY, "default-src 'none'; frame-ancestors 'none'")

METHODS = ("OPTIONS", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
SHOWING = frozenset({200, 201, 206})
NO_CONTENT = 204
StartResponse = Callable[..., Any]
Wsgi = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]


class NullSessionInterface(SessionInterface):
    """Flask's own session is not used: who asks stands in every request, and the console seals its cookies itself."""

    nobody = NullSession()  # which nothing can be put into

    def open_session(self, app: Flask, request: Request) -> SessionMixin:
        return self.nobody

    def save_session(self, app: Flask, session: SessionMixin, response: Response) -> None:
        """There is nothing to save."""


class ApiResponse(Response):
    """A response that says nothing of a type unless it is told one."""

    default_mimetype = None

    @classmethod
    def of(cls, status: int, headers: Mapping[str, str], body: bytes) -> ApiResponse:
        """An answer whose headers are its views' own words; the server checks them all, once each."""
        said = Headers()
        # Its own list: `extend` would check each word of ours as if a stranger had sent it.
        said._list.extend(headers.items())
        if status != NO_CONTENT:
            said._list.append(("Content-Length", str(len(body))))
        return cls([body], status, said)

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Rows go out as they are: Werkzeug looks for what may be left to do to headers and body, and for
        these there is nothing."""
        if not self.is_shown_by(environ["REQUEST_METHOD"]):
            return super().__call__(environ, start_response)
        start_response(self.status, self.headers.to_wsgi_list())
        body: list[bytes] = self.response  # type: ignore[assignment]
        return body

    def is_shown_by(self, method: str) -> bool:
        """Whether all of it is there, and is to be sent."""
        if method == "HEAD" or type(self.response) is not list or self._on_close:
            return False
        has_length = "Content-Length" in self.headers
        if self.status_code == NO_CONTENT:
            return not has_length and not any(self.response)
        return has_length and self.status_code in SHOWING


class LazyBuildRule(Rule):
    """A URL that is read; the functions that would build it are compiled when one is asked for, and none
    is: at once, for every rule, that is most of the time that it takes to make the application."""

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        compile_builder = super()._compile_builder

        def build(rule: Rule, **values: Any) -> tuple[str, str]:
            built: tuple[str, str] = compile_builder(append_unknown)(rule, **values)
            return built

        return build


class ApiFlask(Flask):
    """The application."""

    session_interface = NullSessionInterface()
    url_rule_class = LazyBuildRule
    response_class = ApiResponse

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.before: dict[str | None, list[Callable[[], Any]]] = {}
        self.after: dict[str | None, list[Callable[[Response], Response]]] = {}

    def preprocess_request(self) -> Any:
        """What is to be done before a request, put together once a view."""
        request = request_state.request()
        endpoint = request.endpoint
        before = self.before.get(endpoint)
        if before is None:
            assert not self.url_value_preprocessors, "nothing would call them"
            names = (None, *reversed(request.blueprints))
            before = [each for name in names for each in self.before_request_funcs.get(name, ())]
            self.before[endpoint] = before
        for function in before:
            if (answer := function()) is not None:
                return answer
        return None

    def dispatch_request(self) -> Any:
        request = request_state.request()
        rule = request.url_rule
        if request.routing_exception is not None or rule is None or request.method == "OPTIONS":
            return super().dispatch_request()
        return self.view_functions[rule.endpoint](**(request.view_args or {}))

    def make_default_options_response(self) -> Response:
        """Which methods there are, in PostgREST's order; everybody may know."""
        response = super().make_default_options_response()
        allowed = ",".join(each for each in METHODS if each in response.allow)
        response.headers["Allow"] = allowed
        return response

    def do_teardown_request(self, *failure: Any) -> None:
        if self.teardown_request_funcs or request_tearing_down.receivers:
            super().do_teardown_request(*failure)

    def do_teardown_appcontext(self, *failure: Any) -> None:
        if self.teardown_appcontext_funcs or appcontext_tearing_down.receivers:
            super().do_teardown_appcontext(*failure)

    def process_response(self, response: Response) -> Response:
        """What is to be done after a request, put together once a view."""
        request = request_state.request()
        endpoint = request.endpoint
        after = self.after.get(endpoint)
        if after is None:
            names = (*request.blueprints, None)
            after = [each for name in names for each in reversed(self.after_request_funcs[name])]
            self.after[endpoint] = after
        for function in after:
            response = function(response)
        return response

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """No view is a coroutine; Flask would look at each, each time."""
        return func


def with_common_headers(inner: Wsgi) -> Wsgi:
    """The same application, every answer of which has the common headers."""

    def wsgi(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            headers.extend(COMMON_HEADERS)
            if not any(name == CONTENT_POLICY for name, _ in headers):
                headers.append(NO_CONTENT_AT_ALL)
            return start_response(status, headers, exc_info)

        return inner(environ, start)

    return wsgi
