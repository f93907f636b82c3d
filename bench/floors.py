"""The floors of the benchmark: the least ratio of rates beside PostgREST, and the largest latency, memory and time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from bench.measure import Measurement
from bench.requests import ADMIN, MANAGER, ROOT, Request

TOLERANCE: Final = 0.03
WALKTHROUGH, ON_POSTGRESQL = "walkthrough", "walkthrough-postgresql"
POSTGREST, SHARED_TABLES = "postgrest", "postgrest-shared-tables"
ALL: Final = (ROOT, ADMIN, MANAGER)
GROWTH_MIN: Final = 0.75
WORKER_MB_MAX: Final = 80.0
START_SECONDS_MAX: Final = 0.6
SLOW_QUERIES_P99_FACTOR_MAX: Final = 5.0
WRITER_P99_FACTOR_MAX: Final = 10.0
WRITER_INSPECTIONS: Final = 1_000_000
HEADS: Final = ("floor", "inspections", "on", "measured", "floor is", "result")


@dataclass(frozen=True, slots=True)
class Floor:
    """The least ratio to PostgREST of one request in one section, on a file and on PostgreSQL."""

    section: str
    name: str
    roles: tuple[str, ...]
    on_file: float
    on_postgresql: float


NEWEST: Final = "20 newest of a status, with building"
DURING_WRITES: Final = (NEWEST,)
WRITE_NAMES: Final = (
    "insert one, 1 writer", "insert one, 8 writers", "insert 1,000 at once, 1 writer",
    "change one status, 1 writer", "change one status, 8 writers",
)  # fmt: skip
FLOORS: Final = (
    Floor("reads", "one inspection by id", ALL, 1.9, 0.85),
    Floor("reads", NEWEST, (ADMIN, MANAGER), 4, 1),
    Floor("lists-during-writes", NEWEST, (ADMIN, MANAGER), 3, 1),
    Floor("reads", "20 newest with building, inspector and readings", (ADMIN, MANAGER), 8, 1),
    Floor("reads", "20 buildings of a city by name", ALL, 2.2, 1),
    Floor("reads", "20 of the 200 newest and how many there are", (ADMIN, MANAGER), 15, 1),
    Floor("reads", "how many of a status (HEAD)", ALL, 8, 1),
    Floor("reads", "dashboard", ALL, 15, 1),
    *(Floor("writes", name, (ADMIN,), 1, 0.7) for name in WRITE_NAMES),
)
"""On PostgreSQL, the floors of writes are for PostgREST on Walkthrough's tables; reads, for PostgREST on its own."""


@dataclass(slots=True)
class RunFigures:
    """What a run has measured: by section and size, and single figures."""

    measurements: dict[tuple[str, int], list[Measurement]] = field(default_factory=dict)
    growth: dict[str, float] = field(default_factory=dict)  # ratio of rates, by title
    slow_queries: dict[int, tuple[float | None, float | None]] = field(default_factory=dict)
    worker_mb: float | None = None
    start_seconds: float | None = None

    def add(self, section: str, size: int, found: Sequence[Measurement]) -> None:
        self.measurements[section, size] = list(found)


def has_floor(request: Request) -> bool:
    return any(floor.name == request.name and request.role in floor.roles for floor in FLOORS)


def rows(figures: RunFigures) -> list[tuple[str, ...]]:
    """Return the rows of the table of floors; rows without a figure are left out."""
    return [*_ratios(figures), *_growth(figures), *_limits(figures)]


def _ratios(figures: RunFigures) -> Iterator[tuple[str, ...]]:
    for floor in FLOORS:
        for (section, size), found in figures.measurements.items():
            for measurement in _with_floor(floor, section, found):
                title = measurement.request.title
                if floor.section == "lists-during-writes":
                    title += ", during writes"
                yield from _ratio(floor, section, size, title, measurement)


def _with_floor(floor: Floor, section: str, found: Iterable[Measurement]) -> Iterator[Measurement]:
    shared = floor.section == "writes" and section == "writes-shared-tables"
    if section != floor.section and not shared:
        return
    for measurement in found:
        request = measurement.request
        if request.name == floor.name and request.role in floor.roles:
            yield measurement


def _ratio(floor: Floor, section: str, size: int, title: str, measurement: Measurement) -> Iterator[tuple[str, ...]]:
    if section != "writes-shared-tables":
        ratio = measurement.ratio(WALKTHROUGH, POSTGREST)
        yield from _at_least(title, f"{size:,}", "file", ratio, floor.on_file)
    if section != "writes":
        other = SHARED_TABLES if section == "writes-shared-tables" else POSTGREST
        ratio = measurement.ratio(ON_POSTGRESQL, other)
        yield from _at_least(title, f"{size:,}", "PostgreSQL", ratio, floor.on_postgresql)


def _growth(figures: RunFigures) -> Iterator[tuple[str, ...]]:
    if figures.growth:
        title, ratio = min(figures.growth.items(), key=lambda item: item[1])
        yield from _at_least(f"growth, worst: {title}", "largest", "file", ratio, GROWTH_MIN)


def _limits(figures: RunFigures) -> Iterator[tuple[str, ...]]:
    for size, (alone, loaded) in figures.slow_queries.items():
        factor = loaded / alone if alone and loaded else None
        title = "p99 of a point read during slow queries, to its p99 alone"
        yield from _at_most(title, f"{size:,}", factor, SLOW_QUERIES_P99_FACTOR_MAX, " ×")
    for measurement in figures.measurements.get(("writes", WRITER_INSPECTIONS), []):
        p99, median = measurement.p99_ms(WALKTHROUGH), measurement.median_ms(WALKTHROUGH)
        if measurement.request.connections == 1 and "at once" not in measurement.request.name:
            factor = p99 / median if p99 and median else None
            title = f"p99 to median: {measurement.request.title}"
            size_text = f"{WRITER_INSPECTIONS:,}"
            yield from _at_most(title, size_text, factor, WRITER_P99_FACTOR_MAX, " ×")
    yield from _at_most("RSS of an idle worker", "", figures.worker_mb, WORKER_MB_MAX, " MB")
    yield from _at_most("start to first answer", "", figures.start_seconds, START_SECONDS_MAX, " s")


def _at_least(title: str, size: str, database: str, measured: float | None, floor: float) -> Iterator[tuple[str, ...]]:
    if measured is not None:
        result = verdict(measured / floor)
        yield title, size, database, f"{measured:.2f} ×", f"≥ {floor:g} ×", result


def _at_most(title: str, size: str, measured: float | None, limit: float, unit: str) -> Iterator[tuple[str, ...]]:
    if measured is not None:
        result = verdict(limit / measured)
        yield title, size, "file", f"{measured:.2f}{unit}", f"≤ {limit:g}{unit}", result


def verdict(share: float) -> str:
    """Return the result of a share of the floor.

    >>> [verdict(share) for share in (1.2, 0.98, 0.9)]
    ['met', 'within 3 %', 'short']
    """
    return "met" if share >= 1 else "within 3 %" if share >= 1 - TOLERANCE else "short"
