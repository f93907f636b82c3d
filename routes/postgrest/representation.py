"""Renders results by media type and preferences: status, headers and body.

CSV and null-stripped JSON are rendered from the rows' JSON. Both are rare and have no plan of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from engine.execute import CountResult, SelectResult
from engine.interface.faults import VALUE_BYTES_MAX, ResponseTooLarge
from engine.query.catalog import Relation, catalog
from engine.query.dialect.sqlite_functions import number_text
from engine.query.read.embed import is_empty
from engine.query.shape import Column, Node
from engine.query.write.insert import WriteResult
from models.errors import Fault
from routes.postgrest.media import MediaType
from routes.postgrest.preferences import Operation, Preferences, Resolution, Return
from routes.postgrest.requests import NotSingular, OffsetOutOfRange

SINGULAR = (MediaType.OBJECT, MediaType.OBJECT_STRIPPED)
STRIPPED = (MediaType.OBJECT_STRIPPED, MediaType.ARRAY_STRIPPED)
REENCODED = (MediaType.CSV, *STRIPPED)
"""The formats for which rows are parsed and rendered again."""

LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""A character that JSON can escape and UTF-8 cannot encode."""


class TooDeep(Fault):
    """JSON in a row that is nested too deeply to be rendered again."""

    def __init__(self) -> None:
        super().__init__("a row is nested too deep for this format")


class TooLarge(Fault):
    """A number in a row's JSON that Python's float or int cannot hold."""

    def __init__(self) -> None:
        super().__init__("a row has a number that is too large for this format")


