"""Behind a proxy: whose headers count, the client's address and scheme, and a path prefix."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from access.accounts.password import origin_of
from routes.http.middleware import chosen_prefix, chosen_scheme, find_client
from tests.support import databases, tokens
from tests.support.applications import reused_app

pytestmark = pytest.mark.one_engine

PROXIES = [ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("2001:db8:1::/48")]
PROXY, STRANGER = "10.0.0.1", "192.0.2.7"
PREFIX = "/site"


@pytest.mark.parametrize(
    ("peer", "forwarded", "address", "proxies"),
    [
        pytest.param("192.0.2.7", None, "192.0.2.7", 0, id="peer"),
        pytest.param("192.0.2.7", "6.6.6.6", "192.0.2.7", 0, id="header-of-an-untrusted-client"),
        pytest.param("192.0.2.7", "10.0.0.1", "192.0.2.7", 0, id="untrusted-client-names-a-proxy"),
        pytest.param("192.0.2.7", "[2001:db8::1]:443", "192.0.2.7", 0, id="untrusted-client-with-brackets"),
        pytest.param("10.0.0.1", "192.0.2.7", "192.0.2.7", 1, id="address"),
        pytest.param("10.0.0.1", "203.0.113.7:51234", "203.0.113.7", 1, id="port"),
        pytest.param("10.0.0.1", "6.6.6.6:1, 203.0.113.7:51234", "203.0.113.7", 1, id="only-the-last-port"),
        pytest.param("10.0.0.1", "203.0.113.7:51234, 10.0.0.2:80", "203.0.113.7", 2, id="proxy-with-a-port"),
        pytest.param("10.0.0.1", "203.0.113.7:", "10.0.0.1", 1, id="no-port-after-the-colon"),
        pytest.param("10.0.0.1", "203.0.113.7:port", "10.0.0.1", 1, id="port-that-is-no-number"),
        pytest.param("10.0.0.1", "203.0.113.7:1:2", "10.0.0.1", 1, id="two-ports"),
        pytest.param("10.0.0.1", "203.0.113.7:٣", "10.0.0.1", 1, id="other-digits"),
        pytest.param("10.0.0.1", "[203.0.113.7]:80", "203.0.113.7", 1, id="v4-in-brackets"),
        pytest.param("10.0.0.1", "[2001:db8:2::9]", "2001:db8:2::9", 1, id="v6-in-brackets"),
        pytest.param("10.0.0.1", "[2001:db8:2::9]:443", "2001:db8:2::9", 1, id="v6-with-a-port"),
        pytest.param("10.0.0.1", "2001:db8:2::9", "2001:db8:2::9", 1, id="v6-bare"),
        pytest.param("10.0.0.1", "2001:DB8:2::9", "2001:db8:2::9", 1, id="v6-in-upper-case"),
        pytest.param("10.0.0.1", "[2001:db8:2::9", "10.0.0.1", 1, id="v6-half-a-bracket"),
        pytest.param("10.0.0.1", "[[2001:db8:2::9]]", "10.0.0.1", 1, id="v6-two-brackets"),
        pytest.param("10.0.0.1", "[::ffff:192.0.2.7]:1", "192.0.2.7", 1, id="v4-in-v6-with-a-port"),
        pytest.param("10.0.0.1", "6.6.6.6, 192.0.2.7", "192.0.2.7", 1, id="forged-before"),
        pytest.param("10.0.0.1", "6.6.6.6,192.0.2.7,10.0.0.2", "192.0.2.7", 2, id="two-proxies"),
        pytest.param("10.0.0.1", "192.0.2.7,[2001:db8:1::5]:80,10.0.0.2", "192.0.2.7", 3, id="three-proxies"),
        pytest.param("10.0.0.1", None, "10.0.0.1", 1, id="proxy-says-nothing"),
        pytest.param("10.0.0.1", "", "10.0.0.1", 1, id="proxy-says-empty"),
        pytest.param("10.0.0.1", "6.6.6.6, unknown", "10.0.0.1", 1, id="no-address"),
        pytest.param("10.0.0.1", "6.6.6.6, ", "10.0.0.1", 1, id="empty-entry"),
        pytest.param("10.0.0.1", "6.6.6.6;192.0.2.7", "10.0.0.1", 1, id="other-separator"),
        pytest.param("10.0.0.1", "10.0.0.2", "10.0.0.2", 2, id="proxies-all-the-way"),
        pytest.param("::ffff:192.0.2.7", None, "192.0.2.7", 0, id="v4-in-v6"),
        pytest.param("::ffff:10.0.0.1", "192.0.2.7", "192.0.2.7", 1, id="proxy-v4-in-v6"),
        pytest.param("2001:db8:1::1", "[2001:db8:2::9]:1", "2001:db8:2::9", 1, id="v6-proxy"),
        pytest.param("", None, "", 0, id="no-peer"),
        pytest.param("", "6.6.6.6", "", 0, id="no-peer-with-header"),
        pytest.param("unix:", "192.0.2.7:1", "192.0.2.7", 1, id="unix-socket"),
        pytest.param("unix:", "192.0.2.7, 10.0.0.2", "192.0.2.7", 2, id="proxy-before-the-unix-socket"),
        pytest.param("unix:", None, "unix:", 1, id="unix-socket-without-header"),
    ],
)  # fmt: skip
def test_client_is_the_last_untrusted_address(peer: str, forwarded: str | None, address: str, proxies: int) -> None:
    assert find_client(peer, forwarded, PROXIES) == (address, proxies)


def test_addresses_of_a_v6_network_are_one_origin() -> None:
    assert origin_of("2001:db8:2::9") == origin_of("2001:db8:2::a") == "2001:db8:2::/64"


@pytest.mark.parametrize(
    ("listed", "proxies", "scheme"),
    [
        ("https", 1, "https"),
        ("HTTPS", 1, "https"),
        ("https, http", 1, "http"),
        ("http, https", 1, "https"),
        ("https, http", 2, "https"),
        ("https,http,http", 3, "https"),
        ("http,https,http", 2, "https"),
        ("https", 3, "https"),
        ("", 1, None),
        ("ftp", 1, None),
        ("https, ", 1, None),
    ],
)
def test_scheme_is_that_of_the_outermost_trusted_proxy(listed: str, proxies: int, scheme: str | None) -> None:
    assert chosen_scheme(listed, proxies) == scheme


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("/site", "/site"),
        ("/a/b-c.d~e_f/", "/a/b-c.d~e_f"),
        ("/", ""),
        ("", ""),
        ("site", ""),
        ("//evil.example", ""),
        ("/site//x", ""),
        ("/a/../b", ""),
        ("/.", ""),
        ("/a b", ""),
        ('/"onload="x', ""),
        ("/é", ""),
        ("/site, /other", ""),
    ],
)
def test_malformed_prefix_is_ignored(text: str, prefix: str) -> None:
    assert chosen_prefix(text) == prefix


# Requests


@pytest.fixture
def app(base_file: Path, tmp_path: Path) -> Iterator[Any]:
    file = tmp_path / "walkthrough.db"
    databases.copy(base_file, file)
    with reused_app(file) as lent:
        yield lent


@pytest.fixture
def send(app: Any) -> Callable[..., Any]:
    """Return a function that sends a request from an address. 10.0.0.0/8 is trusted."""
    app.config["TRUSTED_PROXIES"] = PROXIES

    def request(path: str, peer: str, **headers: str) -> Any:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return app.test_client().get(path, headers=named, environ_overrides={"REMOTE_ADDR": peer})

    return request


def test_prefix_of_a_trusted_proxy_is_in_a_page_its_redirects_and_its_cookies(send: Callable[..., Any]) -> None:
    redirect = send("/console/", PROXY, X_Forwarded_Prefix=PREFIX)
    page = send("/console/sign-in", PROXY, X_Forwarded_Prefix=PREFIX)

    assert redirect.headers["Location"] == f"{PREFIX}/console/sign-in"
    assert f'action="{PREFIX}/console/sign-in"' in page.text
    assert f'href="{PREFIX}/console/static/' in page.text
    assert '="/console' not in page.text
    assert f"; Path={PREFIX}/console" in page.headers["Set-Cookie"]


def test_headers_of_an_untrusted_sender_change_nothing(send: Callable[..., Any]) -> None:
    forged = {"X_Forwarded_Prefix": PREFIX, "X_Forwarded_Proto": "https", "X_Forwarded_For": "10.0.0.1"}
    redirect, page = send("/console/", STRANGER, **forged), send("/console/sign-in", STRANGER, **forged)

    assert redirect.headers["Location"] == "/console/sign-in"
    assert PREFIX not in page.text
    assert "; Path=/console" in page.headers["Set-Cookie"]
    assert "Secure" not in page.headers["Set-Cookie"]


@pytest.mark.parametrize("path", ["/site/console/", "/console/"], ids=["kept", "removed"])
def test_url_prefix_holds_for_a_proxy_that_keeps_or_removes_it(app: Any, path: str) -> None:
    app.config["URL_PREFIX"] = PREFIX

    answer = app.test_client().get(path)

    assert answer.headers["Location"] == f"{PREFIX}/console/sign-in"


def test_path_that_begins_like_the_prefix_is_another_one(app: Any) -> None:
    app.config["URL_PREFIX"] = PREFIX

    assert app.test_client().get("/sitemap").status_code == 401


def test_table_with_the_name_of_the_prefix_is_found(app: Any) -> None:
    app.config["URL_PREFIX"] = "/inspections"
    keys = {"apikey": tokens.SERVICE_KEY, "Prefer": "return=headers-only"}

    read = app.test_client().get("/inspections/inspections?limit=1&select=id", headers=keys)
    made = app.test_client().post("/inspections/rest/v1/inspectors", json={"name": "Ida"}, headers=keys)

    assert isinstance(read.json, list)
    assert made.headers["Location"].startswith("/inspections/inspectors?id=eq.")


@pytest.mark.parametrize(("path", "key"), [("/", "servers"), ("/rest/v1/", "basePath")])
def test_document_names_the_prefix(app: Any, path: str, key: str) -> None:
    found = [app.test_client().get(path, headers={"apikey": tokens.SERVICE_KEY}).json[key]]
    app.config["URL_PREFIX"] = PREFIX
    found.append(app.test_client().get(PREFIX + path, headers={"apikey": tokens.SERVICE_KEY}).json[key])

    servers = {"servers": [[{"url": "/"}], [{"url": PREFIX}]], "basePath": ["/", PREFIX]}
    assert found == servers[key]


@pytest.mark.parametrize("path", [PREFIX, f"{PREFIX}/", f"{PREFIX}/docs"])
def test_pages_outside_the_console_link_below_the_prefix(app: Any, path: str) -> None:
    app.config["URL_PREFIX"] = PREFIX

    page = app.test_client().get(path, headers={"Accept": "text/html"}).text

    assert f'href="{PREFIX}/docs/' in page
    assert '="/docs' not in page
    assert '="docs/' not in page
