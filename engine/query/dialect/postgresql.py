"""How each construct is spelled on PostgreSQL 15 and later.

Statements are numbered (`$1`) and every value travels as text, so that one text of SQL is one prepared
statement whatever it is run with: casts in the text, and the columns it is compared with, say its type.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import asyncpg  # the one dialect with numbered, cast parameters
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from engine.query.dialect.common import CommonSpelling
from engine.query.dialect.common import SmallInSubquery
from engine.query.patterns import STEADIED
from engine.query.patterns import STEADY
from engine.query.patterns import UNSTEADY
from engine.query.patterns import InvalidEscape
from engine.query.shape import SHORT_CHARACTERS_MAX
from engine.query.shape import Path
from engine.query.shape import Step
from engine.query.statement import parameter
from engine.query.statement import telling
from models.types import ColumnType

Expression = sa.ColumnElement[Any]

NAME_BYTES_MAX = 63  # a longer name is cut by PostgreSQL
BY_CODE_POINT = "C"  # as columns are compared; what is none is by the database's language
ANY_LANGUAGE = "und-x-icu"  # folds case as Unicode has it; a column's own order is by code point

COSTLY_FEW = 8  # of 25 ms at most, where a text is as long as may be

MOMENT = "timestamp with time zone"
SAYS_OFFSET = (
    r"':[0-9.]+[[:space:]]*([Zz]|[+-][0-9:]+)[[:space:]]*$'"  # after a clock, else it were a day
)

CASTS: dict[str, Any] = {
    "text": sa.Text(),
    "smallint": sa.SmallInteger(),
    "integer": sa.Integer(),
    "bigint": sa.BigInteger(),
    "real": sa.REAL(),
    "double precision": postgresql.DOUBLE_PRECISION(),
    "numeric": sa.Numeric(),
    "date": postgresql.DATE(),
    "time": postgresql.TIME(),
    "timestamp": postgresql.TIMESTAMP(),
    MOMENT: postgresql.TIMESTAMP(timezone=True),
    "boolean": sa.Boolean(),
    "uuid": postgresql.UUID(as_uuid=False),
    "json": postgresql.JSON(),
}


class RowObject(FunctionElement[Any]):
    """Keys and values as one JSON object."""

    inherit_cache = False
    type = postgresql.JSON()

    def __init__(self, keys: tuple[str, ...], values: Iterable[Expression]) -> None:
        self.keys = keys
        super().__init__(*values)


@compiles(RowObject)
def compile_row_object(element: RowObject, compiler: SQLCompiler, **options: Any) -> str:
    """As a row where the keys fit for names, which is faster and printed closer; else as text."""
    values = [compiler.process(clause, **options) for clause in element.clauses]
    pairs = list(zip(element.keys, values, strict=True))
    if all(fits_a_name(key) for key in element.keys):
        named = ", ".join(f"{value} AS {quoted(key)}" for key, value in pairs)
        return f"(SELECT row_to_json(o) FROM (SELECT {named}) AS o)"  # noqa: S608
    printed = " || ',' || ".join(
        f"to_json({literal(key)}::text)::text || ':' || coalesce(to_json({value})::text, 'null')"
        for key, value in pairs
    )
    return f"('{{' || {printed} || '}}')::json"


@compiles(SmallInSubquery, "postgresql")
def compile_small(element: SmallInSubquery, compiler: SQLCompiler, **options: Any) -> str:
    """As an array, which is made once and can begin at an index: beside an OR, IN only filters."""
    key, chosen = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{key} = ANY (ARRAY{chosen})"


READ_AGAIN = ("%", "[")
"""What begins a parameter's place to the compiler, which looks for those in what is written here too."""


def fits_a_name(key: str) -> bool:
    return 0 < len(key.encode()) <= NAME_BYTES_MAX and not any(mark in key for mark in READ_AGAIN)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def json_place(step: Step) -> Expression:
    """A step as the operators take it: a place in an array is a number."""
    return sa.literal_column(str(int(step.name)) if step.is_place else literal(step.name))


def literal(text: str) -> str:
    r"""A text as SQL, without a character that the compiler would read again.

    >>> literal("it's 50%"), literal("[\\")
    ("U&'it''s 50\\0025'", "U&'\\005b\\\\'")
    """
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    for mark in READ_AGAIN:
        escaped = escaped.replace(mark, f"\\{ord(mark):04x}")
    return f"U&'{escaped}'"


