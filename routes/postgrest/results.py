"""The results of functions as JSON values."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

from models.errors import Fault
from routes.postgrest.errors import lookup


def as_json(result: object) -> object:
    """Return a function's result as a JSON value. A dataclass becomes an object of its fields, in order,
    and the class of a fault its code.

    `dataclasses.asdict` copies nested values and is several times slower.
    """
    if isinstance(result, list | tuple):
        return [as_json(each) for each in result]
    if isinstance(result, type) and issubclass(result, Fault):
        return lookup(result)[1]
    kind: Any = type(result)
    names = field_names(kind)
    if names is None:
        return result
    return {name: as_json(getattr(result, name)) for name in names}


@cache
def field_names(kind: Any) -> tuple[str, ...] | None:
    """Return the field names of a dataclass; None for any other type."""
    if not dataclasses.is_dataclass(kind):
        return None
    return tuple(each.name for each in dataclasses.fields(kind))
