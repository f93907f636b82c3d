"""The paths, parameters and schemas of the tables in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from engine.query.catalog import Attribute, Relation
from engine.query.read import operators
from models.types import TEXT as TEXT_TYPE
from routes.openapi import schemas
from routes.openapi.parts import OBJECT, TEXT, Json, get_and_head, operation, parameter, ref, refs, schema_ref
from routes.postgrest.limits import LIMITS
from routes.postgrest.media import ROWS, MediaType
from routes.postgrest.requests import PROFILE

READ_ERRORS: Final = (300, 400, 401, 403, 404, 406, 416, 500, 503)
WRITE_ERRORS: Final = (300, 400, 401, 403, 404, 405, 406, 409, 413, 415, 416, 429, 500, 503)

HEADERS: Final[Json] = {
    "ContentRange": {
        "description": "The range and the total: `0-19/*`, `0-19/57`, `*/0`.",
        "schema": {"type": "string", "pattern": r"^([0-9]+-[0-9]+|\*)/([0-9]+|\*)$"},
    },
    "PreferenceApplied": {"description": "The applied preferences.", "schema": TEXT},
    "Location": {"description": "The URL of the new row, for `return=headers-only`.", "schema": TEXT},
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
CONDITIONS: Final[Json] = {"type": "string", "pattern": r"^\(.+\)$"}

PARAMETERS: Final[Json] = {
    "select": parameter(
        "query", "select", "Columns, `alias:column`, `column::cast`, embeds `relation!hint(…)`, aggregates."
    ),
    "order": parameter("query", "order", "`column.desc.nullslast,other`, or `relation(column)` of an embed."),
    "limit": parameter("query", "limit", "The maximum number of rows.", COUNT),
    "offset": parameter("query", "offset", "The number of rows to skip.", COUNT),
    "columns": parameter("query", "columns", "The body's columns to write."),
    "on_conflict": parameter("query", "on_conflict", "The unique columns that identify an existing row in an upsert."),
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
            schema = {"type": "string", "pattern": filter_pattern(attribute)}
            name = f"rowFilter.{relation.name}.{attribute.name}"
            yield name, parameter("query", attribute.name, description, schema)


def filter_pattern(attribute: Attribute) -> str:
    """Return the pattern of a column's filters: the operators of its type."""
    symbols = "|".join(
        name for name, operator in operators.OPERATORS.items() if attribute.type is TEXT_TYPE or not operator.text_only
    )
    return rf"^(not\.)?(({symbols})(\((any|all)\))?\.|in\.\(|is\.)"


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
                "201": rows(
                    name,
                    "Created. The rows are in the body with `return=representation` only.",
                    Location=ref("headers", "Location"),
                ),
                "200": rows(name, "All rows existed; they were merged or left unchanged."),
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
            [*filtered, "select", "PreferPut"],
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
    by_format = {MediaType.JSON: many, MediaType.ARRAY_STRIPPED: many, MediaType.CSV: TEXT}
    content = {media.value: {"schema": by_format.get(media, one)} for media in ROWS}
    return {**no_rows(description), "headers": ROW_HEADERS | headers, "content": content}


def no_rows(description: str) -> Json:
    return {"description": description, "headers": ROW_HEADERS}
