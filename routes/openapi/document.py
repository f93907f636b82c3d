"""The OpenAPI 3.1 document of the API.

It is generated from the catalog, column types, operators and function signatures, and is the same for every
caller. `swagger.py` derives Swagger 2.0 from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import config
from access.functions import Function
from engine.query.catalog import Relation, catalog
from inspections.reports.content import REPORT_KINDS, FindingsReport, LeadReport
from inspections.reports.rules import RULES
from routes.openapi import schemas, sign_in, tables
from routes.openapi.parts import (
    OBJECT,
    TEXT,
    Json,
    error_responses,
    get_and_head,
    json_response,
    operation,
    parameter,
    record,
    refs,
)
from routes.postgrest.media import ROWS, MediaType

DESCRIPTION: Final = (
    "Building inspections and their access rules. Tables and functions follow PostgREST's API, "
    "/auth/v1 follows GoTrue's. Tables and functions are also served under /rest/v1, for Supabase clients. "
    "A row that the caller may not see is treated as nonexistent."
)
SERVERS: Final = [{"url": "/"}]
"""The only server. With /rest/v1 as a second one, each sign-in path would need its own server entry, which
openapi-generator turns into a server without a name.
"""
SECURITY_SCHEMES: Final[Json] = {
    "apikey": {
        "type": "apiKey",
        "in": "header",
        "name": "apikey",
        "description": "The public key identifies the client application. The service key needs no token beside it.",
    },
    "JWT": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "Identifies the caller: a session's access token, or the service key.",
    },
}
NUMBER: Final[Json] = {"type": "integer", "format": "int64"}
FUNCTION_ERRORS: Final = (400, 401, 403, 404, 406, 500, 503)
CALENDAR_ERRORS: Final = (400, 404, 429, 500, 503)
FUNCTION_BODY_ERRORS: Final = (*FUNCTION_ERRORS, 413, 415)


def openapi_document(functions: Iterable[Function[..., Any]]) -> Json:
    """Return the document."""
    relations = catalog().published()
    return {
        "openapi": "3.1.0",
        "info": {"title": "Walkthrough", "description": DESCRIPTION, "version": config.__version__},
        "servers": SERVERS,
        "security": [{"apikey": [], "JWT": []}, {"apikey": []}],
        "tags": list(tags(relations)),
        "paths": {
            "/": root(),
            **{f"/{relation.name}": tables.path(relation) for relation in relations},
            **{f"/rpc/{function.name}": function_path(function) for function in functions},
            "/reports/inspections/{inspection_id}": report(),
            "/calendar/{token}.ics": calendar(),
            **sign_in.paths(),
            **health(),
        },
        "components": {
            "securitySchemes": SECURITY_SCHEMES,
            "schemas": {"Error": schemas.ERROR, **tables.row_schemas(relations), **sign_in.SCHEMAS},
            "parameters": {**tables.PARAMETERS, **dict(tables.filters(relations))},
            "headers": tables.HEADERS,
            "responses": {
                **error_responses("Error", sorted({*tables.READ_ERRORS, *tables.WRITE_ERRORS, *CALENDAR_ERRORS})),
                **error_responses("auth.error", sign_in.ADMIN_ERRORS, sign_in.PREFIX),
            },
        },
    }


def tags(relations: Iterable[Relation]) -> Iterator[Json]:
    for relation in relations:
        yield {"name": relation.name, "description": relation.model.__doc__ or ""}
    yield {"name": "functions", "description": "Functions that combine several queries."}
    yield {"name": "sign-in", "description": "Tokens, your own account, and users."}
    yield {"name": "service", "description": "Health and description of the service."}


def root() -> Json:
    document = {
        "description": "This document; with application/openapi+json, Swagger 2.0 of tables and functions.",
        "content": {MediaType.JSON.value: {"schema": OBJECT}, MediaType.OPENAPI.value: {"schema": OBJECT}},
    }
    parameters = refs("AcceptProfile")
    return get_and_head("document", "service", "This document", {"200": document}, (401, 406), parameters=parameters)


def report() -> Json:
    """Return the path of the reports of an inspection."""
    kinds = {"oneOf": [schemas.schema_of_type(LeadReport), schemas.schema_of_type(FindingsReport)]}
    content = {MediaType.HTML.value: {"schema": TEXT}, MediaType.JSON.value: {"schema": kinds}}
    responses = {"200": {"description": "The report: a page to print, or JSON with its content.", "content": content}}
    parameters = [
        parameter("path", "inspection_id", "The inspection's id.", NUMBER, required=True),
        parameter("query", "kind", "By default, the one of the inspection's type.", {"enum": [*REPORT_KINDS], **TEXT}),
        parameter("query", "rule", "By default, the one of the building's state.", {"enum": [*RULES], **TEXT}),
        *refs("AcceptProfile"),
    ]
    summary = "The lead report or the findings report of an inspection"
    return get_and_head("report", "functions", summary, responses, FUNCTION_ERRORS, parameters=parameters)


def calendar() -> Json:
    """Return the path of the calendar feeds."""
    feed = {"description": "The feed, in the format of RFC 5545.", "content": {"text/calendar": {"schema": TEXT}}}
    responses = {"200": feed, "304": {"description": "Unchanged since the ETag in If-None-Match."}}
    token = parameter("path", "token", "The secret of a calendar link.", required=True)
    summary = "The inspections and due dates of a calendar link's owner"
    return get_and_head("calendar", "service", summary, responses, CALENDAR_ERRORS, parameters=[token], security=[])


def health() -> Json:
    status = record({"status": TEXT})
    yes = {"200": json_response("Yes.", status)}
    no = {"503": json_response("Not now.", status)}
    live = get_and_head("live", "service", "Whether the process answers", yes, (400, 500), security=[])
    ready = get_and_head("ready", "service", "Whether the service can do its work", yes | no, (400, 500), security=[])
    return {"/live": live, "/ready": ready}


def function_path(function: Function[..., Any]) -> Json:
    """Return a function's path: arguments in the query of a GET, or in the body of a POST."""
    name = function.name
    summary, schema = function.summary, schemas.schema_of_type(function.returns)
    formats = {media.value: {"schema": TEXT if media is MediaType.CSV else schema} for media in ROWS}
    responses = {"200": {"description": "The value.", "headers": tables.ROW_HEADERS, "content": formats}}
    arguments = {name: schemas.argument(parameter) for name, parameter in function.parameters.items()}
    required = [name for name, parameter in function.parameters.items() if parameter.required]
    described = {
        name: {**schema, "description": f"Also spelled `{alternate_name(name)}`."} for name, schema in arguments.items()
    }
    argument_schema = {"schema": record(described, required)}
    content = {media.value: argument_schema for media in (MediaType.JSON, MediaType.FORM)}
    post = operation(
        f"call_{name}",
        "functions",
        summary,
        responses,
        FUNCTION_BODY_ERRORS,
        parameters=refs("PreferCall", "ContentProfile"),
        request_body={"required": bool(required), "content": content},
    )
    if function.is_volatile:
        return {"post": post}
    query = [
        parameter("query", name, described[name]["description"], schema, required=name in required)
        for name, schema in arguments.items()
    ]
    parameters = [*query, *refs("PreferCall", "AcceptProfile")]
    read = get_and_head(name, "functions", summary, responses, FUNCTION_ERRORS, parameters=parameters)
    return {**read, "post": post}


def alternate_name(name: str) -> str:
    return name.removeprefix("p_") if name.startswith("p_") else f"p_{name}"
