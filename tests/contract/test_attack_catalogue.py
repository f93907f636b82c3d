"""Each entry of the attack catalogue (docs/SAFETY.md) has a test with its mark."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_engine

TESTS = Path(__file__).resolve().parents[1]
ENTRIES = {"R": 20, "O": 18, "W": 24, "G": 15, "T": 18, "L": 11, "P": 13, "H": 15, "F": 11}

MARKED = re.compile(r'^@pytest\.mark\.attack\(entry="(\w+)"\)$', re.MULTILINE)


def test_every_catalogue_entry_has_a_test() -> None:
    entries = {f"{group}{n:02}" for group, count in ENTRIES.items() for n in range(1, count + 1)}

    marked = {entry for file in TESTS.rglob("test_*.py") for entry in MARKED.findall(file.read_text())}

    assert sorted(entries - marked) == []
    assert sorted(marked - entries) == []
