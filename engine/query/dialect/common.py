"""What SQLite and PostgreSQL spell alike, of all that a `Spelling` must know how to say (`dialect.py`)."""

from __future__ import annotations

from abc import ABC
from abc import abstractmethod
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any
from typing import Self

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from engine.query.patterns import InvalidRegularExpression
from engine.query.patterns import NoRegularExpressions
from engine.storage import sql_functions as functions
from models.types import ColumnType

Expression = sa.ColumnElement[Any]


class InSubquery(FunctionElement[bool]):
    """A key that is among those that a sub-select yields, each once."""

    inherit_cache = True
    type = sa.Boolean()

    def __init__(self, key: Expression, chosen: sa.Select[Any]) -> None:
        super().__init__(key, chosen.scalar_subquery())

    @property
    def column(self) -> Expression:
        """The key that is among them."""
        found: Expression = next(iter(self.clauses))
        return found

    @property
    def chosen(self) -> sa.Select[Any]:
        """The sub-select that yields them."""
        _, chosen = self.clauses
        found: sa.Select[Any] = chosen.element
        return found

    def self_group(self, against: Any = None) -> Self:
        """As it is: it compares, where SQLAlchemy would compare it with 1 and hide it from the planner."""
        return self


@compiles(InSubquery)
def compile_in_subquery(element: InSubquery, compiler: SQLCompiler, **options: Any) -> str:
    key, chosen = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{key} IN {chosen}"


class SmallInSubquery(InSubquery):
    """The same where the sub-select yields few keys: an index search begins with them."""

    inherit_cache = True

    def as_exists(self) -> Expression:
        """Return the same as an EXISTS, for one row that its key finds."""
        (found,) = self.chosen.selected_columns
        looked_for: Expression = self.chosen.where(found == self.column).exists()
        return looked_for

    def where(self, condition: Callable[[Expression], Expression]) -> SmallInSubquery:
        """Return the same over the keys for which a condition holds."""
        (found,) = self.chosen.selected_columns
        return SmallInSubquery(self.column, self.chosen.where(condition(found)))

    def with_values(self, more: dict[Expression, Expression]) -> SmallInSubquery:
        """Return the same over the key and more columns, each with the value that the sub-select yields for it."""
        few = self.chosen.add_columns(*more.values())
        return SmallInSubquery(sa.tuple_(self.column, *more), few)


def is_among(key: Sequence[Expression], keys: sa.Select[Any]) -> Expression:
    """Whether a key is one that `keys` finds."""
    found: Expression = (key[0] if len(key) == 1 else sa.tuple_(*key)).in_(keys)
    return found


class CommonSpelling(ABC):
    """The words of both; what those are made of is each database's own."""

    def of_short_text(self, column: Expression, condition: Expression) -> Expression:
        """A condition that no long text of an indexed column meets."""
        return condition

    def asked_of_each(self, condition: Expression) -> Expression:
        """A condition that looks at other rows, for each row that is looked for: never a join of both."""
        return condition

    def nested_loop(self, few: sa.FromClause, rows: Any, ties: Expression) -> sa.Join:
        """Nested-loop join: for each row of the small side, look up its matches by index."""
        return sa.join(few, rows, ties)

    def in_given_order(self, rows: sa.Select[Any], position: Expression) -> sa.Select[Any]:
        return rows.order_by(position)

    @abstractmethod
    def keys_table(
        self, name: str, kinds: Iterable[tuple[str, ColumnType]], source: str
    ) -> sa.FromClause: ...

    def rows_by(
        self, columns: Any, name: str, kinds: Sequence[tuple[str, ColumnType]], source: str
    ) -> Expression:
        keys = self.keys_table(name, kinds, source)
        names = [each for each, _ in kinds]
        return is_among(
            [columns[each] for each in names], sa.select(*(keys.c[each] for each in names))
        )

    @abstractmethod
    def elements(self, values: Expression) -> Any:
        """The elements of a JSON array, as a table."""

    @abstractmethod
    def element(self, elements: Any, kind: ColumnType) -> Expression:
        """Such an element, as a value of a type."""

    def any_or_all(
        self,
        quantifier: str,
        compare: Callable[[Expression, Expression], Expression],
        column: Expression,
        values: Expression,
        kind: ColumnType,
    ) -> Expression:
        elements = self.elements(values)
        holds = compare(column, self.element(elements, kind))
        found: Expression
        if quantifier == "any":
            found = sa.exists().where(holds).select_from(elements)
        else:
            found = ~sa.exists().where(sa.not_(holds)).select_from(elements)
        # Null compares with nothing, but with none of no values it need not.
        compared = sa.exists().select_from(self.elements(values))
        return sa.case((sa.and_(column.is_(None), compared), sa.null()), else_=found)

    def match_pattern(self, pattern: str, ignore_case: bool) -> str:
        if not functions.has_regular_expressions():
            raise NoRegularExpressions
        refused = functions.regular_expression_fault(pattern, ignore_case)
        if refused is not None:
            raise InvalidRegularExpression(f"invalid regular expression: {refused}")
        return pattern

    def upsert(
        self, statement: Any, target: tuple[str, ...], changed: tuple[str, ...] | None
    ) -> sa.Insert:
        # Each dialect has an insert of its own that knows of conflicts, and they share no type that says so.
        upserting: sa.Insert
        if changed is None:
            upserting = statement.on_conflict_do_nothing(index_elements=target)
        else:
            upserting = statement.on_conflict_do_update(
                index_elements=target, set_={name: statement.excluded[name] for name in changed}
            )
        return upserting
