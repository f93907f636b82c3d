"""The open visits of an inspector, from one day to another, are handed over to another inspector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from flask import Response, g

from access.caller import Caller
from access.session import current_time
from engine.open import local_day
from engine.query.statement import Action
from models import Inspection
from models.types import DATE, InvalidInput
from models.vocabulary import OPEN_STATUSES
from routes.console.components import fields, queries
from routes.console.components.fields import Field, FormValues
from routes.console.components.lists import CHOSEN_MAX
from routes.console.components.records import FunctionForm, field_of, save
from routes.console.components.tables import Row, table_of
from routes.console.pages.inspections import NAME, ask
from routes.console.session import auth
from routes.console.session.urls import console_url
from routes.http.faults import UnknownPath

INSPECTORS, TO = "inspectors", "inspector_id"
DAYS = (
    Field("first_day", "From", "date", hint="Empty: the late visits, too."),
    Field("last_day", "To", "date", hint="Empty: all later visits. Without both days, also visits without a date."),
)


def hand_over_links(caller: Caller, row: Row) -> list[tuple[str, str]]:
    """Return the button of an inspector's page, for users who change inspections."""
    if not table_of(NAME).permits(caller, Action.UPDATE):
        return []
    return [("Hand over", console_url(f"/{INSPECTORS}/{row['id']}/hand_over"))]


def hand_over_form(caller: Caller, key: int) -> FunctionForm:
    inspectors, inspections = table_of(INSPECTORS), table_of(NAME)
    row = queries.first_row(caller, INSPECTORS, f"select={inspectors.title_select}&id=eq.{key}")
    if row is None:
        raise UnknownPath
    to = replace(field_of(inspections, caller, inspections.relation.attributes[TO]), label="To whom", required=True)
    return FunctionForm(
        f"Hand over the open visits of {inspectors.title(row)}", "Preview", (*DAYS, to), f"/{INSPECTORS}/{key}"
    )


@auth.requires(Action.UPDATE, Inspection)
def show_hand_over(caller: Caller, key: int) -> Response:
    return hand_over_form(caller, key).page(FormValues({"first_day": str(local_day(current_time()))}))


@auth.requires(Action.UPDATE, Inspection)
def preview_hand_over(caller: Caller, key: int) -> Response:
    """Show the preview of the change, whose form is that of the ticked rows of a list."""
    form = hand_over_form(caller, key)
    values = fields.read_texts(form.fields, g.form)

    def preview() -> Response:
        return ask(caller, TO, open_visits(caller, key, values.typed), values.typed, form.back)

    return save(values, preview, lambda code: form.page(values, code))


def open_visits(caller: Caller, key: int, typed: Mapping[str, str]) -> list[Row]:
    """Return the open visits of an inspector that the caller may change; raise InvalidInput for none or too many."""
    table = table_of(NAME)
    days = [(operator, typed[name].strip()) for name, operator in (("first_day", "gte"), ("last_day", "lte"))]
    bounds = "".join(f"&date_visited={operator}.{DATE.read_json(day)}" for operator, day in days if day)
    text = f"select={table.list_select(caller)}&inspector_id=eq.{key}&status=in.({','.join(OPEN_STATUSES)}){bounds}"
    found = queries.select_rows(
        caller, NAME, f"{text}&order=date_visited,id", limit=CHOSEN_MAX + 1, within=Action.UPDATE
    )
    if not found.rows:
        raise InvalidInput("No open visits on these days")
    if len(found.rows) > CHOSEN_MAX:
        raise InvalidInput(f"These are more than {CHOSEN_MAX} visits. Choose fewer days")
    return found.rows
