"""Memory of a worker during and after one large request (figure 22)."""

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
CACHE_FILL_SECONDS = 240  # after which the caches of a busy service are full
WIDE_CHARACTERS = 32_000  # characters: a thousand such rows make a response of just under 32 MiB


def pss(pids: list[int]) -> int:
    """Return the proportional set size of processes, in bytes."""
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
    return total


def peak_during(served: Served, action: Callable[[], None]) -> tuple[int, int]:
    """Return by how many bytes an action raises the workers' memory: at most, and afterwards."""
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


def test_memory_of_a_large_request_is_limited(served):
    import_wide_rows(served.database)
    with serving(served):
        warm_up(served)
        idle = pss(served.workers())
        with closing(served.consumer()) as consumer:
            body = [{"name": "x" * 1_000} for _ in range(1_000)]
            post = peak_during(served, lambda: require_success(consumer.send("POST", "/inspectors", body)))
            csv = ("name\n" + ("y" * 5_200 + "\n") * 1_000).encode()
            sent = {"Content_Type": "text/csv"}
            rows = peak_during(served, lambda: require_success(consumer.send("POST", "/inspectors", csv, **sent)))
            answer = peak_during(
                served, lambda: require_success(consumer.send("GET", "/inspections?notes=like.zz*&limit=1000"))
            )
    measured = {"JSON": post, "CSV": rows, "answer": answer}
    print(
        f"idle {idle // MIB} MiB;", {name: (at_most // MIB, left // MIB) for name, (at_most, left) in measured.items()}
    )
    assert post[0] <= 25 * MIB
    assert rows[0] <= 60 * MIB
    assert answer[0] <= 120 * MIB


def require_success(answer: object) -> None:
    assert answer.status in (200, 201, 206), answer.body[:300]


def warm_up(served: Served) -> None:
    """Make each worker fill its plan cache and open its connections."""
    for _ in range(20):
        with closing(served.consumer()) as consumer:
            require_success(consumer.send("POST", "/inspectors", [{"name": "warm"}]))
            require_success(consumer.send("GET", "/inspections?limit=1"))


def import_wide_rows(database: Path) -> None:
    with closing(driver.connect(str(database))) as connection:
        connection.executemany(
            "INSERT INTO inspections (building_id, inspection_type, notes, created_at, updated_at, client_id)"
            " VALUES (1, 'annual', ?, '2025-01-01T00:00:00+00:00', '2025-01-01T00:00:00+00:00', 1)",
            (("zz" * (WIDE_CHARACTERS // 2),) for _ in range(1_000)),
        )
        connection.commit()


@pytest.mark.long
def test_memory_does_not_grow_in_an_hour(served, monkeypatch):
    """Memory, descriptors and threads stay the same once the caches are full."""
    seconds = max(scaled(3_600), 2 * CACHE_FILL_SECONDS)
    settled = max(seconds // 10, CACHE_FILL_SECONDS) / seconds
    monkeypatch.setattr(tokens, "HOUR", tokens.HOUR + 2 * seconds)  # the lifetime of a token
    with serving(served), closing(served.consumer()) as consumer:
        warm_up(served)
        give_up, samples = time.monotonic() + seconds, []
        while time.monotonic() < give_up:
            for _ in range(200):
                require_success(consumer.send("POST", "/inspectors", [{"name": "soak"}]))
                require_success(consumer.send("GET", "/inspections?limit=100&select=*,buildings(*)"))
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
