"""Formats the figures as Markdown tables."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Final

from bench.measure import Measurement, Measurer
from engine.storage.sqlite import driver

TOLERANCE: Final = 0.05
FLOOR_HEADS: Final = ("floor", "inspections", "on", "measured", "floor is", "result")
FloorRow = tuple[str, ...]


def comparison(measurements: Sequence[Measurement], titles: Mapping[str, str], pairs: Sequence[tuple[str, str]]) -> str:
    """Return a table with a row a request: the rate of each target, ratios of pairs, and the p99."""
    rows = [
        (
            each.request.title,
            *(rate(each, target) for target in titles),
            *(decimal(each.ratio(target, other), 2) for target, other in pairs),
            *(decimal(each.median(target, "p99_ms"), 1) for target in titles),
        )
        for each in measurements
    ]
    heads = (
        "request",
        *(f"{title} /s" for title in titles.values()),
        *(f"{titles[target]} ÷ {titles[other]}" for target, other in pairs),
        *(f"{title} p99 ms" for title in titles.values()),
    )
    return table(heads, rows)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table: the first column is left-aligned, the others right-aligned.

    >>> print(table(("a", "b"), [("x", "1")]))
    | a | b |
    |---|--:|
    | x | 1 |
    """
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|--:" * (len(heads) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def rate(measurement: Measurement, target: str) -> str:
    """Return the answers a second."""
    return "refused" if target in measurement.refused else decimal(measurement.median(target, "per_second"), 0)


def decimal(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:,.{places}f}"


def at_least(title: str, size: int, database: str, measured: float | None, floor: float | None) -> list[FloorRow]:
    """Return the row of a least ratio; no row without a floor or without a figure."""
    if measured is None or floor is None:
        return []
    return [(title, f"{size:,}", database, f"{measured:.2f} ×", f"≥ {floor:g} ×", verdict(measured / floor))]


def at_most(title: str, size: int, measured: float, limit: float, unit: str) -> FloorRow:
    return title, f"{size:,}", "file", f"{measured:.2f} {unit}", f"≤ {limit:g} {unit}", verdict(limit / measured)


def verdict(share: float) -> str:
    """Return the result of a share of the floor.

    >>> [verdict(share) for share in (1.2, 0.96, 0.9)]
    ['met', 'within 5 %', 'short']
    """
    return "met" if share >= 1 else "within 5 %" if share >= 1 - TOLERANCE else "short"


def circumstances(measurer: Measurer) -> str:
    """Return the cores, the versions, the rounds and the date as one paragraph."""
    return (
        f"{len(os.sched_getaffinity(0))} cores, {platform.system()} {platform.release()}; "
        f"Python {platform.python_version()}, {driver.__name__.split('.')[0]} with SQLite {driver.sqlite_version}, "
        f"gunicorn {version('gunicorn')}; PostgreSQL 15, PostgREST 12.0.2. "
        f"{measurer.rounds} rounds of {measurer.seconds:g} s, {datetime.now(UTC).date().isoformat()}."
    )
