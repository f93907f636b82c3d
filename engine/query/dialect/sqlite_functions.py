"""The SQL functions that SQLite lacks: regular expressions, case folding, casts, time zones, doubles.

They are pure, take time linear in their input, and never raise into SQL. An invalid value becomes null, and its fault
is added to the connection's list. The transaction raises the first fault after the statement (`Transaction.all`).
"""

from __future__ import annotations

import datetime
import json
import math
import re
import struct
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, localcontext
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

PATTERN_MEMORY_BYTES = 8 << 20  # per compiled expression; with less, RE2 falls back to a 40 times slower matcher
PATTERNS_CACHED_MAX = 32

JSON_DEPTH_MAX = 1_000  # SQLite's own limit
JSON_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}]')
"""Brackets, which change the depth of JSON, and strings, in which brackets do not count."""


class UnknownType(Fault):
    """The target type of a cast does not exist (42704)."""


class CannotCast(Fault):
    """There is no cast between two types (42846)."""


def pattern_options(ignore_case: bool) -> Any:
    options = re2.Options()
    options.max_mem = PATTERN_MEMORY_BYTES
    options.log_errors = False
    options.case_sensitive = not ignore_case
    options.dot_nl = True  # as in PostgreSQL: `.` matches a line break
    return options


@lru_cache(maxsize=PATTERNS_CACHED_MAX)
def compiled(pattern: str, ignore_case: bool) -> Any:
    return re2.compile(pattern, pattern_options(ignore_case))


def has_regular_expressions() -> bool:
    return re2 is not None


def regular_expression_fault(pattern: str, ignore_case: bool) -> str | None:
    """Return why a pattern is refused, or None if it compiles. Ignoring case needs more memory."""
    try:
        compiled(pattern, ignore_case)
    except re2.error as error:
        reason = error.args[0] if error.args else "syntax error"
        return reason.decode() if isinstance(reason, bytes) else str(reason)
    return None


def matches(value: Bound, pattern: str) -> int | None:
    """Return `value ~ pattern` as 0 or 1, or None for null."""
    return None if value is None else int(compiled(pattern, False).search(str(value)) is not None)


def imatches(value: Bound, pattern: str) -> int | None:
    """Return `value ~* pattern` as 0 or 1, or None for null."""
    return None if value is None else int(compiled(pattern, True).search(str(value)) is not None)


def fold(value: Bound) -> str | None:
    """Return a text in one case, for both sides of `ilike`."""
    return None if value is None else fold_case(str(value))


def double_text(value: float | None) -> str | None:
    """Return the shortest text that reads back as the same double."""
    return None if value is None else repr(value)


@lru_cache(maxsize=64)
def zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def in_timezone(value: str | None, name: str) -> str | None:
    """Return a stored timestamp in a time zone, as PostgreSQL prints it in JSON.

    The timestamp stays in UTC if its year in that zone has more than four digits.
    """
    if value is None:
        return None
    moment = datetime.datetime.fromisoformat(value)
    try:
        return types.write_timestamp(moment.astimezone(zone(name)))
    except OverflowError:
        return value


def cast_clock(value: str | None, name: str) -> str | None:
    """Return a date or text as a timestamp to store. Without an offset, it is local time in the zone."""
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
"""PostgreSQL's names of the types that a select may cast to, and their canonical names."""


def type_named(name: str) -> str:
    """Return the canonical name of a cast's target type; raise UnknownType."""
    canonical = TYPE_NAMES.get(" ".join(name.lower().split()))
    if canonical is None:
        raise UnknownType(f'type "{name}" does not exist')
    return canonical


INTEGERS = {"smallint": (-(2**15), 2**15 - 1), "integer": types.INT32, "bigint": types.INT64}
NUMBERS = {*INTEGERS, "numeric", "double precision", "real"}
CASTABLE = {
    "number": {*NUMBERS, "text"},
    "bigint": {*NUMBERS, "text"},
    "integer": {*NUMBERS, "text", "boolean"},
    "text": {*NUMBERS, "text", "date", "time", "timestamp", "timestamp with time zone",
             "boolean", "uuid", "json"},
    "date": {"date", "text", "timestamp", "timestamp with time zone"},
    "timestamp with time zone": {"timestamp with time zone", "timestamp", "date", "time", "text"},
    # No column has the next two types, but min() and max() of a cast do.
    "timestamp": {"timestamp with time zone", "timestamp", "date", "time", "text"},
    "time": {"time", "text"},
    "uuid": {"uuid", "text"},
    "json": {"json", "text"},
}  # fmt: skip


def require_castable(source: str, target: str) -> None:
    """Raise CannotCast for a cast that PostgreSQL does not offer."""
    family = "number" if source in {"numeric", "double precision", "real", "smallint"} else source
    if target not in CASTABLE[family]:
        raise CannotCast(f"cannot cast type {source} to {target}")


