"""The OpenAPI 3.1 document of the API, with the paths, parameters and schemas of the tables.

It is generated from the catalog, column types, operators and function signatures, and is the same for every caller.
`routes/openapi/views.py` derives Swagger 2.0 from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import config
from access.decorators import Function
from engine.query.catalog import Relation, catalog
from inspections.reports.content import FindingsReport, LeadReport
from inspections.reports.reports import RULES
from models.vocabulary import REPORT_KINDS
from routes.openapi import auth_paths, schemas
from routes.openapi.schemas import (
    OBJECT,
    STRING,
    Json,
    error_responses,
    get_and_head,
    json_response,
    operation,
    parameter,
    record,
    ref,
    refs,
    schema_ref,
)
from routes.postgrest.lexer import LIMITS
from routes.postgrest.preferences import ROWS, MediaType
from routes.postgrest.representation import PROFILE

READ_ERRORS: Final = (300, 400, 401, 403, 404, 406, 416, 500, 503)
WRITE_ERRORS: Final = (300, 400, 401, 403, 404, 405, 406, 409, 413, 415, 416, 429, 500, 503)

HEADERS: Final[Json] = {
    "ContentRange": {
        "description": "The range and the total: `0-19/*`, `0-19/57`, `*/0`.",
        "schema": {"type": "string", "pattern": r"^([0-9]+-[0-9]+|\*)/([0-9]+|\*)$"},
    },
    "PreferenceApplied": {"description": "The applied preferences.", "schema": STRING},
    "Location": {"description": "The URL of the new row, for `return=headers-only`.", "schema": STRING},
}
ROW_HEADERS: Final = {
    "Content-Range": ref("headers", "ContentRange"),
    "Preference-Applied": ref("headers", "PreferenceApplied"),
}

COUNTS: Final = "`count=exact` (planned and estimated are exact as well)"
RETURNS: Final = "`return=minimal`, `return=headers-only` or `return=representation`"
ROLLBACK: Final = "`tx=rollback`"
STRICT: Final = "`handling=strict`"
BOUND: Final = "`max-affected=N` with `handling=strict`"
ZONE: Final = "`timezone=Europe/Berlin`"
MISSING: Final = "`missing=default`"
RESOLUTION: Final = "`resolution=merge-duplicates` or `resolution=ignore-duplicates`"


def prefers(*preferences: str) -> Json:
    return parameter("header", "Prefer", f"Comma-separated: {'; '.join(preferences)}.")


# An enum of one value: client generators do not support `const` without a type.
SCHEMA_NAME: Final[Json] = {"type": "string", "enum": [PROFILE]}
COUNT: Final[Json] = {"type": "integer", "minimum": 0}
NAMES: Final[Json] = {"type": "string", "pattern": schemas.NAMES}
CONDITIONS: Final[Json] = {"type": "string", "pattern": r"^\(.+\)$"}

PARAMETERS: Final[Json] = {
    "select": parameter(
        "query",
        "select",
        "Columns, `alias:column`, `column::cast`, embeds `relation!hint(…)`, aggregates.",
        {"type": "string", "pattern": schemas.SELECT},
    ),
    "order": parameter(
        "query",
        "order",
        "`column.desc.nullslast,other`, or `relation(column)` of an embed.",
        {"type": "string", "pattern": schemas.ORDER},
    ),
    "limit": parameter("query", "limit", "The maximum number of rows.", COUNT),
    "offset": parameter("query", "offset", "The number of rows to skip.", COUNT),
    "columns": parameter("query", "columns", "The body's columns to write.", NAMES),
    "on_conflict": parameter(
        "query", "on_conflict", "The unique columns that identify an existing row in an upsert.", NAMES
    ),
    "and": parameter("query", "and", "`(column.eq.1,or(…))`: all conditions hold.", CONDITIONS),
    "or": parameter("query", "or", "`(column.eq.1,other.is.null)`: any condition holds.", CONDITIONS),
    "Range": parameter("header", "Range", "`0-19`: rows, counted from 0, intersected with limit and offset."),
    "AcceptProfile": parameter("header", "Accept-Profile", "The schema.", SCHEMA_NAME),
    "ContentProfile": parameter("header", "Content-Profile", "The schema.", SCHEMA_NAME),
    "PreferRead": prefers(COUNTS, ZONE, STRICT),
    "PreferInsert": prefers(RETURNS, RESOLUTION, MISSING, COUNTS, ROLLBACK, ZONE, BOUND),
    "PreferUpdate": prefers(RETURNS, MISSING, COUNTS, ROLLBACK, ZONE, BOUND),
    "PreferPut": prefers(RETURNS, COUNTS, ROLLBACK, ZONE, BOUND),
    "PreferDelete": prefers(RETURNS, COUNTS, ROLLBACK, ZONE, BOUND),
    "PreferCall": prefers(COUNTS, ROLLBACK, STRICT),
}


def filters(relations: Iterable[Relation]) -> Iterator[tuple[str, Json]]:
    """Yield a filter parameter for each column, under PostgREST's name. A filter may be repeated."""
    for relation in relations:
        for attribute in relation.attributes.values():
            description = f"Rows by {attribute.name} ({attribute.type.name}): `eq.…`, `not.in.(…)`, `is.null`."
            schema = {"type": "string", "pattern": schemas.filter_pattern(attribute)}
            name = f"rowFilter.{relation.name}.{attribute.name}"
            yield name, parameter("query", attribute.name, description, schema)


