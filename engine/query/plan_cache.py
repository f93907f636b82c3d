"""A cache of plans by shape, rule and database. Large plans are not cached.

The plan of a select with hundreds of items takes 250 KB. Clients choose the shapes, so thousands of large plans could
fill the memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, ParamSpec, TypeVar

PLANS_MAX = 2_000  # about 20 KB each

Arguments = ParamSpec("Arguments")
Plan = TypeVar("Plan")


class PlanCache(Generic[Arguments, Plan]):
    """A function that makes plans, cached by its arguments. `shape_at` is the position of the shape among them."""

    def __init__(self, make: Callable[Arguments, Plan], *, shape_at: int) -> None:
        self.make = make
        self.shape_at = shape_at
        self.cached = lru_cache(maxsize=PLANS_MAX)(make)
        self.cache_info = self.cached.cache_info
        self.cache_clear = self.cached.cache_clear
        self.__module__ = make.__module__

    def __call__(self, *positional: Arguments.args, **named: Arguments.kwargs) -> Plan:
        shape: Any = positional[self.shape_at]
        if shape.is_large:
            return self.make(*positional, **named)
        return self.cached(*positional, **named)  # type: ignore[arg-type]
