"""How each construct is spelled on SQLite 3.43 and later."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import UnaryExpression
from sqlalchemy.sql.operators import custom_op

from engine.query.catalog import catalog
from engine.query.dialect.common import CommonSpelling
from engine.query.dialect.common import SmallInSubquery
from engine.query.dialect.common import compile_in_subquery
from engine.query.patterns import InvalidEscape
from engine.query.patterns import in_one_case
from engine.query.read.index_prefix import prefix_column
from engine.query.read.index_prefix import prefix_of_parent
from engine.query.shape import Path
from engine.query.shape import Step
from engine.query.statement import parameter
from engine.query.statement import telling
from engine.storage.sqlite import VERSION_OF_JSONB_EACH
from engine.storage.sqlite import driver
from models.types import ColumnType

Expression = sa.ColumnElement[Any]

NUMBER_KINDS = frozenset({"double precision", "real", "numeric"})


def each_row(rows: Expression) -> sa.Function[Any]:
    """The rows of a JSON array of arrays, in the form from which their values are taken at the least cost."""
    if driver.sqlite_version_info < VERSION_OF_JSONB_EACH:
        return sa.func.json_each(rows)
    return sa.func.jsonb_each(rows)


@compiles(SmallInSubquery, "sqlite")
def compile_small(element: SmallInSubquery, compiler: SQLCompiler, **options: Any) -> str:
    return compile_in_subquery(with_prefix(element), compiler, **options)


def with_prefix(few: SmallInSubquery) -> SmallInSubquery:
    """Return the same with the index prefix of each key, where the index that finds the key has one."""
    column = few.column
    if not isinstance(column, sa.Column):  # of a row that is about to exist
        return few
    rows: Any = column.table
    relation = catalog().relations[getattr(rows, "element", rows).name]
    prefix = prefix_column(relation, column.name)
    if prefix is None:
        return few
    (found,) = few.chosen.selected_columns
    return few.with_values({rows.c[prefix]: prefix_of_parent(relation, column.name, found)})


def json_place(path: Path) -> Expression:
    """A path as SQLite's functions take it, which have no way to say a quotation mark."""
    text = "$" + "".join(map(spelled, path))
    return sa.bindparam(None, text, sa.Text(), literal_execute=True)


def spelled(step: Step) -> str:
    """A step of such a path; a place that is counted from the end begins with a minus.

    >>> "".join(map(spelled, (Step("a b"), Step("0"), Step("-1"))))
    '."a b"[0][#-1]'
    """
    if not step.is_place:
        return f'."{step.name}"'
    return f"[{'#' if step.name.startswith('-') else ''}{int(step.name)}]"


class CrossJoin(sa.Join):
    """A join whose left side is the outer loop, whatever SQLite thinks of it."""

    inherit_cache = True


@compiles(CrossJoin)
def compile_cross_join(element: CrossJoin, compiler: SQLCompiler, **options: Any) -> str:
    said: str = compiler.visit_join(element, **options)  # type: ignore[no-untyped-call]
    return said.replace(" JOIN ", " CROSS JOIN ", 1)


