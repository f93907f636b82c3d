"""The components of the OpenAPI document: parameters, headers, errors and security schemes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from engine.query import operators
from engine.query.catalog import Attribute, Relation
from models.types import TEXT
from routes.gotrue import openapi as gotrue
from routes.postgrest import openapi_schemas as schemas
from routes.postgrest.media import MediaType
from routes.postgrest.openapi_schemas import Json
from routes.postgrest.requests import PROFILE

ERRORS: Final[dict[int, tuple[str, str]]] = {
    300: ("Ambiguous", "Several foreign keys match an embed; the details list them."),
    400: ("BadRequest", "The request, a value or the written row is invalid."),
    401: ("Unauthorized", "The apikey is missing, or the token is invalid."),
    403: ("Forbidden", "The role may not do this, or the row would become invisible to the caller."),
    404: ("NotFound", "The resource does not exist or is not visible."),
    405: ("NotAllowed", "The method is not allowed."),
    406: ("NotAcceptable", "The format or schema is unknown, or the result is not a single row."),
    409: ("Conflict", "A key exists already, or a row is still referenced."),
    413: ("TooLarge", "The body is too large."),
    415: ("Unsupported", "The body's format is not supported."),
    416: ("OutOfRange", "The range is not satisfiable."),
    422: ("Unprocessable", "The request cannot be processed."),
    429: ("TooManyRequests", "Too many attempts; Retry-After holds the waiting time in seconds."),
    500: ("ServerError", "The statement timed out, or an internal error occurred."),
    503: ("TryAgain", "Busy; Retry-After holds the waiting time in seconds."),
}


def components(relations: list[Relation]) -> Json:
    return {
        "securitySchemes": SECURITY,
        "schemas": {
            "Error": schemas.ERROR,
            **{relation.name: schemas.row(relation) for relation in relations},
            **{f"{relation.name}.selected": selected(relation) for relation in relations},
            **{f"{relation.name}.new": schemas.new_row(relation) for relation in relations},
            **{f"{relation.name}.changes": schemas.changes(relation) for relation in relations},
            **gotrue.SCHEMAS,
        },
        "parameters": {**PARAMETERS, **dict(filters(relations))},
        "headers": HEADERS,
        "responses": {name: response(status, description) for status, (name, description) in ERRORS.items()},
    }


def selected(relation: Relation) -> Json:
    shaped = {"type": "object", "description": "A row as `select` shapes it."}
    return {"anyOf": [ref("schemas", relation.name), shaped]}


SECURITY: Final[Json] = {
    "apikey": {
        "type": "apiKey",
        "in": "header",
        "name": "apikey",
        "description": "Identifies the client application. It is not secret.",
    },
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "Identifies the caller: a session's access token, or the service key.",
    },
}


def response(status: int, description: str) -> Json:
    built: Json = {"description": description, "content": {MediaType.JSON.value: {"schema": ref("schemas", "Error")}}}
    header_names = {
        401: ["WWW-Authenticate"],
        405: ["Allow"],
        416: ["Content-Range", "Preference-Applied"],
        429: ["Retry-After"],
        503: ["Retry-After"],
    }
    if status in header_names:
        built["headers"] = {name: {"schema": {"type": "string"}} for name in header_names[status]}
    return built


HEADERS: Final[Json] = {
    "ContentRange": {
        "description": "The range and the total: `0-19/*`, `0-19/57`, `*/0`.",
        "schema": {"type": "string", "pattern": r"^([0-9]+-[0-9]+|\*)/([0-9]+|\*)$"},
    },
    "PreferenceApplied": {"description": "The applied preferences.", "schema": {"type": "string"}},
    "Location": {"description": "The URL of the new row, for `return=headers-only`.", "schema": {"type": "string"}},
}

COUNTS: Final = "`count=exact` (planned and estimated are exact as well)"
RETURNS: Final = "`return=minimal`, `return=headers-only` or `return=representation`"
ROLLBACK: Final = "`tx=rollback`"
STRICT: Final = "`handling=strict`"
BOUND: Final = "`max-affected=N` with `handling=strict`"
ZONE: Final = "`timezone=Europe/Berlin`"
MISSING: Final = "`missing=default`"
RESOLUTION: Final = "`resolution=merge-duplicates` or `resolution=ignore-duplicates`"
READ_HEADERS: Final = ("PreferRead", "Range", "AcceptProfile")


def prefers(*preferences: str) -> Json:
    description = f"Comma-separated: {'; '.join(preferences)}."
    return {"name": "Prefer", "in": "header", "description": description, "schema": {"type": "string"}}


def in_query(name: str, description: str, schema: Json | None = None) -> Json:
    return {"name": name, "in": "query", "description": description, "schema": schema or {"type": "string"}}


def profile(name: str) -> Json:
    description = "The schema."
    # An enum of one value: client generators do not support `const` without a type.
    schema = {"type": "string", "enum": [PROFILE]}
    return {"name": name, "in": "header", "description": description, "schema": schema}


PARAMETERS: Final[Json] = {
    "select": in_query("select", "Columns, `alias:column`, `column::cast`, embeds `relation!hint(…)`, aggregates."),
    "order": in_query("order", "`column.desc.nullslast,other`, or `relation(column)` of an embed."),
    "limit": in_query("limit", "The maximum number of rows.", {"type": "integer", "minimum": 0}),
    "offset": in_query("offset", "The number of rows to skip.", {"type": "integer", "minimum": 0}),
    "columns": in_query("columns", "The body's columns to write."),
    "on_conflict": in_query("on_conflict", "The unique columns that identify an existing row in an upsert."),
    "and": in_query("and", "`(column.eq.1,or(…))`: all conditions hold."),
    "or": in_query("or", "`(column.eq.1,other.is.null)`: any condition holds."),
    "Range": {
        "name": "Range",
        "in": "header",
        "description": "`0-19`: rows, counted from 0, intersected with limit and offset.",
        "schema": {"type": "string"},
    },
    "AcceptProfile": profile("Accept-Profile"),
    "ContentProfile": profile("Content-Profile"),
    "PreferRead": prefers(COUNTS, ZONE, STRICT),
    "PreferInsert": prefers(RETURNS, RESOLUTION, MISSING, COUNTS, ROLLBACK, ZONE, BOUND),
    "PreferUpdate": prefers(RETURNS, MISSING, COUNTS, ROLLBACK, ZONE, BOUND),
    "PreferPut": prefers(RETURNS, COUNTS, ROLLBACK, ZONE, BOUND),
    "PreferDelete": prefers(RETURNS, COUNTS, ROLLBACK, ZONE, BOUND),
    "PreferCall": prefers(COUNTS, ROLLBACK, STRICT),
}


def filters(relations: Iterable[Relation]) -> Iterator[tuple[str, Json]]:
    """Yield a filter parameter for each column. A filter may be repeated."""
    for relation in relations:
        for attribute in relation.attributes.values():
            description = f"Rows by {attribute.name} ({attribute.type.name}): `eq.…`, `not.in.(…)`, `is.null`."
            schema = {"type": "string", "pattern": filter_pattern(attribute)}
            yield (f"filter.{relation.name}.{attribute.name}", in_query(attribute.name, description, schema))


def filter_pattern(attribute: Attribute) -> str:
    """Return the pattern of a column's filters: the operators of its type."""
    symbols = "|".join(
        name for name, operator in operators.OPERATORS.items() if attribute.type is TEXT or not operator.text_only
    )
    return rf"^(not\.)?(({symbols})(\((any|all)\))?\.|in\.\(|is\.)"


def ref(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}


def refs(kind: str, names: Iterable[str]) -> list[Json]:
    return [ref(kind, name) for name in names]
