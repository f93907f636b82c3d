"""`bench/run`: prepares the databases, runs the sections, and prints their tables."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from bench import report, sections
from bench.compare import Difference
from bench.databases import Psql, ensure_databases
from bench.load import RequestsFailed
from bench.measure import Measurer
from bench.servers import PROJECT, ServerNotStarted, Servers

CACHE: Final = PROJECT / "bench" / ".cache"
DESCRIPTION: Final = (
    "Measure Walkthrough and PostgREST with the same rows. The first run installs PostgREST and loads the databases, "
    "which takes some minutes."
)


def main(words: list[str]) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = parse(words)
    try:
        print(run(options))
    except (Difference, ServerNotStarted, RequestsFailed, OSError) as error:
        sys.exit(f"bench: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"bench: {error.cmd[0]} exited with status {error.returncode}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")


def parse(words: list[str]) -> argparse.Namespace:
    """Return the options of a command line."""
    parser = argparse.ArgumentParser(prog="bench/run", description=DESCRIPTION)
    add = parser.add_argument
    add("--sizes", default="100000,1000000", help="numbers of inspections (%(default)s)")
    add("--rounds", type=int, default=5, help="rounds of each request (%(default)s)")
    add("--seconds", type=int, default=4, help="seconds of each round and server (%(default)s)")
    names = ", ".join(sections.NAMES)
    add("--only", action="append", default=[], metavar="NAME",
        help=f"a section ({names}) or a part of a request's title; may be repeated")  # fmt: skip
    add("--floors", action="store_true", help="print only the table of floors")
    add("--quick", action="store_true", help="the smallest size, one round of one second")
    add("--cache", type=Path, default=CACHE, help="directory of all data")
    return parser.parse_args(words)


def run(options: argparse.Namespace) -> str:
    """Run the selected sections; return their tables as Markdown."""
    cache: Path = options.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    sizes = sorted(map(int, options.sizes.split(",")))[: 1 if options.quick else None]
    rounds, seconds = (1, 1) if options.quick else (options.rounds, options.seconds)
    measurer = Measurer(cache / "calls", rounds, seconds)
    names = [word for word in options.only if word in sections.NAMES]
    words = [word for word in options.only if word not in sections.NAMES]
    with Servers(cache) as servers:
        servers.postgresql()
        psql = Psql(servers.sockets)
        all_databases = [ensure_databases(cache, psql, servers, size) for size in sizes]
        this_run = sections.Run(measurer, servers, psql, words)
        tables = list(sections.run_sections(this_run, all_databases, names or sections.NAMES))
    floors = ["## Floors", report.table(report.FLOOR_HEADS, this_run.floors)] if this_run.floors else []
    return "\n\n".join([report.circumstances(measurer), *([] if options.floors else tables), *floors])


if __name__ == "__main__":
    main(sys.argv[1:])
