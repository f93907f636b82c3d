"""Choose a row or a user in a form, and filter a list by a row or by closed buildings.

The choice is a select, or words of the row's texts (a user's e-mail) if there are too many to list. A hidden user and a
missing one cause the same queries and the same response. The filter `closed` leaves out closed buildings; the console's
panels use the same condition.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from access.accounts import people
from access.caller import Caller
from access.session import current_time
from engine.open import local_day, reading
from engine.query.statement import Action
from models.types import InvalidInput, NulInText, TextTooLong, new_uuid, read_string, read_uuid
from routes.console.components import queries
from routes.console.components.display import is_text, label_of, searched_texts
from routes.console.components.fields import Choice, Field, SeveralMatch
from routes.console.components.list_query import NUMBERED, Listing, ListQuery, Pairs, quote_pattern
from routes.console.components.queries import ResultPage
from routes.console.components.tables import Row, RowReference, Table
from routes.console.components.template_filters import short_title, user_title
from routes.console.session.urls import console_url

UUID_TEXT = re.compile(r"[0-9a-fA-F-]{36}")
COLUMNS = "select=id,name,email,role,clients(name),inspectors(name)"


def list_users(caller: Caller, size: int, filters: str = "", *, within: Action = Action.READ) -> list[Row] | None:
    """Return the users to choose from, or None if there are more than `size`."""
    text = f"{COLUMNS}{filters}&order=name,id"
    page = queries.first_page(caller, "users", text, size, within=within)
    if page.has_more:
        return None
    mark_deactivated(page.rows)
    return page.rows


def mark_deactivated(rows: list[Row]) -> None:
    """Set `is_deactivated` of users' rows."""
    with reading() as transaction:
        disabled = people.disabled_users(transaction, [row["id"] for row in rows])
    for row in rows:
        row["is_deactivated"] = row["id"] in disabled


def parse_user_id(text: str) -> str:
    """Return the id that a form submits, or the id of the user with the submitted e-mail."""
    return user_id_by_email(read_string(text)) if "@" in text else str(read_uuid(text))


def find_user(caller: Caller, text: str) -> Row | None:
    """Return a user that the caller may see, by id or e-mail, or None."""
    try:
        user_id = parse_user_id(text)
    except (InvalidInput, NulInText, TextTooLong):
        return None
    return queries.first_row(caller, "users", f"{COLUMNS}&id=eq.{user_id}")


def find_named_user(caller: Caller, text: str) -> str:
    """Return an id or e-mail unchanged, and for a part of a name the id of the only user that the caller sees.

    Raise InvalidInput if there is none, or if there are several.
    """
    if "@" in text or UUID_TEXT.fullmatch(text):
        return text
    filters = f"select=id&name=ilike.*{quote_pattern(text)}*"
    rows = queries.select_rows(caller, "users", filters, limit=2).rows
    if len(rows) != 1:
        number = "Several users have" if rows else "You can see no user of"
        raise InvalidInput(f"{number} this name. Enter the e-mail")
    return str(rows[0]["id"])


def names_of(caller: Caller, ids: Iterable[str | None]) -> dict[str, str]:
    """Return the names of the users with these ids, as far as the caller sees them."""
    known = sorted({each for each in ids if each})
    if not known:
        return {}
    text = f"select=id,name,inspectors(name)&id=in.({','.join(known)})"
    return {row["id"]: user_title(row) for row in queries.select_rows(caller, "users", text, limit=len(known)).rows}


def user_id_by_email(email: str) -> str:
    """Return the id of the user who signs in with the e-mail, visible or not.

    Return a new random id if there is none, so that hidden and missing users cause the same queries.
    """
    with reading() as transaction:
        user = people.by_email(transaction, email)
    new_id = new_uuid()  # drawn for a known e-mail too, so that both cases take the same steps
    return user.id if user is not None else new_id


