"""supabase-js in Chromium, on a page of another origin: CORS and preflights.

The tests intercept nothing. They observe the browser's preflights over the DevTools protocol.
"""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.clients import node
from tests.clients.server import Server, password_of
from tests.conftest import MAX
from tests.support import tokens
from tests.support.ports import free_port
from tests.support.signin import EMAILS

playwright = pytest.importorskip("playwright.sync_api", reason="requirements/clients.txt is not installed")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DAY_SECONDS = 86_400


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
    serve: Callable[..., Server], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[playwright.BrowserContext]:
    """A browser with an empty profile. It stops before the services, since it keeps connections open."""
    assert serve, "this fixture is set up first, so it is stopped last"
    binary = next(filter(None, map(shutil.which, BROWSERS)), None)
    if binary is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"), executable_path=binary, args=list(FLAGS)
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


def test_visit_of_another_origin(opened: Page, port: int) -> None:
    signed_in = sign_in(opened, "ada")
    assert signed_in["error"] is None
    assert signed_in["data"]["user"]["email"] == EMAILS["ada"]

    read = opened.run(
        """() => client.from("inspections")
             .select("id,buildings(name)", { count: "exact" }).order("id").limit(2)"""
    )
    assert read["error"] is None
    assert read["count"] == 7, "Content-Range has to be exposed"
    assert read["data"] == [
        {"id": 1, "buildings": {"name": "Harbor House"}},
        {"id": 2, "buildings": {"name": "Harbor House"}},
    ]

    written = opened.run(
        """async () => {
             const { data, error, status } = await client.from("buildings")
               .insert({ name: "From a page", client_id: 1 }).select("id,name").single();
             if (error) return { error };
             const table = () => client.from("buildings");
             const changed = await table().update({ city: "Lynn" }).eq("id", data.id).select("city");
             const gone = await table().delete({ count: "exact" }).eq("id", data.id);
             return { error, status, name: data.name, changed: changed.data, gone };
           }"""
    )
    assert written["error"] is None
    assert (written["status"], written["name"]) == (201, "From a page")
    assert written["changed"] == [{"city": "Lynn"}]
    assert (written["gone"]["status"], written["gone"]["count"]) == (204, 1)

    origin = f"http://localhost:{port}"
    for path, method, header in (
        ("/auth/v1/token", "POST", "x-supabase-api-version"),
        ("/rest/v1/inspections", "GET", "accept-profile"),
        ("/rest/v1/buildings", "POST", "content-profile"),
        ("/rest/v1/buildings", "PATCH", "content-profile"),
        ("/rest/v1/buildings", "DELETE", "content-profile"),
    ):
        asked, answered = opened.preflights.to(path, method)
        allowed = answered["headers"]
        assert answered["status"] in (200, 204), (path, method)
        assert allowed["access-control-allow-origin"] in ("*", origin)
        methods = allowed["access-control-allow-methods"].replace(" ", "").split(",")
        assert method in methods
        granted = allowed["access-control-allow-headers"].lower().replace(" ", "").split(",")
        assert {"authorization", "apikey", header, *asked["headers"]} <= set(granted)
        assert 0 < int(allowed["access-control-max-age"]) <= DAY_SECONDS


def test_errors_reach_the_page_with_their_codes(opened: Page) -> None:
    sign_in(opened, "ada")

    column = opened.run("""() => client.from("inspections").select("nope")""")
    table = opened.run("""() => client.from("nope").select()""")
    row = opened.run("""() => client.from("buildings").insert({ name: "X", client_id: 2 })""")

    assert (column["status"], column["error"]["code"]) == (400, "42703")
    assert (table["status"], table["error"]["code"]) == (404, "PGRST205")
    assert (row["status"], row["error"]["code"]) == (403, "42501")


def test_sign_in_error_keeps_its_code_across_origins(opened: Page) -> None:
    failed = opened.run(
        """async () => {
             const given = { email: "nobody@acme.example", password: "wrong" };
             const { error } = await client.auth.signInWithPassword(given);
             return [error.name, error.status, error.code, error.message];
           }"""
    )

    expected = ["AuthApiError", 400, "invalid_credentials", "Invalid login credentials"]
    assert failed == expected, "X-Supabase-Api-Version has to be exposed"


def test_refusal_of_a_bad_token_is_readable(opened: Page) -> None:
    refused = opened.run(
        """() => {
             const { supabaseUrl, supabaseKey } = client;
             const global = { headers: { Authorization: "Bearer nonsense" } };
             const auth = { storageKey: "other", persistSession: false };
             return supabase.createClient(supabaseUrl, supabaseKey, { global, auth })
               .from("inspections").select();
           }"""
    )

    assert (refused["status"], refused["error"]["code"]) == (401, "PGRST301")


def test_session_outlasts_a_reload(context: playwright.BrowserContext, opened: Page, port: int, server: Server) -> None:
    sign_in(opened, "max")

    again = open_page(context, f"http://localhost:{port}", server)

    user = again.run("async () => (await client.auth.getUser()).data.user.id")
    rows = again.run("""() => client.from("inspections").select("id").order("id")""")
    assert user == MAX
    assert rows["data"] == [{"id": 6}, {"id": 7}]
    again.page.close()


def test_functions_by_both_methods(opened: Page) -> None:
    sign_in(opened, "max")
    arguments = {"p_building_id": 4, "p_user_id": MAX}

    for get in (False, True):
        answer = opened.run(
            """([given, get]) => client.rpc("check_building_access_v2", given, { get })""", [arguments, get]
        )
        assert (answer["error"], answer["data"]) == (None, True)


def test_user_pages_are_counted_across_origins(opened: Page) -> None:
    pages = opened.run(
        """async key => {
             const auth = { storageKey: "admin", persistSession: false };
             const admin = supabase.createClient(client.supabaseUrl, key, { auth }).auth.admin;
             const { data } = await admin.listUsers({ page: 1, perPage: 2 });
             return [data.users.length, data.total, data.nextPage, data.lastPage];
           }""",
        tokens.SERVICE_KEY,
    )

    assert pages == [2, 6, 2, 3], "Link and X-Total-Count have to be exposed"


def test_only_listed_origins_get_in(
    context: playwright.BrowserContext, port: int, serve: Callable[..., Server]
) -> None:
    listed = f"http://127.0.0.1:{port}"
    server = serve(CORS_ORIGINS=listed)
    read = """async () => {
        const { status, error } = await client.from("inspections").select().retry(false);
        return [status, error.code, error.message];
    }"""

    inside = open_page(context, listed, server)
    outside = open_page(context, f"http://localhost:{port}", server)

    assert inside.run(read) == [401, "42501", "permission denied for table inspections"]
    status, code, message = outside.run(read)
    assert (status, code) == (0, "")
    assert "Failed to fetch" in message
    inside.page.close()
    outside.page.close()
