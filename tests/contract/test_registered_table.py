"""A table that the project does not have passes the generic tests, after the touches of `registered_table.py`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import databases

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).resolve().parents[2]
PLUGIN = "tests.support.registered_table"
OWN_TESTS = ("tests/contract/registered_table.py", "tests/console/registered_table.py")
GENERIC_TESTS = (
    "tests/contract/test_resource_matrix.py",
    "tests/contract/test_bounds.py",
    "tests/access/test_rights.py",
    "tests/access/test_access_matrix.py",
    "tests/console/test_tables.py",
)
WORDS = "elevators or registered_table or each_table"
"""Words in the names of the tests of the table, and of all tables together."""
TESTS_MIN = 80 if databases.SERVER is None else 60
"""Some pages of the console are tested on SQLite alone."""
SECONDS_MAX = 300


def test_registered_table_passes_the_generic_tests() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider", "--all", "-k", WORDS]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}

    ran = subprocess.run(
        [*command, *OWN_TESTS, *GENERIC_TESTS],
        cwd=PROJECT, env=environ, capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stdout[-5_000:] + ran.stderr
    passed = int(ran.stdout.split(" passed")[0].split()[-1])
    assert passed >= TESTS_MIN, ran.stdout
