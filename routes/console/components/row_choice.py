"""Choose a row: from a select, or by words of its texts if there are too many rows to list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from access.caller import Caller
from engine.query.rule import Action
from models.types import InvalidInput
from routes.console.components import queries
from routes.console.components.display import is_text
from routes.console.components.fields import Choice, Field, SeveralMatch
from routes.console.components.list_query import NUMBERED, Listing, ListQuery, quote_pattern
from routes.console.components.queries import ResultPage, Row
from routes.console.components.searched import searched_texts
from routes.console.components.tables import PATH, RowReference, Table
from routes.console.components.template_filters import short_title
from routes.console.components.user_choice import UUID_TEXT

CHOICES_MAX = 300  # of a select; with more rows, a text field takes the number or the name
SUGGESTED_MAX = 20
HINT = "Type a part of the name or the address to choose, or the number."


@dataclass(frozen=True, slots=True)
class RowChoice:
    """The rows of a table to choose from: those of the filters on which the caller may perform an action."""

    caller: Caller
    table: Table
    within: Action = Action.READ
    filters: str = ""
    column: str = ""
    """The column whose value the choice gives. It defaults to the key."""

    @property
    def path(self) -> str:
        """The URL that suggests rows. A script adds the typed text."""
        within = "within=update&" if self.within is Action.UPDATE else ""
        return f"{PATH}{self.table.path}/suggest?{within}{self.filters}".rstrip("?&")

    def first_page(self) -> ResultPage:
        """Return the rows of a select, and whether there are more."""
        text = f"{self.table.choice_query()}&{self.filters}".rstrip("&")
        return queries.first_page(self.caller, self.table.name, text, CHOICES_MAX, within=self.within)

    def find(self, text: str) -> list[Row]:
        """Return the first rows whose texts contain every word."""
        order = f"{self.table.title_column}.asc"
        searched = searched_texts(self.table, self.caller)
        if not searched.columns and not searched.embeds:
            return []
        listing = Listing(self.table.name, self.table.choice_select, order, searched, key=self.table.relation.key)
        return self.select(ListQuery(listing, parse_qsl(self.filters), order, 0, text).text(), SUGGESTED_MAX)

    def select(self, text: str, limit: int) -> list[Row]:
        return queries.select_rows(self.caller, self.table.name, text, limit=limit, within=self.within).rows

    def resolve(self, typed: str) -> str:
        """Return the key of the row that a typed text names: a key, a full name, or a suggestion.

        Raise SeveralMatch with the rows that contain the words of another text, and InvalidInput if there is none.
        """
        table = self.table
        if (typed.isascii() and typed.isdigit()) if table.has_number else UUID_TEXT.fullmatch(typed):
            return typed
        if is_text(table.title_attribute):
            is_email = "@" in typed and not table.has_number
            column = table.presentation.choice_columns[0] if is_email else table.title_column
            named = f"{table.choice_query()}&{self.filters}".rstrip("&") + f"&{column}=ilike.{quote_pattern(typed)}"
            rows = self.select(named, 2)
            if len(rows) == 1:
                return self.value_of(rows[0])
        if table.has_number and (numbered := NUMBERED.fullmatch(typed)):
            return numbered[1]
        found = self.find(typed)
        if not found:
            raise InvalidInput("no row has this name")
        raise SeveralMatch("choose one of the rows with this text", self.choices(found))

    def choices(self, rows: Sequence[Row]) -> tuple[Choice, ...]:
        """Return the rows as options, each with a label of its own."""
        keys, labels = map(self.value_of, rows), self.table.choice_labels(rows)
        return tuple(Choice(key, short_title(label)) for key, label in zip(keys, labels, strict=True))

    def value_of(self, row: Row) -> str:
        return str(row[self.column]) if self.column else self.table.key_text(row)

    def shown(self, key: str) -> str:
        """Return the text of the field for a chosen row. The key of a row that is not visible stays."""
        has_number = self.table.has_number
        is_key = (key.isascii() and key.isdigit()) if has_number else UUID_TEXT.fullmatch(key)
        if self.column or not is_key or not (has_number or self.table.presentation.choice_columns):
            return key
        text = f"select={self.table.choice_select}&{self.table.filters(key)}"
        row = queries.first_row(self.caller, self.table.name, text)
        return self.suggestion(row).value if row is not None else key

    def suggestion(self, row: Row) -> Choice:
        """Return the text that chooses a row, and what a browser shows beside it."""
        if not self.table.has_number and self.table.presentation.choice_columns:
            return Choice(str(row[self.table.presentation.choice_columns[0]]), self.table.title(row))
        return Choice(self.table.numbered_label(row), "")


def row_choice(
    caller: Caller,
    table: Table,
    reference: RowReference,
    label: str,
    choice_filter: str = "",
    *,
    required: bool = False,
) -> Field:
    """Return a field that selects one of the caller's rows, or suggests them if there are too many to list.

    A row of the table's client is one that the caller may change, since the new row has to belong to that client too.
    """
    target, column = reference.table, reference.column
    grant = table.model.grant
    is_owner = reference == table.parent or (grant is not None and column in (grant.target, grant.grantee))
    within = Action.UPDATE if is_owner and target.permits(caller, Action.UPDATE) else Action.READ
    role = f"role=eq.{grant.role}" if grant is not None and column == grant.grantee else ""
    of_key = reference.key.referred_column in target.relation.key
    value_column = "" if of_key else reference.key.referred_column
    choice = RowChoice(caller, target, within, "&".join(filter(None, (role, choice_filter))), value_column)
    page = choice.first_page()
    if not page.has_more:
        return Field(column, label, "select", required, choice.choices(page.rows))
    return Field(
        column, label, "suggest", required, hint=HINT, suggest=choice.path, resolve=choice.resolve, shown=choice.shown
    )
