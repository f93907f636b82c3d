"""Takes the figures: rounds that alternate between the targets, so that noise of the machine hits all of them."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench import compare
from bench.background_load import background_writer, slow_queries
from bench.callers import Callers
from bench.databases import Psql, log
from bench.dialect import Dialect, HttpAnswer
from bench.http_client import send
from bench.idle import wait_until_idle
from bench.load_generator import RequestsFailed, Sample, run_heads, run_wrk, write_calls
from bench.requests import PATCHED_FROM, ROOT, HttpCall, Request, rows_to_patch
from bench.servers import Server

WARM_UP_SECONDS: Final = 1.0
NOT_FOUND: Final = 404
ROWS_A_DELETE: Final = 2_000
COMPARED_COLUMNS: Final = "building_id,inspection_type,date_visited,status,inspector_id,notes"


@dataclass(frozen=True, slots=True)
class Target:
    """A server under test, its dialect, and its callers. With `psql`, inserted rows are deleted by SQL."""

    name: str
    server: Server
    callers: Callers
    dialect: Dialect = field(default_factory=Dialect)
    psql: Psql | None = None
    database: str = ""
    table: str = "api.inspections"

    def calls(self, request: Request) -> list[HttpCall]:
        """Return a request's calls in the target's dialect; an empty list if it has no counterpart."""
        translated = [self.dialect.translate(call) for call in request.calls(self.callers)]
        return [call for call in translated if call is not None]

    def send(self, call: HttpCall) -> HttpAnswer:
        return send(self.server.port, call, self.dialect)


@dataclass(slots=True)
class Measurement:
    """The samples of one request: one a round and target."""

    request: Request
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)  # targets that did not answer every call

    def per_second(self, target: str) -> float | None:
        found = self.samples.get(target)
        return statistics.median(sample.per_second for sample in found) if found else None

    def median_ms(self, target: str) -> float | None:
        found = self.samples.get(target)
        return statistics.median(sample.median_ms for sample in found) if found else None

    def p99_ms(self, target: str) -> float | None:
        found = self.samples.get(target)
        return statistics.median(sample.p99_ms for sample in found) if found else None

    def ratio(self, target: str, other: str) -> float | None:
        """Return the median of the rounds' ratios of rates."""
        pairs = list(zip(self.samples.get(target, []), self.samples.get(other, []), strict=False))
        if not pairs:
            return None
        return statistics.median(one.per_second / two.per_second for one, two in pairs)


@dataclass(frozen=True, slots=True)
class Rounds:
    """How many rounds a request has, and the seconds of each round and target."""

    count: int
    seconds: float


