"""How rows are shown: the cells of a list, the lines of a page, and the texts of a search.

Nothing here uses Flask. A search looks into the texts that a list's rows show and the caller may read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from access.caller import Caller
from engine.query.catalog import Attribute
from engine.query.statement import Action
from models.types import BOOLEAN, DATE, TIMESTAMP
from routes.console.components import queries
from routes.console.components.list_query import Searched
from routes.console.components.tables import Row, RowReference, Table
from routes.console.components.template_filters import (
    badge,
    email_parts,
    isolated,
    long_day,
    moment,
    name,
    short,
    short_title,
    words,
)
from routes.console.session.urls import console_url

LISTED_CHARACTERS_MAX = 4_000
WORD_CHARACTERS_MAX = 14
LONG_WORD = re.compile(rf"[^\s-]{{{WORD_CHARACTERS_MAX + 1}}}")
LONG_CHARACTERS_MIN = 60  # a list shows the first lines of a longer text, and prints all of it


@dataclass(slots=True)
class Cell:
    """A shown value: its text, its link, and its CSS class on a page.

    Screen readers read `about`. A screen shows the first lines of a text that `is_long`. A telephone shows `slim` in
    place of the first column that it leaves out. Paper shows `printed` after the text.
    """

    text: str
    url: str = ""
    kind: str = ""
    badge: str = ""
    about: str = ""
    slim: str = ""
    is_long: bool = False
    printed: str = ""
    breaks: bool = field(init=False)
    """Whether a list may break the text within a word, because the word is long."""
    is_plain: bool = field(init=False)
    """Whether a list shows nothing but the text."""

    def __post_init__(self) -> None:
        has_at, text = "@" in self.text, self.text
        self.breaks = any(LONG_WORD.search(part) for part in (email_parts(text) if has_at else (text,)))
        self.is_plain = not (self.url or self.badge or self.slim or self.is_long or self.printed or has_at)


CellOf = Callable[[Row], Cell]
"""Returns a value of a row as it is shown."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A column of a list. `sort` is the name of the column if the list can be in its order."""

    label: str
    kind: str
    sort: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """Rows as they are shown, and their keys."""

    headings: list[Heading]
    rows: list[list[Cell]]
    keys: list[str]


def label_of(attribute: Attribute) -> str:
    return attribute.info.label or words(attribute.name)


def show_rows(table: Table, caller: Caller, rows: list[Row], without: str = "") -> Shown:
    """Return rows as a list shows them. `without` is a column that the page shows elsewhere."""
    prepare_rows(table, caller, rows)
    columns = [each for each in table.listed(caller) if each.name != without]
    narrow = table.narrow(columns)
    labels = table.presentation.labels
    headings = [
        Heading(labels.get(each.name) or label_of(each), kind_of(table, each, narrow), sort_column(table, each))
        for each in columns
    ]
    has_link = bool(headings) and headings[0].sort == table.title_column
    if not has_link:
        kind = "wide" if without else ""
        label, classes = (
            ("Number", f"n {kind}".strip()) if table.has_number else ("Grant" if table.model.grant else "Row", kind)
        )
        headings.insert(0, Heading(label, classes, table.relation.key[0]))
    writers = ([] if has_link else [link_cells(table)]) + [list_cells(table, caller, each) for each in columns]
    cells = [[write(row) for write in writers] for row in rows]
    wide_places = [place for place, each in enumerate(headings) if "wide" in each.kind]
    chosen = [place for place in wide_places if headings[place].sort == table.presentation.slim]
    wide = next(iter((chosen if table.presentation.slim else []) or wide_places), 0)
    if wide:
        cells = [[replace(row[0], slim=slim_text(row[wide].text)), *row[1:]] for row in cells]
    return Shown(headings, cells, [table.key_text(row) for row in rows])


def slim_text(text: str) -> str:
    """Return a text that has one line. A short one keeps the isolates of its names."""
    return text if len(text) < LONG_CHARACTERS_MIN else short(text, LONG_CHARACTERS_MIN)


def sort_column(table: Table, attribute: Attribute) -> str:
    """Return the order of a list by a column: that of a reference is by the title of its row."""
    reference = table.references.get(attribute.name)
    if reference is None:
        return attribute.name
    return table.presentation.orders.get(attribute.name) or f"{reference.embed}({reference.table.title_column})"


def is_dated(table: Table, attribute: Attribute) -> bool:
    """Return whether a list in the order of a column is in the order of dates."""
    reference = table.references.get(attribute.name)
    if reference is None:
        return attribute.type in (DATE, TIMESTAMP)
    return attribute.name not in table.presentation.orders and reference.table.title_attribute.type in (DATE, TIMESTAMP)


