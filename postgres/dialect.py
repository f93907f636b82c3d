"""The dialect of PostgreSQL 15 and later.

Parameters are numbered (`$1`) and every value is sent as text. Casts in the statement and the compared columns give
the type. So each SQL text needs one prepared statement, whatever its values are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import asyncpg
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from engine.query.dialect.base import SmallInSubquery, SqlDialect
from engine.query.dialect.sqlite_functions import FOLDED_LETTERS, FOLDING, IRREGULAR_LETTERS, InvalidEscape
from engine.query.shape import SHORT_CHARACTERS_MAX, Path, Step
from engine.query.statement import parameter, with_table_tracking
from models.types import ColumnType

Expression = sa.ColumnElement[Any]

NAME_BYTES_MAX = 63  # PostgreSQL truncates longer names
BY_CODE_POINT = "C"  # the collation of the columns; other expressions have the database's collation
UNICODE_COLLATION = "und-x-icu"  # folds case by Unicode's rules

UNCHECKED_COSTLY_MAX = 8  # filters, each of 25 ms at most on the longest text

CASTS: dict[str, Any] = {"text": sa.Text(), "integer": sa.Integer(), "date": postgresql.DATE()}


class JsonObject(FunctionElement[Any]):
    """A JSON object of keys and values."""

    inherit_cache = False
    type = postgresql.JSON()

    def __init__(self, keys: tuple[str, ...], values: Iterable[Expression]) -> None:
        self.keys = keys
        super().__init__(*values)


@compiles(JsonObject)
def compile_json_object(element: JsonObject, compiler: SQLCompiler, **options: Any) -> str:
    """Return SQL for `row_to_json` if all keys are valid names, which is faster and prints no blanks; else for text."""
    values = [compiler.process(clause, **options) for clause in element.clauses]
    pairs = list(zip(element.keys, values, strict=True))
    if all(is_valid_name(key) for key in element.keys):
        named = ", ".join(f"{value} AS {quote_name(key)}" for key, value in pairs)
        return f"(SELECT row_to_json(o) FROM (SELECT {named}) AS o)"  # noqa: S608
    printed = " || ',' || ".join(
        f"to_json({quote_text(key)}::text)::text || ':' || coalesce(to_json({value})::text, 'null')"
        for key, value in pairs
    )
    return f"('{{' || {printed} || '}}')::json"


@compiles(SmallInSubquery, "postgresql")
def compile_small(element: SmallInSubquery, compiler: SQLCompiler, **options: Any) -> str:
    """Return SQL for an array, which is computed once and can start an index search. IN inside an OR only filters."""
    key, subquery = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{key} = ANY (ARRAY{subquery})"


PLACEHOLDER_MARKS = ("%", "[")
"""Characters that begin a parameter for SQLAlchemy's compiler, in literal SQL too."""


def is_valid_name(key: str) -> bool:
    has_mark = any(mark in key for mark in PLACEHOLDER_MARKS)
    return 0 < len(key.encode()) <= NAME_BYTES_MAX and not has_mark


def quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def path_step(step: Step) -> Expression:
    """Return a step as an operand of `->`: an integer for an array index, else a text."""
    return sa.literal_column(str(int(step.name)) if step.is_index else quote_text(step.name))


def quote_text(text: str) -> str:
    r"""Return a SQL literal without PLACEHOLDER_MARKS.

    >>> quote_text("it's 50%"), quote_text("[\\")
    ("U&'it''s 50\\0025'", "U&'\\005b\\\\'")
    """
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    for mark in PLACEHOLDER_MARKS:
        escaped = escaped.replace(mark, f"\\{ord(mark):04x}")
    return f"U&'{escaped}'"


