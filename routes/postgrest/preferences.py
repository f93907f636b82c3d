"""Parses the headers Prefer, Accept, Content-Type and Range.

Prefer follows PostgREST's `ApiRequest/Preferences.hs`. Range is combined with `limit` and `offset`, after PostgREST's
`RangeQuery.hs`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final, TypeVar
from zoneinfo import available_timezones

from models.types import Fault, UnknownTimezone, offset_seconds
from routes.postgrest.lexer import NegativeLimit, UnsatisfiableRange, excerpt, parse_bigint

CACHED_HEADERS_MAX: Final = 256
"""Cache entries. A client sends the same few headers in all its requests."""


class MediaType(StrEnum):
    """The supported formats. The value is the media type without its charset."""

    JSON = "application/json"
    OBJECT = "application/vnd.pgrst.object+json"
    OBJECT_STRIPPED = "application/vnd.pgrst.object+json;nulls=stripped"
    ARRAY_STRIPPED = "application/vnd.pgrst.array+json;nulls=stripped"
    CSV = "text/csv"
    FORM = "application/x-www-form-urlencoded"
    OPENAPI = "application/openapi+json"
    HTML = "text/html"


ROWS: Final = (MediaType.JSON, MediaType.OBJECT, MediaType.OBJECT_STRIPPED, MediaType.ARRAY_STRIPPED, MediaType.CSV)
"""The formats of rows; `*/*` selects the first."""
DOCUMENT: Final = (MediaType.JSON, MediaType.OPENAPI)
"""The formats of the document at /; `*/*` selects the first."""
DOCUMENT_AS_POSTGREST: Final = (MediaType.OPENAPI, MediaType.JSON)
"""The formats of the document at /rest/v1, where Supabase clients look."""
REPORT: Final = (MediaType.HTML, MediaType.JSON)
"""The formats of a report; `*/*` selects the first."""
BODIES: Final = (MediaType.JSON, MediaType.CSV, MediaType.FORM)
"""The formats of a request body."""

CHARACTER_SETS: Final = ("utf-8", "utf8", "us-ascii", "ascii")
"""The character sets of a request body: UTF-8 and its subset."""

_PLAIN: Final = {
    "application/json": MediaType.JSON,
    "application/vnd.pgrst.object+json": MediaType.OBJECT,
    "application/vnd.pgrst.object": MediaType.OBJECT,
    "application/vnd.pgrst.array+json": MediaType.JSON,
    "application/vnd.pgrst.array": MediaType.JSON,
    "text/csv": MediaType.CSV,
    "application/x-www-form-urlencoded": MediaType.FORM,
    "application/openapi+json": MediaType.OPENAPI,
    "text/html": MediaType.HTML,
}
_STRIPPED: Final = {
    "application/vnd.pgrst.object+json": MediaType.OBJECT_STRIPPED,
    "application/vnd.pgrst.object": MediaType.OBJECT_STRIPPED,
    "application/vnd.pgrst.array+json": MediaType.ARRAY_STRIPPED,
    "application/vnd.pgrst.array": MediaType.ARRAY_STRIPPED,
}
_QUALITY: Final = re.compile(r"[0-9]{1,3}(\.[0-9]{0,9})?")


class NotAcceptable(Fault, code="PGRST107"):
    """No accepted format is available."""

    def __init__(self, accepted: tuple[str, ...]) -> None:
        listed = excerpt(", ".join(accepted))
        super().__init__(f"None of these media types are available: {listed}")
        self.accepted = accepted


class UnsupportedMediaType(Fault, code="PGRST102", status=415):
    """A body in an unsupported format or character set."""

    def __init__(self, content_type: str) -> None:
        super().__init__(f"Content-Type not acceptable: {excerpt(content_type)}")
        self.content_type = content_type


@dataclass(frozen=True, slots=True)
class MediaRange:
    """An item of Accept, or a Content-Type: `type/subtype;parameter=value`."""

    name: str
    parameters: tuple[tuple[str, str], ...]

    @property
    def quality(self) -> float:
        """The `q` parameter. As in PostgREST, an invalid one counts as 1."""
        for parameter, value in self.parameters:
            if parameter == "q" and _QUALITY.fullmatch(value):
                return float(value)
        return 1.0

    @property
    def specificity(self) -> int:
        """The rank at equal quality: more parameters first, then fewer asterisks."""
        parameter_count = sum(parameter != "q" for parameter, _ in self.parameters)
        return parameter_count - self.name.count("*")

    def resolve(self) -> MediaType | None:
        """Return the format, or None if it is not supported."""
        stripped = ("nulls", "stripped") in self.parameters
        return (stripped and _STRIPPED.get(self.name)) or _PLAIN.get(self.name)


@lru_cache(maxsize=CACHED_HEADERS_MAX)
def parse_accept(accept: str | None, offered: tuple[MediaType, ...] = ROWS) -> MediaType:
    """Return the best offered format by quality, then specificity, then order; raise NotAcceptable if there is none.

    As in PostgREST, only `*/*` is a wildcard, and `q=0` ranks last. Differs from PostgREST: an empty header
    equals none, and names are case-insensitive.

    >>> parse_accept(None), parse_accept("image/png, */*")
    (<MediaType.JSON: 'application/json'>, <MediaType.JSON: 'application/json'>)
    >>> parse_accept("application/json;q=0.5, text/csv").value
    'text/csv'
    >>> parse_accept("application/vnd.pgrst.object+json; nulls=stripped").name
    'OBJECT_STRIPPED'
    >>> parse_accept("application/openapi+json, */*", DOCUMENT).name
    'OPENAPI'
    >>> parse_accept("image/png;q=0.1, text/html")
    Traceback (most recent call last):
    routes.postgrest.preferences.NotAcceptable: None of these media types are available: \
