"""The classification of readings: positive, negative or inconclusive, and the limits that decided.

The limits of an XRF instrument are those of its performance characteristic sheet. The lead standard of a visit says
from which value on its paint is lead-based, by place and date.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from engine.interface.database import Transaction
from engine.query.statement import UNRESTRICTED
from engine.rows import Row, read_rows
from models import LeadStandard, XrfInstrument
from models.vocabulary import (
    ASSUMED,
    INCONCLUSIVE,
    MG_CM2,
    NEGATIVE,
    PAINT,
    PAINT_CHIP,
    PERCENT,
    POSITIVE,
    QUALIFIERS,
    SHEET,
    STANDARD,
    XRF,
)

Limits = tuple[float, float]
"""The value below which a reading is negative, and the value from which it is positive."""

SHEET_COLUMNS: Final = ("check_low", "check_high", "check_minutes", "negative_below", "positive_from")
SERVICE_COLUMNS: Final = ("serial", "service_due_on", "leak_test_due_on", "retired_on")


@dataclass(frozen=True, slots=True)
class Sheet:
    """The limits of an instrument. Those of a substrate, of a mode, or of both replace the limits of readings."""

    check_low: float
    check_high: float
    check_minutes: int
    negative_below: float
    positive_from: float
    mode: str | None = None
    others: Mapping[tuple[str | None, str | None], Limits] = field(default_factory=dict)

    def limits(self, substrate: str | None, mode: str | None) -> Limits:
        """Return the limits of a substrate in a mode, by default in the mode of the instrument.

        Limits of both precede those of the mode, those of the substrate, and those of the instrument. The spelling
        precedes another one that differs in case.
        """
        mode = mode or self.mode
        for scope in ((substrate, mode), (None, mode), (substrate, None)):
            for each in (scope, without_case(scope)):
                if each != (None, None) and each in self.others:
                    return self.others[each]
        return self.negative_below, self.positive_from


def without_case(scope: tuple[str | None, str | None]) -> tuple[str | None, str | None]:
    substrate, mode = scope
    return substrate and substrate.casefold(), mode and mode.casefold()


def column_default(name: str) -> Any:
    return XrfInstrument.__table__.c[name].info["column"].stored_default


DEFAULT_SHEET: Final = Sheet(**{name: column_default(name) for name in SHEET_COLUMNS})
"""The limits of checks of an unknown instrument, and of readings where no lead standard holds."""

Place = tuple[Any, Any]
"""The id of an inspection, and the number of an instrument that was used there."""


def read_sheets(transaction: Transaction, places: Iterable[Place]) -> dict[Place, Sheet]:
    """Return the sheets of the known instruments that were used in inspections.

    An instrument of another client than the inspection's is unknown: its limits must not show in the readings.
    """
    used = {place for place in places if None not in place}
    guns = sorted({gun_id for _, gun_id in used})
    columns = ("id", "gun_id", "client_id", "mode", *SHEET_COLUMNS)
    rows = read_rows(transaction, UNRESTRICTED, "xrf_instruments", columns, gun_id=guns)
    if not rows:
        return {}
    inspections = sorted({inspection_id for inspection_id, _ in used})
    owners = {
        row["id"]: row["client_id"]
        for row in read_rows(transaction, UNRESTRICTED, "inspections", OWNER, id=inspections)
    }
    instruments = by_owner(rows)
    others = read_other_limits(transaction, [row["id"] for row in rows])
    found = {
        (inspection_id, gun_id): instrument_of(instruments, gun_id, owners.get(inspection_id))
        for inspection_id, gun_id in used
    }
    return {place: sheet_of(row, others.get(row["id"], {})) for place, row in found.items() if row is not None}


OWNER: Final = ("id", "client_id")
Instruments = Mapping[tuple[int, int | None], Row]
"""Instruments by number and client."""


def by_owner(rows: Iterable[Row]) -> Instruments:
    return {(row["gun_id"], row["client_id"]): row for row in rows}


def instrument_of(instruments: Instruments, gun_id: int, client_id: int | None) -> Row | None:
    """Return the instrument that a number means for a client: its own one, or else the shared one."""
    return instruments.get((gun_id, client_id)) or instruments.get((gun_id, None))


def sheet_of(instrument: Row, others: Mapping[tuple[str | None, str | None], Limits]) -> Sheet:
    return Sheet(**{name: instrument[name] for name in SHEET_COLUMNS}, mode=instrument["mode"], others=others)


def read_other_limits(
    transaction: Transaction, instruments: list[int]
) -> dict[int, dict[tuple[str | None, str | None], Limits]]:
    """Return the limits by instrument, and by substrate and mode: as they are spelled, and without case."""
    found: dict[int, dict[tuple[str | None, str | None], Limits]] = {}
    columns = ("instrument_id", "substrate", "mode", "negative_below", "positive_from")
    for row in read_rows(transaction, UNRESTRICTED, "xrf_limits", columns, instrument_id=instruments):
        limits, scope = (row["negative_below"], row["positive_from"]), (row["substrate"], row["mode"])
        of_instrument = found.setdefault(row["instrument_id"], {})
        of_instrument.setdefault(without_case(scope), limits)
        of_instrument[scope] = limits
    return found


def thousandths(value: float) -> int:
    """Return a value in thousandths, rounded. Doubles are compared in thousandths.

    >>> (0.7 + 0.8 + 0.9) / 3 < 0.8, thousandths((0.7 + 0.8 + 0.9) / 3) < thousandths(0.8)
    (True, False)
    """
    return math.floor(value * 1_000 + 0.5)


COLUMNS: Final = (
    "id", "client_id", "state", "city", "unit", "from_value", "is_exclusive", "valid_from", "valid_to", "basis",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Standard:
    """A lead standard: its value, and where and since when it holds. `is_exclusive`: only more than the value."""

    id: int
    unit: str
    from_value: float
    is_exclusive: bool
    state: str | None
    city: str | None
    valid_from: str
    basis: str

    @property
    def threshold(self) -> int:
        """The smallest value of lead-based paint, in thousandths.

        >>> Standard(1, "mg_cm2", 0.7, True, "MD", None, "2024-11-01", "").threshold
        701
        """
        return thousandths(self.from_value) + self.is_exclusive

    @property
    def limits(self) -> Limits:
        return self.threshold / 1_000, self.threshold / 1_000


Standards = Mapping[str, Standard]
"""The standards of a visit by unit. A unit without a valid row is absent."""


def read_standards(transaction: Transaction, inspection_ids: Collection[int]) -> dict[int, Standards]:
    """Return the standards of inspections on their days. An inspection without a date has those of today."""
    visits = read_rows(
        transaction,
        UNRESTRICTED,
        "inspections",
        ("id", "client_id", "building_id", "date_visited"),
        id=sorted(inspection_ids),
    )
    buildings = {
        each["id"]: each
        for each in read_rows(
            transaction,
            UNRESTRICTED,
            "buildings",
            ("id", "state", "city"),
            id=sorted({each["building_id"] for each in visits}),
        )
    }
    clients = {None, *(each["client_id"] for each in visits)}
    rows = read_rows(transaction, UNRESTRICTED, "lead_standards", COLUMNS, client_id=clients, kind=PAINT)
    today = transaction.today.isoformat()
    return {
        each["id"]: choose(rows, each["client_id"], buildings[each["building_id"]], each["date_visited"] or today)
        for each in visits
    }


def choose(rows: Sequence[Row], client_id: int, building: Row, day: str) -> Standards:
    """Return the most specific standard of each unit on a day.

    A city precedes a state, and a state the whole country. The client's row precedes everybody's, and a later date an
    earlier one.
    """
    found: dict[str, tuple[tuple[Any, ...], Standard]] = {}
    for row in rows:
        is_valid = row["valid_from"] <= day and (row["valid_to"] is None or day <= row["valid_to"])
        if not is_valid or row["client_id"] not in (None, client_id):
            continue
        if not (is_named(building["state"], row["state"]) and is_named(building["city"], row["city"])):
            continue
        place = (row["city"] is not None) + (row["state"] is not None)
        rank = (place, row["client_id"] is not None, row["valid_from"], row["id"])
        if row["unit"] not in found or rank > found[row["unit"]][0]:
            found[row["unit"]] = rank, standard_of(row)
    return {unit: standard for unit, (_, standard) in found.items()}


def is_named(name: str | None, listed: str | None) -> bool:
    """Return whether a comma-separated list has a name, regardless of case. No list has every name.

    >>> is_named(" brooklyn", "New York, Brooklyn"), is_named(None, "Brooklyn"), is_named(None, None)
    (True, False, True)
    """
    return listed is None or folded(name) in map(folded, listed.split(","))


def folded(text: str | None) -> str:
    """Return a text without case, and without needless blanks.

    >>> folded("  Window   SILL ")
    'window sill'
    """
    return " ".join((text or "").split()).casefold()


def standard_of(row: Row) -> Standard:
    return Standard(
        row["id"], row["unit"], float(row["from_value"]), bool(row["is_exclusive"]), row["state"], row["city"],
        row["valid_from"], row["basis"],
    )  # fmt: skip


UNIT_WORDS: Final = {MG_CM2: "mg/cm²", PERCENT: "% by weight"}


LESS_THAN, MORE_THAN = QUALIFIERS
GRAVITY: Final = (POSITIVE, INCONCLUSIVE, NEGATIVE)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the classification of a reading depends on."""

    inspection_id: Any = None
    gun_id: Any = None
    substrate: Any = None
    mode: Any = None
    method: Any = None
    value: Any = None
    percent: Any = None
    qualifier: Any = None

    @property
    def is_chip(self) -> bool:
        """Whether a lead standard decides: of a paint chip, and of a value in percent alone."""
        return self.method == PAINT_CHIP or (self.value is None and self.percent is not None)

    @property
    def is_measured(self) -> bool:
        """Whether there is a value, or less than the detection limit."""
        return self.value is not None or self.percent is not None or self.qualifier == LESS_THAN


