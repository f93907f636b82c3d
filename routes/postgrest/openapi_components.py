"""What the document's paths refer to: parameters, headers, errors, ways to say who asks. No path is known here."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from typing import Final

from engine.query import operators
from engine.query.catalog import Attribute
from engine.query.catalog import Relation
from models.types import TEXT
from routes.gotrue import openapi as gotrue
from routes.postgrest import openapi_schemas as schemas
from routes.postgrest.media import MediaType
from routes.postgrest.openapi_schemas import Json
from routes.postgrest.requests import PROFILE

ERRORS: Final[dict[int, tuple[str, str]]] = {
    300: ("Ambiguous", "Several foreign keys lead to an embed; the details say which."),
    400: (
        "BadRequest",
        "The request, a value, or what would come of a write is not as it has to be.",
    ),
    401: ("Unauthorized", "No apikey, or no token that is in force."),
    403: ("Forbidden", "The role may not do this, or a row would end up out of reach."),
    404: ("NotFound", "There is no such thing, or none that the caller can see."),
    405: ("NotAllowed", "Not by this method."),
    406: ("NotAcceptable", "No such format or schema, or the rows are not one."),
    409: ("Conflict", "A key is taken, or still referred to."),
    413: ("TooLarge", "The body has too many bytes."),
    415: ("Unsupported", "The body is in a format that is not read here."),
    416: ("OutOfRange", "No row can be in that range."),
    422: ("Unprocessable", "What is asked for cannot be."),
    429: ("TooManyTries", "Too many tries; Retry-After says when to try again."),
    500: ("ServerError", "The statement ran for too long, or something broke."),
    503: ("TryAgain", "Busy; Retry-After says when to try again."),
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
        "responses": {name: response(status, told) for status, (name, told) in ERRORS.items()},
    }


def selected(relation: Relation) -> Json:
    made = {"type": "object", "description": "What `select` made of it."}
    return {"anyOf": [ref("schemas", relation.name), made]}


SECURITY: Final[Json] = {
    "apikey": {
        "type": "apiKey",
        "in": "header",
        "name": "apikey",
        "description": "Which anybody may have who may ask at all.",
    },
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "Who asks: the access token of a session, or the service key.",
    },
}


def response(status: int, told: str) -> Json:
    found: Json = {
        "description": told,
        "content": {MediaType.JSON.value: {"schema": ref("schemas", "Error")}},
    }
    named = {
        401: ["WWW-Authenticate"],
        405: ["Allow"],
        416: ["Content-Range", "Preference-Applied"],
        429: ["Retry-After"],
        503: ["Retry-After"],
    }
    if status in named:
        found["headers"] = {name: {"schema": {"type": "string"}} for name in named[status]}
    return found


HEADERS: Final[Json] = {
    "ContentRange": {
        "description": "Which rows, of how many: `0-19/*`, `0-19/57`, `*/0`.",
        "schema": {"type": "string", "pattern": r"^([0-9]+-[0-9]+|\*)/([0-9]+|\*)$"},
    },
    "PreferenceApplied": {
        "description": "The preferences that were followed.",
        "schema": {"type": "string"},
    },
    "Location": {
        "description": "Where the one new row is, for `return=headers-only`.",
        "schema": {"type": "string"},
    },
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
    told = f"Comma-separated: {'; '.join(preferences)}."
    return {"name": "Prefer", "in": "header", "description": told, "schema": {"type": "string"}}


def in_query(name: str, told: str, schema: Json | None = None) -> Json:
    return {
        "name": name,
        "in": "query",
        "description": told,
        "schema": schema or {"type": "string"},
    }


def profile(name: str) -> Json:
    told = "The schema; there is one."
    # An enum of one: generators of clients know no constants without a type.
    schema = {"type": "string", "enum": [PROFILE]}
    return {"name": name, "in": "header", "description": told, "schema": schema}


PARAMETERS: Final[Json] = {
    "select": in_query(
        "select", "Columns, `alias:column`, `column::cast`, embeds `relation!hint(…)`, aggregates."
    ),
    "order": in_query("order", "`column.desc.nullslast,other`, or `relation(column)` of an embed."),
    "limit": in_query("limit", "At most so many rows.", {"type": "integer", "minimum": 0}),
    "offset": in_query("offset", "After so many rows.", {"type": "integer", "minimum": 0}),
    "columns": in_query("columns", "Which of the body's columns count."),
    "on_conflict": in_query("on_conflict", "The unique columns by which an upsert finds its row."),
    "and": in_query("and", "`(column.eq.1,or(…))`: all of them."),
    "or": in_query("or", "`(column.eq.1,other.is.null)`: any of them."),
    "Range": {
        "name": "Range",
        "in": "header",
        "description": "`0-19`: rows, from 0; together with limit and offset what both allow.",
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
    """A parameter for each column; a filter may also stand there several times."""
    for relation in relations:
        for attribute in relation.attributes.values():
            told = f"Rows by {attribute.name} ({attribute.type.name}): `eq.…`, `not.in.(…)`, `is.null`."
            schema = {"type": "string", "pattern": filter_pattern(attribute)}
            yield f"filter.{relation.name}.{attribute.name}", in_query(attribute.name, told, schema)


def filter_pattern(attribute: Attribute) -> str:
    """What a filter on a column begins with: an operator that its type has."""
    symbols = "|".join(
        name
        for name, operator in operators.OPERATORS.items()
        if attribute.type is TEXT or not operator.text_only
    )
    return rf"^(not\.)?(({symbols})(\((any|all)\))?\.|in\.\(|is\.)"


def ref(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}


def refs(kind: str, names: Iterable[str]) -> list[Json]:
    return [ref(kind, name) for name in names]
