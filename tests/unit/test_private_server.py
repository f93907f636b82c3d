"""The tests' own PostgreSQL server: nothing of it is left, however the tests end."""

import pathlib
import subprocess
import sys

import pytest

from config import PROJECT

pytestmark = pytest.mark.server("no server is started for a file")


def test_a_server_goes_with_tests_that_are_told_to_end() -> None:
    told = "echo ${WALKTHROUGH_TEST_SERVER##*host=}; exec sleep 100"
    words = [sys.executable, "-m", "tests.support.private_server", "sh", "-c", told]
    with subprocess.Popen(words, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as tests:
        directory = pathlib.Path(tests.stdout.readline().strip())
        assert (directory / "data" / "postmaster.pid").exists()

        tests.terminate()

        assert tests.wait(60) == 128 + 15
    assert not directory.exists()