class Measurer:
    """Measures requests on targets."""

    def __init__(self, cache: Path, rounds: Rounds) -> None:
        self.cache = cache / "calls"
        self.cache.mkdir(parents=True, exist_ok=True)
        self.rounds = rounds

    def reads(
        self, requests: Iterable[Request], targets: Sequence[Target], writer: Request | None = None
    ) -> list[Measurement]:
        """Measure reads on targets whose answers are equal; raise Difference.

        With `writer`, its calls are sent to the target at the same time.
        """
        measurements: list[Measurement] = []
        for request in requests:
            failed: set[str] = set()
            able = [target for target in targets if self.can_answer(target, request, failed)]
            for other in able[1:]:
                if able[0].callers is other.callers:
                    compare.require_equal_answers(request, other.callers, able[0], other)
            try:
                measurements.append(self.measure(request, able, writer))
            finally:
                if writer is not None:
                    self.delete_inserted(targets)
            measurements[-1].failed |= failed
        return measurements

    def can_answer(self, target: Target, request: Request, failed: set[str]) -> bool:
        """Return whether a target answers the request's first call; add it to `failed` on an error."""
        status = compare.send_until_answered(target, request.calls(target.callers)[0]).status
        if status in (200, 206):
            return True
        if status != NOT_FOUND:  # 404: the server has no such function
            log(f"{target.name} answers {status} to: {request.title}")
            failed.add(target.name)
        return False

    def writes(self, request: Request, targets: Sequence[Target]) -> Measurement:
        """Measure a write on targets that have only the loaded rows; raise Difference."""
        self.prepare(request, targets)
        self.require_equal_writes(request, targets)
        return self.measure(request, targets)

    def measure(self, request: Request, targets: Sequence[Target], writer: Request | None = None) -> Measurement:
        """Measure a request: a warm-up and the rounds, each on every target."""
        measurement = Measurement(request)
        for target in targets:
            write_calls(self.path(request, target), target.calls(request), target.dialect)
        for target in targets:
            self.round(measurement, target, WARM_UP_SECONDS)
        measurement.samples.clear()
        for _ in range(self.rounds.count):
            for target in targets:
                with self.background(writer, target):
                    self.round(measurement, target, self.rounds.seconds)
        rates = [f"{each.name} {measurement.per_second(each.name) or 0:,.0f}/s" for each in targets]
        log(f"{request.title}: {', '.join(rates)}")
        return measurement

    def under_slow_queries(self, request: Request, slow: Request, target: Target) -> tuple[Measurement, Measurement]:
        """Measure a request alone, and while slow queries and silent clients are connected."""
        alone = self.measure(request, [target])
        loaded = Measurement(request)
        with slow_queries(target.server.port, target.calls(slow), target.dialect):
            for _ in range(self.rounds.count):
                self.round(loaded, target, self.rounds.seconds, when_idle=False)
        return alone, loaded

    def background(self, writer: Request | None, target: Target) -> AbstractContextManager[None]:
        if writer is None:
            return nullcontext()
        return background_writer(target.server.port, writer.calls(target.callers), target.dialect)

    def round(self, measurement: Measurement, target: Target, seconds: float, *, when_idle: bool = True) -> None:
        """Add one sample. A target that failed before is skipped."""
        if target.name in measurement.failed:
            return
        if when_idle and not wait_until_idle():
            log(f"the machine is not idle before a round of {target.name}")
        try:
            sample = self.load(measurement.request, target, seconds)
        except RequestsFailed as failure:
            log(f"{target.name}: {failure}")
            measurement.failed.add(target.name)
            measurement.samples.pop(target.name, None)
        else:
            measurement.samples.setdefault(target.name, []).append(sample)

    def path(self, request: Request, target: Target) -> Path:
        suffix = f"-{target.dialect.name}" if target.dialect.name else ""
        return self.cache / f"{request.key}-{target.callers.inspection_count}{suffix}"

    def load(self, request: Request, target: Target, seconds: float) -> Sample:
        calls = target.calls(request)
        port, clock = target.server.port, time.monotonic_ns() // 1_000_000
        if calls[0].method == "HEAD":
            start = clock % len(calls)
            return run_heads(port, calls, target.dialect, request.connections, seconds, start)
        # PATCH calls start at 0: their order guarantees that each one changes its row.
        start = 0 if calls[0].method == "PATCH" else clock
        return run_wrk(port, self.path(request, target), request.connections, seconds, start)

    def prepare(self, request: Request, targets: Sequence[Target]) -> None:
        """Insert the rows that PATCH requests change."""
        for target in targets:
            if request.calls(target.callers)[0].method == "PATCH":
                answer = target.send(rows_to_patch(target.callers))
                if answer.status != 201:
                    raise RequestsFailed(f"{target.name}: {compare.summary(answer)}")

    def require_equal_writes(self, request: Request, targets: Sequence[Target]) -> None:
        """Send one call to each target, then read the written rows; raise Difference."""
        callers = targets[0].callers
        call = request.calls(callers)[0]
        first, *others = (target.send(call) for target in targets)
        last = PATCHED_FROM - 1 if call.method == "PATCH" else callers.inspection_count
        path = f"/inspections?select={COMPARED_COLUMNS}&id=gt.{last}&order=id"
        read = HttpCall(callers.by_role[ROOT][0], path)
        first_rows, *rows = (target.send(read) for target in targets)
        for target, answer, other_rows in zip(targets[1:], others, rows, strict=True):
            names = targets[0].name, target.name
            if first.status != answer.status or first.status not in (201, 204):
                raise compare.Difference(call, first, answer, names)
            if json.loads(first_rows.body) != json.loads(other_rows.body):
                raise compare.Difference(read, first_rows, other_rows, names)

    def delete_inserted(self, targets: Sequence[Target]) -> None:
        """Delete the inserted rows of every target; raise the first failure after all are done."""
        failures = []
        for target in targets:
            try:
                self.delete_inserted_of(target)
            except RequestsFailed as failure:
                failures.append(failure)
        if failures:
            raise failures[0]

    def delete_inserted_of(self, target: Target) -> None:
        last = target.callers.inspection_count
        if target.psql is not None:
            count = f"select count(*) from {target.table} where id > {last}"  # noqa: S608
            if target.psql.run(target.database, count) == "0":
                return
            # Only Walkthrough's tables have an audit log; PostgREST's ignore the setting.
            delete = f"set walkthrough.audit = 'off'; delete from {target.table} where id > {last}"  # noqa: S608
            target.psql.run(target.database, delete)
            target.psql.run(target.database, f"vacuum (analyze) {target.table}")
            return
        root = target.callers.by_role[ROOT][0]
        rows = ROWS_A_DELETE
        while (bound := self.id_after(target, last, rows)) is not None:
            path = f"/inspections?id=gt.{last}&id=lte.{bound}"
            answer = target.send(HttpCall(root, path, "DELETE"))
            if answer.status in (200, 204):
                continue
            if rows == 1:
                raise RequestsFailed(f"{target.name}: {compare.summary(answer)}")
            rows = max(1, rows // 4)  # a slow disk: fewer rows fit into a statement's deadline

    def id_after(self, target: Target, last: int, rows: int) -> str | None:
        """Return the id that is `rows` rows after `last`, else the largest id above it, else None."""
        root = target.callers.by_role[ROOT][0]
        for order in (f"order=id&offset={rows}", "order=id.desc"):
            path = f"/inspections?select=id&id=gt.{last}&{order}&limit=1"
            found = json.loads(target.send(HttpCall(root, path)).body)
            if found:
                return str(found[0]["id"])
        return None
