"""The limits of a query string and a payload, each with its reason.

docs/DIALECT.md#limits lists the other limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from models.errors import Fault

BIGINT_MAX: Final = 2**63 - 1
"""The largest PostgreSQL bigint and SQLite integer."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of docs/DIALECT.md, and some that bound the parser's time."""

    query_bytes: int = 65_536
    """The maximum length of a query string. The worker limits the whole request line to 65,535 bytes."""
    select_items: int = 500
    """Also applies to `columns`. No table is as wide, and each item costs an expression."""
    embeds_deep: int = 5
    """The resources are four foreign keys deep, and each level multiplies the rows read."""
    embeds: int = 32
    """On all levels together. Each embed is planned, and SQLite joins at most 64 tables."""
    logic_deep: int = 10
    """The parser and the planner recurse into a tree."""
    conditions: int = 100
    """In the whole request, embeds included. Each condition is evaluated on every row."""
    list_values: int = 1_000
    """A list is one bound value and is searched once per row."""
    pattern_characters: int = 256
    """The time of like and match grows with the product of pattern and text."""
    path_steps: int = 16
    """Each step nests another expression. The audit log's JSON is one level deep."""
    order_terms: int = 16
    """Each term adds a comparison to the sort."""
    payload_rows: int = 1_000
    """The maximum number of rows in a response. One transaction holds the writer lock for all of them."""
    payload_columns: int = 100
    """Twice the width of the widest table."""
    payload_depth: int = 64
    """No column stores documents. Column types refuse nested values later."""
    number_characters: int = 400
    """The longest double has 309 digits before its point."""


LIMITS: Final = Limits()


class LimitExceeded(Fault):
    """A request that exceeds a limit. The message names the limit."""

    def __init__(self, bound: int, what: str) -> None:
        super().__init__(f"A request may have at most {bound} {what}.")
        self.bound = bound
        self.what = what


class TooManyNames(LimitExceeded):
    """An object, a form, a header or a call with more names than LIMITS.payload_columns (54000)."""

    def __init__(self, bound: int) -> None:
        super().__init__(bound, "names in an object, a form, a header or a call")


class NumberOutOfRange(Fault):
    """A number that does not fit its type, bigint or double."""

    def __init__(self, digits: str, type_name: str = "bigint") -> None:
        which = "" if type_name == "double precision" else "value "  # as PostgreSQL words it
        super().__init__(f'{which}"{excerpt(digits)}" is out of range for type {type_name}')
        self.digits = digits


class UnsatisfiableRange(Fault):
    """A range that cannot contain a row."""

    def __init__(self, details: str) -> None:
        super().__init__("Requested range not satisfiable", details)


class NegativeLimit(UnsatisfiableRange):
    """A negative limit, or a Range header that does not overlap limit and offset."""

    def __init__(self) -> None:
        super().__init__("Limit should be greater than or equal to zero.")


def parse_bigint(digits: str) -> int:
    """Return the number in a text of ASCII digits; raise NumberOutOfRange above bigint's maximum.

    >>> parse_bigint("007")
    7
    >>> parse_bigint("9223372036854775808")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    NumberOutOfRange: value "9223372036854775808" is out of range for type bigint
    """
    significant = digits.lstrip("0") or "0"
    if len(significant) > len(str(BIGINT_MAX)) or int(significant) > BIGINT_MAX:
        raise NumberOutOfRange(digits)
    return int(significant)


def excerpt(text: str, characters: int = 200) -> str:
    """Return the start of a text, for a message."""
    return text if len(text) <= characters else text[:characters] + "…"
