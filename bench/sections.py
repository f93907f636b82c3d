"""The sections of a run. Each one measures some requests on some targets, and returns a Markdown table."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Final

from bench import compare, load, report, requests
from bench.databases import PRE_REQUEST, Databases, Psql
from bench.measure import Measurement, Measurer, Target, footprint, log
from bench.servers import Server, Servers, file_url

WALKTHROUGH: Final = "walkthrough"
ON_POSTGRESQL: Final = "walkthrough-postgresql"
POSTGREST: Final = "postgrest"
SHARED_TABLES: Final = "postgrest-shared-tables"
TITLES: Final = {
    WALKTHROUGH: "Walkthrough",
    ON_POSTGRESQL: "Walkthrough on PostgreSQL",
    POSTGREST: "PostgREST",
    SHARED_TABLES: "PostgREST on Walkthrough's tables",
}
STARTS: Final = 5
WRITES_BEFORE_DASHBOARDS: Final = 20
GROWTH_MIN: Final = 0.75
WORKER_MB_MAX: Final = 80
START_SECONDS_MAX: Final = 0.6
SLOW_QUERIES_P99_FACTOR_MAX: Final = 10
WRITER_P99_FACTOR_MAX: Final = 10
WRITER_INSPECTIONS_MIN: Final = 1_000_000  # with fewer inspections, a checkpoint is short
DASHBOARD_MS_MAX: Final = 60  # with up to 100,000 inspections, and in proportion beyond


@dataclass(slots=True)
class Run:
    """What sections use, and the floors that they have measured. A server starts when a section first needs it."""

    measurer: Measurer
    servers: Servers
    psql: Psql
    words: Sequence[str]  # parts of titles of requests, empty for all
    floors: list[report.FloorRow] = field(default_factory=list)
    running: dict[str, Server] = field(default_factory=dict)

    def select(self, candidates: Sequence[requests.Request]) -> list[requests.Request]:
        """Return the requests that the command line selects."""
        return [each for each in candidates if not self.words or any(word in each.title for word in self.words)]

    def target(self, name: str, databases: Databases) -> Target:
        """Return a target; start its server if it does not run."""
        key = f"{name}-{databases.size}"
        if key not in self.running:
            self.running[key] = self.start(name, key, databases)
        return Target(name, self.running[key], databases.callers)

    def start(self, name: str, key: str, databases: Databases) -> Server:
        servers = self.servers
        if name == WALKTHROUGH:
            return servers.walkthrough(key, file_url(databases.file))
        if name == ON_POSTGRESQL:
            return servers.walkthrough(key, servers.url(databases.copy))
        if name == POSTGREST:
            return servers.postgrest(key, databases.postgrest)
        return servers.postgrest(key, databases.shared, PRE_REQUEST)

    def note_limit(self, title: str, databases: Databases, measured: float, limit: float, unit: str = "×") -> None:
        """Note a figure that has an upper limit."""
        self.floors.append(report.at_most(title, databases.size, measured, limit, unit))

    def renew(self, databases: Databases) -> None:
        """Restore the databases to the loaded rows."""
        self.stop_all()
        databases.renew(self.psql)

    def stop_all(self) -> None:
        """Stop every server, so that the next section has the machine alone."""
        while self.running:
            self.servers.stop(self.running.popitem()[1])


def reads(run: Run, databases: Databases) -> str:
    targets = [run.target(name, databases) for name in (WALKTHROUGH, ON_POSTGRESQL, POSTGREST)]
    measurements = []
    for request in run.select(requests.READS):
        compare.require_equal_answers(request, databases.callers, targets)
        measurements.append(run.measurer.measure(request, targets))
    return compared(run, databases, measurements, POSTGREST)


def lists_during_writes(run: Run, databases: Databases) -> str:
    """Measure lists while 20 rows a second are inserted: no cached list stays valid for long."""

    def background(target: Target) -> AbstractContextManager[None]:
        return load.background_writer(target.server.port, target.calls(requests.INSERT))

    measurements = []
    for request in run.select(requests.LISTS_DURING_WRITES):
        run.renew(databases)
        targets = [run.target(name, databases) for name in (WALKTHROUGH, ON_POSTGRESQL, POSTGREST)]
        compare.require_equal_answers(request, databases.callers, targets)
        measurements.append(run.measurer.measure(request, targets, background))
    run.renew(databases)
    return compared(run, databases, measurements, POSTGREST)


def writes(run: Run, databases: Databases) -> str:
    """Measure each write on restored databases. On PostgreSQL, both servers write to Walkthrough's tables."""
    measurements = []
    for request in run.select(requests.WRITES):
        run.renew(databases)
        targets = [run.target(name, databases) for name in TITLES]
        if "change" in request.name:
            for target in targets:
                target.send(request.rows_to_patch(databases.callers))
        compare.require_equal_writes(request, databases.callers, targets)
        measurements.append(run.measurer.measure(request, targets))
    run.renew(databases)
    for each in measurements:
        p99, median = each.median(WALKTHROUGH, "p99_ms"), each.median(WALKTHROUGH, "median_ms")
        is_single = each.request.connections == 1 and "at once" not in each.request.name
        if is_single and p99 and median and databases.size >= WRITER_INSPECTIONS_MIN:
            run.note_limit(f"p99 to median: {each.request.title}", databases, p99 / median, WRITER_P99_FACTOR_MAX)
    return compared(run, databases, measurements, SHARED_TABLES)


