"""The prose of the project: length of sentences, banned words, and the size of all documents.

`python -m tests.style.report` lists all violations.
"""

from __future__ import annotations

from tests.style.checks import DOCUMENTS_WORDS_MAX, banned_words, document_words, long_sentences
from tests.style.sources import Kind, collect

ENFORCED = {""}
"""The whole project."""


def test_every_kind_of_prose_is_found() -> None:
    assert {piece.kind for piece in collect()} == {*Kind}


def test_sentences_of_documents_and_docstrings_are_short() -> None:
    assert "\n".join(map(str, sorted(long_sentences(ENFORCED)))) == ""


def test_prose_has_no_banned_words() -> None:
    assert "\n".join(map(str, sorted(banned_words(ENFORCED)))) == ""


def test_documents_keep_to_their_budget_of_words() -> None:
    counted = document_words({""})

    assert sum(counted.values()) <= DOCUMENTS_WORDS_MAX, counted
