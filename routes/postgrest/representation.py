"""Renders results by media type and preferences, and checks a write's filters before the write runs.

A result has status, headers and body. CSV and null-stripped JSON are rendered from the rows' JSON. Both are rare and
have no plan of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from engine.execute import CountResult, SelectResult
from engine.interface.database import VALUE_BYTES_MAX, ResponseTooLarge
from engine.query.catalog import Relation, catalog
from engine.query.dialect.sqlite_functions import number_text
from engine.query.read.embed import is_empty
from engine.query.shape import Column, Filter, Node, Query
from engine.query.write.insert import WriteResult
from models.types import Fault
from routes.postgrest.lexer import UnsatisfiableRange, excerpt
from routes.postgrest.payload import Row
from routes.postgrest.preferences import MediaType, Operation, Preferences, Resolution, Return

PROFILE = "public"
PROFILE_HEADERS = ("Accept-Profile", "Content-Profile")


class UnknownProfile(Fault, code="PGRST106"):
    """An unknown schema in Accept-Profile or Content-Profile."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Invalid schema: {excerpt(name)}", hint=f"Only the following schemas are exposed: {PROFILE}")


class MethodNotAllowed(Fault, code="PGRST117"):
    """A method without a view on this path."""

    def __init__(self, method: str, allowed: Iterable[str]) -> None:
        super().__init__(f"Unsupported HTTP method: {method}")
        self.allowed = sorted(allowed)


class BadRequest(Fault, code="PGRST100"):
    """A malformed HTTP request."""


class MissingWhere(Fault, code="21000"):
    """An update or delete without filters."""

    def __init__(self, statement: str) -> None:
        super().__init__(f"{statement} requires a WHERE clause", hint="Add a filter to the query string.")


class LimitWithoutOrder(Fault, code="PGRST109"):
    """An update or delete with a limit but no order."""

    def __init__(self) -> None:
        super().__init__(
            "A 'limit' was applied without an explicit 'order'", hint="Apply an 'order' using unique column(s)"
        )


class KeyNotFiltered(Fault, code="PGRST105"):
    """A PUT whose filters do not name exactly the primary key."""

    def __init__(self) -> None:
        super().__init__("Filters must include all and only primary key columns with 'eq' operators")


class PutWithRange(Fault, code="PGRST114"):
    """A PUT with a limit or an offset."""

    def __init__(self) -> None:
        super().__init__("limit/offset querystring parameters are not allowed for PUT")


class KeyNotNamed(Fault, code="42703"):
    """A PUT whose body lacks a primary key column."""

    def __init__(self, column: str) -> None:
        super().__init__(f'the payload has no primary key column "{column}"')


class KeyMismatch(Fault, code="PGRST115"):
    """A PUT whose body has another key than its filters."""

    def __init__(self) -> None:
        super().__init__("Payload values do not match URL in primary key column(s)")


class NotSingular(Fault, code="PGRST116"):
    """A result of other than one row where a single object is requested."""

    def __init__(self, count: int) -> None:
        super().__init__("Cannot coerce the result to a single JSON object", f"The result contains {count} rows")


class TooManyAffected(Fault, code="PGRST124"):
    """A write of more rows than max-affected."""

    def __init__(self, count: int) -> None:
        super().__init__("Query result exceeds max-affected preference constraint", f"The query affects {count} rows")


class OffsetOutOfRange(UnsatisfiableRange):
    """An offset beyond the last row. `applied` is the Preference-Applied header."""

    def __init__(self, offset: int, total: int, applied: dict[str, str]) -> None:
        super().__init__(f"An offset of {offset} was requested, but there are only {total} rows.")
        self.total = total
        self.applied = applied


def require_where(query: Query, query_string: str, statement: str) -> None:
    """Raise unless an update or delete has a filter on its own rows, and an order with a limit.

    A parameter without `=` (`status%3Deq.failed`) is refused, since it may be a malformed filter.
    """
    for parameter in query_string.split("&"):
        if parameter and "=" not in parameter:
            raise BadRequest(f"A parameter without '=' is no condition: {excerpt(parameter)}")
    root = query.shape.root
    if not root.conditions:
        raise MissingWhere(statement)
    if (root.limit is not None or root.offset is not None) and not root.order:
        raise LimitWithoutOrder


def refuse_range(query: Query) -> None:
    """Raise PutWithRange for a limit or an offset above 0."""
    root = query.shape.root
    if root.limit is not None or (root.offset is not None and query.values[root.offset]):
        raise PutWithRange


def require_key_filters(query: Query, relation: Relation) -> dict[str, str]:
    """Return the key values in a PUT's filters; raise KeyNotFiltered if they differ from the primary key."""
    key_values = equality_filters(query)
    if set(key_values) != set(relation.key) or len(query.shape.root.conditions) != len(relation.key):
        raise KeyNotFiltered
    return key_values


def filters_one_row(query: Query, relation: Relation) -> bool:
    """Return whether the filters are equalities that include the whole primary key."""
    key_values = equality_filters(query)
    return set(relation.key) <= set(key_values) and len(query.shape.root.conditions) == len(key_values)


def equality_filters(query: Query) -> dict[str, str]:
    """Return the columns that are filtered by `eq` alone, with their values."""
    return {
        each.column: str(query.values[each.value])
        for each in query.shape.root.conditions
        if isinstance(each, Filter) and each.is_equality and each.value is not None
    }


def require_matching_key(key_values: dict[str, str], relation: Relation, rows: list[Row]) -> None:
    """Raise unless the body of a PUT is one row with the filters' key."""
    for name in relation.key:
        if any(name not in row for row in rows):
            raise KeyNotNamed(name)
    kinds = {name: relation.attributes[name].type for name in relation.key}
    filtered_key = [kinds[name].read_text(key_values[name]) for name in relation.key]
    keys = [[kinds[name].read_json(row[name]) for name in relation.key] for row in rows]
    if keys != [filtered_key]:
        raise KeyMismatch


def names_profile(environ: Mapping[str, object]) -> bool:
    """Return whether the request names a schema in the header that applies to its method."""
    reads = environ["REQUEST_METHOD"] in ("GET", "HEAD")
    return ("HTTP_ACCEPT_PROFILE" if reads else "HTTP_CONTENT_PROFILE") in environ


def require_profiles(*names: str | None) -> None:
    """Raise UnknownProfile for any schema except the exposed one."""
    for name in names:
        if name not in (None, PROFILE):
            raise UnknownProfile(name)


SINGULAR = (MediaType.OBJECT, MediaType.OBJECT_STRIPPED)
STRIPPED = (MediaType.OBJECT_STRIPPED, MediaType.ARRAY_STRIPPED)
REENCODED = (MediaType.CSV, *STRIPPED)
"""The formats for which rows are parsed and rendered again."""


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
    """Return rows of JSON text in a media type; raise NotSingular or ResponseTooLarge."""
    if media in SINGULAR and len(rows) != 1:
        raise NotSingular(len(rows))
    if media is MediaType.CSV:
        return csv_text(rows, header)
    if media in STRIPPED:
        rows = [without_nulls(row) for row in rows]
    return rows[0] if media in SINGULAR else "[" + ",\n ".join(rows) + "]"


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
