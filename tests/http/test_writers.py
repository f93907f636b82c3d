"""Concurrent writers on a running service, on either engine.

Each writer reads its acknowledged writes, and the log has no error.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path

import pytest

from tests.durability.served import Served, serving
from tests.http.service import CHEAP_READ, ask, log_lines, served_over

WRITERS = 8
ROUNDS = 12


@pytest.fixture
def service(base_file: Path, tmp_path: Path) -> Iterator[Served]:
    with serving(served_over(base_file, tmp_path / "served")) as running:
        yield running


def write(service: Served, writer: int) -> list[str]:
    """Insert, change and read rows over one connection; return the notes of all rows."""
    notes = [f"of writer {writer}, round {number}" for number in range(ROUNDS)]
    with closing(service.consumer("ada")) as consumer:
        for note in notes:
            row = {"building_id": 1, "inspection_type": "fire", "notes": note}
            made = consumer.send("POST", "/inspections", row, Prefer="return=representation")
            assert made.status == 201, made.body
            path = f"/inspections?id=eq.{made.json[0]['id']}"
            assert consumer.send("PATCH", path, {"status": "passed"}).status == 204
            (found,) = consumer.send("GET", path).json
            assert (found["notes"], found["status"]) == (note, "passed")
    return notes


def read(service: Served) -> None:
    with closing(service.consumer("moe")) as consumer:
        for _ in range(4 * ROUNDS):
            assert consumer.send("GET", CHEAP_READ).json == [{"id": 1}]


def test_concurrent_writers_read_their_acknowledged_writes(service: Served) -> None:
    with ThreadPoolExecutor(WRITERS + 2) as clients:
        readers = [clients.submit(read, service) for _ in range(2)]
        written = list(clients.map(partial(write, service), range(WRITERS)))
        for each in readers:
            each.result()

    kept = ask(service, "root", "GET", "/inspections?select=notes&notes=like.of%20writer*")
    assert sorted(row["notes"] for row in kept.json) == sorted(chain.from_iterable(written))
    assert [line for line in log_lines(service) if line["level"] != "info"] == []
