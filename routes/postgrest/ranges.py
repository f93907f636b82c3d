"""Parses the Range header and combines it with `limit` and `offset`, after PostgREST's `RangeQuery.hs`."""

from __future__ import annotations

import re
from typing import Final

from routes.postgrest.limits import NegativeLimit, UnsatisfiableRange, parse_bigint

_RANGE: Final = re.compile(r"([0-9]+)-([0-9]*)")


class InvertedRange(UnsatisfiableRange):
    """A Range header whose upper bound is below its lower bound."""

    def __init__(self) -> None:
        super().__init__("The lower boundary must be lower than or equal to the upper boundary in the Range header.")


def parse_range(header: str | None, method: str) -> tuple[int, int | None]:
    """Return the offset and limit of a Range header. An invalid header selects all rows.

    It applies to GET only (RFC 9110, 14.2).

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
        raise InvertedRange
    return lower, parse_bigint(str(upper - lower + 1))


def intersect(header: tuple[int, int | None], requested: tuple[int, int | None]) -> tuple[int, int | None]:
    """Return the intersection of a Range header with `offset` and `limit`; raise NegativeLimit if it is empty.

    `limit=0` selects no row whatever the header says (PostgREST's issue 1121), but raises NegativeLimit with an
    offset above 0.

    >>> intersect((1, 3), (0, 2)), intersect((1, 3), (2, None)), intersect((1, 3), (0, 0))
    ((1, 1), (2, 2), (0, 0))
    >>> intersect((1, 3), (5, None))
    Traceback (most recent call last):
    routes.postgrest.limits.NegativeLimit: Requested range not satisfiable
    """
    if requested[1] == 0 and requested[0] > 0:
        raise NegativeLimit
    if header == (0, None) or requested[1] == 0:
        return requested
    lower = max(header[0], requested[0])
    ends = [offset + limit for offset, limit in (header, requested) if limit is not None]
    if not ends:
        return lower, None
    if min(ends) <= lower:
        raise NegativeLimit
    return lower, min(ends) - lower