class SqliteSpelling(CommonSpelling):
    """SQLite 3.43 and later, with the functions that engine/storage/sql_functions.py gives a connection."""

    name = "sqlite"
    set_actor = "UPDATE audit_context SET at = ?, actor_id = ?"
    pause_audit = "DELETE FROM audit_context"
    resume_audit = "INSERT INTO audit_context (one, at) VALUES (1, ?)"
    read_sequences = "SELECT name, seq FROM sqlite_sequence"
    set_sequence: tuple[str, ...] = (
        "DELETE FROM sqlite_sequence WHERE name = ?1 AND ?2 > 0",
        "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)",
    )
    sa_dialect: sa.Dialect = telling(sqlite.dialect())
    # A FROM sub-select with ORDER BY and LIMIT is run as a co-routine and read in its own order,
    # the outermost loop being that sub-select and every join to it a LEFT JOIN.
    keeps_subquery_order = True
    joins_to_count = False
    uses_skip_scans = True
    gate: Expression = sa.true()
    trail_is_in_order = True  # one writes at a time

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

    def json_part(self, value: Expression, path: Path) -> Expression:
        return value.op("->", return_type=sa.Text())(json_place(path))

    def json_text(self, value: Expression, path: Path) -> Expression:
        place = json_place(path)
        kind = sa.func.json_type(value, place)
        text = value.op("->>", return_type=sa.Text())(place)
        is_text, is_null, is_double = (
            kind == sa.literal_column(f"'{each}'") for each in ("text", "null", "real")
        )
        # A double is told with a point and 17 digits in SQLite's own JSON: as a text it is what its column's is.
        double = self.cast(text, "double precision", "text")
        # What `->` leads to would be printed as JSON still, until it is part of another text.
        other = self.json_part(value, path).op("||")(sa.literal_column("''"))
        return sa.case((is_text, text), (is_null, sa.null()), (is_double, double), else_=other)

    def json_number(self, value: Expression) -> Expression:
        """SQLite may print 15 digits; where those do not read back as the same double, all are given. A whole number
        has no point, as in PostgreSQL."""
        whole = sa.cast(value, sa.BigInteger())
        printed = sa.cast(sa.func.printf("%!.15g", value), sa.REAL)
        return sa.case(
            (sa.and_(value == whole, sa.func.abs(value) < sa.literal_column("1e15")), whole),
            (value == printed, value),
            else_=sa.func.json(sa.func.double_text(value)),
        )

    def json_key(self, value: Expression) -> Expression:
        return value

    def json_again(self, value: Expression) -> Expression:
        return sa.func.json(value)

    def in_list(self, column: Expression, kind: ColumnType, values: Expression) -> Expression:
        return column.in_(sa.select(self.elements(values).c.value))

    def elements(self, values: Expression) -> Any:
        return sa.func.json_each(values).table_valued("key", "value").alias()

    def element(self, elements: Any, kind: ColumnType) -> Expression:
        value: Expression = elements.c.value
        return value

    def insert_into(self, table: sa.Table) -> sqlite.Insert:
        return sqlite.insert(table)

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
        """The GLOB that means the same. A star is a `%` before anything else, behind a backslash too.

        >>> SqliteSpelling().like_pattern("50\\\\%*[x]_?\\\\*")
        '50%*[[]x]?[?]%'
        """
        out: list[str] = []
        escaped = False
        for character in pattern.replace("*", "%"):
            if escaped:
                out.append(GLOB_LITERAL.get(character, character))
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == "%":
                out.append("*")
            elif character == "_":
                out.append("?")
            else:
                out.append(GLOB_LITERAL.get(character, character))
        if escaped:
            raise InvalidEscape("LIKE pattern must not end with escape character")
        return re.sub(r"\*{2,}", "*", "".join(out))

    def ilike_pattern(self, pattern: str) -> str:
        return in_one_case(self.like_pattern(pattern))

    def in_time(self, *, costly: int) -> Expression:
        return sa.func.in_time() == 1

    def cast(self, value: Expression, source: str, target: str) -> Expression:
        return sa.func.cast_value(
            value,
            sa.bindparam(None, source, sa.Text(), literal_execute=True),
            sa.bindparam(None, target, sa.Text(), literal_execute=True),
        )

    def cast_moment(self, here: Expression, target: str) -> Expression:
        return self.cast(here, "timestamp with time zone", target)

    def cast_clock(self, value: Expression, source: str, zone: Expression) -> Expression:
        return sa.func.cast_clock(value, zone)

    def average_text(self, whole: Expression) -> Expression:
        return sa.func.average_text(sa.func.sum(whole), sa.func.count(whole))

    def finite(self, aggregate: Expression) -> Expression:
        return sa.func.finite(aggregate)

    def computed_first(self, rows: sa.Select[Any]) -> sa.Select[Any]:
        return rows.limit(sa.literal_column("-1", sa.Integer()))

    def in_given_order(self, rows: sa.Select[Any], position: Expression) -> sa.Select[Any]:
        return rows  # an array is read from its beginning, and SQLite would sort what is sorted

    def keys_table(
        self, name: str, kinds: Iterable[tuple[str, ColumnType]], source: str
    ) -> sa.FromClause:
        rows = each_row(parameter(source, sa.Text)).table_valued("key", "value")
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

    def asked_of_each(self, condition: Expression) -> Expression:
        # As the inner loop of a join it would keep a list from ending at its page.
        return self.not_leading(condition)

    def nested_loop(self, few: sa.FromClause, rows: Any, ties: Expression) -> sa.Join:
        # An index that holds the rows of each partition in order is then left at the first row beyond the page.
        return CrossJoin(few, rows, ties)

    def telling_id(self, statement: sa.Insert, column: Any) -> sa.Insert:
        return statement

    def day_text(self, day: Expression) -> Expression:
        return day


GLOB_LITERAL = {"*": "[*]", "?": "[?]", "[": "[[]"}
