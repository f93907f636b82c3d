"""The service behind the nginx and the Caddy of `deploy/`: at the root, with TLS, at a socket, and under a prefix."""

from __future__ import annotations

import contextlib
import html
import os
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import pytest

from config import PROJECT
from tests.clients import node
from tests.clients.server import Server, load, password_of, serving
from tests.clients.test_supabase_js import SUITES, run_suite
from tests.support import databases, tokens
from tests.support.browsers import BINARY, FLAGS
from tests.support.photographs import photograph
from tests.support.ports import free_port
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("the database is not what a proxy concerns")]

DEPLOY = PROJECT / "deploy"
PREFIX = "/inspections"  # also the name of a table
MAP = "https://www.openstreetmap.org/"  # the only site to which pages link
PAGES_MAX = 150
LINK = re.compile(r' (href|src|action|formaction|data-[a-z]+)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Proxy:
    """A running proxy: where its clients reach the service."""

    url: str
    prefix: str
    certificate: Path | None = None

    @property
    def origin(self) -> str:
        return self.url.removesuffix(self.prefix)

    def client(self) -> httpx.Client:
        verify = ssl.create_default_context(cafile=str(self.certificate)) if self.certificate else True
        return httpx.Client(base_url=self.origin, verify=verify, timeout=20)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return load(tmp_path_factory.mktemp("loaded"))


@contextlib.contextmanager
def service(loaded: Path, directory: Path, **settings: str) -> Iterator[Server]:
    databases.copy(loaded, directory / "walkthrough.db")
    with serving(directory, **settings) as running:
        yield running


def certificate(directory: Path) -> tuple[Path, Path]:
    """Make a certificate of this machine; return it and its key."""
    made, key = directory / "cert.pem", directory / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", made],
        capture_output=True, check=True,
    )  # fmt: skip
    return made, key


def nginx_site(directory: Path, server: str, port: int, prefix: str, *, has_tls: bool) -> str:
    """Return the site of `deploy/` for this port, server and prefix."""
    changes = {"server 127.0.0.1:8000;": f"server {server};", "location / {": f"location {prefix}/ {{"}
    if has_tls:
        made, key = certificate(directory)
        changes["listen 443 ssl http2;"] = f"listen 127.0.0.1:{port} ssl http2;"
        changes["/etc/ssl/certs/inspections.example.org.pem"] = str(made)
        changes["/etc/ssl/private/inspections.example.org.key"] = str(key)
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    if not has_tls:
        text = re.sub(r" +ssl_certificate.*\n", "", text).replace("listen 443 ssl http2;", f"listen 127.0.0.1:{port};")
    return text


@contextlib.contextmanager
def nginx(directory: Path, server: str, prefix: str = "", *, has_tls: bool = False) -> Iterator[Proxy]:
    port = free_port()
    site = nginx_site(directory, server, port, prefix, has_tls=has_tls)
    temporary = "".join(
        f"{name}_temp_path {directory}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;\n" if os.geteuid() == 0 else ""
    (directory / "nginx.conf").write_text(
        f"{user}daemon off;\nworker_processes 1;\npid {directory}/pid;\nerror_log stderr;\n"
        f"events {{}}\nhttp {{\naccess_log off;\n{temporary}{site}}}\n"
    )
    words = ["nginx", "-e", "stderr", "-p", str(directory), "-c", str(directory / "nginx.conf")]
    scheme = "https" if has_tls else "http"
    proxy = Proxy(f"{scheme}://127.0.0.1:{port}{prefix}", prefix, directory / "cert.pem" if has_tls else None)
    with running(words, proxy, directory):
        yield proxy


@contextlib.contextmanager
def caddy(directory: Path, server: str, prefix: str = "") -> Iterator[Proxy]:
    port = free_port()
    text = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    text = text.replace("inspections.example.org {", f"http://127.0.0.1:{port} {{").replace("127.0.0.1:8000", server)
    (directory / "Caddyfile").write_text(f"{{\nadmin off\n}}\n{text}")
    words = ["caddy", "run", "--adapter", "caddyfile", "--config", str(directory / "Caddyfile")]
    proxy = Proxy(f"http://127.0.0.1:{port}{prefix}", prefix)
    with running(words, proxy, directory):
        yield proxy


@contextlib.contextmanager
def running(words: list[str], proxy: Proxy, directory: Path) -> Iterator[None]:
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    environ = {"PATH": os.environ["PATH"], "HOME": str(directory)}
    with (directory / "proxy.log").open("w") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, env=environ)
    try:
        with proxy.client() as client:

            def is_served() -> bool:
                assert process.poll() is None, (directory / "proxy.log").read_text()
                with contextlib.suppress(httpx.TransportError):
                    return client.get(f"{proxy.prefix}/live").status_code == 200
                return False

            until(is_served)
        yield
    finally:
        process.terminate()
        process.wait(20)


