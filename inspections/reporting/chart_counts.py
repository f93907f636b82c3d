"""The counts of a chart: inspections by day or month and status, and the busiest buildings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from access.caller import VisibleRows
from engine.query.statement import Binding
from engine.storage.transaction import Transaction
from inspections.reporting import chart_statements
from inspections.reporting.chart_statements import POINT_LABELS_MAX
from inspections.reporting.counts import fetch_rows
from models.errors import Fault


class TooManyLabels(Fault):
    """A chart with too many pairs of period and status (54000)."""

    def __init__(self) -> None:
        super().__init__(
            f"the chart has more than {POINT_LABELS_MAX} pairs of period and status",
            hint="Choose dates closer together.",
        )


@dataclass(frozen=True, slots=True)
class BusyBuilding:
    """A visible building and the numbers of its visible inspections."""

    building_id: int
    name: str
    total: int
    completed: int
    failed: int


@dataclass(frozen=True, slots=True)
class Window:
    """The first and last day of a chart, both included, and whether it counts by month or by day."""

    start: str
    end: str
    by_month: bool

    @property
    def characters(self) -> int:
        """The number of characters of a date that identify a period."""
        return len("YYYY-MM") if self.by_month else len("YYYY-MM-DD")

    def binding(self, visible: VisibleRows, *building_ids: int) -> Binding:
        """Return the values of a statement over these buildings, or over all."""
        return visible.binding(*building_ids, start_date=self.start, end_date=self.end)


@dataclass(frozen=True, slots=True)
class Points:
    """Inspections by day or month and status, and the busiest buildings, by count descending, then by id."""

    counted: Mapping[tuple[str, str | None], int]
    busiest: list[BusyBuilding]


def read_points(transaction: Transaction, visible: VisibleRows, window: Window) -> Points:
    """Count all visible inspections of a window. Raise TooManyLabels."""
    counted = read_series(transaction, visible, window)
    if len(counted) > POINT_LABELS_MAX:
        raise TooManyLabels
    return Points(counted, read_busiest(transaction, visible, window))


def read_series(transaction: Transaction, visible: VisibleRows, window: Window) -> dict[tuple[str, str | None], int]:
    """Return the number of inspections by period and status."""
    name, rule = transaction.dialect.name, visible.rule
    statement = chart_statements.plan_points(name, rule, window.characters)
    rows = fetch_rows(transaction, statement, window.binding(visible))
    return {(period, status): count for period, status, count in rows}


def read_busiest(transaction: Transaction, visible: VisibleRows, window: Window) -> list[BusyBuilding]:
    """Return the busiest buildings that have an inspection."""
    statement = chart_statements.plan_busiest(transaction.dialect.name, visible.rule)
    rows = [row for row in fetch_rows(transaction, statement, window.binding(visible)) if row[2]]
    outcomes = read_outcomes(transaction, visible, window, (row[0] for row in rows))
    return [BusyBuilding(key, name, total, *outcomes[key][1:]) for key, name, total in rows]


def read_outcomes(
    transaction: Transaction, visible: VisibleRows, window: Window, keys: Iterable[int]
) -> dict[int, tuple[int, int, int]]:
    """Return the numbers of all, completed and failed inspections, by id of the buildings that have any."""
    statement = chart_statements.plan_outcomes(transaction.dialect.name, visible.rule)
    rows = fetch_rows(transaction, statement, window.binding(visible, *keys))
    return {key: (total, completed, failed) for key, total, completed, failed in rows if total}
