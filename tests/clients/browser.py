"""Pages of another origin with supabase-js, in Chromium. The fixtures intercept nothing: they observe preflights."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.clients import node
from tests.clients.server import Server, password_of
from tests.support import tokens
from tests.support.browsers import BINARY, FLAGS
from tests.support.ports import free_port
from tests.support.signin import EMAILS

playwright = pytest.importorskip("playwright.sync_api", reason="requirements/clients.txt is not installed")


@dataclass  # without slots: playwright sets an attribute on listeners
class Preflights:
    """Each OPTIONS request that the browser sent by itself, and its response."""

    asked: dict[str, dict] = field(default_factory=dict)
    answered: dict[str, dict] = field(default_factory=dict)

    def listen(self, session: playwright.CDPSession) -> None:
        session.on("Network.requestWillBeSent", self.note_request)
        session.on("Network.requestWillBeSentExtraInfo", self.note_headers)
        session.on("Network.responseReceivedExtraInfo", self.note_answer)
        session.send("Network.enable")

    def note_request(self, event: dict) -> None:
        request = event["request"]
        if request["method"] == "OPTIONS":
            self.asked.setdefault(event["requestId"], {}).update(url=request["url"])

    def note_headers(self, event: dict) -> None:
        headers = lower(event["headers"])
        if "access-control-request-method" in headers:
            self.asked.setdefault(event["requestId"], {}).update(
                method=headers["access-control-request-method"],
                headers=headers.get("access-control-request-headers", "").split(","),
            )

    def note_answer(self, event: dict) -> None:
        answered = {"status": event["statusCode"], "headers": lower(event["headers"])}
        self.answered[event["requestId"]] = answered

    def to(self, path: str, method: str) -> tuple[dict, dict]:
        """Return the request and the response of the first preflight to a path for a method."""
        for id_, asked in self.asked.items():
            if path in asked.get("url", "") and asked.get("method") == method:
                return asked, self.answered[id_]
        raise AssertionError(f"no preflight for {method} {path}: {list(self.asked.values())}")


def lower(headers: dict[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


@contextmanager
def static_site(modules: Path) -> Iterator[int]:
    """Serve the page and supabase-js' browser build; yield the port."""
    script = modules / "@supabase" / "supabase-js" / "dist" / "umd" / "supabase.js"
    files = {
        "/": (node.JS / "page.html", "text/html; charset=utf-8"),
        "/supabase.js": (script, "text/javascript; charset=utf-8"),
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            file, content_type = files.get(self.path, (None, ""))
            body = file.read_bytes() if file else b""
            self.send_response(200 if file else 404)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    site = ThreadingHTTPServer(("127.0.0.1", free_port()), Handler)
    thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield site.server_address[1]
    finally:
        site.shutdown()
        thread.join()
        site.server_close()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with static_site(node.installed()) as port:
        yield port


@pytest.fixture(scope="module")
def context(
    serve: Callable[..., Server], driver: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[playwright.BrowserContext]:
    """A browser with an empty profile. It stops before the services, since it keeps connections open."""
    assert serve, "this fixture is set up first, so it is stopped last"
    browser = driver.chromium.launch_persistent_context(
        tmp_path_factory.mktemp("profile"), executable_path=BINARY, args=list(FLAGS)
    )
    yield browser
    browser.close()


@dataclass(frozen=True, slots=True)
class Page:
    """A page with a supabase-js client in `client`, and the preflights of its browser."""

    page: playwright.Page
    preflights: Preflights

    def run(self, script: str, argument: object = None) -> object:
        return self.page.evaluate(script, argument)


def open_page(context: playwright.BrowserContext, origin: str, server: Server) -> Page:
    page = context.new_page()
    preflights = Preflights()
    preflights.listen(context.new_cdp_session(page))
    page.goto(f"{origin}/")
    page.evaluate("([url, key]) => { window.client = supabase.createClient(url, key); }", [server.url, tokens.ANON_KEY])
    return Page(page, preflights)


def sign_in(opened: Page, name: str) -> dict:
    return opened.run(
        "given => client.auth.signInWithPassword(given)", {"email": EMAILS[name], "password": password_of(name)}
    )


@pytest.fixture(scope="module")
def opened(context: playwright.BrowserContext, port: int, server: Server) -> Page:
    """A page of http://localhost:port, which the default settings allow, without a signed-in user."""
    return open_page(context, f"http://localhost:{port}", server)
