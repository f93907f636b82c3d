"""The columns that files have, and the values of their cells.

A column has names and the field that it fills. The lines of an instrument's file are shots of paint, shots of a
standard, or neither. Cells are dates of the named format, measurements with their unit, and words. models/types.py
converts the values further. Nothing is guessed: what has no meaning raises UnfitCell. The deadlines of New York's
violations follow from their classes.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from decimal import Decimal
from functools import cache
from typing import Final

from engine.interface.database import Transaction
from engine.query.catalog import Attribute, Relation, catalog
from inspections.deadlines import end_of_day
from inspections.faults import InvalidImport, UnfitCell
from models.types import (
    DATE,
    DATE_TEXT,
    DOUBLE,
    TEXT,
    TIMESTAMP,
    Bound,
    DatetimeOutOfRange,
    InvalidDatetime,
    write_timestamp,
)
from models.vocabulary import INCONCLUSIVE, LEAD, LIFE_THREATENING, LOW, MODERATE, NEGATIVE, POSITIVE, QUALIFIERS, XRF

TARGETS: Final = ("buildings", "inspections", "reports_lead", "calibration_checks", "findings", "schedules")
BUILDINGS, INSPECTIONS, READINGS, CHECKS, FINDINGS, SCHEDULES = TARGETS
DEVICES: Final = ("viken_pb200i", "niton")
OWN_FORMAT: Final = "walkthrough"
PRESETS: Final = (*DEVICES, OWN_FORMAT)

MEASURED: Final = "lead_mg_cm2"
SHARE: Final = "lead_percent"
DUE_AT: Final = "due_at"
FOUND_AT: Final = "found_at"
TAKEN_AT: Final = "taken_at"

# Fields of a file that are no columns of the target.
UNIT: Final = "unit"
"""The unit of a measurement, which is compared and not stored."""
SHOT: Final = "shot_type"
"""What the instrument measured: paint, or itself."""
JOB: Final = "job"
"""The job, site or building of a line. A file with several of them needs the visit of each."""
CURRENT_STATUS: Final = "current_status"
"""The status that a city gives a violation."""
CLOSED_ON: Final = "closed_on"
"""The day on which a city closed a violation."""
FILE_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    READINGS: (UNIT, SHOT, JOB),
    CHECKS: (JOB,),
    FINDINGS: (CURRENT_STATUS, CLOSED_ON, JOB),
}

JOINED_FIELDS: Final = frozenset({"room", "place", "component"})
"""Texts to which several columns contribute."""
ALTERNATIVE_FIELDS: Final = frozenset({DUE_AT, CLOSED_ON})
"""Fields that several columns fill: the first one with a value counts."""

PART: Final = ", {}"
WORD: Final = " {}"

LETTERS_MIN: Final = 4
"""XRF instruments cut the names of columns. A name of this length is enough, if only one column begins with it."""
NO_LETTER: Final = re.compile(r"[^a-z0-9]+")
NAME_CHARACTERS_MAX: Final = 200
BRACKETS: Final = re.compile(r"[(\[]([^()\[\]]*)[)\]]\Z")
UNIT_SUFFIX: Final = re.compile(r"\s(mg\s*/\s*cm\s*\^?\s*(?:2|²))\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """A column of files: the field that it fills, and its names in small letters and digits.

    `part` is its place in a text to which several columns contribute, and `words` are the values that its words mean.
    """

    field: str
    names: tuple[str, ...]
    part: str = PART
    words: Mapping[str, str] = dataclass_field(default_factory=dict, hash=False)
    is_cut: bool = False
    """An XRF instrument may cut the name."""


def device_source(name: str, *names: str, part: str = PART) -> Source:
    return Source(name, names, part, is_cut=True)


DEVICE_SOURCES: Final = {
    DEVICES[0]: (
        device_source("reading_no", "reading"),
        device_source(MEASURED, "concentration"),
        device_source("result", "result"),
        device_source("component", "component"),
        device_source("color", "color", "colour"),
        device_source("substrate", "substrate"),
        device_source("room", "roomtype"),
        device_source("room", "roomnumber", part=WORD),
        device_source("wall", "side"),
        device_source("condition", "condition"),
        device_source(UNIT, "unit"),
    ),
    DEVICES[1]: (
        device_source("reading_no", "readingno", "readingnumber"),
        device_source(TAKEN_AT, "time", part=WORD),
        device_source("component", "component"),
        device_source("substrate", "substrate"),
        device_source("wall", "side"),
        device_source("condition", "condition"),
        device_source("color", "color", "colour"),
        device_source("room", "room"),
        device_source("room", "floor", part=", floor {}"),
        device_source("result", "results"),
        device_source(MEASURED, "pbc"),
        device_source(UNIT, "units"),
    ),
}

READING_DATE: Final = Source(TAKEN_AT, ("date", "readingdate"), part=WORD)
"""A day, to which a column with the time of day may add."""
DWELLING: Final = Source("dwelling", ("apt", "apartment", "aptno", "unitno", "unitnumber"))

READING_SOURCES: Final = (
    READING_DATE,
    Source(TAKEN_AT, ("datetime", "dateandtime", "timestamp")),
    Source(MEASURED, ("pb", "value")),
    Source(SHARE, ("ppm", "leadppm", "pbppm", "mgkg", "leadmgkg", "percentlead", "pbpercent")),
    Source("sample_no", ("sampleid", "samplenumber", "samplenumbers", "labid")),
    Source("lab_name", ("lab", "labname")),
    Source("reported_on", ("reportdate", "datereported", "reportedon")),
    Source("condition", ("paintcondition",)),
    Source("component", ("surface",)),
    Source("component", ("structure",), part=WORD),
    Source("component", ("feature",), part=WORD),
    Source("component", ("member",), part=WORD),
    DWELLING,
    Source("note", ("notes",)),
    Source(SHOT, ("type", "readingtype")),
)
"""Names that exports of several instruments have."""
LATER_SOURCES: Final = (Source("room", ("location",)),)
"""Names whose texts follow those of an instrument."""

JOB_SOURCE: Final = Source(
    JOB, ("job", "jobid", "jobno", "jobnumber", "jobname", "site", "siteid", "siteno", "sitename", "project")
)

CLASSES: Final[Mapping[str, str]] = {"c": LIFE_THREATENING, "b": MODERATE, "a": LOW, "i": LOW}
"""The severity by New York's class of a violation. Class I informs, and demands nothing until a day."""

