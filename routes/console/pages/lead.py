"""Lead inspections: readings and their problems, the checks of each instrument, XRF instruments and lead standards."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from flask import Response

from access.caller import Caller
from access.decorators import load_caller
from access.session import current_time
from engine.interface.database import stored_timestamp
from engine.open import local_day, reading, writing
from engine.query.statement import Action
from inspections.faults import ReportTooLarge
from inspections.lead.assessment import (
    CONFLICT,
    DOUBTFUL,
    LATE,
    NO_CHECK,
    NO_VALUE,
    OTHER_STANDARD,
    OUT_OF_SERVICE,
    OUTSIDE_VISIT,
    UNCONFIRMED,
    UNDECIDED,
    UNKNOWN_GUN,
    Assessed,
    Check,
    Lead,
    Problem,
    read_lead,
)
from inspections.reports.content import remarks_of
from models import CalibrationCheck, ReportLead
from models.vocabulary import ASSUMED, INCONCLUSIVE, LEAD, PAINT_CHIP, XRF
from routes.console.components import queries, records
from routes.console.components.fields import Choice, Field, FormValues
from routes.console.components.lists import list_page
from routes.console.components.page import redirect_to
from routes.console.components.records import (
    FunctionForm,
    QuickForm,
    RecordForm,
    chosen_back,
    require_row,
    require_written,
)
from routes.console.components.tables import Presentation, Row, Section, Table, table_of
from routes.console.components.template_filters import capital, clock, counted, name, short
from routes.console.pages.rows import related_links, related_section
from routes.console.session import auth
from routes.console.session.urls import console_url
from routes.functions.rpc import FUNCTIONS

READINGS = ReportLead.__tablename__
RECLASSIFY = "reclassify_readings"
CHECKS = CalibrationCheck.__tablename__
SHOWN_MAX = 20
DECIMALS_MAX = 3
WORD = re.compile("[a-z]+")
PROBLEMS_SHOWN_MAX = 50
CHOICES_MAX = 100
OF_CHIPS = ("lead_percent", "sample_no", "lab_name", "reported_on")
VALUES = ("lead_mg_cm2", "lead_percent")
LISTED_COLUMNS = (
    "select=id,inspection_id,reading_no,dwelling,room,component,wall,substrate,condition,lead_mg_cm2,lead_percent,"
    "qualifier,result,voided"
)
PLACE_COLUMNS = "select=id,inspection_id,reading_no,dwelling,room,wall,component,lead_mg_cm2,voided"


def now() -> str:
    """Return the present moment as a stored timestamp, in whole seconds."""
    return stored_timestamp(int(current_time()))


def expects_readings(caller: Caller, row: Row) -> bool:
    """Return whether an inspection has readings or checks, or its type names lead."""
    if LEAD in WORD.findall((row["inspection_type"] or "").casefold()):
        return True
    of_visit = f"select=id&inspection_id=eq.{row['id']}"
    return any(queries.first_row(caller, each, of_visit) is not None for each in (READINGS, CHECKS))


# The forms


def require_measurement(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the problem of a reading with neither value nor result. The API allows it."""
    measured = ("lead_mg_cm2", "lead_percent", "result", "qualifier")
    if texts.get("method") == ASSUMED or any(texts.get(each, "").strip() for each in measured):
        return {}
    return {"lead_mg_cm2": "Enter the value, or choose a result."}


