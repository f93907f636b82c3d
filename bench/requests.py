"""The requests of the benchmark. Each one composes many calls that differ in callers, ids and filters.

Calls are written in PostgREST's dialect; every server gets the same calls (see dialect.py).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import islice
from urllib.parse import quote

from bench.callers import Callers, DatasetCaller
from bench.dataset import CITIES, NOTES, SEED, STATUSES, TYPES

CALLS_A_REQUEST = 2_000
BULK_ROWS = 1_000
BULK_CALLS = 20  # about 200 KB each
PAGES = 10  # pages of 20 rows; requests "of the 200 newest" draw one of them
PATCHED_FROM = 1_000_000_000_000
"""The first id of the rows that PATCH requests change; the sequences stay far below it."""
PATCHED_ROWS = 1_000

ROOT, ADMIN, MANAGER = "super_admin", "client_admin", "client_manager"
EXACT = "count=exact"
MINIMAL = "return=minimal"


class Comparison(Enum):
    """How the answers of two servers are compared before the first round."""

    ROWS = "equal rows, in equal order if the call has an order"
    WRITTEN = "equal status, and equal rows in the table afterwards"
    NUMBERS = "equal numbers, except the time of the count and zero counts"
    NONE = "not compared"


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One HTTP request without its server and its token."""

    caller: DatasetCaller
    path: str
    method: str = "GET"
    prefer: str = ""
    body: str = ""


Compose = Callable[[Callers, str, random.Random], Iterator[HttpCall]]


@dataclass(frozen=True, slots=True)
class Request:
    """A row of a table: the role of its callers, how its calls are composed, and the number of connections."""

    name: str
    role: str
    compose: Compose
    comparison: Comparison = Comparison.ROWS
    connections: int = 8

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
        return list(islice(self.compose(callers, self.role, draw), CALLS_A_REQUEST))


ROLE_TITLES = {ROOT: "super admin", ADMIN: "client admin", MANAGER: "manager"}


def _caller(callers: Callers, role: str, draw: random.Random) -> DatasetCaller:
    return draw.choice(callers.by_role[role])


def _where(**filters: str) -> str:
    return "&".join(f"{name}={quote(text, safe='.,()*')}" for name, text in filters.items())


def _by_id(callers: Callers, role: str, draw: random.Random) -> Iterator[HttpCall]:
    while True:
        caller = _caller(callers, role, draw)
        yield HttpCall(caller, f"/inspections?id=eq.{draw.choice(caller.inspections)}")


def _newest(callers: Callers, role: str, draw: random.Random, *, pages: int = 1) -> Iterator[HttpCall]:
    while True:
        query = _where(
            select="id,date_visited,status,inspection_type,buildings(name)",
            status=f"eq.{draw.choice(STATUSES)}", order="date_visited.desc",
            **_page(draw, pages),
        )  # fmt: skip
        yield HttpCall(_caller(callers, role, draw), f"/inspections?{query}")


def _embedded(callers: Callers, role: str, draw: random.Random, *, pages: int = 1) -> Iterator[HttpCall]:
    while True:
        query = _where(
            select="*,buildings(name,city),inspectors(name),reports_lead(id,gun_id,result)",
            order="date_visited.desc", **_page(draw, pages),
        )  # fmt: skip
        yield HttpCall(_caller(callers, role, draw), f"/inspections?{query}")


_newest_paged = partial(_newest, pages=PAGES)
_embedded_paged = partial(_embedded, pages=PAGES)


def _page(draw: random.Random, pages: int) -> dict[str, str]:
    """Return limit and offset of one of the first pages of 20 rows."""
    if pages == 1:
        return {"limit": "20"}
    return {"limit": "20", "offset": str(20 * draw.randrange(pages))}


def _of_city(callers: Callers, role: str, draw: random.Random) -> Iterator[HttpCall]:
    while True:
        query = _where(city=f"eq.{draw.choice(CITIES)}", order="name", limit="20")
        yield HttpCall(_caller(callers, role, draw), f"/buildings?{query}")


def _counted(callers: Callers, role: str, draw: random.Random) -> Iterator[HttpCall]:
    while True:
        query = _where(select="id,date_visited,status", order="date_visited.desc", **_page(draw, PAGES))
        yield HttpCall(_caller(callers, role, draw), f"/inspections?{query}", prefer=EXACT)


def _head(callers: Callers, role: str, draw: random.Random) -> Iterator[HttpCall]:
    while True:
        query = _where(status=f"eq.{draw.choice(STATUSES)}")
        yield HttpCall(_caller(callers, role, draw), f"/inspections?{query}", "HEAD", EXACT)


def _full_page(callers: Callers, role: str, draw: random.Random) -> Iterator[HttpCall]:
    while True:
        query = _where(order="id", limit="1000", offset=str(draw.randrange(1_000)))
        yield HttpCall(_caller(callers, role, draw), f"/inspections?{query}")


def _search(callers: Callers, role: str, draw: random.Random) -> Iterator[HttpCall]:
    while True:
        text = f"no such note {draw.randrange(1_000_000)}"
        query = _where(select="id", notes=f"ilike.*{text}*", limit="1")
        yield HttpCall(_caller(callers, role, draw), f"/inspections?{query}")


