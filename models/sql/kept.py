"""What was made for a shape is kept: of ordinary shapes many, of large ones a few.

A select of hundreds of items takes a quarter of a megabyte once it is planned. Whoever may ask anything could have
thousands of them kept, and a small machine would have no memory left (docs/decisions/0163).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any
from typing import Generic
from typing import NamedTuple
from typing import ParamSpec
from typing import TypeVar

PLANS_MAX = 2_000  # about 20 KB each
LARGE_PLANS_MAX = 32  # up to 300 KB each

Asked = ParamSpec("Asked")
Made = TypeVar("Made")


class Info(NamedTuple):
    """As `lru_cache` counts."""

    hits: int
    misses: int
    currsize: int


class Kept(Generic[Asked, Made]):
    """A function whose results are kept, by all of its arguments. `shape_at` is the place of the shape among them."""

    def __init__(self, make: Callable[Asked, Made], *, shape_at: int) -> None:
        self.shape_at = shape_at
        self.many = lru_cache(maxsize=PLANS_MAX)(make)
        self.few = lru_cache(maxsize=LARGE_PLANS_MAX)(make)
        self.__module__ = make.__module__

    def __call__(self, *asked: Asked.args, **named: Asked.kwargs) -> Made:
        shape: Any = asked[self.shape_at]
        cache = self.few if shape.is_large else self.many
        return cache(*asked, **named)  # type: ignore[arg-type]

    def cache_info(self) -> Info:
        many, few = self.many.cache_info(), self.few.cache_info()
        return Info(many.hits + few.hits, many.misses + few.misses, many.currsize + few.currsize)

    def cache_clear(self) -> None:
        self.many.cache_clear()
        self.few.cache_clear()
