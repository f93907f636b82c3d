"""Filters of a list's URL in words, such as "Date before 28 Nov 2026"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from access.caller import Caller
from engine.query.catalog import Attribute
from engine.query.rule import Action
from models.errors import Fault
from models.types import DATE, TIMESTAMP, read_date
from routes.console.components import queries
from routes.console.components.display import label_of
from routes.console.components.list_query import Listing, is_date
from routes.console.components.tables import Table
from routes.console.components.template_filters import long_day, name, short_title, words

DATE_OPERATORS = {"lt": "before", "lte": "until", "gt": "after", "gte": "from"}
NUMBER_OPERATORS = {"lt": "below", "lte": "at most", "gt": "above", "gte": "at least"}
LIST = re.compile(r"\(([^()\"]+)\)")
PART = re.compile(r"\*([^*%_\\]+)\*")
VALUES_SHOWN = 3


def filter_words(table: Table, caller: Caller, listing: Listing, column: str, value: str) -> str:
    """Return a filter in words, or an empty text if it is not a simple one."""
    place = column_of(table, column)
    if place is None:
        return ""
    owner, attribute, label = place
    operator, _, operand = value.partition(".")
    if value in ("is.null", "not.is.null"):
        return f"{'No' if value == 'is.null' else 'Any'} {label[:1].lower()}{label[1:]}"
    if option := listing.equals.get(column, {}).get(value):
        return f"{label}: {option}"
    if operator in ("eq", "neq", "in"):
        found = LIST.fullmatch(operand) if operator == "in" else None
        if operator == "in" and found is None:
            return ""
        texts = found[1].split(",") if found is not None else [operand]
        return f"{label}{' is not' if operator == 'neq' else ':'} {values_in_words(owner, caller, attribute, texts)}"
    if operator == "ilike" and (part := PART.fullmatch(operand)):
        return f"{label} contains “{name(part[1], 60)}”"
    return range_words(attribute, label, operator, operand)


def column_of(table: Table, column: str) -> tuple[Table, Attribute, str] | None:
    """Return the table, the attribute and the label of a filter's column, which may be that of a referred row."""
    embed, dot, rest = column.rpartition(".")
    if not dot:
        attribute = table.relation.attributes.get(column)
        return (table, attribute, "Number" if column == "id" else label_of(attribute)) if attribute else None
    reference = next((each for each in table.references.values() if each.embed == embed), None)
    if reference is None or rest not in reference.table.relation.attributes:
        return None
    attribute = reference.table.relation.attributes[rest]
    label = label_of(table.relation.attributes[reference.column])
    return reference.table, attribute, f"{label}, {label_of(attribute).lower()}"


def range_words(attribute: Attribute, label: str, operator: str, operand: str) -> str:
    if operator not in DATE_OPERATORS:
        return ""
    if attribute.type is DATE or (attribute.type is TIMESTAMP and operator in ("lt", "gte") and is_date(operand)):
        day = day_words(operand)
        return day and f"{label} {DATE_OPERATORS[operator]} {day}"
    return f"{label} {NUMBER_OPERATORS[operator]} {name(operand, 60)}" if attribute.type.numeric else ""


def values_in_words(table: Table, caller: Caller, attribute: Attribute, texts: Sequence[str]) -> str:
    shown = texts[:VALUES_SHOWN]
    if reference := table.references.get(attribute.name):
        titles = titles_of(reference.table, caller, shown)
        values = [titles.get(each, f"number {each}") for each in shown]
    else:
        values = [value_in_words(attribute, each) for each in shown]
    if len(texts) > len(shown):
        values.append(f"{len(texts) - len(shown):,} more")
    return f"{', '.join(values[:-1])} or {values[-1]}" if len(values) > 1 else values[0]


def value_in_words(attribute: Attribute, text: str) -> str:
    if text in (attribute.info.allowed_values or attribute.info.common_values):
        return words(text)
    return (day_words(text) if attribute.type is DATE else "") or name(text, 60)


def day_words(text: str) -> str:
    try:
        return long_day(read_date(text))
    except Fault:
        return ""


def titles_of(table: Table, caller: Caller, keys: Sequence[str]) -> dict[str, str]:
    """Return the titles of the rows with these keys that the caller may read."""
    if not table.permits(caller, Action.READ) or len(table.relation.key) > 1:
        return {}
    text = f"select={table.title_select}&{table.relation.key[0]}=in.({','.join(keys)})"
    rows = queries.select_rows(caller, table.name, text, limit=len(keys)).rows
    return {table.key_text(row): short_title(table.title(row)) for row in rows}
