"""How much memory one large request takes of a worker, and what stays of it (figure 22)."""

import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from engine.storage.sqlite import driver
from tests.durability.conftest import scaled
from tests.durability.served import Served, serving
from tests.support import tokens

MIB = 1 << 20
FULL_SECONDS = 240  # until the caches of a busy service are full
WIDE = 32_000  # characters: a thousand of them make an answer of just under 32 MiB


def pss(pids: list[int]) -> int:
    """What the processes take, shared pages divided among those who share them."""
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
    return total


def peak_during(served: Served, action: Callable[[], None]) -> tuple[int, int]:
    """By how much an action raises it: at most, and afterwards."""
    workers = served.workers()
    before, peak, stop = pss(workers), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not stop.wait(0.005):
            peak = max(peak, pss(workers))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        action()
    finally:
        stop.set()
        watcher.join()
    return max(peak, pss(workers)) - before, pss(workers) - before


def test_a_large_request_takes_no_more_than_its_share(served):
    import_wide_rows(served.database)
    with serving(served):
        warm(served)
        idle = pss(served.workers())
        with closing(served.consumer()) as consumer:
            body = [{"name": "x" * 1_000} for _ in range(1_000)]
            post = peak_during(served, lambda: accepted(consumer.send("POST", "/inspectors", body)))
            csv = ("name\n" + ("y" * 5_200 + "\n") * 1_000).encode()
            sent = {"Content_Type": "text/csv"}
            rows = peak_during(served, lambda: accepted(consumer.send("POST", "/inspectors", csv, **sent)))
            answer = peak_during(
                served, lambda: accepted(consumer.send("GET", "/inspections?notes=like.zz*&limit=1000"))
            )
    told = {"JSON": post, "CSV": rows, "answer": answer}
    print(f"idle {idle // MIB} MiB;", {name: (at_most // MIB, left // MIB) for name, (at_most, left) in told.items()})
    assert post[0] <= 25 * MIB
    assert rows[0] <= 60 * MIB
    assert answer[0] <= 120 * MIB


def accepted(answer: object) -> None:
    assert answer.status in (200, 201, 206), answer.body[:300]


def warm(served: Served) -> None:
    """Have each worker make its plans and open its connections."""
    for _ in range(20):
        with closing(served.consumer()) as consumer:
            accepted(consumer.send("POST", "/inspectors", [{"name": "warm"}]))
            accepted(consumer.send("GET", "/inspections?limit=1"))


def import_wide_rows(database: Path) -> None:
    with closing(driver.connect(str(database))) as connection:
        connection.executemany(
            "INSERT INTO inspections (building_id, inspection_type, notes, created_at, updated_at, client_id)"
            " VALUES (1, 'annual', ?, '2025-01-01T00:00:00+00:00', '2025-01-01T00:00:00+00:00', 1)",
            (("zz" * (WIDE // 2),) for _ in range(1_000)),
        )
        connection.commit()


@pytest.mark.long
def test_an_hour_of_work_does_not_grow(served, monkeypatch):
    """A soak: memory, descriptors and threads after the first tenth, the caches being full, are those of the end."""
    seconds = max(scaled(3_600), 2 * FULL_SECONDS)
    settled = max(seconds // 10, FULL_SECONDS) / seconds
    monkeypatch.setattr(tokens, "HOUR", tokens.HOUR + 2 * seconds)  # how long its token lasts
    with serving(served), closing(served.consumer()) as consumer:
        warm(served)
        give_up, samples = time.monotonic() + seconds, []
        while time.monotonic() < give_up:
            for _ in range(200):
                accepted(consumer.send("POST", "/inspectors", [{"name": "soak"}]))
                accepted(consumer.send("GET", "/inspections?limit=100&select=*,buildings(*)"))
                consumer.send("DELETE", "/inspectors?name=eq.soak")
            samples.append((pss(served.workers()), open_files(served), threads(served)))
    first, last = samples[int(len(samples) * settled)], samples[-1]
    print(f"{seconds} s: first {first}, last {last}")
    assert last[0] - first[0] <= MIB * max(1, seconds / 3_600) + 4 * MIB
    assert last[1] <= first[1] + 4
    assert last[2] <= first[2] + 4


def open_files(served: Served) -> int:
    return sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in served.workers())


def threads(served: Served) -> int:
    return sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in served.workers())