@dataclass(frozen=True, slots=True)
class Outcome:
    """A classification, and the limits that it was compared with."""

    classification: str | None = None
    negative_below: float | None = None
    positive_from: float | None = None
    limits_from: str | None = None


def classify_readings(
    transaction: Transaction, readings: Sequence[Reading], kept: Sequence[Outcome | None] | None = None
) -> list[Outcome]:
    """Return the outcome of each reading: by the limits of a `kept` outcome, else by those of its instrument or place.

    The sheet of the instrument decides, or the lead standard if the instrument is unknown.
    """
    kept = [own if own is not None and own.limits_from else None for own in kept or [None] * len(readings)]
    pending = [
        each
        for each, own in zip(readings, kept, strict=True)
        if own is None and each.method != ASSUMED and each.is_measured
    ]
    sheets = read_sheets(transaction, ((each.inspection_id, each.gun_id) for each in pending if not each.is_chip))
    places = {each.inspection_id for each in pending if each.is_chip or (each.inspection_id, each.gun_id) not in sheets}
    standards = read_standards(transaction, places - {None}) if places else {}
    return [
        reclassified(each, own)
        if own is not None
        else outcome_of(each, sheets.get((each.inspection_id, each.gun_id)), standards.get(each.inspection_id, {}))
        for each, own in zip(readings, kept, strict=True)
    ]


