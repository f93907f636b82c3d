"""What a database must know how to say: the one list of what the databases spell differently.

Everything else writes generic SQLAlchemy Core and asks a `Spelling`. One method a construct, one class a
database (`spelling_sqlite.py`, `spelling_postgresql.py`); `SPELLINGS` picks by URL scheme.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any
from typing import Protocol

import sqlalchemy as sa

from engine.query.dialect.sqlite import SqliteSpelling
from engine.query.shape import Path
from models.types import Bound
from models.types import ColumnType

Expression = sa.ColumnElement[Any]


class Spelling(Protocol):
    """What a database must know how to say."""

    name: str
    set_actor: str
    """Says the moment and the actor to the audit trail's triggers."""
    pause_audit: str
    resume_audit: str
    read_sequences: str
    """Asks for the last id of each table that ever was."""
    set_sequence: tuple[str, ...]
    """Has a table's ids go on after one: run with the table's name and that id."""
    sa_dialect: sa.Dialect
    keeps_subquery_order: bool
    joins_to_count: bool
    """Whether it finds out by itself how rows are best counted by a row that they belong to."""

    uses_skip_scans: bool
    """Whether indexes of inspections begin with the client, so that lists of several clients are skip scans."""

    gate: Expression
    """Holds always. It stands in what writes one row, where `models/server_batch.py` puts the proof of who asks."""

    trail_is_in_order: bool
    """Whether the trail's lines are numbered in the order of the COMMITs, whatever program wrote them."""

    def json_of_row(self, pairs: Iterable[tuple[str, Expression]]) -> Expression:
        """One JSON object out of keys and values, already fit for JSON."""
        ...

    def json_of_rows(self, row: Expression) -> Expression:
        """A JSON array out of many JSON objects, `[]` for none."""
        ...

    def json_value(self, kind: str, value: Expression) -> Expression:
        """A value of a type as JSON prints it."""
        ...

    def json_part(self, value: Expression, path: Path) -> Expression:
        """What a path leads to in a JSON value, as JSON; null where it leads nowhere."""
        ...

    def json_text(self, value: Expression, path: Path) -> Expression:
        """The same as a text: a string without its quotes, and a null is one of SQL's."""
        ...

    def json_key(self, value: Expression) -> Expression:
        """A JSON value as something that can be grouped by; `json_again` undoes it."""
        ...

    def json_again(self, value: Expression) -> Expression: ...

    def in_list(self, column: Expression, kind: ColumnType, values: Expression) -> Expression:
        """Whether the column equals any of a JSON array's elements."""
        ...

    def elements(self, values: Expression) -> Any:
        """The elements of a JSON array, as a table."""
        ...

    def element(self, elements: Any, kind: ColumnType) -> Expression:
        """Such an element, as a value of a type."""
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

    def match_pattern(self, pattern: str, ignore_case: bool) -> str:
        """A regular expression, refused here if the engine would refuse it."""
        ...

    def in_time(self, *, costly: int) -> Expression:
        """True until the statement's deadline has passed. `costly`: how many filters that take their time a row has."""
        ...

    def cast(self, value: Expression, source: str, target: str) -> Expression:
        """A value of one type as another, by PostgreSQL's rules."""
        ...

    def cast_moment(self, here: Expression, target: str) -> Expression:
        """A moment, printed in a time zone, as what a clock there shows."""
        ...

    def cast_clock(self, value: Expression, source: str, zone: Expression) -> Expression:
        """A date or a text as a moment: what a clock in a time zone shows, where it does not say another one."""
        ...

    def average_text(self, whole: Expression) -> Expression:
        """The average of whole numbers as text, with as many digits as PostgreSQL prints."""
        ...

    def finite(self, aggregate: Expression) -> Expression:
        """A sum or an average of doubles, refused where it is beyond them."""
        ...

    def computed_first(self, rows: sa.Select[Any]) -> sa.Select[Any]:
        """The same, to be a sub-select whose values are computed once a row, however often they are spoken of."""
        ...

    def in_given_order(self, rows: sa.Select[Any], position: Expression) -> sa.Select[Any]:
        """Rows of a `keys_table`, and of no other table, in the order in which they stand there."""
        ...

    def keys_table(
        self, name: str, kinds: Iterable[tuple[str, ColumnType]], source: str
    ) -> sa.FromClause:
        """A table of keys out of a JSON array of arrays: its columns, and `position` from 0."""
        ...

    def rows_by(
        self, columns: Any, name: str, kinds: Sequence[tuple[str, ColumnType]], source: str
    ) -> Expression:
        """Whether a row's key is among those of such an array: the rows are written in the order of that, wherever
        they lie."""
        ...

    def at_most(self, wanted: Expression, bound: Expression) -> Expression:
        """The lesser of two numbers."""
        ...

    def of_short_text(self, column: Expression, condition: Expression) -> Expression:
        """A condition that no text beyond SHORT_CHARACTERS_MAX meets, on a column with an index of the others."""
        ...

    def asked_of_each(self, condition: Expression) -> Expression:
        """A condition that looks at other rows, for each row that is looked for: never a join of both."""
        ...

    def nested_loop(self, few: sa.FromClause, rows: Any, ties: Expression) -> sa.Join:
        """Nested-loop join: for each row of the small side, look up its matches by index."""
        ...

    def not_leading(self, column: Expression) -> Expression:
        """The same column, by whose index no list of rows is begun."""
        ...

    def insert_into(self, table: sa.Table) -> sa.Insert:
        """An insert that `upsert` understands."""
        ...

    def upsert(
        self, statement: sa.Insert, target: tuple[str, ...], changed: tuple[str, ...] | None
    ) -> sa.Insert:
        """The same insert, which changes these columns, or none, where `target` is taken."""
        ...

    def telling_id(self, statement: sa.Insert, column: Any) -> sa.Insert:
        """An insert that tells the id it was given, where the driver does not by itself."""
        ...

    def day_text(self, day: Expression) -> Expression:
        """A date as `YYYY-MM-DD`."""
        ...


def json_array(values: Iterable[Bound]) -> str:
    """Values as the JSON array in which they travel."""
    return json.dumps(list(values), ensure_ascii=False, allow_nan=False)


class Spellings(dict[str, Spelling]):
    """By URL scheme. PostgreSQL's is imported by whom it is asked for: a service on a file starts without it."""

    def __missing__(self, scheme: str) -> Spelling:
        if scheme != "postgresql":
            raise KeyError(scheme)
        room = importlib.import_module("engine.query.dialect.postgresql")
        return self.setdefault(scheme, room.PostgresqlSpelling())


SPELLINGS = Spellings(sqlite=SqliteSpelling())
