"""The Swagger 2.0 document of tables and functions, as PostgREST serves it.

Type generators and Supabase's getOpenApiSpec read it. It follows PostgREST's `Response/OpenAPI.hs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import config
from engine.query.catalog import Attribute, Relation, catalog
from models.fields import ColumnDefault
from routes.postgrest import openapi
from routes.postgrest import openapi_schemas as schemas
from routes.postgrest.media import BODIES, DOCUMENT_AS_POSTGREST, ROWS, MediaType
from routes.postgrest.openapi import Call
from routes.postgrest.openapi_schemas import Json
from routes.postgrest.signatures import Parameter

RESPONSE_TYPES: Final = [media.value for media in ROWS]
REQUEST_TYPES: Final = [media.value for media in BODIES]
CALL_REQUEST_TYPES: Final = [media.value for media in BODIES if media is not MediaType.CSV]
"""Differs from PostgREST, which lists its response formats here."""
DEFAULTS: Final = {ColumnDefault.NOW: "now()", ColumnDefault.NOW_ON_WRITE: "now()"}
"""Defaults in PostgreSQL's spelling. Type generators make columns with a default optional."""
WIDTHS: Final = {"integer": "int32", "bigint": "int64"}
"""Swagger's integer formats. Type generators treat any other format as 32 bits."""


def swagger_document(calls: Iterable[Call]) -> Json:
    """Return the document."""
    relations = catalog().published()
    return {
        "swagger": "2.0",
        "info": {"title": openapi.TITLE, "description": openapi.DESCRIPTION, "version": config.__version__},
        "basePath": "/",
        "consumes": REQUEST_TYPES,
        "produces": RESPONSE_TYPES,
        "paths": {
            "/": {"get": ROOT},
            **{f"/{relation.name}": relation_path(relation) for relation in relations},
            **{f"/rpc/{call.signature.name}": call_path(call) for call in calls},
        },
        "definitions": {relation.name: definition(relation) for relation in relations},
        "parameters": {**PARAMETERS, **relation_parameters(relations)},
        "securityDefinitions": SECURITY,
        "security": [{"apikey": [], "JWT": []}],
    }


ROOT: Final[Json] = {
    "tags": ["Introspection"],
    "summary": "OpenAPI description (this document)",
    "produces": [media.value for media in DOCUMENT_AS_POSTGREST],
    "responses": {"200": {"description": "OK"}},
}

SECURITY: Final[Json] = {
    "apikey": {"type": "apiKey", "in": "header", "name": "apikey"},
    "JWT": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": 'Add the token prepending "Bearer " (without quotes) to it',
    },
}


# Paths


def relation_path(relation: Relation) -> Json:
    name = relation.name
    filters = [f"rowFilter.{name}.{column}" for column in relation.attributes]
    ranges = ["order", "range", "rangeUnit", "offset", "limit"]
    rows = {"type": "array", "items": {"$ref": f"#/definitions/{name}"}}
    found = {"200": {"description": "OK", "schema": rows}, "206": {"description": "Partial Content"}}

    def operation(parameters: list[str], responses: Json) -> Json:
        return {"tags": [name], "parameters": refs(parameters), "responses": responses}

    return {
        "get": operation([*filters, "select", *ranges, "preferCount"], found),
        "post": operation(
            [f"body.{name}", "select", "columns", "on_conflict", "preferPost"], {"201": {"description": "Created"}}
        ),
        "delete": operation([*filters, "preferReturn"], {"204": {"description": "No Content"}}),
        "patch": operation([*filters, f"body.{name}", "preferReturn"], {"204": {"description": "No Content"}}),
    }


def call_path(call: Call) -> Json:
    name = call.signature.name
    parameters = call.signature.parameters
    description = {
        "tags": [f"(rpc) {name}"],
        "summary": schemas.result_schema(name)[0],
        "produces": RESPONSE_TYPES,
        "responses": {"200": {"description": "OK"}},
    }
    arguments = {
        "type": "object",
        "required": [each for each, parameter in parameters.items() if parameter.required],
        "properties": {each: argument(parameter) for each, parameter in parameters.items()},
    }
    if not arguments["required"]:
        del arguments["required"]  # Swagger 2.0 does not allow an empty list
    sent = {"name": "args", "in": "body", "required": True, "schema": arguments}
    post = {**description, "consumes": CALL_REQUEST_TYPES, "parameters": [sent, *refs(["preferParams"])]}
    if "GET" not in call.methods:
        return {"post": post}
    query_parameters = [
        {"name": each, "in": "query", "required": parameter.required, **argument(parameter)}
        for each, parameter in parameters.items()
    ]
    return {"get": {**description, "parameters": query_parameters}, "post": post}


