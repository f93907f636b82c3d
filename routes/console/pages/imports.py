"""The import of CSV files: choose a file, see what its columns mean and its errors, then write its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from flask import Response, g, request

from access import policy
from access.caller import Caller
from access.decorators import load_caller
from engine.current import reading, writing
from engine.query.rule import Action
from inspections.faults import SkippedLines
from inspections.imports.cells import DATE_FORMATS, YMD
from inspections.imports.mapping import (
    BUILDINGS,
    CHECKS,
    DEVICES,
    FINDINGS,
    FOUND_ON,
    INSPECTIONS,
    READINGS,
    SCHEDULES,
    TARGETS,
    UNIT,
    sources_of,
)
from inspections.imports.reader import decode
from models.types import BIGINT, DATE, DOUBLE, INTEGER, TIMESTAMP
from routes.console.components import fields, queries
from routes.console.components.display import label_of
from routes.console.components.fields import Choice, Field, FormValues
from routes.console.components.page import bp, redirect_to, render_page
from routes.console.components.records import field_of, only_choice, save
from routes.console.components.submissions import once
from routes.console.components.tables import Table, table_of
from routes.console.components.template_filters import counted, words
from routes.console.session import auth
from routes.functions.registry import FUNCTIONS
from routes.postgrest import errors
from routes.postgrest.requests import UnknownPath

IMPORT: Final = "import_csv"
WRITE: Final = "write"
DEFAULTS: Final[Mapping[str, tuple[str, ...]]] = {
    BUILDINGS: ("client_id", "city", "state"),
    INSPECTIONS: ("building_id", "inspection_type", "status", "inspector_id"),
    READINGS: ("inspection_id", "gun_id"),
    CHECKS: ("inspection_id", "gun_id"),
    FINDINGS: ("inspection_id", "severity"),
    SCHEDULES: ("building_id", "inspection_type", "unit", "inspector_id"),
}
"""The columns for which the form has a value of the lines that have none."""

FORMAT_NAMES: Final = dict(zip(DATE_FORMATS, ("2026-01-31", "01/31/2026", "31/01/2026"), strict=True))
PRESET_NAMES: Final = dict(zip(DEVICES, ("Viken Pb200i", "Niton"), strict=True))
FIELD_NAMES: Final = {UNIT: "Unit", FOUND_ON: "Found on"}


KIND_NAMES: Final = {
    BIGINT: "a whole number",
    INTEGER: "a whole number",
    DOUBLE: "a number",
    DATE: "a date",
    TIMESTAMP: "a date and time",
}
RAW_MESSAGES: Final = (
    ("null value in column", "{label} is missing."),
    ("insert or update on table", "{label}: this row does not exist."),
    ("duplicate key value", "Another row has the same {label}."),
    ("new row for relation", "{label} cannot have this value{allowed}."),
    ("new row violates row-level security", "You may not add a row with this {label}."),
    ("invalid input syntax", "{label} is not {kind}."),
    ("date/time field value", "{label}: this day does not exist."),
    ("value ", "{label} is too large or too small."),
)
"""The beginnings of the database's messages about a value, and what the page says instead."""


