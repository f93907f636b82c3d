"""The parts of the documents: schemas of rows, bodies, results and errors, operations, parameters and patterns.

They are generated from the catalog, column types and result dataclasses. Patterns of parameters with a grammar are
regular expressions of JSON Schema. They match each text that the parser takes, and few others. No part of a pattern
matches a text in two ways, so a search is not exponential.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterable
from enum import Enum
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from marshmallow import Schema

from access.predicates import Parameter
from engine.query.catalog import Attribute, Relation
from engine.query.read.expressions import OPERATORS
from engine.query.write.row_layout import CHOSEN_ID_MAX
from models.fields import ColumnDefault
from models.types import BIGINT, INT32, INT64, INTEGER, TEXT, TEXT_BYTES_MAX, Fault
from routes.postgrest.lexer import LIMITS
from routes.postgrest.preferences import MediaType
from routes.postgrest.querystring import QUANTIFIED

Json = dict[str, Any]

STRING: Final[Json] = {"type": "string"}
OBJECT: Final[Json] = {"type": "object"}

ERRORS: Final[dict[int, tuple[str, str]]] = {
    300: ("Ambiguous", "Several foreign keys match an embed; the details list them."),
    400: ("BadRequest", "The request, a value or the written row is invalid."),
    401: ("Unauthorized", "The apikey is missing, or the token is invalid."),
    403: ("Forbidden", "The caller may not do this, or the row would become invisible to the caller."),
    404: ("NotFound", "The resource does not exist or is not visible."),
    405: ("NotAllowed", "The method is not allowed."),
    406: ("NotAcceptable", "The format or schema is unknown, or the result is not a single row."),
    409: ("Conflict", "A key exists already, or a row is still referenced."),
    413: ("TooLarge", "The body is too large."),
    415: ("Unsupported", "The body's format is not supported."),
    416: ("OutOfRange", "The range is not satisfiable."),
    422: ("Unprocessable", "The user's data is invalid; only the sign-in API answers so."),
    429: ("TooManyRequests", "Too many attempts; Retry-After holds the waiting time in seconds."),
    500: ("ServerError", "The statement timed out, or an internal error occurred."),
    503: ("TryAgain", "Busy; Retry-After holds the waiting time in seconds."),
}
"""The name and the description of the answer with each status of an error."""

ERROR_HEADERS: Final = {
    401: ("WWW-Authenticate",),
    405: ("Allow",),
    416: ("Content-Range", "Preference-Applied"),
    429: ("Retry-After",),
    503: ("Retry-After",),
}


def ref(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}


def schema_ref(name: str) -> Json:
    return ref("schemas", name)


def refs(*names: str) -> list[Json]:
    """Return references to parameters."""
    return [ref("parameters", name) for name in names]


def json_content(schema: Json) -> Json:
    return {MediaType.JSON.value: {"schema": schema}}


def json_response(description: str, schema: Json) -> Json:
    return {"description": description, "content": json_content(schema)}


def parameter(location: str, name: str, description: str, schema: Json = STRING, *, required: bool = False) -> Json:
    return {"name": name, "in": location, "required": required, "description": description, "schema": schema}


def record(properties: Json, required: Iterable[str] | None = None) -> Json:
    """Return the schema of an object; its properties are required unless `required` names others."""
    names = list(properties if required is None else required)
    return {"type": "object", "required": names, "properties": properties}


def body_schema(declared: Schema, required: Iterable[str] = ()) -> Json:
    """Return the JSON schema of the bodies that a marshmallow schema loads, from the metadata of its fields.

    >>> from marshmallow import fields
    >>> body_schema(Schema.from_dict({"name": fields.Raw(metadata={"type": "string"})})(), ["name"])
    {'type': 'object', 'required': ['name'], 'properties': {'name': {'type': 'string'}}}
    """
    properties = {name: each.metadata for name, each in declared.fields.items() if "unlisted" not in each.metadata}
    return record(properties, required)


def error_responses(schema: str, statuses: Iterable[int] = ERRORS, prefix: str = "") -> Json:
    """Return a response for each status of an error."""
    built: Json = {}
    for status in statuses:
        name, description = ERRORS[status]
        response = json_response(description, schema_ref(schema))
        if status in ERROR_HEADERS:
            response["headers"] = {header: {"schema": STRING} for header in ERROR_HEADERS[status]}
        built[prefix + name] = response
    return built


def operation(
    name: str,
    tag: str,
    summary: str,
    responses: Json,
    errors: Iterable[int],
    *,
    parameters: Iterable[Json] = (),
    description: str = "",
    request_body: Json | None = None,
    security: list[Json] | None = None,
    error_prefix: str = "",
) -> Json:
    """Return an operation. `errors` are the statuses of its errors."""
    failures = {str(status): ref("responses", error_prefix + ERRORS[status][0]) for status in errors}
    optional = {
        "description": description,
        "parameters": list(parameters),
        "requestBody": request_body,
        "security": security,
    }
    return {
        "operationId": name,
        "tags": [tag],
        "summary": summary,
        **{key: value for key, value in optional.items() if value or (key == "security" and value is not None)},
        "responses": {**responses, **failures},
    }


def get_and_head(name: str, tag: str, summary: str, responses: Json, errors: Iterable[int], **more: Any) -> Json:
    """Return GET, and HEAD with the same headers and no body."""
    errors = tuple(errors)
    get = operation(f"read_{name}", tag, summary, responses, errors, **more)
    bodiless = {
        status: {key: part for key, part in response.items() if key != "content"}
        for status, response in responses.items()
    } | {str(status): {"description": ERRORS[status][1]} for status in errors}
    head = operation(f"head_{name}", tag, f"{summary}: headers only", bodiless, (), **more)
    return {"get": get, "head": head}


POSTGRES_TYPE: Final = "x-postgres-type"
POSTGRES_DEFAULT: Final = "x-postgres-default"
"""What Swagger's type generators read of a column: PostgreSQL's name of its type, and its default.