def reclassified(reading: Reading, kept: Outcome) -> Outcome:
    """Return the outcome of a reading by the limits of a former one."""
    assert kept.negative_below is not None
    assert kept.positive_from is not None
    limits = kept.negative_below, kept.positive_from
    value = reading.percent if reading.is_chip and reading.value is None else reading.value
    found = classify_chip(value, reading.qualifier, limits) if reading.is_chip else classify_value(reading, limits)
    return Outcome(found, *limits, kept.limits_from) if found is not None else Outcome()


def outcome_of(reading: Reading, sheet: Sheet | None, standards: Standards) -> Outcome:
    """Return the outcome of a reading by the sheet of its instrument and the standards of its place."""
    if reading.method == ASSUMED:
        return Outcome(POSITIVE)
    if not reading.is_measured:
        return Outcome()
    if reading.is_chip:
        return outcome_of_chip(reading, standards)
    limits = sheet.limits(reading.substrate, reading.mode) if sheet is not None else limits_of(standards, MG_CM2)
    return Outcome(classify_value(reading, limits), *limits, SHEET if sheet is not None else STANDARD)


def outcome_of_chip(reading: Reading, standards: Standards) -> Outcome:
    """Return the outcome of a paint chip. The graver one counts if it has a value in each unit."""
    values = [(unit, each) for unit, each in ((MG_CM2, reading.value), (PERCENT, reading.percent)) if each is not None]
    outcomes = [
        Outcome(
            classify_chip(value, reading.qualifier, limits_of(standards, unit)), *limits_of(standards, unit), STANDARD
        )
        for unit, value in values or [(MG_CM2, None)]
    ]
    return min(outcomes, key=lambda each: GRAVITY.index(each.classification or NEGATIVE))


