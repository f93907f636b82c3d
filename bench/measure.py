"""How are figures taken? Side after side, in rounds, so that a noisy minute falls on all of them alike."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextlib import nullcontext
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Final

from bench import compare
from bench.beside import a_writer
from bench.cast import Cast
from bench.drive import Answer
from bench.drive import Rate
from bench.drive import Tokens
from bench.drive import Unanswered
from bench.drive import ask
from bench.drive import run_heads
from bench.drive import run_wrk
from bench.drive import write_calls
from bench.quiet import settle
from bench.requests import PATCHED_FROM
from bench.requests import ROOT
from bench.requests import Call
from bench.requests import Request
from bench.requests import rows_to_patch
from bench.servers import Server
from bench.stores import Psql
from bench.stores import say

WARM_SECONDS: Final = 1.0
MISSING: Final = 404
ROWS_A_REMOVAL: Final = 2_000
WRITTEN: Final = "building_id,inspection_type,date_visited,status,inspector_id,notes"


@dataclass(frozen=True, slots=True)
class Side:
    """One of those compared: where it listens, whom its rows know, and, if not by HTTP, how it is cleaned. `asked`:
    what it is asked in place of what the others are; `said`: how a write is put to it."""

    name: str
    server: Server
    cast: Cast
    psql: Psql | None = None
    database: str = ""
    table: str = "api.inspections"
    asked: Request | None = None
    said: Callable[[Call], Call] | None = None

    def calls(self, request: Request) -> list[Call]:
        """A request as this side is asked it."""
        return [self.put(call) for call in (self.asked or request).calls(self.cast)]

    def put(self, call: Call) -> Call:
        return self.said(call) if self.said is not None else call


@dataclass(slots=True)
class Line:
    """What was found of one request: a rate a round, by side."""

    request: Request
    rates: dict[str, list[Rate]] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)  # sides that did not answer every call

    def per_second(self, side: str) -> float | None:
        found = self.rates.get(side)
        return statistics.median(rate.per_second for rate in found) if found else None

    def p99_ms(self, side: str) -> float | None:
        found = self.rates.get(side)
        return statistics.median(rate.p99_ms for rate in found) if found else None

    def ratio(self, side: str, to: str) -> float | None:
        """The median of the rounds' own ratios."""
        pairs = list(zip(self.rates.get(side, []), self.rates.get(to, []), strict=False))
        if not pairs:
            return None
        return statistics.median(mine.per_second / its.per_second for mine, its in pairs)


@dataclass(frozen=True, slots=True)
class Effort:
    """How long it is looked at."""

    rounds: int
    seconds: float


