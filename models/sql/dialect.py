"""How each construct is spelled on each database: the only room that knows one from another.

Everything else writes generic SQLAlchemy Core and asks a `Spelling` for what the databases say
differently. One method a construct, one class a database; `SPELLINGS` picks by URL scheme.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from collections.abc import Iterable
from typing import Any
from typing import Protocol

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.elements import UnaryExpression
from sqlalchemy.sql.operators import custom_op

from models import types
from models.sql import functions
from models.sql.patterns import InvalidRegularExpression
from models.sql.spelling_postgresql import PostgresqlSpelling
from models.sql.statement import parameter
from models.types import Bound
from models.types import ColumnType

Expression = sa.ColumnElement[Any]


class Spelling(Protocol):
    """What a database must know how to say."""

    name: str
    act_as: str
    """Says the moment and the actor to the audit trail's triggers."""
    pause_audit: str
    resume_audit: str
    read_sequences: str
    """Asks for the last id of each table that ever was."""
    set_sequence: tuple[str, ...]
    """Has a table's ids go on after one: run with the table's name and that id."""
    sa_dialect: sa.Dialect
    keeps_subquery_order: bool

    def json_of_row(self, pairs: Iterable[tuple[str, Expression]]) -> Expression:
        """One JSON object out of keys and values, already fit for JSON."""
        ...

    def json_of_rows(self, row: Expression) -> Expression:
        """A JSON array out of many JSON objects, `[]` for none."""
        ...

    def json_value(self, kind: str, value: Expression) -> Expression:
        """A value of a type as JSON prints it."""
        ...

    def json_key(self, value: Expression) -> Expression:
        """A JSON value as something that can be grouped by; `json_again` undoes it."""
        ...

    def json_again(self, value: Expression) -> Expression: ...

    def in_list(self, column: Expression, kind: ColumnType, values: Expression) -> Expression:
        """Whether the column equals any of a JSON array's elements."""
        ...

    def any_or_all(
        self,
        quantifier: str,
        compare: Callable[[Expression, Expression], Expression],
        column: Expression,
        values: Expression,
        kind: ColumnType,
    ) -> Expression:
        """Whether a comparison holds with any, or with all, of a JSON array's elements."""
        ...

    def like(self, column: Expression, pattern: Expression) -> Expression: ...

    def ilike(self, column: Expression, pattern: Expression) -> Expression: ...

    def match(self, column: Expression, pattern: Expression) -> Expression: ...

    def imatch(self, column: Expression, pattern: Expression) -> Expression: ...

    def like_pattern(self, pattern: str) -> str:
        """A pattern in the dialect's words (`*` or `%` is anything, `_` is any one character)."""
        ...

    def ilike_pattern(self, pattern: str) -> str: ...

    def match_pattern(self, pattern: str) -> str:
        """A regular expression, refused here if the engine would refuse it."""
        ...

    def in_time(self) -> Expression:
        """True until the statement's deadline has passed."""
        ...

    def cast(self, value: Expression, source: str, target: str) -> Expression:
        """A value of one type as another, by PostgreSQL's rules."""
        ...

    def in_timezone(self, value: Expression, zone: Expression) -> Expression:
        """A timestamp as text in a time zone."""
        ...

    def average(self, value: Expression) -> Expression: ...

    def keys_table(
        self, name: str, kinds: Iterable[tuple[str, ColumnType]], source: str
    ) -> sa.FromClause:
        """A table of keys out of a JSON array of arrays: its columns, and `position` from 0."""
        ...

    def at_most(self, wanted: Expression, bound: Expression) -> Expression:
        """The lesser of two numbers."""
        ...

    def not_leading(self, column: Expression) -> Expression:
        """The same column, by whose index no list of rows is begun."""
        ...

    def upsert(
        self,
        table: sa.Table,
        values: dict[str, Expression],
        target: tuple[str, ...],
        changed: tuple[str, ...] | None,
    ) -> sa.Insert:
        """An insert that, where `target` is taken, changes these columns, or none."""
        ...

    def telling_id(self, statement: sa.Insert, column: Any) -> sa.Insert:
        """An insert that tells the id it was given, where the driver does not by itself."""
        ...

    def day_text(self, day: Expression) -> Expression:
        """A date as `YYYY-MM-DD`."""
        ...


NUMBER_KINDS = frozenset({"double precision", "real", "numeric"})