CHOICES_MAX = 300  # of a select; with more rows, a text field takes the number or the name
SUGGESTED_MAX = 20
"""Of the rows that a field suggests: before a text is typed, and for each text."""
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
        return console_url(f"{self.table.path}/suggest?{within}{self.filters}").rstrip("?&")

    def first_page(self) -> ResultPage:
        """Return the rows of a select, and whether there are more."""
        text = f"{self.table.choice_query()}&{self.filters}".rstrip("&")
        return queries.first_page(self.caller, self.table.name, text, CHOICES_MAX, within=self.within)

    def find(self, text: str) -> list[Row]:
        """Return the first rows whose texts contain every word."""
        order = self.table.choice_order
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
        may_make = not page.rows and target.model.grant is None and target.permits(caller, Action.INSERT)
        make = (f"New {target.noun}", console_url(f"{target.path}/new")) if may_make else None
        return Field(column, label, "select", required, choice.choices(page.rows), make=make)
    return Field(
        column,
        label,
        "suggest",
        required,
        tuple(map(choice.suggestion, page.rows[:SUGGESTED_MAX])),
        HINT,
        suggest=choice.path,
        resolve=choice.resolve,
        shown=choice.shown,
    )


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A filter of a list's form by the column `column`, which may be one of an embed.

    `options` are the values of its select. Without options, the form takes a part of the title, which is the column
    `title`, or the number if that is empty.
    """

    column: str
    label: str
    options: Mapping[str, str]
    title: str
    choice: RowChoice


def row_filters(table: Table, caller: Caller) -> list[RowFilter]:
    """Return the filters by the rows of the listed columns, and by the client of the rows' parent."""
    return [row_filter(caller, *each) for each in references_of(table, caller)]


def references_of(table: Table, caller: Caller) -> Iterator[tuple[RowReference, str, str]]:
    """Yield each reference to filter by, the filter's column, and the column of the title."""
    for each in table.listed(caller):
        reference = table.references.get(each.name)
        if reference is not None and has_titles(reference.table, caller):
            yield reference, each.name, f"{reference.embed}.{reference.table.title_column}"
    parent = table.parent
    if parent is None or parent.table.parent is not None or caller.client_id is not None:
        return
    owner = parent.table.references.get(parent.table.model.tenant or "")
    if owner is not None and has_titles(owner.table, caller):
        yield owner, f"{parent.embed}.{owner.column}", ""


def has_titles(table: Table, caller: Caller) -> bool:
    """Return whether the caller may read the table's titles, and the titles are texts to search for."""
    title = table.relation.attributes[table.title_column]
    return title.info.searchable and table.permits(caller, Action.READ)


def row_filter(caller: Caller, reference: RowReference, column: str, title: str) -> RowFilter:
    """Return the filter with its options, or without if there are too many."""
    attribute = queries.relation(reference.key.relation).attributes[reference.column]
    choice = RowChoice(caller, reference.table)
    page = choice.first_page()
    options = {f"eq.{each.value}": each.label for each in choice.choices(page.rows)}
    label = label_of(attribute)
    if not attribute.required:
        options["is.null"] = f"No {label.lower()}"
    return RowFilter(column, label, {} if page.has_more else options, title, choice)


CLOSED: Final = "closed"
LABEL: Final = "Buildings"
OPTIONS: Final = {"no": "In use", "yes": "Closed"}
IN_USE: Final = f"{CLOSED}=no"
ONLY_CLOSED: Final = f"{CLOSED}=yes"
DETAILS: Final = "building_details"
ALIAS: Final = "closed"
"""The beginning of the aliases of the embeds that the filter needs."""


def closed_pairs(path: tuple[str, ...], *, is_closed: bool) -> Pairs:
    """Return the parameters that select rows by whether their building is closed today.

    `path` are the embeds from the table to `buildings`.
    """
    names = (*path, DETAILS)
    aliases = [f"{ALIAS}{place}" for place in range(len(names))]
    embed = ""
    for alias, name in zip(reversed(aliases), reversed(names), strict=True):
        embed = f"{alias}:{name}({embed})"
    paths = [".".join(aliases[: place + 1]) for place in range(len(aliases))]
    return (
        ("select", embed),
        (f"{paths[-1]}.closed_on", f"lte.{local_day(current_time())}"),
        *((each, "not.is.null") for each in paths[1:]),
        (paths[0], "not.is.null" if is_closed else "is.null"),
    )


def has_closed_buildings(caller: Caller) -> bool:
    """Return whether the caller sees the details of a building that is closed today."""
    closed = f"select=building_id&closed_on=lte.{local_day(current_time())}"
    return queries.first_row(caller, DETAILS, closed) is not None


def named_filters(caller: Caller, *path: str) -> Mapping[tuple[str, str], Pairs]:
    """Return what the filters of a list's URL stand for. Without a closed building, `closed=no` costs nothing."""
    in_use = closed_pairs(path, is_closed=False) if has_closed_buildings(caller) else ()
    return {(CLOSED, "no"): in_use, (CLOSED, "yes"): closed_pairs(path, is_closed=True)}


def in_use(caller: Caller, select: str, *path: str) -> str:
    """Return a query that begins with `select` and leaves out closed buildings."""
    if not has_closed_buildings(caller):
        return select
    (_, embed), *conditions = closed_pairs(path, is_closed=False)
    return "&".join((f"{select},{embed}", *(f"{name}={value}" for name, value in conditions)))