VIOLATION_SOURCES: Final = (
    Source("code", ("violationid",)),
    Source("place", ("apartment", "apt", "unit", "location")),
    Source("place", ("story",), part=", story {}"),
    Source("severity", ("violationclass", "class"), words=CLASSES),
    Source(FOUND_AT, ("inspectiondate",)),
    Source(DUE_AT, ("newcorrectbydate",)),
    Source(DUE_AT, ("originalcorrectbydate",)),
    Source("description", ("novdescription",)),
    Source(CURRENT_STATUS, ("currentstatus", "violationstatus")),
    Source(CLOSED_ON, ("currentstatusdate",)),
    Source(CLOSED_ON, ("certifieddate",)),
    Source(JOB, ("buildingid",)),
)
"""New York's violations of the Housing Maintenance Code."""

MEASURED_NAMES: Final = frozenset({"reading", "result", "results", LEAD, "pb", XRF})
"""Names that mean the measurement if the unit stands behind them."""

UNUSED_NAMES: Final[Mapping[str, frozenset[str]]] = {
    READINGS: frozenset({"pbcerror", "sequence", "readingduration", "duration"}),
    FINDINGS: frozenset(
        {
            "registrationid", "boroid", "boro", "borough", "housenumber", "lowhousenumber", "highhousenumber",
            "streetname", "streetcode", "postcode", "zip", "block", "lot", "approveddate", "originalcertifybydate",
            "newcertifybydate", "ordernumber", "novid", "novissueddate", "novtype", "currentstatusid", "latitude",
            "longitude", "communityboard", "councildistrict", "censustract", "bin", "bbl", "nta", "rentimpairing",
        }
    ),
}  # fmt: skip
"""Names of columns that the target has no field for. An import does not warn that they are left out."""


def letters(name: str) -> str:
    """Return a name in small letters and digits.

    >>> letters("Reading #"), letters("ROOM NUM")
    ('reading', 'roomnum')
    """
    return NO_LETTER.sub("", name.lower())


