"""The domain rules of lead readings, calibration checks, XRF instruments and their limits.

A write of a reading classifies it. A calibration check is the mean of three measurements, within the limits of the
instrument or not. A limit belongs to the instrument of its number and client. `app.create_app` registers the rules.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from engine.interface.database import Transaction
from engine.query.catalog import ForeignKeyViolation
from engine.query.statement import UNRESTRICTED, Binding
from engine.query.write.rules import DOMAIN_RULES, DomainRule, Key, UpdatedRow
from engine.rows import Row, read_rows, update_rows
from inspections.faults import ConflictUnexplained
from inspections.lead.classification import (
    DEFAULT_SHEET,
    FALLBACK,
    GRAVITY,
    Outcome,
    Reading,
    by_owner,
    classify_readings,
    grade,
    read_sheets,
    thousandths,
)
from models.types import BIGINT, DOUBLE, INTEGER, TEXT, Bound, ColumnType, Fault
from models.vocabulary import CHECK_RESULTS, MG_CM2, STANDARD, XRF

TABLE: Final = "reports_lead"
INPUTS: Final[Mapping[str, ColumnType]] = {
    "inspection_id": BIGINT, "gun_id": INTEGER, "substrate": TEXT, "mode": TEXT, "method": TEXT,
    "lead_mg_cm2": DOUBLE, "lead_percent": DOUBLE, "qualifier": TEXT,
}  # fmt: skip
"""The columns on which a classification depends, in the order of Reading."""

OF_LIMITS: Final = ("inspection_id", "gun_id", "substrate", "mode", "method")
"""The columns that choose the limits. A change of the value alone keeps the limits of the reading."""

OUTCOME: Final = ("classification", "negative_below", "positive_from", "limits_from")


class ReadingRule(DomainRule):
    """The service classifies a value. A reading without a result gets the classification as its result."""

    watched = frozenset(INPUTS) | {"result", "note", "confirms_id"}
    recomputed = (*OUTCOME, "result")

    def __init__(self) -> None:
        self.last = threading.local()

    def defaults(
        self, transaction: Transaction, binding: Binding, column: str, rows: Sequence[Mapping[str, object]]
    ) -> list[Bound]:
        """Return a column of the outcomes. The classification is also the result by default."""
        readings = [reading_of(row) for row in rows]
        # The columns of one write follow each other.
        if getattr(self.last, "readings", None) != (transaction, readings):
            self.last.readings = (transaction, readings)
            found = classify_readings(transaction, readings)
            self.last.outcomes = [imported_outcome(row, each) for row, each in zip(rows, found, strict=True)]
        name = "classification" if column == "result" else column
        return [getattr(each, name) for each in self.last.outcomes]

    def recompute(self, transaction: Transaction, rows: Sequence[UpdatedRow]) -> list[dict[str, Bound]]:
        """Classify the changed readings again. A result that was the classification follows it.

        Raise ConflictUnexplained for a graver result that is given up without a note.
        """
        readings = [Reading(*(each.row[name] for name in INPUTS)) for each in rows]
        former = [Outcome(*(each.old[name] for name in OUTCOME)) for each in rows]
        kept = [own if keeps_limits(each) else None for each, own in zip(rows, former, strict=True)]
        outcomes = classify_readings(transaction, readings, kept)
        return [
            values_of(each, outcome if is_changed(each, INPUTS) else own)
            for each, outcome, own in zip(rows, outcomes, former, strict=True)
        ]

    def inserted(
        self, transaction: Transaction, keys: Sequence[Key], service_columns: frozenset[str] = frozenset()
    ) -> None:
        self.last = threading.local()
        require_confirmed_readings(transaction, keys)

    def updated(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        self.last = threading.local()
        if columns & {"confirms_id", "inspection_id"}:
            require_confirmed_readings(transaction, keys)


def imported_outcome(row: Mapping[str, object], outcome: Outcome) -> Outcome:
    """Return the outcome of a new reading. An archive without limits may hold another classification than they give.

    Its limits are unknown, as those of an unknown instrument.
    """
    given = row.get("classification")
    if given is None or given == outcome.classification:
        return outcome
    return Outcome(str(given), *FALLBACK[MG_CM2], STANDARD)


def keeps_limits(row: UpdatedRow) -> bool:
    """Return whether a changed reading keeps its limits, which are those of a unit."""
    keeps_unit = (row.old["lead_mg_cm2"] is None) == (row.row["lead_mg_cm2"] is None)
    return keeps_unit and not is_changed(row, OF_LIMITS)


def is_changed(row: UpdatedRow, columns: Sequence[str] | Mapping[str, object]) -> bool:
    return any(name in row.new and row.new[name] != row.old[name] for name in columns)


def values_of(row: UpdatedRow, outcome: Outcome) -> dict[str, Bound]:
    """Return the computed columns of a changed reading."""
    result = result_of(row, outcome.classification)
    given_up, old = grade(row.old["result"]), row.old["classification"]
    is_graver = given_up is not None and old is not None and GRAVITY.index(given_up) < GRAVITY.index(old)
    if is_graver and result == outcome.classification == old and not (row.row["note"] or "").strip():
        raise ConflictUnexplained(given_up or "", old)
    return {**{name: getattr(outcome, name) for name in OUTCOME}, "result": result}


def result_of(reading: UpdatedRow, classification: str | None) -> Any:
    """Return the result of a reading that changes: the given or stored one, else the classification."""
    follows = "result" not in reading.new and reading.old["result"] == reading.old["classification"]
    result = reading.row["result"]
    return classification if follows or result is None else result


def reading_of(row: Mapping[str, object]) -> Reading:
    """Return the inputs of a row of JSON values; an empty reading if one is invalid, which the write refuses."""
    try:
        values = {name: kind.read_json(row.get(name)) for name, kind in INPUTS.items()}
    except Fault:
        return Reading()
    return Reading(*{**values, "method": values["method"] or XRF}.values())


def require_confirmed_readings(transaction: Transaction, keys: Sequence[Key]) -> None:
    """Raise ForeignKeyViolation if a reading confirms none of the other readings of its inspection."""
    columns = ("id", "inspection_id", "confirms_id")
    rows = [
        each
        for each in read_rows(transaction, UNRESTRICTED, TABLE, columns, id=[key[0] for key in keys])
        if each["confirms_id"]
    ]
    confirmed = {
        each["id"]: each["inspection_id"]
        for each in read_rows(
            transaction, UNRESTRICTED, TABLE, ("id", "inspection_id"), id=[each["confirms_id"] for each in rows]
        )
    }
    for row in rows:
        named = row["confirms_id"]
        if confirmed.get(named) != row["inspection_id"] or named == row["id"]:
            raise ForeignKeyViolation.missing(TABLE, "reports_lead_confirms_id_fkey", "confirms_id", named, TABLE)


PASS, FAIL = CHECK_RESULTS
CHECK_INPUTS: Final[Mapping[str, ColumnType]] = {
    "inspection_id": BIGINT, "gun_id": INTEGER, "first": DOUBLE, "second": DOUBLE, "third": DOUBLE
}  # fmt: skip
"""The columns on which a result depends."""

PLACE: Final = ("inspection_id", "gun_id")


class CalibrationCheckRule(DomainRule):
    """The service computes the mean of a check, and compares it with the limits of the instrument."""

    watched = frozenset(CHECK_INPUTS)
    recomputed = ("mean", "result", "check_low", "check_high")

    def defaults(
        self, transaction: Transaction, binding: Binding, column: str, rows: Sequence[Mapping[str, object]]
    ) -> list[Bound]:
        checks = [inputs_of(row) for row in rows]
        return [outcome[column] for outcome in outcomes_of(transaction, checks)]

    def recompute(self, transaction: Transaction, rows: Sequence[UpdatedRow]) -> list[dict[str, Bound]]:
        """Compute the results of the changed checks again. A check keeps its limits if its instrument stays."""
        present = outcomes_of(transaction, [each.row for each in rows])
        return [
            outcome
            if each.old["check_low"] is None or any(each.row[name] != each.old[name] for name in PLACE)
            else outcome_of(measured(each.row), each.old["check_low"], each.old["check_high"])
            for each, outcome in zip(rows, present, strict=True)
        ]


def inputs_of(row: Mapping[str, object]) -> dict[str, Any]:
    """Return the inputs of a row of JSON values; none if one is invalid, which the write refuses."""
    try:
        return {name: kind.read_json(row.get(name)) for name, kind in CHECK_INPUTS.items()}
    except Fault:
        return dict.fromkeys(CHECK_INPUTS)


def outcomes_of(transaction: Transaction, checks: Sequence[Mapping[str, Any]]) -> list[dict[str, Bound]]:
    """Return mean, result and limits of each check, by the sheets of the instruments as they are now."""
    places = [(each["inspection_id"], each["gun_id"]) for each in checks]
    sheets = read_sheets(transaction, places)
    return [
        outcome_of(measured(check), sheet.check_low, sheet.check_high)
        for check, sheet in (
            (check, sheets.get(place, DEFAULT_SHEET)) for check, place in zip(checks, places, strict=True)
        )
    ]


def measured(check: Mapping[str, Any]) -> tuple[Any, ...]:
    return check["first"], check["second"], check["third"]


def outcome_of(values: tuple[Any, ...], low: float, high: float) -> dict[str, Bound]:
    """Return mean, result and limits of a check. Without three measurements there are no mean and no result.

    >>> outcome_of((0.7, 0.8, 0.9), 0.8, 1.2) == {"mean": 0.8, "result": "pass", "check_low": 0.8, "check_high": 1.2}
    True
    """
    mean = thousandths(sum(values) / len(values)) if None not in values else None
    limits: dict[str, Bound] = {"check_low": low, "check_high": high}
    if mean is None:
        return {"mean": None, "result": None, **limits}
    is_within = thousandths(low) <= mean <= thousandths(high)
    return {"mean": mean / 1_000, "result": PASS if is_within else FAIL, **limits}


INSTRUMENTS: Final = "xrf_instruments"
LIMITS: Final = "xrf_limits"


class InstrumentRule(DomainRule):
    """The limits of an instrument move with it to another number or client."""

    watched = frozenset({"gun_id", "client_id"})

    def updated(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        if columns & self.watched:
            for row in read_rows(transaction, UNRESTRICTED, INSTRUMENTS, COLUMNS, id=[key[0] for key in keys]):
                limits = read_rows(transaction, UNRESTRICTED, LIMITS, ("id",), instrument_id=row["id"])
                moved = {"gun_id": row["gun_id"], "client_id": row["client_id"]}
                update_rows(transaction, LIMITS, [(each["id"],) for each in limits], moved)


class LimitRule(DomainRule):
    """A new limit belongs to an instrument of its number: that of the named client, of the caller's, or the shared one.

    A super admin who names no client means the shared instrument, or else the only one of the number.
    """

    def defaults(
        self, transaction: Transaction, binding: Binding, column: str, rows: Sequence[Mapping[str, object]]
    ) -> list[Bound]:
        found = self.instruments(transaction, binding, rows)
        name = "id" if column == "instrument_id" else column
        return [None if each is None else each[name] for each in found]

    def instruments(
        self, transaction: Transaction, binding: Binding, rows: Sequence[Mapping[str, object]]
    ) -> list[Row | None]:
        try:
            named = [(INTEGER.read_json(row.get("gun_id")), BIGINT.read_json(row.get("client_id"))) for row in rows]
        except Fault:  # which the write refuses
            return [None] * len(rows)
        guns = sorted({int(gun_id) for gun_id, _ in named if gun_id is not None})
        instruments = read_rows(transaction, UNRESTRICTED, INSTRUMENTS, COLUMNS, gun_id=guns)
        owned = by_owner(instruments)
        caller_client = binding.parameters.get("caller_client_id")

        def find(gun_id: Bound, client_id: Bound) -> Row | None:
            if client_id is not None:
                return owned.get((gun_id, client_id))  # type: ignore[arg-type]
            own = owned.get((gun_id, caller_client)) or owned.get((gun_id, None))  # type: ignore[arg-type]
            same = [each for each in instruments if each["gun_id"] == gun_id] if caller_client is None else []
            return own or (same[0] if len(same) == 1 else None)

        return [find(gun_id, client_id) for gun_id, client_id in named]


COLUMNS: Final = ("id", "gun_id", "client_id")


def register_lead_rules() -> None:
    DOMAIN_RULES.update(
        reports_lead=ReadingRule(),
        calibration_checks=CalibrationCheckRule(),
        xrf_instruments=InstrumentRule(),
        xrf_limits=LimitRule(),
    )