def argument(parameter: Parameter) -> Json:
    """Return a parameter with PostgreSQL's type name as `format`, as PostgREST does."""
    schema = type_schema(parameter.document, parameter.type_name)
    items = parameter.document.get("items")
    if isinstance(items, dict):
        schema["items"] = type_schema(items, parameter.type_name.removesuffix("[]"))
    return schema


def type_schema(document: Mapping[str, object], name: str) -> Json:
    """Return a type with PostgreSQL's name as its format; integers have Swagger's formats."""
    return {"type": document["type"], "format": WIDTHS.get(name, name)}


def refs(names: Iterable[str]) -> list[Json]:
    return [{"$ref": f"#/parameters/{name}"} for name in names]


# Definitions and parameters


def definition(relation: Relation) -> Json:
    return {
        "type": "object",
        "description": relation.model.__doc__ or "",
        "required": [each.name for each in relation.attributes.values() if each.required],
        "properties": {attribute.name: described(relation, attribute) for attribute in relation.attributes.values()},
    }


def described(relation: Relation, attribute: Attribute) -> Json:
    """Return a column's schema. Type generators read the tags in angle brackets."""
    info = attribute.info
    found = type_schema(dict(attribute.type.schema), attribute.type.name) | schemas.bounds(attribute)
    if attribute.default in DEFAULTS:
        found["default"] = DEFAULTS[attribute.default]
    if info.allowed_values:
        found["enum"] = list(info.allowed_values)
    if info.common_values:
        found["x-enum"] = list(info.common_values)
    if info.example is not None:
        found["example"] = info.example
    notes = []
    if attribute.name in relation.key:
        notes.append("This is a Primary Key.<pk/>")
    fk = next((each for each in relation.foreign_keys if each.column == attribute.name), None)
    if fk is not None:
        target, column = fk.referred, fk.referred_column
        notes.append(f"This is a Foreign Key to `{target}.{column}`.<fk table='{target}' column='{column}'/>")
    note = "\n".join(["Note:", *notes]) if notes else ""
    description = "\n\n".join(filter(None, (info.help, note)))
    return {**found, "description": description} if description else found


def relation_parameters(relations: Iterable[Relation]) -> Json:
    parameters: Json = {}
    for relation in relations:
        name = relation.name
        schema = {"$ref": f"#/definitions/{name}"}
        description = {"name": name, "description": name, "in": "body", "required": False}
        parameters[f"body.{name}"] = {**description, "schema": schema}
        for column in relation.attributes:
            parameters[f"rowFilter.{name}.{column}"] = parameter(column, "query")
    return parameters


def parameter(name: str, location: str, description: str | None = None, **more: object) -> Json:
    described = {"description": description} if description is not None else {}
    return {"name": name, **described, "required": False, "in": location, "type": "string", **more}


def prefer(*preferences: str) -> Json:
    return parameter("Prefer", "header", "Preference", enum=list(preferences))


RETURNS: Final = ("return=representation", "return=minimal", "return=headers-only")

PARAMETERS: Final[Json] = {
    "preferParams": parameter("Prefer", "header", "Preference"),
    "preferReturn": prefer(*RETURNS),
    "preferCount": prefer("count=exact", "count=planned", "count=estimated"),
    "preferPost": prefer(*RETURNS, "resolution=ignore-duplicates", "resolution=merge-duplicates"),
    "select": parameter("select", "query", "Filtering Columns"),
    "columns": parameter("columns", "query", "The body's columns to write"),
    "on_conflict": parameter("on_conflict", "query", "On Conflict"),
    "order": parameter("order", "query", "Ordering"),
    "range": parameter("Range", "header", "Limiting and Pagination"),
    "rangeUnit": parameter("Range-Unit", "header", "Limiting and Pagination", default="items"),
    "offset": parameter("offset", "query", "Limiting and Pagination"),
    "limit": parameter("limit", "query", "Limiting and Pagination"),
}
