"""The sections of a run. Each one measures some requests on some targets and returns Markdown tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bench import floors, report
from bench.databases import Databases
from bench.dialect import Dialect
from bench.environment import (
    BARE_VIEW,
    ON_POSTGRESQL,
    POCKETBASE,
    POSTGREST,
    SHARED_TABLES,
    TITLES,
    WALKTHROUGH,
    Environment,
)
from bench.footprint import STARTS, MemoryUse, footprint, seconds_to_answer
from bench.measure import Measurement, Target
from bench.requests import FULL_PAGE, INSERT, LISTS, MANAGER, POINTS, READS, SLOW, WRITES, Request
from bench.servers import file_url


@dataclass(frozen=True, slots=True)
class Section:
    """Tables of one size. `run` returns Markdown."""

    name: str
    title: str
    requests: tuple[Request, ...]
    run: Callable[[Environment, Databases], str]
    smallest_only: bool = False
    for_floors: bool = True


def reads(environment: Environment, databases: Databases) -> str:
    targets = [
        environment.walkthrough(databases),
        environment.on_postgresql(databases),
        *environment.pocketbase(databases),
        environment.postgrest(databases),
    ]
    requests = environment.options.requests(READS)
    measurements = environment.measurer.reads(requests, targets)
    environment.figures.add("reads", databases.size, measurements)
    return compared(measurements, targets)


def compared(measurements: Sequence[Measurement], targets: Sequence[Target]) -> str:
    """Return a table of targets. The ratios are to PostgREST, and Walkthrough's to PocketBase."""
    names = [target.name for target in targets]
    pairs = [(name, POSTGREST) for name in (WALKTHROUGH, ON_POSTGRESQL)]
    if POCKETBASE in names:
        pairs.append((WALKTHROUGH, POCKETBASE))
    return report.comparison(measurements, {name: TITLES[name] for name in names}, pairs)


def bare_view(environment: Environment, databases: Databases) -> str:
    targets = [environment.walkthrough(databases), environment.bare_view(databases)]
    requests = environment.options.requests(POINTS)
    measurements = [environment.measurer.measure(each, targets) for each in requests]
    names = {name: TITLES[name] for name in (WALKTHROUGH, BARE_VIEW)}
    return report.comparison(measurements, names, [(WALKTHROUGH, BARE_VIEW)])


def lists_during_writes(environment: Environment, databases: Databases) -> str:
    """Lists while 20 rows a second are inserted: no cached list stays valid for long."""
    targets = [
        environment.walkthrough(databases),
        environment.on_postgresql(databases),
        environment.postgrest(databases),
    ]
    requests = environment.options.requests(LISTS)
    if environment.options.floors_only:
        requests = [each for each in requests if each.name in floors.DURING_WRITES]
    measurements = environment.measurer.reads(requests, targets, INSERT)
    environment.figures.add("lists-during-writes", databases.size, measurements)
    return compared(measurements, targets)


def writes(environment: Environment, databases: Databases) -> str:
    def targets() -> list[Target]:
        return [
            environment.walkthrough(databases),
            environment.on_postgresql(databases),
            *environment.pocketbase(databases),
            environment.postgrest(databases),
        ]

    measurements, found = write_measurements(environment, databases, targets)
    environment.figures.add("writes", databases.size, measurements)
    return compared(measurements, found)


def writes_on_shared_tables(environment: Environment, databases: Databases) -> str:
    def targets() -> list[Target]:
        return [environment.on_postgresql(databases), environment.postgrest_on_shared_tables(databases)]

    measurements, _ = write_measurements(environment, databases, targets)
    environment.figures.add("writes-shared-tables", databases.size, measurements)
    names = {name: TITLES[name] for name in (ON_POSTGRESQL, SHARED_TABLES)}
    return report.comparison(measurements, names, [(ON_POSTGRESQL, SHARED_TABLES)])


def write_measurements(
    environment: Environment, databases: Databases, start: Callable[[], list[Target]]
) -> tuple[list[Measurement], list[Target]]:
    """Measure each write on restored databases; return the measurements and the last targets."""
    measurements = []
    targets: list[Target] = []
    for request in environment.options.requests(WRITES):
        environment.renew(databases)
        targets = start()
        measurements.append(environment.measurer.writes(request, targets))
    environment.renew(databases)
    return measurements, targets


