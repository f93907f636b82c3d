"""`pytest -p tests.in_time --until MOMENT`: of a suite as much as there is time for; what was left out is named.

CI has ten minutes (`.ci/run`), on machines of which some take twice as long as others. What shows that a promise or a
rule is kept comes first; last what searches for what nobody thought of, and what looks at pages.
"""

from __future__ import annotations

import time
from collections import Counter

import pytest

FIRST = (
    "tests/durability/",
    "tests/standby/",
    "tests/test_server",
    "tests/test_access_",
    "tests/test_catalogue_",
    "tests/test_recorded_answers.py",
)
"""How the paths of those begin that show what is promised: nothing is lost, nobody learns what is not theirs, and
answers are PostgREST's."""

LAST = (
    "tests/durability/test_power_cuts.py",
    "tests/safety/test_policy_mutants.py",
    "tests/safety/test_two_worlds.py",
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
"""What takes longest, in the order in which it is begun."""

OVER = "no time was left"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--until", type=float, help="seconds since 1970 after which no test is begun any more"
    )


def rank(item: pytest.Item) -> int:
    path = item.nodeid.partition("::")[0]
    if path in LAST:
        return LAST.index(path)
    return -2 if path.startswith(FIRST) else -1


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.until is not None:
        items.sort(key=rank)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    until = item.config.option.until
    if until is not None and time.time() >= until:
        pytest.skip(OVER)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    left = Counter(
        report.nodeid.partition("::")[0] for report in skipped if OVER in str(report.longrepr)
    )
    if left:
        files = ", ".join(f"{path} ({count})" for path, count in sorted(left.items()))
        terminalreporter.write_line(
            f"walkthrough: {OVER} for {left.total()} tests: {files}", yellow=True
        )