They make a column with a default optional.
"""
BOUNDS: Final = {BIGINT.name: INT64, INTEGER.name: INT32}
NUMBER_TEXTS: Final = {
    "integer": r"^\s*[+-]?[0-9]+\s*$",
    "number": r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$",
}
"""Patterns of numbers as text. JavaScript sends a BigInt as text."""

DEFAULT_DESCRIPTIONS: Final = {
    ColumnDefault.SEQUENCE: "the next id; only a super admin may set it",
    ColumnDefault.RANDOM_UUID: "a random UUID; only a super admin may set it",
    ColumnDefault.NOW: "the time of creation",
    ColumnDefault.NOW_ON_WRITE: "the time of the last write",
    ColumnDefault.CALLER_ID: "the caller",
    ColumnDefault.COMPUTED: "computed by the service",
}

ERROR: Final[Json] = {
    "type": "object",
    "description": "An error with PostgreSQL's or PostgREST's code.",
    "required": ["code", "message", "details", "hint"],
    "properties": {
        "code": {"type": "string", "examples": ["42501", "PGRST116"]},
        "message": {"type": "string"},
        "details": {
            "description": "Text, or the possible relationships of an ambiguous embed (PGRST201).",
            "anyOf": [{"type": ["string", "null"]}, {"type": "array", "items": {"type": "object"}}],
        },
        "hint": {"type": ["string", "null"]},
    },
}


# Rows


def row(relation: Relation) -> Json:
    """Return the schema of a row without `select`."""
    columns = {
        attribute.name: described(relation, attribute, output_schema(attribute))
        for attribute in relation.attributes.values()
    }
    return {**record(columns), "description": relation.model.__doc__ or ""}


def new_row(relation: Relation) -> Json:
    """Return the schema of a new row. Columns with a default are optional."""
    attributes = relation.attributes.values()
    return {**changes(relation), "required": [each.name for each in attributes if is_required(each)]}


def is_required(attribute: Attribute) -> bool:
    """Return whether a new row has to name the column."""
    return attribute.required and not attribute.has_default and not attribute.info.service


def changes(relation: Relation) -> Json:
    """Return the schema of a write's columns. Other names are not allowed."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            attribute.name: described(relation, attribute, input_schema(attribute))
            for attribute in relation.attributes.values()
        },
    }


def output_schema(attribute: Attribute) -> Json:
    schema: Json = {**dict(attribute.type.schema), POSTGRES_TYPE: attribute.type.name}
    if attribute.default in (ColumnDefault.NOW, ColumnDefault.NOW_ON_WRITE):
        schema[POSTGRES_DEFAULT] = "now()"
    return values_schema(attribute, schema)


def input_schema(attribute: Attribute) -> Json:
    """Return the schema of a column's values in a body. A number may be text."""
    schema: Json = dict(attribute.type.schema)
    if attribute.type is TEXT:
        schema["maxLength"] = TEXT_BYTES_MAX
    if attribute.type.name in BOUNDS:
        schema["minimum"], schema["maximum"] = BOUNDS[attribute.type.name]
    if attribute.default is ColumnDefault.SEQUENCE:
        schema["minimum"], schema["maximum"] = 1, CHOSEN_ID_MAX
    if attribute.type.numeric:
        schema["pattern"] = NUMBER_TEXTS[schema["type"]]
        schema["type"] = [schema["type"], "string"]
    return values_schema(attribute, schema)


def values_schema(attribute: Attribute, schema: Json) -> Json:
    """Return a schema with the bounds, the allowed and the common values, and with null for an optional column."""
    info = attribute.info
    bounds = {"minimum": info.minimum, "maximum": info.maximum}
    schema |= {name: value for name, value in bounds.items() if value is not None}
    if info.allowed_values:
        schema["enum"] = [*info.allowed_values, *([] if attribute.required else [None])]
    if info.common_values:
        schema["x-enum"] = list(info.common_values)
    return schema if attribute.required else nullable(schema)


def nullable(schema: Json) -> Json:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {**schema, "type": [*kinds, "null"]}


