"""The column types: how each reads text and JSON, how it is stored, its JSON schema, and its errors.

Readers take text (query strings, CSV cells) or JSON and return the value that the database binds. Error messages are
PostgreSQL's, since clients know them. `routes/postgrest/errors.py` has the HTTP status of each code of a fault.
Unicode normalization takes linear time. Time zones are names or offsets, as PostgreSQL's setting `TimeZone` takes them.
A spreadsheet adds a mark at the start of a CSV file, and the console an apostrophe before formulas.
"""

from __future__ import annotations

import datetime
import io
import json
import re
import struct
import unicodedata
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Final
from zoneinfo import ZoneInfo

import sqlalchemy as sa


class Fault(Exception):
    """An error that is reported to the caller. `message` is for people; `hint` proposes a remedy.

    `code` is an SQLSTATE or PostgREST's code. The HTTP status follows from it, except where `status` is set.
    """

    code: ClassVar[str] = "XX000"
    status: ClassVar[int | None] = None

    def __init_subclass__(cls, *, code: str | None = None, status: int | None = None) -> None:
        cls.code = code or cls.code
        cls.status = status or cls.status

    def __init__(self, message: str, details: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.hint = hint

    def locate(self, place: str) -> None:
        """Begin the details with a place in the request: `row 3, column name`."""
        self.details = f"{place}: {self.details}" if self.details else place


class Denial(Fault, code="42501"):
    """A refusal for lack of permission. The audit log records it."""


class AccountFault(Fault, code="validation_failed", status=422):
    """A refusal of sign-in or of an account, with GoTrue's code."""


MARKS_MAX: Final = 30
"""The number of marks in a row, as in Unicode's Stream-Safe Text Format. Normalization is quadratic in it."""


def has_long_marks(text: str) -> bool:
    """Return whether a text has more than MARKS_MAX marks in a row."""
    if text.isascii():
        return False
    marks = 0
    for each in text:
        marks = marks + 1 if unicodedata.category(each)[0] == "M" else 0
        if marks > MARKS_MAX:
            return True
    return False


def composed(text: str) -> str:
    """Return a text in NFC; unchanged if it has more than MARKS_MAX marks in a row.

    >>> composed("Tu\u0308r") == "T\u00fcr", composed("u" + "\u0308" * 31) == "u" + "\u0308" * 31
    (True, True)
    """
    return text if has_long_marks(text) else unicodedata.normalize("NFC", text)


Bound = str | int | float | None
"""A value that both drivers bind and both engines store unchanged."""

TEXT_BYTES_MAX = 65_536  # 64 KiB, in UTF-8


class InvalidInput(Fault, code="22P02"):
    """A value in the wrong form for its type."""


class InvalidDatetime(Fault, code="22007"):
    """Text that does not have the form of a date or time."""


class DatetimeOutOfRange(Fault, code="22008"):
    """A date or time in the right form that does not exist."""


class DisplacementOutOfRange(Fault, code="22009"):
    """An offset from UTC of 16 hours or more, or in the wrong form."""


class UnknownTimezone(Fault, code="22023"):
    """An unknown name of a time zone."""


class InvalidArgument(Fault, code="22023"):
    """An argument that its parameter does not take."""


class OutOfRange(Fault, code="22003"):
    """A number outside of its type's range."""


class TextTooLong(Fault, code="22001"):
    """More than TEXT_BYTES_MAX bytes of text."""


class NulInText(Fault, code="22P05"):
    """Text with a NUL character."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column type, with PostgreSQL's name, its readers, its SQLAlchemy type and its JSON schema."""

    name: str
    read_text: Callable[[str], Bound]
    read_json: Callable[[object], Bound]
    storage: Any
    schema: tuple[tuple[str, object], ...]
    numeric: bool = False
    normalize: Callable[[str], str] = str
    """Applied to the text of a filter before its operator reads it."""


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
    """Return a finite double. Raise InvalidInput for NaN and Infinity, which JSON lacks; raise OutOfRange.

    >>> read_double("-0")
    0.0
    """
    if not FLOAT_TEXT.fullmatch(text) or len(text) > DIGITS_MAX:
        raise invalid(name, text)
    number = float(text)
    if (number == 0 and has_vanished(text)) or number in (float("inf"), float("-inf")):
        raise OutOfRange(f'"{text[:200]}" is out of range for type {name}')
    return number + 0.0  # a negative zero is zero: PostgreSQL prints its sign, and SQLite does not


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


TRUE_WORDS = frozenset({"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"})
FALSE_WORDS = frozenset({"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"})


def read_boolean(text: str) -> Bound:
    """Return the truth value of one of PostgreSQL's words for it."""
    word = text.strip().lower()
    if word in TRUE_WORDS or word in FALSE_WORDS:
        return word in TRUE_WORDS
    raise invalid("boolean", text)


def from_json_boolean(value: object) -> Bound:
    """Return a JSON boolean, also from a string."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return read_boolean(value)
    raise invalid("boolean", quote_json(value))


BOOLEAN = ColumnType(
    "boolean",
    read_boolean,
    from_json_boolean,
    sa.Integer().with_variant(sa.Boolean(), "postgresql"),
    (("type", "boolean"),),
)
TEXT = ColumnType("text", read_string, from_json_string, sa.Text(), (("type", "string"),))
COMPOSED_TEXT = replace(TEXT, normalize=composed)
"""The type of filters on a column that holds text in NFC."""
DATE = ColumnType("date", read_date, from_json(read_date), stored(sa.DATE()), (("type", "string"), ("format", "date")))
TIMESTAMP = ColumnType(
    "timestamp with time zone",
    read_timestamp,
    from_json(read_timestamp),
    stored(sa.TIMESTAMP(timezone=True)),
    (("type", "string"), ("format", "date-time")),
)


def canonical_json(value: object) -> str:
    """Return the canonical text of a JSON value: sorted keys, no blanks, Unicode as it is, and floats as Python's repr.

    Raise ValueError for NaN and Infinity.

    >>> canonical_json({"b": 1.50, "a": ["ü", None, True]})
    '{"a":["ü",null,true],"b":1.5}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def refuse_json(text: str) -> Bound:
    """Raise InvalidInput: filters do not take JSON."""
    raise InvalidInput("a JSON value cannot be compared or given")


def from_json_object(value: object) -> Bound:
    """Return the canonical text of an object. The service alone writes JSON columns. Raise InvalidInput."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise invalid("json", quote_json(value))
    return canonical_json(value)


JSON = ColumnType("json", refuse_json, from_json_object, stored(sa.JSON()), (("type", "object"),))
UUID = ColumnType(
    "uuid", read_uuid, from_json(read_uuid), stored(sa.UUID(as_uuid=False)), (("type", "string"), ("format", "uuid"))
)


OFFSET: Final = re.compile(r"([+-]?)([0-9]{1,2})(?:(:)([0-5][0-9])|(\.[0-9]{1,4}))?", re.ASCII)
FIXED_KEY: Final = re.compile(r"<([+-])([0-9]{2}):([0-9]{2}):([0-9]{2})>.*", re.ASCII)
SECONDS_MAX: Final = 16 * 3_600
"""Offsets below this one are read in timestamps."""


def offset_seconds(text: str) -> int | None:
    """Return the seconds east of UTC that a numeric time zone means, or None for another text.

    As in PostgreSQL, hours count eastwards, and hours with minutes westwards (POSIX).

    >>> [offset_seconds(each) for each in ("-4", "+5.5", "+05:30", "-05:30", "16", "+0530")]
    [-14400, 19800, -19800, 19800, None, None]
    """
    found = OFFSET.fullmatch(text)
    if found is None:
        return None
    hours, minutes, fraction = int(found[2]), int(found[4] or 0), float(found[5] or 0)
    seconds = hours * 3_600 + minutes * 60 + int(fraction * 3_600)
    is_east = (found[1] == "-") == bool(found[3])
    return None if seconds >= SECONDS_MAX else seconds if is_east else -seconds


def zone_named(name: str) -> ZoneInfo:
    """Return a time zone by its name, by its numeric offset, or by the key of such a zone."""
    seconds = offset_seconds(name)
    if seconds is not None:
        return fixed_zone(seconds)
    key = FIXED_KEY.fullmatch(name)
    if key is None:
        return ZoneInfo(name)
    hours, minutes, rest = map(int, key.groups()[1:])
    ahead = hours * 3_600 + minutes * 60 + rest
    return fixed_zone(-ahead if key[1] == "-" else ahead)


@lru_cache(maxsize=256)
def fixed_zone(seconds: int) -> ZoneInfo:
    """Return the time zone of an offset. Its key is a POSIX name, which PostgreSQL reads.

    >>> fixed_zone(19_800).key
    '<+05:30:00>-05:30:00'
    """
    clock = f"{abs(seconds) // 3_600:02}:{abs(seconds) // 60 % 60:02}:{abs(seconds) % 60:02}"
    east, west = ("-", "+") if seconds < 0 else ("+", "-")
    name = b"local\0"
    # One block of a TZif file (RFC 8536) for each version, with one type of local time and no transition.
    block = (
        struct.pack(">4sc15x6l", b"TZif", b"2", 0, 0, 0, 0, 1, len(name)) + struct.pack(">lBB", seconds, 0, 0) + name
    )
    return ZoneInfo.from_file(io.BytesIO(block + block + b"\n\n"), key=f"<{east}{clock}>{west}{clock}")


BYTE_ORDER_MARK: Final = "\ufeff"
"""Spreadsheets and editors start a file with this mark. It is no part of the first name or value."""

FORMULA: Final = re.compile(r"'*[=+\-@\t\r\n]")
"""The beginning of a text that a spreadsheet runs as a formula, after any number of `'`."""


def escape_formula(text: str) -> str:
    """Return a text that no spreadsheet runs as a formula. `unescape_formula` is the inverse.

    >>> escape_formula("=1+1"), escape_formula("'=1+1"), escape_formula("it's")
    ("'=1+1", "''=1+1", "it's")
    """
    return f"'{text}" if FORMULA.match(text) else text


def unescape_formula(text: str) -> str:
    """Return a text as it was before `escape_formula`.

    >>> unescape_formula("'=1+1"), unescape_formula("'tis")
    ('=1+1', "'tis")
    """
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text
