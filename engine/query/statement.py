"""Compiled SQL statements, the interface of access rules, the cache of plans, and the bound on large results.

A slot is a function from a `Binding`, the values of a request, to one parameter. Conversion errors, such as 22P02, are
raised when a slot is called. A `parameter` without a slot takes the value of its name in `Binding.parameters`. Every
planner takes a `Rule` as an argument without a default, so no plan exists without one. `access/policy.py` implements
the interface. A result of more than LARGE_BYTES takes one of SLOTS slots until its response is sent. A result takes
three times its size while its response is built. Large plans are not cached. The plan of a select with hundreds of
items takes 250 KB, and clients choose the shapes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Generic, ParamSpec, Protocol, TypeVar
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlalchemy.sql.compiler import SQLCompiler

from engine.query.shape import Value
from models.fields import Model, Row
from models.types import Bound, Fault
from system import trim_heap


@dataclass(frozen=True, slots=True)
class Binding:
    """The values of one request for the slots of a plan.

    `values`: those of the query string, by position. `parameters`: those of named parameters, such as a rule's.
    `new`: the values of the columns that a write sets, in the order of the plan's columns.
    """

    values: tuple[Value, ...] = ()
    parameters: Mapping[str, Bound] = field(default_factory=dict)
    limit: int = 0
    offset: int = 0
    rows_max: int = 1000
    zone: ZoneInfo | None = None
    keys: str = "[]"
    rows: str = "[]"
    new: tuple[Bound, ...] = ()

    def replace(
        self, *, keys: str | None = None, rows: str | None = None, new: tuple[Bound, ...] | None = None
    ) -> Binding:
        """Return a copy with other keys, rows or new values. `dataclasses.replace` takes five times as long."""
        return Binding(
            self.values,
            self.parameters,
            self.limit,
            self.offset,
            self.rows_max,
            self.zone,
            self.keys if keys is None else keys,
            self.rows if rows is None else rows,
            self.new if new is None else new,
        )


LARGE_CHARACTERS = 8_000
"""The longest statement that is cached. A prepared statement needs about 12 bytes a character."""

Slot = Callable[[Binding], Bound]

SHARED_SLOTS: dict[str, Slot] = {
    "root_limit": lambda binding: binding.limit,
    "root_offset": lambda binding: binding.offset,
    "rows_max": lambda binding: binding.rows_max,
    "timezone": lambda binding: binding.zone.key if binding.zone is not None else "UTC",
    "keys": lambda binding: binding.keys,
    "rows": lambda binding: binding.rows,
}


def new_value(place: int) -> Slot:
    """Return the slot of the new value at `place`."""
    return lambda binding: binding.new[place]


def named_value(name: str) -> Slot:
    """Return the slot of the parameter with this name."""
    return lambda binding: binding.parameters[name]


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL text with positional parameters, and the slot of each parameter.

    `unaliased_tables`: the tables that it reads without an alias. `validated_operands`: the slots of operands that the
    text does not use, such as filters of an empty embed. `bind` calls them to raise their conversion errors.
    """

    sql: str
    slots: tuple[Slot, ...]
    unaliased_tables: tuple[sa.Table, ...] = ()
    validated_operands: tuple[Slot, ...] = ()

    def bind(self, binding: Binding) -> list[Bound]:
        """Return the parameters in order; raise the conversion errors of the values' types."""
        for slot in self.validated_operands:
            slot(binding)
        return [slot(binding) for slot in self.slots]


def parameter(name: str, type_: Any = sa.types.NullType) -> sa.BindParameter[Any]:
    """Return a parameter that takes the value of the slot of its name, or of its name in `Binding.parameters`."""
    return sa.bindparam(name, type_=type_, required=False)


