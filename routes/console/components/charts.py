"""Geometry of the dashboard's charts and of QR codes; the templates write the SVG.

Shapes have classes and plain coordinates and no inline style, which the content security policy forbids. A table with
the same numbers accompanies each chart.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

import segno

from inspections.reporting.chart import Chart
from models.vocabulary import CANCELLED, COMPLETED, FAILED, IN_PROGRESS, SCHEDULED
from routes.console.components.template_filters import long_day, status

WIDTH, HEIGHT = 940, 200
LEFT, BOTTOM, TOP = 44, 22, 18
TOTALS_MAX = 24  # narrower columns have no room for the number above them
LABELS_MAX = 12
POINTS_MAX = 130  # more bars are not legible
STATUSES = (COMPLETED, FAILED, IN_PROGRESS, SCHEDULED, CANCELLED, "none", "other")


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle, its tooltip, and the query string of the inspections that it counts."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    tooltip: str
    filters: str


@dataclass(frozen=True, slots=True)
class Label:
    text: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Stacked:
    """A stacked column chart: a column with its total per period, axis labels, and table rows with query strings."""

    bars: list[Bar]
    periods: list[Label]
    lines: list[Label]
    kinds: list[str]
    rows: list[tuple[str, int, list[int]]]
    links: list[str]
    totals: list[Label]


def stacked(chart: Chart) -> Stacked:
    """Return the chart's series stacked by status."""
    kinds = [kind for kind in STATUSES if any(point.by_status.get(kind) for point in chart.series)]
    top = round_up(max((point.total for point in chart.series), default=0))
    step = (WIDTH - LEFT) / max(1, len(chart.series))
    labelled_every = max(1, -(-len(chart.series) // LABELS_MAX))
    scale = (HEIGHT - BOTTOM - TOP) / top
    lines = [Label(f"{top * part // 2:,}", LEFT, HEIGHT - BOTTOM - top * part / 2 * scale) for part in range(3)]
    drawn = Stacked([], [], lines, kinds, [], [], [])
    for place, point in enumerate(chart.series):
        name = period_name(point.period, chart.interval.value)
        counts = [point.by_status.get(kind, 0) for kind in kinds]
        drawn.rows.append((name, point.total, counts))
        drawn.links.append(counted_filters(chart, place, "other"))
        x, y = LEFT + place * step, float(HEIGHT - BOTTOM)
        for kind, count in zip(kinds, counts, strict=True):
            y -= count * scale
            tooltip = f"{name}: {count} {'No status' if kind == 'none' else status(kind)}"
            if count:
                drawn.bars.append(
                    Bar(
                        kind, x + step * 0.1, y, step * 0.8, count * scale, tooltip, counted_filters(chart, place, kind)
                    )
                )
        if point.total and len(chart.series) <= TOTALS_MAX:
            drawn.totals.append(Label(f"{point.total:,}", x + step / 2, y - 4))
        if place % labelled_every == 0:
            drawn.periods.append(Label(name, x + step / 2, HEIGHT - 6))
    return drawn


def counted_filters(chart: Chart, place: int, kind: str) -> str:
    """Return the query string of the inspections of one period and status, or of all in the period for "other"."""
    periods = [point.period for point in chart.series]
    first, last = max(periods[place], chart.start_date), chart.end_date
    if place + 1 < len(periods):
        last = str(datetime.date.fromisoformat(periods[place + 1]) - datetime.timedelta(1))
    dates = f"date_visited=gte.{first}&date_visited=lte.{last}"
    return dates + ("" if kind == "other" else f"&status={label_filter(kind)}")


def label_filter(label: str) -> str:
    """Return the filter of the rows that a label counts.

    >>> label_filter("failed"), label_filter("none"), label_filter("a&b")
    ('eq.failed', 'is.null', 'eq.a%26b')
    """
    return "is.null" if label == "none" else f"eq.{quote(label, safe='')}"


@dataclass(frozen=True, slots=True)
class Share:
    """One row of a bar chart: what it counts, its count, and its length in percent of the longest bar."""

    key: str
    count: int
    percent: float


def shares(counts: Mapping[str, int]) -> list[Share]:
    """Return counts as bars, longest first, without zeros."""
    largest = max(counts.values(), default=0)
    ranked = sorted(((key, count) for key, count in counts.items() if count), key=lambda pair: (-pair[1], pair[0]))
    return [Share(key, count, 100 * count / largest) for key, count in ranked]


@dataclass(frozen=True, slots=True)
class QrCode:
    """A square of `size` modules with a quiet border, and the path of its dark modules."""

    size: int
    path: str


def qr_code(text: str) -> QrCode:
    """Return the QR code of a text."""
    rows = list(segno.make_qr(text, error="m").matrix_iter())
    dark = (f"M{x} {y}h1v1h-1z" for y, row in enumerate(rows) for x, is_dark in enumerate(row) if is_dark)
    return QrCode(len(rows), "".join(dark))


def period_name(period: str, interval: str) -> str:
    """Return a period as an axis label.

    >>> period_name("2026-01-01", "month"), period_name("2026-02-09", "week")
    ('Jan 2026', '9 Feb 2026')
    """
    return long_day(period).partition(" ")[2] if interval == "month" else long_day(period)


def round_up(count: int) -> int:
    """Return an even number at or above the count for the end of an axis.

    >>> round_up(0), round_up(3), round_up(37), round_up(1234)
    (2, 4, 40, 1400)
    """
    step = 2
    while count > step * 10:
        step *= 10
    return max(step, -(-count // step) * step)
