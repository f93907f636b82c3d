"""How much one query string may ask for: the parser's bounds, each with its reason.

Where the others stand is told in docs/SAFETY.md. Knows numbers only: which text ran into a bound is
known where it is read, and the wire's status for it stands in `errors.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from models.errors import Fault

BIGINT_MAX: Final = 2**63 - 1
"""The largest number PostgreSQL's bigint holds, and SQLite's integer."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of docs/DIALECT.md, and the few beside them that keep reading itself cheap."""

    query_bytes: int = 65_536
    """As long as a request line may be."""
    select_items: int = 500
    """Also names in `columns`: far above any table's width, and one item costs one expression."""
    embeds_deep: int = 5
    """The resources are four foreign keys deep; each level multiplies the rows read."""
    embeds: int = 32
    """Of all levels: each is planned, and SQLite joins no more than 64 tables."""
    logic_deep: int = 10
    """A tree is read and planned by descending into it."""
    conditions: int = 100
    """Of the whole request, embeds included: each is tried on every row."""
    list_values: int = 1_000
    """A list is one bound value, searched once per row."""
    pattern_characters: int = 256
    """The time of like and match grows with pattern times text."""
    path_steps: int = 16
    """A step into JSON is an expression around the one before; the trail's JSON is one deep."""
    order_terms: int = 16
    """Each term is another comparison in the sort, and only the first few ever decide."""
    payload_rows: int = 1_000
    """As many as an answer shows; one transaction holds the write lock for all of them."""
    payload_columns: int = 100
    """No table is half as wide: more is a mistake, or meant to be slow."""
    payload_depth: int = 64
    """No column holds a document; anything nested is refused by its type later."""
    number_characters: int = 400
    """The longest double in full has 309 digits before its point; longer ones only cost time."""


LIMITS: Final = Limits()


class TooMuch(Fault):
    """The request asks for more than one of the bounds allows; the message names the bound."""

    def __init__(self, bound: int, what: str) -> None:
        super().__init__(f"A request may have at most {bound} {what}.")
        self.bound = bound
        self.what = what


class NumberOutOfRange(Fault):
    """A number that its type cannot hold; on the wire there are bigints and doubles."""

    def __init__(self, digits: str, type_name: str = "bigint") -> None:
        which = "" if type_name == "double precision" else "value "  # PostgreSQL's own words
        super().__init__(f'{which}"{excerpt(digits)}" is out of range for type {type_name}')
        self.digits = digits


class UnsatisfiableRange(Fault):
    """No row can be in the range asked for."""

    def __init__(self, details: str) -> None:
        super().__init__("Requested range not satisfiable", details)


class NegativeLimit(UnsatisfiableRange):
    """A limit below zero, or what limit, offset and Range have in common is nothing."""

    def __init__(self) -> None:
        super().__init__("Limit should be greater than or equal to zero.")


def parse_bigint(digits: str) -> int:
    """Read ASCII digits, however many.

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
    """Shorten what a message quotes: nobody reads 64 KiB of it back."""
    return text if len(text) <= characters else text[:characters] + "…"