def compared(run: Run, databases: Databases, measurements: Sequence[Measurement], counterpart: str) -> str:
    """Note the floors; return the table. Walkthrough on PostgreSQL is compared with the counterpart."""
    pairs = [(WALKTHROUGH, POSTGREST), (ON_POSTGRESQL, counterpart)]
    for each in measurements:
        for pair, database, floor in zip(
            pairs, ("file", "PostgreSQL"), (each.request.floor, each.request.postgresql_floor), strict=True
        ):
            run.floors += report.at_least(each.request.title, databases.size, database, each.ratio(*pair), floor)
    names = dict.fromkeys((WALKTHROUGH, ON_POSTGRESQL, POSTGREST, counterpart))
    return report.comparison(measurements, {name: TITLES[name] for name in names}, pairs)


def dashboards_after_writes(run: Run, databases: Databases) -> str:
    """Measure the first dashboard after each of some inserts, on a file."""
    target = run.target(WALKTHROUGH, databases)
    inserts = iter(target.calls(requests.INSERT))
    limit = DASHBOARD_MS_MAX * max(1, databases.size / 100_000)
    rows = []
    for request in run.select(requests.DASHBOARDS):
        call = request.calls(databases.callers)[0]
        milliseconds = []
        for _ in range(WRITES_BEFORE_DASHBOARDS):
            target.send(next(inserts))
            begin = time.perf_counter()
            target.send(call)
            milliseconds.append((time.perf_counter() - begin) * 1e3)
        median = statistics.median(milliseconds)
        rows.append((request.title, report.decimal(median, 1), report.decimal(max(milliseconds), 1)))
        run.note_limit(f"{request.title}, after a write", databases, median, limit, "ms")
    run.renew(databases)
    return report.table(("request", "median ms", "largest ms"), rows)