text/html, image/png
    """
    ranges = [parse_media_range(item) for item in (accept or "*/*").split(",")]
    ranges.sort(key=lambda item: (item.quality, item.specificity), reverse=True)
    for item in ranges:
        if item.name in ("*/*", ""):
            return offered[0]
        media = item.resolve()
        if media in offered:
            return media
    raise NotAcceptable(tuple(item.name for item in ranges))


@lru_cache(maxsize=CACHED_HEADERS_MAX)
def parse_content_type(content_type: str | None) -> MediaType:
    """Return a body's format. Without the header it is JSON, as in PostgREST. A CSV has a header line.

    >>> parse_content_type("application/json; charset=UTF-8").name, parse_content_type(None).name
    ('JSON', 'JSON')
    >>> parse_content_type("application/vnd.pgrst.array+json").name
    'JSON'
    >>> parse_content_type("text/plain; charset=utf-8")
    Traceback (most recent call last):
    routes.postgrest.preferences.UnsupportedMediaType: Content-Type not acceptable: text/plain
    """
    if content_type is None:
        return MediaType.JSON
    media_range = parse_media_range(content_type)
    media = media_range.resolve()
    if media is None or media not in BODIES:
        raise UnsupportedMediaType(media_range.name)
    for parameter, value in media_range.parameters:
        has_no_header = media is MediaType.CSV and parameter == "header" and value.lower() != "present"
        if has_no_header or (parameter == "charset" and value.lower() not in CHARACTER_SETS):
            raise UnsupportedMediaType(f"{media_range.name};{parameter}={value}")
    return media


def parse_media_range(text: str) -> MediaRange:
    """Parse `type/subtype; parameter="value"`.

    >>> parse_media_range(' Text/CSV ; Charset="utf-8";q=0.5;')
    MediaRange(name='text/csv', parameters=(('charset', 'utf-8'), ('q', '0.5')))
    """
    name, *rest = text.split(";")
    parameters = []
    for item in rest:
        parameter, equals, value = item.partition("=")
        if equals:
            parameters.append((parameter.strip().lower(), value.strip().strip('"')))
    return MediaRange(name.strip().lower(), tuple(parameters))


_TIMEZONE: Final = "timezone="
_MAX_AFFECTED: Final = re.compile(r"max-affected=([0-9]{1,18})")
_Choice = TypeVar("_Choice", bound=StrEnum)


class Return(StrEnum):
    """The response of a write."""

    MINIMAL = "return=minimal"
    HEADERS_ONLY = "return=headers-only"
    REPRESENTATION = "return=representation"


class Count(StrEnum):
    """The requested total. All three are exact here (docs/DIALECT.md)."""

    EXACT = "count=exact"
    PLANNED = "count=planned"
    ESTIMATED = "count=estimated"


class Resolution(StrEnum):
    """How an insert treats existing rows."""

    MERGE_DUPLICATES = "resolution=merge-duplicates"
    IGNORE_DUPLICATES = "resolution=ignore-duplicates"


class Missing(StrEnum):
    """The value of a column that `columns` names and a row lacks."""

    DEFAULT = "missing=default"
    NULL = "missing=null"


class Handling(StrEnum):
    """How unknown preferences are treated."""

    STRICT = "handling=strict"
    LENIENT = "handling=lenient"


class TransactionEnd(StrEnum):
    """How the transaction ends."""

    COMMIT = "tx=commit"
    ROLLBACK = "tx=rollback"


_CHOICES: Final = frozenset(
    choice.value for kind in (Return, Count, Resolution, Missing, Handling, TransactionEnd) for choice in kind
)


class Operation(StrEnum):
    """The kind of request, which determines the applicable preferences. UPSERT is PUT."""

    READ = "read"
    INSERT = "insert"
    UPDATE = "update"
    UPSERT = "upsert"
    DELETE = "delete"
    CALL = "call"


@dataclass(frozen=True, slots=True)
class Preferences:
    """The parsed Prefer header. `max_affected` applies only with handling=strict."""

    resolution: Resolution | None = None
    missing: Missing | None = None
    representation: Return | None = None
    count: Count | None = None
    transaction: TransactionEnd | None = None
    handling: Handling | None = None
    timezone: str | None = None
    max_affected: int | None = None

    def applied(self, operation: Operation) -> str | None:
        """Return the value of Preference-Applied, or None if the header is omitted.

        >>> wanted = parse_prefer("return=minimal, count=exact,missing=default")
        >>> wanted.applied(Operation.READ), wanted.applied(Operation.UPDATE)
        ('count=exact', 'missing=default, return=minimal, count=exact')
        >>> Preferences().applied(Operation.READ)
        """
        applied: list[str] = []
        if operation is Operation.INSERT and self.resolution:
            applied.append(self.resolution)
        if operation in (Operation.INSERT, Operation.UPDATE) and self.missing:
            applied.append(self.missing)
        if operation not in (Operation.READ, Operation.CALL) and self.representation:
            applied.append(self.representation)
        applied.extend(item for item in (self.count, self.transaction, self.handling) if item)
        if self.timezone and operation is not Operation.CALL:  # functions return timestamps in UTC
            applied.append(_TIMEZONE + self.timezone)
        # Differs from PostgREST: max-affected also applies to inserts.
        bound = operation is not Operation.READ
        if bound and self.handling is Handling.STRICT and self.max_affected is not None:
            applied.append(f"max-affected={self.max_affected}")
        return ", ".join(applied) or None


class InvalidPreferences(Fault, code="PGRST122"):
    """Unknown preferences with handling=strict."""

    def __init__(self, invalid: Sequence[str]) -> None:
        super().__init__(
            "Invalid preferences given with handling=strict", f"Invalid preferences: {excerpt(', '.join(invalid))}"
        )
        self.invalid = tuple(invalid)


@lru_cache(maxsize=1)
def list_timezones() -> frozenset[str]:
    """Return the names of all time zones. The first call reads some 600 files."""
    return frozenset(available_timezones())


@lru_cache(maxsize=CACHED_HEADERS_MAX)
def parse_prefer(header: str) -> Preferences:
    """Parse the Prefer header. The first preference of each kind applies; unknown ones are ignored.

    As in PostgREST 16, an unknown time zone is refused, and an offset is one. Differs from PostgREST: a POSIX name
    and an offset of 16 hours or more are refused.

    >>> parse_prefer("count=exact,return=minimal,count=planned, foo=bar").count
    <Count.EXACT: 'count=exact'>
    >>> parse_prefer("timezone=america/new_york").timezone
    'America/New_York'
    >>> parse_prefer("timezone=Nowhere/Land")
    Traceback (most recent call last):
    models.types.UnknownTimezone: invalid value for parameter "TimeZone": "Nowhere/Land"
    >>> parse_prefer("handling=strict, foo=bar, max-affected=many")
    Traceback (most recent call last):
    routes.postgrest.preferences.InvalidPreferences: Invalid preferences given with handling=strict
    """
    items = [item.strip() for item in header.split(",") if item.strip()]
    handling = _first_choice(Handling, items)
    if handling is Handling.STRICT:
        invalid = [item for item in items if not _is_known(item)]
        if invalid:
            raise InvalidPreferences(invalid)
    return Preferences(
        _first_choice(Resolution, items),
        _first_choice(Missing, items),
        _first_choice(Return, items),
        _first_choice(Count, items),
        _first_choice(TransactionEnd, items),
        handling,
        _first_timezone(items),
        _first_max_affected(items),
    )


def _first_choice(kind: type[_Choice], items: list[str]) -> _Choice | None:
    return next((choice for item in items for choice in kind if item == choice.value), None)


def _first_timezone(items: list[str]) -> str | None:
    """Return the canonical name of the time zone. Names are case-insensitive, as in PostgreSQL."""
    names = (item.removeprefix(_TIMEZONE) for item in items if item.startswith(_TIMEZONE))
    name = next(names, None)
    if name is None or name in list_timezones() or offset_seconds(name) is not None:
        return name
    for zone in list_timezones():
        if zone.lower() == name.lower():
            return zone
    raise UnknownTimezone(f'invalid value for parameter "TimeZone": "{excerpt(name)}"')


def _first_max_affected(items: list[str]) -> int | None:
    matches = (_MAX_AFFECTED.fullmatch(item) for item in items)
    return next((int(match[1]) for match in matches if match), None)


def _is_known(item: str) -> bool:
    return item in _CHOICES or item.startswith(_TIMEZONE) or _MAX_AFFECTED.fullmatch(item) is not None


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
    routes.postgrest.lexer.NegativeLimit: Requested range not satisfiable
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
