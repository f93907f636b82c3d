"""Create and edit forms of any relation: save the row, or show the form again with its problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from flask import Response, g

from access.caller import Caller
from access.decorators import load_caller
from engine.current import writing
from engine.query.rule import Action
from models.errors import Fault
from routes.console.components import fields, queries
from routes.console.components.error_pages import (
    fault_message,
    fault_status,
    is_shown_in_form,
    record_fault,
    with_retry_after,
)
from routes.console.components.fields import Choice, EditConflict, Field, FormValues
from routes.console.components.page import redirect_to, render_page
from routes.console.components.queries import Row
from routes.console.components.template_filters import name as name_of
from routes.postgrest.requests import UnknownPath

LABEL_CHARACTERS_MAX = 80
CHOICES_MAX = 300  # of a select; with more rows, a number field replaces it


@dataclass(frozen=True, slots=True)
class RecordForm:
    """A form that creates and edits rows of a relation.

    `within` limits the rows where the id is not enough, such as the readings of one inspection. `defaults` are values
    of a new row without a field. `page_of` returns the page of a saved row.
    """

    relation: str
    noun: str
    fields: tuple[Field, ...]
    list_path: str
    within: str = ""
    defaults: Row = field(default_factory=dict)
    page_of: Callable[[int | str], str] | None = None
    title: Callable[[Row], str] = lambda row: str(row["id"])

    def page(self, key: int | str) -> str:
        return self.page_of(key) if self.page_of is not None else f"{self.list_path}/{key}"

    def text(self, key: int) -> str:
        """Return the query string of one row."""
        return f"id=eq.{key}{self.within}"

    def read(self) -> FormValues:
        """Return the values of the submitted form."""
        return fields.read_form_values(self.fields, g.form, queries.relation(self.relation))


def render_new_form(record: RecordForm, typed: dict[str, str]) -> Response:
    return form_page(record, FormValues(typed))


def create_row(record: RecordForm) -> Response:
    values = record.read()

    def store() -> Response:
        key = queries.insert(record.relation, {**values.row, **record.defaults})
        return redirect_to(record.page(key), f"{record.noun.capitalize()} created.")

    return save(values, store, lambda status: form_page(record, values, None, status))


def render_edit_form(caller: Caller, record: RecordForm, key: int) -> Response:
    row = require_row(caller, Action.UPDATE, record.relation, record.text(key))
    shown = fields.row_texts(record.fields, row)
    return form_page(record, fields.initial_values(record.fields, shown), row)


def update_row(caller: Caller, record: RecordForm, key: int) -> Response:
    """Save the fields that differ from the row.

    Read the row again in the write transaction, and raise EditConflict if it has changed since the merge.
    """
    filters = record.text(key)
    row = require_row(caller, Action.UPDATE, record.relation, filters)
    before = fields.row_texts(record.fields, row)
    values = merge_form(record.fields, record.read(), before)

    def store() -> Response:
        if values.changed:
            with writing() as transaction:
                now = load_caller(transaction)
                row = require_row(now, Action.UPDATE, record.relation, filters)
                require_unchanged(before, fields.row_texts(record.fields, row))
                require_written(queries.update(transaction, now, record.relation, filters, values.row))
        return redirect_to(record.page(key), "Changes saved.")

    return save(values, store, lambda status: form_page(record, values, row, status))


def form_page(record: RecordForm, values: FormValues, row: Row | None = None, status: int = 200) -> Response:
    return render_page(
        "form.html",
        status,
        title=f"Edit {record.title(row)}" if row else f"New {record.noun}",
        back=record.page(row["id"]) if row else record.list_path,
        fields=record.fields,
        values=values,
        verb="Save" if row else "Create",
    )


# Shared with other forms


def require_row(caller: Caller, action: Action, name: str, text: str, select: str = "select=*") -> Row:
    """Return a row on which the caller may perform the action; raise UnknownPath if there is none."""
    row = queries.first_row(caller, name, f"{select}&{text}", within=action)
    if row is None:
        raise UnknownPath
    return row


def require_written(written: int) -> None:
    """Raise UnknownPath if no row was written."""
    if not written:
        raise UnknownPath


def merge_form(form_fields: Sequence[Field], values: FormValues, shown: Mapping[str, str]) -> FormValues:
    """Merge the submitted values with a row. The hidden fields of the form hold the digests that it showed."""
    return fields.merge(form_fields, values, fields.read_digests(g.form.getlist("seen")), shown)


def require_unchanged(before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Raise EditConflict if the row has changed since it was merged."""
    if now != before:
        raise EditConflict


def save(values: FormValues, store: Callable[[], Response], show_form: Callable[[int], Response]) -> Response:
    """Return the response of `store`; for a problem return the response of `show_form`, which shows the form."""
    if values.problems:
        return show_form(409 if values.conflicts else 400)
    try:
        return store()
    except Fault as fault:
        if isinstance(fault, UnknownPath) or not is_shown_in_form(fault):
            raise
        record_fault(fault)
        values.problems[""] = fault_message(fault)
        return with_retry_after(show_form(fault_status(fault)), fault)


def row_choice(
    caller: Caller, name: str, label: str, relation: str, within: Action, *, required: bool = False
) -> Field:
    """Return a field that selects one of the caller's rows, or a number field if there are too many to list."""
    page = queries.first_page(caller, relation, "select=id,name&order=name,id", CHOICES_MAX, within=within)
    if page.has_more:
        return Field(name, f"{label} number", "number", required, hint=f"Shown on the page of the {label.lower()}.")
    options = tuple(Choice(str(row["id"]), name_of(row["name"], LABEL_CHARACTERS_MAX)) for row in page.rows)
    return Field(name, label, "select", required, options)