def slow_queries(run: Run, databases: Databases) -> str:
    """Measure a row by id alone, and while slow queries and silent clients are connected."""

    def background(target: Target) -> AbstractContextManager[None]:
        return load.slow_queries(target.server.port, target.calls(requests.SLOW))

    target = run.target(WALKTHROUGH, databases)
    request = next(each for each in requests.POINTS if each.role == requests.MANAGER)
    alone = run.measurer.measure(request, [target])
    loaded = run.measurer.measure(request, [target], background, idle=False)
    first, second = alone.median(WALKTHROUGH, "p99_ms"), loaded.median(WALKTHROUGH, "p99_ms")
    if first and second:
        title = "p99 of a row by id during slow queries, to its p99 alone"
        run.note_limit(title, databases, second / first, SLOW_QUERIES_P99_FACTOR_MAX)
    rows = [
        (
            title, report.rate(each, WALKTHROUGH),
            *(report.decimal(each.median(WALKTHROUGH, figure), 1) for figure in ("median_ms", "p99_ms")),
        )
        for title, each in (("alone", alone), ("with 30 slow queries and 100 silent clients", loaded))
    ]  # fmt: skip
    return report.table((request.title, "/s", "median ms", "p99 ms"), rows)


def memory_and_start(run: Run, databases: Databases) -> str:
    """Measure the memory of idle servers, and the seconds from a start to the first rows."""
    call = requests.POINTS[0].calls(databases.callers)[0]
    rows = []
    for name, pids in ((WALKTHROUGH, ()), (POSTGREST, (run.servers.postgresql_pid,))):
        seconds = []
        for _ in range(STARTS):
            run.stop_all()
            begin = time.monotonic()
            target = run.target(name, databases)
            run.servers.wait(target.server, lambda target=target: target.send(call).status == 200)  # type: ignore[misc]
            seconds.append(time.monotonic() - begin)
        memory = footprint(target.server.pid, *pids)
        rows.append((
            TITLES[name], str(memory.processes), f"{memory.largest_rss_mb:.0f}", f"{memory.pss_mb:.0f}",
            f"{statistics.median(seconds):.2f}",
        ))  # fmt: skip
        if name == WALKTHROUGH:
            run.note_limit("memory of an idle worker", databases, memory.largest_rss_mb, WORKER_MB_MAX, "MB")
            run.note_limit("start to first answer", databases, statistics.median(seconds), START_SECONDS_MAX, "s")
    return report.table(("server", "processes", "largest RSS MB", "all PSS MB", "seconds to first rows"), rows)


def growth(run: Run, small: Databases, large: Databases) -> str:
    """Measure Walkthrough on the smallest and on the largest dataset."""
    targets = [replace(run.target(WALKTHROUGH, each), name=str(each.size)) for each in (large, small)]
    pair = str(large.size), str(small.size)
    measurements = [run.measurer.measure(request, targets) for request in run.select(requests.GROWING)]
    ratios = {each.request.title: ratio for each in measurements if (ratio := each.ratio(*pair)) is not None}
    if ratios:
        worst = min(ratios, key=lambda title: ratios[title])
        run.floors += report.at_least(f"growth, worst: {worst}", large.size, "file", ratios[worst], GROWTH_MIN)
    return report.comparison(measurements, {str(each.size): f"{each.size:,}" for each in (large, small)}, [pair])


SECTIONS: Final[dict[str, Callable[[Run, Databases], str]]] = {
    "reads": reads,
    "lists-during-writes": lists_during_writes,
    "writes": writes,
    "dashboards-after-writes": dashboards_after_writes,
    "slow-queries": slow_queries,
    "memory-and-start": memory_and_start,
}
GROWTH: Final = "growth"
NAMES: Final = (*SECTIONS, GROWTH)


def run_sections(run: Run, all_databases: Sequence[Databases], names: Sequence[str]) -> Iterator[str]:
    """Yield the headings and tables of the named sections."""
    for databases in all_databases:
        for name in SECTIONS:
            if name in names:
                log(f"{name}, {databases.size:,} inspections")
                yield f"## {name.replace('-', ' ').capitalize()}, {databases.size:,} inspections"
                yield SECTIONS[name](run, databases)
                run.stop_all()
    if len(all_databases) > 1 and GROWTH in names:
        small, large = all_databases[0], all_databases[-1]
        yield f"## Walkthrough with {large.size:,} and with {small.size:,} inspections"
        yield growth(run, small, large)
        run.stop_all()
