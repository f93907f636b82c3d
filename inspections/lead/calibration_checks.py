"""The results of calibration checks: the mean of three measurements, within the limits of the instrument or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from engine.interface.transaction import Transaction
from engine.query.statement import Binding
from engine.query.write.domain_rules import DomainRule, Key
from inspections.lead.sheets import DEFAULT_SHEET, Sheet, read_sheets, thousandths
from inspections.writes import read_rows, update_rows
from models.errors import Fault
from models.types import BIGINT, DOUBLE, INTEGER, Bound, ColumnType
from models.vocabulary import CHECK_RESULTS

TABLE: Final = "calibration_checks"
PASS, FAIL = CHECK_RESULTS
INPUTS: Final[Mapping[str, ColumnType]] = {
    "inspection_id": BIGINT, "gun_id": INTEGER, "first": DOUBLE, "second": DOUBLE, "third": DOUBLE
}  # fmt: skip
"""The columns on which a result depends."""


class CalibrationCheckRule(DomainRule):
    """The service computes the mean of a check, and compares it with the limits of the instrument."""

    watched = frozenset(INPUTS)

    def defaults(
        self, transaction: Transaction, binding: Binding, column: str, rows: Sequence[Mapping[str, object]]
    ) -> list[Bound]:
        checks = [inputs_of(row) for row in rows]
        return [outcome[column] for outcome in outcomes_of(transaction, checks)]

    def updated(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        """Compute the results of the changed checks again."""
        if columns & self.watched:
            rows = read_rows(transaction, TABLE, ("id", *INPUTS), "id", [key[0] for key in keys])
            for row, outcome in zip(rows, outcomes_of(transaction, rows), strict=True):
                update_rows(transaction, TABLE, [(row["id"],)], outcome)


def inputs_of(row: Mapping[str, object]) -> dict[str, Any]:
    """Return the inputs of a row of JSON values; none if one is invalid, which the write refuses."""
    try:
        return {name: kind.read_json(row.get(name)) for name, kind in INPUTS.items()}
    except Fault:
        return dict.fromkeys(INPUTS)


def outcomes_of(transaction: Transaction, checks: Sequence[Mapping[str, Any]]) -> list[dict[str, Bound]]:
    """Return mean, result and limits of each check, by the sheets of the instruments as they are now."""
    places = [(each["inspection_id"], each["gun_id"]) for each in checks]
    sheets = read_sheets(transaction, places)
    return [
        outcome_of((check["first"], check["second"], check["third"]), sheets.get(place, DEFAULT_SHEET))
        for check, place in zip(checks, places, strict=True)
    ]


def outcome_of(measured: tuple[Any, ...], sheet: Sheet) -> dict[str, Bound]:
    """Return mean, result and limits of a check. Without three measurements there are no mean and no result.

    >>> outcome_of((0.7, 0.8, 0.9), DEFAULT_SHEET) == {
    ...     "mean": 0.8, "result": "pass", "check_low": 0.8, "check_high": 1.2
    ... }
    True
    """
    mean = thousandths(sum(measured) / len(measured)) if None not in measured else None
    limits = {"check_low": sheet.check_low, "check_high": sheet.check_high}
    if mean is None:
        return {"mean": None, "result": None, **limits}
    is_within = thousandths(sheet.check_low) <= mean <= thousandths(sheet.check_high)
    return {"mean": mean / 1_000, "result": PASS if is_within else FAIL, **limits}
