"""Template filters, and what pages call inspections, findings, schedules and people.

Filters show statuses, access rules, names, dates and numbers as readable text. A row has the name of its building only
where the caller reads the building. Times are those of TIMEZONE, with the name of the zone. Nothing here imports Flask.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

from engine.interface.clock import zone_name
from engine.open import local_time
from models.finding_move import FINDING_MOVES
from models.vocabulary import (
    FAILED,
    IN_PROGRESS,
    INSPECTION_STATUSES,
    INSPECTION_TYPES,
    LIFE_THREATENING,
    MODERATE,
    OPEN,
    SCHEDULED,
    SEVERE,
)

RULES: Final = {
    "building_grant": "Granted this building",
    "through_building": "Granted the building of this inspection",
    "inspection_grant": "Granted this inspection",
    "client_ownership": "Client admin of the owner",
    "super_admin": "Super admins see everything",
    "own_visit": "Inspector of this visit",
    "has_own_visit": "Inspector of a visit of this building",
}
BADGES: Final = {each: each for each in INSPECTION_STATUSES} | {
    OPEN: SCHEDULED,
    **{move.target: move.colour for move in FINDING_MOVES if move.target and move.colour},
    LIFE_THREATENING: FAILED,
    SEVERE: FAILED,
    MODERATE: IN_PROGRESS,
}
"""The CSS suffixes of statuses and severities."""
HOURS_SHOWN_MAX: Final = 48
NO_NAME: Final = "(no name)"
MESSAGE_NAME_CHARACTERS_MAX: Final = 80  # in a URL, one character takes up to 12 bytes
TITLE_CHARACTERS_MAX: Final = 240  # of the title of a row with a name of 200 characters
BIDI_CONTROLS: Final = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
"""The control characters that change the direction of the text after them."""
DIRECTIONS: Final = {"R", "AL", "AN"}  # of characters that run from right to left
DIRECTION_MARKS: Final = "\u200e\u200f\u061c"
SHORT_CHARACTERS_MAX: Final = 400
"""Of a name, a type and a status: forms take names of 200 characters, and the API has no limit."""
ISOLATE: Final = "\u2068{}\u2069"


def status(value: object) -> str:
    """Return a common status in words, and any other status unchanged.

    >>> status("in_progress"), status("Held up"), status(""), status(None)
    ('In progress', 'Held up', '', '–')
    """
    if value is None:
        return "–"
    text = str(value)
    return words(text) if text in INSPECTION_STATUSES else short(text)


def type_name(value: object) -> str:
    """Return a common inspection type in words, and any other type with a capital first letter.

    >>> type_name("fire"), type_name("HVAC check"), type_name("roof")
    ('Fire', 'HVAC check', 'Roof')
    """
    text = str(value)
    return words(text) if text in INSPECTION_TYPES else capital(short(text))


def words(text: str) -> str:
    """Return a value or a name of the schema in words.

    >>> words("client_manager"), words("annual")
    ('Client manager', 'Annual')
    """
    return capital(text.replace("_", " "))


def rule(value: object) -> str:
    """Return an access rule in words."""
    return RULES.get(str(value), str(value))


def isolated(text: str) -> str:
    """Return a text that does not change the direction of the text around it.

    Controls of the direction are left out. A text from right to left is within isolates, which work in titles and
    options, too.

    >>> isolated("Mill\u202e Court"), isolated("\u05d0") == "\u2068\u05d0\u2069"
    ('Mill Court', True)
    """
    if text.isascii():
        return text
    text = text.translate(BIDI_CONTROLS)
    turns = any(each in DIRECTION_MARKS or unicodedata.bidirectional(each) in DIRECTIONS for each in text)
    return ISOLATE.format(text) if turns else text


def cut(text: str, characters_max: int) -> str:
    return text if len(text) <= characters_max else f"{text[: characters_max - 1].rstrip()}…"


def short(text: str, characters_max: int = SHORT_CHARACTERS_MAX) -> str:
    """Return a text that is not expected to be longer, isolated."""
    return isolated(cut(text, characters_max))


def name(value: object, characters_max: int = SHORT_CHARACTERS_MAX) -> str:
    """Return a name as an isolated text, or a placeholder if nothing of it is visible.

    >>> name("Mill Court"), name("Mill Court", 5), name("  "), name("ab\u202ecd")
    ('Mill Court', 'Mill…', '(no name)', 'abcd')
    """
    text = str(value)
    if not any(character.isprintable() and not character.isspace() for character in text.translate(BIDI_CONTROLS)):
        return NO_NAME
    return short(text, characters_max)


def email_parts(text: str) -> list[str]:
    """Return the parts of an e-mail, between which a line may break. Any other text is one part.

    >>> email_parts("ines.vega@fieldwork.example"), email_parts("12.5 at 3.")
    (['ines.', 'vega@', 'fieldwork.', 'example'], ['12.5 at 3.'])
    """
    is_email = "@" in text and not re.search(r"\s", text)
    return re.split(r"(?<=[@.])(?=.)", text) if is_email else [text]


def short_name(value: str) -> str:
    """Return a name cut to the length that a message allows."""
    return name(value, MESSAGE_NAME_CHARACTERS_MAX)


def short_title(title: str) -> str:
    """Return the title of a row for an option or a message, which would not wrap or fit a longer one."""
    return title if len(title) <= TITLE_CHARACTERS_MAX else name(title, TITLE_CHARACTERS_MAX)


def capital(text: str) -> str:
    """Return a text with a capital first letter. Leave the other letters unchanged.

    >>> capital("annual"), capital("HVAC check"), capital("")
    ('Annual', 'HVAC check', '')
    """
    return text[:1].upper() + text[1:]


def day(value: object) -> str:
    """Return the date of a timestamp, or a dash."""
    return long_day(local_time(str(value)).date()) if value else "–"


def long_day(value: object) -> str:
    """Return a date as every page shows it.

    >>> long_day("2026-11-08"), long_day(None)
    ('8 Nov 2026', 'no date')
    """
    if not value:
        return "no date"
    date = datetime.date.fromisoformat(str(value))
    return f"{date.day} {date:%b} {date.year}"


def lateness(value: object, today: datetime.date) -> str:
    """Return how late an inspection of a date is, or how many days ahead.

    >>> today = datetime.date(2026, 3, 10)
    >>> lateness("2026-03-09", today), lateness("2026-01-01", today), lateness("2026-03-10", today)
    ('late by 1 day', 'late by 68 days', 'today')
    >>> lateness("2026-03-12", today), lateness(None, today)
    ('in 2 days', '')
    """
    if not value:
        return ""
    days = (datetime.date.fromisoformat(str(value)) - today).days
    return distance(days, "day") if days else "today"


def deadline(value: object, now: datetime.datetime) -> str:
    """Return how late a deadline is, or how far ahead: in hours up to two days, else in days.

    >>> now = datetime.datetime(2026, 3, 10, 12, tzinfo=datetime.UTC)
    >>> [deadline(f"2026-03-{text}:00+00:00", now) for text in ("10T11:01", "10T18:30", "11T14:00", "13T11:00")]
    ['late by 1 hour', 'in 6 hours', 'in 26 hours', 'in 2 days']
    >>> deadline("2026-03-01T11:00:00+00:00", now)
    'late by 9 days'
    """
    hours = (datetime.datetime.fromisoformat(str(value)) - now) / datetime.timedelta(hours=1)
    if abs(hours) < HOURS_SHOWN_MAX:
        return distance(int(hours) if hours > 0 else min(-1, int(hours)), "hour")
    return distance(int(hours / 24), "day")


def distance(number: int, unit: str) -> str:
    """Return a number of days or hours ahead, or behind if it is negative."""
    text = f"{abs(number):,} {unit}{'' if abs(number) == 1 else 's'}"
    return f"late by {text}" if number < 0 else f"in {text}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "schedule"), counted(2_000, "schedule")
    ('1 schedule', '2,000 schedules')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def interval(every: int, unit: str) -> str:
    """Return the interval of a schedule.

    >>> interval(1, "year"), interval(3, "month")
    ('every year', 'every 3 months')
    """
    return f"every {unit}" if every == 1 else f"every {every:,} {unit}s"


def moment(value: object) -> str:
    """Return a timestamp to the minute, such as "5 May 2025, 09:30 EDT", or a dash."""
    return f"{day(value)}, {clock(value)}" if value else "–"


def clock(value: object) -> str:
    """Return the time of day of a timestamp, such as "09:30 EDT"."""
    local = local_time(str(value))
    return f"{local:%H:%M} {zone_name(local)}"


def unix_date(unix: int | None) -> str:
    """Return the date of a Unix time in seconds."""
    return unix_moment(unix).partition(",")[0]


def unix_moment(unix: int | None) -> str:
    """Return a Unix time in seconds to the minute."""
    return "never" if unix is None else moment(datetime.datetime.fromtimestamp(unix, datetime.UTC).isoformat())


def byte_size(size: int) -> str:
    """Return a number of bytes in the unit in which it has two digits or more.

    >>> byte_size(20_971_520), byte_size(9_000)
    ('20 MiB', '9,000 bytes')
    """
    unit = "bytes"
    for larger in ("KiB", "MiB"):
        if size >= 10_240:
            size, unit = size // 1_024, larger
    return f"{size:,} {unit}"


def thousands(value: object) -> str:
    """Return an integer with thousands separators, and any other value as text.

    >>> thousands(2000000), thousands(None)
    ('2,000,000', 'None')
    """
    return f"{value:,}" if isinstance(value, int) else str(value)


def badge(value: object) -> str:
    """Return the CSS suffix of a status or a severity."""
    return BADGES.get(str(value), "other")


def url_part(value: object) -> str:
    """Return a value percent-encoded for a URL."""
    return quote(str(value), safe="")


FILTERS: Final[tuple[Callable[..., object], ...]] = (
    status,
    type_name,
    words,
    rule,
    short,
    name,
    email_parts,
    capital,
    day,
    long_day,
    lateness,
    deadline,
    counted,
    interval,
    moment,
    thousands,
    unix_date,
    unix_moment,
    badge,
    url_part,
)
"""The functions that templates use as filters under their own names."""


Row = dict[str, Any]


def inspection_title(row: Row) -> str:
    """Return such as "Annual at Elm Street 5, 28 Nov 2026"."""
    return f"{visit_title(row)}, {long_day(row['date_visited'])}"


def visit_title(row: Row) -> str:
    """Return the title of an inspection where its date is beside it."""
    return at_building(type_name(row["inspection_type"]), row)


def type_cell(row: Row) -> tuple[str, str]:
    return type_name(row["inspection_type"]), ""


def finding_title(row: Row) -> str:
    """Return such as "Smoke alarm, 3D bathroom at Elm Street 5"."""
    what = ", ".join(short(each) for each in (row["item"] or row["description"], row["place"]) if each)
    return at_building(what, row.get("inspections") or {})


def schedule_title(row: Row) -> str:
    """Return such as "Fire, Sprinklers at Elm Street 5"."""
    return at_building(schedule_name(row), row)


def schedule_name(row: Row) -> str:
    """Return the title of a schedule on the page of its building."""
    return ", ".join((type_name(row["inspection_type"]), *([short(row["title"])] if row["title"] else [])))


def at_building(what: str, row: Row) -> str:
    return f"{what} at {name(row['buildings']['name'])}" if row.get("buildings") else what


def person_title(user: str, inspector: str) -> str:
    """Return the names of a user and of their inspector, which may differ.

    >>> person_title("Ann Lee", "A. Lee"), person_title("Ann Lee", "Ann Lee")
    ('Ann Lee (inspector: A. Lee)', 'Ann Lee')
    """
    return name(user) if user == inspector else f"{name(user)} (inspector: {name(inspector)})"


def user_title(row: Row) -> str:
    """Return the name of a user, with that of the inspector as whom they sign in. A deactivated user looks it."""
    both = person_title(row["name"], row["inspectors"]["name"] if row.get("inspectors") else row["name"])
    return f"{both} (deactivated)" if row.get("is_deactivated") else both


def inspector_title(row: Row) -> str:
    """Return the name of an inspector, with that of their user if the caller reads it."""
    return person_title(row["users"]["name"] if row.get("users") else row["name"], row["name"])


TITLES: Final = (inspection_title, visit_title, finding_title, user_title)
"""The functions that templates use as filters under their own names."""
