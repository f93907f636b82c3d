"""The classification of readings: positive, negative or inconclusive, by the limits of the instrument."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from engine.interface.transaction import Transaction
from engine.query.statement import Binding
from engine.query.write.domain_rules import DomainRule, Key
from inspections.lead.sheets import DEFAULT_SHEET, Limits, read_sheets, thousandths
from inspections.writes import read_rows, update_rows
from models.errors import Fault
from models.types import BIGINT, DOUBLE, INTEGER, TEXT, ColumnType
from models.vocabulary import INCONCLUSIVE, NEGATIVE, POSITIVE, QUALIFIERS

TABLE: Final = "reports_lead"
LESS_THAN, MORE_THAN = QUALIFIERS
INPUTS: Final[Mapping[str, ColumnType]] = {
    "inspection_id": BIGINT, "gun_id": INTEGER, "substrate": TEXT, "lead_mg_cm2": DOUBLE, "qualifier": TEXT
}  # fmt: skip
"""The columns on which a classification depends."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the classification of a reading depends on: the values of INPUTS."""

    inspection_id: Any = None
    gun_id: Any = None
    substrate: Any = None
    value: Any = None
    qualifier: Any = None


class ReadingRule(DomainRule):
    """The service classifies a value. A reading without a result gets the classification as its result."""

    watched = frozenset(INPUTS) | {"result"}

    def defaults(
        self, transaction: Transaction, binding: Binding, column: str, rows: Sequence[Mapping[str, object]]
    ) -> list[str | None]:
        """Return the classifications, which are also the results by default."""
        return classify_readings(transaction, [reading_of(row) for row in rows])

    def updated(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        """Classify the changed readings again. A result that was the classification follows it."""
        if not columns & self.watched:
            return
        rows = read_rows(
            transaction, TABLE, ("id", *INPUTS, "classification", "result"), "id", [key[0] for key in keys]
        )
        readings = [Reading(*(row[name] for name in INPUTS)) for row in rows]
        changes: dict[tuple[str | None, str | None], list[Key]] = {}
        for row, classification in zip(rows, classify_readings(transaction, readings), strict=True):
            result = row["result"]
            if result is None or (result == row["classification"] and "result" not in columns):
                result = classification
            if (classification, result) != (row["classification"], row["result"]):
                changes.setdefault((classification, result), []).append((row["id"],))
        for (classification, result), changed in changes.items():
            update_rows(transaction, TABLE, changed, {"classification": classification, "result": result})


def reading_of(row: Mapping[str, object]) -> Reading:
    """Return the inputs of a row of JSON values; an empty reading if one is invalid, which the write refuses."""
    try:
        return Reading(*(kind.read_json(row.get(name)) for name, kind in INPUTS.items()))
    except Fault:
        return Reading()


def classify_readings(transaction: Transaction, readings: Sequence[Reading]) -> list[str | None]:
    """Return the classification of each reading, by the sheets of the instruments as they are now."""
    sheets = read_sheets(
        transaction, ((each.inspection_id, each.gun_id) for each in readings if each.value is not None)
    )
    return [
        classify(
            each.value,
            each.qualifier,
            sheets.get((each.inspection_id, each.gun_id), DEFAULT_SHEET).limits(each.substrate),
        )
        for each in readings
    ]


def classify(value: float | None, qualifier: str | None, limits: Limits) -> str | None:
    """Return the classification of a value; None without one. A qualified value may lie on one side of a limit only.

    >>> classify(0.91, None, (0.91, 1.2)), classify(1.0, "<", (1.0, 1.0)), classify(1.5, "<", (1.0, 1.0))
    ('inconclusive', 'negative', 'inconclusive')
    """
    if value is None:
        return None
    number = thousandths(value)
    negative_below, positive_from = map(thousandths, limits)
    if qualifier == LESS_THAN:
        return NEGATIVE if number <= negative_below else INCONCLUSIVE
    if number >= positive_from:
        return POSITIVE
    return NEGATIVE if number < negative_below and qualifier != MORE_THAN else INCONCLUSIVE
