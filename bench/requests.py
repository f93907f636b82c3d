"""The requests of the benchmark, with their floors. Each one composes many calls that differ in callers and values."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from urllib.parse import quote

from bench.dataset import CITIES, NOTES, SEED, STATUSES, TYPES, Callers, DatasetCaller
from bench.http_client import HttpCall

CALLS_A_REQUEST = 2_000
BULK_ROWS = 1_000
BULK_CALLS = 20  # about 200 KB each
PAGE_OFFSETS = range(0, 200, 20)
PATCHED_FROM = 1_000_000_000_000
"""The first id of the rows that PATCH requests change; the sequences stay far below it."""
PATCHED_ROWS = 1_000
CLIENTS_OF_WRITERS = 8

ROOT, ADMIN, MANAGER = "super_admin", "client_admin", "client_manager"
ROLE_TITLES = {ROOT: "super admin", ADMIN: "client admin", MANAGER: "manager"}
EXACT = "count=exact"
MINIMAL = "return=minimal"

Compose = Callable[[Sequence[DatasetCaller], random.Random], Iterator[HttpCall]]


@dataclass(frozen=True, slots=True)
class Request:
    """A row of a table. The floors are the least ratios of rates to PostgREST: on a file, and on PostgreSQL."""

    name: str
    role: str
    compose: Compose
    floor: float | None = None
    postgresql_floor: float | None = None
    connections: int = 8
    clients: int | None = None  # the number of clients whose admins write, None for all

    @property
    def title(self) -> str:
        return f"{self.name}, {ROLE_TITLES[self.role]}"

    @property
    def key(self) -> str:
        """Return the title as a file name."""
        return "".join(letter if letter.isalnum() else "-" for letter in self.title)

    def calls(self, callers: Callers) -> list[HttpCall]:
        """Return the calls; equal callers give equal calls."""
        draw = random.Random(f"{SEED} {self.title}")  # noqa: S311
        return list(islice(self.compose(self.senders(callers), draw), CALLS_A_REQUEST))

    def senders(self, callers: Callers) -> list[DatasetCaller]:
        return callers.by_role[self.role][: self.clients]

    def rows_to_patch(self, callers: Callers) -> HttpCall:
        """Return one bulk insert by a super admin: row n belongs to the sender of call n of `_patch`."""
        draw = random.Random(f"{SEED} patched")  # noqa: S311
        senders = self.senders(callers)
        rows = [
            {"id": PATCHED_FROM + number, **_row(senders[number % len(senders)], draw), "status": "scheduled"}
            for number in range(PATCHED_ROWS)
        ]
        return HttpCall(callers.by_role[ROOT][0], "/inspections", "POST", MINIMAL, json.dumps(rows))


def _where(**filters: str) -> str:
    return "&".join(f"{name}={quote(text, safe='.,()*')}" for name, text in filters.items())


def _by_id(senders: Sequence[DatasetCaller], draw: random.Random) -> Iterator[HttpCall]:
    while True:
        caller = draw.choice(senders)
        yield HttpCall(caller, f"/inspections?id=eq.{draw.choice(caller.inspections)}")


def _newest(senders: Sequence[DatasetCaller], draw: random.Random) -> Iterator[HttpCall]:
    while True:
        query = _where(
            select="id,date_visited,status,inspection_type,buildings(name)",
            status=f"eq.{draw.choice(STATUSES)}", order="date_visited.desc", limit="20",
        )  # fmt: skip
        yield HttpCall(draw.choice(senders), f"/inspections?{query}")


def _embedded(senders: Sequence[DatasetCaller], draw: random.Random) -> Iterator[HttpCall]:
    columns = "*,buildings(name,city),inspectors(name),reports_lead(id,gun_id,result)"
    while True:
        query = _where(select=columns, order="date_visited.desc", limit="20")
        yield HttpCall(draw.choice(senders), f"/inspections?{query}")


def _of_city(senders: Sequence[DatasetCaller], draw: random.Random) -> Iterator[HttpCall]:
    while True:
        query = _where(city=f"eq.{draw.choice(CITIES)}", order="name", limit="20")
        yield HttpCall(draw.choice(senders), f"/buildings?{query}")


def _counted(senders: Sequence[DatasetCaller], draw: random.Random) -> Iterator[HttpCall]:
    while True:
        offset = str(draw.choice(PAGE_OFFSETS))
        query = _where(select="id,date_visited,status", order="date_visited.desc", limit="20", offset=offset)
        yield HttpCall(draw.choice(senders), f"/inspections?{query}", prefer=EXACT)


def _head(senders: Sequence[DatasetCaller], draw: random.Random) -> Iterator[HttpCall]:
    while True:
        query = _where(status=f"eq.{draw.choice(STATUSES)}")
        yield HttpCall(draw.choice(senders), f"/inspections?{query}", "HEAD", EXACT)


def _dashboard(senders: Sequence[DatasetCaller], draw: random.Random) -> Iterator[HttpCall]:
    while True:
        yield HttpCall(draw.choice(senders), "/rpc/get_inspections_dashboard_summary_fast")


def _chart(senders: Sequence[DatasetCaller], draw: random.Random) -> Iterator[HttpCall]:
    while True:
        year, month = draw.choice((2024, 2025)), draw.randrange(1, 10)
        dates = f"start_date={year}-0{month}-01&end_date={year + 1}-0{month}-01"
        yield HttpCall(draw.choice(senders), f"/rpc/get_building_stats_chart_fast?{dates}")


def _search(senders: Sequence[DatasetCaller], draw: random.Random) -> Iterator[HttpCall]:
    while True:
        text = f"no such note {draw.randrange(1_000_000)}"
        query = _where(select="id", notes=f"ilike.*{text}*", limit="1")
        yield HttpCall(draw.choice(senders), f"/inspections?{query}")


def _row(caller: DatasetCaller, draw: random.Random) -> dict[str, object]:
    return {
        "building_id": draw.choice(caller.buildings),
        "inspection_type": draw.choice(TYPES),
        "date_visited": f"2026-0{draw.randrange(1, 7)}-{draw.randrange(10, 29)}",
        "status": draw.choice(STATUSES),
        "inspector_id": draw.randrange(1, 200),
        "notes": draw.choice(NOTES),
    }


def _insert_one(senders: Sequence[DatasetCaller], draw: random.Random) -> Iterator[HttpCall]:
    """Insert a row for each sender in turn: as many connections write for as many clients."""
    while True:
        for caller in senders:
            yield HttpCall(caller, "/inspections", "POST", MINIMAL, json.dumps(_row(caller, draw)))


def _insert_many(senders: Sequence[DatasetCaller], draw: random.Random) -> Iterator[HttpCall]:
    for _ in range(BULK_CALLS):
        caller = draw.choice(senders)
        body = json.dumps([_row(caller, draw) for _ in range(BULK_ROWS)])
        yield HttpCall(caller, "/inspections", "POST", MINIMAL, body)


def _patch(senders: Sequence[DatasetCaller], draw: random.Random) -> Iterator[HttpCall]:
    """Set each row to one status, then to another: every call changes its row."""
    for status in ("in_progress", "failed"):
        for number in range(PATCHED_ROWS):
            path = f"/inspections?id=eq.{PATCHED_FROM + number}"
            body = json.dumps({"status": status})
            yield HttpCall(senders[number % len(senders)], path, "PATCH", MINIMAL, body)


ALL = (ROOT, ADMIN, MANAGER)
POINTS = tuple(Request("one inspection by id", role, _by_id, 1, 0.85) for role in ALL)
NEWEST = tuple(Request("20 newest of a status, with building", role, _newest, 2.5, 1) for role in (ADMIN, MANAGER))
DASHBOARDS = tuple(Request("dashboard", role, _dashboard, 8) for role in ALL)
READS = (
    *POINTS,
    *NEWEST,
    Request("20 newest with building, inspector and readings", ADMIN, _embedded, 4, 1),
    Request("20 newest with building, inspector and readings", MANAGER, _embedded, 8, 1),
    *(Request("20 buildings of a city by name", role, _of_city, 1.4, 0.9) for role in (ROOT, ADMIN)),
    *(Request("20 of the 200 newest and how many there are", role, _counted, 15, 1) for role in (ADMIN, MANAGER)),
    *(Request("how many of a status (HEAD)", role, _head, 8) for role in ALL),
    *DASHBOARDS,
)
GROWING = (*READS, *(Request("chart", role, _chart) for role in ALL))  # PostgREST has no charts

LISTS_DURING_WRITES = tuple(replace(each, name=f"{each.name}, during writes", floor=2) for each in NEWEST)

_write = partial(Request, role=ADMIN)
INSERT = _write("insert one, 1 writer", compose=_insert_one, floor=1, postgresql_floor=0.8, connections=1)
WRITES = (
    INSERT,
    _write("insert one, 8 writers of one client", compose=_insert_one, floor=1, postgresql_floor=0.6, clients=1),
    _write(
        "insert one, 8 writers of eight clients", compose=_insert_one,
        floor=1, postgresql_floor=0.9, clients=CLIENTS_OF_WRITERS,
    ),
    _write("insert 1,000 at once, 1 writer", compose=_insert_many, floor=1, connections=1),
    _write("change one status, 1 writer", compose=_patch, floor=1, postgresql_floor=0.8, connections=1),
    _write("change one status, 8 writers of one client", compose=_patch, floor=1, postgresql_floor=0.6, clients=1),
    _write(
        "change one status, 8 writers of eight clients", compose=_patch,
        floor=1, postgresql_floor=0.9, clients=CLIENTS_OF_WRITERS,
    ),
)  # fmt: skip
SLOW = Request("a search of all notes", ROOT, _search)  # no index helps, and no row matches
