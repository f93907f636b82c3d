"""`bench/run`: prepares both sides, measures section by section, and prints or writes the tables."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from collections.abc import Callable
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from types import FrameType
from typing import Final

from bench import report
from bench import same
from bench import stores
from bench import tools
from bench.compare import Difference
from bench.drive import Tokens
from bench.drive import Unanswered
from bench.footprint import STARTS
from bench.footprint import Held
from bench.footprint import footprint
from bench.footprint import seconds_to_answer
from bench.measure import Effort
from bench.measure import Line
from bench.measure import Measurer
from bench.measure import Side
from bench.policies import grants_as_lists
from bench.requests import FLOOR
from bench.requests import FULL_PAGE
from bench.requests import INSERT
from bench.requests import LISTS
from bench.requests import MANAGER
from bench.requests import POINTS
from bench.requests import READS
from bench.requests import WRITES
from bench.requests import Request
from bench.servers import PROJECT
from bench.servers import NotStarted
from bench.servers import Server
from bench.servers import Servers
from bench.servers import file_url
from bench.stores import Psql
from bench.stores import Store
from bench.tools import Tools

OURS, COPY, THEIRS, BARE, SAME = (
    "walkthrough",
    "walkthrough-postgresql",
    "postgrest",
    "bare",
    "same",
)
SECTIONS: Final = (
    "reads",
    "floor",
    "beside",
    "policies",
    "writes",
    "same",
    "growth",
    "memory",
    "granian",
)
DESCRIPTION: Final = (
    "Measure Walkthrough beside PostgREST over the same rows. The first run installs and loads what it "
    "needs (some minutes); later ones start at once."
)
QUICK: Final = Effort(rounds=1, seconds=1)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the command line says."""

    sizes: tuple[int, ...]
    effort: Effort
    only: tuple[str, ...]
    cache: Path
    writes_document: bool

    def section(self, name: str) -> bool:
        """Whether a section is wanted: all are, unless sections are named."""
        named = [word for word in self.only if word in SECTIONS]
        return name in named if named else True

    def requests(self, found: tuple[Request, ...]) -> list[Request]:
        """The rows of a table whose title holds one of the words, if there are any."""
        words = [word for word in self.only if word not in SECTIONS]
        return [each for each in found if not words or any(word in each.title for word in words)]


@dataclass(slots=True)
class Stage:
    """Everything that is up: servers are started when a section first wants them."""

    chosen: Chosen
    tools: Tools
    servers: Servers
    psql: Psql
    stores: list[Store]
    measurer: Measurer
    up: dict[str, Server] = field(default_factory=dict)

    def ours(self, store: Store) -> Side:
        name = f"{OURS}-{store.size}"
        if name not in self.up:
            self.up[name] = self.servers.walkthrough(name, file_url(store.file))
        return Side(OURS, self.up[name], store.cast)

    def copy(self, store: Store) -> Side:
        """The service on the same PostgreSQL as PostgREST."""
        name = f"{COPY}-{store.size}"
        if name not in self.up:
            self.up[name] = self.servers.walkthrough(name, self.servers.url(store.copy))
        return Side(COPY, self.up[name], store.cast, self.psql, store.copy, "inspections")

    def theirs(self, store: Store) -> Side:
        name = f"{THEIRS}-{store.size}"
        if name not in self.up:
            self.up[name] = self.servers.postgrest(name, self.tools.postgrest, store.database)
        return Side(THEIRS, self.up[name], store.cast, self.psql, store.database)

    def theirs_on_ours(self, store: Store) -> Side:
        """PostgREST on a copy of the service's tables that is as it was loaded."""
        assert SAME not in self.up
        database, said = same.renew(self.psql, store), same.with_owners(store.cast)
        self.up[SAME] = self.servers.postgrest(SAME, self.tools.postgrest, database, same.BEGIN)
        return Side(SAME, self.up[SAME], store.cast, self.psql, database, said=said)

    def renew(self, store: Store) -> None:
        """Have everything that a store holds as it was loaded."""
        self.clear()
        store.renew(self.psql)

    def end(self, name: str) -> None:
        if name in self.up:
            self.servers.end(self.up.pop(name))

    def clear(self) -> None:
        """End every server of a section, so that the next one measures on a quiet machine."""
        for name in list(self.up):
            self.end(name)


