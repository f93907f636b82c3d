"""The dialect of SQLite 3.43 and later."""

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

from engine.query.catalog import catalog, prefix_column, prefix_of_parent
from engine.query.dialect.base import SmallInSubquery, SqlDialect, compile_in_subquery
from engine.query.dialect.sqlite_functions import InvalidEscape, fold_case
from engine.query.shape import Path, Step
from engine.query.statement import parameter, with_table_tracking
from models.types import ColumnType

Expression = sa.ColumnElement[Any]

NUMBER_KINDS = frozenset({"double precision", "numeric"})


@compiles(SmallInSubquery, "sqlite")
def compile_small(element: SmallInSubquery, compiler: SQLCompiler, **options: Any) -> str:
    return compile_in_subquery(with_prefix(element), compiler, **options)


def with_prefix(condition: SmallInSubquery) -> SmallInSubquery:
    """Return the condition with the index prefix of each key, if the key's index has a prefix."""
    column = condition.column
    rows: Any = getattr(column, "table", None)
    table = getattr(rows, "element", rows)
    if not isinstance(table, sa.Table):  # a column of a candidate row
        return condition
    relation = catalog().relations[table.name]
    prefix = prefix_column(relation, column.name)
    if prefix is None:
        return condition
    (key,) = condition.subquery.selected_columns
    return condition.with_values({rows.c[prefix]: prefix_of_parent(relation, column.name, key)})


def sqlite_path(path: Path) -> Expression:
    """Return a path in SQLite's syntax, which has no escape for quotation marks."""
    text = "$" + "".join(map(sqlite_path_step, path))
    return sa.bindparam(None, text, sa.Text(), literal_execute=True)


def sqlite_path_step(step: Step) -> str:
    """Return a step in SQLite's syntax. A negative index counts from the end of an array.

    >>> "".join(map(sqlite_path_step, (Step("a b"), Step("0"), Step("-1"))))
    '."a b"[0][#-1]'
    """
    if not step.is_index:
        return f'."{step.name}"'
    return f"[{'#' if step.name.startswith('-') else ''}{int(step.name)}]"


class CrossJoin(sa.Join):
    """A join whose left side is the outer loop: SQLite does not reorder CROSS JOIN."""

    inherit_cache = True


@compiles(CrossJoin)
def compile_cross_join(element: CrossJoin, compiler: SQLCompiler, **options: Any) -> str:
    sql: str = compiler.visit_join(element, **options)  # type: ignore[no-untyped-call]
    return sql.replace(" JOIN ", " CROSS JOIN ", 1)


