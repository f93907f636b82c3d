"""The schemas of the documents: rows, bodies, function results and errors.

They are generated from the catalog, column types and result dataclasses.
"""

from __future__ import annotations

import dataclasses
import types
from enum import Enum
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from access.parameters import Parameter
from engine.query.catalog import Attribute, Relation
from engine.query.write.row_layout import CHOSEN_ID_MAX
from models.errors import Fault
from models.fields import ColumnDefault
from models.types import BIGINT, INT32, INT64, INTEGER, TEXT, TEXT_BYTES_MAX
from routes.openapi.parts import Json, record

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
    ColumnDefault.COMPUTED: "the deadline of the severity",
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
