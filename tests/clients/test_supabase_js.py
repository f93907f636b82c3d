"""The suites in js/, run by Node against a running service. Each of their tests is a test here."""

import json
import re
import subprocess
from collections.abc import Callable
from functools import cache

import pytest

from tests.clients import node
from tests.clients.server import Server, password_of
from tests.conftest import DATASET
from tests.support import tokens

SUITES = ("read", "write", "rpc", "auth", "storage")
SUITE_SECONDS_MAX = 60
NAME = re.compile(r'^test\("([^"]+)"', re.MULTILINE)


def names_in(suite: str) -> list[str]:
    return NAME.findall((node.JS / f"{suite}.test.js").read_text())


@pytest.fixture(scope="module")
def outcomes(server: Server) -> Callable[[str], dict[str, str | None]]:
    """`outcomes("read")` runs a suite once, and returns the failure of each of its tests, or None."""
    node.installed()

    return cache(lambda suite: run_suite(suite, server))


def run_suite(suite: str, server: Server) -> dict[str, str | None]:
    """Run a suite; return the failure of each of its tests, or None."""
    ran = subprocess.run(
        [str(node.NODE), "--test-reporter=./reporter.js", f"{suite}.test.js"],
        cwd=node.JS,
        env={"SERVICE": json.dumps(service_environment(server)), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SUITE_SECONDS_MAX,
        check=False,
    )
    lines = [line for line in ran.stdout.splitlines() if line.startswith("{")]
    assert lines, f"Node ran no test: {ran.stdout}{ran.stderr}"
    return {test["name"]: test["reason"] for test in map(json.loads, lines)}


def service_environment(server: Server) -> dict:
    users = json.loads(DATASET.read_text())["users"]
    cast = {
        user["name"].lower(): {"id": user["id"], "email": user["email"], "password": password_of(user["name"])}
        for user in users
    }
    return {"URL": server.url, "ANON_KEY": tokens.ANON_KEY, "SERVICE_KEY": tokens.SERVICE_KEY, "CAST": cast}


@pytest.mark.parametrize(
    ("suite", "name"),
    [pytest.param(suite, name, id=f"{suite}: {name}") for suite in SUITES for name in names_in(suite)],
)
def test_supabase_js(outcomes: Callable, suite: str, name: str) -> None:
    found = outcomes(suite)

    assert name in found, f"{name} did not run"
    assert found[name] is None, found[name]


@pytest.mark.parametrize("suite", SUITES)
def test_all_tests_of_a_suite_are_listed(outcomes: Callable, suite: str) -> None:
    assert sorted(outcomes(suite)) == sorted(names_in(suite))
