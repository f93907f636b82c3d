"""Forms that create or edit a row of any table, call a function, or add a row to an inspection.

A problem shows the form again with its input. The form of one line keeps values for the next row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import quote, urlencode

from flask import Response, g, request

from access.caller import SERVICE_CALLER, Caller
from access.decorators import load_caller
from access.session import current_time
from engine.interface.database import stored_timestamp
from engine.open import local_time, writing, zone_info
from engine.query.catalog import Attribute
from engine.query.statement import Action
from models.fields import TENANT_COLUMN
from models.types import BIGINT, DATE, DOUBLE, TIMESTAMP, Fault, InvalidInput, read_timestamp
from routes.console.components import fields, queries
from routes.console.components.display import label_of
from routes.console.components.error_pages import (
    fault_message,
    fault_status,
    field_of_fault,
    is_shown_in_form,
    record_fault,
    with_retry_after,
)
from routes.console.components.fields import Choice, EditConflict, Field, FormValues, as_text
from routes.console.components.page import Pairs, Undo, redirect_to, render_page
from routes.console.components.row_choice import names_of, row_choice
from routes.console.components.tables import Row, Section, Table, table_of
from routes.console.components.template_filters import moment, words
from routes.console.session import auth
from routes.console.session.urls import console_url, page_path
from routes.http.faults import UnknownPath

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

    Columns with a default have no field, and neither have those to which the caller assigns no values. A user of one
    client creates rows of that client only.
    """
    defaults: Row = {}
    if table.model.tenant in table.references and table.parent is None and caller.client_id is not None:
        defaults[table.model.tenant or ""] = caller.client_id
    names = table.writable - defaults.keys() - caller.rule.protected_columns(table.model)
    attributes = [each for each in table.relation.attributes.values() if each.name in names]
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
        return Field(attribute.name, label, kind, required, choices, hint_of(attribute))
    kind, step = "textarea" if info.multiline else "text", ""
    if attribute.type.numeric:
        kind, step = "number", "any" if attribute.type is DOUBLE else "1"
    elif attribute.type is DATE:
        kind = "date"
    is_time = attribute.type is TIMESTAMP
    return Field(
        attribute.name,
        label,
        kind,
        required,
        hint=hint_of(attribute),
        step=step,
        placeholder="" if info.example is None or kind in ("date", "textarea") else str(info.example),
        minimum=info.minimum,
        maximum=info.maximum,
        characters_max=fields.NAME_CHARACTERS_MAX if attribute.name == "name" else None,
        resolve=read_local_time if is_time else None,
        shown=local_time_text if is_time else None,
    )


def hint_of(attribute: Attribute) -> str:
    """Return the help of a column without the sentences that name functions and tables of the API."""
    sentences = re.split(r"(?<=[.:]) ", attribute.info.help)
    return " ".join(each for each in sentences if "_" not in each)


def read_local_time(text: str) -> str:
    """Return the stored form of a typed timestamp, which is in TIMEZONE unless it has an offset."""
    return read_timestamp(text, zone_info())


def local_time_text(text: str) -> str:
    """Return a stored timestamp as a form shows it, in TIMEZONE and with its offset; another text unchanged."""
    try:
        local = local_time(text)
    except ValueError:
        return text
    return local.isoformat(" ", "auto" if local.second or local.microsecond else "minutes")


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


def editing(record: RecordForm) -> RecordForm:
    """Return the form without the fields that only functions change in an existing row."""
    fixed = record.table.relation.insert_only_columns
    return replace(record, fields=tuple(each for each in record.fields if each.name not in fixed))


def edit_row(table: Table, caller: Caller, key: object, form: FormOf = record_form) -> Response:
    record = editing(form(table, caller))
    row = require_row(caller, Action.UPDATE, table.name, table.filters(key), f"select={table.select('*')}")
    shown = fields.row_texts(record.fields, row)
    return form_page(record, fields.initial_values(record.fields, shown), row)


def update_row(table: Table, caller: Caller, key: object, form: FormOf = record_form) -> Response:
    """Save the fields that differ from the row.

    Read the row again in the write transaction, and raise EditConflict if it has changed since the merge.
    """
    record, filters = editing(form(table, caller)), table.filters(key)
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
    return page_path(request.args.get("back"))


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


# Who changed a row while a form showed it: from the audit log, as far as the caller reads it

ENTRIES_READ_MAX: Final = 50
ANOTHER_USER: Final = "by another user"


