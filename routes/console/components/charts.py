"""Geometry of the dashboard's charts; the templates write the SVG.

Shapes have classes and plain coordinates and no inline style, which the content security policy forbids. A table with
the same numbers accompanies each chart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.reporting.chart import Chart

WIDTH, HEIGHT = 940, 200
LEFT, BOTTOM, TOP = 34, 22, 8
LABELS_MAX = 12
POINTS_MAX = 130  # more bars are not legible
STATUSES = ("completed", "failed", "in_progress", "scheduled", "cancelled", "none", "other")
NAMES = {"none": "no status"}


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle and its tooltip."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    tooltip: str


@dataclass(frozen=True, slots=True)
class Label:
    text: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Stacked:
    """A stacked column chart: one column per period, with its axis labels and its table rows."""

    bars: list[Bar]
    periods: list[Label]
    lines: list[Label]
    kinds: list[str]
    rows: list[tuple[str, int, list[int]]]


def stacked(chart: Chart) -> Stacked:
    """Return the chart's series stacked by status."""
    kinds = [kind for kind in STATUSES if any(point.by_status.get(kind) for point in chart.series)]
    top = round_up(max((point.total for point in chart.series), default=0))
    step = (WIDTH - LEFT) / max(1, len(chart.series))
    labelled_every = max(1, -(-len(chart.series) // LABELS_MAX))
    scale = (HEIGHT - BOTTOM - TOP) / top
    lines = [Label(f"{top * part // 2:,}", LEFT, HEIGHT - BOTTOM - top * part / 2 * scale) for part in range(3)]
    drawn = Stacked([], [], lines, kinds, [])
    for place, point in enumerate(chart.series):
        name = period_name(point.period, chart.interval.value)
        counts = [point.by_status.get(kind, 0) for kind in kinds]
        drawn.rows.append((name, point.total, counts))
        x, y = LEFT + place * step, float(HEIGHT - BOTTOM)
        for kind, count in zip(kinds, counts, strict=True):
            y -= count * scale
            tooltip = f"{name}: {count} {NAMES.get(kind, kind.replace('_', ' '))}"
            drawn.bars.append(Bar(kind, x + step * 0.1, y, step * 0.8, count * scale, tooltip))
        if place % labelled_every == 0:
            drawn.periods.append(Label(name, x + step / 2, HEIGHT - 6))
    return drawn


@dataclass(frozen=True, slots=True)
class Share:
    """One row of a bar chart: its name, its count, and its length in percent of the longest bar."""

    name: str
    count: int
    percent: float
    key: str = ""


def shares(counts: Mapping[str, int]) -> list[Share]:
    """Return counts as bars, longest first, without zeros."""
    largest = max(counts.values(), default=0)
    ranked = sorted(((name, count) for name, count in counts.items() if count), key=lambda pair: (-pair[1], pair[0]))
    return [
        Share(NAMES.get(name, name.replace("_", " ")), count, 100 * count / largest, name) for name, count in ranked
    ]


MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def period_name(period: str, interval: str) -> str:
    """Return a period as an axis label.

    >>> period_name("2026-01-01", "month"), period_name("2026-02-01", "month")
    ('Jan 26', 'Feb 26')
    >>> period_name("2026-02-09", "week")
    '9 Feb'
    """
    year, month, day = period.split("-")
    name = MONTHS[int(month) - 1]
    return f"{name} {year[2:]}" if interval == "month" else f"{int(day)} {name}"


def round_up(count: int) -> int:
    """Return an even number at or above the count for the end of an axis.

    >>> round_up(0), round_up(3), round_up(37), round_up(1234)
    (2, 4, 40, 1400)
    """
    step = 2
    while count > step * 10:
        step *= 10
    return max(step, -(-count // step) * step)
