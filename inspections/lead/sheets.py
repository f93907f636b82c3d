"""The limits of XRF instruments, as their performance characteristic sheets give them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from engine.interface.transaction import Transaction
from inspections.writes import Row, read_rows
from models import XrfInstrument

Limits = tuple[float, float]
"""The value below which a reading is negative, and the value from which it is positive."""

SHEET_COLUMNS: Final = ("check_low", "check_high", "check_minutes", "negative_below", "positive_from")


@dataclass(frozen=True, slots=True)
class Sheet:
    """The limits of an instrument. Those of a substrate replace the limits of readings."""

    check_low: float
    check_high: float
    check_minutes: int
    negative_below: float
    positive_from: float
    substrates: Mapping[str, Limits] = field(default_factory=dict)

    def limits(self, substrate: str | None) -> Limits:
        """Return the limits of a substrate: by its spelling, else regardless of case, else those of the instrument."""
        spelling = substrate or ""
        of_instrument = (self.negative_below, self.positive_from)
        return self.substrates.get(spelling) or self.substrates.get(spelling.casefold(), of_instrument)


def column_default(name: str) -> Any:
    return XrfInstrument.__table__.c[name].info["column"].stored_default


DEFAULT_SHEET: Final = Sheet(**{name: column_default(name) for name in SHEET_COLUMNS})
"""The limits of an unknown instrument. 1.0 mg/cm² is the federal limit."""

Place = tuple[Any, Any]
"""The id of an inspection, and the number of an instrument that was used there."""


def read_sheets(transaction: Transaction, places: Iterable[Place]) -> dict[Place, Sheet]:
    """Return the sheets of the instruments used in inspections; DEFAULT_SHEET for an unknown one.

    An instrument of another client than the inspection's is unknown: its limits must not show in the readings.
    """
    used = {place for place in places if None not in place}
    guns = sorted({gun_id for _, gun_id in used})
    columns = ("gun_id", "client_id", *SHEET_COLUMNS)
    instruments = {row["gun_id"]: row for row in read_rows(transaction, "xrf_instruments", columns, "gun_id", guns)}
    if not instruments:
        return dict.fromkeys(used, DEFAULT_SHEET)
    inspections = sorted({inspection_id for inspection_id, _ in used})
    owners = {row["id"]: row["client_id"] for row in read_rows(transaction, "inspections", OWNER, "id", inspections)}
    substrates = read_substrates(transaction, guns)
    sheets = {gun_id: sheet_of(row, substrates.get(gun_id, {})) for gun_id, row in instruments.items()}
    return {
        (inspection_id, gun_id): sheets[gun_id]
        if gun_id in sheets and is_usable(instruments[gun_id], owners.get(inspection_id))
        else DEFAULT_SHEET
        for inspection_id, gun_id in used
    }


OWNER: Final = ("id", "client_id")


def is_usable(instrument: Row, client_id: int | None) -> bool:
    """Return whether an instrument is shared, or of the client of an inspection."""
    return instrument["client_id"] in (None, client_id)


def sheet_of(instrument: Row, substrates: Mapping[str, Limits]) -> Sheet:
    return Sheet(**{name: instrument[name] for name in SHEET_COLUMNS}, substrates=substrates)


def read_substrates(transaction: Transaction, guns: list[int]) -> dict[int, dict[str, Limits]]:
    """Return the limits by instrument and substrate: by its spelling, and by its spelling without case."""
    found: dict[int, dict[str, Limits]] = {}
    columns = ("gun_id", "substrate", "negative_below", "positive_from")
    for row in read_rows(transaction, "xrf_limits", columns, "gun_id", guns):
        limits = (row["negative_below"], row["positive_from"])
        of_instrument = found.setdefault(row["gun_id"], {})
        of_instrument.setdefault(row["substrate"].casefold(), limits)
        of_instrument[row["substrate"]] = limits
    return found


def thousandths(value: float) -> int:
    """Return a value in thousandths, rounded. Doubles are compared in thousandths.

    >>> (0.7 + 0.8 + 0.9) / 3 < 0.8, thousandths((0.7 + 0.8 + 0.9) / 3) < thousandths(0.8)
    (True, False)
    """
    return math.floor(value * 1_000 + 0.5)