def changes_by_field(caller: Caller, relation: str, key: str, columns: Collection[str]) -> dict[str, str]:
    """Return by whom and when each field of a row was last changed, after "was changed".

    The caller always learns that they changed it themselves. Otherwise they learn what their rule lets them read: the
    time if they read the entry, and the name if they read the user, too.
    """
    last = last_entries(relation, key, columns)
    ids = {entry["id"] for entry in last.values() if entry["actor_id"] != caller.id}
    text = f"select=id&id=in.({','.join(map(str, ids))})"
    readable = {row["id"] for row in queries.select_rows(caller, "audit_log", text, limit=len(ids)).rows} if ids else ()
    names = names_of(caller, (entry["actor_id"] for entry in last.values()))
    return {column: author(caller, entry, entry["id"] in readable, names) for column, entry in last.items()}


def last_entries(relation: str, key: str, columns: Collection[str]) -> dict[str, Row]:
    """Return the last entry of each field. `changes_by_field` decides what the caller learns of it."""
    filters = f"relation=eq.{relation}&row_key=eq.{quote(key)}&action=in.(insert,update)"
    text = f"select=id,at,actor_id,after&{filters}&order=id.desc"
    last: dict[str, Row] = {}
    for entry in queries.select_rows(SERVICE_CALLER, "audit_log", text, limit=ENTRIES_READ_MAX).rows:
        for column in set(columns) & (entry["after"] or {}).keys() - last.keys():
            last[column] = entry
    return last


def author(caller: Caller, entry: Row, is_readable: bool, names: dict[str, str]) -> str:
    if caller.id is not None and entry["actor_id"] == caller.id:
        return f"by you in another tab, at {moment(entry['at'])},"
    if not is_readable:
        return ANOTHER_USER
    known = names.get(entry["actor_id"] or "")
    return f"{ANOTHER_USER if known is None else f'by {known}'} at {moment(entry['at'])}"


# Saving


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


@dataclass(frozen=True, slots=True)
class FunctionForm:
    """A form whose fields are parameters of a function.

    `hidden` are values that the form keeps, and `more` is a part below the fields. `problems` returns the problems of
    typed values by field.
    """

    title: str
    verb: str
    fields: Sequence[Field]
    back: str
    hidden: Pairs = ()
    more: Section | None = None
    problems: Callable[[Mapping[str, str]], dict[str, str]] | None = None
    result: str = ""
    """The page after the call. It defaults to `back`."""

    def page(self, values: FormValues, status: int = 200) -> Response:
        return render_page(
            "form.html",
            status,
            title=self.title,
            back=self.back,
            fields=self.fields,
            values=values,
            hidden=self.hidden,
            more=self.more,
            verb=self.verb,
        )

    def submit(
        self, call: Callable[[dict[str, str]], tuple[str, Undo | None]], chosen: Mapping[str, str] | None = None
    ) -> Response:
        """Pass the arguments of the form to `call`, and redirect with the message and the undo that it returns.

        `chosen` are values of a button, which count instead of those of the fields.
        """
        values = fields.read_texts(self.fields, {**g.form.to_dict(), **(chosen or {})})
        if self.problems is not None:
            values.problems.update(self.problems(values.typed))
        arguments = {f"p_{name}": text.strip() for name, text in values.typed.items()}

        def store() -> Response:
            return redirect_to(self.result or self.back, *call(arguments))

        return save(values, store, lambda status: self.page(values, status))


def read_ids(texts: Iterable[str]) -> list[int]:
    """Return the different ids of a form's lists; raise InvalidInput if there is none."""
    ids = dict.fromkeys(each for each in ",".join(texts).split(",") if each)
    if not ids:
        raise InvalidInput("Choose at least one row")
    return [int(BIGINT.read_text(each) or 0) for each in ids]


@dataclass(frozen=True, slots=True)
class QuickForm:
    """The columns of the form, and whether each keeps its value for the next row."""

    columns: Mapping[str, bool]
    more: Mapping[str, bool] = field(default_factory=dict)
    """Further columns, in a part that a person opens."""
    radios: tuple[str, ...] = ()
    """Columns whose choices are all in sight, so that one tap chooses."""
    continues: bool = False
    """Whether the first row keeps values, too: those of the inspection's last row."""
    moment: str = ""
    """The column that takes the time at which the row is added."""
    choices: Mapping[str, Callable[[Caller, int], tuple[Choice, ...]]] = field(default_factory=dict)
    """By column: returns the choices in an inspection."""
    complete: Callable[[Row], Row] = field(default=lambda row: row)
    """Returns the row that is added, from the values of the form."""
    find_problems: Callable[[Mapping[str, str]], dict[str, str]] = field(default=lambda texts: {})
    """Returns the problems of the values of a row, by field."""
    photo: bool = False
    """Whether the form takes a photograph of the row."""

    @property
    def kept(self) -> list[str]:
        """The columns that keep their values for the next row."""
        return [name for name, is_kept in {**self.columns, **self.more}.items() if is_kept]


