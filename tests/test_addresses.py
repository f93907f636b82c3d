"""What Service leaves out of Flask's way through a request changes no answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask
from werkzeug.test import EnvironBuilder

from routes import addresses


def known(app: Flask) -> dict:
    return app.addresses.known


def status_of(app: Flask, host: str) -> str:
    environ = EnvironBuilder("/live").get_environ()
    environ["HTTP_HOST"] = host
    said: list[str] = []
    b"".join(app.wsgi_app(environ, lambda status, headers, exc=None: said.append(status)))
    return said[0]


def test_an_address_is_searched_for_once(pristine: Flask, api: Callable) -> None:
    first = api("ada").get("/buildings?id=eq.1")
    kept = dict(known(pristine))
    again = api("ada").get("/buildings?id=eq.1")

    assert any(address[:2] == ("GET", "/buildings") for address in kept)
    assert known(pristine) == kept
    assert (again.status, again.text) == (first.status, first.text)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing-of-the-kind", 404),
        ("TRACE", "/buildings", 405),
        ("GET", "/rpc", 404),
        ("POST", "/docs", 405),
    ],
)
def test_what_is_refused_is_searched_for_each_time(
    pristine: Flask, api: Callable, method: str, path: str, status: int
) -> None:
    for _ in range(2):
        assert api("ada").send(method, path).status == status
    assert not any(address[1] == path and address[0] == method for address in known(pristine))


def test_a_path_with_an_argument_is_searched_for_each_time(pristine: Flask, api: Callable) -> None:
    for person in ("1", "2"):
        api("root").get(f"/auth/v1/admin/users/{person}")

    assert not any("admin/users/" in address[1] for address in known(pristine))


def test_a_method_of_a_known_path_is_an_address_of_its_own(api: Callable) -> None:
    assert api("ada").get("/buildings").status == 200
    assert api("ada").patch("/buildings").status == 400
    options = api("ada").send("OPTIONS", "/buildings")
    assert options.status == 200
    assert options.headers["Allow"] == "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE"
    assert api("ada").send("TRACE", "/buildings").status == 405


def test_a_web_socket_gets_one_answer_whatever_is_known(api: Callable) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket"}
    before = api("ada").get("/inspectors", headers=upgrade)
    api("ada").get("/inspectors")

    assert api("ada").get("/inspectors", headers=upgrade).status == before.status


def test_invented_hosts_fill_no_memory(pristine: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "ADDRESSES_MAX", 8)
    for number in range(30):
        environ = EnvironBuilder("/live", base_url=f"http://host-{number}.example").get_environ()
        b"".join(pristine.wsgi_app(environ, lambda *said: None))

    assert 0 < len(known(pristine)) <= 8


def test_a_host_is_searched_for_whatever_is_known_of_another(
    pristine: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or whoever had their hosts checked would have the first of an address alone checked."""
    monkeypatch.setitem(pristine.config, "TRUSTED_HOSTS", ["buildings.example"])

    hosts = ("buildings.example", "buildings.example:8000", "elsewhere.example")
    assert [status_of(pristine, host) for host in hosts] == ["200 OK", "200 OK", "400 BAD REQUEST"]


@pytest.mark.parametrize("host", ["a b", "a/b", "%00"])
def test_a_host_that_is_none_is_treated_alike_each_time(pristine: Flask, host: str) -> None:
    first = status_of(pristine, host)
    b"".join(pristine.wsgi_app(EnvironBuilder("/live").get_environ(), lambda *said: None))
    assert status_of(pristine, host) == first
