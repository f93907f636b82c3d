"""The column types: how each reads text and JSON, how it is stored, and its JSON schema.

Readers take text (query strings, CSV cells) or JSON and return the value that the database binds. Error messages are
PostgreSQL's, since clients know them.
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
"""A value that both drivers bind and both engines store unchanged."""

TEXT_BYTES_MAX = 65_536  # 64 KiB, in UTF-8


class InvalidInput(Fault):
    """A value in the wrong form for its type (22P02)."""


class InvalidDatetime(Fault):
    """Text that does not have the form of a date or time (22007)."""


class DatetimeOutOfRange(Fault):
    """A date or time in the right form that does not exist (22008)."""


class DisplacementOutOfRange(Fault):
    """An offset from UTC of 16 hours or more, or in the wrong form (22009)."""


class UnknownTimezone(Fault):
    """An unknown name of a time zone (22023)."""


class OutOfRange(Fault):
    """A number outside of its type's range (22003)."""


class TextTooLong(Fault):
    """More than TEXT_BYTES_MAX bytes of text (22001)."""


class NulInText(Fault):
    """Text with a NUL character (22P05)."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column type, with PostgreSQL's name, its readers, its SQLAlchemy type and its JSON schema."""

    name: str
    read_text: Callable[[str], Bound]
    read_json: Callable[[object], Bound]
    storage: Any
    schema: tuple[tuple[str, object], ...]
    numeric: bool = False


def invalid(name: str, quoted: str) -> InvalidInput:
    """Return PostgreSQL's error for a value of the wrong form."""
    return InvalidInput(f'invalid input syntax for type {name}: "{quoted[:200]}"')


INTEGER_TEXT = re.compile(r"[ \t\n\r\f\v]*[+-]?[0-9]+[ \t\n\r\f\v]*", re.ASCII)
FLOAT_TEXT = re.compile(r"[ \t\n\r\f\v]*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t\n\r\f\v]*", re.ASCII)
DIGITS_MAX = 400  # int() and float() take quadratic time for long numbers


def read_integer(name: str, low: int, high: int) -> Callable[[str], int]:
    """Return a reader of decimal integers from `low` to `high`. It raises InvalidInput or OutOfRange."""

    def read(text: str) -> int:
        if not INTEGER_TEXT.fullmatch(text):
            raise invalid(name, text)
        number = int(text) if len(text) <= DIGITS_MAX else high + 1
        if not low <= number <= high:
            raise OutOfRange(f'value "{text[:200]}" is out of range for type {name}')
        return number

    return read


def read_double(text: str, name: str = "double precision") -> float:
    """Return a finite double. Raise InvalidInput for NaN and Infinity, which JSON lacks; raise OutOfRange."""
    if not FLOAT_TEXT.fullmatch(text) or len(text) > DIGITS_MAX:
        raise invalid(name, text)
    number = float(text)
    if (number == 0 and has_vanished(text)) or number in (float("inf"), float("-inf")):
        raise OutOfRange(f'"{text[:200]}" is out of range for type {name}')
    return number


def has_vanished(text: str) -> bool:
    """Return whether a number that reads as 0 has another digit: it is too small for a double.

    >>> has_vanished("1e-400"), has_vanished("-0.0e7")
    (True, False)
    """
    return any(digit in "123456789" for digit in re.split("[eE]", text)[0])


def read_string(text: str) -> str:
    """Return the text unchanged. Raise NulInText, or TextTooLong beyond TEXT_BYTES_MAX bytes."""
    if "\0" in text:
        raise NulInText("unsupported Unicode escape sequence", "\\u0000 cannot be converted to text.")
    if len(text) * 4 > TEXT_BYTES_MAX and len(text.encode()) > TEXT_BYTES_MAX:
        raise TextTooLong(f"value too long: text holds at most {TEXT_BYTES_MAX} bytes")
    return text


