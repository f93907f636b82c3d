"""Rows that a form makes and changes, of whichever relation: kept, or shown again with what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

from flask import Response
from flask import g

from access.caller import Caller
from access.decorators import load_caller
from engine.current import writing
from engine.query.rule import Action
from models.errors import Fault
from routes.console.components import fields
from routes.console.components import queries as engine
from routes.console.components.fields import ChangedMeanwhile
from routes.console.components.fields import Choice
from routes.console.components.fields import Field
from routes.console.components.fields import Filled
from routes.console.components.page import go
from routes.console.components.page import is_told_in_place
from routes.console.components.page import note
from routes.console.components.page import said
from routes.console.components.page import show
from routes.console.components.page import status_of
from routes.console.components.page import told_to_wait
from routes.console.components.queries import Row
from routes.console.components.template_filters import name as name_of
from routes.postgrest.requests import UnknownPath

LABEL_CHARACTERS_MAX = 80
CHOICES_MAX = 300  # of a drop-down; beyond it the row's number is typed


@dataclass(frozen=True, slots=True)
class Record:
    """What a form makes and changes rows of, as far as one request asks.

    `within` names the rows in question where the id alone does not: those of one inspection. `besides`
    is what a row is made with that the form does not ask. `page_of` is where one goes once it is kept.
    """

    relation: str
    noun: str
    fields: tuple[Field, ...]
    home: str
    within: str = ""
    besides: Row = field(default_factory=dict)
    page_of: Callable[[int | str], str] | None = None
    title: Callable[[Row], str] = lambda row: str(row["id"])

    def page(self, key: int | str) -> str:
        return self.page_of(key) if self.page_of is not None else f"{self.home}/{key}"

    def text(self, key: int) -> str:
        """The query string that names one row."""
        return f"id=eq.{key}{self.within}"

    def read(self) -> Filled:
        """The row that the request's form describes."""
        return fields.read(self.fields, g.form, engine.relation(self.relation))


def new(record: Record, typed: dict[str, str]) -> Response:
    return form_page(record, Filled(typed))


def make(record: Record) -> Response:
    filled = record.read()

    def keep() -> Response:
        key = engine.insert(record.relation, {**filled.row, **record.besides})
        return go(record.page(key), f"The {record.noun} is made.")

    return kept(filled, keep, lambda status: form_page(record, filled, None, status))


def edit(caller: Caller, record: Record, key: int) -> Response:
    found = within_reach(caller, Action.UPDATE, record.relation, record.text(key))
    shown = fields.shown(record.fields, found)
    return form_page(record, fields.untouched(record.fields, shown), found)


def change(caller: Caller, record: Record, key: int) -> Response:
    """Keep what differs from the row. What its form shows of it is looked at once more in the turn to
    write: nothing is written over what somebody else wrote in between."""
    named = record.text(key)
    found = within_reach(caller, Action.UPDATE, record.relation, named)
    before = fields.shown(record.fields, found)
    filled = merged(record.fields, record.read(), before)

    def keep() -> Response:
        if filled.changed:
            with writing() as transaction:
                now = load_caller(transaction)
                row = within_reach(now, Action.UPDATE, record.relation, named)
                require_same(before, fields.shown(record.fields, row))
                require_one(engine.update_in(transaction, now, record.relation, named, filled.row))
        return go(record.page(key), "The changes are kept.")

    return kept(filled, keep, lambda status: form_page(record, filled, found, status))


def form_page(
    record: Record, filled: Filled, row: Row | None = None, status: int = 200
) -> Response:
    return show(
        "form.html",
        status,
        title=f"Change {record.title(row)}" if row else f"New {record.noun}",
        back=record.page(row["id"]) if row else record.home,
        fields=record.fields,
        filled=filled,
        verb="Keep the changes" if row else f"Make the {record.noun}",
    )


# What other forms have in common with these


def within_reach(
    caller: Caller, action: Action, name: str, text: str, select: str = "select=*"
) -> Row:
    """A row that the caller may do that to, or nothing at all."""
    found = engine.one(caller, name, f"{select}&{text}", within=action)
    if found is None:
        raise UnknownPath
    return found


def require_one(written: int) -> None:
    """A row that was not within reach was not there."""
    if not written:
        raise UnknownPath


def merged(asked: Sequence[Field], filled: Filled, shown: Mapping[str, str]) -> Filled:
    """What was typed, over a row as it is now; the form says what it showed of it."""
    return fields.merged(asked, filled, fields.read_seen(g.form.getlist("seen")), shown)


def require_same(before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """What was merged with a row holds as long as the row does."""
    if now != before:
        raise ChangedMeanwhile


def kept(
    filled: Filled, keep: Callable[[], Response], again: Callable[[int], Response]
) -> Response:
    """Keep what a form says and go on; or show it again, with what is wrong with it."""
    if filled.problems:
        return again(409 if filled.conflicts else 400)
    try:
        return keep()
    except Fault as fault:
        if isinstance(fault, UnknownPath) or not is_told_in_place(fault):
            raise
        note(fault)
        filled.problems[""] = said(fault)
        return told_to_wait(again(status_of(fault)), fault)


def picked(
    caller: Caller, name: str, label: str, relation: str, within: Action, *, required: bool = False
) -> Field:
    """A choice among the rows within reach; where they are too many to list, a number."""
    found = engine.first(
        caller, relation, "select=id,name&order=name,id", CHOICES_MAX, within=within
    )
    if found.has_more:
        return Field(
            name,
            f"{label} number",
            "number",
            required,
            hint=f"Its number, as {label.lower()} pages show it.",
        )
    options = tuple(
        Choice(str(row["id"]), name_of(row["name"], LABEL_CHARACTERS_MAX)) for row in found.rows
    )
    return Field(name, label, "select", required, options)
