"""The engine does not know the subject, and `models/vocabulary.py` alone spells the words that columns hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from models import vocabulary
from tests.style import structure
from tests.style.sources import name, nodes

SUBJECT = re.compile("inspection|visit|finding|severity|inspector|schedule", re.IGNORECASE)
LIBRARY_NAMES = {"severity_nonlocalized", "visit_join", "visit_table", "visitors"}
"""Names of psycopg and SQLAlchemy."""

WORDS = {word for constant, word in vars(vocabulary).items() if constant.isupper() and isinstance(word, str)}
OTHER_MEANINGS: Mapping[str, set[str]] = {
    "demo/lead.py": {"sheet", "standard"},  # columns of instruments
    "postgres/triggers.py": {"made"},  # an alias in a trigger
    "inspections/imports/sources.py": {"paint", "standard"},  # a word of a violation, a component of a file
    "inspections/lead/assessment.py": {"sheet"},  # a column of instruments
    "inspections/reports/changes.py": {"standard", "remark"},  # fields of reports
    "inspections/reporting/chart.py": {"day", "week", "month"},  # the interval of a chart
    "inspections/reporting/counts.py": {"day"},  # a label in a statement
    "routes/console/components/charts.py": {"month"},
    "routes/console/components/template_filters.py": {"day"},  # a time span in words
    "routes/console/pages/access.py": {"made"},  # a field of a form
    "routes/console/pages/buildings.py": {"lead"},  # a part of a template
    "routes/console/pages/schedules.py": {"open", "made"},  # an embed, and a key of a function's result
    "routes/console/pages/findings.py": {"week"},  # a quick filter
    "routes/console/pages/inspections.py": {"month", "year"},
}
"""By file: words that mean something else there."""


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the string literals of a module with their lines, except docstrings."""
    documented = {
        id(node.value) for node in nodes(path) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.lineno, node.value


def identifiers(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the names that a module defines or uses, with their lines."""
    for node in nodes(path):
        for field in ("id", "attr", "arg", "name", "asname", "module"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                yield getattr(node, "lineno", 0), value


def test_engine_does_not_know_the_subject() -> None:
    found = [
        f"{name(path)}:{line}: {text}"
        for path in structure.modules().values()
        if name(path).startswith("engine/")
        for line, text in (*identifiers(path), *texts(path))
        if SUBJECT.search(text) and not {*text.split(".")} & LIBRARY_NAMES
    ]

    assert found == []


def test_words_of_columns_are_spelled_once() -> None:
    found: dict[str, set[str]] = {}
    for path in structure.modules().values():
        if not name(path).startswith("bench/") and name(path) != "models/vocabulary.py":
            words = {text for _, text in texts(path)} & WORDS
            if words:
                found[name(path)] = words

    assert found == OTHER_MEANINGS
