"""One row per column type: how it reads query text, JSON and CSV, and how a document names it.

Values come in as text (query strings, CSV cells) or as JSON, and leave as what the database binds.
The messages are PostgreSQL's, since clients know them. Nothing here knows a column or a caller.
"""

from __future__ import annotations

import datetime
import json
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from models.errors import Fault

Bound = str | int | float | None
"""What a database is handed: both drivers bind these, and both databases store them as they are."""

TEXT_BYTES_MAX = 65_536  # 64 KiB, in UTF-8


class InvalidInput(Fault):
    """A value that is not of its column's type (22P02; 22007 for a date or time)."""


class InvalidDatetime(Fault):
    """Text that has not the form of a date or time (22007)."""


class DatetimeOutOfRange(Fault):
    """A date or time that has the form and does not exist (22008)."""


class DisplacementOutOfRange(Fault):
    """An offset from UTC that no place has (22009)."""


class UnknownTimezone(Fault):
    """A time zone that there is none of (22023)."""


class OutOfRange(Fault):
    """A number too large for its type (22003)."""


class TextTooLong(Fault):
    """More than TEXT_BYTES_MAX bytes of text (22001)."""


class NulInText(Fault):
    """Text holding a NUL (22P05)."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type by PostgreSQL's name, and its ways in."""

    name: str
    read_text: Callable[[str], Bound]
    read_json: Callable[[object], Bound]
    storage: Any
    schema: tuple[tuple[str, object], ...]
    numeric: bool = False


def invalid(name: str, shown: str) -> InvalidInput:
    return InvalidInput(f'invalid input syntax for type {name}: "{shown[:200]}"')


INTEGER_TEXT = re.compile(r"[ \t\n\r\f\v]*[+-]?[0-9]+[ \t\n\r\f\v]*", re.ASCII)
FLOAT_TEXT = re.compile(
    r"[ \t\n\r\f\v]*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t\n\r\f\v]*", re.ASCII
)
DIGITS_MAX = 400  # int() and float() are quadratic or refuse beyond a few thousand digits


def read_integer(name: str, low: int, high: int) -> Callable[[str], int]:
    """A reader of decimal whole numbers between low and high."""

    def read(text: str) -> int:
        if not INTEGER_TEXT.fullmatch(text):
            raise invalid(name, text)
        number = int(text) if len(text) <= DIGITS_MAX else high + 1
        if not low <= number <= high:
            raise OutOfRange(f'value "{text[:200]}" is out of range for type {name}')
        return number

    return read


def read_double(text: str, name: str = "double precision") -> float:
    """A finite double; NaN and Infinity are refused, JSON having no words for them."""
    if not FLOAT_TEXT.fullmatch(text) or len(text) > DIGITS_MAX:
        raise invalid(name, text)
    number = float(text)
    if (number == 0 and has_vanished(text)) or number in (float("inf"), float("-inf")):
        raise OutOfRange(f'"{text[:200]}" is out of range for type {name}')
    return number


def has_vanished(text: str) -> bool:
    """Whether a number that came to nothing was written as something: it is too small for a double.

    >>> has_vanished("1e-400"), has_vanished("-0.0e7")
    (True, False)
    """
    return any(digit in "123456789" for digit in re.split("[eE]", text)[0])


def read_string(text: str) -> str:
    """Text as given, without NUL, at most TEXT_BYTES_MAX bytes."""
    if "\0" in text:
        raise NulInText(
            "unsupported Unicode escape sequence", "\\u0000 cannot be converted to text."
        )
    if len(text) * 4 > TEXT_BYTES_MAX and len(text.encode()) > TEXT_BYTES_MAX:
        raise TextTooLong(f"value too long: text holds at most {TEXT_BYTES_MAX} bytes")
    return text


DAY = datetime.timedelta(days=1)
DATE_TEXT = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", re.ASCII)
TIME_TEXT = re.compile(
    r"[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
    r"[ ]?(Z|z|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?)?",
    re.ASCII,
)


def read_day(text: str, name: str) -> tuple[datetime.date, str]:
    """The calendar date that a text begins with, and the rest of it."""
    found = DATE_TEXT.match(text)
    if found is None or found[1] == "0000":
        raise InvalidDatetime(f'invalid input syntax for type {name}: "{text[:200]}"')
    try:
        return datetime.date(int(found[1]), int(found[2]), int(found[3])), text[found.end() :]
    except ValueError:
        raise out_of_range(text) from None


