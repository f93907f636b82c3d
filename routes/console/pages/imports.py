"""The import of CSV files: choose a file, see what its columns mean and its errors, then write its rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from flask import Response, g, request

from access import policy
from access.caller import Caller
from access.decorators import load_caller
from access.session import current_time
from engine.open import local_day, reading, writing
from engine.query.statement import Action
from inspections.faults import InvalidImport, RowExists, SkippedLines, UnnamedColumn, UnreadableFile
from inspections.imports.checks import CLOSED_CHOICES
from inspections.imports.reader import decode, first_cells
from inspections.imports.rows import ID, PARENT
from inspections.imports.sources import (
    BUILDINGS,
    CHECKS,
    CLOSED_ON,
    CURRENT_STATUS,
    DATE_FORMATS,
    DECIMAL_MARKS,
    DEVICES,
    DMY,
    FINDINGS,
    INSPECTIONS,
    JOB,
    LOCAL_DATE,
    MDY,
    POINT,
    READINGS,
    SCHEDULES,
    SHORT_YEAR,
    SHOT,
    TARGETS,
    UNIT,
    YMD,
    sources_of,
)
from models.types import DATE, DATE_TEXT, DOUBLE, TIMESTAMP, DatetimeOutOfRange, Fault, InvalidDatetime
from routes.console.components import fields, queries
from routes.console.components.display import label_of, titles_of, value_texts
from routes.console.components.fields import Choice, Field, FormValues
from routes.console.components.page import redirect_to, render_page
from routes.console.components.queries import once
from routes.console.components.records import field_of, only_choice, save
from routes.console.components.row_choice import SUGGESTED_MAX, RowChoice
from routes.console.components.tables import Table, table_of
from routes.console.components.template_filters import capital, counted
from routes.console.session import auth
from routes.functions.rpc import FUNCTIONS
from routes.http.faults import UnknownPath

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
DECIMAL_NAMES: Final = dict(zip(DECIMAL_MARKS, ("1.5", "1,5"), strict=True))
CLOSED_NAMES: Final = dict(zip(CLOSED_CHOICES, ("Leave them out", "Import them as verified"), strict=True))
FIELD_NAMES: Final = {
    UNIT: "Unit of measure",
    SHOT: "Kind of shot",
    JOB: "Job",
    CURRENT_STATUS: "Status of the city",
    CLOSED_ON: "Closed on",
}
JOBS_MAX: Final = 50
LINE_NUMBERS: Final = re.compile(r"[0-9]{1,9}(?:[,;\s]+[0-9]{1,9})*", re.ASCII)
PARAMETER_NAMES: Final = re.compile(r" \(p_[a-z_]+\)")


CODE_NAMES: Final = re.compile(r"(?<=\.)?:? ?\b[a-z_]+_(?:check|key|fkey)\b:? ?")
"""The names of rules in the messages of functions."""
SAME_KEY: Final = re.compile(r"has the same ([a-z_, ]+) and other values")
FIELD_IN_QUOTES: Final = re.compile(r'field "([a-z_]+)", which is no text')
DATE_FAULTS: Final = (InvalidDatetime.code, DatetimeOutOfRange.code)
ORDERS: Final = {MDY: "month/day/year", DMY: "day/month/year"}
MONTHS_MAX: Final = 12


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


def form_fields(table: Table, caller: Caller, jobs: Sequence[str] = (), *, has_ids: bool = False) -> tuple[Field, ...]:
    """Return the fields. `jobs` are those of a file with several, and `has_ids` says that it has ids of rows here."""
    presets = [Field("preset", "Instrument", "select", choices=fields.choices(DEVICES, PRESET_NAMES))]
    choices = fields.choices(DATE_FORMATS, FORMAT_NAMES)
    dates = Field("date_format", "January 31 is written as", "radio", required=True, choices=choices)
    columns = (default_field(table, caller, name) for name in DEFAULTS[table.name])
    return (
        *(presets if table.name == READINGS else ()),
        dates,
        *(DECIMALS if any(each.type is DOUBLE for each in table.relation.attributes.values()) else ()),
        *columns,
        *(visit_fields(table, caller, jobs) if jobs else ()),
        *(TIMES if table.name == READINGS else ()),
        *(CLOSED if table.name == FINDINGS else ()),
        *(IDS if has_ids else ()),
        SKIP_LINES,
    )


def default_field(table: Table, caller: Caller, name: str) -> Field:
    """Return the field of a value that lines leave empty. Of many visits, it suggests the last ones up to today."""
    found = replace(field_of(table, caller, table.relation.attributes[name]), required=False)
    if name != PARENT or found.kind != "suggest":
        return found
    target = table.references[name].table
    within = Action.UPDATE if target.permits(caller, Action.UPDATE) else Action.READ
    choice = RowChoice(caller, target, within, f"date_visited=lte.{local_day(current_time())}")
    text = f"{target.choice_query()}&{choice.filters}"
    return replace(found, choices=tuple(map(choice.suggestion, choice.select(text, SUGGESTED_MAX))))


DECIMALS: Final = (
    Field("decimal", "One and a half is written as", "radio", choices=fields.choices(DECIMAL_MARKS, DECIMAL_NAMES)),
)
TIMES: Final = (
    Field(
        "taken_from",
        "First reading",
        "datetime-local",
        hint="For a file without times: its readings are spread between these two times, in the order of the file.",
    ),
    Field("taken_to", "Last reading", "datetime-local"),
)
CLOSED: Final = (
    Field(
        "closed", "Violations that the city has closed", "select", choices=fields.choices(CLOSED_CHOICES, CLOSED_NAMES)
    ),
)
IDS: Final = (
    Field(
        "existing",
        "Lines with the id of a row here",
        "select",
        choices=(Choice(ID, "Leave them out"),),
        hint="To import such lines as new rows, remove the column id from the file.",
    ),
)
SKIP_LINES: Final = Field("skip_lines", "Lines to leave out", hint="Numbers of lines of the file, such as 8, 9.")


def visit_fields(table: Table, caller: Caller, jobs: Sequence[str]) -> tuple[Field, ...]:
    """Return the field with the visit of each job."""
    visit = field_of(table, caller, table.relation.attributes[PARENT])
    return tuple(
        replace(visit, name=f"visit-{place}", label=f"Visit of the job {job[:60]}", required=False)
        for place, job in enumerate(jobs[:JOBS_MAX])
    )


def add_problems(table: Table, values: FormValues) -> FormValues:
    """Add the problems of the fields, and return the values."""
    typed = values.typed
    for name in DEFAULTS[table.name]:
        attribute, text = table.relation.attributes[name], typed[name].strip()
        try:
            if text and name not in values.problems:
                attribute.type.read_json(text)
        except Fault as fault:
            values.problems[name] = fields.value_problem(fault.message, label_of(attribute), attribute.type)
    if typed["skip_lines"].strip() and not LINE_NUMBERS.fullmatch(typed["skip_lines"].strip()):
        values.problems["skip_lines"] = "Lines to leave out are numbers, such as 8, 9."
    start, end = typed.get("taken_from", ""), typed.get("taken_to", "")
    if bool(start) != bool(end):
        values.problems["taken_to" if start else "taken_from"] = "Give the times of the first and the last reading."
    elif start > end:
        values.problems["taken_to"] = "The last reading precedes the first one."
    return values


def field_choices(table: Table, preset: str | None) -> tuple[Choice, ...]:
    """Return the fields that a column of the file may fill."""
    names = dict.fromkeys(each.field for each in sources_of(table.name, preset))
    return tuple(Choice(name, field_label(table, name)) for name in names)


@dataclass(frozen=True, slots=True)
class FileProblems:
    """The problems of a check in the words of the console. `titles` are those of rows here, by the ids of the file."""

    table: Table
    result: Mapping[str, Any]
    date_format: str
    titles: Mapping[str, str]

    def listed(self) -> list[dict[str, Any]]:
        """Return the problems. The page asks for the fields of unknown columns above its table of columns."""
        return [self.plain(each) for each in self.result["errors"] if each["code"] != UnnamedColumn.code]

    def plain(self, problem: Mapping[str, Any]) -> dict[str, Any]:
        """Return a problem with the label of its column, and without a message of the database."""
        column, text = problem["column"] or "", PARAMETER_NAMES.sub("", problem["message"])
        name = self.result["mapping"].get(column, column)
        attribute = self.table.relation.attributes.get(name)
        if column == ID and problem["code"] == RowExists.code:
            text = self.existing(str(problem["value"]))
        elif attribute is None:
            column = FIELD_NAMES.get(column, column)
        elif problem["code"] in DATE_FAULTS and attribute.type in (DATE, TIMESTAMP) and problem["value"]:
            text = self.date_problem(problem["value"], text)
            column = column if column in self.result["mapping"] else label_of(attribute)
        else:
            label = label_of(attribute)
            text = fields.value_problem(text, label, attribute.type, attribute.info.allowed_values) or text
            column = column if column in self.result["mapping"] else label
        return {**problem, "column": column, "message": capital(self.without_names(text))}

    def existing(self, key: str) -> str:
        """Return what the page says of a line with the id of a row here."""
        title = self.titles.get(key, f"{self.table.label} {key}")
        return (
            f"{title} has this id, and an import changes no row. Leave such lines out by “Lines with the id of a row"
            " here”, or remove the column id from the file"
        )

    def date_problem(self, value: str, text: str) -> str:
        """Return what the page says of a text that is no date, with the order that the dates of the file have."""
        if SHORT_YEAR.match(value):
            return f"the year of {value[:40]} has two digits: write it with four"
        if DATE_TEXT.match(value) and text.startswith("date/time field value"):
            return f"{value[:40]}: this day does not exist"
        order = ORDERS.get(self.likely_order(), "")
        advice = f"; all dates look like {order}: choose that" if order else ""
        if not order and self.date_format == YMD and LOCAL_DATE.match(value):
            advice = f": choose {' or '.join(ORDERS.values())}"
        return f"“{value[:40]}” is no date of the form {FORMAT_NAMES[self.date_format]}{advice}"

    def likely_order(self) -> str:
        """Return the order that all refused dates have; an empty text if they show none, or that of the form."""
        found = [LOCAL_DATE.match(each["value"] or "") for each in self.result["errors"] if each["code"] in DATE_FAULTS]
        firsts = {int(each[1]) > MONTHS_MAX for each in found if each is not None}
        seconds = {int(each[3]) > MONTHS_MAX for each in found if each is not None}
        if True in firsts and True in seconds:
            return ""
        order = MDY if True in seconds else DMY if True in firsts else ""
        return "" if order == self.date_format else order

    def without_names(self, text: str) -> str:
        """Return a text with labels in the place of columns, and without the names of rules."""
        attributes = self.table.relation.attributes
        if same := SAME_KEY.search(text):
            labels = ", ".join(label_of(attributes[each]) for each in same[1].split(", ") if each in attributes)
            text = text.replace(same[1], labels)
        text = CODE_NAMES.sub(" ", text)
        return re.sub(r"\b[a-z]+(?:_[a-z0-9]+)+\b", lambda each: field_label(self.table, each[0]), text).strip()


def field_label(table: Table, name: str) -> str:
    """Return what the page calls a field of a file."""
    attribute = table.relation.attributes.get(name)
    return label_of(attribute) if attribute is not None else FIELD_NAMES.get(name, name)


def titles_of_ids(table: Table, caller: Caller, result: Mapping[str, Any]) -> dict[str, str]:
    """Return the titles of the rows here whose ids lines of the file have."""
    ids = {str(each["value"]) for each in result["errors"] if each["column"] == ID and each["code"] == RowExists.code}
    return titles_of(table, caller, sorted(ids)) if ids else {}


@dataclass(frozen=True, slots=True)
class FileView:
    """The text of the submitted file, and what its columns fill. `is_new`: the caller has not seen what they mean."""

    text: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    is_new: bool = False

    def lines(self, result: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
        """Return each column with its field and its first cell, in the order of the file."""
        filled = dict(self.columns)
        if result is not None:
            filled = {**dict.fromkeys(result["unmapped"], ""), **result["mapping"]}
        cells = first_cells(self.text, filled) if filled else {}
        return [(name, filled.get(name, ""), cells.get(name, "")) for name in cells or filled if name in filled]


def submitted_file(values: FormValues) -> FileView:
    """Return the chosen file, or else the one that the form has kept. Note the problem of a file without text."""
    if g.get("file"):
        try:
            return FileView(decode(g.file), is_new=True)
        except UnreadableFile as fault:
            values.problems["file"] = fault.message
    columns = dict(zip(g.form.getlist("column"), g.form.getlist("field"), strict=False))
    return FileView(g.form.get("csv", ""), columns)


def import_page(
    table: Table, caller: Caller, values: FormValues, file: FileView = FileView(), result: Any = None, status: int = 200
) -> Response:
    jobs = (result["jobs"] if result else sent_jobs(table))[:JOBS_MAX]
    has_ids = bool(values.typed.get("existing")) or (result is not None and asks_about_ids(result))
    choices = field_choices(table, values.typed.get("preset") or None)
    problems = []
    if result:
        problems = FileProblems(
            table, result, values.typed["date_format"], titles_of_ids(table, caller, result)
        ).listed()
    return render_page(
        "import.html",
        status,
        title=f"Import {table.nouns}",
        table=table,
        fields=form_fields(table, caller, jobs, has_ids=has_ids),
        jobs=jobs,
        values=values,
        text=file.text,
        result=result,
        problems=problems,
        is_unknown=result is not None and any(each["code"] == UnnamedColumn.code for each in result["errors"]),
        columns=file.lines(result),
        required=[
            label_of(each)
            for each in table.relation.attributes.values()
            if each.required and not each.has_default and each.name in {choice.value for choice in choices}
        ],
        sample=value_texts(table, caller, result["sample"]) if result else [],
        sample_columns={
            name: field_label(table, name) for name in dict.fromkeys(name for row in result["sample"] for name in row)
        }
        if result
        else {},
        warning=SkippedLines.code,
        choices=choices,
        back=table.home(values.typed),
    )


def sent_jobs(table: Table) -> list[str]:
    """Return the jobs of the submitted form."""
    has_visits = "form" in g and PARENT in table.relation.attributes
    return g.form.getlist("job")[:JOBS_MAX] if has_visits else []


def asks_about_ids(result: Mapping[str, Any]) -> bool:
    return any(each["column"] == ID for each in result["errors"])


@auth.requires_session()
def show_import(caller: Caller, target: str) -> Response:
    table = import_table(caller, target)
    form = form_fields(table, caller)
    typed = {each.name: request.args.get(each.name, "") or only_choice(each) for each in form}
    return import_page(table, caller, FormValues({**typed, "date_format": YMD, "decimal": POINT}))


@auth.requires_call(FUNCTIONS[IMPORT])
def run_import(caller: Caller, target: str) -> Response:
    """Check the file, or write it. The form keeps its text and its columns until it is written."""
    table = import_table(caller, target)
    form = form_fields(table, caller, sent_jobs(table), has_ids="existing" in g.form)
    values = add_problems(table, fields.read_texts(form, g.form))
    file = submitted_file(values)
    if not file.text and not values.problems:
        values.problems["file"] = "Choose a file."

    def store() -> Response:
        arguments = import_arguments(target, values.typed, file)
        try:
            if WRITE in g.form and not file.is_new:
                return written_page(table, values.typed, write(arguments))
            with reading(FUNCTIONS[IMPORT].seconds_max) as transaction:
                result = queries.call(transaction, caller, IMPORT, arguments)
        except RefusedImport as refused:
            return import_page(table, caller, values, file, refused.result, 400)
        except InvalidImport as fault:
            raise InvalidImport(argument_problem(table, fault.message)) from fault
        return import_page(table, caller, values, file, result)

    return save(values, store, lambda status: import_page(table, caller, values, file, None, status))


def argument_problem(table: Table, text: str) -> str:
    """Return what the page says of columns that do not fit the file."""
    found = FIELD_IN_QUOTES.search(text)
    if found is not None:
        return f"Several columns fill {field_label(table, found[1])}, which takes one. Choose one of them."
    return f"{capital(PARAMETER_NAMES.sub('', text)).rstrip('.')}."


def import_arguments(target: str, typed: Mapping[str, str], file: FileView) -> dict[str, Any]:
    return {
        "p_target": target,
        "p_csv": file.text,
        "p_preset": typed.get("preset", ""),
        "p_mapping": {column: name or None for column, name in file.columns.items()} or None,
        "p_defaults": {name: typed[name].strip() for name in DEFAULTS[target] if typed[name].strip()},
        "p_date_format": typed["date_format"],
        "p_decimal": typed.get("decimal") or POINT,
        "p_taken_from": typed.get("taken_from") or None,
        "p_taken_to": typed.get("taken_to") or None,
        "p_split": visits_of_jobs(typed),
        "p_skip_lines": [*map(int, re.findall("[0-9]+", typed["skip_lines"]))],
        "p_closed": typed.get("closed") or None,
        "p_key": [ID] if typed.get("existing") else None,
        "p_dry_run": True,
    }


def visits_of_jobs(typed: Mapping[str, str]) -> dict[str, int] | None:
    """Return the visit of each job for which the form names one; None if it names none."""
    visits = ((job, typed.get(f"visit-{place}", "").strip()) for place, job in enumerate(g.form.getlist("job")))
    return {job: int(visit) for job, visit in visits if visit.isascii() and visit.isdigit()} or None


def write(arguments: dict[str, Any]) -> dict[str, int]:
    """Write the rows in an own transaction, and return their numbers; raise RefusedImport."""
    with reading(FUNCTIONS[IMPORT].seconds_max) as snapshot:
        prepared = queries.prepare(snapshot, load_caller(snapshot), IMPORT, {**arguments, "p_dry_run": False})
    with writing(seconds_max=FUNCTIONS[IMPORT].seconds_max) as transaction:
        caller = load_caller(transaction)

        def insert_rows() -> dict[str, int]:
            result = queries.call_prepared(transaction, caller, IMPORT, prepared)
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
