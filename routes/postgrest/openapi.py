"""The OpenAPI 3.1 document: what can be asked of which path, and what is answered.

Made from catalog, column types, operators and the functions that it is given; so it names what the
resources and functions are, and is the same for everybody. Knows no caller and no request.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import config
from engine.query.catalog import Relation
from engine.query.catalog import catalog
from routes.gotrue import openapi as gotrue
from routes.postgrest import openapi_schemas as schemas
from routes.postgrest.limits import LIMITS
from routes.postgrest.media import ROWS
from routes.postgrest.media import MediaType
from routes.postgrest.openapi_components import ERRORS
from routes.postgrest.openapi_components import READ_HEADERS
from routes.postgrest.openapi_components import components
from routes.postgrest.openapi_components import ref
from routes.postgrest.openapi_components import refs
from routes.postgrest.openapi_schemas import Json
from routes.postgrest.signatures import Signature

TITLE: Final = "Walkthrough"
DESCRIPTION: Final = (
    "Building inspections, and who may see them. Tables and functions speak PostgREST's dialect, "
    "/auth/v1 speaks GoTrue's. Tables and functions stand under /rest/v1 as well, where Supabase's clients look. "
    "A row that the caller may not see is answered for as one that is not there."
)
SERVERS: Final = [{"url": "/"}]
"""The one that has all paths. A second one, /rest/v1, would have to be taken back from the sign-in's paths, and what
openapi-generator makes of that asks there for a server of no name."""


@dataclass(frozen=True, slots=True)
class Call:
    """A function, and the methods it is called by."""

    signature: Signature
    methods: tuple[str, ...]


READ_ERRORS: Final = (300, 400, 401, 403, 404, 406, 416, 500, 503)
WRITE_ERRORS: Final = (300, 400, 401, 403, 404, 405, 406, 409, 413, 415, 416, 429, 500, 503)
CALL_ERRORS: Final = (400, 401, 403, 404, 406, 500, 503)
BODY_CALL_ERRORS: Final = (*CALL_ERRORS, 413, 415)


def document(calls: Iterable[Call]) -> Json:
    """The whole document."""
    relations = catalog().published()
    return {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "description": DESCRIPTION, "version": config.__version__},
        "servers": SERVERS,
        "security": [{"apikey": [], "bearer": []}],
        "tags": list(tags(relations)),
        "paths": {
            "/": root(),
            **{f"/{relation.name}": relation_path(relation) for relation in relations},
            **{f"/rpc/{call.signature.name}": call_path(call) for call in calls},
            **gotrue.paths(),
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
    """A table by its methods; what finds its rows is said alike to all of them."""
    filtered = [f"filter.{relation.name}.{column}" for column in relation.attributes]
    filtered += ["and", "or"]
    ranged = ["order", "limit", "offset"]
    return {
        **reading(relation, ["select", *filtered, *ranged]),
        "post": creation(relation),
        "patch": change(relation, [*filtered, "select", *ranged]),
        "put": replacement(relation, [*filtered, "select"]),
        "delete": deletion(relation, [*filtered, "select", *ranged]),
    }


SOME: Final = "At least one filter says which."


def reading(relation: Relation, finding: list[str]) -> Json:
    name = relation.name
    answers = {"200": page(name), "206": page(name, whole=False)}
    asked = refs("parameters", [*finding, *READ_HEADERS])
    return reads(name, [name], f"Read {name}", asked, answers, READ_ERRORS)


def creation(relation: Relation) -> Json:
    name = relation.name
    named = ["select", "columns", "on_conflict", "PreferInsert", "ContentProfile"]
    return {
        **operation(f"create_{name}", [name], f"Create {name}", refs("parameters", named)),
        "requestBody": body(ref("schemas", f"{name}.new"), several=True),
        "responses": {
            "201": written(name, "Created.", located=True),
            "200": written(name, "Every row was there already, and was merged or left."),
            **errors(WRITE_ERRORS),
        },
    }


def change(relation: Relation, finding: list[str]) -> Json:
    name = relation.name
    asked = refs("parameters", [*finding, "columns", "PreferUpdate", "ContentProfile"])
    return {
        **operation(f"change_{name}", [name], f"Change {name}", asked, SOME),
        "requestBody": body(ref("schemas", f"{name}.changes"), several=True),
        "responses": {
            "200": written(name, "Changed; the rows as they are now."),
            "204": written(name, "Changed.", empty=True),
            **errors(WRITE_ERRORS),
        },
    }


def replacement(relation: Relation, finding: list[str]) -> Json:
    name = relation.name
    asked = refs("parameters", [*finding, "columns", "PreferPut", "ContentProfile"])
    told = f"The filters say `eq` of the key ({', '.join(relation.key)}), and nothing else."
    whole = {"allOf": [ref("schemas", f"{name}.new"), {"required": list(relation.key)}]}
    return {
        **operation(f"put_{name}", [name], f"Make or replace one of {name}", asked, told),
        "requestBody": body(whole),
        "responses": {
            "200": written(name, "Replaced; the row as it is now."),
            "201": written(name, "Made; the row as it is now."),
            "204": written(name, "Made or replaced.", empty=True),
            **errors(WRITE_ERRORS),
        },
    }


def deletion(relation: Relation, finding: list[str]) -> Json:
    name = relation.name
    asked = refs("parameters", [*finding, "PreferDelete", "ContentProfile"])
    return {
        **operation(f"delete_{name}", [name], f"Delete {name}", asked, SOME),
        "responses": {
            "200": written(name, "Deleted; the rows as they were."),
            "204": written(name, "Deleted.", empty=True),
            **errors(WRITE_ERRORS),
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
        return {method: {**operation, "security": []} for method, operation in read.items()}

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
    name: str,
    tag: list[str],
    summary: str,
    parameters: list[Json],
    answers: Json,
    refused: Iterable[int],
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
                "schema": {
                    "type": "string",
                    "description": "A header line, then rows; NULL is null.",
                }
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
