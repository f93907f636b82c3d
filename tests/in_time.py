"""`pytest -p tests.in_time --until MOMENT`: of a suite as much as there is time for; what was left out is named.

CI has ten minutes (`.ci/run`), on machines of which some take twice as long as others. What shows that a promise or a
rule is kept comes first; last what searches for what nobody thought of, and what looks at pages.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest

FIRST = (
    "tests/durability/",
    "tests/safety/test_policy_mutants.py",
    "tests/safety/test_two_worlds.py",
    "tests/standby/",
    "tests/test_server",
    "tests/access/",
    "tests/test_catalogue_",
    "tests/contract/test_attacks_",
    "tests/contract/test_recorded_responses.py",
)
"""How the paths of those begin that show what is promised: nothing is lost, nobody learns what is not theirs, and
answers are PostgREST's."""

LAST = (
    "tests/safety/test_other_doors.py",
    "tests/safety/test_stateful.py",
    "tests/safety/test_random_requests.py",
    "tests/safety/test_two_pasts.py",
    "tests/safety/test_schemathesis.py",
    "tests/safety/test_fuzzing.py",
    "tests/console/test_odd_input.py",
    "tests/console/test_browser.py",
    "tests/console/test_browser_wide.py",
    "tests/console/test_browser_work.py",
    "tests/console/test_browser_matrix.py",
)
"""Searches for what nobody thought of, and pages in a browser, in the order in which they are begun."""

LEFT = pytest.StashKey[Counter[str]]()
"""How many of a file's tests were not begun."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--until", type=float, help="seconds since 1970 after which no test is begun any more"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT] = Counter()


def rank(path: str) -> int:
    if path in LAST:
        return LAST.index(path)
    return -2 if path.startswith(FIRST) else -1


def path_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.until is not None:
        items.sort(key=lambda item: rank(path_of(item)))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """A test that is left out is not reported one by one, which for thousands takes half a minute."""
    until = item.config.option.until
    if until is None or time.time() < until:
        return None
    item.config.stash[LEFT][path_of(item)] += 1
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    """One of several processes tells the one that has them."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left"] = dict(session.config.stash[LEFT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[LEFT].update(getattr(node, "workeroutput", {}).get("left", {}))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    left = config.stash[LEFT]
    if left:
        files = ", ".join(f"{path} ({count})" for path, count in sorted(left.items()))
        terminalreporter.write_line(
            f"walkthrough: tests for which no time was left: {left.total()}: {files}", yellow=True
        )