def read_date(text: str) -> str:
    """A calendar date; of a timestamp the day as written, as PostgreSQL has it."""
    day, rest = read_day(text.strip(), "date")
    if rest:
        read_clock(rest, "date", text)
    return day.isoformat()


def read_timestamp(text: str, zone: ZoneInfo | None = None) -> str:
    """A moment in ISO 8601, as stored; without an offset it is in `zone`, or UTC.

    >>> read_timestamp("2025-05-05T11:30:15.1200+02:00")
    '2025-05-05T09:30:15.12+00:00'
    """
    name = "timestamp with time zone"
    day, rest = read_day(text.strip(), name)
    clock, offset = read_clock(rest, name, text) if rest else (datetime.timedelta(), None)
    midnight = datetime.datetime(
        day.year, day.month, day.day, tzinfo=offset or zone or datetime.UTC
    )
    try:
        return write_timestamp(later_reading(midnight + clock).astimezone(datetime.UTC))
    except (ValueError, OverflowError):
        raise out_of_range(text) from None


def read_clock_face(text: str) -> str:
    """A timestamp without a time zone: what a text says of a day and a clock, whatever offset stands behind them.

    >>> read_clock_face("2025-05-05T11:30:15.1200+02:00"), read_clock_face("2025-05-05 24:00")
    ('2025-05-05T11:30:15.12', '2025-05-06T00:00:00')
    """
    name = "timestamp"
    day, rest = read_day(text.strip(), name)
    clock, _ = read_clock(rest, name, text) if rest else (datetime.timedelta(), None)
    try:
        return write_timestamp(datetime.datetime(day.year, day.month, day.day) + clock)  # noqa: DTZ001
    except OverflowError:
        raise out_of_range(text) from None


def read_time(text: str) -> str:
    """A time of day; a day may stand before it, and an offset behind it.

    >>> read_time("11:30"), read_time("2025-05-05 11:30:15.50+02:00"), read_time("24:00")
    ('11:30:00', '11:30:15.5', '24:00:00')
    """
    name, stripped = "time", text.strip()
    rest = read_day(stripped, name)[1] if DATE_TEXT.match(stripped) else f" {stripped}"
    if not rest.startswith(" "):
        raise InvalidDatetime(f'invalid input syntax for type {name}: "{text[:200]}"')
    clock, _ = read_clock(rest, name, text)
    face = write_timestamp(datetime.datetime(1, 1, 1) + clock)[11:]  # noqa: DTZ001
    return "24:00:00" if clock == DAY else face


def later_reading(local: datetime.datetime) -> datetime.datetime:
    """Of the two moments that a clock which was set back says alike, the second, as PostgreSQL has it.

    >>> later_reading(datetime.datetime(2025, 10, 26, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))).isoformat()
    '2025-10-26T02:30:00+01:00'
    """
    later = local.replace(fold=1)
    before, after = local.utcoffset(), later.utcoffset()
    return later if before is not None and after is not None and after < before else local


def read_clock(
    rest: str, name: str, text: str
) -> tuple[datetime.timedelta, datetime.tzinfo | None]:
    """What a text says after its date: the time since midnight, up to the next one, and the offset."""
    found = TIME_TEXT.fullmatch(rest)
    if found is None:
        raise InvalidDatetime(f'invalid input syntax for type {name}: "{text[:200]}"')
    hours, minutes, seconds = int(found[1]), int(found[2]), int(found[3] or 0)
    microseconds = round(int((found[4] or "0").ljust(9, "0")) / 1000)
    clock = datetime.timedelta(
        hours=hours, minutes=minutes, seconds=seconds, microseconds=microseconds
    )
    if minutes > 59 or seconds > 60 or clock > DAY:
        raise out_of_range(text)
    return clock, read_offset(found[5], text)


def out_of_range(text: str) -> DatetimeOutOfRange:
    return DatetimeOutOfRange(f'date/time field value out of range: "{text[:200]}"')


def read_offset(text: str | None, whole: str) -> datetime.tzinfo | None:
    if text is None:
        return None
    if text in "Zz":
        return datetime.UTC
    digits = text[1:].replace(":", "").ljust(6, "0")
    hours, minutes, seconds = int(digits[:2]), int(digits[2:4]), int(digits[4:])
    if hours > 15 or minutes > 59 or seconds > 59:
        raise DisplacementOutOfRange(f'time zone displacement out of range: "{whole[:200]}"')
    delta = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return datetime.timezone(-delta if text[0] == "-" else delta)


