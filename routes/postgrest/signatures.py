"""Function signatures: the parameters by name. Each may be sent with or without the prefix `p_`.

A parameter is a marshmallow field over a column type, so invalid values raise PostgreSQL's messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from marshmallow import Schema, fields

from models.types import BIGINT, ColumnType, InvalidDatetime, InvalidInput, invalid, quote_json
from routes.postgrest.limits import LIMITS, LimitExceeded
from routes.postgrest.operands import parse_array

PREFIX: Final = "p_"


class Parameter(fields.Field[Any]):
    """A parameter: the type's name, its reader, and its JSON schema."""

    def __init__(
        self, type_name: str, read: Callable[[object], object], document: Mapping[str, object], *, required: bool = True
    ) -> None:
        super().__init__(required=required, allow_none=not required)
        self.type_name = type_name
        self.read = read
        self.document = document

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


def id_array(count_max: int, *, required: bool = True) -> Parameter:
    """Return a parameter that is an array of at most `count_max` ids."""

    def read(value: object) -> tuple[object, ...]:
        if isinstance(value, str):
            value = list(parse_array(value, LIMITS))
        if not isinstance(value, list):
            raise InvalidInput("expected JSON array")
        if len(value) > count_max:
            raise LimitExceeded(count_max, "ids in an array")
        return tuple(map(read_id, value))

    document = {"type": "array", "items": dict(BIGINT.schema), "maxItems": count_max}
    return Parameter("bigint[]", read, document, required=required)


def read_id(value: object) -> object:
    if value is None:
        raise invalid(BIGINT.name, "null")
    return BIGINT.read_json(value)


@dataclass(frozen=True, slots=True)
class Signature:
    """A function's name and parameters. `names` are the documented names."""

    name: str
    names: tuple[str, ...]
    schema: Schema

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters by their documented names."""
        schema_fields = self.schema.fields
        return {name: cast(Parameter, schema_fields[unprefixed(name)]) for name in self.names}

    def __str__(self) -> str:
        return f"public.{self.name}({', '.join(self.names)})" if self.names else f"public.{self.name}"


def signature(name: str, parameters: Mapping[str, Parameter]) -> Signature:
    """Return the signature of a function.

    >>> str(signature("check", {"p_building_id": required_parameter(BIGINT)}))
    'public.check(p_building_id)'
    """
    declared: dict[str, fields.Field[Any]] = {unprefixed(each): parameter for each, parameter in parameters.items()}
    return Signature(name, tuple(parameters), Schema.from_dict(declared)())


def unprefixed(name: str) -> str:
    return name.removeprefix(PREFIX)