QUICK_FORMS = {
    "findings": QuickForm(
        {"place": True, "item": False, "description": False, "severity": True}, radios=("severity",), photo=True
    )
}
"""By table. The modules of the pages add theirs."""


def quick_record(table: Table, caller: Caller, inspection_id: int) -> RecordForm:
    form = QUICK_FORMS[table.name]
    fields = tuple(quick_field(table, caller, name, inspection_id) for name in (*form.columns, *form.more))
    return RecordForm(table, fields, find_problems=form.find_problems)


def quick_field(table: Table, caller: Caller, name: str, inspection_id: int) -> Field:
    form, found = QUICK_FORMS[table.name], field_of(table, caller, table.relation.attributes[name])
    if name in form.choices:
        return replace(found, kind="select", choices=form.choices[name](caller, inspection_id))
    kind = "radio" if name in form.radios else found.kind
    return replace(found, kind="text" if kind == "textarea" else kind)


def quick_entry(table: Table, caller: Caller, inspection: Row) -> dict[str, object]:
    """Return the values of the form on the page of an inspection."""
    quick, record = QUICK_FORMS[table.name], quick_record(table, caller, inspection["id"])
    kept = {name: request.args[name] for name in quick.kept if name in request.args}
    if quick.continues and not kept:
        text = f"select={','.join(quick.kept)}&inspection_id=eq.{inspection['id']}&order=id.desc"
        kept = {name: as_text(value) for name, value in (queries.first_row(caller, table.name, text) or {}).items()}
    return {
        "fields": record.fields[: len(quick.columns)],
        "more": record.fields[len(quick.columns) :],
        "is_open": any(kept.get(name) for name in quick.more),
        "form_values": FormValues({**defaults_of(record), **kept}),
        "path": console_url(f"/inspections/{inspection['id']}/add/{table.name}"),
        "noun": table.noun,
        "keeps": " ".join(quick.kept),
        "photo": quick.photo,
    }


def defaults_of(record: RecordForm) -> dict[str, str]:
    attributes = record.table.relation.attributes
    return {each.name: as_text(attributes[each.name].stored_default) for each in record.fields}


def quick_page(table: Table, record: RecordForm, back: str) -> FunctionForm:
    more = ("quick_photo.html", {"takes_files": True}) if QUICK_FORMS[table.name].photo else None
    return FunctionForm(f"Add {table.noun}", f"Add {table.noun}", record.fields, back, more=more)


@auth.requires_session()
def show_quick_entry(caller: Caller, key: int, table_name: str) -> Response:
    """Show the form on a page of its own, whose address a form with a problem has."""
    if table_name not in QUICK_FORMS or not queries.records_visit(caller, key):
        raise UnknownPath
    table = table_of(table_name)
    record = quick_record(table, caller, key)
    given = {each.name: request.args[each.name] for each in record.fields if each.name in request.args}
    return quick_page(table, record, f"/inspections/{key}").page(FormValues({**defaults_of(record), **given}))


@auth.requires_session(writes=True)
def add_row(caller: Caller, key: int, table_name: str) -> Response:
    if table_name not in QUICK_FORMS:
        raise UnknownPath
    return submit_quick_entry(caller, key, table_name)


def submit_quick_entry(
    caller: Caller, key: int, table_name: str, insert: Callable[[str, Row], object] = queries.insert
) -> Response:
    """Add a row by `insert`, and return to the form with the values that it keeps."""
    table, quick = table_of(table_name), QUICK_FORMS[table_name]
    record, back = quick_record(table, caller, key), f"/inspections/{key}"
    values = record.read()
    values.problems.update(row_problems(record, values.typed))

    def store() -> Response:
        moment = {quick.moment: stored_timestamp(int(current_time()))} if quick.moment else {}
        insert(table_name, {**quick.complete({**values.row, **moment}), "inspection_id": key})
        kept = {each: values.typed[each] for each in quick.kept}
        return redirect_to(f"{back}?{urlencode(kept)}", f"{table.label} added.", anchor=table_name)

    form = quick_page(table, record, back)
    return save(values, store, lambda status: form.page(values, status))
