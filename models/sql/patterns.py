"""What is wrong with a regular expression, as a fact. Knows no database by name."""

from __future__ import annotations

from models.faults import Fault


class InvalidRegularExpression(Fault):
    """A pattern that the engine does not take (2201B)."""


class InvalidEscape(Fault):
    """A like pattern whose last backslash keeps nothing from its meaning (22025)."""
