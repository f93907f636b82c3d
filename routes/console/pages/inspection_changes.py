"""Changes of many inspections: assign an inspector, move the date, or cancel. A preview comes before the write."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from flask import Response, g, request
from werkzeug.datastructures import MultiDict

from access.caller import Caller
from access.decorators import load_caller
from engine.current import writing
from engine.query.rule import Action
from models import Inspection
from models.types import BIGINT, DATE, InvalidInput
from models.vocabulary import CANCELLED, IN_PROGRESS, SCHEDULED
from routes.console.components import fields, queries
from routes.console.components.bulk import CHOSEN_MAX, ask_for_ticks, chosen_rows, return_path
from routes.console.components.fields import EditConflict, Field
from routes.console.components.function_forms import FunctionForm, read_ids
from routes.console.components.lists import Link, MoreFilters
from routes.console.components.page import Undo, bp, redirect_to, render_confirmation
from routes.console.components.records import field_of, save
from routes.console.components.tables import PATH, Row, table_of
from routes.console.components.template_filters import counted, long_day, short_name, status
from routes.console.session import auth
from routes.postgrest.limits import LimitExceeded
from routes.postgrest.requests import UnknownPath

NAME = "inspections"
FILTERS = MoreFilters({"status": {f"in.({SCHEDULED},{IN_PROGRESS})": "Open"}})
LABELS = {"inspector_id": "Assign an inspector", "date_visited": "Move the date", "status": "Cancel the visits"}
"""The button of each column that many inspections change at once."""
MOVE_FIELDS = (
    Field("date", "New date", "date"),
    Field("days", "Or move by days", "number", hint="A negative number moves to an earlier day.", step="1"),
)

VALUES = {"inspector_id": "inspectors", "date_visited": "days"}
VALUES_NAMED_MAX = 3  # of a message, which counts more values

Edits = dict[tuple[str, str], list[int]]
"""Inspections by the text of the value before and after an edit."""


def change_buttons(caller: Caller) -> list[Link]:
    """Return the buttons below a list of inspections."""
    if not table_of(NAME).permits(caller, Action.UPDATE):
        return []
    return [(label, f"{PATH}/{NAME}/change/{column}") for column, label in LABELS.items()]


@bp.get(f"/{NAME}/change/<column>")
@auth.requires(Action.UPDATE, Inspection)
def show_change(caller: Caller, column: str) -> Response:
    back = return_path(request.args, NAME)
    try:
        rows = read_rows(caller, column, request.args)
        if not rows:
            return ask_for_ticks(back, "inspection", LABELS[column])
        if column == "status":
            return ask(caller, column, rows, {}, back)
    except (InvalidInput, LimitExceeded) as fault:
        return ask_for_ticks(back, "inspection", LABELS[column], fault)
    return change_form(caller, column, rows, request.args).page(fields.FormValues({}))


@bp.post(f"/{NAME}/change/<column>")
@auth.requires(Action.UPDATE, Inspection)
def preview_change(caller: Caller, column: str) -> Response:
    rows = read_rows(caller, column, g.form)
    form = change_form(caller, column, rows, g.form)
    values = fields.read_texts(form.fields, g.form)
    return save(
        values, lambda: ask(caller, column, rows, values.typed, form.back), lambda code: form.page(values, code)
    )


def read_rows(caller: Caller, column: str, source: MultiDict[str, str]) -> list[Row]:
    if column not in LABELS:
        raise UnknownPath
    return chosen_rows(table_of(NAME), caller, source, FILTERS)


def change_form(caller: Caller, column: str, rows: list[Row], source: MultiDict[str, str]) -> FunctionForm:
    table, back = table_of(NAME), return_path(source, NAME)
    own_fields = (
        MOVE_FIELDS if column == "date_visited" else (field_of(table, caller, table.relation.attributes[column]),)
    )
    hidden = (("ids", ",".join(str(row["id"]) for row in rows)), ("back", back))
    return FunctionForm(f"{LABELS[column]}: {counted(len(rows), 'inspection')}", "Preview", own_fields, back, hidden)


def ask(caller: Caller, column: str, rows: list[Row], typed: Mapping[str, str], back: str) -> Response:
    """Return the preview: each inspection with its value before and after."""
    edits: Edits = {}
    lines = []
    chosen = typed.get("inspector_id", "").strip()
    names = inspector_names(caller, [*(fields.as_text(row["inspector_id"]) for row in rows), chosen])
    if chosen and chosen not in names:
        raise InvalidInput("There is no such inspector")
    for row in rows:
        before, after = fields.as_text(row[column]), value_after(column, row, typed)
        if before != after:
            edits.setdefault((before, after), []).append(row["id"])
            shown = [shown_value(column, each, names) for each in (before, after)]
            lines.append(f"{table_of(NAME).title(row)}: {shown[0]} → {shown[1]}")
    if not edits:
        return redirect_to(back, "Nothing changed.")
    return render_confirmation(
        f"{LABELS[column]}: {counted(len(lines), 'inspection')}?",
        "Nothing is saved yet.",
        verb="Save",
        action=f"/{NAME}/change/{column}/confirm",
        back=back,
        fields=(*form_fields(edits), ("back", back)),
        names=lines,
    )


def value_after(column: str, row: Row, typed: Mapping[str, str]) -> str:
    """Return the text of the new value; raise InvalidInput if the row cannot have it."""
    if column == "status":
        if row["status"] not in (SCHEDULED, IN_PROGRESS):
            raise InvalidInput(f"{table_of(NAME).title(row)} is not open")
        return CANCELLED
    if column == "inspector_id":
        return typed[column].strip()
    date, days = typed["date"].strip(), typed["days"].strip()
    if date and days:
        raise InvalidInput("Enter a date or a number of days, not both")
    if not date and not days:
        raise InvalidInput("Enter a date or a number of days")
    if date:
        return str(DATE.read_json(date))
    if row["date_visited"] is None:
        raise InvalidInput(f"{table_of(NAME).title(row)} cannot move by days")
    number = int(BIGINT.read_text(days) or 0)
    try:
        return str(datetime.date.fromisoformat(row["date_visited"]) + datetime.timedelta(number))
    except (ValueError, OverflowError):
        raise InvalidInput("The days lead to no date") from None


def inspector_names(caller: Caller, texts: Iterable[str]) -> dict[str, str]:
    """Return the names of inspectors, as far as the caller sees them, by the text of the id."""
    ids = {BIGINT.read_text(each) for each in texts if each}
    table = table_of("inspectors")
    text = f"select={table.title_select}&id=in.({','.join(map(str, ids))})"
    return {
        str(row["id"]): table.title(row) for row in queries.select_rows(caller, "inspectors", text, limit=len(ids)).rows
    }


def shown_value(column: str, text: str, names: Mapping[str, str]) -> str:
    if not text:
        return "no inspector" if column == "inspector_id" else "no date"
    if column == "inspector_id":
        return names.get(text, "an inspector")
    return status(text) if column == "status" else long_day(text)


def form_fields(edits: Edits) -> list[tuple[str, str]]:
    return [("edit", f"{before}:{after}:{','.join(map(str, ids))}") for (before, after), ids in edits.items()]


# The write


@bp.post(f"/{NAME}/change/<column>/confirm")
@auth.requires(Action.UPDATE, Inspection)
def save_change(caller: Caller, column: str) -> Response:
    """Save all edits, or none if a row has changed since the preview or refuses its edit."""
    if column not in LABELS:
        raise UnknownPath
    edits, back = parse_edits(g.form.getlist("edit")), return_path(g.form, NAME)
    number = sum(map(len, edits.values()))
    if number > CHOSEN_MAX:
        raise LimitExceeded(CHOSEN_MAX, "rows at once")
    done = result_text(caller, column, edits)
    with writing() as transaction:
        now = load_caller(transaction)
        for (before, after), ids in edits.items():
            value: Any = value_of(column, after)
            condition = f"eq.{quote(before)}" if before else "is.null"
            filters = f"id=in.({','.join(map(str, ids))})&{column}={condition}"
            if queries.update(transaction, now, NAME, filters, {column: value}) != len(ids):
                raise EditConflict
    undo = Undo(
        f"/{NAME}/change/{column}/confirm",
        (*form_fields({(after, before): ids for (before, after), ids in edits.items()}), ("back", back)),
    )
    return redirect_to(back, done, undo)


def result_text(caller: Caller, column: str, edits: Edits) -> str:
    """Return what changed, such as "13 inspections assigned to Ines Vega."; many values are counted."""
    numbers: Counter[str] = Counter()
    for (_, after), ids in edits.items():
        numbers[after] += len(ids)
    names = inspector_names(caller, numbers) if column == "inspector_id" else {}
    results = {each: result_of(column, each, short_name(shown_value(column, each, names))) for each in numbers}
    values = [each for each in numbers if each]
    if len(values) > VALUES_NAMED_MAX:
        results[values[0]] = result_of(column, values[0], f"{len(values):,} {VALUES[column]}")
        numbers[values[0]] = sum(numbers.pop(each) for each in values)
    parts = [f"{counted(number, 'inspection')} {results[each]}" for each, number in sorted(numbers.items())]
    return f"{', '.join(parts)}."


def result_of(column: str, after: str, shown: str) -> str:
    if column == "status":
        return shown.lower() if after == CANCELLED else f"set to {shown}"
    if column == "inspector_id":
        return f"assigned to {shown}" if after else "left without an inspector"
    return f"moved to {shown}" if after else "left without a date"


def value_of(column: str, text: str) -> Any:
    return table_of(NAME).relation.attributes[column].type.read_json(text) if text else None


def parse_edits(texts: list[str]) -> Edits:
    edits: Edits = {}
    for text in texts:
        before, _, rest = text.partition(":")
        after, _, ids = rest.partition(":")
        edits[before, after] = read_ids([ids])
    return edits
