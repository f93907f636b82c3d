"""Of a suite as much as there is time for: what is left out is named, and nothing is where there is time."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from config import PROJECT
from tests import in_time

pytestmark = pytest.mark.sqlite("no database has a part in it")

SUITE = "def test_first(): pass\n\ndef test_second(): pass\n"


def run(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "tests.in_time", "--rootdir", ".", *words],
        cwd=directory, env={"PYTHONPATH": str(PROJECT)}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("processes", [(), ("-n", "2")], ids=["one", "two"])
def test_after_its_end_no_test_is_begun_and_all_are_named(
    tmp_path: Path, processes: tuple[str, ...]
) -> None:
    (tmp_path / "test_few.py").write_text(SUITE)

    late = run(tmp_path, *processes, "--until", str(time.time() - 1), "test_few.py")
    early = run(tmp_path, *processes, "--until", str(time.time() + 3_600), "test_few.py")

    assert late.returncode == 0
    assert "walkthrough: tests for which no time was left: 2: test_few.py (2)" in late.stdout
    assert "2 passed" in early.stdout
    assert "no time was left" not in early.stdout


def test_a_failure_before_that_is_one(tmp_path: Path) -> None:
    first = "def test_first(pytestconfig):\n    pytestconfig.option.until = 0\n    assert False\n"
    (tmp_path / "test_few.py").write_text(f"{first}\ndef test_second(): pass\n")

    done = run(tmp_path, "--until", str(time.time() + 3_600), "test_few.py")

    assert done.returncode == 1
    assert "1 failed in" in done.stdout
    assert "no time was left: 1: test_few.py (1)" in done.stdout


def test_what_is_promised_comes_first_and_what_takes_long_last(tmp_path: Path) -> None:
    first, *_, last = in_time.LAST
    for path in (last, first, "tests/test_a.py", "tests/test_server_a.py"):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(SUITE)
    words = ("--collect-only", "-q", "--import-mode=importlib", "tests")

    chosen = run(tmp_path, "--until", str(time.time() + 3_600), *words).stdout.splitlines()
    usual = run(tmp_path, *words).stdout.splitlines()

    files = [line.partition("::")[0] for line in chosen if "::" in line]
    ordered = ("tests/test_server_a.py", "tests/test_a.py", first, last)
    assert files == [path for path in ordered for _ in range(2)]
    assert [line.partition("::")[0] for line in usual if "::" in line] != files


def test_those_named_are_there() -> None:
    assert [path for path in in_time.LAST if not (PROJECT / path).is_file()] == []
    assert [each for each in in_time.FIRST if not list(PROJECT.glob(f"{each}*"))] == []