def split_unit(name: str) -> tuple[str, str]:
    """Return the name of a column, and the unit or remark behind it.

    >>> split_unit("PbC (mg/cm2)"), split_unit("Reading mg/cm²"), split_unit("Room")
    (('PbC', 'mg/cm2'), ('Reading', 'mg/cm²'), ('Room', ''))
    """
    name = name.strip()
    found = BRACKETS.search(name) or UNIT_SUFFIX.search(name)
    return (name[: found.start()].rstrip(), found[1].strip()) if found is not None and found.start() else (name, "")


def own_sources(relation: Relation) -> Iterator[Source]:
    """Yield the columns by their own names and labels. A file cannot choose keys, times and values of the service."""
    references = {each.column for each in relation.foreign_keys}
    for name, each in relation.attributes.items():
        if name in relation.key or each.info.service or name in ("created_at", "updated_at"):
            continue
        label = letters(each.info.label) if name not in references else ""
        yield Source(name, tuple(filter(None, (letters(name), label))))


@cache
def sources_of(target: str, preset: str | None) -> tuple[Source, ...]:
    """Return the columns that files of a preset have; raise InvalidImport if the preset is one of another target."""
    if preset in DEVICES and target != READINGS:
        raise InvalidImport(f"the preset {preset} needs p_target {READINGS}")
    own = tuple(own_sources(catalog().relations[target]))
    if preset == OWN_FORMAT:
        return own
    if target == READINGS:
        devices = [DEVICE_SOURCES[each] for each in DEVICES if preset in (None, each)]
        device = tuple(each for found in devices for each in found)
        return (*own, *READING_SOURCES, *device, *LATER_SOURCES, JOB_SOURCE)
    if target == FINDINGS:
        return (*own, *VIOLATION_SOURCES, JOB_SOURCE)
    return (*own, JOB_SOURCE) if target == CHECKS else own


def find_source(sources: Sequence[Source], name: str) -> Source | None:
    """Return the source of a column; None if its name is unknown, or cut and ambiguous.

    A unit or a remark behind the name does not count, except that it tells a measurement from a number.
    """
    if len(name) > NAME_CHARACTERS_MAX:
        return None
    exact = next((each for each in sources if letters(name) in each.names), None)
    bare, unit = split_unit(name)
    if exact is not None and not unit:
        return exact
    word = letters(bare)
    if not word:
        return exact
    if unit and word in MEASURED_NAMES and is_measure(unit):
        field = SHARE if SHARE_UNIT.fullmatch(unit) else MEASURED
        return next((each for each in sources if each.field == field), None)
    exact = exact or next((each for each in sources if word in each.names), None)
    if exact is not None or len(word) < LETTERS_MIN:
        return exact
    cut = [each for each in sources if each.is_cut and any(known.startswith(word) for known in each.names)]
    return cut[0] if len({(each.field, each.part) for each in cut}) == 1 else None


MEASURE: Final = re.compile(
    r"m?g\s*/\s*(?:cm\s*\^?\s*[2²]|sq\.?\s*cm|kg|g|l|ft\s*\^?\s*[2²])|[uµμ]g\s*/\s*\S+|ppm|ppb|cps|%|percent|wt\.?\s*%?",
    re.IGNORECASE,
)


SHARE_UNIT: Final = re.compile(r"ppm|mg\s*/\s*kg|[uµμ]g\s*/\s*g|%|percent|wt\.?\s*%?", re.IGNORECASE)
"""The units of a share by weight."""


def is_measure(text: str) -> bool:
    """Return whether a text is a unit of measure.

    >>> is_measure("mg / cm ^2"), is_measure("cps"), is_measure("3D")
    (True, True, False)
    """
    return MEASURE.fullmatch(text.strip()) is not None


DATE_FORMATS: Final = ("ymd", "mdy", "dmy")
YMD, MDY, DMY = DATE_FORMATS

LOCAL_DATE: Final = re.compile(r"([0-9]{1,2})([/.-])([0-9]{1,2})\2([0-9]{4})(?![0-9])", re.ASCII)
CLOCK: Final = re.compile(
    r"[ T]+([0-9]{1,2}):([0-9]{2})((?::[0-9]{2}(?:\.[0-9]+)?)?)\s*(?:([ap])\.?m\.?)?([+-].*|z)?",
    re.ASCII | re.IGNORECASE,
)
END_OF_DAY: Final = "T23:59:59"