def problems_of_entry(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the problems of a new reading: a chip's values without its method, or no measurement."""
    if texts.get("method", "") in ("", XRF) and any(texts.get(each, "").strip() for each in OF_CHIPS):
        return {"method": "Percent, sample, laboratory and report belong to a paint chip: choose that method."}
    return require_measurement(texts)


def without_instrument(row: Row) -> Row:
    """Return the row of a chip or an assumption without the instrument and the time of the entry."""
    return row if row.get("method") in (None, XRF) else {**row, "gun_id": None, "taken_at": None}


def undecided_readings(caller: Caller, inspection_id: int) -> tuple[Choice, ...]:
    """Return the inconclusive readings of an inspection, which another reading may confirm."""
    text = f"{PLACE_COLUMNS}&inspection_id=eq.{inspection_id}&classification=eq.{INCONCLUSIVE}&voided=is.null"
    rows = queries.first_page(caller, READINGS, f"{text}&order=id.desc", CHOICES_MAX).rows
    return tuple(Choice(str(each["id"]), capital(title_of(each))) for each in rows)


def title_of(row: Row) -> str:
    """Return a reading with its place and value, such as "reading 12, Kitchen, Window sill, 1.0 mg/cm²"."""
    number = f"reading {row['reading_no']}" if row["reading_no"] is not None else f"reading with the id {row['id']}"
    value = f"{float(row['lead_mg_cm2'])} mg/cm²" if row["lead_mg_cm2"] is not None else None
    places = [short(row[each]) for each in ("dwelling", "room", "wall", "component") if row[each]]
    return ", ".join(filter(None, (number, *places, value)))


def reading_form(table: Table, caller: Caller) -> RecordForm:
    return replace(records.record_form(table, caller), initial={"taken_at": now()}, find_problems=require_measurement)


def void_form(caller: Caller, key: int) -> FunctionForm:
    table = table_of(READINGS)
    row = require_row(caller, Action.UPDATE, READINGS, f"id=eq.{key}", "select=id,inspection_id,reading_no,result")
    back = chosen_back() or f"/inspections/{row['inspection_id']}"
    reason = Field("reason", "Reason", required=True, hint="A void reading stays in the report and does not count.")
    return FunctionForm(f"Void {table.describe(row)}", "Void", (reason,), back)


@auth.requires(Action.UPDATE, ReportLead)
def show_void_form(caller: Caller, key: int) -> Response:
    return void_form(caller, key).page(FormValues({}))


@auth.requires(Action.UPDATE, ReportLead)
def void_reading(caller: Caller, key: int) -> Response:
    def call(arguments: dict[str, str]) -> tuple[str, None]:
        with writing() as transaction:
            now = load_caller(transaction)
            changes = {"voided": arguments["p_reason"]}
            require_written(queries.update(transaction, now, READINGS, f"id=eq.{key}", changes))
        return "Reading void.", None

    return void_form(caller, key).submit(call)


@auth.requires_call(FUNCTIONS[RECLASSIFY])
def reclassify(caller: Caller, key: int) -> Response:
    changed = queries.call_to_write(RECLASSIFY, {"p_inspection_id": key})["changed"]
    return redirect_to(f"/inspections/{key}", f"{counted(changed, 'reading')} classified again.", anchor="checks")


# The problems of each reading


@dataclass(frozen=True, slots=True)
class ReadingProblem:
    """A reading, what is wrong with it, and the links that mend it."""

    title: str
    url: str
    text: str
    links: list[tuple[str, str]]


def remarks_by_reading(readings: Sequence[Assessed]) -> dict[int, str]:
    """Return what is wrong with each reading that has problems, in words, by the reading's id."""
    found = {each.row["id"]: "; ".join(remarks_of(each.validity, each.doubts)) for each in readings}
    return {key: words for key, words in found.items() if words}


def problem_readings(
    caller: Caller, readings: Sequence[Assessed], remarks: Mapping[int, str], may_write: bool
) -> list[ReadingProblem]:
    """Return the first readings with problems."""
    doubtful = [each for each in readings if each.row["id"] in remarks][:PROBLEMS_SHOWN_MAX]
    keys = ",".join(str(each.row["id"]) for each in doubtful)
    text = f"{PLACE_COLUMNS}&id=in.({keys})"
    rows = queries.first_page(caller, READINGS, text, PROBLEMS_SHOWN_MAX).rows if doubtful else []
    by_id = {row["id"]: row for row in rows}
    return [
        ReadingProblem(
            capital(title_of(row)),
            (url := console_url(f"/{READINGS}/{row['id']}")),
            remarks[row["id"]],
            problem_links(row, url, each.doubts) if may_write else [],
        )
        for each in doubtful
        if (row := by_id.get(each.row["id"]))
    ]


def problem_links(row: Row, url: str, doubts: Sequence[str]) -> list[tuple[str, str]]:
    if UNDECIDED not in doubts:
        return void_links(row, url)
    add = console_url(f"/inspections/{row['inspection_id']}/add/{READINGS}")
    return [("Confirm by a chip", f"{add}?method={PAINT_CHIP}&confirms_id={row['id']}"), *void_links(row, url)]


@dataclass(frozen=True, slots=True)
class ListedReading:
    """A reading in the list of an inspection. `why` says why it does not count, or is doubtful."""

    row: Row
    number: str
    value: str
    result: str
    why: str
    url: str
    links: list[tuple[str, str]]


def listed_readings(
    caller: Caller, inspection_id: int, remarks: Mapping[int, str], may_write: bool
) -> tuple[list[ListedReading], bool]:
    """Return the last readings of an inspection in the order in which they were taken, and whether there are more."""
    text = f"{LISTED_COLUMNS}&inspection_id=eq.{inspection_id}&order=taken_at.desc,id.desc"
    page = queries.first_page(caller, READINGS, text, SHOWN_MAX)
    decimals = max((decimals_of(row[each]) for row in page.rows for each in VALUES), default=1)
    return [
        ListedReading(
            row,
            f"{row['reading_no']}" if row["reading_no"] is not None else f"id {row['id']}",
            value_text(row, decimals),
            capital(short(row["result"])) if row["result"] else "",
            f"Void: {short(row['voided'])}" if row["voided"] else remarks.get(row["id"], ""),
            (url := console_url(f"/{READINGS}/{row['id']}")),
            [("Edit", f"{url}/edit"), *void_links(row, url), ("Delete", f"{url}/delete")] if may_write else [],
        )
        for row in reversed(page.rows)
    ], page.has_more


def decimals_of(value: float | None) -> int:
    """Return how many decimals a value has: 1 to 3.

    >>> decimals_of(1.0), decimals_of(0.25), decimals_of(1 / 3), decimals_of(None)
    (1, 2, 3, 1)
    """
    return max(1, len(f"{value or 0:.{DECIMALS_MAX}f}".rstrip("0").partition(".")[2]))


def value_text(row: Row, decimals: int) -> str:
    """Return the value of a reading, such as "<0.30". A chip in percent has its unit.

    >>> value_text({"qualifier": "<", "lead_mg_cm2": 0.3, "lead_percent": None}, 2)
    '<0.30'
    """
    qualifier, (area, percent) = row["qualifier"] or "", (row[each] for each in VALUES)
    if area is not None:
        return f"{qualifier}{area:.{decimals}f}"
    if percent is not None:
        return f"{qualifier}{percent:.{decimals}f} %"
    return f"{qualifier} LOD" if qualifier else "–"


def may_reclassify(readings: Sequence[Assessed]) -> bool:
    """Return whether some readings have limits that are not those of their instrument, or of another standard."""
    return any({UNKNOWN_GUN, OTHER_STANDARD} & {*each.doubts} for each in readings)


def describe_reading(row: Row) -> str:
    number = row["reading_no"] if row["reading_no"] is not None else row["id"]
    return f"reading {number}" + (f", {capital(short(row['result']))}" if row["result"] else "")


def void_links(row: Row, url: str) -> list[tuple[str, str]]:
    return [("Void", f"{url}/void?back=/inspections/{row['inspection_id']}")] if row["voided"] is None else []


READING_ENTRY = QuickForm(
    {"room": True, "component": True, "wall": False, "substrate": True, "gun_id": True, "qualifier": False,
     "lead_mg_cm2": False, "result": False},
    more={"mode": True, "method": False, "confirms_id": False, **dict.fromkeys(OF_CHIPS, False), "note": False},
    continues=True,
    moment="taken_at",
    choices={"confirms_id": undecided_readings},
    complete=without_instrument,
    find_problems=problems_of_entry,
)  # fmt: skip


INSTRUMENTS, LIMITS, STANDARDS = "xrf_instruments", "xrf_limits", "lead_standards"
DUE_DAYS = 30
TO_REPEAT = (NO_CHECK, LATE, DOUBTFUL)


# The strip of each instrument on the page of an inspection


@dataclass(frozen=True, slots=True)
class Strip:
    """The checks of an instrument in words, and whether readings have to be repeated."""

    text: str
    is_alert: bool


def lead_section(caller: Caller, row: Row, may_edit: bool) -> Section | None:
    """Return the checks and readings of an inspection, with their forms and what is wrong with each reading."""
    key, adds = row["id"], may_edit or queries.records_visit(caller, row["id"])
    may_write = adds and table_of(READINGS).permits(caller, Action.UPDATE)
    if not expects_readings(caller, row):
        return ("add_reading.html", {"form": console_url(f"/inspections/{key}/add/{READINGS}")}) if may_write else None
    lead = None
    with reading() as transaction:
        try:
            lead = read_lead(transaction, caller, key)
            strips = strips_of(lead)
        except ReportTooLarge as fault:
            strips = [Strip(fault.message, is_alert=True)]
    assessed = lead.readings if lead is not None else ()
    problems = lead.problems() if lead is not None else ()
    remarks = remarks_by_reading(assessed)
    listed, has_more = listed_readings(caller, key, remarks, may_write)
    readings, checks = table_of(READINGS), table_of(CHECKS)
    return "lead.html", {
        "first": True,
        "tab": (READINGS, "Readings", len(assessed)),
        "strips": strips,
        "problems": [problem_words(each) for each in problems if each.code in PROBLEM_WORDS],
        "problem_readings": problem_readings(caller, assessed, remarks, may_write),
        "reclassify": may_write and may_reclassify(assessed),
        "checks": related_section(checks, caller, row, checks.references["inspection_id"], adds),
        "readings": listed,
        "has_more": has_more,
        **related_links(readings, caller, row, readings.references["inspection_id"], adds),
    }


def strips_of(lead: Lead) -> list[Strip]:
    """Return the strips of the first instruments that readings or checks name."""
    guns = lead.guns()
    strips = [
        strip(
            gun_id,
            lead.checks[gun_id].ordered if gun_id in lead.checks else (),
            Counter(each.validity for each in lead.by_gun.get(gun_id, ())),
            gun_id in lead.instruments,
        )
        for gun_id in guns[:STRIPS_MAX]
    ]
    if len(guns) > STRIPS_MAX:
        strips.append(Strip(f"{counted(len(guns) - STRIPS_MAX, 'more instrument')}: lead_summary has all", False))
    return strips


STRIPS_MAX = 20
CHECKS_SHOWN_MAX = 20


def strip(gun_id: int, checks: Sequence[Check], counts: Mapping[str | None, int], is_known: bool) -> Strip:
    """Return the strip of an instrument, such as "Gun 20417: checked 14:00 EST pass: 3 readings to repeat"."""
    checked = ", ".join(f"{clock(each.at)} {each.result}" for each in checks[-CHECKS_SHOWN_MAX:])
    parts = [f"Gun {gun_id}", f"checked {checked}" if checked else "not checked"]
    repeated = sum(counts[each] for each in TO_REPEAT)
    if repeated:
        parts.append(f"{counted(repeated, 'reading')} to repeat")
    elif awaiting := counts[UNCONFIRMED]:
        parts.append(f"{counted(awaiting, 'reading')} without a check after {'it' if awaiting == 1 else 'them'}")
    if not is_known:
        parts.append("not among the XRF instruments")
    return Strip(": ".join(parts), bool(repeated))


PROBLEM_WORDS = {
    UNKNOWN_GUN: "not compared with the limits of the instrument: classify again",
    CONFLICT: "stated otherwise than the value says: explain in the note, or void",
    UNDECIDED: "inconclusive, and positive until a chip, a repeated reading or an assumption decides",
    OTHER_STANDARD: "compared with limits of another standard than that of the place",
    OUT_OF_SERVICE: "with an instrument that was retired, or whose service or leak test was overdue",
    OUTSIDE_VISIT: "more than a day from the visit",
    NO_VALUE: "without a value",
}


def problem_words(problem: Problem) -> str:
    gun = f"Gun {problem.gun_id}: " if problem.gun_id is not None else ""
    return f"{gun}{counted(problem.readings, 'reading')} {PROBLEM_WORDS[problem.code]}"


# Checks


def check_form(table: Table, caller: Caller) -> RecordForm:
    return replace(records.record_form(table, caller), initial={"taken_at": now()})


CHECK_ENTRY = QuickForm(
    {"gun_id": True, "first": False, "second": False, "third": False}, continues=True, moment="taken_at"
)


# Limits and dates that are in order


def problems_of_limits(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the problems of reversed limits and dates, which the API refuses by constraints."""
    problems: dict[str, str] = {}
    for low, high, label in ORDERED:
        first, second = number_of(texts.get(low)), number_of(texts.get(high))
        if first is not None and second is not None and first > second:
            problems[high] = label
    if texts.get("valid_to") and texts["valid_to"] < texts.get("valid_from", ""):
        problems["valid_to"] = "The last day precedes the first one."
    if texts.get("city", "").strip() and not texts.get("state", "").strip():
        problems["city"] = "A city needs its state."
    return problems


ORDERED = (
    ("negative_below", "positive_from", "A reading is positive from a value that is not below “Negative below”."),
    ("check_low", "check_high", "The highest mean of a check is not below the lowest one."),
)


def number_of(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def problems_of_limit(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the problems of a limit, which is one of a substrate, a mode, or both."""
    if any(texts.get(each, "").strip() for each in ("substrate", "mode")):
        return problems_of_limits(texts)
    return {"substrate": "Enter the substrate, the mode, or both."}


def form_with_limits(table: Table, caller: Caller) -> RecordForm:
    return replace(records.record_form(table, caller), find_problems=problems_of_limits)


def limit_form(table: Table, caller: Caller) -> RecordForm:
    return replace(records.record_form(table, caller), find_problems=problems_of_limit)


# Instruments

IN_USE = "retired_on=is.null"


def instrument_title(row: Row) -> str:
    return f"Gun {row['gun_id']}, {name(row['make'])} {name(row['model'])}"


def instrument_views() -> list[tuple[str, str]]:
    """Return the quick views of the instruments: those in use, and those whose service or leak test is due."""
    soon = local_day(current_time()) + datetime.timedelta(DUE_DAYS)
    return [
        ("In use", IN_USE),
        ("Service due", f"{IN_USE}&service_due_on=lte.{soon}&order=service_due_on.asc"),
        ("Leak test due", f"{IN_USE}&leak_test_due_on=lte.{soon}&order=leak_test_due_on.asc"),
        ("All", ""),
    ]


def list_inspectors(table: Table, caller: Caller) -> Response:
    instruments, standards = table_of(INSTRUMENTS), table_of(STANDARDS)
    links = [
        (instruments.plural, console_url(f"{instruments.path}?{IN_USE}")),
        (standards.plural, console_url(standards.path)),
    ]
    return list_page(table, caller, actions=lambda query: links)


def list_instruments(table: Table, caller: Caller) -> Response:
    return list_page(table, caller, views=instrument_views())


# Presentations

PRESENTATIONS = {
    READINGS: Presentation(
        part_of="inspection_id",
        related=lambda caller, column, row: False,
        title_columns=("voided",),
        row_links=void_links,
        describe=describe_reading,
    ),
    CHECKS: Presentation(part_of="inspection_id", related=lambda caller, column, row: False, badges=("result",)),
    INSTRUMENTS: Presentation(
        title=instrument_title, title_columns=("make", "model"), first_view=IN_USE, in_navigation=False
    ),
    LIMITS: Presentation(part_of="instrument_id"),
    STANDARDS: Presentation(in_navigation=False),
}