DAY = datetime.timedelta(days=1)
DATE_TEXT = re.compile(r"([0-9]{4})(?:([0-9]{2})([0-9]{2})|([-/])([0-9]{1,2})\4([0-9]{1,2}))(?![0-9])", re.ASCII)
LONG_YEAR = re.compile(r"[0-9]{5,}([-/])[0-9]{1,2}\1[0-9]{1,2}(?![0-9])", re.ASCII)
DATE_FORMS = "Write a date as 2024-01-31, 20240131, 2024/01/31 or 2024-1-31."
TIME_FORMS = "Write a time of day as 20:20, 20:20:15 or 202015, with or without an offset such as +02:00 or Z."
TIME_TEXT = re.compile(
    r"[Tt ]([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?|([0-9]{2})(?:([0-9]{2})(?:\.([0-9]{1,9}))?)?)"
    r"[ ]?(Z|z|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?)?",
    re.ASCII,
)


def read_day(text: str, name: str) -> tuple[datetime.date, str]:
    """Return the date at the start of a text, and the rest. Raise InvalidDatetime or DatetimeOutOfRange."""
    found = DATE_TEXT.match(text)
    if LONG_YEAR.match(text):
        raise out_of_range(text)
    if found is None:
        raise InvalidDatetime(f'invalid input syntax for type {name}: "{text[:200]}"', hint=DATE_FORMS)
    try:
        month, day = int(found[2] or found[5]), int(found[3] or found[6])
        return datetime.date(int(found[1]), month, day), text[found.end() :]
    except ValueError:
        raise out_of_range(text) from None


def read_date(text: str) -> str:
    """Return a date in ISO 8601. Of a timestamp, return the day as written, like PostgreSQL.

    >>> read_date("2024-01-31"), read_date("20240131"), read_date("2024/01/31"), read_date("2024-1-31")
    ('2024-01-31', '2024-01-31', '2024-01-31', '2024-01-31')
    """
    day, rest = read_day(text.strip(), "date")
    if rest:
        read_clock(rest, "date", text)
    return day.isoformat()


def read_timestamp(text: str, zone: ZoneInfo | None = None) -> str:
    """Return a timestamp in the stored form, in UTC. Text without an offset is in `zone`, or in UTC.

    >>> read_timestamp("2025-05-05T11:30:15.1200+02:00"), read_timestamp("20250505T113015.12+0200")
    ('2025-05-05T09:30:15.12+00:00', '2025-05-05T09:30:15.12+00:00')
    """
    name = "timestamp with time zone"
    day, rest = read_day(text.strip(), name)
    clock, offset = read_clock(rest, name, text) if rest else (datetime.timedelta(), None)
    midnight = datetime.datetime(day.year, day.month, day.day, tzinfo=offset or zone or datetime.UTC)
    try:
        return write_timestamp(later_reading(midnight + clock).astimezone(datetime.UTC))
    except (ValueError, OverflowError):
        raise out_of_range(text) from None


def read_clock_face(text: str) -> str:
    """Return a timestamp without a time zone. Ignore an offset.

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
    """Return a time of day. Ignore a date before it and an offset after it.

    >>> read_time("11:30"), read_time("2025-05-05 11:30:15.50+02:00"), read_time("24:00")
    ('11:30:00', '11:30:15.5', '24:00:00')
    """
    name, stripped = "time", text.strip()
    rest = read_day(stripped, name)[1] if DATE_TEXT.match(stripped) else f" {stripped}"
    if not rest.startswith(" "):
        raise InvalidDatetime(f'invalid input syntax for type {name}: "{text[:200]}"', hint=TIME_FORMS)
    clock, _ = read_clock(rest, name, text)
    face = write_timestamp(datetime.datetime(1, 1, 1) + clock)[11:]  # noqa: DTZ001
    return "24:00:00" if clock == DAY else face


def later_reading(local: datetime.datetime) -> datetime.datetime:
    """Return the second of two equal local times at the end of daylight saving time, like PostgreSQL.

    >>> later_reading(datetime.datetime(2025, 10, 26, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))).isoformat()
    '2025-10-26T02:30:00+01:00'
    """
    later = local.replace(fold=1)
    before, after = local.utcoffset(), later.utcoffset()
    return later if before is not None and after is not None and after < before else local


def read_clock(rest: str, name: str, text: str) -> tuple[datetime.timedelta, datetime.tzinfo | None]:
    """Return the time since midnight, up to 24 hours, and the offset, from the text after a date."""
    found = TIME_TEXT.fullmatch(rest)
    if found is None:
        raise InvalidDatetime(f'invalid input syntax for type {name}: "{text[:200]}"', hint=TIME_FORMS)
    hours, minutes, seconds = int(found[1]), int(found[2] or found[5]), int(found[3] or found[6] or 0)
    microseconds = round(int((found[4] or found[7] or "0").ljust(9, "0")) / 1000)
    clock = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds, microseconds=microseconds)
    if minutes > 59 or seconds > 60 or clock > DAY:
        raise out_of_range(text)
    return clock, read_offset(found[8], text)


def out_of_range(text: str) -> DatetimeOutOfRange:
    """Return PostgreSQL's error for a date or time that does not exist."""
    return DatetimeOutOfRange(f'date/time field value out of range: "{text[:200]}"')


