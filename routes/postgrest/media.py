"""Media types: parses Accept and Content-Type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from models.errors import Fault
from routes.postgrest.limits import excerpt

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


class NotAcceptable(Fault):
    """No accepted format is available."""

    def __init__(self, accepted: tuple[str, ...]) -> None:
        listed = excerpt(", ".join(accepted))
        super().__init__(f"None of these media types are available: {listed}")
        self.accepted = accepted


class UnsupportedContentEncoding(Fault):
    """A body with a Content-Encoding."""

    def __init__(self, encoding: str) -> None:
        super().__init__(f"Content-Encoding not acceptable: {excerpt(encoding)}")


class UnsupportedMediaType(Fault):
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
    routes.postgrest.media.NotAcceptable: None of these media types are available: \
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
    routes.postgrest.media.UnsupportedMediaType: Content-Type not acceptable: text/plain
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
