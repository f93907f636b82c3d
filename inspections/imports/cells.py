"""The values of cells: dates of the named format, measurements with their unit, and words.

Types convert the values further (models/types.py). Nothing is guessed: what has no meaning raises UnfitCell.
"""

from __future__ import annotations

import re
from typing import Final

from engine.query.catalog import Attribute
from inspections.faults import UnfitCell
from models.types import DATE, DATE_TEXT, TEXT, TIMESTAMP, Bound
from models.vocabulary import READING_RESULTS

DATE_FORMATS: Final = ("ymd", "mdy", "dmy")
YMD, MDY, DMY = DATE_FORMATS

LOCAL_DATE: Final = re.compile(r"([0-9]{1,2})([/.-])([0-9]{1,2})\2([0-9]{4})(?![0-9])", re.ASCII)
CLOCK: Final = re.compile(
    r"[ T]+([0-9]{1,2}):([0-9]{2})((?::[0-9]{2}(?:\.[0-9]+)?)?)\s*(?:([ap])\.?m\.?)?([+-].*|z)?",
    re.ASCII | re.IGNORECASE,
)
END_OF_DAY: Final = "T23:59:59"
DEADLINE: Final = "due_at"

MEASUREMENT: Final = re.compile(r"([<>]?)\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))\s*(.*)", re.ASCII | re.DOTALL)
MEASUREMENT_UNIT: Final = re.compile(r"(?:mg\s*/\s*(?:cm\s*\^?\s*2|cm²|sq\.?\s*cm))?", re.IGNORECASE)
NO_NUMBER: Final = frozenset({"-", "–", "n/a", "nd", "<lod", "lod"})
"""Words of an instrument that measured nothing that it could detect."""


def read_date(text: str, date_format: str) -> str:
    """Return a date, or a date and time, in the form that the types read. Another order than the named one stays.

    >>> read_date("5/4/2026", "mdy"), read_date("5/4/2026", "dmy"), read_date("5/4/2026", "ymd")
    ('2026-05-04', '2026-04-05', '5/4/2026')
    >>> read_date("5/4/2026 9:12 PM", "mdy"), read_date("2026-05-04 9:12", "ymd")
    ('2026-05-04T21:12', '2026-05-04T09:12')
    """
    day, rest = text, ""
    if found := LOCAL_DATE.match(text):
        if date_format == YMD:
            return text
        month, number = (found[1], found[3]) if date_format == MDY else (found[3], found[1])
        day, rest = f"{found[4]}-{int(month):02}-{int(number):02}", text[found.end() :]
    elif " " in text or "T" in text:
        end = min(text.find(each) for each in " T" if each in text)
        day, rest = text[:end], text[end:]
    clock = CLOCK.fullmatch(rest)
    if clock is None:
        return day + rest
    hours, half = int(clock[1]), (clock[4] or "").lower()
    if half:
        if not 1 <= hours <= 12:
            raise UnfitCell(f'"{text[:200]}" is no time')
        hours = hours % 12 + (12 if half == "p" else 0)
    return f"{day}T{hours:02}:{clock[2]}{clock[3]}{clock[5] or ''}"


def read_measurement(text: str) -> tuple[str | None, str | None, str | None]:
    """Return the number of a measurement, the qualifier before it, and a result that stands in its place.

    >>> read_measurement("1.5 mg/cm²"), read_measurement("< 0.03"), read_measurement("Negative")
    (('1.5', None, None), ('0.03', '<', None), (None, None, 'negative'))
    """
    if text.lower() in READING_RESULTS:
        return None, None, text.lower()
    if text.lower().replace(" ", "") in NO_NUMBER:
        return None, None, None
    found = MEASUREMENT.fullmatch(text)
    if found is None:
        raise UnfitCell(f'"{text[:200]}" is no measurement')
    require_unit(found[3])
    return found[2], found[1] or None, None


def require_unit(text: str) -> None:
    """Raise UnfitCell unless a unit is mg/cm²."""
    if MEASUREMENT_UNIT.fullmatch(text.strip()) is None:
        raise UnfitCell(f'the unit is mg/cm², not "{text.strip()[:200]}"')


def read_word(attribute: Attribute, text: str) -> Bound:
    """Return the word of the column's vocabulary that a text spells, for example `in_progress` for `In Progress`."""
    word = "_".join(text.lower().replace("-", " ").split())
    return word if word in (*attribute.info.allowed_values, *attribute.info.common_values) else text


def read_cell(attribute: Attribute, text: str, date_format: str) -> Bound:
    """Return the value of a cell that is no measurement. A deadline without a time ends with its day."""
    if attribute.type in (DATE, TIMESTAMP):
        moment = read_date(text, date_format)
        return moment + END_OF_DAY if attribute.name == DEADLINE and DATE_TEXT.fullmatch(moment) else moment
    return read_word(attribute, text) if attribute.type is TEXT else text