def _row(caller: DatasetCaller, draw: random.Random) -> dict[str, object]:
    return {
        "building_id": draw.choice(caller.buildings),
        "inspection_type": draw.choice(TYPES),
        "date_visited": f"2026-0{draw.randrange(1, 7)}-{draw.randrange(10, 29)}",
        "status": draw.choice(STATUSES),
        "inspector_id": draw.randrange(1, 200),
        "notes": draw.choice(NOTES),
    }


def _insert_one(callers: Callers, role: str, draw: random.Random) -> Iterator[HttpCall]:
    while True:
        caller = _caller(callers, role, draw)
        yield HttpCall(caller, "/inspections", "POST", MINIMAL, json.dumps(_row(caller, draw)))


def _insert_many(callers: Callers, role: str, draw: random.Random) -> Iterator[HttpCall]:
    for _ in range(BULK_CALLS):
        caller = _caller(callers, role, draw)
        body = json.dumps([_row(caller, draw) for _ in range(BULK_ROWS)])
        yield HttpCall(caller, "/inspections", "POST", MINIMAL, body)


def _patch(callers: Callers, role: str, draw: random.Random) -> Iterator[HttpCall]:
    """Set each row to one status, then to another: every call changes its row."""
    for status in ("in_progress", "failed"):
        for position in range(PATCHED_ROWS):
            caller = callers.by_role[role][position % len(callers.by_role[role])]
            body = json.dumps({"status": status})
            path = f"/inspections?id=eq.{PATCHED_FROM + position}"
            yield HttpCall(caller, path, "PATCH", MINIMAL, body)


def rows_to_patch(callers: Callers) -> HttpCall:
    """Return one bulk insert with ids, by a super admin; row n belongs to the caller of call n of `_patch`."""
    draw = random.Random(f"{SEED} patched")  # noqa: S311
    admins = callers.by_role[ADMIN]
    rows = [
        {"id": PATCHED_FROM + position, **_row(admins[position % len(admins)], draw), "status": "scheduled"}
        for position in range(PATCHED_ROWS)
    ]
    return HttpCall(callers.by_role[ROOT][0], "/inspections", "POST", MINIMAL, json.dumps(rows))


def _dashboard(callers: Callers, role: str, draw: random.Random) -> Iterator[HttpCall]:
    while True:
        yield HttpCall(_caller(callers, role, draw), "/rpc/get_inspections_dashboard_summary_fast")


def _chart(callers: Callers, role: str, draw: random.Random) -> Iterator[HttpCall]:
    while True:
        year, month = draw.choice((2024, 2025)), draw.randrange(1, 10)
        dates = f"start_date={year}-0{month}-01&end_date={year + 1}-0{month}-01"
        yield HttpCall(_caller(callers, role, draw), f"/rpc/get_building_stats_chart_fast?{dates}")


def _for(
    roles: tuple[str, ...], name: str, compose: Compose, comparison: Comparison = Comparison.ROWS
) -> list[Request]:
    return [Request(name, role, compose, comparison) for role in roles]


ALL = (ROOT, ADMIN, MANAGER)
READS: tuple[Request, ...] = (
    *_for(ALL, "one inspection by id", _by_id),
    *_for(ALL, "20 newest of a status, with building", _newest),
    *_for((ADMIN, MANAGER), "20 of the 200 newest of a status, with building", _newest_paged),
    *_for((ADMIN, MANAGER), "20 newest with building, inspector and readings", _embedded),
    *_for((ADMIN, MANAGER), "20 of the 200 newest with building, inspector and readings", _embedded_paged),
    *_for((ROOT, ADMIN), "20 buildings of a city by name", _of_city),
    *_for((ADMIN, MANAGER), "20 of the 200 newest and how many there are", _counted),
    *_for(ALL, "how many of a status (HEAD)", _head),
    *_for(ALL, "dashboard", _dashboard, Comparison.NUMBERS),
    *_for(ALL, "chart", _chart, Comparison.NONE),
)
POINTS: tuple[Request, ...] = tuple(each for each in READS if each.compose is _by_id)
"""Look-ups of one row."""

LISTS: tuple[Request, ...] = tuple(
    each for each in READS if each.compose in (_newest, _embedded, _of_city, _counted) and each.role != ROOT
)
"""Lists that a server may answer from a cache until the next commit."""

INSERT = Request("insert one, 1 writer", ADMIN, _insert_one, Comparison.WRITTEN, 1)
WRITES: tuple[Request, ...] = (
    INSERT,
    Request("insert one, 8 writers", ADMIN, _insert_one, Comparison.WRITTEN, 8),
    Request("insert 1,000 at once, 1 writer", ADMIN, _insert_many, Comparison.WRITTEN, 1),
    Request("change one status, 1 writer", ADMIN, _patch, Comparison.WRITTEN, 1),
    Request("change one status, 8 writers", ADMIN, _patch, Comparison.WRITTEN, 8),
)
SLOW = Request("a search of all notes", ROOT, _search, Comparison.NONE)
"""A slow query: no index helps, and no row matches."""
FULL_PAGE = Request("1,000 rows a page", ADMIN, _full_page)