def slow_queries(environment: Environment, databases: Databases) -> str:
    """A point read alone, and while slow queries and silent clients are connected."""
    request = next(each for each in POINTS if each.role == MANAGER)
    target = environment.walkthrough(databases)
    alone, loaded = environment.measurer.under_slow_queries(request, SLOW, target)
    environment.figures.slow_queries[databases.size] = (
        alone.p99_ms(WALKTHROUGH), loaded.p99_ms(WALKTHROUGH)
    )  # fmt: skip
    return report.latencies([("alone", alone), ("with 30 slow queries and 100 silent clients", loaded)], WALKTHROUGH)


def memory(environment: Environment, databases: Databases) -> str:
    """Memory when idle and after full pages, and the seconds of a start."""
    call = FULL_PAGE.calls(databases.callers)[0]
    servers, dialect = environment.servers, Dialect()
    seconds: dict[str, list[float]] = {}
    for _ in range(STARTS):
        for name, start in (
            ("Walkthrough", lambda: servers.walkthrough("start", file_url(databases.file))),
            ("PostgREST, with PostgreSQL running", lambda: servers.postgrest(
                "start", environment.programs.postgrest, databases.database
            )),
        ):  # fmt: skip
            server, elapsed = seconds_to_answer(servers, start, call, dialect)
            seconds.setdefault(name, []).append(elapsed)
            servers.stop(server)
    assert servers.cluster is not None
    found = []
    for target, name, pids in (
        (environment.walkthrough(databases), "Walkthrough", ()),
        (environment.postgrest(databases), "PostgREST and PostgreSQL", (servers.cluster,)),
    ):
        idle = footprint(target.server.pid, *pids)
        environment.measurer.measure(FULL_PAGE, [target])
        found.append(MemoryUse(name, idle, footprint(target.server.pid, *pids)))
    environment.figures.worker_mb = found[0].idle.largest_rss_mb
    environment.figures.start_seconds = report.median(seconds["Walkthrough"])
    return report.memory(found) + "\n\n" + report.starts(seconds)


def growth(environment: Environment) -> str:
    """Walkthrough on the smallest and on the largest dataset."""
    small, large = environment.databases[0], environment.databases[-1]
    targets = [Target(str(each.size), environment.walkthrough(each).server, each.callers) for each in (large, small)]
    requests = environment.options.requests(READS)
    measurements = environment.measurer.reads(requests, targets)
    environment.figures.growth = {
        each.request.title: ratio for each in measurements
        if (ratio := each.ratio(str(large.size), str(small.size))) is not None
    }  # fmt: skip
    names = {str(each.size): f"{each.size:,}" for each in (large, small)}
    return report.comparison(measurements, names, [(str(large.size), str(small.size))])


OF_A_SIZE: Final = (
    Section("reads", "Reads", READS, reads),
    Section("bare-view", "Point reads and a bare Flask view", POINTS, bare_view, for_floors=False),
    Section("lists-during-writes", "Lists during writes", LISTS, lists_during_writes,
            smallest_only=True),
    Section("writes", "Writes", WRITES, writes),
    Section("writes-shared-tables", "Writes to PostgreSQL, both on Walkthrough's tables", WRITES,
            writes_on_shared_tables),
    Section("slow-queries", "Point reads during slow queries", POINTS, slow_queries),
    Section("memory", "Memory and start", READS, memory, smallest_only=True),
)  # fmt: skip
GROWTH: Final = "growth"
NAMES: Final = (*(section.name for section in OF_A_SIZE), GROWTH)


def run_sections(environment: Environment) -> Iterator[str]:
    """Yield the headings and tables of the selected sections, then the table of floors."""
    options = environment.options
    for databases in environment.databases:
        for section in OF_A_SIZE:
            if not is_selected(environment, section, databases):
                continue
            yield f"{report.HEADING}{section.title}, {databases.size:,} inspections"
            yield section.run(environment, databases)
            if section.name not in ("reads", "bare-view"):
                environment.stop_all()
        environment.stop_all()
    if len(environment.databases) > 1 and (not options.sections or GROWTH in options.sections):
        sizes = [environment.databases[place].size for place in (0, -1)]
        yield f"{report.HEADING}Walkthrough with {sizes[1]:,} and with {sizes[0]:,} inspections"
        yield growth(environment)
        environment.stop_all()
    rows = floors.rows(environment.figures)
    if rows:
        yield f"{report.HEADING}Floors"
        yield report.table(floors.HEADS, rows)


def is_selected(environment: Environment, section: Section, databases: Databases) -> bool:
    options = environment.options
    if section.smallest_only and databases is not environment.databases[0]:
        return False
    by_default = section.for_floors or not options.floors_only
    named = section.name in options.sections if options.sections else by_default
    return named and bool(options.requests(section.requests))
