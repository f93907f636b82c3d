"""Lead inspections: the checks of each instrument and what to repeat, readings, and the XRF instruments."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from flask import Response

from access.authentication import current_time
from access.caller import Caller
from engine.current import database, local_day, reading
from engine.interface.transaction import stored_timestamp
from inspections.lead.summary import LeadRows, read_lead
from inspections.lead.validity import DOUBTFUL, LATE, NO_CHECK, UNCONFIRMED, Check
from models.vocabulary import FIRE
from routes.console.components import queries, records
from routes.console.components.lists import list_page
from routes.console.components.quick_entry import QUICK_FORMS, QuickForm
from routes.console.components.records import RecordForm
from routes.console.components.tables import PATH, PRESENTATIONS, Presentation, Row, Section, Table, table_of
from routes.console.components.template_filters import capital, counted, name, short
from routes.console.pages.rows import own_form, own_view

READINGS, CHECKS, INSTRUMENTS, LIMITS = "reports_lead", "calibration_checks", "xrf_instruments", "xrf_limits"
WITHOUT_READINGS = FIRE
DUE_DAYS = 30
TO_REPEAT = (NO_CHECK, LATE, DOUBTFUL)


def now() -> str:
    """Return the present moment as a stored timestamp, in whole seconds."""
    return stored_timestamp(int(current_time()))


def expects_readings(caller: Caller, column: str, row: Row) -> bool:
    """Return whether the page lists readings and checks, as that of a fire inspection does only if it has readings."""
    if column != "inspection_id" or row["inspection_type"] != WITHOUT_READINGS:
        return True
    return queries.first_row(caller, READINGS, f"select=id&inspection_id=eq.{row['id']}") is not None


# The strip of each instrument on the page of an inspection


@dataclass(frozen=True, slots=True)
class Strip:
    """The checks of an instrument in words, and whether readings have to be repeated."""

    text: str
    is_alert: bool


def lead_section(caller: Caller, row: Row, may_edit: bool) -> Section | None:
    with reading() as transaction:
        strips = strips_of(read_lead(transaction, caller, row["id"]))
    return ("lead_strip.html", {"strips": strips}) if strips else None


def strips_of(lead: LeadRows) -> list[Strip]:
    """Return the strip of each instrument that readings or checks name."""
    counts = Counter((each["gun_id"], lead.checked[each["id"]].validity) for each in lead.measured())
    return [
        strip(gun.gun_id, lead.checks.get(gun.gun_id, ()), counts, gun.gun_id in lead.instruments)
        for gun in lead.guns()
    ]


def strip(gun_id: int, checks: Sequence[Check], counts: Mapping[tuple[int | None, str], int], is_known: bool) -> Strip:
    """Return the strip of an instrument, such as "Gun 20417: checked 14:00 pass, 20:00 fail: 3 readings to repeat"."""
    checked = ", ".join(f"{clock(each.at)} {each.result}" for each in checks)
    parts = [f"Gun {gun_id}", f"checked {checked}" if checked else "not checked"]
    repeated = sum(counts[gun_id, each] for each in TO_REPEAT)
    if repeated:
        parts.append(f"{counted(repeated, 'reading')} to repeat")
    elif awaiting := counts[gun_id, UNCONFIRMED]:
        parts.append(f"{counted(awaiting, 'reading')} without a check after {'it' if awaiting == 1 else 'them'}")
    if not is_known:
        parts.append("not among the XRF instruments")
    return Strip(": ".join(parts), bool(repeated))


def clock(at: str) -> str:
    """Return the time of day of a stored timestamp, in TIMEZONE."""
    return f"{datetime.datetime.fromisoformat(at).astimezone(database().time_zone):%H:%M}"


# Readings and checks


def require_measurement(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the problem of a reading with neither value nor result. The API allows it."""
    if texts.get("lead_mg_cm2", "").strip() or texts.get("result", "").strip():
        return {}
    return {"lead_mg_cm2": "Enter the value, or choose a result."}


@own_form(READINGS)
def reading_form(table: Table, caller: Caller) -> RecordForm:
    return replace(records.record_form(table, caller), initial={"taken_at": now()}, find_problems=require_measurement)


@own_form(CHECKS)
def check_form(table: Table, caller: Caller) -> RecordForm:
    return replace(records.record_form(table, caller), initial={"taken_at": now()})


def describe_reading(row: Row) -> str:
    number = row["reading_no"] if row["reading_no"] is not None else row["id"]
    return f"reading {number}" + (f", {capital(short(row['result']))}" if row["result"] else "")


QUICK_FORMS[READINGS] = QuickForm(
    {"room": True, "component": True, "wall": False, "substrate": True, "gun_id": True, "lead_mg_cm2": False,
     "result": False},
    continues=True,
    moment="taken_at",
    find_problems=require_measurement,
)  # fmt: skip
QUICK_FORMS[CHECKS] = QuickForm(
    {"gun_id": True, "first": False, "second": False, "third": False}, continues=True, moment="taken_at"
)
PRESENTATIONS[READINGS] = Presentation(part_of="inspection_id", related=expects_readings, describe=describe_reading)
PRESENTATIONS[CHECKS] = Presentation(part_of="inspection_id", related=expects_readings, badges=("result",))


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


@own_view("inspectors", "")
def list_inspectors(table: Table, caller: Caller) -> Response:
    instruments = table_of(INSTRUMENTS)
    link = (instruments.plural, f"{PATH}{instruments.path}?{IN_USE}")
    return list_page(table, caller, actions=lambda query: [link])


@own_view(INSTRUMENTS, "")
def list_instruments(table: Table, caller: Caller) -> Response:
    return list_page(table, caller, views=instrument_views())


PRESENTATIONS[INSTRUMENTS] = Presentation(
    title=instrument_title, title_columns=("make", "model"), first_view=IN_USE, in_navigation=False
)
PRESENTATIONS[LIMITS] = Presentation(part_of="gun_id")