def prepare_rows(table: Table, caller: Caller, rows: list[Row]) -> None:
    """Add values to rows, and to the rows that they refer to, as the presentations of their tables do."""
    table.presentation.prepare(caller, rows)
    for each in table.references.values():
        each.table.presentation.prepare(caller, [row[each.embed] for row in rows if row.get(each.embed)])


def link_cells(table: Table) -> CellOf:
    """Return what shows the link to the page of a row whose title the list does not show."""
    home = console_url(table.path)

    def write(row: Row) -> Cell:
        key, url = table.key_text(row), table.row_path(row, home)
        return Cell(key, url) if table.has_number else Cell("Open", url, about=table.title(row))

    return write


def kind_of(table: Table, attribute: Attribute, narrow: set[str]) -> str:
    """Return the CSS classes of a list's column."""
    is_number = attribute.type.numeric and attribute.name not in {*table.references, *table.presentation.cells}
    kinds = {
        "n": is_number,
        "when": attribute.type is DATE or (attribute.type is TIMESTAMP and attribute.name == table.title_column),
        "notes": attribute.info.multiline,
        "wide": attribute.name not in narrow,
    }
    return " ".join(kind for kind, holds in kinds.items() if holds)


def is_text(attribute: Attribute) -> bool:
    return attribute.type.name == "text"


def list_cells(table: Table, caller: Caller, attribute: Attribute) -> CellOf:
    """Return what shows a column in a list. The title is the link to the row's page."""
    value_of = value_cells(table, caller, attribute)
    is_title, home = attribute.name == table.title_column, console_url(table.path)
    is_named, none = is_text(attribute), f"No {label_of(attribute).lower()}"

    def write(row: Row) -> Cell:
        cell = value_of(row)
        if len(cell.text) > LISTED_CHARACTERS_MAX:
            cell = replace(cell, text=short(cell.text, LISTED_CHARACTERS_MAX))
        if not is_title or cell.url:
            return replace(cell, is_long=True) if len(cell.text) >= LONG_CHARACTERS_MIN else cell
        url, is_given = table.row_path(row, home), row[attribute.name] is not None
        if is_named and is_given:
            return Cell(cell.text, url, is_long=len(cell.text) >= LONG_CHARACTERS_MIN)
        about = f"{table.title(row)}, number {table.key_text(row)}"
        return Cell(cell.text if is_given else none, url, about=about)

    return write


def value_cells(table: Table, caller: Caller, attribute: Attribute) -> CellOf:
    """Return what shows a column's values with their links. What holds for every row is decided here, once."""
    column, info = attribute.name, attribute.info
    known = info.allowed_values or info.common_values
    if own := table.presentation.cells.get(column):
        printed = table.presentation.printed.get(column)
        return lambda row: Cell(*own(row), printed=printed(row) if printed else "")
    if state := table.presentation.states.get(column):
        return lambda row: state_cell(*state(row))
    if column in table.references:
        shown = reference_cells(caller, table.references[column])
        return lambda row: shown(row) if row.get(column) is not None else Cell("–")
    if column in table.presentation.badges:
        return badge_cells(column, known, f"No {label_of(attribute).lower()}")
    text = text_of_values(table, attribute)

    def write(row: Row) -> Cell:
        value = row.get(column)
        if value is None:
            return Cell("–")
        return Cell(words(str(value)) if value in known else text(value))

    return write


def state_cell(text: str, badge: str) -> Cell:
    return Cell(text, badge=badge)


def badge_cells(column: str, known: Sequence[str], none: str) -> CellOf:
    def write(row: Row) -> Cell:
        value = row.get(column)
        text = words(str(value)) if value in known else short(str(value))
        return Cell(text if value else none, badge=badge(value))

    return write


def text_of_values(table: Table, attribute: Attribute) -> Callable[[Any], str]:
    """Return what shows the values of a column as texts."""
    if attribute.type in (TIMESTAMP, DATE):
        return moment if attribute.type is TIMESTAMP else long_day
    if attribute.name == table.title_column and is_text(attribute):
        return name
    return lambda value: isolated(str(value))


def value_cell(table: Table, caller: Caller, attribute: Attribute, row: Row) -> Cell:
    """Return a value with its link."""
    return value_cells(table, caller, attribute)(row)


def reference_cells(caller: Caller, reference: RowReference) -> CellOf:
    """Return what shows the title of a referred row, with its link."""
    target, embed = reference.table, reference.embed
    title = target.presentation.title or target.title
    home = console_url(target.path) if target.permits(caller, Action.READ) else ""

    def write(row: Row) -> Cell:
        referred = row.get(embed)
        if referred is None:
            return Cell("–")
        return Cell(title(referred), target.row_path(referred, home) if home else "")

    return write


