"""The examples in docstrings give the answers that stand below them."""

import doctest
import importlib
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.one_engine]

PROJECT = Path(__file__).resolve().parents[2]
PACKAGES = ("access", "engine", "models", "postgres", "routes", "serving")
EXAMPLE = "    >>> "
MODULES_MIN = 30  # an empty search would pass


def modules_with_examples() -> list[str]:
    files = [PROJECT / "config.py"]
    files += [file for package in PACKAGES for file in (PROJECT / package).rglob("*.py")]
    return sorted(
        file.relative_to(PROJECT).with_suffix("").as_posix().replace("/", ".")
        for file in files
        if EXAMPLE in file.read_text(encoding="utf-8")
    )


def test_docstrings_have_examples() -> None:
    assert len(modules_with_examples()) >= MODULES_MIN


@pytest.mark.parametrize("module", modules_with_examples())
def test_docstring_examples_give_their_answers(module: str) -> None:
    outcome = doctest.testmod(importlib.import_module(module))

    assert outcome.attempted > 0
    assert outcome.failed == 0
