"""Errors of patterns, and the case folding of texts and patterns."""

from __future__ import annotations

from typing import Final

from models.errors import Fault

IRREGULAR_LETTERS: Final = "Σςİ"
"""Letters whose lower case depends on their neighbours, such as a final sigma, or is two letters."""
FOLDED_LETTERS: Final = "σσi"
FOLDING: Final = str.maketrans(IRREGULAR_LETTERS, FOLDED_LETTERS)


class InvalidRegularExpression(Fault):
    """A pattern that is no regular expression (2201B)."""


class NoRegularExpressions(Fault):
    """`match` or `imatch` on a platform without google-re2 (0A000)."""

    def __init__(self) -> None:
        super().__init__(
            "match and imatch are not available on this platform",
            hint="They require google-re2, which has no package for this platform.",
        )


class InvalidEscape(Fault):
    """A LIKE pattern that ends with an escape character (22025)."""


def fold_case(text: str) -> str:
    """Return a text in lower case, letter by letter. A substring of the text stays a substring of the result.

    >>> fold_case("ΝΙΚΟΣ") == fold_case("Νίκος").replace("ί", "ι") and fold_case("İş")
    'iş'
    """
    return (text if text.isascii() else text.translate(FOLDING)).lower()
