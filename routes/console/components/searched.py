"""The texts that the search of a list looks into: those that its rows show and the caller may read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from access.caller import Caller
from routes.console.components.display import is_text, label_of
from routes.console.components.list_query import Searched
from routes.console.components.tables import Table


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
