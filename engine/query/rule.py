"""The interface of access rules: which rows an action may touch, and which rows a write may produce.

Every planner takes a `Rule` as an argument without a default, so no plan exists without one. `access/policy.py`
implements it.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Protocol

import sqlalchemy as sa

from models.fields import Model, Row


class Action(Enum):
    """An action on rows."""

    READ = "read"
    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


class ReadScope(Enum):
    """The rows that a caller may read, if the client of a row decides."""

    EVERYTHING = "everything"
    OWN_CLIENT = "own client"


class Rule(Protocol):
    """An access rule. It is part of a plan's cache key, so rules that decide the same are equal."""

    def rows(self, action: Action, model: type[Model], row: Row) -> sa.ColumnElement[bool]:
        """Return the condition on existing rows for an action."""
        ...

    def check(self, action: Action, model: type[Model], row: Row) -> sa.ColumnElement[bool]:
        """Return the condition on rows that an insert or update produces."""
        ...

    def implied(self, model: type[Model], by: type[Model]) -> bool:
        """Return whether a caller who may read a row of `by` may read the related rows of `model`."""
        ...

    def read_scope(self, model: type[Model]) -> ReadScope | None:
        """Return the scope of reads; None if it does not depend on the row's client alone."""
        ...

    @property
    def protected_columns(self) -> frozenset[str]:
        """The columns that a payload may not set."""
        ...

    def __hash__(self) -> int: ...


class Unrestricted:
    """The rule of the command line and of domain rules, which permits everything."""

    def rows(self, action: Action, model: Any, row: Any) -> sa.ColumnElement[bool]:
        return sa.true()

    def check(self, action: Action, model: Any, row: Any) -> sa.ColumnElement[bool]:
        return sa.true()

    def implied(self, model: Any, by: Any) -> bool:
        return False

    def read_scope(self, model: Any) -> ReadScope:
        return ReadScope.EVERYTHING

    @property
    def protected_columns(self) -> frozenset[str]:
        return frozenset()


UNRESTRICTED = Unrestricted()