class PostgresqlDialect(SqlDialect):
    """PostgreSQL, with the functions of postgres/schema.sql."""

    name = "postgresql"
    set_actor = "SELECT set_config('walkthrough.at', $1, true), set_config('walkthrough.actor', coalesce($2, ''), true)"
    pause_audit = "SELECT set_config('walkthrough.audit', 'off', true)"
    resume_audit = "SELECT set_config('walkthrough.audit', 'on', true), set_config('walkthrough.at', $1, true)"
    read_sequences = (
        "SELECT replace(sequencename, '_id_seq', ''), last_value FROM pg_sequences"
        " WHERE schemaname = current_schema() AND last_value IS NOT NULL"
    )
    set_sequence: tuple[str, ...] = ("SELECT setval(pg_get_serial_sequence($1, 'id'), $2)",)
    sa_dialect: sa.Dialect = with_table_tracking(asyncpg.dialect())  # type: ignore[no-untyped-call]
    keeps_subquery_order = False
    joins_to_count = True
    uses_skip_scans = False

    def json_of_row(self, pairs: Iterable[tuple[str, Expression]]) -> Expression:
        items = list(pairs)
        return JsonObject(tuple(key for key, _ in items), (value for _, value in items))

    def json_of_rows(self, row: Expression) -> Expression:
        return sa.func.coalesce(sa.func.json_agg(row), sa.literal_column("'[]'::json"))

    def json_value(self, kind: str, value: Expression) -> Expression:
        return value

    def json_at_path(self, value: Expression, path: Path) -> Expression:
        for step in path:
            value = value.op("->", return_type=postgresql.JSON())(path_step(step))
        return value

    def text_at_path(self, value: Expression, path: Path) -> Expression:
        *steps, last = path
        part = self.json_at_path(value, tuple(steps))
        text = part.op("->>", return_type=sa.Text())(path_step(last))
        return sa.collate(text, BY_CODE_POINT)

    def json_group_key(self, value: Expression) -> Expression:
        return sa.cast(value, sa.Text())

    def as_json(self, value: Expression) -> Expression:
        return sa.cast(value, postgresql.JSON())

    def in_list(self, column: Expression, kind: ColumnType, values: Expression) -> Expression:
        elements = self.json_elements(values)
        rows = sa.select(self.json_element(elements, kind)).select_from(elements)
        array = sa.func.any(sa.func.array(rows.scalar_subquery()))
        return column.op("=", is_comparison=True)(array)

    def json_element(self, elements: Any, kind: ColumnType) -> Expression:
        return sa.cast(elements.c.value, kind.storage)

    def insert(self, table: sa.Table) -> postgresql.Insert:
        return postgresql.insert(table)

    def json_elements(self, values: Expression) -> Any:
        array = sa.func.json_array_elements_text(sa.cast(values, postgresql.JSON()))
        return array.table_valued("value").render_derived()

    def like(self, column: Expression, pattern: Expression) -> Expression:
        return column.op("LIKE", is_comparison=True)(pattern)

    def ilike(self, column: Expression, pattern: Expression) -> Expression:
        letters = [sa.literal_column(f"'{each}'", sa.Text()) for each in (IRREGULAR_LETTERS, FOLDED_LETTERS)]
        folded: Expression = sa.func.translate(column, *letters)
        return sa.collate(folded, UNICODE_COLLATION).op("ILIKE", is_comparison=True)(pattern)

    def match(self, column: Expression, pattern: Expression) -> Expression:
        return column.op("~", is_comparison=True)(pattern)

    def imatch(self, column: Expression, pattern: Expression) -> Expression:
        return sa.collate(column, UNICODE_COLLATION).op("~*", is_comparison=True)(pattern)

    def like_pattern(self, pattern: str) -> str:
        r"""Return the equivalent LIKE pattern.

        >>> PostgresqlDialect().like_pattern(r"50\%*[x]_\*")
        '50\\%%[x]_\\%'
        """
        if (len(pattern) - len(pattern.rstrip("\\"))) % 2 == 1:
            raise InvalidEscape("LIKE pattern must not end with escape character")
        return pattern.replace("*", "%")

    def ilike_pattern(self, pattern: str) -> str:
        return self.like_pattern(pattern).translate(FOLDING)

    def before_deadline(self, *, costly: int) -> Expression:
        # The server checks statement_timeout between rows, not during a LIKE. pg_sleep(0) makes it check.
        # A volatile function prevents join plans, so a few costly filters do without.
        if costly <= UNCHECKED_COSTLY_MAX:
            return sa.true()
        return sa.func.pg_sleep(sa.literal_column("0")).is_not(None)

    def cast(self, value: Expression, source: str, target: str) -> Expression:
        return sa.cast(value, CASTS[target])

    def cast_zoned_timestamp(self, value: Expression, target: str) -> Expression:
        if target != "text":
            local_time = sa.cast(value, postgresql.TIMESTAMP())  # this cast ignores the offset
            return sa.cast(local_time, CASTS[target])
        spaced = sa.func.replace(value, sa.literal_column("'T'"), sa.literal_column("' '"))
        return sa.func.regexp_replace(spaced, sa.literal_column("':00$'"), sa.literal_column("''"))

    def average_text(self, whole: Expression) -> Expression:
        return sa.cast(sa.func.avg(whole), sa.Text())

    def require_finite(self, aggregate: Expression) -> Expression:
        return aggregate  # the server reports the overflow

    def materialized(self, rows: sa.Select[Any]) -> sa.Select[Any]:
        return rows.offset(sa.literal_column("0", sa.Integer()))

    def key_table(self, name: str, kinds: Iterable[tuple[str, ColumnType]], source: str) -> sa.FromClause:
        keys, _ = self.select_keys(name, kinds, source)
        return keys.subquery(name)

    def key_in_array(self, columns: Any, name: str, kinds: Sequence[tuple[str, ColumnType]], source: str) -> Expression:
        # UPDATE has no ORDER BY. A plan that scans the table writes rows in physical order, which depends on hidden
        # rows, and the audit log's ids would show it. BETWEEN allows neither a hash nor a merge join. The planner
        # estimates one key for the condition on jsonb_typeof. So it looks up key after key.
        select, key = self.select_keys(name, kinds, source)
        is_array = sa.func.jsonb_typeof(key) == sa.literal_column("'array'")
        keys = select.where(is_array).subquery(name)
        return sa.and_(*(columns[column].between(keys.c[column], keys.c[column]) for column, _ in kinds))

    def select_keys(
        self, name: str, kinds: Iterable[tuple[str, ColumnType]], source: str
    ) -> tuple[sa.Select[Any], Expression]:
        """Return a select of the keys in an array, and the JSON of one key."""
        rows = sa.func.jsonb_array_elements(sa.cast(parameter(source, sa.Text), postgresql.JSONB()))
        row = rows.table_valued("value", with_ordinality="place").render_derived(name=f"{name}_json")
        columns = [
            sa.cast(row.c.value.op("->>")(sa.literal_column(str(place), sa.Integer())), kind.storage).label(column)
            for place, (column, kind) in enumerate(kinds)
        ]
        position = (row.c.place - sa.literal_column("1", sa.Integer())).label("position")
        return sa.select(*columns, position), row.c.value

    def least(self, left: Expression, right: Expression) -> Expression:
        return sa.func.least(left, right)

    def unindexed(self, column: Expression) -> Expression:
        return column

    def with_length_limit(self, column: Expression, condition: Expression) -> Expression:
        # This is the predicate of the partial indexes, word for word.
        limit = sa.literal_column(str(SHORT_CHARACTERS_MAX), sa.Integer())
        return sa.and_(condition, sa.func.char_length(column) <= limit)

    def returning_id(self, statement: sa.Insert, column: Any) -> sa.Insert:
        return statement.returning(column)

    def date_text(self, day: Expression) -> Expression:
        return sa.cast(day, sa.Text())

    def add_days(self, day: Expression, days: Expression) -> Expression:
        return day.op("+", return_type=sa.DATE())(days)
