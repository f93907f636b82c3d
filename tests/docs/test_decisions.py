"""The decision records: numbers, index, and the references to the records from the rest of the project."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.style.sources import PROJECT, files

pytestmark = pytest.mark.one_engine

DECISIONS = PROJECT / "docs" / "decisions"
SUFFIXES = {".py", ".md", ".sql", ".sh", ".html", ".js", ".css"}
NAMED = re.compile(r"[Dd]ecisions?[/ (]+\[?(\d{4}(?:, \d{4})*)")
"""A reference in text: `docs/decisions/0004`, `decision 0004`, `docs/decisions/0004, 0005`."""
LINKED = re.compile(r"\((?:[\w./]*/)?(\d{4}-[a-z0-9-]+\.md)\)")


def records() -> list[Path]:
    return sorted(DECISIONS.glob("[0-9]*.md"))


def texts() -> list[Path]:
    """Return the files of the project that can name a decision."""
    return [path for path in files() if path.suffix in SUFFIXES]


def test_numbers_are_consecutive() -> None:
    assert [int(path.name[:4]) for path in records()] == [*range(1, len(records()) + 1)]


@pytest.mark.parametrize("path", records(), ids=lambda path: path.name[:4])
def test_record_has_title_and_sections_in_order(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert text.startswith(f"# {path.name[:4]} ")
    assert re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE) == ["Context", "Decision", "Rejected"]


def test_index_names_each_record_by_number_and_title() -> None:
    index = (DECISIONS / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\[(\d{4})\]\(([^)]+)\) \| (.+)$", index, re.MULTILINE)
    titles = [path.read_text(encoding="utf-8").splitlines()[0] for path in records()]

    assert [(name, f"# {number} {title}") for number, name, title in rows] == [
        (path.name, title) for path, title in zip(records(), titles, strict=True)
    ]


def test_references_name_records_that_exist() -> None:
    names = {path.name for path in records()}
    numbers = {name[:4] for name in names}
    missing: list[str] = []
    for path in texts():
        if path == Path(__file__):
            continue
        for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            named = {number for found in NAMED.findall(text) for number in found.split(", ")}
            wrong = sorted((named - numbers) | ({*LINKED.findall(text)} - names))
            missing += [f"{path.relative_to(PROJECT)}:{line}: {each}" for each in wrong]

    assert missing == []