def main(words: list[str]) -> None:
    signal.signal(signal.SIGTERM, stop)
    chosen = choose(words)
    chosen.cache.mkdir(parents=True, exist_ok=True)
    try:
        figures = run(chosen)
    except (Difference, NotStarted, Unanswered, tools.Missing) as error:
        sys.exit(f"bench: {error}")
    except ConnectionError as error:
        sys.exit(f"bench: a server is gone: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"bench: {error.cmd[0]} ended with {error.returncode}")
    except KeyboardInterrupt:
        sys.exit("bench: stopped")
    if chosen.writes_document:
        report.write(PROJECT / "docs" / "PERFORMANCE.md", figures, partly=bool(chosen.only))
    print(figures)


def stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def choose(words: list[str]) -> Chosen:
    parser = argparse.ArgumentParser(prog="bench/run", description=DESCRIPTION)
    parser.add_argument("--sizes", default="100000,1000000", help="inspections (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="of every side in turn (%(default)s)")
    parser.add_argument("--seconds", type=int, default=4, help="a round and side (%(default)s)")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help=f"a section ({', '.join(SECTIONS)}) or a part of a request's name; may be repeated",
    )
    parser.add_argument(
        "--quick", action="store_true", help="the smallest size, one round of a second"
    )
    parser.add_argument("--cache", type=Path, default=PROJECT / "bench" / ".cache")
    parser.add_argument(
        "--write", action="store_true", help="put the tables into docs/PERFORMANCE.md"
    )
    said = parser.parse_args(words)
    sizes = tuple(sorted(int(size) for size in said.sizes.split(",")))
    effort = QUICK if said.quick else Effort(said.rounds, said.seconds)
    return Chosen(
        sizes[:1] if said.quick else sizes,
        effort,
        tuple(said.only),
        said.cache.resolve(),
        said.write,
    )


def run(chosen: Chosen) -> str:
    found = tools.ensure(chosen.cache)
    files = {size: stores.ensure_service_store(chosen.cache, size) for size in chosen.sizes}
    with Servers(chosen.cache) as servers:
        psql = Psql(found.postgresql, servers.postgresql(found.postgresql))
        kept = [
            Store(
                size,
                file,
                stores.ensure_copy(psql, size, file, servers.url),
                stores.ensure_postgresql_store(psql, size),
                cast,
            )
            for size, (file, cast) in files.items()
        ]
        for store in kept:
            store.renew(psql)
        measurer = Measurer(chosen.cache, Tokens(), chosen.effort)
        stage = Stage(chosen, found, servers, psql, kept, measurer)
        return "\n\n".join([report.circumstances(found, chosen.effort), *sections(stage)])


def sections(stage: Stage) -> Iterator[str]:
    chosen = stage.chosen
    for store in stage.stores:
        for section in OF_A_STORE:
            is_of_it = store is stage.stores[0] or not section.of_the_smallest
            if is_of_it and chosen.section(section.name) and chosen.requests(section.requests):
                yield f"{report.HEADING}{section.title}, {store.size:,} inspections"
                yield section.take(stage, store)
        stage.clear()
    if chosen.section("growth") and len(stage.stores) > 1:
        least, most = stage.stores[0].size, stage.stores[-1].size
        yield f"{report.HEADING}The same requests at {least:,} and at {most:,} inspections"
        yield growth(stage)
        stage.clear()
    if chosen.section("memory"):
        yield f"{report.HEADING}Memory and starting"
        yield memory(stage, stage.stores[0])
        stage.clear()
    if chosen.section("granian"):
        yield f"{report.HEADING}granian in gunicorn's place, {stage.stores[0].size:,} inspections"
        yield granian(stage, stage.stores[0])
        stage.clear()


NAMES: Final = {
    OURS: "Walkthrough",
    COPY: "Walkthrough on PostgreSQL",
    THEIRS: "PostgREST",
}
"""What stands beside each other, in this order; the last one is what the others are held against."""


def reads(stage: Stage, store: Store) -> str:
    sides = [stage.ours(store), stage.copy(store), stage.theirs(store)]
    return report.compared(stage.measurer.reads(stage.chosen.requests(READS), sides), NAMES)


def floor(stage: Stage, store: Store) -> str:
    """What is nothing but a request, in turns with a view that does nothing at all, by the same gunicorn."""
    stage.up[BARE] = stage.servers.floor()
    sides = [stage.ours(store), Side(BARE, stage.up[BARE], store.cast, asked=FLOOR)]
    lines = [stage.measurer.rounds(each, sides) for each in stage.chosen.requests(POINTS)]
    stage.end(BARE)
    return report.compared(lines, {OURS: NAMES[OURS], BARE: "a bare view"})


def beside(stage: Stage, store: Store) -> str:
    """Lists that are asked for again after a change: what was printed before is of no use."""
    sides = [stage.ours(store), stage.copy(store), stage.theirs(store)]
    lines = stage.measurer.reads(stage.chosen.requests(LISTS), sides, INSERT)
    return report.compared(lines, NAMES)


def policies(stage: Stage, store: Store) -> str:
    sides = [stage.ours(store), stage.theirs(store)]
    with grants_as_lists(stage.psql, store.database):
        lines = stage.measurer.reads(stage.chosen.requests(A_MANAGERS), sides)
    return report.compared(lines, {name: NAMES[name] for name in (OURS, THEIRS)})


def writes(stage: Stage, store: Store) -> str:
    def sides() -> list[Side]:
        return [stage.ours(store), stage.copy(store), stage.theirs(store)]

    return report.compared(written(stage, store, sides), NAMES)


def same_tables(stage: Stage, store: Store) -> str:
    def sides() -> list[Side]:
        return [stage.copy(store), stage.theirs_on_ours(store)]

    names = {COPY: NAMES[COPY], SAME: "PostgREST on its tables"}
    return report.compared(written(stage, store, sides), names)


def written(stage: Stage, store: Store, sides: Callable[[], list[Side]]) -> list[Line]:
    """The rates of writes, each to sides that are as they were loaded."""
    lines = []
    for request in stage.chosen.requests(WRITES):
        stage.renew(store)
        lines.append(stage.measurer.writes(request, sides()))
    stage.renew(store)
    return lines


@dataclass(frozen=True, slots=True)
class Section:
    """A table of the figures that are taken of one store, or of the smallest alone."""

    name: str
    title: str
    requests: tuple[Request, ...]
    take: Callable[[Stage, Store], str]
    of_the_smallest: bool = False


A_MANAGERS = tuple(each for each in READS if each.role == MANAGER)
OF_A_STORE: Final = (
    Section("reads", "Reading", READS, reads),
    Section("floor", "A row by its id beside a bare Flask view", POINTS, floor),
    Section("beside", "Lists while somebody writes", LISTS, beside, of_the_smallest=True),
    Section(
        "policies",
        "A manager's reads beside policies with lists",
        A_MANAGERS,
        policies,
        of_the_smallest=True,
    ),
    Section("writes", "Writing", WRITES, writes),
    Section(
        "same",
        "Writing to PostgreSQL, both to Walkthrough's tables",
        WRITES,
        same_tables,
    ),
)


def growth(stage: Stage) -> str:
    """Ours against ours: what a table ten times as large costs."""
    small, large = stage.stores[0], stage.stores[-1]
    sides = [
        Side(str(store.size), stage.ours(store).server, store.cast) for store in (large, small)
    ]
    lines = stage.measurer.reads(stage.chosen.requests(READS), sides)
    return report.compared(lines, {str(store.size): f"{store.size:,}" for store in (large, small)})


def granian(stage: Stage, store: Store) -> str:
    gunicorn = stage.ours(store)
    stage.up["granian"] = stage.servers.granian("granian", file_url(store.file))
    other = Side("granian", stage.up["granian"], store.cast)
    lines = stage.measurer.reads(stage.chosen.requests(READS), [other, gunicorn])
    return report.compared(lines, {"granian": "granian", OURS: "gunicorn"})


def memory(stage: Stage, store: Store) -> str:
    call = FULL_PAGE.calls(store.cast)[0]
    seconds: dict[str, list[float]] = {}
    held: list[Held] = []
    for _ in range(STARTS):
        for name, start in (
            ("Walkthrough", lambda: stage.servers.walkthrough("start", file_url(store.file))),
            ("PostgREST (PostgreSQL being up)", lambda: stage.servers.postgrest(
                "start", stage.tools.postgrest, store.database
            )),
        ):  # fmt: skip
            server, took = seconds_to_answer(stage.servers, start, call, stage.measurer.tokens)
            seconds.setdefault(name, []).append(took)
            stage.servers.end(server)
    assert stage.servers.cluster is not None
    for side, name, pids in (
        (stage.ours(store), "Walkthrough", ()),
        (stage.theirs(store), "PostgREST and PostgreSQL", (stage.servers.cluster,)),
    ):
        held.append(hold(stage, side, name, (side.server.pid, *pids)))
    return report.memory(held) + "\n\n" + report.starts(seconds)


def hold(stage: Stage, side: Side, name: str, pids: tuple[int, ...]) -> Held:
    idle = footprint(*pids)
    stage.measurer.rounds(FULL_PAGE, [side])
    return Held(name, idle, footprint(*pids))


if __name__ == "__main__":
    main(sys.argv[1:])