def compile_statement(
    statement: sa.ClauseElement,
    dialect: sa.Dialect,
    slots: Mapping[str, Slot] = MappingProxyType({}),
    operands: Mapping[str, Slot] = MappingProxyType({}),
) -> Statement:
    """Compile a statement. A value in the statement, which SQLAlchemy names uniquely, is a constant."""
    compiled: Any = statement.compile(dialect=dialect, compile_kwargs={"render_postcompile": True})
    names: Sequence[str] = compiled.positiontup or ()
    named = {name: named_value(name) for name, each in compiled.binds.items() if not each.unique}
    known = {**named, **SHARED_SLOTS, **slots, **operands}
    return Statement(
        compiled.string,
        tuple(known.get(name) or constant(compiled.params[name]) for name in names),
        tuple(vars(compiled).get(UNALIASED_TABLES, ())),
        tuple(slot for name, slot in operands.items() if name not in names),
    )


UNALIASED_TABLES = "unaliased_tables"


class TableTrackingCompiler(SQLCompiler):
    """A compiler that records the tables which a statement reads without an alias."""

    def visit_table(self, table: Any, *arguments: Any, **named: Any) -> Any:
        alias = named.get("enclosing_alias")  # within an aliased sub-select, it is the sub-select's alias
        has_alias = alias is not None and alias.element is table
        if named.get("asfrom") and not named.get("iscrud") and not has_alias:
            vars(self).setdefault(UNALIASED_TABLES, []).append(table)
        return super().visit_table(table, *arguments, **named)  # type: ignore[no-untyped-call]


def with_table_tracking(dialect: sa.Dialect) -> sa.Dialect:
    """Make a dialect compile statements with a TableTrackingCompiler, and return the dialect."""
    bases = (TableTrackingCompiler, dialect.statement_compiler)
    dialect.statement_compiler = type("Compiler", bases, {})
    return dialect


def constant(value: Bound) -> Slot:
    return lambda binding: value


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

    def protected_columns(self, model: type[Model]) -> frozenset[str]:
        """Return the columns of a table that a payload may not set."""
        ...

    def __hash__(self) -> int: ...


class Unrestricted:
    """The rule of the command line and of domain rules, which permits everything. It is its own principal."""

    parameters: Mapping[str, Bound] = MappingProxyType({})

    @property
    def rule(self) -> Rule:
        return self

    def rows(self, action: Action, model: Any, row: Any) -> sa.ColumnElement[bool]:
        return sa.true()

    def check(self, action: Action, model: Any, row: Any) -> sa.ColumnElement[bool]:
        return sa.true()

    def implied(self, model: Any, by: Any) -> bool:
        return False

    def read_scope(self, model: Any) -> ReadScope:
        return ReadScope.EVERYTHING

    def protected_columns(self, model: Any) -> frozenset[str]:
        return frozenset()


UNRESTRICTED = Unrestricted()


LARGE_BYTES: Final = 1 << 20
SLOTS_MAX: Final = 4  # of up to 32 MiB each
WAIT_SECONDS_MAX = 1.0  # half of a read's time limit, which includes it

SLOTS = threading.BoundedSemaphore(SLOTS_MAX)
HELD = threading.local()
"""`is_set`: the request of this thread holds a slot."""


class TooManyLargeResults(Fault, code="53200"):
    """All slots are taken (53200). A retry is right."""

    def __init__(self) -> None:
        super().__init__("the server is sending too many large responses", hint="Try again, or lower the limit.")


def take_slot(*, waits: bool = True) -> None:
    """Take a slot for the rest of the request, unless it has one; raise TooManyLargeResults if none is free in time.

    A write does not wait, since it has the writer lock.
    """
    if is_slot_held():
        return
    if not SLOTS.acquire(timeout=WAIT_SECONDS_MAX if waits else 0):
        raise TooManyLargeResults
    HELD.is_set = True


def is_slot_held() -> bool:
    """Return whether the request of this thread holds a slot."""
    is_set: bool = getattr(HELD, "is_set", False)
    return is_set


def release_slot() -> None:
    """Release the slot of this thread's request, if it holds one."""
    if is_slot_held():
        HELD.is_set = False
        trim_heap()
        SLOTS.release()


class ReleasingBody:
    """A response's body that releases the slot of its request once it is sent or closed."""

    def __init__(self, body: Iterable[bytes]) -> None:
        self.body = body

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self.body
        finally:
            release_slot()

    def close(self) -> None:
        try:
            if close := getattr(self.body, "close", None):
                close()
        finally:
            release_slot()


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