def write_timestamp(moment: datetime.datetime) -> str:
    """A moment as PostgreSQL prints it in JSON, which is how it is stored.

    >>> write_timestamp(datetime.datetime(2025, 1, 2, 3, 4, 5, 120000, datetime.UTC))
    '2025-01-02T03:04:05.12+00:00'
    """
    text = moment.isoformat()
    head, tail = text[:19], text[19:]
    if tail.startswith("."):
        fraction, sign = tail[1:7].rstrip("0"), tail[7:]
        return f"{head}.{fraction}{sign}" if fraction else head + sign
    return text


UUID_TEXT = re.compile(r"\{?((?:[0-9a-fA-F]{4}-?){7}[0-9a-fA-F]{4})\}?", re.ASCII)


def read_uuid(text: str) -> str:
    """A UUID in any form that PostgreSQL takes, in the one canonical form.

    >>> read_uuid("{A0EEBC999C0B4EF8BB6D6BB9BD380A11}")
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'
    """
    found = UUID_TEXT.fullmatch(text)
    if found is None or text.startswith("{") != text.endswith("}"):
        raise invalid("uuid", text)
    digits = found[1].replace("-", "").lower()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def new_uuid() -> str:
    """A random UUID in the canonical form: nobody guesses the next one."""
    return str(uuid.uuid4())


def quote_json(value: object) -> str:
    """A JSON value as an error quotes it."""
    if value is True or value is False:
        return str(value).lower()
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:g}" if value != int(value) else repr(value)
    return json.dumps(value, ensure_ascii=False)


def from_json(read: Callable[[str], Bound]) -> Callable[[object], Bound]:
    """A reader for types whose JSON form is a string: anything else is read as it is written."""

    def convert(value: object) -> Bound:
        return None if value is None else read(quote_json(value))

    return convert


def from_json_string(value: object) -> Bound:
    """Text, which takes strings only."""
    if value is None or isinstance(value, str):
        return None if value is None else read_string(value)
    raise invalid("text", quote_json(value))


def from_json_integer(name: str, low: int, high: int) -> Callable[[object], Bound]:
    read = read_integer(name, low, high)

    def convert(value: object) -> Bound:
        if value is None:
            return None
        if type(value) is int:
            if low <= value <= high:
                return value
            raise OutOfRange(f'value "{str(value)[:200]}" is out of range for type {name}')
        if isinstance(value, str):
            return read(value)
        raise invalid(name, quote_json(value))

    return convert


def from_json_double(value: object) -> Bound:
    if value is None:
        return None
    if type(value) is float or type(value) is int:
        return read_double(repr(value))
    if isinstance(value, str):
        return read_double(value)
    raise invalid("double precision", quote_json(value))


def stored(on_postgresql: Any) -> Any:
    """Text on SQLite, and a type of its own where there is one."""
    return sa.Text().with_variant(on_postgresql, "postgresql")


INT32 = (-(2**31), 2**31 - 1)
INT64 = (-(2**63), 2**63 - 1)

BIGINT = ColumnType(
    "bigint",
    read_integer("bigint", *INT64),
    from_json_integer("bigint", *INT64),
    sa.BigInteger(),
    (("type", "integer"), ("format", "int64")),
    numeric=True,
)
INTEGER = ColumnType(
    "integer",
    read_integer("integer", *INT32),
    from_json_integer("integer", *INT32),
    sa.Integer(),
    (("type", "integer"), ("format", "int32")),
    numeric=True,
)
DOUBLE = ColumnType(
    "double precision",
    read_double,
    from_json_double,
    sa.Double(),
    (("type", "number"), ("format", "double")),
    numeric=True,
)
TEXT = ColumnType("text", read_string, from_json_string, sa.Text(), (("type", "string"),))
DATE = ColumnType(
    "date",
    read_date,
    from_json(read_date),
    stored(sa.DATE()),
    (("type", "string"), ("format", "date")),
)
TIMESTAMP = ColumnType(
    "timestamp with time zone",
    read_timestamp,
    from_json(read_timestamp),
    stored(sa.TIMESTAMP(timezone=True)),
    (("type", "string"), ("format", "date-time")),
)


def refuse_json(value: object) -> Bound:
    """No payload or filter names a JSON value: the one resource that has them is written by itself."""
    raise InvalidInput("a JSON value cannot be compared or given")


JSON = ColumnType("json", refuse_json, refuse_json, stored(sa.JSON()), (("type", "object"),))
UUID = ColumnType(
    "uuid",
    read_uuid,
    from_json(read_uuid),
    stored(sa.UUID(as_uuid=False)),
    (("type", "string"), ("format", "uuid")),
)