DATE_ONLY: Final = re.compile(r"(\S{8,10})T00:00:00\.000", re.ASCII)
"""A date as open-data portals write it: with a time that says nothing."""
SHORT_YEAR: Final = re.compile(r"[0-9]{1,2}([/.-])[0-9]{1,2}\1[0-9]{1,2}(?![0-9])", re.ASCII)

DECIMAL_MARKS: Final = ("point", "comma")
POINT, COMMA = DECIMAL_MARKS

MEASUREMENT: Final = re.compile(r"([<>]?)\s*([+-]?[0-9.,]+)\s*(.*)", re.ASCII | re.DOTALL)
NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)", re.ASCII)
MEASUREMENT_UNIT: Final = re.compile(r"(?:mg\s*/\s*(?:cm\s*\^?\s*2|cm²|sq\.?\s*cm))?", re.IGNORECASE)
PERCENT_UNIT: Final = re.compile(r"(?:%|percent|wt\.?\s*%?)(?:\s*by\s*(?:weight|wt\.?))?", re.IGNORECASE)
MILLIONTH_UNIT: Final = re.compile(r"ppm|mg\s*/\s*kg|[uµμ]g\s*/\s*g", re.IGNORECASE)
MILLIONTHS_OF_PERCENT: Final = 10_000
NO_NUMBER: Final = frozenset({"-", "–", "n/a"})
"""Words of an instrument that measured nothing."""
UNDETECTED: Final = frozenset({"nd", "<lod", "lod", "<dl"})
"""Words of an instrument for less than it can detect."""
LESS: Final = QUALIFIERS[0]

RESULT_WORDS: Final = {
    **dict.fromkeys((POSITIVE, "pos", "positivo", "positiva", "positif", "positiv"), POSITIVE),
    **dict.fromkeys((NEGATIVE, "neg", "negativo", "negativa", "négatif", "negatif", "negativ"), NEGATIVE),
    **dict.fromkeys((INCONCLUSIVE, "inc", "inconcl", "inconcluso", "inconclusif", "inconclusivo"), INCONCLUSIVE),
}
"""The results by the words of instruments."""


def read_date(text: str, date_format: str) -> str:
    """Return a date, or a date and time, in the form that the types read.

    Raise InvalidDatetime for another order than the named one, and for a year of two digits.

    >>> read_date("5/4/2026", "mdy"), read_date("5/4/2026", "dmy")
    ('2026-05-04', '2026-04-05')
    >>> read_date("5/4/2026 9:12 PM", "mdy"), read_date("2026-05-04T00:00:00.000", "ymd")
    ('2026-05-04T21:12', '2026-05-04')
    """
    if only := DATE_ONLY.fullmatch(text):
        text = only[1]
    day, rest = text, ""
    if found := LOCAL_DATE.match(text):
        if date_format == YMD:
            raise InvalidDatetime(f'"{text[:40]}" is a date in another order than year, month, day')
        month, number = (found[1], found[3]) if date_format == MDY else (found[3], found[1])
        day, rest = f"{found[4]}-{int(month):02}-{int(number):02}", text[found.end() :]
    elif SHORT_YEAR.match(text):
        raise InvalidDatetime(f'the year of "{text[:40]}" has two digits: write it with four')
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


def read_measurement(text: str, decimal: str = POINT) -> tuple[str | None, str | None, str | None]:
    """Return the number of a measurement, the qualifier before it, and a result that stands in its place.

    >>> read_measurement("1.5 mg/cm²"), read_measurement("< 0,03", "comma"), read_measurement("Negative")
    (('1.5', None, None), ('0.03', '<', None), (None, None, 'negative'))
    """
    number, qualifier, result, unit = read_amount(text, decimal)
    require_unit(unit)
    return number, qualifier, result


