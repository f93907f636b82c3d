"""What is wrong with a pattern, as a fact, and in which case it is compared. Knows no database by name."""

from __future__ import annotations

from typing import Final

from models.errors import Fault

UNSTEADY: Final = "Σςİ"
"""Letters whose lower case hangs on what stands around them (a sigma at a word's end), or is two letters."""
STEADY: Final = "σσi"
STEADIED: Final = str.maketrans(UNSTEADY, STEADY)


class InvalidRegularExpression(Fault):
    """A pattern that the engine does not take (2201B)."""


class NoRegularExpressions(Fault):
    """`match` and `imatch` on a machine for which there is no engine in linear time (0A000)."""

    def __init__(self) -> None:
        super().__init__(
            "match and imatch are not available here",
            hint="They need google-re2, of which there is no package for this machine.",
        )


class InvalidEscape(Fault):
    """A like pattern whose last backslash keeps nothing from its meaning (22025)."""


def in_one_case(text: str) -> str:
    """Lower case letter by letter, whatever the language: a part of a text is a part of it in one case, too.

    >>> in_one_case("ΝΙΚΟΣ") == in_one_case("Νίκος").replace("ί", "ι") and in_one_case("İş")
    'iş'
    """
    return (text if text.isascii() else text.translate(STEADIED)).lower()
