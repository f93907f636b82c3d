"""The SQL functions that SQLite lacks: regular expressions, case folding, casts, time zones, doubles.

They are pure, take time linear in their input, and never raise into SQL: a value that is none of its type
is noted in the connection's list of faults and becomes null, and the transaction that ran the
statement raises the first of them (see `Transaction` in engine/storage/transaction.py).
"""

from __future__ import annotations

import datetime
import json
import math
import re
import struct
from collections.abc import Callable
from decimal import ROUND_HALF_UP
from decimal import Decimal
from decimal import localcontext
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

try:
    import re2
except ImportError:  # no wheel for this platform
    re2 = None

from engine.query.patterns import fold_case
from models import types
from models.errors import Fault
from models.types import Bound

PATTERN_MEMORY_BYTES = (
    8 << 20
)  # of one compiled expression; with less RE2 falls back on what is 40 times slower
PATTERNS_KEPT = 32

JSON_DEPTH_MAX = 1_000  # SQLite reads no deeper
JSON_MARKS = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}]')
"""What makes JSON deeper, and texts, in which the same stands for itself."""


class UnknownType(Fault):
    """A cast to a type that does not exist here (42704)."""


class CannotCast(Fault):
    """A cast between types that have none (42846)."""


def pattern_options(ignore_case: bool) -> Any:
    options = re2.Options()
    options.max_mem = PATTERN_MEMORY_BYTES
    options.log_errors = False
    options.case_sensitive = not ignore_case
    options.dot_nl = True  # as in PostgreSQL, where a line break is a character like any other
    return options


@lru_cache(maxsize=PATTERNS_KEPT)
def compiled(pattern: str, ignore_case: bool) -> Any:
    return re2.compile(pattern, pattern_options(ignore_case))


def has_regular_expressions() -> bool:
    return re2 is not None


def regular_expression_fault(pattern: str, ignore_case: bool) -> str | None:
    """Why a pattern is refused, or None if it compiles: one without case may be too large where the other is not."""
    try:
        compiled(pattern, ignore_case)
    except re2.error as refused:
        reason = refused.args[0] if refused.args else "syntax error"
        return reason.decode() if isinstance(reason, bytes) else str(reason)
    return None


def matches(value: Bound, pattern: str) -> int | None:
    """`value ~ pattern`, case-sensitively."""
    return None if value is None else int(compiled(pattern, False).search(str(value)) is not None)


def imatches(value: Bound, pattern: str) -> int | None:
    """`value ~* pattern`."""
    return None if value is None else int(compiled(pattern, True).search(str(value)) is not None)


def fold(value: Bound) -> str | None:
    """Both sides of ilike."""
    return None if value is None else fold_case(str(value))


def double_text(value: float | None) -> str | None:
    """A double's shortest text that reads back as the same double."""
    return None if value is None else repr(value)


@lru_cache(maxsize=64)
def zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def in_timezone(value: str | None, name: str) -> str | None:
    """A stored timestamp in a time zone, as PostgreSQL prints it in JSON; in UTC, where that zone's calendar has left
    the four digits of a year."""
    if value is None:
        return None
    moment = datetime.datetime.fromisoformat(value)
    try:
        return types.write_timestamp(moment.astimezone(zone(name)))
    except OverflowError:
        return value


def cast_clock(value: str | None, name: str) -> str | None:
    """A date or a text as a timestamp to be stored: a clock's in a time zone, unless it says an offset."""
    return None if value is None else types.read_timestamp(value, zone(name))


TYPE_NAMES = {
    "text": "text", "varchar": "text", "character varying": "text", "citext": "text",
    "int": "integer", "int4": "integer", "integer": "integer",
    "int8": "bigint", "bigint": "bigint", "int2": "smallint", "smallint": "smallint",
    "float8": "double precision", "double precision": "double precision",
    "float4": "real", "real": "real", "float": "double precision",
    "numeric": "numeric", "decimal": "numeric",
    "date": "date", "time": "time",
    "timestamp": "timestamp", "timestamp without time zone": "timestamp",
    "timestamptz": "timestamp with time zone",
    "timestamp with time zone": "timestamp with time zone",
    "bool": "boolean", "boolean": "boolean", "uuid": "uuid", "json": "json", "jsonb": "json",
}  # fmt: skip
"""The types a select may cast to, by every name that PostgreSQL gives them."""