def read_percent(text: str, decimal: str = POINT, unit: str = "") -> tuple[str | None, str | None, str | None]:
    """Return the share of lead by weight, as `read_measurement`. `unit` is that of the column. ppm are converted.

    >>> read_percent("<40 ppm"), read_percent("5000", unit="mg/kg"), read_percent("0.5 %")
    (('0.004', '<', None), ('0.5', None, None), ('0.5', None, None))
    """
    number, qualifier, result, own = read_amount(text, decimal)
    units = {"ppm" if MILLIONTH_UNIT.fullmatch(each) else "%" for each in (own, unit) if is_share(each)}
    if len(units) > 1:
        raise UnfitCell(f'the unit of the column is "{unit}", not "{own}"')
    if number is not None and units == {"ppm"}:
        share = Decimal(number) / MILLIONTHS_OF_PERCENT
        number = format(share.normalize(), "f")
    return number, qualifier, result


def is_share(unit: str) -> bool:
    """Return whether a unit is a percentage or ppm; False without a unit. Raise UnfitCell for another one."""
    if not unit:
        return False
    if PERCENT_UNIT.fullmatch(unit) is None and MILLIONTH_UNIT.fullmatch(unit) is None:
        raise UnfitCell(f'the unit is % or ppm, not "{unit[:200]}"')
    return True


def read_amount(text: str, decimal: str) -> tuple[str | None, str | None, str | None, str]:
    """Return the number, the qualifier, a result in its place, and the unit of a measurement."""
    word = text.lower()
    if word in RESULT_WORDS:
        return None, None, RESULT_WORDS[word], ""
    word = "".join(word.split())
    if word in NO_NUMBER:
        return None, None, None, ""
    if word in UNDETECTED:
        return None, LESS, None, ""
    found = MEASUREMENT.fullmatch(text)
    number = read_number(found[2], decimal) if found is not None else None
    if found is None or number is None:
        raise UnfitCell(f'"{text[:200]}" is no measurement')
    return number, found[1] or None, None, found[3].strip()


def read_number(text: str, decimal: str) -> str | None:
    """Return a number with a decimal point; None for another text. Raise UnfitCell for the other decimal mark."""
    if decimal == POINT and "," in text:
        raise UnfitCell(f'"{text[:40]}" has a comma, and the decimal mark of the file is a point (p_decimal)')
    if decimal == COMMA and "." in text:
        raise UnfitCell(f'"{text[:40]}" has a point, and the decimal mark of the file is a comma (p_decimal)')
    number = text.replace(",", ".")
    return number if NUMBER.fullmatch(number) else None


def read_result(text: str) -> str:
    """Return the result that a word of an instrument stands for; raise UnfitCell for any other word."""
    result = RESULT_WORDS.get(text.strip().lower())
    if result is None:
        raise UnfitCell(f'"{text[:200]}" is no result: positive, negative or inconclusive')
    return result


def require_unit(text: str) -> None:
    """Raise UnfitCell unless a unit is mg/cm²."""
    if MEASUREMENT_UNIT.fullmatch(text.strip()) is None:
        raise UnfitCell(f'the unit is mg/cm², not "{text.strip()[:200]}"')


def read_word(attribute: Attribute, text: str) -> Bound:
    """Return the word of the column's vocabulary that a text spells, for example `in_progress` for `In Progress`."""
    word = "_".join(text.lower().replace("-", " ").split())
    return word if word in (*attribute.info.allowed_values, *attribute.info.common_values) else text


def read_cell(attribute: Attribute, text: str, date_format: str, decimal: str = POINT) -> Bound:
    """Return the value of a cell that is no measurement."""
    if attribute.type in (DATE, TIMESTAMP):
        return deadline_of(attribute, read_date(text, date_format))
    if attribute.type is DOUBLE:
        return read_number(text, decimal) or text
    return read_word(attribute, text) if attribute.type is TEXT else text


def deadline_of(attribute: Attribute, value: Bound) -> Bound:
    """Return a value, or the end of its day if it is a deadline without a time."""
    is_day = attribute.name == DUE_AT and isinstance(value, str) and DATE_TEXT.fullmatch(value) is not None
    return f"{value}{END_OF_DAY}" if is_day else value


FAILED_WORDS: Final = frozenset({"null", "abort", "aborted", "error", "err", "invalid"})
"""What instruments write for a shot without a measurement."""
COUNTS: Final = "cps"

