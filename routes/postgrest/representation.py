"""How it is answered: rows and what was done, by the media type and preferences, as PostgREST says it.

Results in, status, headers and body out. CSV and stripped nulls are made from the rows' JSON: both are
rare, so they have no plan of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import Final
from urllib.parse import quote

from engine.query.catalog import Relation
from engine.query.catalog import catalog
from engine.query.execute import CountResult
from engine.query.execute import SelectResult
from engine.query.read.embed import is_empty
from engine.query.shape import Column
from engine.query.shape import Node
from engine.query.write.insert import WriteResult
from engine.storage.library_limits import VALUE_BYTES_MAX
from engine.storage.sql_functions import number_text
from engine.storage.sqlite import ResponseTooLarge
from models.errors import Fault
from routes.postgrest.media import MediaType
from routes.postgrest.preferences import Operation
from routes.postgrest.preferences import Preferences
from routes.postgrest.preferences import Resolution
from routes.postgrest.preferences import Return
from routes.postgrest.requests import NotSingular
from routes.postgrest.requests import OutOfRows

SINGULAR = (MediaType.OBJECT, MediaType.OBJECT_STRIPPED)
STRIPPED = (MediaType.OBJECT_STRIPPED, MediaType.ARRAY_STRIPPED)
MADE_ANEW = (MediaType.CSV, *STRIPPED)
"""What rows of JSON are read for, and written otherwise."""

HALF_A_LETTER: Final = re.compile("[\ud800-\udfff]")
"""What JSON can write by its number alone, and UTF-8 not at all."""


class TooDeep(Fault):
    """A row with JSON in it that is nested too deep to be rid of its nulls, or be made CSV of."""

    def __init__(self) -> None:
        super().__init__("a row is nested too deep for this format")


class TooLarge(Fault):
    """A row with JSON in it that has a number which Python does not hold."""

    def __init__(self) -> None:
        super().__init__("a row has a number that is too large for this format")


@dataclass(frozen=True, slots=True)
class Representation:
    """An answer, before it is anybody's response."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = ""


def represent_read(
    selected: SelectResult,
    offset: int,
    media: MediaType,
    preferences: Preferences,
    header: Sequence[str],
) -> Representation:
    """Rows that were asked for; `header` are the keys of a row, for CSV."""
    text = body(selected.rows, media, header)  # which says first if there is not one row
    return Representation(*read_outcome(selected, offset, media, preferences), text)


def represent_head(
    counted: CountResult, offset: int, media: MediaType, preferences: Preferences
) -> Representation:
    """The same without the rows: what they would be stands in the headers."""
    if media in SINGULAR and counted.shown != 1:
        raise NotSingular(counted.shown)
    return Representation(*read_outcome(counted, offset, media, preferences), body=None)


def read_outcome(
    found: SelectResult | CountResult, offset: int, media: MediaType, preferences: Preferences
) -> tuple[int, dict[str, str]]:
    count, total = found.shown, found.total
    if total is not None and offset > total:
        raise OutOfRows(offset, total, applied(preferences, Operation.READ))
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
    """What a write did, and the rows if they were wanted."""
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
    return Representation(status, headers, body(written.rows, media, header))


def write_status(written: WriteResult, operation: Operation, preferences: Preferences) -> int:
    """200 for a merge that made no row, 201 for any other insert; PUT tells rows it made apart, too."""
    if operation is Operation.INSERT:
        merges = preferences.resolution is Resolution.MERGE_DUPLICATES
        return 200 if merges and not written.inserted else 201
    if written.rows is None:
        return 204
    return 201 if operation is Operation.UPSERT and written.inserted else 200


def wants_location(operation: Operation, preferences: Preferences) -> bool:
    return operation is Operation.INSERT and preferences.representation is Return.HEADERS_ONLY


def location(relation: Relation, key: tuple[object, ...]) -> str:
    """Where a new row is, relative to whoever asks."""
    filters = "&".join(
        f"{name}=eq.{quote(str(value), safe='')}"
        for name, value in zip(relation.key, key, strict=True)
    )
    return f"/{relation.name}?{filters}"


