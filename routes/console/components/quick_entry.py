"""The form of one line that adds a row to an inspection, and keeps values for the next row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from flask import Response, request

from access.authentication import current_time
from access.caller import Caller
from engine.interface.transaction import stored_timestamp
from routes.console.components import queries
from routes.console.components.fields import FormValues, as_text
from routes.console.components.function_forms import FunctionForm
from routes.console.components.page import bp, redirect_to
from routes.console.components.records import RecordForm, field_of, row_problems, save
from routes.console.components.tables import PATH, Row, Table, table_of
from routes.console.session import auth
from routes.postgrest.requests import UnknownPath


@dataclass(frozen=True, slots=True)
class QuickForm:
    """The columns of the form, and whether each keeps its value for the next row."""

    columns: Mapping[str, bool]
    radios: tuple[str, ...] = ()
    """Columns whose choices are all in sight, so that one tap chooses."""
    continues: bool = False
    """Whether the first row keeps values, too: those of the inspection's last row."""
    moment: str = ""
    """The column that takes the time at which the row is added."""
    find_problems: Callable[[Mapping[str, str]], dict[str, str]] = field(default=lambda texts: {})
    """Returns the problems of the values of a row, by field."""

    @property
    def kept(self) -> list[str]:
        """The columns that keep their values for the next row."""
        return [name for name, is_kept in self.columns.items() if is_kept]


QUICK_FORMS = {
    "findings": QuickForm({"place": True, "item": False, "description": False, "severity": False}, radios=("severity",))
}
"""By table. The modules of the pages add theirs."""


def quick_record(table: Table, caller: Caller) -> RecordForm:
    attributes = table.relation.attributes
    form = QUICK_FORMS[table.name]
    kinds = dict.fromkeys(form.radios, "radio")
    quick = [field_of(table, caller, attributes[name]) for name in form.columns]
    return RecordForm(
        table,
        tuple(
            replace(each, kind="text" if each.kind == "textarea" else kinds.get(each.name, each.kind)) for each in quick
        ),
        find_problems=form.find_problems,
    )


def quick_entry(table: Table, caller: Caller, inspection: Row) -> dict[str, object]:
    """Return the values of the form on the page of an inspection."""
    quick = QUICK_FORMS[table.name]
    kept = {name: request.args[name] for name in quick.kept if name in request.args}
    if quick.continues and not kept:
        text = f"select={','.join(quick.kept)}&inspection_id=eq.{inspection['id']}&order=id.desc"
        kept = {name: as_text(value) for name, value in (queries.first_row(caller, table.name, text) or {}).items()}
    return {
        "fields": quick_record(table, caller).fields,
        "form_values": FormValues(kept),
        "path": f"{PATH}/inspections/{inspection['id']}/add/{table.name}",
        "noun": table.noun,
    }


def quick_page(table: Table, record: RecordForm, back: str) -> FunctionForm:
    return FunctionForm(f"Add {table.noun}", f"Add {table.noun}", record.fields, back)


@bp.get("/inspections/<int:key>/add/<table_name>")
@auth.requires_session()
def show_quick_entry(caller: Caller, key: int, table_name: str) -> Response:
    """Show the form on a page of its own, whose address a form with a problem has."""
    if table_name not in QUICK_FORMS or not queries.conducts(caller, key):
        raise UnknownPath
    table = table_of(table_name)
    return quick_page(table, quick_record(table, caller), f"/inspections/{key}").page(FormValues({}))


@bp.post("/inspections/<int:key>/add/<table_name>")
@auth.requires_session(writes=True)
def add_row(caller: Caller, key: int, table_name: str) -> Response:
    """Add a row, and return to the form with the values that it keeps."""
    if table_name not in QUICK_FORMS:
        raise UnknownPath
    table, quick = table_of(table_name), QUICK_FORMS[table_name]
    record, back = quick_record(table, caller), f"/inspections/{key}"
    values = record.read()
    values.problems.update(row_problems(record, values.typed))

    def store() -> Response:
        moment = {quick.moment: stored_timestamp(int(current_time()))} if quick.moment else {}
        queries.insert(table_name, {**values.row, **moment, "inspection_id": key})
        kept = {each: values.typed[each] for each in quick.kept}
        return redirect_to(f"{back}?{urlencode(kept)}", f"{table.label} added.", anchor=table_name)

    form = quick_page(table, record, back)
    return save(values, store, lambda status: form.page(values, status))
