"""Faults of requests, and the checks of a write's filters before it runs. `errors.py` holds their statuses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.query.catalog import Relation
from engine.query.shape import Filter, Query
from models.errors import Fault
from routes.postgrest.limits import UnsatisfiableRange, excerpt
from routes.postgrest.payload import Row

PROFILE = "public"
PROFILE_HEADERS = ("Accept-Profile", "Content-Profile")


class UnknownPath(Fault):
    """A path without a resource."""

    def __init__(self, message: str = "Invalid path specified in request URL") -> None:
        super().__init__(message)


class UnknownRelation(Fault):
    """A one-segment path that names no relation."""

    def __init__(self, name: str, hint: str | None) -> None:
        super().__init__(f"Could not find the table 'public.{name}' in the schema cache", hint=hint)


class UnknownProfile(Fault):
    """An unknown schema in Accept-Profile or Content-Profile."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Invalid schema: {excerpt(name)}", hint=f"Only the following schemas are exposed: {PROFILE}")


class MethodNotAllowed(Fault):
    """A method without a view on this path."""

    def __init__(self, method: str, allowed: Iterable[str]) -> None:
        super().__init__(f"Unsupported HTTP method: {method}")
        self.allowed = sorted(allowed)


class BadRequest(Fault):
    """A malformed HTTP request."""


class BodyTooLarge(Fault):
    """A body above its format's size limit."""

    def __init__(self, bytes_max: int) -> None:
        super().__init__(f"The request body is larger than {bytes_max} bytes")


class MissingWhere(Fault):
    """An update or delete without filters."""

    def __init__(self, statement: str) -> None:
        super().__init__(f"{statement} requires a WHERE clause", hint="Add a filter to the query string.")


class LimitWithoutOrder(Fault):
    """An update or delete with a limit but no order."""

    def __init__(self) -> None:
        super().__init__(
            "A 'limit' was applied without an explicit 'order'", hint="Apply an 'order' using unique column(s)"
        )


class KeyNotFiltered(Fault):
    """A PUT whose filters do not name exactly the primary key."""

    def __init__(self) -> None:
        super().__init__("Filters must include all and only primary key columns with 'eq' operators")


class PutWithRange(Fault):
    """A PUT with a limit or an offset."""

    def __init__(self) -> None:
        super().__init__("limit/offset querystring parameters are not allowed for PUT")


class KeyNotNamed(Fault):
    """A PUT whose body lacks a primary key column."""

    def __init__(self, column: str) -> None:
        super().__init__(f'the payload has no primary key column "{column}"')


class KeyMismatch(Fault):
    """A PUT whose body has another key than its filters."""

    def __init__(self) -> None:
        super().__init__("Payload values do not match URL in primary key column(s)")


class NotSingular(Fault):
    """A result of other than one row where a single object is requested."""

    def __init__(self, count: int) -> None:
        super().__init__("Cannot coerce the result to a single JSON object", f"The result contains {count} rows")


class TooManyAffected(Fault):
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
