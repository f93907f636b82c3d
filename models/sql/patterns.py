"""What is wrong with a regular expression, as a fact. Knows no database by name."""

from __future__ import annotations

from models.faults import Fault


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
