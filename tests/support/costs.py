"""Costs of requests on SQLite: a small and a large data set, and the engine's steps for a request."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import pytest
from flask import Flask

from access.access_token import Claims
from access.roles import Role
from engine.storage.database import SqliteDatabase
from engine.storage.sqlite import Connection
from tests.conftest import ADA, MOE, ROOT
from tests.support.applications import import_rows, open_app
from tests.support.tokens import ANON_KEY, token_for

GROWTH_FACTOR = 8  # the large data set has this many times the rows of other clients
STEPS_GROWTH_MAX = 1.25
STEP_INTERVAL = 10
NOW = "2025-01-01T00:00:00+00:00"
CLAIMS = Claims(ADA, Role.CLIENT_ADMIN, 1, 2**31, None, 2**32, None)
STATUSES = ("completed", "completed", "completed", "scheduled", "failed")


TOKENS = {
    "root": token_for(ROOT, "super_admin", None),
    "ada": token_for(ADA, "client_admin", 1),
    "moe": token_for(MOE, "client_manager", 1),
}

LISTS = {
    "point": "/inspections?id=eq.7",
    "newest": "/inspections?order=date_visited.desc&limit=20",
    "newest-of-a-status": "/inspections?select=*,buildings(name)&status=eq.completed&order=date_visited.desc&limit=20",
    "newest-of-a-rare-status": "/inspections?status=eq.failed&order=date_visited.desc&limit=20",
    "embeds": "/inspections?select=*,buildings(*),inspectors(*),reports_lead(*)&order=date_visited.desc&limit=20",
    "unordered": "/inspections?limit=20",
    "of-a-building": "/inspections?building_id=eq.1&order=date_visited.desc&limit=20",
    "of-a-client": "/inspections?select=id,buildings(name)&buildings.client_id=eq.1&buildings=not.is.null"
    "&order=date_visited.desc&limit=20",
    "buildings-of-a-city": "/buildings?city=eq.Troy&order=name&limit=20",
    "readings-of-an-inspection": "/reports_lead?inspection_id=eq.2",
    "managers-grants": "/client_manager_building_access?limit=20",
}


def portfolio(others: int) -> dict[str, list[dict]]:
    """Return client 1 with 4 buildings and 80 inspections, and other clients with `others` times as many."""
    buildings, inspections, readings = [], [], []
    for number in range(1, 5 * others + 5):
        client = 1 if number <= 4 else 2 + number % 3
        buildings.append({"id": number, "name": f"B{number}", "client_id": client,
                          "city": "Troy" if number % 5 == 1 else f"City {number}"})  # fmt: skip
        for visit in range(20):
            identity = len(inspections) + 1
            inspections.append({
                "id": identity, "building_id": number, "inspection_type": "annual",
                "date_visited": f"20{20 + visit % 5}-{1 + visit % 12:02}-{1 + number % 28:02}",
                "status": STATUSES[(visit + number) % 5], "inspector_id": 1 + number % 3,
            })  # fmt: skip
            readings.append({"inspection_id": identity, "gun_id": 1, "result": "negative"})
    return {
        "clients": [{"id": number, "name": f"C{number}"} for number in (1, 2, 3, 4)],
        "users": [
            {"id": ROOT, "email": "root@x", "name": "Root", "role": "super_admin"},
            {"id": ADA, "email": "ada@x", "name": "Ada", "role": "client_admin", "client_id": 1},
            {"id": MOE, "email": "moe@x", "name": "Moe", "role": "client_manager", "client_id": 1},
        ],
        "inspectors": [{"id": number, "name": f"I{number}"} for number in (1, 2, 3)],
        "buildings": buildings,
        "inspections": inspections,
        "reports_lead": readings,
        "client_manager_building_access": [
            {"manager_id": MOE, "building_id": number} for number in (1, 2)
        ],
        "client_manager_inspection_access": [{"manager_id": MOE, "inspection_id": 70}],
    }  # fmt: skip


def open_small_and_large(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Flask]:
    """Return applications over the small and the large data set."""
    made = {}
    for name, others in (("small", 20), ("large", 20 * GROWTH_FACTOR)):
        folder: Path = tmp_path_factory.mktemp(name)
        source = folder / "portfolio.json"
        source.write_text(json.dumps(portfolio(others)))
        made[name] = open_app(folder / "walkthrough.db")
        import_rows(made[name], source)
    return made


class StepCounter:
    """Counts the steps of SQLite's engine on a connection."""

    def __init__(self) -> None:
        self.count = 0

    def look(self) -> int:
        self.count += STEP_INTERVAL
        return 0

    def begin(self, connection: Connection) -> None:
        connection.driver_connection.set_progress_handler(self.look, STEP_INTERVAL)

    def end(self, connection: Connection) -> None:
        connection.driver_connection.set_progress_handler(None, 0)


@dataclass(frozen=True, slots=True)
class Work:
    """The result of a call, the lines of Python that ran for it, and the steps of SQLite's engine. Each turn of a loop
    counts, also in a comprehension. A server's steps are not counted."""

    result: object
    lines: int
    steps: int


def work_of(app: Flask, run: Callable[[], object]) -> Work:
    """Run a read in this thread and count its work, which does not depend on the machine."""
    lines, counted, database = [0], StepCounter(), app.extensions["walkthrough"]

    def count(frame: FrameType, event: str, argument: object) -> Callable:
        lines[0] += 1
        return count

    is_file = isinstance(database, SqliteDatabase)
    if is_file:
        with database.readers.checked_out() as connection:
            counted.begin(connection)
    before = sys.gettrace()
    sys.settrace(count)
    try:
        result = run()
    finally:
        sys.settrace(before)
    if is_file:
        with database.readers.checked_out() as connection:
            counted.end(connection)
    return Work(result, lines[0], counted.count)


def drop_cached_results(database: SqliteDatabase, *, counts: bool) -> None:
    """Drop the cached lists, and with `counts` all other results except the callers."""
    cache = database.cache
    for key, entry in list(cache.entries.items()):
        if isinstance(entry.value, list) or (counts and key[0] != "caller"):  # type: ignore[index]
            cache.drop(key)


def count_steps(
    app: Flask,
    who: str,
    path: str,
    preference: str = "",
    *,
    drop_counts: bool = False,
    posted: tuple[str, object] | None = None,
) -> int:
    """Return the cost of a read in steps of SQLite's engine.

    The sender is a name of TOKENS or a token. An earlier request fills the caches. Cached lists are dropped, and cached
    counts with `drop_counts`. `posted` is a path and the rows that a super admin inserts between the two requests.
    """
    client = app.test_client()
    headers = {"apikey": ANON_KEY, "Authorization": f"Bearer {TOKENS.get(who, who)}", "Prefer": preference}
    database: SqliteDatabase = app.extensions["walkthrough"]
    assert client.get(path, headers=headers).status_code in (200, 206)
    drop_cached_results(database, counts=drop_counts)
    if posted is not None:
        by_root = {"apikey": ANON_KEY, "Authorization": f"Bearer {TOKENS['root']}"}
        assert client.post(posted[0], json=posted[1], headers=by_root).status_code == 201
    counted = StepCounter()
    with database.readers.checked_out() as connection:
        counted.begin(connection)
    client.get(path, headers=headers)
    with database.readers.checked_out() as connection:
        counted.end(connection)
    return counted.count