class SqliteSpelling:
    """SQLite 3.37 and later, with the functions that models/sql/functions.py gives a connection."""

    name = "sqlite"
    act_as = "UPDATE audit_context SET at = ?, actor_id = ?"
    pause_audit = "DELETE FROM audit_context"
    resume_audit = "INSERT INTO audit_context (one, at) VALUES (1, ?)"
    read_sequences = "SELECT name, seq FROM sqlite_sequence"
    set_sequence: tuple[str, ...] = (
        "DELETE FROM sqlite_sequence WHERE name = ?1 AND ?2 > 0",
        "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)",
    )
    sa_dialect: sa.Dialect = sqlite.dialect()
    # A FROM sub-select with ORDER BY and LIMIT is run as a co-routine and read in its own order,
    # the outermost loop being that sub-select and every join to it a LEFT JOIN.
    keeps_subquery_order = True

    def json_of_row(self, pairs: Iterable[tuple[str, Expression]]) -> Expression:
        arguments: list[Expression] = []
        for key, value in pairs:
            arguments += [sa.bindparam(None, key, sa.Text(), literal_execute=True), value]
        return sa.func.json_object(*arguments)

    def json_of_rows(self, row: Expression) -> Expression:
        return sa.func.json_group_array(row)

    def json_value(self, kind: str, value: Expression) -> Expression:
        if kind in NUMBER_KINDS:
            return self.json_number(value)
        if kind == "boolean":
            return sa.func.json(sa.case((value == 1, "true"), (value == 0, "false")))
        if kind == "json":
            return sa.func.json(value)
        return value

    def json_number(self, value: Expression) -> Expression:
        """SQLite may print 15 digits; where those do not read back as the same double, all are given."""
        printed = sa.cast(sa.func.printf("%!.15g", value), sa.REAL)
        return sa.case((value == printed, value), else_=sa.func.json(sa.func.double_text(value)))

    def json_key(self, value: Expression) -> Expression:
        return value

    def json_again(self, value: Expression) -> Expression:
        return sa.func.json(value)

    def in_list(self, column: Expression, kind: ColumnType, values: Expression) -> Expression:
        return column.in_(sa.select(self.elements(values).c.value))

    def any_or_all(
        self,
        quantifier: str,
        compare: Callable[[Expression, Expression], Expression],
        column: Expression,
        values: Expression,
        kind: ColumnType,
    ) -> Expression:
        elements = self.elements(values)
        holds = compare(column, elements.c.value)
        found: Expression
        if quantifier == "any":
            found = sa.exists().where(holds).select_from(elements)
        else:
            found = ~sa.exists().where(sa.not_(holds)).select_from(elements)
        return sa.case((column.is_(None), sa.null()), else_=found)

    def elements(self, values: Expression) -> Any:
        return sa.func.json_each(values).table_valued("key", "value").alias()

    def like(self, column: Expression, pattern: Expression) -> Expression:
        # LIKE folds ASCII case, GLOB does not fold at all, which is what LIKE means in PostgreSQL.
        return column.op("GLOB", is_comparison=True)(pattern)

    def ilike(self, column: Expression, pattern: Expression) -> Expression:
        return sa.func.fold(column).op("GLOB", is_comparison=True)(pattern)

    def match(self, column: Expression, pattern: Expression) -> Expression:
        return sa.func.matches(column, pattern) == 1

    def imatch(self, column: Expression, pattern: Expression) -> Expression:
        return sa.func.imatches(column, pattern) == 1

    def like_pattern(self, pattern: str) -> str:
        """The GLOB that means the same.

        >>> SqliteSpelling().like_pattern("50\\\\%*[x]_?")
        '50%*[[]x]?[?]'
        """
        out: list[str] = []
        escaped = False
        for character in pattern:
            if escaped:
                out.append(GLOB_LITERAL.get(character, character))
                escaped = False
            elif character == "\\":
                escaped = True
            elif character in "%*":
                out.append("*")
            elif character == "_":
                out.append("?")
            else:
                out.append(GLOB_LITERAL.get(character, character))
        if escaped:
            raise types.InvalidInput("LIKE pattern must not end with escape character")
        return re.sub(r"\*{2,}", "*", "".join(out))

    def ilike_pattern(self, pattern: str) -> str:
        return self.like_pattern(pattern).lower()

    def match_pattern(self, pattern: str) -> str:
        refused = functions.regular_expression_fault(pattern)
        if refused is not None:
            raise InvalidRegularExpression(f"invalid regular expression: {refused}")
        return pattern

    def in_time(self) -> Expression:
        return sa.func.in_time() == 1

    def cast(self, value: Expression, source: str, target: str) -> Expression:
        return sa.func.cast_value(
            value,
            sa.bindparam(None, source, sa.Text(), literal_execute=True),
            sa.bindparam(None, target, sa.Text(), literal_execute=True),
        )

    def in_timezone(self, value: Expression, zone: Expression) -> Expression:
        return sa.func.in_timezone(value, zone)

    def average(self, value: Expression) -> Expression:
        return sa.func.avg(value)

    def keys_table(
        self, name: str, kinds: Iterable[tuple[str, ColumnType]], source: str
    ) -> sa.FromClause:
        rows = sa.func.json_each(parameter(source, sa.Text)).table_valued("key", "value")
        row = rows.alias(name + "_json")
        columns = [
            sa.func.json_extract(
                row.c.value, sa.bindparam(None, f"$[{place}]", sa.Text(), literal_execute=True)
            ).label(column)
            for place, (column, _) in enumerate(kinds)
        ]
        return sa.select(*columns, row.c.key.label("position")).subquery(name)

    def at_most(self, wanted: Expression, bound: Expression) -> Expression:
        return sa.func.min(wanted, bound)

    def not_leading(self, column: Expression) -> Expression:
        # SQLite looks at the values it is handed: for a rare one it would walk that index through
        # everybody's rows, although the caller was granted few.
        plus: Expression = UnaryExpression(column, operator=custom_op("+"), type_=column.type)
        return plus

    def upsert(
        self,
        table: sa.Table,
        values: dict[str, Expression],
        target: tuple[str, ...],
        changed: tuple[str, ...] | None,
    ) -> sa.Insert:
        statement = sqlite.insert(table).values(values)
        if changed is None:
            return statement.on_conflict_do_nothing(index_elements=target)
        return statement.on_conflict_do_update(
            index_elements=target, set_={name: statement.excluded[name] for name in changed}
        )

    def telling_id(self, statement: sa.Insert, column: Any) -> sa.Insert:
        return statement

    def day_text(self, day: Expression) -> Expression:
        return day


GLOB_LITERAL = {"*": "[*]", "?": "[?]", "[": "[[]"}


def json_array(values: Iterable[Bound]) -> str:
    """Values as the JSON array in which they travel."""
    return json.dumps(list(values), ensure_ascii=False, allow_nan=False)


SPELLINGS: dict[str, Spelling] = {
    "sqlite": SqliteSpelling(),
    "postgresql": PostgresqlSpelling(),
}
