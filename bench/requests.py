"""What is asked? One table, a row a request; each composes many calls that differ in people, ids and words.

Nothing is then served from one cache line, and both sides are sent exactly the same. Knows no server.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import islice
from urllib.parse import quote

from bench.cast import Asker
from bench.cast import Cast
from bench.portfolio import CITIES
from bench.portfolio import NOTES
from bench.portfolio import SEED
from bench.portfolio import STATUSES
from bench.portfolio import TYPES

CALLS_A_REQUEST = 2_000
BULK_ROWS = 1_000
BULK_CALLS = 20  # some 200 KB each
PAGES = 10  # of twenty rows, from which one is drawn where a name says "of the 200"
PATCHED_FROM = 1_000_000_000_000
"""Ids of the rows that are inserted to be patched, far beyond those that the databases hand out."""
PATCHED_ROWS = 1_000

ROOT, ADMIN, MANAGER = "super_admin", "client_admin", "client_manager"
EXACT = "count=exact"
MINIMAL = "return=minimal"


class Likeness(Enum):
    """How the two answers to one call are compared before anything is timed."""

    ROWS = "the same rows, in the same order where one was asked for"
    WRITTEN = "the same status, and the same rows afterwards"
    NUMBERS = "the same numbers, but for the moment they were counted at, and counts of nothing"
    NOTHING = "there is nothing to compare with"


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request, but for where it is sent and how its sender is proved."""

    asker: Asker | None
    path: str
    method: str = "GET"
    prefer: str = ""
    body: str = ""


Compose = Callable[[Cast, str, random.Random], Iterator[Call]]


@dataclass(frozen=True, slots=True)
class Request:
    """A row of the table: what is asked by whom, how its calls are made, and how many at a time."""

    name: str
    role: str
    compose: Compose
    likeness: Likeness = Likeness.ROWS
    connections: int = 8

    @property
    def title(self) -> str:
        return f"{self.name}, {SPOKEN[self.role]}" if self.role else self.name

    @property
    def key(self) -> str:
        """A word for file names."""
        return "".join(letter if letter.isalnum() else "-" for letter in self.title)

    def calls(self, cast: Cast) -> list[Call]:
        """The calls, the same for the same cast on both sides."""
        draw = random.Random(f"{SEED} {self.title}")  # noqa: S311
        return list(islice(self.compose(cast, self.role, draw), CALLS_A_REQUEST))


SPOKEN = {ROOT: "super admin", ADMIN: "client admin", MANAGER: "manager"}


def _ask(cast: Cast, role: str, draw: random.Random) -> Asker:
    return draw.choice(cast.askers[role])


def _where(**filters: str) -> str:
    return "&".join(f"{name}={quote(text, safe='.,()*')}" for name, text in filters.items())


def _by_id(cast: Cast, role: str, draw: random.Random) -> Iterator[Call]:
    while True:
        asker = _ask(cast, role, draw)
        yield Call(asker, f"/inspections?id=eq.{draw.choice(asker.inspections)}")


def _newest(cast: Cast, role: str, draw: random.Random, *, pages: int = 1) -> Iterator[Call]:
    while True:
        query = _where(
            select="id,date_visited,status,inspection_type,buildings(name)",
            status=f"eq.{draw.choice(STATUSES)}", order="date_visited.desc",
            **_page(draw, pages),
        )  # fmt: skip
        yield Call(_ask(cast, role, draw), f"/inspections?{query}")


def _embedded(cast: Cast, role: str, draw: random.Random, *, pages: int = 1) -> Iterator[Call]:
    while True:
        query = _where(
            select="*,buildings(name,city),inspectors(name),reports_lead(id,gun_id,result)",
            order="date_visited.desc", **_page(draw, pages),
        )  # fmt: skip
        yield Call(_ask(cast, role, draw), f"/inspections?{query}")


_newest_paged = partial(_newest, pages=PAGES)
_embedded_paged = partial(_embedded, pages=PAGES)


def _page(draw: random.Random, pages: int) -> dict[str, str]:
    """The first page of twenty, or one of the first few."""
    if pages == 1:
        return {"limit": "20"}
    return {"limit": "20", "offset": str(20 * draw.randrange(pages))}


def _of_city(cast: Cast, role: str, draw: random.Random) -> Iterator[Call]:
    while True:
        query = _where(city=f"eq.{draw.choice(CITIES)}", order="name", limit="20")
        yield Call(_ask(cast, role, draw), f"/buildings?{query}")


def _counted(cast: Cast, role: str, draw: random.Random) -> Iterator[Call]:
    while True:
        query = _where(
            select="id,date_visited,status", order="date_visited.desc", **_page(draw, PAGES)
        )
        yield Call(_ask(cast, role, draw), f"/inspections?{query}", prefer=EXACT)


def _head(cast: Cast, role: str, draw: random.Random) -> Iterator[Call]:
    while True:
        query = _where(status=f"eq.{draw.choice(STATUSES)}")
        yield Call(_ask(cast, role, draw), f"/inspections?{query}", "HEAD", EXACT)


def _full_page(cast: Cast, role: str, draw: random.Random) -> Iterator[Call]:
    while True:
        query = _where(order="id", limit="1000", offset=str(draw.randrange(1_000)))
        yield Call(_ask(cast, role, draw), f"/inspections?{query}")