def keys(relations: Iterable[Relation]) -> Iterator[tuple[str, Json]]:
    """Yield a required parameter for each key column, by which PUT finds its row."""
    for relation in relations:
        for column in relation.key:
            schema = {"type": "string", "pattern": schemas.key_pattern(relation.attributes[column])}
            name, description = f"rowKey.{relation.name}.{column}", f"The row by {column}: `eq.…`."
            yield name, parameter("query", column, description, schema, required=True)


def row_schemas(relations: Iterable[Relation]) -> Json:
    """Return each table's row, its row as `select` shapes it, its new row, and its changes."""
    selected = {"type": "object", "description": "A row as `select` shapes it."}
    built: Json = {}
    for relation in relations:
        name = relation.name
        built[name] = schemas.row(relation)
        built[f"{name}.selected"] = {"anyOf": [schema_ref(name), selected]}
        built[f"{name}.new"] = schemas.new_row(relation)
        built[f"{name}.changes"] = schemas.changes(relation)
    return built


def path(relation: Relation) -> Json:
    """Return a table's path."""
    name = relation.name
    filtered = [*(f"rowFilter.{name}.{column}" for column in relation.attributes), "and", "or"]
    ranged = ["order", "limit", "offset"]
    changed = schema_ref(f"{name}.changes")
    created = schema_ref(f"{name}.new")
    keyed = {"allOf": [created, {"required": list(relation.key)}]}
    filter_note = "At least one filter is required."
    put_note = f"The filters are `eq` on the key ({', '.join(relation.key)}), and no others."

    def write(verb: str, summary: str, parameters: Iterable[str], responses: Json, **more: Any) -> Json:
        named = refs(*parameters, "ContentProfile")
        return operation(f"{verb}_{name}", name, summary, responses, WRITE_ERRORS, parameters=named, **more)

    return {
        **get_and_head(
            name,
            name,
            f"Read {name}",
            {
                "200": rows(name, "Rows."),
                "206": rows(name, "A part of the rows; Content-Range holds the range and the total."),
            },
            READ_ERRORS,
            parameters=refs(*filtered, "select", *ranged, "PreferRead", "Range", "AcceptProfile"),
        ),
        "post": write(
            "create",
            f"Create {name}",
            ["select", "columns", "on_conflict", "PreferInsert"],
            {
                "201": maybe_rows("Created.", name, Location=ref("headers", "Location")),
                "200": maybe_rows("All rows existed; they were merged or left unchanged.", name),
            },
            request_body=body({"anyOf": [created, array(created)]}),
        ),
        "patch": write(
            "change",
            f"Change {name}",
            [*filtered, "select", *ranged, "columns", "PreferUpdate"],
            {"200": rows(name, "Changed; the new rows."), "204": no_rows("Changed.")},
            description=filter_note,
            request_body=body({"anyOf": [changed, array(changed)]}),
        ),
        "put": write(
            "put",
            f"Create or replace a row of {name}",
            [*(f"rowKey.{name}.{column}" for column in relation.key), "select", "PreferPut"],
            {
                "200": rows(name, "Replaced; the new row."),
                "201": rows(name, "Created; the new row."),
                "204": no_rows("Created or replaced."),
            },
            description=put_note,
            request_body=body(keyed),
        ),
        "delete": write(
            "delete",
            f"Delete {name}",
            [*filtered, "select", *ranged, "PreferDelete"],
            {"200": rows(name, "Deleted; the former rows."), "204": no_rows("Deleted.")},
            description=filter_note,
        ),
    }


def array(schema: Json) -> Json:
    return {"type": "array", "items": schema, "maxItems": LIMITS.payload_rows}


def body(schema: Json) -> Json:
    """Return a write's body in each of its formats."""
    text = {"type": "string", "description": "A header line, then rows; NULL is null."}
    formats = {MediaType.JSON: schema, MediaType.CSV: text, MediaType.FORM: OBJECT}
    return {"required": True, "content": {media.value: {"schema": schema} for media, schema in formats.items()}}


def rows(name: str, description: str, **headers: Json) -> Json:
    """Return a response with rows in each of their formats."""
    one = schema_ref(f"{name}.selected")
    many = {"type": "array", "items": one}
    by_format = {MediaType.JSON: many, MediaType.ARRAY_STRIPPED: many, MediaType.CSV: STRING}
    content = {media.value: {"schema": by_format.get(media, one)} for media in ROWS}
    return {**no_rows(description), "headers": ROW_HEADERS | headers, "content": content}


