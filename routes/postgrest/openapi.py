"""The OpenAPI 3.1 document: what can be asked of which path, and what is answered.

Made from catalog, column types, operators and the functions that it is given; so it names what the
contract names, and is the same for everybody. Knows no caller and no request.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from models.sql import operators
from models.sql.catalog import Attribute
from models.sql.catalog import Relation
from models.sql.catalog import catalog
from models.types import TEXT
from routes.gotrue import openapi as gotrue
from routes.postgrest import openapi_schemas as schemas
from routes.postgrest.calls import Signature
from routes.postgrest.limits import LIMITS
from routes.postgrest.media import ROWS
from routes.postgrest.media import MediaType
from routes.postgrest.openapi_schemas import Json
from routes.postgrest.requests import PROFILE

TITLE: Final = "Walkthrough"
DESCRIPTION: Final = (
    "Building inspections, and who may see them. Tables and functions speak PostgREST's dialect, "
    "/auth/v1 speaks GoTrue's. A row that the caller may not see is answered for as one that is not there."
)
VERSION: Final = "1"
"""Of what is promised here, not of the program: that is nobody's business (docs/decisions/0121)."""
SERVERS: Final = [
    {"url": "/"},
    {"url": "/rest/v1", "description": "The same, where Supabase's clients look."},
]
AT_THE_ROOT: Final = [{"url": "/"}]
"""For the paths that /rest/v1 has not."""


@dataclass(frozen=True, slots=True)
class Call:
    """A function, and the methods it is called by."""

    signature: Signature
    methods: tuple[str, ...]


ERRORS: Final[dict[int, tuple[str, str]]] = {
    300: ("Ambiguous", "Several foreign keys lead to an embed; the details say which."),
    400: ("BadRequest", "The request, a value, or what would come of a write is not as it has to be."),
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
READ_ERRORS: Final = (300, 400, 401, 403, 404, 406, 416, 500, 503)
WRITE_ERRORS: Final = (300, 400, 401, 403, 404, 405, 406, 409, 413, 415, 416, 429, 500, 503)
CALL_ERRORS: Final = (400, 401, 403, 404, 406, 500, 503)
BODY_CALL_ERRORS: Final = (*CALL_ERRORS, 413, 415)


def document(calls: Iterable[Call]) -> Json:
    """The whole document."""
    relations = catalog().relations.values()
    return {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "description": DESCRIPTION, "version": VERSION},
        "servers": SERVERS,
        "security": [{"apikey": [], "bearer": []}],
        "tags": list(tags(relations)),
        "paths": {
            "/": root(),
            **{f"/{relation.name}": relation_path(relation) for relation in relations},
            **{f"/rpc/{call.signature.name}": call_path(call) for call in calls},
            **gotrue.paths(AT_THE_ROOT),
            **health(),
        },
        "components": components(list(relations)),
    }


def tags(relations: Iterable[Relation]) -> Iterator[Json]:
    for relation in relations:
        yield {"name": relation.name, "description": relation.model.__doc__ or ""}
    yield {"name": "functions", "description": "What takes more than one query."}
    yield {"name": "sign-in", "description": "Tokens, one's own account, and users."}
    yield {"name": "service", "description": "The service itself."}


# Paths


def root() -> Json:
    answers = {
        "200": {
            "description": "The document; Swagger 2.0, of tables and functions, for application/openapi+json.",
            "content": {
                MediaType.JSON.value: {"schema": {"type": "object"}},
                MediaType.OPENAPI.value: {"schema": {"type": "object"}},
            },
        }
    }
    parameters = refs("parameters", ["AcceptProfile"])
    return reads("document", ["service"], "This document", parameters, answers, (401, 406))