class RefusedImport(Exception):
    """An import whose file has errors. Its transaction is rolled back."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__()
        self.result = result


def import_table(caller: Caller, target: str) -> Table:
    """Return the table of a target; raise PermissionDenied if the caller may not insert rows."""
    if target not in TARGETS:
        raise UnknownPath
    table = table_of(target)
    policy.require(caller.profile, Action.INSERT, table.model)
    return table


def form_fields(table: Table, caller: Caller) -> tuple[Field, ...]:
    presets = [Field("preset", "Instrument", "select", choices=fields.choices(DEVICES, PRESET_NAMES))]
    choices = fields.choices(DATE_FORMATS, FORMAT_NAMES)
    dates = Field("date_format", "January 31 is written as", "radio", required=True, choices=choices)
    columns = (
        replace(field_of(table, caller, table.relation.attributes[name]), required=False)
        for name in DEFAULTS[table.name]
    )
    return (*(presets if table.name == READINGS else ()), dates, *columns)


def field_choices(table: Table, preset: str | None) -> tuple[Choice, ...]:
    """Return the fields that a column of the file may fill."""
    names = dict.fromkeys(each.field for each in sources_of(table.name, preset))
    attributes = table.relation.attributes
    return tuple(
        Choice(name, label_of(attributes[name]) if name in attributes else FIELD_NAMES[name]) for name in names
    )


def plain_problem(table: Table, result: Mapping[str, Any], problem: Mapping[str, Any]) -> dict[str, Any]:
    """Return a problem of the check with the label of its column, and without a message of the database."""
    column = problem["column"] or ""
    name = result["mapping"].get(column, column)
    attribute = table.relation.attributes.get(name)
    if attribute is None:
        return {**problem}
    label, allowed = label_of(attribute), ", ".join(map(words, attribute.info.allowed_values))
    text = problem["message"]
    for beginning, plain in RAW_MESSAGES:
        if text.startswith(beginning):
            kind = KIND_NAMES.get(attribute.type, "such a value")
            text = plain.format(label=label, allowed=f": choose one of {allowed}" if allowed else "", kind=kind)
            break
    return {**problem, "column": column if column in result["mapping"] else label, "message": text}


def import_page(
    table: Table, caller: Caller, values: FormValues, text: str = "", result: Any = None, status: int = 200
) -> Response:
    return render_page(
        "import.html",
        status,
        title=f"Import {table.plural.lower()}",
        table=table,
        fields=form_fields(table, caller),
        values=values,
        text=text,
        result=result,
        problems=[plain_problem(table, result, each) for each in result["errors"]] if result else [],
        sample_columns=[*dict.fromkeys(name for row in result["sample"] for name in row)] if result else [],
        warning=errors.lookup(SkippedLines)[1],
        choices=field_choices(table, values.typed.get("preset") or None),
        back=table.home(values.typed),
    )


@bp.get("/import/<target>")
@auth.requires_session()
def show_import(caller: Caller, target: str) -> Response:
    table = import_table(caller, target)
    form = form_fields(table, caller)
    typed = {each.name: request.args.get(each.name, "") or only_choice(each) for each in form}
    return import_page(table, caller, FormValues({**typed, "date_format": YMD}))


@bp.post("/import/<target>")
@auth.requires_call(FUNCTIONS[IMPORT])
def run_import(caller: Caller, target: str) -> Response:
    """Check the file, or write it. The form keeps its text, so the file is sent once."""
    table = import_table(caller, target)
    values = fields.read_texts(form_fields(table, caller), g.form)
    text: str = g.form.get("csv", "")

    def store() -> Response:
        nonlocal text
        is_new = bool(g.get("file"))
        if is_new:
            text = decode(g.file)
        arguments = import_arguments(target, values.typed, text, has_mapping=not is_new)
        if WRITE in g.form and not is_new:
            try:
                return written_page(table, values.typed, write(arguments))
            except RefusedImport as refused:
                return import_page(table, caller, values, text, refused.result, 400)
        with reading(FUNCTIONS[IMPORT].seconds_max) as transaction:
            result = queries.call(transaction, caller, IMPORT, arguments)
        return import_page(table, caller, values, text, result)

    return save(values, store, lambda status: import_page(table, caller, values, text, None, status))


def import_arguments(target: str, typed: Mapping[str, str], text: str, *, has_mapping: bool) -> dict[str, Any]:
    columns = [*zip(g.form.getlist("column"), g.form.getlist("field"), strict=False)] if has_mapping else []
    return {
        "p_target": target,
        "p_csv": text,
        "p_preset": typed.get("preset", ""),
        "p_mapping": {column: name or None for column, name in columns} or None,
        "p_defaults": {name: typed[name].strip() for name in DEFAULTS[target] if typed[name].strip()},
        "p_date_format": typed["date_format"],
        "p_dry_run": True,
    }


def write(arguments: dict[str, Any]) -> dict[str, int]:
    """Write the rows in an own transaction, and return their numbers; raise RefusedImport."""
    with writing(seconds_max=FUNCTIONS[IMPORT].seconds_max) as transaction:
        caller = load_caller(transaction)

        def insert_rows() -> dict[str, int]:
            result = queries.call(transaction, caller, IMPORT, {**arguments, "p_dry_run": False})
            if result["errors_total"]:
                raise RefusedImport(result)
            return {name: result[name] for name in ("inserted", "already", "checks")}

        counts: dict[str, int] = once(transaction, caller, IMPORT, insert_rows)
    return counts


def written_page(table: Table, typed: Mapping[str, str], counts: Mapping[str, int]) -> Response:
    parts = [f"{counted(counts['inserted'], table.noun)} imported"]
    parts += [f"{counts['already']:,} existed before"] if counts["already"] else []
    parts += [counted(counts["checks"], "calibration check")] if counts["checks"] else []
    return redirect_to(table.home(typed), f"{', '.join(parts)}.")
