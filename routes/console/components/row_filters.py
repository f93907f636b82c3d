"""Filters of a list by a row that its rows refer to, such as the building of an inspection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from access.caller import Caller
from engine.query.rule import Action
from routes.console.components import queries
from routes.console.components.display import label_of
from routes.console.components.row_choice import RowChoice
from routes.console.components.tables import RowReference, Table


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