def cast_value(value: Bound, source: str, target: str) -> Bound:
    """Return a value of type `source` as type `target`; raise the fault of an invalid value."""
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
    # PostgreSQL rounds halves of a double to even, and halves of a numeric away from zero.
    exact = Decimal(repr(value)) if source == "numeric" else None
    number = int(exact.to_integral_value(ROUND_HALF_UP)) if exact is not None else round(value)
    if not low <= number <= high:
        raise types.OutOfRange(f"{target} out of range")
    return number


def cast_number(value: str | float, source: str, target: str) -> float:
    """Return a number as a double, a numeric (with the 15 reliable digits of a double) or a real.

    >>> cast_number(42.519999999999996, "double precision", "numeric")
    42.52
    >>> cast_number(42.519999999999996, "double precision", "real"), cast_number("7", "text", "real")
    (42.52, 7.0)
    """
    number = types.read_double(value, target) if isinstance(value, str) else float(value)
    if target == "numeric" and source in ("double precision", "real"):
        rounded = float(f"{number:.15g}")
        return number if math.isinf(rounded) else rounded
    return nearest_real(number) if target == "real" else number


def nearest_real(number: float) -> float:
    """Return the number with the fewest digits that has the same four-byte real.

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
    return next((float(text) for text in texts if struct.pack("f", float(text)) == real), float(f"{rounded:.9g}"))


def cast_text(value: Bound, source: str) -> str:
    if isinstance(value, float):
        return number_text(value)
    if source == "timestamp":
        return str(value).replace("T", " ", 1)
    if source == "timestamp with time zone":
        return str(value).replace("T", " ", 1).removesuffix(":00")
    return str(value)


def number_text(value: float) -> str:
    """Return a double as PostgreSQL prints it: whole numbers without `.0`, an exponent beyond 15 digits.

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
    if is_deeper(value, JSON_DEPTH_MAX):  # Python's own limit depends on its version
        raise types.InvalidInput("invalid input syntax for type json")
    return value


def is_deeper(text: str, depth_max: int) -> bool:
    """Return whether arrays and objects in JSON are nested deeper than `depth_max`.

    >>> is_deeper('[[], {"[[[": 1}]', 2), is_deeper("[[[]]]", 2)
    (False, True)
    """
    if text.count("[") + text.count("{") <= depth_max:
        return False
    depth = 0
    for part in JSON_TOKENS.findall(text):
        if part in "[{":
            depth += 1
            if depth > depth_max:
                return True
        elif part in "]}":
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
    # The local date and time, without the zone.
    local = types.read_clock_face(value)
    return local if target == "timestamp" else local[11:]


def recording_faults(function: Callable[..., Bound], faults: list[Fault]) -> Callable[..., Bound]:
    """Return the function with its faults added to a list and not raised."""

    def run_or_record(*arguments: Any) -> Bound:
        try:
            return function(*arguments)
        except Fault as fault:
            faults.append(fault)
            return None

    return run_or_record


def finite(value: float | None) -> float | None:
    """Return a sum or average of doubles; raise OutOfRange if it is infinite, as PostgreSQL does."""
    if value is not None and math.isinf(value):
        raise types.OutOfRange("value out of range: overflow")
    return value


QUOTIENT_DIGITS_MIN = 16
"""PostgreSQL computes a numeric quotient to at least this many digits."""


def average_text(total: int | None, count: int) -> str | None:
    """Return an average as PostgreSQL's numeric prints it, which stores decimal digits in groups of four.

    >>> average_text(21, 6), average_text(5, 5), average_text(None, 0)
    ('3.5000000000000000', '1.00000000000000000000', None)
    """
    if total is None:
        return None
    (places, first), (places_below, first_below) = digit_groups(abs(total)), digit_groups(count)
    weight = places - places_below - (first <= first_below)
    scale = max(QUOTIENT_DIGITS_MIN - 4 * weight, 0)
    with localcontext(prec=QUOTIENT_DIGITS_MIN + scale + 24, rounding=ROUND_HALF_UP):
        return f"{(Decimal(total) / count).quantize(Decimal(1).scaleb(-scale)):f}"


def digit_groups(number: int) -> tuple[int, int]:
    """Return the number of groups of four digits after the first one, and the first one."""
    places = 0
    while number >= 10_000:
        number //= 10_000
        places += 1
    return places, number


def install(connection: Any, faults: list[Fault]) -> None:
    """Define these functions on an SQLite connection; their faults are added to `faults`."""
    for name, arguments, function in (
        ("matches", 2, matches),
        ("imatches", 2, imatches),
        ("fold", 1, fold),
        ("double_text", 1, double_text),
        ("in_timezone", 2, in_timezone),
        ("cast_value", 3, recording_faults(cast_value, faults)),
        ("cast_clock", 2, recording_faults(cast_clock, faults)),
        ("finite", 1, recording_faults(finite, faults)),
        ("average_text", 2, average_text),
    ):
        connection.create_function(name, arguments, function, deterministic=True)