class SqliteDialect(SqlDialect):
    """SQLite 3.43 and later, with the functions of engine/query/dialect/sqlite_functions.py."""

    name = "sqlite"
    set_actor = "UPDATE audit_context SET at = ?, actor_id = ?"
    pause_audit = "DELETE FROM audit_context"
    resume_audit = "INSERT INTO audit_context (one, at) VALUES (1, ?)"
    read_sequences = "SELECT name, seq FROM sqlite_sequence"
    set_sequence: tuple[str, ...] = (
        "DELETE FROM sqlite_sequence WHERE name = ?1 AND ?2 > 0",
        "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)",
    )
    sa_dialect: sa.Dialect = with_table_tracking(sqlite.dialect())
    # SQLite runs a FROM sub-select with ORDER BY and LIMIT as a co-routine. It is the outermost loop because every
    # join to it is a LEFT JOIN.
    keeps_subquery_order = True
    joins_to_count = False
    uses_skip_scans = True

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

    def json_at_path(self, value: Expression, path: Path) -> Expression:
        return value.op("->", return_type=sa.Text())(sqlite_path(path))

    def text_at_path(self, value: Expression, path: Path) -> Expression:
        json_path = sqlite_path(path)
        kind = sa.func.json_type(value, json_path)
        text = value.op("->>", return_type=sa.Text())(json_path)
        is_text, is_null, is_double = (kind == sa.literal_column(f"'{each}'") for each in ("text", "null", "real"))
        # SQLite's JSON prints doubles with 17 digits. The text has the shortest digits, as in the column.
        double = self.cast(text, "double precision", "text")
        # The concatenation removes SQLite's JSON subtype, with which the text would be printed as JSON.
        other = self.json_at_path(value, path).op("||")(sa.literal_column("''"))
        return sa.case((is_text, text), (is_null, sa.null()), (is_double, double), else_=other)

    def json_number(self, value: Expression) -> Expression:
        """Return a number as PostgreSQL prints it: the shortest digits of the same double, integers without a point.

        SQLite prints 15 digits. `double_text` prints the doubles that need more.
        """
        whole = sa.cast(value, sa.BigInteger())
        printed = sa.cast(sa.func.printf("%!.15g", value), sa.REAL)
        return sa.case(
            (sa.and_(value == whole, sa.func.abs(value) < sa.literal_column("1e15")), whole),
            (value == printed, value),
            else_=sa.func.json(sa.func.double_text(value)),
        )

    def json_group_key(self, value: Expression) -> Expression:
        return value

    def as_json(self, value: Expression) -> Expression:
        return sa.func.json(value)

    def in_list(self, column: Expression, kind: ColumnType, values: Expression) -> Expression:
        return column.in_(sa.select(self.json_elements(values).c.value))

    def json_elements(self, values: Expression) -> Any:
        return sa.func.json_each(values).table_valued("key", "value").alias()

    def json_element(self, elements: Any, kind: ColumnType) -> Expression:
        value: Expression = elements.c.value
        return value

    def insert(self, table: sa.Table) -> sqlite.Insert:
        return sqlite.insert(table)

    def like(self, column: Expression, pattern: Expression) -> Expression:
        # SQLite's LIKE folds ASCII case. GLOB is case-sensitive, as PostgreSQL's LIKE is.
        return column.op("GLOB", is_comparison=True)(pattern)

    def ilike(self, column: Expression, pattern: Expression) -> Expression:
        return sa.func.fold(column).op("GLOB", is_comparison=True)(pattern)

    def match(self, column: Expression, pattern: Expression) -> Expression:
        return sa.func.matches(column, pattern) == 1

    def imatch(self, column: Expression, pattern: Expression) -> Expression:
        return sa.func.imatches(column, pattern) == 1

    def like_pattern(self, pattern: str) -> str:
        """Return the equivalent GLOB. `*` is `%` in every position, after a backslash too.

        >>> SqliteDialect().like_pattern("50\\\\%*[x]_?\\\\*")
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
        return fold_case(self.like_pattern(pattern))

    def before_deadline(self, *, costly: int) -> Expression:
        return sa.func.in_time() == 1

    def cast(self, value: Expression, source: str, target: str) -> Expression:
        return sa.func.cast_value(
            value,
            sa.bindparam(None, source, sa.Text(), literal_execute=True),
            sa.bindparam(None, target, sa.Text(), literal_execute=True),
        )

    def cast_zoned_timestamp(self, value: Expression, target: str) -> Expression:
        return self.cast(value, "timestamp with time zone", target)

    def average_text(self, whole: Expression) -> Expression:
        return sa.func.average_text(sa.func.sum(whole), sa.func.count(whole))

    def require_finite(self, aggregate: Expression) -> Expression:
        return sa.func.finite(aggregate)

    def materialized(self, rows: sa.Select[Any]) -> sa.Select[Any]:
        return rows.limit(sa.literal_column("-1", sa.Integer()))

    def in_array_order(self, rows: sa.Select[Any], position: Expression) -> sa.Select[Any]:
        return rows  # json_each returns elements in array order; an ORDER BY would sort them again

    def key_table(self, name: str, kinds: Iterable[tuple[str, ColumnType]], source: str) -> sa.FromClause:
        rows = sa.func.json_each(parameter(source, sa.Text)).table_valued("key", "value")
        row = rows.alias(name + "_json")
        columns = [
            sa.func.json_extract(row.c.value, sa.bindparam(None, f"$[{place}]", sa.Text(), literal_execute=True)).label(
                column
            )
            for place, (column, _) in enumerate(kinds)
        ]
        return sa.select(*columns, row.c.key.label("position")).subquery(name)

    def least(self, left: Expression, right: Expression) -> Expression:
        return sa.func.min(left, right)

    def unindexed(self, column: Expression) -> Expression:
        # SQLite plans by the bound values. For a rare value it would scan that index over the rows of all clients,
        # although the caller may read few of them. A unary plus disables the index.
        plus: Expression = UnaryExpression(column, operator=custom_op("+"), type_=column.type)
        return plus

    def per_row(self, condition: Expression) -> Expression:
        # SQLite turns an EXISTS into a join, which reads rows beyond the page. A unary plus prevents it.
        return self.unindexed(condition)

    def nested_loop(self, outer: sa.FromClause, inner: Any, on: Expression) -> sa.Join:
        # Each partition is then read in the index's order, up to the first row beyond the page.
        return CrossJoin(outer, inner, on)

    def returning_id(self, statement: sa.Insert, column: Any) -> sa.Insert:
        return statement

    def date_text(self, day: Expression) -> Expression:
        return day

    def add_days(self, day: Expression, days: Expression) -> Expression:
        return sa.func.date(day, days.op("||")(sa.literal_column("' days'")))


GLOB_LITERAL = {"*": "[*]", "?": "[?]", "[": "[[]"}
