"""Form fields: read typed text into a row, show a row as text, and merge concurrent edits (decision 0023).

The type of a column converts the text of its field. Nothing here uses Flask.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from access.predicates import PREFIX, Parameter
from engine.query.catalog import Relation
from models.types import BIGINT, DATE, DOUBLE, INTEGER, TEXT, TIMESTAMP, Bound, ColumnType, Fault, InvalidInput
from routes.console.components.template_filters import long_day, words

NAME_CHARACTERS_MAX = 200
CONFLICT_CHARACTERS_MAX = 80  # of another user's value
DIGEST_CHARACTERS = 16  # 64 bits: enough to detect a change; a digest is not secret


KIND_NAMES: Final = {
    BIGINT: "a whole number",
    INTEGER: "a whole number",
    DOUBLE: "a number",
    DATE: "a date",
    TIMESTAMP: "a date and time",
}
VALUE_PROBLEMS: Final = (
    ("null value in column", "{label} is missing."),
    ("insert or update on table", "{label}: this row does not exist."),
    ("duplicate key value", "Another row has the same {label}."),
    ("new row for relation", "{label} cannot have this value{allowed}."),
    ("new row violates row-level security", "You may not add a row with this {label}."),
    ("invalid input syntax", "{label} is not {kind}."),
    ("date/time field value", "{label}: this day does not exist."),
    ("value ", "{label} is too large or too small."),
)
"""The beginnings of the database's messages about a value, and what the console says instead."""


def value_problem(message: str, label: str, kind: ColumnType, allowed: Sequence[str] = ()) -> str:
    """Return the console's words for a database's message about a value; an empty text for any other message.

    >>> value_problem('invalid input syntax for type bigint: "x"', "Floors", BIGINT)
    'Floors is not a whole number.'
    """
    for beginning, plain in VALUE_PROBLEMS:
        if message.startswith(beginning):
            known = f": choose one of {', '.join(map(words, allowed))}" if allowed else ""
            return plain.format(label=label, allowed=known, kind=KIND_NAMES.get(kind, "such a value"))
    return ""


class EditConflict(Fault, status=409):
    """The row was changed while the form was saved (409)."""

    def __init__(self) -> None:
        super().__init__("This was changed at the same time. Submit the form again.")


@dataclass(frozen=True, slots=True)
class Choice:
    """An option of a field."""

    value: str
    label: str


class SeveralMatch(InvalidInput):
    """A typed text that matches rows and names none. `choices` are these rows."""

    def __init__(self, message: str, choices: tuple[Choice, ...]) -> None:
        super().__init__(message)
        self.choices = choices


@dataclass(frozen=True, slots=True)
class Field:
    """A form field. `kind` is the type of an input, or `textarea`, `select`, `other`, `suggest` or `radio`.

    `other` is a select with a text field for other values. `suggest` is a text field with suggestions, or such a select
    of the rows that match. `radio` shows all choices.
    """

    name: str
    label: str
    kind: str = "text"
    required: bool = False
    choices: tuple[Choice, ...] = ()
    hint: str = ""
    autocomplete: str = "off"
    step: str = ""
    placeholder: str = ""
    minimum: float | None = None
    maximum: float | None = None
    characters_max: int | None = None
    generates: bool = False
    """The form offers a random value of this password."""
    resolve: Callable[[str], str] | None = None
    """Returns the key of a row from its typed key or name, or the stored form of a typed timestamp."""
    shown: Callable[[str], str] | None = None
    """Returns the text of the row with a key, or of a stored timestamp."""
    suggest: str = ""
    """The URL that suggests texts."""
    make: tuple[str, str] | None = None
    """Without a choice: the label and the URL of the page that makes one."""
    other: ClassVar = "other…"
    """The value of the option that refers to the text field."""


