"""A form's fields and a row's columns: what is shown in the one and read into the other, and what becomes
of it where the row has changed in between (decision 0023).

Knows no Flask: fields come as text and leave as what the column's own type makes of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

from engine.query.catalog import Relation
from models.errors import Fault
from models.types import Bound

TOLD_CHARACTERS_MAX = 80  # of what somebody else wrote, beside the field
DIGEST_CHARACTERS = 16  # 64 bits: they tell values apart, and keep none of them secret


class ChangedMeanwhile(Fault):
    """A row that was changed between the look at it and the turn to write (409)."""

    def __init__(self) -> None:
        super().__init__("Somebody else changed this at the same moment. Send it again.")


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
    """What was typed, what it makes, and what is wrong with it.

    Of a row that is changed also: `seen`, what the form shows of it, as `name=digest`; `changed`, the
    fields that differ from it; `conflicts`, those of them that somebody else has changed as well.
    """

    typed: Mapping[str, str]
    row: dict[str, Bound] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    seen: tuple[str, ...] = ()
    changed: frozenset[str] = frozenset()
    conflicts: frozenset[str] = frozenset()


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
    return {each.name: as_text(row.get(each.name)) for each in fields}


def as_text(value: object) -> str:
    return "" if value is None else str(value)


def choices(words: Iterable[str], names: Mapping[str, str] | None = None) -> tuple[Choice, ...]:
    return tuple(Choice(word, (names or {}).get(word, word.replace("_", " "))) for word in words)


# A row that is changed


def untouched(fields: Sequence[Field], shown: Mapping[str, str]) -> Filled:
    """A form as it is first shown, over a row."""
    return Filled(shown, seen=write_seen(fields, shown))


def merged(
    fields: Sequence[Field], filled: Filled, seen: Mapping[str, str], shown: Mapping[str, str]
) -> Filled:
    """What was typed into a form over a row that is now `shown` otherwise, perhaps, than it was `seen`.

    A field that nobody touched follows the row, whatever is wrong with it. One that was touched, and
    was changed by somebody else meanwhile, is a conflict; who sends the form once more has seen that.
    """
    touched = [each for each in fields if not is_left_alone(each, filled, seen, shown)]
    changed = frozenset(each.name for each in touched)
    followed = {each.name: shown.get(each.name, "") for each in fields if each not in touched}
    conflicts = {
        each.name: overtaken(each, shown[each.name])
        for each in touched
        if each.name in shown and seen.get(each.name, "") not in ("", digest(each, shown))
    }
    problems = {name: said for name, said in filled.problems.items() if name in changed}
    return Filled(
        {**filled.typed, **followed},
        {name: value for name, value in filled.row.items() if name in changed},
        problems | conflicts,
        write_seen(fields, shown),
        changed,
        frozenset(conflicts),
    )


def is_left_alone(
    each: Field, filled: Filled, seen: Mapping[str, str], shown: Mapping[str, str]
) -> bool:
    """Whether a field holds what the row holds, or what it held when the form was shown."""
    if digest(each, filled.typed) in (seen.get(each.name), digest(each, shown)):
        return True
    # Another spelling of the same value, such as 7.50, is no change either.
    return each.name in filled.row and as_text(filled.row[each.name]) == shown.get(each.name)


def overtaken(each: Field, now: str) -> str:
    """What is wrong with a field that somebody else has changed to this."""
    label = next((choice.label for choice in each.choices if choice.value == now), now)
    cut = label[:TOLD_CHARACTERS_MAX] + ("…" if len(label) > TOLD_CHARACTERS_MAX else "")
    to = f"“{cut}”" if cut else "nothing"
    return f"{each.label} was changed meanwhile, to {to}. Send it again to keep yours."


def digest(each: Field, texts: Mapping[str, str]) -> str:
    """What stands for a field's text, as a browser sends it back where nobody touched it.

    >>> row = {"notes": "a\\r\\nb"}
    >>> digest(Field("notes", "", "textarea"), row) == digest(Field("notes", ""), {"notes": "a\\nb"})
    False
    >>> digest(Field("notes", ""), row) == digest(Field("notes", ""), {"notes": "ab"})
    True
    """
    text = texts.get(each.name, "").replace("\r\n", "\n").replace("\r", "\n")
    if each.kind != "textarea":
        text = text.replace("\n", "")
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:DIGEST_CHARACTERS]


def write_seen(fields: Iterable[Field], shown: Mapping[str, str]) -> tuple[str, ...]:
    """What a form says of the row that it shows. A password is not shown."""
    return tuple(f"{each.name}={digest(each, shown)}" for each in fields if each.name in shown)


def read_seen(texts: Iterable[str]) -> dict[str, str]:
    """The same, read back; what is none of ours is equal to nothing."""
    return {name: said for name, _, said in (text.partition("=") for text in texts)}
