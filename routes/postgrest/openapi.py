"""The OpenAPI 3.1 document: paths, parameters and responses.

It is generated from the catalog, column types, operators and function signatures, and is the same for every
caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import config
from engine.query.catalog import Relation, catalog
from routes.gotrue import openapi as gotrue
from routes.postgrest import openapi_schemas as schemas
from routes.postgrest.limits import LIMITS
from routes.postgrest.media import ROWS, MediaType
from routes.postgrest.openapi_components import ERRORS, READ_HEADERS, components, ref, refs
from routes.postgrest.openapi_schemas import Json
from routes.postgrest.signatures import Signature

TITLE: Final = "Walkthrough"
DESCRIPTION: Final = (
    "Building inspections and their access rules. Tables and functions follow PostgREST's API, "
    "/auth/v1 follows GoTrue's. Tables and functions are also served under /rest/v1, for Supabase clients. "
    "A row that the caller may not see is treated as nonexistent."
)
SERVERS: Final = [{"url": "/"}]
"""The only server. With /rest/v1 as a second one, each sign-in path would need its own server entry, which
openapi-generator turns into a server without a name.
"""


@dataclass(frozen=True, slots=True)
class Call:
    """A function, and the methods that call it."""

    signature: Signature
    methods: tuple[str, ...]


READ_ERRORS: Final = (300, 400, 401, 403, 404, 406, 416, 500, 503)
WRITE_ERRORS: Final = (300, 400, 401, 403, 404, 405, 406, 409, 413, 415, 416, 429, 500, 503)
CALL_ERRORS: Final = (400, 401, 403, 404, 406, 500, 503)
BODY_CALL_ERRORS: Final = (*CALL_ERRORS, 413, 415)


def openapi_document(calls: Iterable[Call]) -> Json:
    """Return the document."""
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
    yield {"name": "functions", "description": "Functions that combine several queries."}
    yield {"name": "sign-in", "description": "Tokens, your own account, and users."}
    yield {"name": "service", "description": "Health and description of the service."}


# Paths


def root() -> Json:
    responses = {
        "200": {
            "description": "This document; with application/openapi+json, Swagger 2.0 of tables and functions.",
            "content": {
                MediaType.JSON.value: {"schema": {"type": "object"}},
                MediaType.OPENAPI.value: {"schema": {"type": "object"}},
            },
        }
    }
    parameters = refs("parameters", ["AcceptProfile"])
    return reads("document", ["service"], "This document", parameters, responses, (401, 406))


def relation_path(relation: Relation) -> Json:
    """Return a table's path with its methods. Their row parameters are the same."""
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


SOME: Final = "At least one filter is required."


def reading(relation: Relation, row_parameters: list[str]) -> Json:
    name = relation.name
    responses = {"200": rows_response(name), "206": rows_response(name, whole=False)}
    parameters = refs("parameters", [*row_parameters, *READ_HEADERS])
    return reads(name, [name], f"Read {name}", parameters, responses, READ_ERRORS)


def creation(relation: Relation) -> Json:
    name = relation.name
    parameters = ["select", "columns", "on_conflict", "PreferInsert", "ContentProfile"]
    return {
        **operation(f"create_{name}", [name], f"Create {name}", refs("parameters", parameters)),
        "requestBody": request_body(ref("schemas", f"{name}.new"), several=True),
        "responses": {
            "201": write_response(name, "Created.", located=True),
            "200": write_response(name, "All rows existed; they were merged or left unchanged."),
            **errors(WRITE_ERRORS),
        },
    }


def change(relation: Relation, row_parameters: list[str]) -> Json:
    name = relation.name
    parameters = refs("parameters", [*row_parameters, "columns", "PreferUpdate", "ContentProfile"])
    return {
        **operation(f"change_{name}", [name], f"Change {name}", parameters, SOME),
        "requestBody": request_body(ref("schemas", f"{name}.changes"), several=True),
        "responses": {
            "200": write_response(name, "Changed; the new rows."),
            "204": write_response(name, "Changed.", empty=True),
            **errors(WRITE_ERRORS),
        },
    }


def replacement(relation: Relation, row_parameters: list[str]) -> Json:
    name = relation.name
    parameters = refs("parameters", [*row_parameters, "columns", "PreferPut", "ContentProfile"])
    description = f"The filters are `eq` on the key ({', '.join(relation.key)}), and no others."
    whole = {"allOf": [ref("schemas", f"{name}.new"), {"required": list(relation.key)}]}
    return {
        **operation(f"put_{name}", [name], f"Create or replace a row of {name}", parameters, description),
        "requestBody": request_body(whole),
        "responses": {
            "200": write_response(name, "Replaced; the new row."),
            "201": write_response(name, "Created; the new row."),
            "204": write_response(name, "Created or replaced.", empty=True),
            **errors(WRITE_ERRORS),
        },
    }


