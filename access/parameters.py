"""The parameters of the API's functions. Each may be sent with or without the prefix `p_`.

A parameter is a marshmallow field over a column type, so invalid values raise PostgreSQL's messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from marshmallow import fields

from models.errors import Fault
from models.types import BIGINT, INTEGER, TEXT, ColumnType, InvalidDatetime, InvalidInput, invalid, quote_json

PREFIX: Final = "p_"


class ParameterOutOfRange(Fault):
    """An argument outside the range of its parameter (22023)."""


class TooManyIds(Fault):
    """An array with more ids than its parameter takes."""

    def __init__(self, count_max: int) -> None:
        super().__init__(f"A request may have at most {count_max} ids in an array.")


class Parameter(fields.Field[Any]):
    """A parameter: the type's name, its reader, and its JSON schema."""

    def __init__(
        self, type_name: str, read: Callable[[object], object], document: Mapping[str, object], *, required: bool = True
    ) -> None:
        super().__init__(required=required, allow_none=not required)
        self.type_name = type_name
        self.read = read
        self.document = document

    @property
    def is_array(self) -> bool:
        return self.document["type"] == "array"

    def deserialize(
        self, value: Any, attr: str | None = None, data: Mapping[str, Any] | None = None, **options: Any
    ) -> Any:
        if value is None and self.required:
            raise invalid(self.type_name, "null")
        return super().deserialize(value, attr, data, **options)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **options: Any) -> Any:
        try:
            return self.read(value)
        except InvalidDatetime:
            if isinstance(value, str):
                raise
            raise invalid(self.type_name, quote_json(value)) from None


def required_parameter(kind: ColumnType) -> Parameter:
    """Return a required parameter of a column type."""
    return Parameter(kind.name, kind.read_json, dict(kind.schema))


def optional_parameter(kind: ColumnType) -> Parameter:
    """Return an optional parameter of a column type."""
    return Parameter(kind.name, kind.read_json, dict(kind.schema), required=False)


def bounded_integer(minimum: int, maximum: int, *, required: bool = True) -> Parameter:
    """Return a parameter that is an integer from `minimum` to `maximum`."""

    def read(value: object) -> object:
        number = INTEGER.read_json(value)
        if isinstance(number, int) and not minimum <= number <= maximum:
            raise ParameterOutOfRange(f"expected an integer from {minimum} to {maximum}, not {number}")
        return number

    document = {**dict(INTEGER.schema), "minimum": minimum, "maximum": maximum}
    return Parameter(INTEGER.name, read, document, required=required)


def bounded_text(characters_max: int) -> Parameter:
    """Return a required parameter that is a text of 1 to `characters_max` characters."""

    def read(value: object) -> object:
        text = TEXT.read_json(value)
        if isinstance(text, str) and not 1 <= len(text) <= characters_max:
            raise ParameterOutOfRange(f"expected a text of 1 to {characters_max} characters, not {len(text)}")
        return text

    return Parameter(TEXT.name, read, {"type": "string", "minLength": 1, "maxLength": characters_max})


def choice(values: tuple[str, ...], *, required: bool = True) -> Parameter:
    """Return a parameter that is one of some texts."""

    def read(value: object) -> object:
        text = TEXT.read_json(value)
        if text not in values:
            raise ParameterOutOfRange(f'expected one of {", ".join(values)}, not "{str(text)[:200]}"')
        return text

    return Parameter(TEXT.name, read, {"type": "string", "enum": list(values)}, required=required)


def long_text(bytes_max: int) -> Parameter:
    """Return a required parameter that is a text of at most `bytes_max` bytes in UTF-8, such as a file."""

    def read(value: object) -> object:
        if not isinstance(value, str):
            raise invalid(TEXT.name, quote_json(value))
        if len(value) > bytes_max or len(value.encode()) > bytes_max:
            raise ParameterOutOfRange(f"expected a text of at most {bytes_max} bytes")
        return value

    return Parameter(TEXT.name, read, {"type": "string", "maxLength": bytes_max})


BOOLEANS: Final = {True: True, False: False, "true": True, "false": False}


def boolean() -> Parameter:
    """Return an optional parameter that is true or false."""

    def read(value: object) -> object:
        if not isinstance(value, bool | str) or value not in BOOLEANS:
            raise invalid("boolean", quote_json(value))
        return BOOLEANS[value]

    return Parameter("boolean", read, {"type": "boolean"}, required=False)


def json_object(*types: type) -> Parameter:
    """Return an optional parameter that is a JSON object whose values have one of these types."""

    def read(value: object) -> object:
        if not isinstance(value, dict) or not all(isinstance(each, types) for each in value.values()):
            raise InvalidInput("expected JSON object of plain values")
        return value

    return Parameter("jsonb", read, {"type": "object"}, required=False)


def text_array(count_max: int) -> Parameter:
    """Return an optional parameter that is an array of at most `count_max` texts."""

    def read(value: object) -> object:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise InvalidInput("expected JSON array of texts")
        if len(value) > count_max:
            raise ParameterOutOfRange(f"expected at most {count_max} texts in the array")
        return tuple(value)

    document = {"type": "array", "items": {"type": "string"}, "maxItems": count_max}
    return Parameter("text[]", read, document, required=False)


def id_array(count_max: int, *, count_min: int = 0, required: bool = True) -> Parameter:
    """Return a parameter that is an array of `count_min` to `count_max` ids."""

    def read(value: object) -> tuple[object, ...]:
        if not isinstance(value, list):
            raise InvalidInput("expected JSON array")
        if len(value) > count_max:
            raise TooManyIds(count_max)
        if len(value) < count_min:
            raise ParameterOutOfRange(f"expected at least {count_min} id in the array")
        return tuple(map(read_id, value))

    document: dict[str, object] = {"type": "array", "items": dict(BIGINT.schema), "maxItems": count_max}
    if count_min:
        document["minItems"] = count_min
    return Parameter("bigint[]", read, document, required=required)


def read_id(value: object) -> object:
    if value is None:
        raise invalid(BIGINT.name, "null")
    return BIGINT.read_json(value)


def unprefixed(name: str) -> str:
    return name.removeprefix(PREFIX)
