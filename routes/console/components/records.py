"""Create and edit forms of any table: save the row, or show the form again with its problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from flask import Response, g, request

from access.caller import Caller
from access.decorators import load_caller
from engine.current import writing
from engine.query.catalog import Attribute
from engine.query.rule import Action
from models.errors import Fault
from models.fields import TENANT_COLUMN
from models.types import DATE, DOUBLE
from routes.console.components import fields, queries
from routes.console.components.conflicts import ANOTHER_USER, changes_by_field
from routes.console.components.display import label_of
from routes.console.components.error_pages import (
    fault_message,
    fault_status,
    field_of_fault,
    is_shown_in_form,
    record_fault,
    with_retry_after,
)
from routes.console.components.fields import Choice, EditConflict, Field, FormValues
from routes.console.components.page import redirect_to, render_page
from routes.console.components.queries import Row
from routes.console.components.row_choice import row_choice
from routes.console.components.tables import PATH, Section, Table
from routes.console.components.template_filters import words
from routes.console.session.redirects import safe_redirect
from routes.postgrest.requests import UnknownPath

NEXT = "next"  # a button that creates the row and opens the next form
PREVIEW = "preview"  # a button that shows the form again


@dataclass(frozen=True, slots=True)
class RecordForm:
    """A form that creates and edits rows of a table. `defaults` are values of a new row without a field."""

    table: Table
    fields: tuple[Field, ...]
    defaults: Row = field(default_factory=dict)
    verb: str = "Edit"
    """The beginning of the heading of the form of a row."""
    initial: Mapping[str, str] = field(default_factory=dict)
    """Values that the form of a new row shows unless the URL has others."""
    section: Callable[[Mapping[str, str]], Section | None] = field(default=lambda texts: None)
    """Returns a part of the form from its values."""
    preview: Callable[[FormValues], FormValues] = field(default=lambda values: values)
    """Returns the values of the form after a button of its part, from the submitted values."""
    find_problems: Callable[[Mapping[str, str]], dict[str, str]] = field(default=lambda texts: {})
    """Returns the problems of the values of a row, by field."""
    next_label: str = ""
    """The label of a second button of the form of a new row."""
    next_path: Callable[[Row, object], str] = field(default=lambda row, key: "")
    """Returns the path that the second button opens, from the new row and its key. An empty text opens the row."""

    def read(self) -> FormValues:
        """Return the values of the submitted form."""
        return fields.read_form_values(self.fields, g.form, self.table.relation)


FormOf = Callable[[Table, Caller], RecordForm]
"""Returns the form of a table's rows."""


def record_form(table: Table, caller: Caller, choices: Mapping[str, str] | None = None) -> RecordForm:
    """Return the form of a table's rows. `choices` are filters of the rows to choose from, by column.

    Columns with a default have no field. A user of one client creates rows of that client only.
    """
    defaults: Row = {}
    if table.model.tenant in table.references and table.parent is None and caller.client_id is not None:
        defaults[table.model.tenant or ""] = caller.client_id
    attributes = [
        each for each in table.relation.attributes.values() if each.name not in defaults and each.name in table.writable
    ]
    filters = choices or {}
    form_fields = tuple(field_of(table, caller, each, filters.get(each.name, "")) for each in attributes)
    return RecordForm(table, form_fields, defaults)


def field_of(table: Table, caller: Caller, attribute: Attribute, choice_filter: str = "") -> Field:
    """Return the field of a column. `choice_filter` selects the rows to choose from."""
    info, label = attribute.info, label_of(attribute)
    required = attribute.required and attribute.stored_default is None
    if reference := table.references.get(attribute.name):
        return row_choice(caller, table, reference, label, choice_filter, required=required)
    known = info.allowed_values or info.common_values
    if known:
        kind = "select" if info.allowed_values else "other"
        choices = tuple(Choice(each, words(each)) for each in known)
        return Field(attribute.name, label, kind, required, choices, info.help)
    kind, step = "textarea" if info.multiline else "text", ""
    if attribute.type.numeric:
        kind, step = "number", "any" if attribute.type is DOUBLE else "1"
    elif attribute.type is DATE:
        kind = "date"
    return Field(
        attribute.name,
        label,
        kind,
        required,
        hint=info.help,
        step=step,
        placeholder="" if info.example is None or kind in ("date", "textarea") else str(info.example),
        minimum=info.minimum,
        maximum=info.maximum,
        characters_max=fields.NAME_CHARACTERS_MAX if attribute.name == "name" else None,
    )