def applied(preferences: Preferences, operation: Operation) -> dict[str, str]:
    said = preferences.applied(operation)
    return {"Preference-Applied": said} if said is not None else {}


def content_range(offset: int, count: int, total: int | None) -> str:
    """`0-19/*`, `*/0`: which rows, of how many; the one that sums up nothing is of none.

    >>> content_range(20, 10, None), content_range(0, 0, 3), content_range(0, 1, 0)
    ('20-29/*', '*/3', '*/0')
    """
    shown = f"{offset}-{offset + count - 1}" if count and total != 0 else "*"
    return f"{shown}/{'*' if total is None else total}"


def content_type(media: MediaType) -> str:
    return f"{media.value}; charset=utf-8"


def content_headers(media: MediaType) -> dict[str, str]:
    """The type; CSV besides is a file to keep, since a spreadsheet may run what a cell begins with."""
    headers = {"Content-Type": content_type(media)}
    if media is MediaType.CSV:
        headers["Content-Disposition"] = "attachment"
    return headers


def body(rows: list[str], media: MediaType, header: Sequence[str]) -> str:
    """Rows of JSON text in a media type; raises NotSingular, ResponseTooLarge, TooDeep and TooLarge."""
    if media in SINGULAR and len(rows) != 1:
        raise NotSingular(len(rows))
    try:
        if media is MediaType.CSV:
            return by_number(csv_text(rows, header))
        if media in STRIPPED:
            rows = [by_number(stripped(row)) for row in rows]
    except RecursionError:
        raise TooDeep from None
    except ValueError:  # beyond so many digits, or infinite
        raise TooLarge from None
    return rows[0] if media in SINGULAR else "[" + ",\n ".join(rows) + "]"


def by_number(text: str) -> str:
    """The same with each half of a letter written as JSON has it."""
    return HALF_A_LETTER.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def stripped(row: str) -> str:
    """A row without its nulls, those of embedded rows included."""
    found = strip(json.loads(row))
    return json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def strip(value: object) -> object:
    if isinstance(value, dict):
        return {key: strip(inner) for key, inner in value.items() if inner is not None}
    return [strip(inner) for inner in value] if isinstance(value, list) else value


def csv_text(rows: list[str], header: Sequence[str]) -> str:
    """Rows as CSV with a header line, null being an empty cell and an empty text `""`."""
    lines = [",".join(cell(name) for name in header)]
    left = VALUE_BYTES_MAX
    for row in rows:
        found = json.loads(row)
        lines.append(",".join(cell(found.get(name)) for name in header))
        # A quotation mark is two in CSV, and behind a backslash four.
        left -= len(lines[-1]) if lines[-1].isascii() else len(lines[-1].encode("utf-8", "replace"))
        if left < 0:
            raise ResponseTooLarge
    return "\n".join(lines)


def cell(value: object) -> str:
    r"""One CSV cell.

    >>> cell('say "x", please'), cell(None), cell(""), cell(2.0), cell(True)
    ('"say ""x"", please"', '', '""', '2', 't')
    """
    if value is None:
        return ""
    if value is True or value is False:
        return "t" if value else "f"
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False, allow_nan=False)
    text = str(value)
    quoted = not text or any(character in ',"\\\n\r\t ()' for character in text)
    # PostgREST prints a row as PostgreSQL prints a record, which doubles backslashes as well.
    return '"' + text.replace("\\", "\\\\").replace('"', '""') + '"' if quoted else text


def row_keys(node: Node, relation: Relation) -> list[str]:
    """The keys that a node's rows have, in order: what heads a CSV."""
    keys: dict[str, None] = {}
    for item in node.items:
        if isinstance(item, Column):
            keys.update(dict.fromkeys(column_keys(item, relation)))
        elif item.spread:
            way = catalog().relationship(relation.name, item.relation, item.hint)
            there = catalog().relations[way.target]
            keys.update(dict.fromkeys(row_keys(item.node, there)))
        elif not is_empty(item.node):
            keys[item.name] = None
    return list(keys)


def column_keys(item: Column, relation: Relation) -> list[str]:
    if item.name == "*" and item.aggregate is None:
        return list(relation.attributes)
    return [item.key]