def relation_path(relation: Relation) -> Json:
    name, tag = relation.name, [relation.name]
    filters = [f"filter.{name}.{column}" for column in relation.attributes]
    filtered = refs("parameters", [*filters, "and", "or"])
    ranged = refs("parameters", ["order", "limit", "offset"])
    profile = refs("parameters", ["ContentProfile"])
    select = refs("parameters", ["select"])
    insertion = refs("parameters", ["select", "columns", "on_conflict", "PreferInsert"])
    reading = [*select, *filtered, *ranged, *refs("parameters", READ_HEADERS)]
    changing = [*filtered, *select, *ranged]
    return {
        **reads(
            name, tag, f"Read {name}", reading, {"200": page(name), "206": page(name, whole=False)}, READ_ERRORS
        ),
        "post": {
            **operation(f"create_{name}", tag, f"Create {name}", [*insertion, *profile]),
            "requestBody": body(ref("schemas", f"{name}.new"), several=True),
            "responses": {
                "201": written(name, "Created.", located=True),
                "200": written(name, "Every row was there already, and was merged or left."),
                **errors(WRITE_ERRORS),
            },
        },
        "patch": {
            **operation(
                f"change_{name}",
                tag,
                f"Change {name}",
                [*changing, *refs("parameters", ["columns", "PreferUpdate"]), *profile],
                "At least one filter says which.",
            ),
            "requestBody": body(ref("schemas", f"{name}.changes"), several=True),
            "responses": {
                "200": written(name, "Changed; the rows as they are now."),
                "204": written(name, "Changed.", empty=True),
                **errors(WRITE_ERRORS),
            },
        },
        "put": {
            **operation(
                f"put_{name}",
                tag,
                f"Make or replace one of {name}",
                [*filtered, *select, *refs("parameters", ["columns", "PreferPut"]), *profile],
                f"The filters say `eq` of the key ({', '.join(relation.key)}), and nothing else.",
            ),
            "requestBody": body(
                {"allOf": [ref("schemas", f"{name}.new"), {"required": list(relation.key)}]}
            ),
            "responses": {
                "200": written(name, "Replaced; the row as it is now."),
                "201": written(name, "Made; the row as it is now."),
                "204": written(name, "Made or replaced.", empty=True),
                **errors(WRITE_ERRORS),
            },
        },
        "delete": {
            **operation(
                f"delete_{name}",
                tag,
                f"Delete {name}",
                [*changing, *refs("parameters", ["PreferDelete"]), *profile],
                "At least one filter says which.",
            ),
            "responses": {
                "200": written(name, "Deleted; the rows as they were."),
                "204": written(name, "Deleted.", empty=True),
                **errors(WRITE_ERRORS),
            },
        },
    }


def call_path(call: Call) -> Json:
    """A function by its methods: arguments in the query of a GET, in the body of a POST."""
    name, tag = call.signature.name, ["functions"]
    summary, schema = schemas.answer(name)
    headers = {"Content-Range": ref("headers", "ContentRange"), **APPLIED}
    answers = {"200": {"description": "The value.", "headers": headers, "content": value(schema)}}
    parameters = call.signature.parameters
    found: Json = {}
    if "GET" in call.methods:
        given = [
            {
                "name": each,
                "in": "query",
                "required": parameter.required,
                "schema": parameter.document,
                "description": spelled(each),
            }
            for each, parameter in parameters.items()
        ]
        profile = refs("parameters", ["PreferCall", "AcceptProfile"])
        found = reads(name, tag, summary, [*given, *profile], answers, CALL_ERRORS)
    arguments = {
        "type": "object",
        "required": [each for each, parameter in parameters.items() if parameter.required],
        "properties": {
            each: {**parameter.document, "description": spelled(each)}
            for each, parameter in parameters.items()
        },
    }
    found["post"] = {
        **operation(
            f"call_{name}", tag, summary, refs("parameters", ["PreferCall", "ContentProfile"])
        ),
        "requestBody": {
            "required": bool(arguments["required"]),
            "content": {MediaType.JSON.value: {"schema": arguments}},
        },
        "responses": {**answers, **errors(BODY_CALL_ERRORS)},
    }
    return found


def spelled(name: str) -> str:
    other = name.removeprefix("p_") if name.startswith("p_") else f"p_{name}"
    return f"Also spelled `{other}`."


def health() -> Json:
    def path(name: str, summary: str, statuses: Json) -> Json:
        read = reads(name, ["service"], summary, [], statuses, (500,))
        return {
            "servers": AT_THE_ROOT,
            **{method: {**operation, "security": []} for method, operation in read.items()},
        }

    schema = {
        "type": "object",
        "required": ["status"],
        "properties": {"status": {"type": "string"}},
    }
    content = {MediaType.JSON.value: {"schema": schema}}
    yes = {"200": {"description": "Yes.", "content": content}}
    no = {"503": {"description": "Not now.", "content": content}}
    return {
        "/live": path("live", "Whether the process answers", yes),
        "/ready": path("ready", "Whether the service can do its work", yes | no),
    }