@dataclass(frozen=True, slots=True)
class FormValues:
    """The values of a form: the typed text, the parsed row, and the problems by field.

    When a form edits a row, `seen` holds the digests of the row that it shows. `changed` names the fields that differ
    from the row. `conflicts` names the changed fields that another user also changed.
    """

    typed: Mapping[str, str]
    row: dict[str, Bound] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    seen: tuple[str, ...] = ()
    changed: frozenset[str] = frozenset()
    conflicts: frozenset[str] = frozenset()
    offers: dict[str, tuple[Choice, ...]] = field(default_factory=dict)
    """By field: the rows that match a typed text which names none."""
    generated: str = ""
    """A new random password, which the form shows once."""

    def note(self, each: Field, fault: Fault, kind: ColumnType = TEXT) -> None:
        """Note the problem of a field, and the rows to choose from."""
        plain = value_problem(fault.message, each.label, kind)
        self.problems[each.name] = plain or f"{each.label}: {fault.message}."
        if isinstance(fault, SeveralMatch):
            self.offers[each.name] = fault.choices


def parameter_fields(parameters: Mapping[str, Parameter]) -> dict[str, Field]:
    """Return the fields of a form that calls a function, by parameter: those of the parameters with a label."""
    return {name: parameter_field(name.removeprefix(PREFIX), each) for name, each in parameters.items() if each.label}


def parameter_field(name: str, parameter: Parameter) -> Field:
    document = parameter.document
    options: tuple[str, ...] = tuple(document.get("enum", ()))  # type: ignore[arg-type]
    kind = "textarea" if parameter.is_multiline else "select" if options else "text"
    if document["type"] == "integer":
        kind = "number"
    elif str(document.get("format")).startswith("date"):
        kind = "date"  # of a time, forms take the day
    offered = tuple(Choice(each, words(each)) for each in options)
    return Field(name, parameter.label, kind, parameter.required, offered, parameter.hint)


def read_texts(fields: Iterable[Field], form: Mapping[str, str], **more: str) -> FormValues:
    """Return the texts of a form, with the problems of names and empty fields. A named row becomes its key."""
    fields = list(fields)
    texts = {each.name: typed_text(each, form) for each in fields} | more
    values = FormValues(texts)
    for each in fields:
        text = texts[each.name]
        if each.required and not text.strip():
            values.problems[each.name] = f"{each.label} is required."
        values.problems.update(length_problem(each, text))
        if each.resolve is not None and text.strip():
            try:
                texts[each.name] = each.resolve(text.strip())
            except Fault as fault:
                values.note(each, fault)
    return values


def read_form_values(fields: Iterable[Field], form: Mapping[str, str], relation: Relation) -> FormValues:
    """Return the texts of a form and the values of a row. An empty field has the column's default, or is NULL."""
    fields = list(fields)
    values = read_texts(fields, form)
    for each in fields:
        text, attribute = values.typed[each.name], relation.attributes[each.name]
        if not text.strip():
            values.row[each.name] = attribute.stored_default
        elif each.name not in values.problems:
            try:
                value = attribute.type.read_json(text if attribute.type.name == "text" else text.strip())
            except Fault as fault:
                values.note(each, fault, attribute.type)
            else:
                values.row[each.name] = value
                values.problems.update(bound_problem(each, value))
    return values


def typed_text(each: Field, form: Mapping[str, str]) -> str:
    """Return the submitted text of a field, which is that of its text field with the option Other."""
    text = form.get(each.name, "")
    is_other = each.kind in ("other", "suggest") and text == each.other
    return form.get(f"{each.name}.other", "") if is_other else text


def bound_problem(each: Field, value: Bound) -> dict[str, str]:
    """Return the problem of a number outside of the bounds of its field, by the name of the field."""
    if isinstance(value, int | float) and each.minimum is not None and value < each.minimum:
        return {each.name: f"{each.label} is at least {each.minimum:g}."}
    if isinstance(value, int | float) and each.maximum is not None and value > each.maximum:
        return {each.name: f"{each.label} is at most {each.maximum:g}."}
    return {}


