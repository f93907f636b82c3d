"""What is stored, as people read it: statuses and rules in words, names that are always to be seen, days.

Knows no Flask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import quote

COMMON_STATUSES: Final = ("scheduled", "in_progress", "completed", "failed", "cancelled")
STATUSES: Final = {"in_progress": "in progress"}
RULES: Final = {
    "client_ownership": "It belongs to the person's own client.",
    "building_grant": "The building was granted to the person.",
    "through_building": "Its building was granted to the person.",
    "inspection_grant": "The inspection was granted to the person.",
    "super_admin": "A super admin sees everything.",
}
NAMELESS: Final = "(no name)"
NAME_CHARACTERS_TOLD: Final = 80  # in an address, where a letter may take twelve bytes
TURNS: Final = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
"""Signs that turn the direction of what follows them, within a name and behind it."""


def status(value: object) -> str:
    """A status: our own in words, any other as it is.

    >>> status("in_progress"), status("Held up"), status(""), status(None)
    ('in progress', 'Held up', '', '–')
    """
    return STATUSES.get(str(value), str(value)) if value is not None else "–"


def rule(value: object) -> str:
    """A rule of an explanation, in a sentence."""
    return RULES.get(str(value), str(value))


def name(value: object, characters_max: int | None = None) -> str:
    """A name that can be seen, and leaves what stands around it in its order.

    >>> name("Mill Court"), name("Mill Court", 5), name("  "), name("ab\\u202ecd")
    ('Mill Court', 'Mill…', '(no name)', 'abcd')
    """
    text = str(value).translate(TURNS)
    if not any(sign.isprintable() and not sign.isspace() for sign in text):
        return NAMELESS
    if characters_max is None or len(text) <= characters_max:
        return text
    return f"{text[: characters_max - 1].rstrip()}…"


def told(value: str) -> str:
    """A name as long as it may be within a sentence of ours."""
    return name(value, NAME_CHARACTERS_TOLD)


def capital(text: str) -> str:
    """A text with a capital letter first, and all others as they are.

    >>> capital("annual"), capital("HVAC check"), capital("")
    ('Annual', 'HVAC check', '')
    """
    return text[:1].upper() + text[1:]


def day(value: object) -> str:
    """The day of a timestamp, or a dash.

    >>> day("2025-05-05T09:30:15.5+00:00"), day(None)
    ('2025-05-05', '–')
    """
    return str(value)[:10] if value else "–"


def moment(value: object) -> str:
    """A timestamp to the minute, or a dash.

    >>> moment("2025-05-05T09:30:15.5+00:00"), moment(None)
    ('2025-05-05 09:30 UTC', '–')
    """
    return f"{str(value)[:16].replace('T', ' ')} UTC" if value else "–"


def thousands(value: object) -> str:
    """A number in groups of three digits; what is none, as it is.

    >>> thousands(2000000), thousands(None)
    ('2,000,000', 'None')
    """
    return f"{value:,}" if isinstance(value, int) else str(value)


def badge(value: object) -> str:
    """The style of a status; what is no common one has none of its own."""
    return str(value) if value in COMMON_STATUSES else "other"


def part(value: object) -> str:
    """A part of an address."""
    return quote(str(value), safe="")


FILTERS: Final[tuple[Callable[..., str], ...]] = (
    status,
    rule,
    name,
    capital,
    day,
    moment,
    thousands,
    badge,
    part,
)
"""What templates say it with, each under its own name."""