def page_lines(table: Table, caller: Caller, row: Row) -> list[tuple[str, Cell]]:
    """Return the values of a row's page with their labels."""
    skipped = {*table.presentation.badges, *table.presentation.hidden, "name"}
    skipped |= set() if table.has_number else set(table.relation.key) - table.references.keys()
    return [
        ("Number" if each.name == "id" else label_of(each), page_cell(table, caller, each, row))
        for each in table.relation.attributes.values()
        if each.name not in skipped and each.name in table.shown_columns
    ]


def page_cell(table: Table, caller: Caller, attribute: Attribute, row: Row) -> Cell:
    cell = value_cell(table, caller, attribute, row)
    reference = table.references.get(attribute.name)
    if reference is not None and reference == table.parent and row[reference.embed] is None and row[attribute.name]:
        return Cell(f"Not visible: you were granted only this {table.noun}.")
    return Cell(cell.text, cell.url, "prose") if attribute.info.multiline else cell


def titles_of(table: Table, caller: Caller, keys: Sequence[str]) -> dict[str, str]:
    """Return the titles of the rows with these keys that the caller may read."""
    if not table.permits(caller, Action.READ) or len(table.relation.key) > 1:
        return {}
    text = f"select={table.title_select}&{table.relation.key[0]}=in.({','.join(keys)})"
    rows = queries.select_rows(caller, table.name, text, limit=len(keys)).rows
    return {table.key_text(row): short_title(table.title(row)) for row in rows}


def value_texts(table: Table, caller: Caller, rows: Sequence[Mapping[str, object]]) -> list[dict[str, str]]:
    """Return the values of rows as text. A reference is the title of its row, if the caller reads that."""
    titles: dict[str, dict[str, str]] = {}
    for column, reference in table.references.items():
        keys = {str(row[column]) for row in rows if row.get(column) is not None}
        if keys and reference.key.referred_column in reference.table.relation.key:
            titles[column] = titles_of(reference.table, caller, sorted(keys))
    return [{name: value_text(table, titles, name, value) for name, value in row.items()} for row in rows]


def value_text(table: Table, titles: Mapping[str, Mapping[str, str]], name: str, value: object) -> str:
    attribute = table.relation.attributes.get(name)
    if value is None:
        return "–"
    if name in titles:
        target = table.references[name].table
        unnamed = f"{target.label} {value}" if target.has_number else f"Another {target.noun}"
        return titles[name].get(str(value), unnamed)
    if attribute is None:
        return isolated(str(value))
    if attribute.type is BOOLEAN:  # SQLite's entries of the audit log of before migration 0010 have 0 and 1
        return "Yes" if value else "No"
    if value in (attribute.info.allowed_values or attribute.info.common_values):
        return words(str(value))
    if attribute.type in (DATE, TIMESTAMP):
        return moment(value) if attribute.type is TIMESTAMP else long_day(value)
    return isolated(str(value))


def searched_texts(table: Table, caller: Caller) -> Searched:
    """Return the texts of the rows, and the titles of the rows that they refer to."""
    return Searched(searchable(table, table.relation.attributes), embedded_texts(table, caller))


def embedded_texts(table: Table, caller: Caller) -> dict[str, Searched]:
    """Return the titles of the referred rows that the caller may read, by embed.

    A row without a name is found by the names of the rows that it refers to, such as an inspection by its building's.
    """
    found: dict[str, Searched] = {}
    for each in table.listed_references(caller):
        target = each.table
        inner = {} if is_text(target.title_attribute) else embedded_texts(target, caller)
        texts = Searched(searchable(target, target.title_columns), inner)
        if texts.columns or inner:
            found[each.source] = texts
    return found


def searchable(table: Table, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(each for each in names if table.relation.attributes[each].info.searchable)


def searched_labels(table: Table, caller: Caller) -> str:
    """Return the labels of the searched texts in the middle of a sentence. An abbreviation keeps its capitals."""
    labels = [*referred_labels(table, caller), *labels_of(table, searchable(table, table.relation.attributes))]
    return ", ".join(each if each.isupper() else each[:1].lower() + each[1:] for each in dict.fromkeys(labels))


def referred_labels(table: Table, caller: Caller) -> Iterator[str]:
    for each in table.listed_references(caller):
        target = each.table
        if is_text(target.title_attribute):
            yield from labels_of(table, (each.column,))
        else:
            yield from referred_labels(target, caller)
            yield from labels_of(target, searchable(target, target.title_columns))


def labels_of(table: Table, names: Iterable[str]) -> list[str]:
    return [label_of(table.relation.attributes[each]) for each in names]
