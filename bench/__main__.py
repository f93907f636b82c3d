"""`bench/run`: prepares the databases, runs the sections, and prints or writes their tables."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Final

from bench import databases, programs, report, sections
from bench.compare import Difference
from bench.databases import Databases, Psql
from bench.environment import Environment, Options
from bench.load_generator import RequestsFailed
from bench.measure import Measurer, Rounds
from bench.servers import PROJECT, ServerNotStarted, Servers

RESULTS: Final = PROJECT / "bench" / "RESULTS.md"
DESCRIPTION: Final = (
    "Measure Walkthrough, PostgREST and PocketBase with the same rows. The first run installs programs and "
    "loads the databases, which takes some minutes."
)
QUICK: Final = Rounds(count=1, seconds=1)


def main(words: list[str]) -> None:
    signal.signal(signal.SIGTERM, interrupt)
    options = parse(words)
    options.cache.mkdir(parents=True, exist_ok=True)
    try:
        tables = run(options)
    except (Difference, ServerNotStarted, RequestsFailed, programs.ProgramMissing) as error:
        sys.exit(f"bench: {error}")
    except ConnectionError as error:
        sys.exit(f"bench: a server closed its connections: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"bench: {error.cmd[0]} exited with status {error.returncode}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
    if options.write:
        report.write(RESULTS, tables, partial=not options.selects_all)
    print(tables)


def interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def parse(words: list[str]) -> Options:
    """Return the options of a command line."""
    parser = argparse.ArgumentParser(prog="bench/run", description=DESCRIPTION)
    add = parser.add_argument
    add("--sizes", default="100000,1000000", help="numbers of inspections (%(default)s)")
    add("--rounds", type=int, default=5, help="rounds of each request (%(default)s)")
    add("--seconds", type=int, default=4, help="seconds of each round and server (%(default)s)")
    names = ", ".join(sections.NAMES)
    add("--only", action="append", default=[], metavar="NAME",
        help=f"a section ({names}) or a part of a request's title; may be repeated")  # fmt: skip
    add("--floors", action="store_true", help="only requests that have a floor, without PocketBase")
    add("--no-pocketbase", action="store_true", help="leave PocketBase out")
    add("--quick", action="store_true", help="the smallest size, one round of one second")
    add("--cache", type=Path, default=PROJECT / "bench" / ".cache", help="directory of all data")
    add("--write", action="store_true", help="write the tables into bench/RESULTS.md")
    found = parser.parse_args(words)
    sizes = tuple(sorted(int(size) for size in found.sizes.split(",")))
    return Options(
        sizes=sizes[:1] if found.quick else sizes,
        rounds=QUICK if found.quick else Rounds(found.rounds, found.seconds),
        sections=tuple(word for word in found.only if word in sections.NAMES),
        words=tuple(word for word in found.only if word not in sections.NAMES),
        floors_only=found.floors,
        with_pocketbase=not (found.floors or found.no_pocketbase),
        cache=found.cache.resolve(),
        write=found.write,
    )


def run(options: Options) -> str:
    """Run the selected sections; return their tables as Markdown."""
    found = programs.ensure_programs(options.cache, with_pocketbase=options.with_pocketbase)
    files = {size: databases.ensure_file(options.cache, size) for size in options.sizes}
    with Servers(options.cache) as servers:
        psql = Psql(found.postgresql, servers.postgresql(found.postgresql))
        all_sizes = []
        for size, (file, callers) in files.items():
            copy = databases.ensure_copy(psql, size, file, servers.url)
            database = databases.ensure_postgrest_database(psql, size)
            pocketbase = None
            if found.pocketbase is not None:
                pocketbase = databases.ensure_pocketbase(found.pocketbase, options.cache, size)
            all_sizes.append(Databases(size, file, copy, database, callers, pocketbase))
        for each in all_sizes:
            each.renew(psql)
        measurer = Measurer(options.cache, options.rounds)
        environment = Environment(options, found, servers, psql, all_sizes, measurer)
        tables = sections.run_sections(environment)
        return "\n\n".join([report.circumstances(found, options.rounds), *tables])


if __name__ == "__main__":
    main(sys.argv[1:])
