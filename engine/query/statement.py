"""Finished SQL text and its slots: what stands where when it is run.

A slot is a small function from a `Binding` (one request's values) to what the database is handed, so
that binding a plan is one pass over a tuple. Conversion errors (22P02 and its kin) are born here.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlalchemy.sql.compiler import SQLCompiler

from engine.query.shape import Value
from models.types import Bound


@dataclass(frozen=True, slots=True)
class Binding:
    """What one request brings to a plan."""

    values: tuple[Value, ...] = ()
    caller_id: str | None = None
    caller_client_id: int | None = None
    limit: int = 0
    offset: int = 0
    rows_max: int = 1000
    zone: ZoneInfo | None = None
    keys: str = "[]"
    rows: str = "[]"
    new: tuple[Bound, ...] = ()
    now: str = ""

    def but(
        self,
        *,
        keys: str | None = None,
        rows: str | None = None,
        new: tuple[Bound, ...] | None = None,
    ) -> Binding:
        """The same with other keys, rows or new values; `dataclasses.replace` takes five times as long."""
        return Binding(
            self.values,
            self.caller_id,
            self.caller_client_id,
            self.limit,
            self.offset,
            self.rows_max,
            self.zone,
            self.keys if keys is None else keys,
            self.rows if rows is None else rows,
            self.new if new is None else new,
            self.now,
        )


LARGE_CHARACTERS = 8_000
"""A statement of more is large: prepared it takes a dozen bytes for each, and nothing is remembered under its words."""

Slot = Callable[[Binding], Bound]

SHARED_SLOTS: dict[str, Slot] = {
    "caller_id": lambda binding: binding.caller_id,
    "caller_client_id": lambda binding: binding.caller_client_id,
    "root_limit": lambda binding: binding.limit,
    "root_offset": lambda binding: binding.offset,
    "rows_max": lambda binding: binding.rows_max,
    "timezone": lambda binding: binding.zone.key if binding.zone is not None else "UTC",
    "keys": lambda binding: binding.keys,
    "rows": lambda binding: binding.rows,
    "now": lambda binding: binding.now,
}


def new_value(place: int) -> Slot:
    """The slot of what stands there among the new values."""
    return lambda binding: binding.new[place]


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL text with positional parameters, and the slot of each.

    `unaliased_tables` are the tables that it reads by their own name: those have no alias. `unprinted` are operands of
    conditions that decide nothing of it, as those of an empty embed, or of rows that nobody sees: they are read all the
    same, and refused where they make no sense.
    """

    sql: str
    slots: tuple[Slot, ...]
    unaliased_tables: tuple[sa.Table, ...] = ()
    unprinted: tuple[Slot, ...] = ()

    def bind(self, binding: Binding) -> list[Bound]:
        """The parameters in order; raises the conversion faults of the values' types."""
        for slot in self.unprinted:
            slot(binding)
        return [slot(binding) for slot in self.slots]


def parameter(name: str, type_: Any = sa.types.NullType) -> sa.BindParameter[Any]:
    """A place in a statement that is filled by the slot of that name."""
    return sa.bindparam(name, type_=type_, required=False)


def compile_statement(
    statement: sa.ClauseElement,
    dialect: sa.Dialect,
    slots: Mapping[str, Slot],
    operands: Mapping[str, Slot] = MappingProxyType({}),
) -> Statement:
    """Compile once: what is not a slot, nor an operand's, is a constant of the statement."""
    compiled: Any = statement.compile(dialect=dialect, compile_kwargs={"render_postcompile": True})
    names: Sequence[str] = compiled.positiontup or ()
    known = {**SHARED_SLOTS, **slots, **operands}
    return Statement(
        compiled.string,
        tuple(known.get(name) or constant(compiled.params[name]) for name in names),
        tuple(vars(compiled).get(UNALIASED_TABLES, ())),
        tuple(slot for name, slot in operands.items() if name not in names),
    )


UNALIASED_TABLES = "unaliased_tables"


class TableTrackingCompiler(SQLCompiler):
    """Notes the tables that a statement reads by their own name, as it writes them down."""

    def visit_table(self, table: Any, *arguments: Any, **named: Any) -> Any:
        alias = named.get("enclosing_alias")  # that of a sub-select reaches the tables in it, too
        has_alias = alias is not None and alias.element is table
        if named.get("asfrom") and not named.get("iscrud") and not has_alias:
            vars(self).setdefault(UNALIASED_TABLES, []).append(table)
        return super().visit_table(table, *arguments, **named)  # type: ignore[no-untyped-call]


def with_table_tracking(dialect: sa.Dialect) -> sa.Dialect:
    """The same dialect, whose statements tell what they read."""
    bases = (TableTrackingCompiler, dialect.statement_compiler)
    dialect.statement_compiler = type("Compiler", bases, {})
    return dialect


def constant(value: Bound) -> Slot:
    return lambda binding: value