def type_named(name: str) -> str:
    """A cast's target by its canonical name."""
    found = TYPE_NAMES.get(" ".join(name.lower().split()))
    if found is None:
        raise UnknownType(f'type "{name}" does not exist')
    return found


INTEGERS = {
    "smallint": (-(2**15), 2**15 - 1),
    "integer": types.INT32,
    "bigint": types.INT64,
}
NUMBERS = {*INTEGERS, "numeric", "double precision", "real"}
CASTABLE = {
    "number": {*NUMBERS, "text"},
    "bigint": {*NUMBERS, "text"},
    "integer": {*NUMBERS, "text", "boolean"},
    "text": {*NUMBERS, "text", "date", "time", "timestamp", "timestamp with time zone",
             "boolean", "uuid", "json"},
    "date": {"date", "text", "timestamp", "timestamp with time zone"},
    "timestamp with time zone": {"timestamp with time zone", "timestamp", "date", "time", "text"},
    # No column is one of these two; the least and the greatest of what was cast to one are.
    "timestamp": {"timestamp with time zone", "timestamp", "date", "time", "text"},
    "time": {"time", "text"},
    "uuid": {"uuid", "text"},
    "json": {"json", "text"},
}  # fmt: skip


def require_castable(source: str, target: str) -> None:
    """Refuse a cast that PostgreSQL has no words for."""
    family = "number" if source in {"numeric", "double precision", "real", "smallint"} else source
    if target not in CASTABLE[family]:
        raise CannotCast(f"cannot cast type {source} to {target}")


def cast_value(value: Bound, source: str, target: str) -> Bound:
    """A value of the type `source` as the type `target`; raises the fact that it is none."""
    if value is None or source == target:
        return value
    if target in INTEGERS:
        return cast_integer(value, source, target)
    if target in NUMBERS:
        return cast_number(value, source, target)
    if target == "text":
        return cast_text(value, source)
    if target == "boolean":
        return cast_boolean(value)
    if target == "uuid":
        return types.read_uuid(str(value))
    if target == "json":
        return cast_json(str(value))
    return cast_datetime(str(value), source, target)


def cast_integer(value: Bound, source: str, target: str) -> int:
    low, high = INTEGERS[target]
    if isinstance(value, str):
        return types.read_integer(target, low, high)(value)
    assert value is not None
    # PostgreSQL rounds a double half to even, a numeric half away from zero.
    exact = Decimal(repr(value)) if source == "numeric" else None
    number = int(exact.to_integral_value(ROUND_HALF_UP)) if exact is not None else round(value)
    if not low <= number <= high:
        raise types.OutOfRange(f"{target} out of range")
    return number


def cast_number(value: str | float, source: str, target: str) -> float:
    """A number as a double, a numeric (of a double the 15 digits that are sure) or a real.

    >>> cast_number(42.519999999999996, "double precision", "numeric")
    42.52
    >>> cast_number(42.519999999999996, "double precision", "real"), cast_number("7", "text", "real")
    (42.52, 7.0)
    """
    number = types.read_double(value, target) if isinstance(value, str) else float(value)
    if target == "numeric" and source in ("double precision", "real"):
        sure = float(f"{number:.15g}")
        return number if math.isinf(sure) else sure
    return nearest_real(number) if target == "real" else number


def nearest_real(number: float) -> float:
    """The fewest digits that mean the same real, a number of four bytes.

    >>> nearest_real(1 / 3), nearest_real(2.4094455242156982), nearest_real(16777217.0)
    (0.33333334, 2.4094455, 16777216.0)
    """
    try:
        real = struct.pack("f", number)
    except OverflowError:
        raise types.OutOfRange("value out of range: overflow") from None
    (rounded,) = struct.unpack("f", real)
    if math.isinf(rounded):
        raise types.OutOfRange("value out of range: overflow")
    if rounded == 0 != number:
        raise types.OutOfRange("value out of range: underflow")
    texts = (f"{rounded:.{digits}g}" for digits in range(6, 9))
    return next(
        (float(text) for text in texts if struct.pack("f", float(text)) == real),
        float(f"{rounded:.9g}"),
    )


def cast_text(value: Bound, source: str) -> str:
    if isinstance(value, float):
        return number_text(value)
    if source == "timestamp":
        return str(value).replace("T", " ", 1)
    if source == "timestamp with time zone":
        return str(value).replace("T", " ", 1).removesuffix(":00")
    return str(value)