TOKEN: Final = re.compile(r"[a-z]+")
STANDARD_TOKENS: Final = frozenset(
    {"cal", "calibrate", "calibrated", "calibration", "std", "nist", "srm", "standard", "standards"}
)
"""Words of lines that measure the standard of the instrument."""
SELF_TEST_TOKENS: Final = frozenset({"blank", "shutter"})
"""Words of lines in which the instrument measures no lead."""
OTHER_TOKENS: Final = frozenset(
    {"check", "checks", "reference", "initial", "pre", "post", "start", "end", "final", LEAD, "pb", "mg", "cm", XRF}
)
"""Words that stand beside those."""
PLACE_FIELDS: Final = ("dwelling", "room", "wall", "substrate", "color", "condition")


def tokens_of(text: object) -> list[str]:
    return TOKEN.findall(str(text or "").casefold())


def is_block(text: object, words: frozenset[str]) -> bool:
    """Return whether a text has one of these words, and else only numbers and words that stand beside them.

    >>> is_block("1.02 STD", STANDARD_TOKENS), is_block("Standard door", STANDARD_TOKENS)
    (True, False)
    """
    tokens = tokens_of(text)
    return not words.isdisjoint(tokens) and all(
        each in words or each in OTHER_TOKENS or each in STANDARD_TOKENS for each in tokens
    )


def skip_reason(texts: Mapping[str, str]) -> str | None:
    """Return why a line of readings is none; None if it is a reading or part of a calibration check.

    A shutter of a building has a place or a substrate. The shutter of an instrument has neither.
    """
    for name in ("result", MEASURED, SHOT):
        if texts.get(name, "").lower() in FAILED_WORDS:
            return f"the shot failed: {texts[name].lower()}"
    if is_block(texts.get(SHOT), SELF_TEST_TOKENS):
        return f"the instrument tested itself: {texts[SHOT][:40]}"
    if texts.get(UNIT, "").lower() == COUNTS or texts.get(MEASURED, "").lower().endswith(COUNTS):
        return "counts per second are no amount of lead"
    if is_block(texts.get("component"), SELF_TEST_TOKENS) and not any(map(texts.get, PLACE_FIELDS)):
        return f"the instrument tested itself: {texts['component'][:40]}"
    return None


CLASS: Final = "violation_class"
"""The class of a violation, as a field of the file."""

CLASS_DAYS: Final = {"a": 90, "b": 30}
"""The days to correct a violation: New York City Administrative Code, section 27-2115(c)."""
LEAD_DAYS: Final = 21
"""The days to correct a lead violation of class C: the same Code, section 27-2115(l)."""
LEAD_WORDS: Final = frozenset({"paint", "based", "hazard", "hazards"})
HOURS_OF_CLASS_C: Final = 24
INFORMATION: Final = "i"
"""The class of an order that informs. Nothing has to be corrected until a day."""


def add_deadline(transaction: Transaction, values: dict[str, Bound], file_values: Mapping[str, Bound]) -> None:
    """Give a finding without a deadline that of its class. Otherwise the write computes it."""
    letter = file_values.get(CLASS)
    if values.get(DUE_AT) is not None or letter in (None, INFORMATION):
        return
    found = values.get(FOUND_AT)
    start = datetime.datetime.fromisoformat(str(found)) if found is not None else transaction.moment
    due = deadline_of_class(str(letter), tokens_of(values.get("description")), start, transaction.time_zone)
    if due is not None:
        values[DUE_AT] = write_timestamp(due)


def deadline_of_class(
    letter: str, description: list[str], start: datetime.datetime, zone: datetime.tzinfo
) -> datetime.datetime | None:
    """Return the deadline of a violation; None if its class says none. Raise DatetimeOutOfRange beyond the year 9999.

    Class C has 24 hours where the order says so. Without such words the deadline of the severity applies.
    """
    days = CLASS_DAYS.get(letter)
    if letter == "c" and LEAD in description and not LEAD_WORDS.isdisjoint(description):
        days = LEAD_DAYS
    elif letter == "c" and ("immediately" in description or "hours" in description):
        return start.astimezone(datetime.UTC) + datetime.timedelta(hours=HOURS_OF_CLASS_C)
    if days is None:
        return None
    try:
        return end_of_day(start.astimezone(zone).date() + datetime.timedelta(days=days), zone).astimezone(datetime.UTC)
    except OverflowError:
        raise DatetimeOutOfRange("the deadline is out of range") from None