# What paths are made of


def reads(
    name: str, tag: list[str], summary: str, parameters: list[Json], answers: Json, refused: Iterable[int]
) -> Json:
    """GET, and HEAD, which is the same without a body."""
    refused = tuple(refused)
    bare = {
        status: {key: part for key, part in answer.items() if key != "content"}
        for status, answer in answers.items()
    }
    silent = {str(status): {"description": ERRORS[status][1]} for status in refused}
    return {
        "get": {
            **operation(f"read_{name}", tag, summary, parameters),
            "responses": {**answers, **errors(refused)},
        },
        "head": {
            **operation(f"head_{name}", tag, f"{summary}: headers only", parameters),
            "responses": {**bare, **silent},
        },
    }


def operation(
    name: str, tag: list[str], summary: str, parameters: list[Json], description: str | None = None
) -> Json:
    told = {"description": description} if description is not None else {}
    found: Json = {"operationId": name, "tags": tag, "summary": summary, **told}
    return {**found, "parameters": parameters} if parameters else found


def errors(statuses: Iterable[int]) -> Json:
    return {str(status): ref("responses", ERRORS[status][0]) for status in statuses}


def body(schema: Json, *, several: bool = False) -> Json:
    """A write's body, in each format it may have."""
    rows = {"type": "array", "items": schema, "maxItems": LIMITS.payload_rows}
    return {
        "required": True,
        "content": {
            MediaType.JSON.value: {"schema": {"anyOf": [schema, rows]} if several else schema},
            MediaType.CSV.value: {
                "schema": {"type": "string", "description": "A header line, then rows; NULL is null."}
            },
            MediaType.FORM.value: {"schema": {"type": "object"}},
        },
    }


APPLIED: Final = {"Preference-Applied": {"$ref": "#/components/headers/PreferenceApplied"}}


def page(name: str, *, whole: bool = True) -> Json:
    told = "Rows." if whole else "Some of the rows; Content-Range says which, of how many."
    return {"description": told, "headers": ROW_HEADERS, "content": rows_of(name)}


def written(name: str, told: str, *, located: bool = False, empty: bool = False) -> Json:
    location = {"Location": {"$ref": "#/components/headers/Location"}} if located else {}
    found: Json = {"description": told, "headers": {**ROW_HEADERS, **location}}
    return found if empty else {**found, "content": rows_of(name)}


ROW_HEADERS: Final = {"Content-Range": {"$ref": "#/components/headers/ContentRange"}, **APPLIED}


def rows_of(name: str) -> Json:
    """Rows, in each format they may have."""
    one = ref("schemas", f"{name}.selected")
    many = {"type": "array", "items": one}
    by_format = {MediaType.JSON: many, MediaType.ARRAY_STRIPPED: many, MediaType.CSV: CSV_TEXT}
    return {media.value: {"schema": by_format.get(media, one)} for media in ROWS}


def value(schema: Json) -> Json:
    by_format = {MediaType.CSV: CSV_TEXT}
    return {media.value: {"schema": by_format.get(media, schema)} for media in ROWS}


CSV_TEXT: Final = {"type": "string"}


def ref(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}


def refs(kind: str, names: Iterable[str]) -> list[Json]:
    return [ref(kind, name) for name in names]


# Components


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
    named = {401: "WWW-Authenticate", 405: "Allow", 416: "Content-Range", 429: "Retry-After", 503: "Retry-After"}
    if status in named:
        found["headers"] = {named[status]: {"schema": {"type": "string"}}}
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
    return {"name": name, "in": "query", "description": told, "schema": schema or {"type": "string"}}


def profile(name: str) -> Json:
    told = "The schema; there is one."
    return {"name": name, "in": "header", "description": told, "schema": {"const": PROFILE}}


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
    "PreferInsert": prefers(RETURNS, RESOLUTION, MISSING, COUNTS, ROLLBACK, ZONE, STRICT),
    "PreferUpdate": prefers(RETURNS, COUNTS, ROLLBACK, ZONE, BOUND),
    "PreferPut": prefers(RETURNS, COUNTS, ROLLBACK, ZONE, STRICT),
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