class Measurer:
    """Takes the figures of one run."""

    def __init__(self, cache: Path, tokens: Tokens, effort: Effort) -> None:
        self.cache = cache / "calls"
        self.cache.mkdir(parents=True, exist_ok=True)
        self.tokens = tokens
        self.effort = effort

    def reads(
        self, requests: Iterable[Request], sides: Sequence[Side], beside: Request | None = None
    ) -> list[Line]:
        """The rates of reads; sides of the same rows must answer alike where they can. `beside` is what somebody
        writes meanwhile."""
        lines: list[Line] = []
        for request in requests:
            late: set[str] = set()
            asked = [side for side in sides if self.answers(side, request, late)]
            for other in asked[1:]:
                if asked[0].cast is other.cast:
                    ports = asked[0].server.port, other.server.port
                    compare.require_same(request, other.cast, *ports, self.tokens)
            try:
                lines.append(self.rounds(request, asked, beside))
            finally:
                if beside is not None:
                    self.sweep(sides)
            lines[-1].failed |= late
        return lines

    def answers(self, side: Side, request: Request, late: set[str]) -> bool:
        """PostgREST has no counterpart to some of our functions. A side that refuses to the last is `late`."""
        call = request.calls(side.cast)[0]
        status = compare.asked_on(side.server.port, call, self.tokens).status
        if status in (200, 206):
            return True
        if status != MISSING:
            say(f"{side.name} answers {status} to: {request.title}")
            late.add(side.name)
        return False

    def ask(self, side: Side, call: Call) -> Answer:
        return ask(side.server.port, side.put(call), self.tokens)

    def writes(self, request: Request, sides: Sequence[Side]) -> Line:
        """The rates of a write to sides that nobody has written to yet."""
        self.prepare(request, sides)
        self.require_same_writes(request, sides)
        return self.rounds(request, sides)

    def rounds(
        self, request: Request, sides: Sequence[Side], beside: Request | None = None
    ) -> Line:
        line = Line(request)
        for side in sides:
            write_calls(self.path(request, side), side.calls(request), self.tokens)
        # A server that has just come up makes plans, and room in its log; one that serves has done so.
        for side in sides:
            self.round(line, side, WARM_SECONDS)
        line.rates.clear()
        for _ in range(self.effort.rounds):
            for side in sides:
                with self.writing(beside, side):
                    self.round(line, side, self.effort.seconds)
        told = ", ".join(f"{side.name} {line.per_second(side.name) or 0:,.0f}/s" for side in sides)
        say(f"{request.title}: {told}")
        return line

    def writing(self, beside: Request | None, side: Side) -> AbstractContextManager[None]:
        """Have somebody write to a side for the time of a block."""
        if beside is None:
            return nullcontext()
        return a_writer(side.server.port, side.calls(beside), self.tokens)

    def round(self, line: Line, side: Side, seconds: float) -> None:
        """One look at one side. One that refuses calls is marked, and asked no more of this request."""
        if side.name in line.failed:
            return
        if not settle():
            say(f"the machine is not at rest before a round of {side.name}")
        try:
            rate = self.load(line.request, side, seconds)
        except Unanswered as failure:
            say(f"{side.name}: {failure}")
            line.failed.add(side.name)
            line.rates.pop(side.name, None)
        else:
            line.rates.setdefault(side.name, []).append(rate)

    def path(self, request: Request, side: Side) -> Path:
        way = f"-{side.name}" if side.said is not None else ""
        return self.cache / f"{(side.asked or request).key}-{side.cast.inspection_count}{way}"

    def load(self, request: Request, side: Side, seconds: float) -> Rate:
        place = time.monotonic_ns() // 1_000_000
        calls = side.calls(request)
        if calls[0].method == "HEAD":
            start = place % len(calls)
            return run_heads(
                side.server.port, calls, self.tokens, request.connections, seconds, start
            )
        # Changes are made in the order of their file: a second change to the same value is none.
        start = 0 if calls[0].method == "PATCH" else place
        connections = (side.asked or request).connections
        return run_wrk(side.server.port, self.path(request, side), connections, seconds, start)

    # What writes need around them

    def prepare(self, request: Request, sides: Sequence[Side]) -> None:
        for side in sides:
            if request.calls(side.cast)[0].method == "PATCH":
                answer = self.ask(side, rows_to_patch(side.cast))
                if answer.status != 201:
                    raise Unanswered(f"{side.name}: {compare.said(answer)}")

    def require_same_writes(self, request: Request, sides: Sequence[Side]) -> None:
        """One call to each side; then what it wrote is read back and compared."""
        call = request.calls(sides[0].cast)[0]
        first, *others = (self.ask(side, call) for side in sides)
        least = PATCHED_FROM - 1 if call.method == "PATCH" else sides[0].cast.inspection_count
        root = sides[0].cast.askers[ROOT][0]
        read = Call(root, f"/inspections?select={WRITTEN}&id=gt.{least}&order=id")
        ours, *found = (self.ask(side, read) for side in sides)
        for second, theirs in zip(others, found, strict=True):
            if first.status != second.status or first.status not in (201, 204):
                raise compare.Difference(call, first, second)
            if json.loads(ours.body) != json.loads(theirs.body):
                raise compare.Difference(read, ours, theirs)

    def sweep(self, sides: Sequence[Side]) -> None:
        """Remove what was written to each side, to the others too where one fails."""
        failures = []
        for side in sides:
            try:
                self.remove_written(side)
            except Unanswered as failure:
                failures.append(failure)
        if failures:
            raise failures[0]

    def remove_written(self, side: Side) -> None:
        last = side.cast.inspection_count
        if side.psql is not None:
            found = f"select count(*) from {side.table} where id > {last}"  # noqa: S608
            if side.psql.run(side.database, found) == "0":
                return
            # The service's own trail need not be told of what is swept up; PostgREST's tables have none.
            sweep = f"set walkthrough.audit = 'off'; delete from {side.table} where id > {last}"  # noqa: S608
            side.psql.run(side.database, sweep)
            side.psql.run(side.database, f"vacuum (analyze) {side.table}")
            return
        root = side.cast.askers[ROOT][0]
        rows = ROWS_A_REMOVAL
        while (bound := self.id_after(side, last, rows)) is not None:
            path = f"/inspections?id=gt.{last}&id=lte.{bound}"
            answer = self.ask(side, Call(root, path, "DELETE"))
            if answer.status in (200, 204):
                continue
            if rows == 1:
                raise Unanswered(f"{side.name}: {compare.said(answer)}")
            rows = max(1, rows // 4)  # a slow disk: fewer are deleted in the time that a write has

    def id_after(self, side: Side, last: int, rows: int) -> str | None:
        """The id of the row so many after `last`, or of the very last one; None if there is none."""
        root = side.cast.askers[ROOT][0]
        for order in (f"order=id&offset={rows}", "order=id.desc"):
            path = f"/inspections?select=id&id=gt.{last}&{order}&limit=1"
            found = json.loads(self.ask(side, Call(root, path)).body)
            if found:
                return str(found[0]["id"])
        return None
