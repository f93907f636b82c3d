"""The decisions: each has a number of its own, and whoever names one names one that is there."""

from __future__ import annotations

import re
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
DECISIONS = PROJECT / "docs" / "decisions"
SAYING = ("*.py", "*.md", "*.sql", "*.sh", "*.html", "*.js", "*.css")
NAMED = re.compile(r"decisions?[/ (]+\[?(\d{4})(-[a-z0-9-]+\.md)?")
"""As the code, the documents and the decisions themselves name one: `decisions/0151`, `decision 0002`."""
LINKED = re.compile(r"\((?:[\w./]*/)?(\d{4}-[a-z0-9-]+\.md)\)")


def told() -> list[Path]:
    """What of the project says something, but for what is installed or made."""
    rooms = ("access", "bench", "demo", "docs", "models", "routes", "serving", "tests")
    found = [*PROJECT.glob("*.py"), *PROJECT.glob("*.md"), *PROJECT.glob("*.sql")]
    for room in rooms:
        for pattern in SAYING:
            found += (PROJECT / room).rglob(pattern)
    return [each for each in found if ".cache" not in each.parts]


def test_each_has_a_number_of_its_own_and_says_it_first() -> None:
    numbers = [each.name[:4] for each in DECISIONS.glob("*.md")]
    assert len(numbers) > 50  # they were found
    twice = sorted({each for each in numbers if numbers.count(each) > 1})
    assert twice == []
    for path in DECISIONS.glob("*.md"):
        first = path.read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith(f"# {path.name[:4]} "), path.name


def test_whoever_names_one_names_one_that_is_there() -> None:
    there = {each.name[:4] for each in DECISIONS.glob("*.md")}
    files = {each.name for each in DECISIONS.glob("*.md")}
    counted = 0
    for path in told():
        text = path.read_text(encoding="utf-8")
        named = {number for number, _ in NAMED.findall(text)}
        linked = set(LINKED.findall(text))
        counted += len(named) + len(linked)
        assert named <= there, (path, named - there)
        assert linked <= files, (path, linked - files)
    assert counted > 100