def described(relation: Relation, attribute: Attribute, schema: Json) -> Json:
    """Return a column's schema with its description and example. Type generators read the tags in angle brackets."""
    info = attribute.info
    sentences = [info.help] if info.help else []
    if info.common_values:
        sentences.append(f"Common values: {', '.join(info.common_values)}.")
    if attribute.default is not None:
        sentences.append(f"Default: {DEFAULT_DESCRIPTIONS[attribute.default]}.")
    elif attribute.stored_default not in (None, ""):
        sentences.append(f"Default: `{attribute.stored_default}`.")
    if info.service:
        sentences.append("Only the service changes it.")
    if info.insert_only:
        sentences.append("After the insert only functions change it.")
    notes = ["This is a Primary Key.<pk/>"] if attribute.name in relation.key else []
    fk = next((each for each in relation.foreign_keys if each.column == attribute.name), None)
    if fk is not None:
        target, column = fk.referred, fk.referred_column
        notes.append(f"This is a Foreign Key to `{target}.{column}`.<fk table='{target}' column='{column}'/>")
    description = "\n\n".join(filter(None, (" ".join(sentences), "\n".join(["Note:", *notes]) if notes else "")))
    if description:
        schema["description"] = description
    if info.example is not None:
        schema["examples"] = [info.example]
    return schema


# Functions


def argument(parameter: Parameter) -> Json:
    """Return the schema of a function's parameter, with PostgreSQL's names of its types."""
    schema: Json = {**parameter.document, POSTGRES_TYPE: parameter.type_name}
    if "items" in schema:
        schema["items"] = {**schema["items"], POSTGRES_TYPE: parameter.type_name.removesuffix("[]")}
    return schema


def schema_of_type(kind: Any) -> Json:
    """Return the JSON schema of a Python type.

    >>> schema_of_type(dict[str, int])
    {'type': 'object', 'additionalProperties': {'type': 'integer'}}
    >>> schema_of_type(str | None)
    {'type': ['string', 'null']}
    """
    if kind is object:
        return {}
    if kind in PLAIN:
        return {"type": PLAIN[kind]}
    if get_origin(kind) is Literal:
        return {"const": get_args(kind)[0]}
    if isinstance(kind, types.UnionType):
        [present] = (each for each in get_args(kind) if each is not type(None))
        return nullable(schema_of_type(present))
    if get_origin(kind) is dict:
        return {"type": "object", "additionalProperties": schema_of_type(get_args(kind)[1])}
    if get_origin(kind) in (list, tuple):
        return {"type": "array", "items": schema_of_type(get_args(kind)[0])}
    if kind == type[Fault]:
        return {"type": "string"}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"type": "string", "enum": [each.value for each in kind]}
    assert dataclasses.is_dataclass(kind), kind
    hints = get_type_hints(kind)
    return record({field.name: schema_of_type(hints[field.name]) for field in dataclasses.fields(kind)})


PLAIN: Final = {bool: "boolean", int: "integer", float: "number", str: "string"}


QUOTED: Final = r'"(?:[^"\\]|\\[\s\S])*"'
FIELD: Final = rf'(?:[^"()!.,:*]|{QUOTED})+'
"""A name with its JSON path and the blanks around it."""
ITEM: Final = rf'(?:[^"(),]|{QUOTED})+'
"""An item of a select without what stands in its parentheses."""


def listed(item: str) -> str:
    return f"{item}(?:,{item})*"


def items(depth: int) -> str:
    """Return the pattern of a select with this many levels of embeds. An aggregate has empty parentheses."""
    if depth == 0:
        return listed(rf"{ITEM}(?:\(\){ITEM}?)?")
    return listed(rf"{ITEM}(?:\((?:{items(depth - 1)})?\)(?:::[^(),]+| *)?)?")


NULLS: Final = r"\.(?:nullsfirst|nullslast) *"
TERM: Final = rf"{FIELD}(?:\({FIELD}\) *)?(?:{NULLS}|\.(?:asc|desc)(?:{NULLS}| *))?"

NAMES: Final = f"^{listed(FIELD)}$"
ORDER: Final = f"^{listed(TERM)}$"
SELECT: Final = rf"^(?: *(?:,[\s\S]*)?|{items(LIMITS.embeds_deep)})$"


def filter_pattern(attribute: Attribute) -> str:
    """Return the pattern of a column's filters: the operators of its type and their values."""
    usable = [name for name, each in OPERATORS.items() if attribute.type is TEXT or not each.text_only]
    several = "|".join(name for name in usable if name in QUANTIFIED)
    value = equal_value(attribute)
    parts = (
        rf"(?:{'|'.join(usable)})\.{value}",
        rf"(?:{several})\((?:any|all)\)\.\{{[\s\S]*\}}",
        r"in\. *\([\s\S]*\) *",
        r"is\.(?:null|not_null|NULL|NOT_NULL) *",
    )
    return rf"^(?:not\.)?(?:{'|'.join(parts)})$"


def key_pattern(attribute: Attribute) -> str:
    """Return the pattern of the filter by which PUT finds its row."""
    return rf"^eq\.{equal_value(attribute)}$"


def equal_value(attribute: Attribute) -> str:
    if not attribute.type.numeric:
        return r"[\s\S]*"
    kind = str(dict(attribute.type.schema)["type"])
    return rf"(?:{NUMBER_TEXTS[kind].removeprefix('^').removesuffix('$')})"