def new_row(table: Table, caller: Caller, form: FormOf = record_form) -> Response:
    record = form(table, caller)
    defaults = {name: fields.as_text(each.stored_default) for name, each in table.relation.attributes.items()}
    defaults |= record.initial
    typed = {
        each.name: request.args.get(each.name) or defaults[each.name] or only_choice(each) for each in record.fields
    }
    return form_page(record, FormValues(typed))


def only_choice(each: Field) -> str:
    """Return the only choice of a required field or of a client. Otherwise return an empty text."""
    is_expected = each.required or each.name == TENANT_COLUMN
    return each.choices[0].value if is_expected and len(each.choices) == 1 else ""


def create_row(table: Table, caller: Caller, form: FormOf = record_form) -> Response:
    record = form(table, caller)
    values = record.read()
    if PREVIEW in g.form:
        return form_page(record, record.preview(values))
    values.problems.update(row_problems(record, values.typed))

    def store() -> Response:
        key = queries.insert(table.name, {**values.row, **record.defaults})
        following = record.next_path(values.row, key) if NEXT in g.form else ""
        return redirect_to(following or table.home(values.row, key), f"{table.label} created.")

    return save(values, store, lambda status: form_page(record, values, None, status))


def edit_row(table: Table, caller: Caller, key: object, form: FormOf = record_form) -> Response:
    record = form(table, caller)
    row = require_row(caller, Action.UPDATE, table.name, table.filters(key), f"select={table.select('*')}")
    shown = fields.row_texts(record.fields, row)
    return form_page(record, fields.initial_values(record.fields, shown), row)


def update_row(table: Table, caller: Caller, key: object, form: FormOf = record_form) -> Response:
    """Save the fields that differ from the row.

    Read the row again in the write transaction, and raise EditConflict if it has changed since the merge.
    """
    record, filters = form(table, caller), table.filters(key)
    row = require_row(caller, Action.UPDATE, table.name, filters, f"select={table.select('*')}")
    before = fields.row_texts(record.fields, row)
    values = merge_form(record.fields, record.read(), before)
    values.problems.update(conflict_problems(record, caller, values, before, table.key_text(row)))
    if PREVIEW in g.form:
        return form_page(record, record.preview(values), row)
    texts = {name: fields.as_text(value) for name, value in row.items()}
    old_problems = row_problems(record, texts).items()
    values.problems.update(row_problems(record, {**texts, **values.typed}).items() - old_problems)

    def store() -> Response:
        if values.changed:
            with writing() as transaction:
                now = load_caller(transaction)
                current = require_row(now, Action.UPDATE, table.name, filters)
                require_unchanged(before, fields.row_texts(record.fields, current))
                require_written(queries.update(transaction, now, table.name, filters, values.row))
        back = chosen_back()
        home = back or table.home({**row, **values.row}, key)
        return redirect_to(home, "Changes saved.", anchor=f"{table.name}-{key}" if back else "")

    return save(values, store, lambda status: form_page(record, values, row, status))


def row_problems(record: RecordForm, texts: Mapping[str, str]) -> dict[str, str]:
    """Return the problems of a row by field. One without a field concerns the whole form."""
    names = {each.name for each in record.fields}
    return {name if name in names else "": text for name, text in record.find_problems(texts).items()}


def form_page(record: RecordForm, values: FormValues, row: Row | None = None, status: int = 200) -> Response:
    table = record.table
    return render_page(
        "form.html",
        status,
        title=f"{record.verb} {table.describe(row)}" if row else f"New {table.noun}",
        back=chosen_back() or (table.home(row, table.key_text(row)) if row else table.home(values.typed)),
        fields=record.fields,
        values=values,
        more=record.section(values.typed),
        verb="Save" if row else "Create",
        next_label="" if row else record.next_label,
    )


# Shared with other forms


def chosen_back() -> str:
    """Return the page of the console that the URL of the form returns to, or an empty text."""
    return safe_redirect(PATH + request.args.get("back", "")).removeprefix(PATH)


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


def conflict_problems(
    record: RecordForm, caller: Caller, values: FormValues, shown: Mapping[str, str], key: str
) -> dict[str, str]:
    """Return the messages of the conflicts of a row, with who changed each field and when."""
    changes = changes_by_field(caller, record.table.name, key, values.conflicts) if values.conflicts else {}
    return {
        each.name: fields.conflict_message(each, shown[each.name], changes.get(each.name, ANOTHER_USER))
        for each in record.fields
        if each.name in values.conflicts
    }


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
        values.problems[field_of_fault(fault, values.typed)] = fault_message(fault)
        return with_retry_after(show_form(fault_status(fault)), fault)
