"""Takes the figures: rounds that alternate between the targets, so that noise of the machine hits all of them.

Reads /proc, so Linux only.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.dataset import Callers
from bench.http_client import HttpAnswer, HttpCall, send
from bench.load import RequestsFailed, Sample, run_heads, run_wrk, write_calls
from bench.requests import Request
from bench.servers import Server

WARM_UP_SECONDS: Final = 1.0
STAT: Final = Path("/proc/stat")
IDLE_SAMPLE_SECONDS: Final = 0.1
BUSY_SHARE_MAX: Final = 0.15  # of all cores, over one sample
IDLE_SAMPLES_MAX: Final = 30


@dataclass(frozen=True, slots=True)
class Target:
    """A server under test, and the callers of its rows."""

    name: str
    server: Server
    callers: Callers

    def calls(self, request: Request) -> list[HttpCall]:
        return request.calls(self.callers)

    def send(self, call: HttpCall) -> HttpAnswer:
        return send(self.server.port, call)


Background = Callable[[Target], AbstractContextManager[None]]


@dataclass(slots=True)
class Measurement:
    """The samples of one request: one a round and target."""

    request: Request
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)  # targets that did not answer every call

    def median(self, target: str, figure: str) -> float | None:
        """Return the median of one figure of Sample over the rounds."""
        samples = self.samples.get(target)
        return statistics.median(getattr(sample, figure) for sample in samples) if samples else None

    def ratio(self, target: str, other: str) -> float | None:
        """Return the median of the rounds' ratios of rates."""
        pairs = list(zip(self.samples.get(target, []), self.samples.get(other, []), strict=False))
        return statistics.median(one.per_second / two.per_second for one, two in pairs) if pairs else None


@dataclass(frozen=True, slots=True)
class Measurer:
    """Measures requests on targets. `calls` is the directory of files of calls; each round and target has `seconds`."""

    calls: Path
    rounds: int
    seconds: float

    def measure(
        self, request: Request, targets: Sequence[Target], background: Background | None = None, *, idle: bool = True
    ) -> Measurement:
        """Measure a request: a warm-up and the rounds, each on every target.

        With `idle`, each round waits until the machine is idle, and then starts the background load.
        """
        measurement = Measurement(request)
        self.calls.mkdir(parents=True, exist_ok=True)
        for target in targets:
            write_calls(self.path(request, target), target.calls(request))
            self.round(measurement, target, WARM_UP_SECONDS)
        measurement.samples.clear()
        for _ in range(self.rounds):
            for target in targets:
                if idle and not wait_until_idle():
                    log(f"the machine is not idle before a round of {target.name}")
                with background(target) if background else nullcontext():
                    self.round(measurement, target, self.seconds)
        rates = [f"{each.name} {measurement.median(each.name, 'per_second') or 0:,.0f}/s" for each in targets]
        log(f"{request.title}: {', '.join(rates)}")
        return measurement

    def round(self, measurement: Measurement, target: Target, seconds: float) -> None:
        """Add one sample. A target that refused a call before is skipped."""
        if target.name in measurement.refused:
            return
        try:
            sample = self.load(measurement.request, target, seconds)
        except RequestsFailed as failure:
            log(f"{target.name}: {failure}")
            measurement.refused.add(target.name)
            measurement.samples.pop(target.name, None)
        else:
            measurement.samples.setdefault(target.name, []).append(sample)

    def path(self, request: Request, target: Target) -> Path:
        return self.calls / f"{request.key}-{target.callers.inspection_count}-{target.name}"

    def load(self, request: Request, target: Target, seconds: float) -> Sample:
        port, clock = target.server.port, time.monotonic_ns() // 1_000_000
        calls = target.calls(request)
        if calls[0].method == "HEAD":
            return run_heads(port, calls, request.connections, seconds, clock % len(calls))
        # PATCH calls start at 0: their order guarantees that each one changes its row.
        start = 0 if calls[0].method == "PATCH" else clock
        return run_wrk(port, self.path(request, target), request.connections, seconds, start)


def wait_until_idle() -> bool:
    """Return True when the machine is idle, False after IDLE_SAMPLES_MAX samples.

    A server may still work on the requests of a client that has disconnected.
    """
    for _ in range(IDLE_SAMPLES_MAX):
        busy, total = ticks()
        time.sleep(IDLE_SAMPLE_SECONDS)
        busy_after, total_after = ticks()
        if busy_after - busy <= BUSY_SHARE_MAX * (total_after - total):
            return True
    return False


def ticks() -> tuple[int, int]:
    """Return the busy ticks and all ticks of all cores since the machine started."""
    words = STAT.read_text(encoding="ascii").split("\n", 1)[0].split()
    user, nice, system, idle, io_wait, irq, soft_irq, *_ = map(int, words[1:])
    busy = user + nice + system + irq + soft_irq
    return busy, busy + idle + io_wait


@dataclass(frozen=True, slots=True)
class Footprint:
    """Memory of a process tree: PSS counts shared pages once."""

    processes: int
    pss_mb: float
    largest_rss_mb: float  # of one process


def footprint(*pids: int) -> Footprint:
    """Return the memory of these processes and their descendants."""
    rss: list[float] = []
    pss: list[float] = []
    for pid in (descendant for root in pids for descendant in process_tree(root)):
        with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            kilobytes = {line.split()[0]: int(line.split()[1]) for line in lines[1:]}
            rss.append(kilobytes["Rss:"] / 1024)
            pss.append(kilobytes["Pss:"] / 1024)
    return Footprint(len(rss), sum(pss), max(rss, default=0))


def process_tree(pid: int) -> Iterator[int]:
    yield pid
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from process_tree(int(child))


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