def _row(asker: Asker, draw: random.Random) -> dict[str, object]:
    return {
        "building_id": draw.choice(asker.buildings),
        "inspection_type": draw.choice(TYPES),
        "date_visited": f"2026-0{draw.randrange(1, 7)}-{draw.randrange(10, 29)}",
        "status": draw.choice(STATUSES),
        "inspector_id": draw.randrange(1, 200),
        "notes": draw.choice(NOTES),
    }


def _insert_one(cast: Cast, role: str, draw: random.Random) -> Iterator[Call]:
    while True:
        asker = _ask(cast, role, draw)
        yield Call(asker, "/inspections", "POST", MINIMAL, json.dumps(_row(asker, draw)))


def _insert_many(cast: Cast, role: str, draw: random.Random) -> Iterator[Call]:
    for _ in range(BULK_CALLS):
        asker = _ask(cast, role, draw)
        body = json.dumps([_row(asker, draw) for _ in range(BULK_ROWS)])
        yield Call(asker, "/inspections", "POST", MINIMAL, body)


def _patch(cast: Cast, role: str, draw: random.Random) -> Iterator[Call]:
    """Every row once with one status, then once with another: each call changes something."""
    for status in ("in_progress", "failed"):
        for place in range(PATCHED_ROWS):
            asker = cast.askers[role][place % len(cast.askers[role])]
            body = json.dumps({"status": status})
            path = f"/inspections?id=eq.{PATCHED_FROM + place}"
            yield Call(asker, path, "PATCH", MINIMAL, body)


def rows_to_patch(cast: Cast) -> Call:
    """One bulk insert, by a super admin, who may choose ids; row n belongs to the asker of `_patch`'s call n."""
    draw = random.Random(f"{SEED} patched")  # noqa: S311
    admins = cast.askers[ADMIN]
    rows = [
        {
            "id": PATCHED_FROM + place,
            **_row(admins[place % len(admins)], draw),
            "status": "scheduled",
        }
        for place in range(PATCHED_ROWS)
    ]
    return Call(cast.askers[ROOT][0], "/inspections", "POST", MINIMAL, json.dumps(rows))


def _dashboard(cast: Cast, role: str, draw: random.Random) -> Iterator[Call]:
    while True:
        yield Call(_ask(cast, role, draw), "/rpc/get_inspections_dashboard_summary_fast")


def _chart(cast: Cast, role: str, draw: random.Random) -> Iterator[Call]:
    while True:
        year, month = draw.choice((2024, 2025)), draw.randrange(1, 10)
        dates = f"start_date={year}-0{month}-01&end_date={year + 1}-0{month}-01"
        yield Call(_ask(cast, role, draw), f"/rpc/get_building_stats_chart_fast?{dates}")


def _floor(cast: Cast, role: str, draw: random.Random) -> Iterator[Call]:
    while True:
        yield Call(None, "/floor")


def _for(
    roles: tuple[str, ...], name: str, compose: Compose, likeness: Likeness = Likeness.ROWS
) -> list[Request]:
    return [Request(name, role, compose, likeness) for role in roles]


ALL = (ROOT, ADMIN, MANAGER)
READS: tuple[Request, ...] = (
    *_for(ALL, "one inspection by id", _by_id),
    *_for(ALL, "20 newest of a status, with building", _newest),
    *_for((ADMIN, MANAGER), "20 of the 200 newest of a status, with building", _newest_paged),
    *_for((ADMIN, MANAGER), "20 newest with building, inspector and readings", _embedded),
    *_for(
        (ADMIN, MANAGER),
        "20 of the 200 newest with building, inspector and readings",
        _embedded_paged,
    ),
    *_for((ROOT, ADMIN), "20 buildings of a city by name", _of_city),
    *_for((ADMIN, MANAGER), "20 of the 200 newest and how many there are", _counted),
    *_for(ALL, "how many of a status (HEAD)", _head),
    *_for(ALL, "dashboard", _dashboard, Likeness.NUMBERS),
    *_for(ALL, "chart", _chart, Likeness.NOTHING),
)
POINTS: tuple[Request, ...] = tuple(each for each in READS if each.compose is _by_id)
"""What is little more than a request."""

LISTS: tuple[Request, ...] = tuple(
    each
    for each in READS
    if each.compose in (_newest, _embedded, _of_city, _counted) and each.role != ROOT
)
"""First pages, and pages with their count: what is asked for again by whoever comes back to a list."""

INSERT = Request("insert one, 1 writer", ADMIN, _insert_one, Likeness.WRITTEN, 1)
WRITES: tuple[Request, ...] = (
    INSERT,
    Request("insert one, 8 writers", ADMIN, _insert_one, Likeness.WRITTEN, 8),
    Request("insert 1,000 at once, 1 writer", ADMIN, _insert_many, Likeness.WRITTEN, 1),
    Request("change one status, 1 writer", ADMIN, _patch, Likeness.WRITTEN, 1),
    Request("change one status, 8 writers", ADMIN, _patch, Likeness.WRITTEN, 8),
)
FLOOR = Request("a bare Flask view", "", _floor, Likeness.NOTHING)
FULL_PAGE = Request("1,000 rows a page", ADMIN, _full_page)
