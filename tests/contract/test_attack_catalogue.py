"""Each entry of the attack catalogue (docs/SAFETY.md) has a test that carries its number."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_engine

TESTS = Path(__file__).resolve().parents[1]
ENTRIES = {"R": 20, "O": 18, "W": 24, "G": 15, "T": 18, "L": 11, "P": 13, "H": 15, "F": 11}

NAMED = re.compile(r"^def test_([ROWGTLPHF][0-9]{2})_", re.MULTILINE)


def test_every_catalogue_entry_has_a_test() -> None:
    entries = {f"{group}{n:02}" for group, count in ENTRIES.items() for n in range(1, count + 1)}

    named = {entry for file in TESTS.rglob("test_*.py") for entry in NAMED.findall(file.read_text())}

    assert sorted(entries - named) == []
    assert sorted(named - entries) == []


def test_test_names_are_parsed() -> None:
    assert NAMED.findall("def test_R01_x() -> None:\ndef test_is_R02() -> None:\n") == ["R01"]
