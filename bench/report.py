"""How are figures shown? As Markdown, between two markers of docs/PERFORMANCE.md or on the terminal."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from datetime import UTC
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

from bench import tools
from bench.footprint import Held
from bench.measure import Effort
from bench.measure import Line
from bench.tools import Tools
from engine.storage.sqlite import driver

BEGIN: Final = (
    "<!-- figures: written by bench/run --write; what stands between these marks is replaced -->"
)
END: Final = "<!-- end of figures -->"
HEADING: Final = "### "
INTRODUCTION: Final = """# Performance

How fast is Walkthrough, and beside what? `bench/run` loads the same rows into SQLite and PostgreSQL, checks that both
sides answer alike, and then times them in turns. Compared are gunicorn with the project's own settings on one SQLite
file; the same on PostgreSQL, filled by `flask copy`; and PostgREST on that PostgreSQL, with row policies written to be
fast (`bench/policies.pg.sql`). All commit durably; the load comes from the same machine.
"""


def compared(lines: Sequence[Line], names: Mapping[str, str]) -> str:
    """Sides beside each other, a request a row; each ratio is to the last one."""
    *others, last = names
    ratios = ["ratio"] if len(others) == 1 else [f"ratio: {names[side]}" for side in others]
    rows = [
        (
            line.request.title,
            *(rate(line, side) for side in names),
            *(times(line.ratio(side, last)) for side in others),
            *(thousandths(line.p99_ms(side)) for side in names),
        )
        for line in lines
    ]
    heads = (
        "request",
        *(f"{name} /s" for name in names.values()),
        *ratios,
        *(f"{name} p99 ms" for name in names.values()),
    )
    return table(heads, rows)


def memory(held: Iterable[Held]) -> str:
    rows = [
        (each.name, str(each.idle.processes), *(f"{value:.0f}" for value in (
            each.idle.rss_mb, each.idle.pss_mb, each.worked.rss_mb, each.worked.pss_mb,
        )))
        for each in held
    ]  # fmt: skip
    heads = (
        "server",
        "processes",
        "RSS idle MB",
        "PSS idle MB",
        "RSS after full pages MB",
        "PSS after full pages MB",
    )
    return table(heads, rows)


def starts(seconds: dict[str, list[float]]) -> str:
    rows = [(name, f"{sorted(found)[len(found) // 2]:.2f}") for name, found in seconds.items()]
    return table(("server", "seconds from start to first rows (median)"), rows)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table: words to the left, figures to the right.

    >>> print(table(("a", "b"), [("x", "1")]))
    | a | b |
    |---|--:|
    | x | 1 |
    """
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|--:" * (len(heads) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def rate(line: Line, side: str) -> str:
    return "refused" if side in line.failed else whole(line.per_second(side))


def whole(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def times(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def thousandths(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def circumstances(found: Tools, effort: Effort) -> str:
    """The machine and the versions: without them a figure is a number."""
    postgrest = tools.version([str(found.postgrest), "--version"])
    postgres = tools.version([str(found.postgresql / "postgres"), "--version"])
    return (
        f"{processor()}, {cores()} cores, {platform.system()} {platform.release()}; "
        f"Python {platform.python_version()}, {driver.__name__.split('.')[0]} with SQLite {driver.sqlite_version}, "
        f"Flask {version('flask')}, gunicorn {version('gunicorn')}; {postgres}; {postgrest}; "
        f"{tools.version(['wrk', '-v'])}. {effort.rounds} rounds of {effort.seconds:g} s, "
        f"{datetime.now(UTC).date().isoformat()}."
    )


def cores() -> int:
    """How many this process and what it starts may run on: `taskset` may have said fewer than there are."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def write(path: Path, figures: str, partly: bool = False) -> None:
    """Put the figures between the marks; text around them stays, and so do other tables if these are some."""
    text = path.read_text(encoding="utf-8") if path.exists() else INTRODUCTION
    if partly:
        _, _, rest = text.partition(BEGIN)
        figures = merged(rest.partition(END)[0].strip(), figures)
    path.parent.mkdir(exist_ok=True)
    path.write_text(placed(text, figures), encoding="utf-8")
    print(f"written to {path}", file=sys.stderr)


def merged(before: str, figures: str) -> str:
    """Tables of a run of some, in their old places among those of an earlier run; each says which run it is of.

    >>> merged("then\\n\\n### A\\n\\n1\\n\\n### B\\n\\n2", "now\\n\\n### B\\n\\n3\\n\\n### C\\n\\n4").split("\\n\\n")
    ['then', '### A', '1', '### B', 'now', '3', '### C', 'now', '4']
    """
    first, *tables = before.split(f"\n\n{HEADING}")
    circumstances, *measured = figures.split(f"\n\n{HEADING}")
    found = dict(table.split("\n\n", 1) for table in tables)
    for table in measured:
        title, rows = table.split("\n\n", 1)
        found[title] = f"{circumstances}\n\n{rows}"
    return f"\n\n{HEADING}".join((first, *("\n\n".join(each) for each in found.items())))


def placed(text: str, figures: str) -> str:
    """A text with the figures between its marks, or with both at its end.

    >>> placed(f"before {BEGIN} old {END} after", "new").split(BEGIN)[1]
    '\\n\\nnew\\n\\n<!-- end of figures --> after'
    """
    before, begun, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not begun:
        return f"{before.rstrip()}\n\n{BEGIN}\n\n{figures}\n\n{END}\n"
    return f"{before}{BEGIN}\n\n{figures}\n\n{END}{after if ended else ''}"