@dataclass(frozen=True, slots=True)
class Representation:
    """A rendered response: status, headers and body."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = ""


def represent_read(
    selected: SelectResult, offset: int, media: MediaType, preferences: Preferences, header: Sequence[str]
) -> Representation:
    """Return the response of a read. `header` are the column names of a CSV."""
    text = encode_rows(selected.rows, media, header)  # raises NotSingular before OffsetOutOfRange
    return Representation(*read_outcome(selected, offset, media, preferences), text)


def represent_head(counted: CountResult, offset: int, media: MediaType, preferences: Preferences) -> Representation:
    """Return the response of a HEAD request."""
    if media in SINGULAR and counted.shown != 1:
        raise NotSingular(counted.shown)
    return Representation(*read_outcome(counted, offset, media, preferences), body=None)


def read_outcome(
    result: SelectResult | CountResult, offset: int, media: MediaType, preferences: Preferences
) -> tuple[int, dict[str, str]]:
    count, total = result.shown, result.total
    if total is not None and offset > total:
        raise OffsetOutOfRange(offset, total, applied(preferences, Operation.READ))
    status = 206 if total is not None and count < total else 200
    return status, {
        "Content-Range": content_range(offset, count, total),
        **content_headers(media),
        **applied(preferences, Operation.READ),
    }


def represent_write(
    written: WriteResult,
    operation: Operation,
    media: MediaType,
    preferences: Preferences,
    header: Sequence[str],
    relation: Relation,
) -> Representation:
    """Return the response of a write, with the rows if they were requested."""
    count = len(written.keys)
    total = count if preferences.count is not None else None
    headers = applied(preferences, operation)
    if operation is Operation.UPDATE:
        headers["Content-Range"] = content_range(0, count, total)
    elif operation is not Operation.UPSERT:
        headers["Content-Range"] = content_range(0, 0, total)
    if wants_location(operation, preferences) and count == 1:
        headers["Location"] = location(relation, written.keys[0])
    status = write_status(written, operation, preferences)
    if written.rows is None:
        return Representation(status, headers)
    if written.is_cut:
        headers["Content-Range"] = content_range(0, len(written.rows), count)
    headers.update(content_headers(media))
    return Representation(status, headers, encode_rows(written.rows, media, header))


def write_status(written: WriteResult, operation: Operation, preferences: Preferences) -> int:
    """Return the status: 200 for a merge without new rows, 201 for other inserts. PUT returns 201 for a new row."""
    if operation is Operation.INSERT:
        merges = preferences.resolution is Resolution.MERGE_DUPLICATES
        return 200 if merges and not written.inserted else 201
    if written.rows is None:
        return 204
    return 201 if operation is Operation.UPSERT and written.inserted else 200


def wants_location(operation: Operation, preferences: Preferences) -> bool:
    return operation is Operation.INSERT and preferences.representation is Return.HEADERS_ONLY


def location(relation: Relation, key: tuple[object, ...]) -> str:
    """Return the URL of a new row, relative to the request."""
    filters = "&".join(f"{name}=eq.{quote(str(value), safe='')}" for name, value in zip(relation.key, key, strict=True))
    return f"/{relation.name}?{filters}"


def applied(preferences: Preferences, operation: Operation) -> dict[str, str]:
    preferences_applied = preferences.applied(operation)
    return {"Preference-Applied": preferences_applied} if preferences_applied is not None else {}


def content_range(offset: int, count: int, total: int | None) -> str:
    """Return the Content-Range value: `0-19/*`, `*/0`. An aggregate over no rows has the range `*/0`.

    >>> content_range(20, 10, None), content_range(0, 0, 3), content_range(0, 1, 0)
    ('20-29/*', '*/3', '*/0')
    """
    shown = f"{offset}-{offset + count - 1}" if count and total != 0 else "*"
    return f"{shown}/{'*' if total is None else total}"


def content_type(media: MediaType) -> str:
    return f"{media.value}; charset=utf-8"


def content_headers(media: MediaType) -> dict[str, str]:
    """Return the content headers. CSV is an attachment, since a spreadsheet may execute a cell."""
    headers = {"Content-Type": content_type(media)}
    if media is MediaType.CSV:
        headers["Content-Disposition"] = "attachment"
    return headers


def encode_rows(rows: list[str], media: MediaType, header: Sequence[str]) -> str:
    """Return rows of JSON text in a media type; raise NotSingular, ResponseTooLarge, TooDeep or TooLarge."""
    if media in SINGULAR and len(rows) != 1:
        raise NotSingular(len(rows))
    try:
        if media is MediaType.CSV:
            return escape_surrogates(csv_text(rows, header))
        if media in STRIPPED:
            rows = [escape_surrogates(without_nulls(row)) for row in rows]
    except RecursionError:
        raise TooDeep from None
    except ValueError:  # too many digits, or infinite
        raise TooLarge from None
    return rows[0] if media in SINGULAR else "[" + ",\n ".join(rows) + "]"


def escape_surrogates(text: str) -> str:
    """Return the text with each lone surrogate as a JSON escape."""
    return LONE_SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def without_nulls(row: str) -> str:
    """Return a row without null values, embedded rows included."""
    values = drop_nulls(json.loads(row))
    return json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def drop_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: drop_nulls(inner) for key, inner in value.items() if inner is not None}
    return [drop_nulls(inner) for inner in value] if isinstance(value, list) else value


def csv_text(rows: list[str], header: Sequence[str]) -> str:
    """Return rows as CSV with a header line. Null is an empty cell, an empty text is `""`."""
    lines = [",".join(cell(name) for name in header)]
    bytes_left = VALUE_BYTES_MAX
    for row in rows:
        values = json.loads(row)
        lines.append(",".join(cell(values.get(name)) for name in header))
        # Escaping may lengthen a row up to four times.
        bytes_left -= len(lines[-1]) if lines[-1].isascii() else len(lines[-1].encode("utf-8", "replace"))
        if bytes_left < 0:
            raise ResponseTooLarge
    return "\n".join(lines)


def cell(value: object) -> str:
    r"""Return a value as a CSV cell.

    >>> cell('say "x", please'), cell(None), cell(""), cell("NULL"), cell(2.0), cell(True)
    ('"say ""x"", please"', '', '""', '"NULL"', '2', 't')
    >>> cell("C:\\photos")
    '"C:\\photos"'
    """
    if value is None:
        return ""
    if value is True or value is False:
        return "t" if value else "f"
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, dict | list):
        # PostgREST prints a row as PostgreSQL prints a record, which doubles backslashes. No JSON column is written.
        value = json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\\", "\\\\")
    text = str(value)
    quoted = text in ("", "NULL") or any(character in ',"\\\n\r\t ()' for character in text)
    return '"' + text.replace('"', '""') + '"' if quoted else text


def row_keys(node: Node, relation: Relation) -> list[str]:
    """Return the keys of a node's rows, in order: the header of a CSV."""
    keys: dict[str, None] = {}
    for item in node.items:
        if isinstance(item, Column):
            keys.update(dict.fromkeys(column_keys(item, relation)))
        elif item.spread:
            relationship = catalog().relationship(relation.name, item.relation, item.hint)
            target = catalog().relations[relationship.target]
            keys.update(dict.fromkeys(row_keys(item.node, target)))
        elif not is_empty(item.node):
            keys[item.name] = None
    return list(keys)


def column_keys(item: Column, relation: Relation) -> list[str]:
    if item.name == "*" and item.aggregate is None:
        return list(relation.attributes)
    return [item.key]
