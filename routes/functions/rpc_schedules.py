"""The functions of schedules: their parameters, and what they run."""

from __future__ import annotations

import datetime

from access.caller import Caller
from engine.storage.transaction import Transaction
from inspections import schedules
from inspections.recurrence import Recurrence
from models.types import BIGINT, DATE, TEXT
from models.vocabulary import COUNTED_FROM, UNITS
from routes.postgrest.calls import Arguments
from routes.postgrest.signatures import (
    Parameter,
    bounded_integer,
    bounded_text,
    choice,
    id_array,
    optional_parameter,
    required_parameter,
)

BUILDINGS_MAX = 1_000
INTERVAL_MAX = 1_200
SPREAD_MAX = 366
REASON_CHARACTERS_MAX = 1_000
PREVIEW_MAX = 24

APPLY: dict[str, Parameter] = {
    "p_building_ids": id_array(BUILDINGS_MAX, count_min=1),
    "p_inspection_type": required_parameter(TEXT),
    "p_title": optional_parameter(TEXT),
    "p_every": bounded_integer(1, INTERVAL_MAX),
    "p_unit": choice(UNITS),
    "p_counted_from": choice(COUNTED_FROM, required=False),
    "p_first_due": required_parameter(DATE),
    "p_spread_days": bounded_integer(0, SPREAD_MAX, required=False),
}
SKIP: dict[str, Parameter] = {
    "p_inspection_id": required_parameter(BIGINT),
    "p_reason": bounded_text(REASON_CHARACTERS_MAX),
}
PREVIEW: dict[str, Parameter] = {
    "p_every": bounded_integer(1, INTERVAL_MAX),
    "p_unit": choice(UNITS),
    "p_first_due": required_parameter(DATE),
    "p_count": bounded_integer(1, PREVIEW_MAX),
}


def apply(transaction: Transaction, caller: Caller, arguments: Arguments) -> object:
    values = {
        "inspection_type": arguments["inspection_type"],
        "title": arguments.get("title") or "",
        "every": arguments["every"],
        "unit": arguments["unit"],
        "counted_from": arguments.get("counted_from") or COUNTED_FROM[0],
    }
    first_due = datetime.date.fromisoformat(arguments["first_due"])
    spread_days = arguments.get("spread_days") or 0
    return schedules.apply_schedule(transaction, caller, arguments["building_ids"], first_due, spread_days, values)


def skip(transaction: Transaction, caller: Caller, arguments: Arguments) -> object:
    return schedules.skip_occurrence(transaction, caller, arguments["inspection_id"], arguments["reason"])


def preview(transaction: Transaction, caller: Caller, arguments: Arguments) -> object:
    first_due = datetime.date.fromisoformat(arguments["first_due"])
    recurrence = Recurrence(first_due, arguments["every"], arguments["unit"])
    due_dates = map(recurrence.due_date, range(arguments["count"]))
    return [due_on.isoformat() for due_on in due_dates if due_on is not None]
