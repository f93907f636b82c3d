"""The prose of the project: length of sentences, banned words, and the size of all documents.

A new part of the project is added to ENFORCED; `{""}` enforces the rules everywhere.
`python -m tests.style.report` lists what is left elsewhere.
"""

from __future__ import annotations

from tests.style.checks import DOCUMENTS_WORDS_MAX, banned_words, document_words, long_sentences
from tests.style.sources import Kind, collect

ENFORCED = {
    "CHANGELOG.md", "README.md", "access", "app.py", "bench", "config.py", "demo", "docs",
    "engine/audit.py", "engine/maintenance", "engine/postgres", "engine/query", "engine/reporting",
    "engine/storage", "gunicorn.conf.py", "models", "routes", "serving", "tests/access", "tests/clients",
    "tests/conftest.py", "tests/console", "tests/contract", "tests/docs", "tests/durability",
    "tests/engine", "tests/http", "tests/maintenance", "tests/postgres", "tests/reporting",
    "tests/serving", "tests/storage", "tests/style", "tests/support", "tests/unit", "wsgi.py",
}  # fmt: skip
"""Paths for which sentences and words are checked so far."""


def test_every_kind_of_prose_is_found() -> None:
    assert {piece.kind for piece in collect()} == {*Kind}


def test_sentences_of_documents_and_docstrings_are_short() -> None:
    assert "\n".join(map(str, sorted(long_sentences(ENFORCED)))) == ""


def test_prose_has_no_banned_words() -> None:
    assert "\n".join(map(str, sorted(banned_words(ENFORCED)))) == ""


def test_documents_keep_to_their_budget_of_words() -> None:
    counted = document_words({""})

    assert sum(counted.values()) <= DOCUMENTS_WORDS_MAX, counted