def length_problem(each: Field, text: str) -> dict[str, str]:
    """Return the problem of a text that is longer than its field, by the name of the field. The API has no limit."""
    if each.characters_max is None or len(text) <= each.characters_max:
        return {}
    message = f"{each.label} has at most {each.characters_max:,} characters. This one has {len(text):,}."
    return {each.name: message}


def row_texts(fields: Iterable[Field], row: Mapping[str, object]) -> dict[str, str]:
    """Return the fields of a row as text."""
    return {each.name: as_text(row.get(each.name)) for each in fields}


def as_text(value: object) -> str:
    return "" if value is None else str(value)


def choices(values: Iterable[str], names: Mapping[str, str] | None = None) -> tuple[Choice, ...]:
    return tuple(Choice(each, (names or {}).get(each, each.replace("_", " "))) for each in values)


# Edits of a row


def initial_values(fields: Sequence[Field], shown: Mapping[str, str]) -> FormValues:
    """Return the values of a form that shows a row for the first time."""
    return FormValues(shown, seen=write_digests(fields, shown))


def merge(fields: Sequence[Field], values: FormValues, seen: Mapping[str, str], shown: Mapping[str, str]) -> FormValues:
    """Merge the typed values with the current row, which may differ from the row that the form showed.

    A field that the user did not change takes the value of the row. A field that the user and another user both changed
    is a conflict. The form then shows the digest of the new value, so a second submit overwrites it.
    """
    edited = [each for each in fields if not is_unchanged(each, values, seen, shown)]
    changed = frozenset(each.name for each in edited)
    unedited = {each.name: shown.get(each.name, "") for each in fields if each not in edited}
    conflicts = frozenset(
        each.name for each in edited if each.name in shown and seen.get(each.name, "") not in ("", digest(each, shown))
    )
    problems = {name: problem for name, problem in values.problems.items() if name in changed - conflicts}
    return FormValues(
        {**values.typed, **unedited},
        {name: value for name, value in values.row.items() if name in changed},
        problems,
        write_digests(fields, shown),
        changed,
        conflicts,
        {name: choices for name, choices in values.offers.items() if name in changed},
    )


def is_unchanged(each: Field, values: FormValues, seen: Mapping[str, str], shown: Mapping[str, str]) -> bool:
    """Return whether a field holds the value of the row, or the value that the form showed."""
    if digest(each, values.typed) in (seen.get(each.name), digest(each, shown)):
        return True
    # Another spelling of the same value, such as 7.50, is not a change.
    return each.name in values.row and as_text(values.row[each.name]) == shown.get(each.name)


def conflict_message(each: Field, now: str, by: str) -> str:
    """Return the message of a field that was changed to this value meanwhile; `by` says who changed it."""
    value = long_day(now) if each.kind == "date" and now else each.shown(now) if each.shown and now else now
    label = next((choice.label for choice in each.choices if choice.value == now), value)
    cut = label[:CONFLICT_CHARACTERS_MAX] + ("…" if len(label) > CONFLICT_CHARACTERS_MAX else "")
    to = f"“{cut}”" if cut else "no value"
    return f"{each.label} was changed {by} to {to}. Submit the form again to overwrite it."


def digest(each: Field, texts: Mapping[str, str]) -> str:
    """Return a digest of a field's text as a browser submits it unchanged.

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


def write_digests(fields: Iterable[Field], shown: Mapping[str, str]) -> tuple[str, ...]:
    """Return the digests of a row as the hidden fields of a form. Passwords have none."""
    return tuple(f"{each.name}={digest(each, shown)}" for each in fields if each.name in shown)


def read_digests(texts: Iterable[str]) -> dict[str, str]:
    """Return the digests that `write_digests` wrote. Invalid text matches no digest."""
    return {name: value for name, _, value in (text.partition("=") for text in texts)}