FALLBACK: Final[dict[Any, Limits]] = {
    each["unit"]: (float(each["from_value"] or 0), float(each["from_value"] or 0))
    for each in LeadStandard.shipped
    if each["state"] is None
}
"""The limits where no lead standard holds: its rows were removed, or begin later."""


def limits_of(standards: Standards, unit: str) -> Limits:
    return standards[unit].limits if unit in standards else FALLBACK[unit]


def classify_value(reading: Reading, limits: Limits) -> str | None:
    return classify(reading.value, reading.qualifier, limits)


def classify(value: float | None, qualifier: str | None, limits: Limits) -> str | None:
    """Return the classification of a value; None without one. A qualified value may lie on one side of a limit only.

    Less than the detection limit, `<` without a value, is negative.

    >>> classify(0.91, None, (0.91, 1.2)), classify(1.0, "<", (1.0, 1.0)), classify(1.5, "<", (1.0, 1.0))
    ('inconclusive', 'negative', 'inconclusive')
    >>> classify(None, "<", (1.0, 1.0)), classify(None, None, (1.0, 1.0))
    ('negative', None)
    """
    if value is None:
        return NEGATIVE if qualifier == LESS_THAN else None
    number = thousandths(value)
    negative_below, positive_from = map(thousandths, limits)
    if qualifier == LESS_THAN:
        return NEGATIVE if number <= negative_below else INCONCLUSIVE
    if number >= positive_from:
        return POSITIVE
    return NEGATIVE if number < negative_below and qualifier != MORE_THAN else INCONCLUSIVE


def classify_chip(value: float | None, qualifier: str | None, limits: Limits) -> str | None:
    """Return the classification of a paint chip, which is never inconclusive: what it leaves open is positive.

    >>> classify_chip(0.4, ">", (0.5, 0.5)), classify_chip(0.4, None, (0.5, 0.5))
    ('positive', 'negative')
    """
    found = classify(value, qualifier, limits)
    return POSITIVE if found == INCONCLUSIVE else found


def lacks_value(method: str, qualifier: str | None, *values: float | None) -> bool:
    """Return whether a reading that is not assumed has no value, and is not below the detection limit either."""
    return all(each is None for each in values) and qualifier != LESS_THAN and method != ASSUMED


def grade(result: str | None) -> str | None:
    """Return which of the three results a text means; None for another text.

    >>> grade("POSITIVE"), grade(" neg. "), grade("see note")
    ('positive', 'negative', None)
    """
    text = (result or "").strip().casefold()
    return next((each for each in GRAVITY if text.startswith(each[:3])), None)


def gravest(results: Iterable[str | None]) -> str | None:
    """Return the gravest of some results: positive, inconclusive, then negative.

    >>> gravest(["negative", None, "inconclusive"])
    'inconclusive'
    """
    known = {each for each in results if each is not None}
    return next((each for each in GRAVITY if each in known), None)


def result_counts(classification: str | None, result: str | None, method: str = XRF) -> str | None:
    """Return the result that counts: the graver of the classification and the stated result."""
    return POSITIVE if method == ASSUMED else gravest((classification, grade(result)))


def in_conflict(classification: str | None, result: str | None) -> bool:
    """Return whether a stated result differs from the classification."""
    return classification is not None and result is not None and result.strip().casefold() != classification
