"""A form's fields and a row's columns: what is shown in the one and read into the other.

Knows no Flask: fields come as text and leave as what the column's own type makes of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field

from models.faults import Fault
from models.sql.catalog import Relation
from models.types import Bound


@dataclass(frozen=True, slots=True)
class Choice:
    """One option of a field."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form. `kind`: an input's type, or `textarea`, `select`, `suggest`."""

    name: str
    label: str
    kind: str = "text"
    required: bool = False
    choices: tuple[Choice, ...] = ()
    hint: str = ""
    autocomplete: str = "off"
    step: str = ""


@dataclass(frozen=True, slots=True)
class Filled:
    """What was typed, what it makes, and what is wrong with it."""

    typed: Mapping[str, str]
    row: dict[str, Bound] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def read(fields: Iterable[Field], form: Mapping[str, str], relation: Relation) -> Filled:
    """The row that a form describes; nothing typed is no value."""
    typed = {each.name: form.get(each.name, "") for each in fields}
    filled = Filled(typed)
    for each in fields:
        text = typed[each.name]
        if not text.strip():
            if each.required:
                filled.problems[each.name] = f"{each.label} is needed."
            filled.row[each.name] = None
            continue
        try:
            kind = relation.attributes[each.name].type
            filled.row[each.name] = kind.read_json(text if kind.name == "text" else text.strip())
        except Fault as fault:
            filled.problems[each.name] = f"{each.label}: {fault.message}."
    return filled


def shown(fields: Iterable[Field], row: Mapping[str, object]) -> dict[str, str]:
    """A row as a form shows it."""
    return {each.name: "" if row.get(each.name) is None else str(row[each.name]) for each in fields}


def choices(words: Iterable[str], names: Mapping[str, str] | None = None) -> tuple[Choice, ...]:
    return tuple(Choice(word, (names or {}).get(word, word.replace("_", " "))) for word in words)
