"""What a request may not be, whatever it asks for: paths, methods, profiles, bodies, and what a write
must say before it is run. Facts only; their statuses stand in `errors.py`."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping

from engine.query.catalog import Relation
from engine.query.shape import Filter
from engine.query.shape import Query
from models.errors import Fault
from routes.postgrest.limits import UnsatisfiableRange
from routes.postgrest.limits import excerpt
from routes.postgrest.payload import Row

PROFILE = "public"
PROFILE_HEADERS = ("Accept-Profile", "Content-Profile")


class UnknownPath(Fault):
    """A path that no resource has."""

    def __init__(self) -> None:
        super().__init__("Invalid path specified in request URL")


class UnknownRelation(Fault):
    """A path of one segment that names no resource."""

    def __init__(self, name: str, hint: str | None) -> None:
        super().__init__(f"Could not find the table 'public.{name}' in the schema cache", hint=hint)


class UnknownProfile(Fault):
    """An Accept-Profile or Content-Profile other than the one there is."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Invalid schema: {excerpt(name)}",
            hint=f"Only the following schemas are exposed: {PROFILE}",
        )


class MethodNotAllowed(Fault):
    """A method that the path has no view for."""

    def __init__(self, method: str, allowed: Iterable[str]) -> None:
        super().__init__(f"Unsupported HTTP method: {method}")
        self.allowed = sorted(allowed)


class BadRequest(Fault):
    """HTTP that was not understood."""


class BodyTooLarge(Fault):
    """More bytes of body than a format may have."""

    def __init__(self, bytes_max: int) -> None:
        super().__init__(f"The request body is larger than {bytes_max} bytes")


class MissingWhere(Fault):
    """An update or delete of everything."""

    def __init__(self, statement: str) -> None:
        super().__init__(
            f"{statement} requires a WHERE clause", hint="Add a filter to the query string."
        )


class LimitWithoutOrder(Fault):
    """An update or delete of some rows, nobody said which."""

    def __init__(self) -> None:
        super().__init__(
            "A 'limit' was applied without an explicit 'order'",
            hint="Apply an 'order' using unique column(s)",
        )


class KeyNotFiltered(Fault):
    """A PUT that is not addressed to one key."""

    def __init__(self) -> None:
        super().__init__(
            "Filters must include all and only primary key columns with 'eq' operators"
        )


class KeyCut(Fault):
    """A PUT with a limit or an offset: one row leaves nothing to cut."""

    def __init__(self) -> None:
        super().__init__("limit/offset querystring parameters are not allowed for PUT")


class KeyNotNamed(Fault):
    """A PUT whose body does not name a column of its key."""

    def __init__(self, column: str) -> None:
        super().__init__(f'the payload has no primary key column "{column}"')


class KeyMismatch(Fault):
    """A PUT whose body is another row than its address."""

    def __init__(self) -> None:
        super().__init__("Payload values do not match URL in primary key column(s)")


class NotSingular(Fault):
    """One object was asked for, and the rows are not one."""

    def __init__(self, count: int) -> None:
        super().__init__(
            "Cannot coerce the result to a single JSON object", f"The result contains {count} rows"
        )


class TooManyAffected(Fault):
    """More rows than max-affected."""

    def __init__(self, count: int) -> None:
        super().__init__(
            "Query result exceeds max-affected preference constraint",
            f"The query affects {count} rows",
        )


class OutOfRows(UnsatisfiableRange):
    """An offset beyond the last row, told by the same number that a count would give, and by what was `applied`."""

    def __init__(self, offset: int, total: int, applied: dict[str, str]) -> None:
        super().__init__(f"An offset of {offset} was requested, but there are only {total} rows.")
        self.total = total
        self.applied = applied


def require_where(query: Query, query_string: str, statement: str) -> None:
    """An update or delete must say which rows; a filter on an embed says nothing of them.

    What a read ignores, having no `=` (`status%3Deq.failed`), may have been meant as a condition.
    """
    for parameter in query_string.split("&"):
        if parameter and "=" not in parameter:
            raise BadRequest(f"A parameter without '=' is no condition: {excerpt(parameter)}")
    root = query.shape.root
    if not root.conditions:
        raise MissingWhere(statement)
    if (root.limit is not None or root.offset is not None) and not root.order:
        raise LimitWithoutOrder


def require_uncut(query: Query) -> None:
    """A PUT is of one row, so it names no range; an offset of nothing is none."""
    root = query.shape.root
    if root.limit is not None or (root.offset is not None and query.values[root.offset]):
        raise KeyCut


def require_key_filters(query: Query, relation: Relation) -> dict[str, str]:
    """What the filters of a PUT say of the key, which is all that they may speak of."""
    named = plain_filters(query)
    if set(named) != set(relation.key) or len(query.shape.root.conditions) != len(relation.key):
        raise KeyNotFiltered
    return named


def names_one_row(query: Query, relation: Relation) -> bool:
    """Whether filters say the whole key of a row, and nothing that takes time."""
    named = plain_filters(query)
    return set(relation.key) <= set(named) and len(query.shape.root.conditions) == len(named)


def plain_filters(query: Query) -> dict[str, str]:
    """What filters say of columns by eq alone."""
    return {
        each.column: str(query.values[each.value])
        for each in query.shape.root.conditions
        if isinstance(each, Filter) and each.is_equality and each.value is not None
    }


def require_key(named: dict[str, str], relation: Relation, rows: list[Row]) -> None:
    """The body of a PUT is one row, with the key that its filters named."""
    for name in relation.key:
        if any(name not in row for row in rows):
            raise KeyNotNamed(name)
    kinds = {name: relation.attributes[name].type for name in relation.key}
    addressed = [kinds[name].read_text(named[name]) for name in relation.key]
    keys = [[kinds[name].read_json(row[name]) for name in relation.key] for row in rows]
    if keys != [addressed]:
        raise KeyMismatch


def names_profile(environ: Mapping[str, object]) -> bool:
    """Whether a request says in which profile it reads or writes, by the header that counts for its method."""
    reads = environ["REQUEST_METHOD"] in ("GET", "HEAD")
    return ("HTTP_ACCEPT_PROFILE" if reads else "HTTP_CONTENT_PROFILE") in environ


def require_profiles(*named: str | None) -> None:
    """Only the one schema there is, or none, in each of PROFILE_HEADERS."""
    for name in named:
        if name not in (None, PROFILE):
            raise UnknownProfile(name)
