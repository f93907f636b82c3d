"""Compiled SQL statements and the slots of their parameters.

A slot is a function from a `Binding`, the values of a request, to one parameter. Conversion errors, such as 22P02,
are raised when a slot is called. A `parameter` without a slot takes the value of its name in `Binding.parameters`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlalchemy.sql.compiler import SQLCompiler

from engine.query.shape import Value
from models.types import Bound


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