def deletion(relation: Relation, row_parameters: list[str]) -> Json:
    name = relation.name
    parameters = refs("parameters", [*row_parameters, "PreferDelete", "ContentProfile"])
    return {
        **operation(f"delete_{name}", [name], f"Delete {name}", parameters, SOME),
        "responses": {
            "200": write_response(name, "Deleted; the former rows."),
            "204": write_response(name, "Deleted.", empty=True),
            **errors(WRITE_ERRORS),
        },
    }


def call_path(call: Call) -> Json:
    """Return a function's path: arguments in the query of a GET, or in the body of a POST."""
    name, tag = call.signature.name, ["functions"]
    summary, schema = schemas.result_schema(name)
    headers = {"Content-Range": ref("headers", "ContentRange"), **APPLIED}
    responses = {"200": {"description": "The value.", "headers": headers, "content": value(schema)}}
    parameters = call.signature.parameters
    found: Json = {}
    if "GET" in call.methods:
        query_parameters = [
            {
                "name": each,
                "in": "query",
                "required": parameter.required,
                "schema": parameter.document,
                "description": alternate_name(each),
            }
            for each, parameter in parameters.items()
        ]
        profile = refs("parameters", ["PreferCall", "AcceptProfile"])
        found = reads(name, tag, summary, [*query_parameters, *profile], responses, CALL_ERRORS)
    arguments = {
        "type": "object",
        "required": [each for each, parameter in parameters.items() if parameter.required],
        "properties": {
            each: {**parameter.document, "description": alternate_name(each)} for each, parameter in parameters.items()
        },
    }
    found["post"] = {
        **operation(f"call_{name}", tag, summary, refs("parameters", ["PreferCall", "ContentProfile"])),
        "requestBody": {
            "required": bool(arguments["required"]),
            "content": {MediaType.JSON.value: {"schema": arguments}},
        },
        "responses": {**responses, **errors(BODY_CALL_ERRORS)},
    }
    return found


def alternate_name(name: str) -> str:
    other = name.removeprefix("p_") if name.startswith("p_") else f"p_{name}"
    return f"Also spelled `{other}`."


def health() -> Json:
    def path(name: str, summary: str, statuses: Json) -> Json:
        read = reads(name, ["service"], summary, [], statuses, (500,))
        return {method: {**operation, "security": []} for method, operation in read.items()}

    schema = {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}}
    content = {MediaType.JSON.value: {"schema": schema}}
    yes = {"200": {"description": "Yes.", "content": content}}
    no = {"503": {"description": "Not now.", "content": content}}
    return {
        "/live": path("live", "Whether the process answers", yes),
        "/ready": path("ready", "Whether the service can do its work", yes | no),
    }


# Parts of paths


def reads(
    name: str, tag: list[str], summary: str, parameters: list[Json], responses: Json, error_statuses: Iterable[int]
) -> Json:
    """Return GET, and HEAD with the same headers and no body."""
    error_statuses = tuple(error_statuses)
    head_responses = {
        status: {key: part for key, part in response.items() if key != "content"}
        for status, response in responses.items()
    }
    head_errors = {str(status): {"description": ERRORS[status][1]} for status in error_statuses}
    return {
        "get": {
            **operation(f"read_{name}", tag, summary, parameters),
            "responses": {**responses, **errors(error_statuses)},
        },
        "head": {
            **operation(f"head_{name}", tag, f"{summary}: headers only", parameters),
            "responses": {**head_responses, **head_errors},
        },
    }


def operation(name: str, tag: list[str], summary: str, parameters: list[Json], description: str | None = None) -> Json:
    built: Json = {"operationId": name, "tags": tag, "summary": summary}
    if description is not None:
        built["description"] = description
    if parameters:
        built["parameters"] = parameters
    return built


def errors(statuses: Iterable[int]) -> Json:
    return {str(status): ref("responses", ERRORS[status][0]) for status in statuses}


def request_body(schema: Json, *, several: bool = False) -> Json:
    """Return a write's body in each of its formats."""
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


def rows_response(name: str, *, whole: bool = True) -> Json:
    description = "Rows." if whole else "A part of the rows; Content-Range holds the range and the total."
    return {"description": description, "headers": ROW_HEADERS, "content": rows_of(name)}


def write_response(name: str, description: str, *, located: bool = False, empty: bool = False) -> Json:
    location = {"Location": {"$ref": "#/components/headers/Location"}} if located else {}
    response: Json = {"description": description, "headers": {**ROW_HEADERS, **location}}
    return response if empty else {**response, "content": rows_of(name)}


ROW_HEADERS: Final = {"Content-Range": {"$ref": "#/components/headers/ContentRange"}, **APPLIED}


def rows_of(name: str) -> Json:
    """Return rows in each of their formats."""
    one = ref("schemas", f"{name}.selected")
    many = {"type": "array", "items": one}
    by_format = {MediaType.JSON: many, MediaType.ARRAY_STRIPPED: many, MediaType.CSV: CSV_TEXT}
    return {media.value: {"schema": by_format.get(media, one)} for media in ROWS}


def value(schema: Json) -> Json:
    by_format = {MediaType.CSV: CSV_TEXT}
    return {media.value: {"schema": by_format.get(media, schema)} for media in ROWS}


CSV_TEXT: Final = {"type": "string"}
