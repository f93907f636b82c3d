"""The rule as the query engine receives it: which rows an action reaches, and which it may leave behind.

The engine does not know who decides. It is handed a `Rule`, an argument without a default, so that a
plan without one cannot be made; `access/policy.py` is where rules come from.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol

import sqlalchemy as sa

from models.fields import Model
from models.fields import Row


class Action(Enum):
    """What is done to rows."""

    READ = "read"
    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


class ReadScope(Enum):
    """How far reads reach, where that is simple."""

    EVERYTHING = "everything"
    OWN_CLIENT = "own client"


class Rule(Protocol):
    """Hashable and equal when it decides alike: it is part of a plan's key."""

    def rows(self, action: Action, model: type[Model], row: Row) -> sa.ColumnElement[bool]:
        """The existing rows within reach of an action."""
        ...

    def check(self, model: type[Model], row: Row) -> sa.ColumnElement[bool]:
        """The rows that a write may leave behind."""
        ...

    def implied(self, model: type[Model], by: type[Model]) -> bool:
        """Whether whoever sees a row of `by` sees the rows of `model` tied to it."""
        ...

    def read_scope(self, model: type[Model]) -> ReadScope | None:
        """How far reads reach, if it takes no more to say it than whose client's a row is."""
        ...

    @property
    def unchosen(self) -> frozenset[str]:
        """The columns that a payload may give no value."""
        ...

    def __hash__(self) -> int: ...