def number_text(value: float) -> str:
    """A double as PostgreSQL prints it: no `.0` on a whole number, and of more than 15 digits an exponent.

    >>> number_text(42.0), number_text(-0.0), number_text(1e15), number_text(1234567890123456.0)
    ('42', '-0', '1e+15', '1.234567890123456e+15')
    """
    if abs(value) >= 1e15:
        return f"{Decimal(repr(value)).normalize():e}"
    if value == int(value):
        return str(int(value)) if value or math.copysign(1, value) > 0 else "-0"
    return repr(value)


TRUE_WORDS = {"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"}
FALSE_WORDS = {"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"}


def cast_boolean(value: Bound) -> int:
    if not isinstance(value, str):
        return int(bool(value))
    word = value.strip().lower()
    if word in TRUE_WORDS or word in FALSE_WORDS:
        return int(word in TRUE_WORDS)
    raise types.invalid("boolean", value)


def cast_json(value: str) -> str:
    try:
        json.loads(value, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        raise types.InvalidInput("invalid input syntax for type json") from None
    if is_deeper(value, JSON_DEPTH_MAX):  # how deep Python reads depends on its version
        raise types.InvalidInput("invalid input syntax for type json")
    return value


def is_deeper(text: str, depth_max: int) -> bool:
    """Whether JSON has arrays and objects in more arrays and objects than that.

    >>> is_deeper('[[], {"[[[": 1}]', 2), is_deeper("[[[]]]", 2)
    (False, True)
    """
    if text.count("[") + text.count("{") <= depth_max:
        return False
    depth = 0
    for mark in JSON_MARKS.findall(text):
        if mark in "[{":
            depth += 1
            if depth > depth_max:
                return True
        elif mark in "]}":
            depth -= 1
    return False


def refuse_constant(name: str) -> None:
    raise ValueError(name)


def cast_datetime(value: str, source: str, target: str) -> str:
    if target == "date":
        return types.read_date(value)
    if target == "timestamp with time zone":
        return types.read_timestamp(value)
    if target == "time" and source == "text":
        return types.read_time(value)
    # What its clock shows, in whichever zone that is.
    face = types.read_clock_face(value)
    return face if target == "timestamp" else face[11:]


def noting(function: Callable[..., Bound], faults: list[Fault]) -> Callable[..., Bound]:
    """The same function, with faults noted instead of raised."""

    def run_or_note(*arguments: Any) -> Bound:
        try:
            return function(*arguments)
        except Fault as fault:
            faults.append(fault)
            return None

    return run_or_note


def finite(value: float | None) -> float | None:
    """A sum or an average of doubles, which PostgreSQL refuses where it is infinite."""
    if value is not None and math.isinf(value):
        raise types.OutOfRange("value out of range: overflow")
    return value


SURE_DIGITS = 16
"""Of a quotient, PostgreSQL's numeric gives at least these."""


def average_text(total: int | None, count: int) -> str | None:
    """An average as PostgreSQL's numeric prints it: it counts digits by four, from the first on.

    >>> average_text(21, 6), average_text(5, 5), average_text(None, 0)
    ('3.5000000000000000', '1.00000000000000000000', None)
    """
    if total is None:
        return None
    (places, first), (places_below, first_below) = by_four(abs(total)), by_four(count)
    weight = places - places_below - (first <= first_below)
    scale = max(SURE_DIGITS - 4 * weight, 0)
    with localcontext(prec=SURE_DIGITS + scale + 24, rounding=ROUND_HALF_UP):
        return f"{(Decimal(total) / count).quantize(Decimal(1).scaleb(-scale)):f}"


def by_four(number: int) -> tuple[int, int]:
    """How many groups of four digits follow the first one, and that one."""
    places = 0
    while number >= 10_000:
        number //= 10_000
        places += 1
    return places, number


def install(connection: Any, faults: list[Fault]) -> None:
    """Give a SQLite connection these functions; what fails in them is noted in `faults`."""
    for name, arguments, function in (
        ("matches", 2, matches),
        ("imatches", 2, imatches),
        ("fold", 1, fold),
        ("double_text", 1, double_text),
        ("in_timezone", 2, in_timezone),
        ("cast_value", 3, noting(cast_value, faults)),
        ("cast_clock", 2, noting(cast_clock, faults)),
        ("finite", 1, noting(finite, faults)),
        ("average_text", 2, average_text),
    ):
        connection.create_function(name, arguments, function, deterministic=True)