PLACES = ["root", "tls", "prefix", "socket", "caddy", "caddy-prefix"]


@pytest.fixture(scope="module", params=PLACES)
def place(request: pytest.FixtureRequest, loaded: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """The service behind a proxy."""
    directory = tmp_path_factory.mktemp(request.param)
    kind: str = request.param
    prefix = PREFIX if kind.endswith("prefix") else ""
    settings = {"TRUSTED_PROXIES": "127.0.0.1", "URL_PREFIX": prefix}
    if kind == "socket":
        settings = {"HOST": f"unix:{directory}/s"}
    with service(loaded, directory, **settings) as served:
        server = f"unix:{directory}/s" if kind == "socket" else urlsplit(served.url).netloc
        run = caddy(directory, server, prefix) if kind.startswith("caddy") else None
        with run or nginx(directory, server, prefix, has_tls=kind == "tls") as proxy:
            yield proxy


def sign_in(client: httpx.Client, prefix: str) -> httpx.Response:
    page = client.get(f"{prefix}/console/sign-in")
    token = re.search(r'name="csrf" value="([^"]+)"', page.text)
    assert token is not None, page.text
    form = {"csrf": token[1], "email": "root@example.org", "password": password_of("Root")}
    form["next"] = "/console/"
    return client.post(f"{prefix}/console/sign-in", data=form)


def test_crawl_of_the_console_stays_below_the_prefix(place: Proxy) -> None:
    """Every link, form, file, redirect and cookie."""
    with place.client() as client:
        signed_in = sign_in(client, place.prefix)
        assert signed_in.headers["location"] == f"{place.prefix}/console/", signed_in.text
        todo, seen, problems = [f"{place.prefix}/", f"{place.prefix}/docs", f"{place.prefix}/console/"], set(), []
        while todo and len(seen) < PAGES_MAX:
            path = todo.pop(0)
            if path in seen:
                continue
            seen.add(path)
            answer = client.get(path, headers={"Accept": "text/html"})
            if answer.status_code >= 400:
                problems.append((path, answer.status_code))
            links = [("href", answer.headers["location"])] if "location" in answer.headers else []
            if "text/html" in answer.headers.get("content-type", ""):
                links += LINK.findall(answer.text)
            for attribute, link in links:
                if attribute.startswith("data-") and not link.startswith("/"):
                    continue  # a mark for a script
                if attribute == "href" and link.startswith(MAP):
                    continue
                url = urlsplit(urljoin(f"{place.origin}{path}", html.unescape(link)))
                assert f"{url.scheme}://{url.netloc}" == place.origin, (path, link)
                if not url.path.startswith(f"{place.prefix}/"):
                    problems.append((path, link))
                elif attribute in ("href", "src"):
                    todo.append(url.path + (f"?{url.query}" if url.query else ""))
        cookies = list(client.cookies.jar)

    assert problems == []
    assert len(seen) > PAGES_MAX / 3
    assert {cookie.path for cookie in cookies} <= {f"{place.prefix}/console", f"{place.prefix}/console/kiosk"}
    assert {cookie.secure for cookie in cookies} == {place.origin.startswith("https:")}


def test_browsers_are_told_to_use_https_only(place: Proxy) -> None:
    with place.client() as client:
        answers = [client.get(f"{place.prefix}{path}") for path in ("/live", "/nothing", "/calendar/x.ics")]

    assert [each.headers.get_list("Strict-Transport-Security") for each in answers] == [["max-age=31536000"]] * 3


def test_proxy_with_tls_speaks_http_2(loaded: Path, tmp_path: Path) -> None:
    with (
        service(loaded, tmp_path, TRUSTED_PROXIES="127.0.0.1") as served,
        nginx(tmp_path, urlsplit(served.url).netloc, has_tls=True) as proxy,
    ):
        context = ssl.create_default_context(cafile=str(proxy.certificate))
        context.set_alpn_protocols(["h2", "http/1.1"])
        address = urlsplit(proxy.url)
        with (
            socket.create_connection((address.hostname or "", address.port or 0), timeout=20) as plain,
            context.wrap_socket(plain, server_hostname=address.hostname) as secure,
        ):
            assert secure.selected_alpn_protocol() == "h2"


def test_document_and_location_are_below_the_prefix(place: Proxy) -> None:
    headers = {"apikey": tokens.SERVICE_KEY, "Prefer": "return=headers-only"}
    with place.client() as client:
        document = client.get(f"{place.prefix}/", headers=headers).json()
        made = client.post(f"{place.prefix}/rest/v1/inspectors", json={"name": "Proxied"}, headers=headers)

    assert document["servers"] == [{"url": place.prefix or "/"}]
    assert made.headers["location"].startswith(f"{place.prefix}/inspectors?id=eq.")


def test_forged_headers_reach_nothing(place: Proxy) -> None:
    """The proxies of `deploy/` replace what a client sends."""
    forged = {"X-Forwarded-Prefix": "/evil", "X-Forwarded-Proto": "https", "X-Forwarded-For": "6.6.6.6"}
    with place.client() as client:
        page = client.get(f"{place.prefix}/console/sign-in", headers=forged)

    assert "/evil" not in page.text
    assert ("Secure" in page.headers["set-cookie"]) is place.origin.startswith("https:")


@pytest.mark.parametrize("suite", SUITES)
def test_supabase_js_works_through_nginx_under_a_prefix(
    suite: str, loaded: Path, tmp_path: Path, place_of: Callable[..., Any]
) -> None:
    node.installed()
    with place_of(tmp_path) as proxy:
        outcomes = run_suite(suite, Server(proxy.url, tmp_path))

    assert outcomes
    assert {name: reason for name, reason in outcomes.items() if reason is not None} == {}


@pytest.fixture
def place_of(loaded: Path) -> Callable[..., Any]:
    """Return a function that runs the service and nginx under the prefix."""

    @contextlib.contextmanager
    def run(directory: Path) -> Iterator[Proxy]:
        settings = {"TRUSTED_PROXIES": "127.0.0.1", "URL_PREFIX": PREFIX}
        with (
            service(loaded, directory, **settings) as served,
            nginx(directory, urlsplit(served.url).netloc, PREFIX) as proxy,
        ):
            yield proxy

    return run


def test_photographs_and_suggestions_in_a_browser_stay_below_the_prefix(
    tmp_path: Path, place_of: Callable[..., Any], driver: Any
) -> None:
    requested: list[str] = []
    many = [{"name": f"Pier {number}", "client_id": 1} for number in range(400)]
    with place_of(tmp_path) as proxy:
        with proxy.client() as client:
            client.post(f"{PREFIX}/buildings", json=many, headers={"apikey": tokens.SERVICE_KEY}).raise_for_status()
        browser = driver.chromium.launch(executable_path=BINARY, args=list(FLAGS))
        page = browser.new_page()
        page.on("request", lambda each: requested.append(each.url))
        page.goto(f"{proxy.url}/console/inspections/1")
        page.get_by_label("E-mail").fill("root@example.org")
        page.get_by_label("Password").fill(password_of("Root"))
        page.keyboard.press("Enter")
        picture = {"name": "stairs.jpg", "mimeType": "image/jpeg", "buffer": photograph("stairs")}
        page.locator("input[type=file][multiple]").set_input_files(picture)
        page.locator("#photographs .picture img").wait_for(state="attached")
        address = page.url
        width = page.locator("#photographs .picture img").evaluate(
            "each => each.decode().then(() => each.naturalWidth)"
        )
        page.goto(f"{proxy.url}/console/inspections")
        with page.expect_response(lambda each: "/suggest?" in each.url) as suggested:
            page.locator("input[data-suggest]").first.press_sequentially("Pier 11")
        page.locator("datalist option[value*='Pier 11']").first.wait_for(state="attached")
        browser.close()

    assert address == f"{proxy.url}/console/inspections/1#photographs"
    assert width > 0
    assert suggested.value.url.partition("&")[0] == f"{proxy.url}/console/buildings/suggest?q=Pier+11"
    assert [url for url in requested if not url.startswith((f"{proxy.url}/", "data:"))] == []


def test_console_in_a_browser_stays_below_the_prefix(tmp_path: Path, place_of: Callable[..., Any], driver: Any) -> None:
    requested: list[str] = []
    failed: list[str] = []
    with place_of(tmp_path) as proxy:
        browser = driver.chromium.launch(executable_path=BINARY, args=list(FLAGS))
        page = browser.new_page()
        page.on("request", lambda each: requested.append(each.url))
        page.on("response", lambda each: failed.append(each.url) if each.status >= 400 else None)
        page.goto(f"{proxy.url}/console/buildings?order=name.asc")
        page.get_by_label("E-mail").fill("root@example.org")
        page.get_by_label("Password").fill(password_of("Root"))
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Sign out").wait_for()
        returned_to = page.url
        page.goto(f"{proxy.url}/console/kiosk?every=1")
        with page.expect_response(lambda each: each.url.endswith("/console/kiosk/board")):
            pass
        page.goto(f"{proxy.url}/")
        page.get_by_role("link", name="API documentation").click()
        page.get_by_text("Walkthrough").first.wait_for()
        page.goto(f"{proxy.url}/console/")
        page.get_by_role("button", name="Sign out").click()
        page.get_by_label("Password").wait_for()
        browser.close()

    assert returned_to == f"{proxy.url}/console/buildings?order=name.asc"
    assert [url for url in requested if not url.startswith((f"{proxy.url}/", "data:"))] == []
    assert failed == []