def read_offset(text: str | None, whole: str) -> datetime.tzinfo | None:
    """Return the offset from UTC. Raise DisplacementOutOfRange, which quotes the whole text."""
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
    """Return a timestamp as PostgreSQL prints it in JSON, which is also the stored form on SQLite.

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
    """Return the canonical form of a UUID in any form that PostgreSQL takes. Raise InvalidInput.

    >>> read_uuid("{A0EEBC999C0B4EF8BB6D6BB9BD380A11}")
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'
    """
    found = UUID_TEXT.fullmatch(text)
    if found is None or text.startswith("{") != text.endswith("}"):
        raise invalid("uuid", text)
    digits = found[1].replace("-", "").lower()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def new_uuid() -> str:
    """Return a random UUID in the canonical form."""
    return str(uuid.uuid4())


def quote_json(value: object) -> str:
    """Return a JSON value as an error message quotes it."""
    if value is True or value is False:
        return str(value).lower()
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:g}" if value != int(value) else repr(value)
    return json.dumps(value, ensure_ascii=False)


def from_json(read: Callable[[str], Bound]) -> Callable[[object], Bound]:
    """Return a JSON reader for a type whose JSON form is a string. It reads other values by their JSON text."""

    def convert(value: object) -> Bound:
        return None if value is None else read(quote_json(value))

    return convert


def from_json_string(value: object) -> Bound:
    """Return a JSON string or null. Raise InvalidInput for other values."""
    if value is None or isinstance(value, str):
        return None if value is None else read_string(value)
    raise invalid("text", quote_json(value))


def from_json_integer(name: str, low: int, high: int) -> Callable[[object], Bound]:
    """Return a JSON reader of integers from `low` to `high`, also in strings."""
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
    """Return a JSON number as a double, also from a string."""
    if value is None:
        return None
    if type(value) is float or type(value) is int:
        return read_double(repr(value))
    if isinstance(value, str):
        return read_double(value)
    raise invalid("double precision", quote_json(value))


def stored(on_postgresql: Any) -> Any:
    """Return the SQLAlchemy type that is text on SQLite and `on_postgresql` on PostgreSQL."""
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
DATE = ColumnType("date", read_date, from_json(read_date), stored(sa.DATE()), (("type", "string"), ("format", "date")))
TIMESTAMP = ColumnType(
    "timestamp with time zone",
    read_timestamp,
    from_json(read_timestamp),
    stored(sa.TIMESTAMP(timezone=True)),
    (("type", "string"), ("format", "date-time")),
)


def refuse_json(value: object) -> Bound:
    """Raise InvalidInput. Only the audit log has JSON columns, and neither payloads nor filters take them."""
    raise InvalidInput("a JSON value cannot be compared or given")


JSON = ColumnType("json", refuse_json, refuse_json, stored(sa.JSON()), (("type", "object"),))
UUID = ColumnType(
    "uuid", read_uuid, from_json(read_uuid), stored(sa.UUID(as_uuid=False)), (("type", "string"), ("format", "uuid"))
)
