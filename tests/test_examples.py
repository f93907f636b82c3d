"""The examples in the code's own words are true, wherever they stand."""

import doctest
import importlib
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
ROOMS = ("config.py", "access", "models", "routes", "serving")
EXAMPLE = "    >>> "
MODULES_MIN = 30  # a search that finds none would find nothing wrong


def modules() -> list[str]:
    files = [file for room in ROOMS for file in (PROJECT / room).rglob("*.py")]
    files += [PROJECT / room for room in ROOMS if room.endswith(".py")]
    named = [file.relative_to(PROJECT).with_suffix("").as_posix().replace("/", ".")
             for file in files if EXAMPLE in file.read_text(encoding="utf-8")]  # fmt: skip
    return sorted(named)


def test_there_are_examples() -> None:
    assert len(modules()) >= MODULES_MIN


@pytest.mark.parametrize("module", modules())
def test_examples_hold(module: str) -> None:
    outcome = doctest.testmod(importlib.import_module(module))

    assert outcome.attempted > 0
    assert outcome.failed == 0
