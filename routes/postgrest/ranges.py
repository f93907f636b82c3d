"""Which part of the rows: the Range header, and what it leaves of `limit` and `offset`.

Numbers only; how many rows there are is the database's. After PostgREST's `RangeQuery.hs`.
"""

from __future__ import annotations

import re
from typing import Final

from routes.postgrest.limits import NegativeLimit
from routes.postgrest.limits import UnsatisfiableRange
from routes.postgrest.limits import parse_bigint

_RANGE: Final = re.compile(r"([0-9]+)-([0-9]*)")


class LowerAboveUpper(UnsatisfiableRange):
    """A Range header that ends before it begins."""

    def __init__(self) -> None:
        super().__init__(
            "The lower boundary must be lower than or equal to the upper boundary"
            " in the Range header."
        )


def parse_range(header: str | None, method: str) -> tuple[int, int | None]:
    """Read a Range header as offset and limit; what is no range asks for everything.

    Only GET has one (RFC 9110, 14.2): a HEAD tells of all rows.

    >>> parse_range("5-9", "GET"), parse_range("5-", "GET"), parse_range("-5", "GET")
    ((5, 5), (5, None), (0, None))
    >>> parse_range("5-9", "HEAD"), parse_range(None, "GET")
    ((0, None), (0, None))
    """
    match = _RANGE.fullmatch(header.strip(" \t")) if header else None
    if match is None or method != "GET":
        return 0, None
    lower = parse_bigint(match[1])
    if not match[2]:
        return lower, None
    upper = parse_bigint(match[2])
    if upper < lower:
        raise LowerAboveUpper
    return lower, parse_bigint(str(upper - lower + 1))


def intersect(
    header: tuple[int, int | None], asked: tuple[int, int | None]
) -> tuple[int, int | None]:
    """Find what a Range header and `offset` and `limit` of the query have in common.

    A limit of zero asks for no row whatever the header says (PostgREST's issue 1121), but begins at
    the first: further on it is a range that ends before it begins.

    >>> intersect((1, 3), (0, 2)), intersect((1, 3), (2, None)), intersect((1, 3), (0, 0))
    ((1, 1), (2, 2), (0, 0))
    >>> intersect((1, 3), (5, None))
    Traceback (most recent call last):
    routes.postgrest.limits.NegativeLimit: Requested range not satisfiable
    """
    if asked[1] == 0 and asked[0] > 0:
        raise NegativeLimit
    if header == (0, None) or asked[1] == 0:
        return asked
    lower = max(header[0], asked[0])
    ends = [offset + limit for offset, limit in (header, asked) if limit is not None]
    if not ends:
        return lower, None
    if min(ends) <= lower:
        raise NegativeLimit
    return lower, min(ends) - lower
