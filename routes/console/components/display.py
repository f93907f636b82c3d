"""How rows are shown: the cells of a list, the lines of a page, and the cells of related rows.

This module does not use Flask.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from access.caller import Caller
from engine.query.catalog import Attribute
from engine.query.rule import Action
from models.types import DATE, TIMESTAMP
from routes.console.components.tables import Row, RowReference, Table
from routes.console.components.template_filters import (
    badge,
    email_parts,
    isolated,
    long_day,
    moment,
    name,
    short,
    words,
)

LISTED_CHARACTERS_MAX = 4_000
WORD_CHARACTERS_MAX = 14
LONG_WORD = re.compile(rf"[^\s-]{{{WORD_CHARACTERS_MAX + 1}}}")
LONG_CHARACTERS_MIN = 60  # a list shows the first lines of a longer text, and prints all of it


@dataclass(frozen=True, slots=True)
class Cell:
    """A shown value: its text, its link, and its CSS class on a page.

    Screen readers read `about`. A screen shows the first lines of a text that `is_long`. A telephone shows `slim` in
    place of the first column that it leaves out.
    """

    text: str
    url: str = ""
    kind: str = ""
    badge: str = ""
    about: str = ""
    slim: str = ""
    is_long: bool = False

    @property
    def breaks(self) -> bool:
        """Whether a list may break the text within a word, because the word is long."""
        if len(self.text) <= WORD_CHARACTERS_MAX:
            return False
        return any(LONG_WORD.search(part) for part in email_parts(self.text))

    @property
    def is_plain(self) -> bool:
        """Whether a list shows nothing but the text."""
        return not (self.url or self.badge or self.slim or self.is_long or "@" in self.text)


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
    headings = [Heading(label_of(each), kind_of(table, each, narrow), sort_column(table, each)) for each in columns]
    has_link = bool(headings) and headings[0].sort == table.title_column
    if not has_link:
        kind = "wide" if without else ""
        label, classes = ("Number", f"n {kind}".strip()) if table.has_number else ("Row", kind)
        headings.insert(0, Heading(label, classes, table.relation.key[0]))
    cells = [
        ([] if has_link else [link_cell(table, row)]) + [list_cell(table, caller, each, row) for each in columns]
        for row in rows
    ]
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


def link_cell(table: Table, row: Row) -> Cell:
    """Return the link to the page of a row whose title the list does not show."""
    key = table.key_text(row)
    return Cell(key if table.has_number else "Open", table.url(row), about="" if table.has_number else key)


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


def list_cell(table: Table, caller: Caller, attribute: Attribute, row: Row) -> Cell:
    """Return a value in a list. The title is the link to the row's page."""
    cell = value_cell(table, caller, attribute, row)
    if len(cell.text) > LISTED_CHARACTERS_MAX:
        cell = replace(cell, text=short(cell.text, LISTED_CHARACTERS_MAX))
    if attribute.name != table.title_column or cell.url:
        return replace(cell, is_long=True) if len(cell.text) >= LONG_CHARACTERS_MIN else cell
    if is_text(attribute) and row[attribute.name] is not None:
        return Cell(cell.text, table.url(row), is_long=len(cell.text) >= LONG_CHARACTERS_MIN)
    about = f"{table.title(row)}, number {table.key_text(row)}"
    none = f"No {label_of(attribute).lower()}"
    return Cell(cell.text if row[attribute.name] is not None else none, table.url(row), about=about)


def value_cell(table: Table, caller: Caller, attribute: Attribute, row: Row) -> Cell:
    """Return a value with its link."""
    value, info = row.get(attribute.name), attribute.info
    if attribute.name in table.presentation.cells:
        return Cell(*table.presentation.cells[attribute.name](row))
    if attribute.name in table.references and value is not None:
        return reference_cell(caller, table.references[attribute.name], row)
    known = info.allowed_values or info.common_values
    if attribute.name in table.presentation.badges:
        text = words(value) if value in known else short(str(value))
        return Cell(text if value else f"No {label_of(attribute).lower()}", badge=badge(value))
    if value is None:
        return Cell("–")
    if value in known:
        return Cell(words(str(value)))
    if attribute.type is TIMESTAMP:
        return Cell(moment(value))
    if attribute.type is DATE:
        return Cell(long_day(value))
    is_name = attribute.name == table.title_column and is_text(attribute)
    return Cell(name(value) if is_name else isolated(str(value)))


def reference_cell(caller: Caller, reference: RowReference, row: Row) -> Cell:
    """Return the title of a referred row, with its link."""
    target, referred = reference.table, row.get(reference.embed)
    if referred is None:
        return Cell("–")
    url = target.url(referred) if target.permits(caller, Action.READ) else ""
    return Cell(target.title(referred), url)


def page_lines(table: Table, caller: Caller, row: Row) -> list[tuple[str, Cell]]:
    """Return the values of a row's page with their labels."""
    skipped = {*table.presentation.badges, *table.presentation.hidden, "name"}
    skipped |= set() if table.has_number else set(table.relation.key) - table.references.keys()
    return [
        ("Number" if each.name == "id" else label_of(each), page_cell(table, caller, each, row))
        for each in table.relation.attributes.values()
        if each.name not in skipped
    ]


def page_cell(table: Table, caller: Caller, attribute: Attribute, row: Row) -> Cell:
    cell = value_cell(table, caller, attribute, row)
    reference = table.references.get(attribute.name)
    if reference is not None and reference == table.parent and row[reference.embed] is None and row[attribute.name]:
        return Cell(f"Not visible: you were granted only this {table.noun}.")
    return Cell(cell.text, cell.url, "prose") if attribute.info.multiline else cell