def no_rows(description: str) -> Json:
    return {"description": description, "headers": ROW_HEADERS}


def maybe_rows(description: str, name: str, **headers: Json) -> Json:
    """Return a response whose status is the same with rows and without.

    It has no `content`: generated clients would parse an empty body, and the body is empty by default.
    """
    bodies = f"The body is empty, or has the rows as GET /{name} returns them, with `return=representation`."
    return {**no_rows(f"{description} {bodies}"), "headers": ROW_HEADERS | headers}


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
            **{f"/{relation.name}": path(relation) for relation in relations},
            **{f"/rpc/{function.name}": function_path(function) for function in functions},
            "/reports/inspections/{inspection_id}": report(),
            "/reports/issued/{report_id}": frozen("issued_report", "report_id", "issued report"),
            "/reports/notices/{notice_id}": frozen("letter", "notice_id", "letter"),
            "/calendar/{token}.ics": calendar(),
            **auth_paths.paths(),
            **health(),
        },
        "components": {
            "securitySchemes": SECURITY_SCHEMES,
            "schemas": {"Error": schemas.ERROR, **row_schemas(relations), **auth_paths.SCHEMAS},
            "parameters": {**PARAMETERS, **dict(filters(relations)), **dict(keys(relations))},
            "headers": HEADERS,
            "responses": {
                **error_responses("Error", sorted({*READ_ERRORS, *WRITE_ERRORS, *CALENDAR_ERRORS})),
                **error_responses("auth.error", auth_paths.ADMIN_ERRORS, auth_paths.PREFIX),
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
    content = {MediaType.HTML.value: {"schema": STRING}, MediaType.JSON.value: {"schema": kinds}}
    responses = {"200": {"description": "The report: a page to print, or JSON with its content.", "content": content}}
    parameters = [
        parameter("path", "inspection_id", "The inspection's id.", NUMBER, required=True),
        parameter(
            "query", "kind", "By default, the one of the inspection's type.", {"enum": [*REPORT_KINDS], **STRING}
        ),
        parameter("query", "rule", "By default, the one of the building's state.", {"enum": [*RULES], **STRING}),
        *refs("AcceptProfile"),
    ]
    summary = "The lead report or the findings report of an inspection"
    return get_and_head("report", "functions", summary, responses, FUNCTION_ERRORS, parameters=parameters)


def frozen(operation: str, key: str, noun: str) -> Json:
    """Return the path of an issued report or of a letter."""
    stored = record({"content": OBJECT, "number": STRING, "sha256": STRING})
    content = {MediaType.HTML.value: {"schema": STRING}, MediaType.JSON.value: {"schema": stored}}
    found = {"description": "What was issued, always in the same bytes: a page to print, or JSON.", "content": content}
    responses = {"200": found, "304": {"description": "The content has the ETag in If-None-Match."}}
    parameters = [parameter("path", key, f"The id of the {noun}.", NUMBER, required=True), *refs("AcceptProfile")]
    summary = f"What the {noun} says"
    return get_and_head(operation, "functions", summary, responses, FUNCTION_ERRORS, parameters=parameters)


def calendar() -> Json:
    """Return the path of the calendar feeds."""
    feed = {"description": "The feed, in the format of RFC 5545.", "content": {"text/calendar": {"schema": STRING}}}
    responses = {"200": feed, "304": {"description": "Unchanged since the ETag in If-None-Match."}}
    token = parameter("path", "token", "The secret of a calendar link.", required=True)
    summary = "The inspections and due dates of a calendar link's owner"
    return get_and_head("calendar", "service", summary, responses, CALENDAR_ERRORS, parameters=[token], security=[])


def health() -> Json:
    status = record({"status": STRING})
    yes = {"200": json_response("Yes.", status)}
    no = {"503": json_response("Not now.", status)}
    live = get_and_head("live", "service", "Whether the process answers", yes, (400, 500), security=[])
    more = {"reads": STRING, "clock_ahead_seconds": NUMBER}
    able = {"200": json_response("Yes.", record({"status": STRING, **more}, ["status"]))}
    ready = get_and_head("ready", "service", "Whether the service can do its work", able | no, (400, 500), security=[])
    return {"/live": live, "/ready": ready}


def function_path(function: Function[..., Any]) -> Json:
    """Return a function's path: arguments in the query of a GET, or in the body of a POST."""
    name = function.name
    summary, schema = function.summary, schemas.schema_of_type(function.returns)
    formats = {media.value: {"schema": STRING if media is MediaType.CSV else schema} for media in ROWS}
    responses = {"200": {"description": "The value.", "headers": ROW_HEADERS, "content": formats}}
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
