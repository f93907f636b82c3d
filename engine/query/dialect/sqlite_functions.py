"""The SQL functions that SQLite lacks: regular expressions, case folding, casts, time zones, doubles.

They are pure, take time linear in their input, and never raise into SQL. An invalid value becomes null, and its fault
is added to the connection's list. The transaction raises the first fault after the statement (`Transaction.all`).
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, localcontext
from functools import lru_cache
from typing import Any, Final
from zoneinfo import ZoneInfo

from models import types
from models.types import Bound, Fault, zone_named

IRREGULAR_LETTERS: Final = "Σςİ"
"""Letters whose lower case depends on their neighbours, such as a final sigma, or is two letters."""
FOLDED_LETTERS: Final = "σσi"
FOLDING: Final = str.maketrans(IRREGULAR_LETTERS, FOLDED_LETTERS)


class InvalidRegularExpression(Fault, code="2201B"):
    """A pattern that is no regular expression."""


class NoRegularExpressions(Fault, code="0A000"):
    """`match` or `imatch` on a platform without google-re2."""

    def __init__(self) -> None:
        super().__init__(
            "match and imatch are not available on this platform",
            hint="They require google-re2, which has no package for this platform.",
        )


class InvalidEscape(Fault, code="22025"):
    """A LIKE pattern that ends with an escape character."""


def fold_case(text: str) -> str:
    """Return a text in lower case, letter by letter. A substring of the text stays a substring of the result.

    >>> fold_case("ΝΙΚΟΣ") == fold_case("Νίκος").replace("ί", "ι") and fold_case("İş")
    'iş'
    """
    return (text if text.isascii() else text.translate(FOLDING)).lower()


try:
    import re2
except ImportError:  # no wheel for this platform
    re2 = None


PATTERN_MEMORY_BYTES = 8 << 20  # per compiled expression; with less, RE2 falls back to a 40 times slower matcher
PATTERNS_CACHED_MAX = 32


class UnknownType(Fault, code="42704"):
    """The target type of a cast does not exist."""


class CannotCast(Fault, code="42846"):
    """There is no cast between two types."""


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
    return zone_named(name)


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


CAST_TYPES = {"text": "text", "int": "integer", "int4": "integer", "integer": "integer", "date": "date"}
"""PostgreSQL's names of the types that a select may cast to, and their canonical names."""


def type_named(name: str) -> str:
    """Return the canonical name of a cast's target type; raise UnknownType."""
    canonical = CAST_TYPES.get(name.lower().strip())
    if canonical is None:
        raise UnknownType(f'type "{name}" does not exist', hint="A select casts to text, integer or date.")
    return canonical


INTEGERS = {"integer", "bigint"}
NUMBERS = {*INTEGERS, "numeric", "double precision"}
CASTABLE = {"integer": {*NUMBERS, "text", "boolean"}, "date": {"text", "date", "timestamp with time zone"}}
"""The types that can be cast to each type. Any type can be cast to text."""


def require_castable(source: str, target: str) -> None:
    """Raise CannotCast for a cast that PostgreSQL does not offer."""
    if target != "text" and source not in CASTABLE[target]:
        raise CannotCast(f"cannot cast type {source} to {target}")


def cast_value(value: Bound, source: str, target: str) -> Bound:
    """Return a value of type `source` as type `target`; raise the fault of an invalid value."""
    if value is None or source == target:
        return value
    if target == "integer":
        return cast_integer(value, source)
    return cast_text(value, source) if target == "text" else types.read_date(str(value))


def cast_integer(value: str | float, source: str) -> int:
    low, high = types.INT32
    if isinstance(value, str):
        return types.read_integer("integer", low, high)(value)
    # PostgreSQL rounds halves of a double to even, and halves of a numeric away from zero.
    exact = Decimal(repr(value)) if source == "numeric" else None
    number = int(exact.to_integral_value(ROUND_HALF_UP)) if exact is not None else round(value)
    if not low <= number <= high:
        raise types.OutOfRange("integer out of range")
    return number


def cast_text(value: Bound, source: str) -> str:
    if source == "boolean":
        return "true" if value else "false"
    if isinstance(value, float):
        return number_text(value)
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
        ("finite", 1, recording_faults(finite, faults)),
        ("average_text", 2, average_text),
    ):
        connection.create_function(name, arguments, function, deterministic=True)