class PostgresqlSpelling(CommonSpelling):
    """PostgreSQL, with the functions of engine/postgres/schema.sql."""

    name = "postgresql"
    set_actor = (
        "SELECT set_config('walkthrough.at', $1, true),"
        " set_config('walkthrough.actor', coalesce($2, ''), true)"
    )
    pause_audit = "SELECT set_config('walkthrough.audit', 'off', true)"
    resume_audit = (
        "SELECT set_config('walkthrough.audit', 'on', true), set_config('walkthrough.at', $1, true)"
    )
    read_sequences = (
        "SELECT replace(sequencename, '_id_seq', ''), last_value FROM pg_sequences"
        " WHERE schemaname = current_schema() AND last_value IS NOT NULL"
    )
    set_sequence: tuple[str, ...] = ("SELECT setval(pg_get_serial_sequence($1, 'id'), $2)",)
    sa_dialect: sa.Dialect = telling(asyncpg.dialect())  # type: ignore[no-untyped-call]
    keeps_subquery_order = False
    joins_to_count = True
    uses_skip_scans = False
    trail_is_in_order = False  # our lines are; another program takes no turn

    def json_of_row(self, pairs: Iterable[tuple[str, Expression]]) -> Expression:
        listed = list(pairs)
        return RowObject(tuple(key for key, _ in listed), (value for _, value in listed))

    def json_of_rows(self, row: Expression) -> Expression:
        return sa.func.coalesce(sa.func.json_agg(row), sa.literal_column("'[]'::json"))

    def json_value(self, kind: str, value: Expression) -> Expression:
        return value

    def json_part(self, value: Expression, path: Path) -> Expression:
        for step in path:
            value = value.op("->", return_type=postgresql.JSON())(json_place(step))
        return value

    def json_text(self, value: Expression, path: Path) -> Expression:
        *steps, last = path
        part = self.json_part(value, tuple(steps))
        text = part.op("->>", return_type=sa.Text())(json_place(last))
        return sa.collate(text, BY_CODE_POINT)

    def json_key(self, value: Expression) -> Expression:
        return sa.cast(value, sa.Text())

    def json_again(self, value: Expression) -> Expression:
        return sa.cast(value, postgresql.JSON())

    def in_list(self, column: Expression, kind: ColumnType, values: Expression) -> Expression:
        element = self.elements(values)
        listed = sa.select(self.element(element, kind)).select_from(element)
        array = sa.func.any(sa.func.array(listed.scalar_subquery()))
        return column.op("=", is_comparison=True)(array)

    def element(self, elements: Any, kind: ColumnType) -> Expression:
        return sa.cast(elements.c.value, kind.storage)

    def insert_into(self, table: sa.Table) -> postgresql.Insert:
        return postgresql.insert(table)

    def elements(self, values: Expression) -> Any:
        array = sa.func.json_array_elements_text(sa.cast(values, postgresql.JSON()))
        return array.table_valued("value").render_derived()

    def like(self, column: Expression, pattern: Expression) -> Expression:
        return column.op("LIKE", is_comparison=True)(pattern)

    def ilike(self, column: Expression, pattern: Expression) -> Expression:
        letters = [sa.literal_column(f"'{each}'", sa.Text()) for each in (UNSTEADY, STEADY)]
        alike: Expression = sa.func.translate(column, *letters)
        return sa.collate(alike, ANY_LANGUAGE).op("ILIKE", is_comparison=True)(pattern)

    def match(self, column: Expression, pattern: Expression) -> Expression:
        return column.op("~", is_comparison=True)(pattern)

    def imatch(self, column: Expression, pattern: Expression) -> Expression:
        return sa.collate(column, ANY_LANGUAGE).op("~*", is_comparison=True)(pattern)

    def like_pattern(self, pattern: str) -> str:
        r"""The pattern in LIKE's own words.

        >>> PostgresqlSpelling().like_pattern(r"50\%*[x]_\*")
        '50\\%%[x]_\\%'
        """
        if (len(pattern) - len(pattern.rstrip("\\"))) % 2 == 1:
            raise InvalidEscape("LIKE pattern must not end with escape character")
        return pattern.replace("*", "%")

    def ilike_pattern(self, pattern: str) -> str:
        return self.like_pattern(pattern).translate(STEADIED)

    def in_time(self, *, costly: int) -> Expression:
        # The server looks at statement_timeout between rows, and not within a LIKE: a row of many took seconds more.
        # To sleep for no time has it look. What is volatile joins nothing, so it is not said of few.
        if costly <= COSTLY_FEW:
            return sa.true()
        return sa.func.pg_sleep(sa.literal_column("0")).is_not(None)

    def cast(self, value: Expression, source: str, target: str) -> Expression:
        return sa.cast(value, CASTS[target])

    def cast_moment(self, here: Expression, target: str) -> Expression:
        if target != "text":
            clock = sa.cast(here, postgresql.TIMESTAMP())  # which leaves the offset unread
            return self.cast(clock, "timestamp", target)
        blank = sa.func.replace(here, sa.literal_column("'T'"), sa.literal_column("' '"))
        return sa.func.regexp_replace(blank, sa.literal_column("':00$'"), sa.literal_column("''"))

    def cast_clock(self, value: Expression, source: str, zone: Expression) -> Expression:
        there = sa.func.timezone(zone, sa.cast(value, postgresql.TIMESTAMP()))
        if source in ("date", "timestamp"):
            return there
        says_offset = value.op("~")(sa.literal_column(SAYS_OFFSET))
        return sa.case((says_offset, self.cast(value, source, MOMENT)), else_=there)

    def average_text(self, whole: Expression) -> Expression:
        return sa.cast(sa.func.avg(whole), sa.Text())

    def finite(self, aggregate: Expression) -> Expression:
        return aggregate  # refused by the server itself

    def computed_first(self, rows: sa.Select[Any]) -> sa.Select[Any]:
        return rows.offset(sa.literal_column("0", sa.Integer()))

    def keys_table(
        self, name: str, kinds: Iterable[tuple[str, ColumnType]], source: str
    ) -> sa.FromClause:
        keys, _ = self.keys_of(name, kinds, source)
        return keys.subquery(name)

    def rows_by(
        self, columns: Any, name: str, kinds: Sequence[tuple[str, ColumnType]], source: str
    ) -> Expression:
        # An UPDATE takes no ORDER BY, and a plan that reads the table first writes its rows as they lie, which is as
        # others have left room: the audit trail would tell. A range is nothing to hash or to merge by, and a key that
        # is said to be an array is thought to be the only one: so each is looked up in its turn.
        found, key = self.keys_of(name, kinds, source)
        keys = found.where(sa.func.jsonb_typeof(key) == sa.literal_column("'array'")).subquery(name)
        return sa.and_(*(columns[each].between(keys.c[each], keys.c[each]) for each, _ in kinds))

    def keys_of(
        self, name: str, kinds: Iterable[tuple[str, ColumnType]], source: str
    ) -> tuple[sa.Select[Any], Expression]:
        """The keys of an array, and what one of them is in there."""
        rows = sa.func.jsonb_array_elements(sa.cast(parameter(source, sa.Text), postgresql.JSONB()))
        row = rows.table_valued("value", with_ordinality="place").render_derived(
            name=f"{name}_json"
        )
        columns = [
            sa.cast(
                row.c.value.op("->>")(sa.literal_column(str(place), sa.Integer())), kind.storage
            ).label(column)
            for place, (column, kind) in enumerate(kinds)
        ]
        position = (row.c.place - sa.literal_column("1", sa.Integer())).label("position")
        return sa.select(*columns, position), row.c.value

    def at_most(self, wanted: Expression, bound: Expression) -> Expression:
        return sa.func.least(wanted, bound)

    def not_leading(self, column: Expression) -> Expression:
        return column

    def of_short_text(self, column: Expression, condition: Expression) -> Expression:
        # Said in the words of the indexes, so that the planner takes them for these rows.
        most = sa.literal_column(str(SHORT_CHARACTERS_MAX), sa.Integer())
        return sa.and_(condition, sa.func.char_length(column) <= most)

    def telling_id(self, statement: sa.Insert, column: Any) -> sa.Insert:
        return statement.returning(column)

    def day_text(self, day: Expression) -> Expression:
        return sa.cast(day, sa.Text())
