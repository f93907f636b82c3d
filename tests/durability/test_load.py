"""Load: no lost update, bounded waits, and stops without loss (figures 6, 7, 9, 10, 29).

The tests print the measurements. They assert limits that also hold on a busy machine.
"""

import fcntl
import itertools
import os
import shutil
import signal
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

import pytest

from engine.maintenance import backup
from engine.storage.sqlite import driver
from tests.durability.conftest import scaled
from tests.durability.load import Load, integrity_problems, rows, transaction_problems
from tests.durability.served import Consumer, Served, serving
from tests.durability.shim import DATABASE

WRITERS = 32
COUNTERS = 16  # two writers for each, so that writers conflict
FIRST_COUNTER = 1_000


@pytest.fixture(scope="module")
def running(base_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("load") / "served"
    directory.mkdir(mode=0o700)
    shutil.copy(base_file, directory / DATABASE)
    (directory / DATABASE).chmod(0o600)
    with serving(Served(directory)) as served:
        yield served


@dataclass(slots=True)
class WriterTally:
    """The updates, waits and refusals of one writer."""

    done: int = 0
    waits: list[float] = field(default_factory=list)
    refused: list[tuple[int, str | None]] = field(default_factory=list)


def increment_counter(consumer: Consumer, counter: int, stop: threading.Event, tally: WriterTally) -> None:
    """Increment a counter by compare-and-set: the PATCH filters on the value that was read."""
    while not stop.is_set():
        try:
            units = consumer.send("GET", f"/buildings?id=eq.{counter}&select=units").json[0]["units"]
            began = time.monotonic()
            answer = consumer.send(
                "PATCH",
                f"/buildings?id=eq.{counter}&units=eq.{units}",
                {"units": units + 1},
                Prefer="return=representation",
            )
        except (OSError, HTTPException) as error:
            tally.refused.append((0, repr(error)))
            return
        tally.waits.append(time.monotonic() - began)
        if answer.status == 200:
            tally.done += len(answer.json)
        elif answer.status != 503 or "Retry-After" not in answer.headers:
            tally.refused.append((answer.status, answer.code))


def check_reads(consumer: Consumer, stop: threading.Event, inconsistent: list) -> None:
    """Check that the rows and the count of a response are from one snapshot."""
    while not stop.is_set():
        answer = consumer.send("GET", "/inspections?select=id&limit=1000", Prefer="count=exact")
        total = int(answer.headers["Content-Range"].split("/")[1])
        if answer.status not in (200, 206) or len(answer.json) != min(total, 1000):
            inconsistent.append((answer.status, len(answer.json), total))


def create_counters(served: Served) -> None:
    made = [{"id": FIRST_COUNTER + n, "name": f"counter {n}", "client_id": 1, "units": 0} for n in range(COUNTERS)]
    with closing(served.consumer()) as consumer:
        answer = consumer.send("POST", "/buildings", made, Prefer="resolution=merge-duplicates")
    assert answer.status in (200, 201), answer


def sum_of_counters(served: Served) -> int:
    with closing(served.consumer()) as consumer:
        found = consumer.send("GET", f"/buildings?select=units&id=gte.{FIRST_COUNTER}").json
    return sum(row["units"] for row in found)


def fairness(amounts: list[int]) -> float:
    """Return Jain's fairness index: 1 for equal amounts, 1/n if one of n has all.

    >>> jain([5, 5]), jain([10, 0])
    (1.0, 0.5)
    """
    return sum(amounts) ** 2 / (len(amounts) * sum(each * each for each in amounts))


def run_load(served: Served, seconds: float) -> list[WriterTally]:
    """Run 32 writers, two readers and repeated backups; return the writers' tallies."""
    create_counters(served)
    stop, inconsistent, tallies = threading.Event(), [], [WriterTally() for _ in range(WRITERS)]
    consumers = [served.consumer() for _ in range(WRITERS + 2)]
    threads = [
        threading.Thread(target=increment_counter, args=(each, FIRST_COUNTER + n % COUNTERS, stop, tally))
        for n, (each, tally) in enumerate(zip(consumers, tallies, strict=False))
    ]
    threads += [threading.Thread(target=check_reads, args=(each, stop, inconsistent)) for each in consumers[WRITERS:]]
    for thread in threads:
        thread.start()
    give_up = time.monotonic() + seconds
    backups = 0
    longest_log = 0
    while time.monotonic() < give_up:
        backup.back_up(served.database, served.directory.parent / "under-load.backup")
        backups += 1
        longest_log = max(longest_log, served.database.with_name(f"{DATABASE}-wal").stat().st_size)
        time.sleep(seconds / 10)
    stop.set()
    for thread in threads:
        thread.join(30)
    for consumer in consumers:
        consumer.close()
    waits = sorted(itertools.chain.from_iterable(tally.waits for tally in tallies))
    print(
        f"{len(waits)} writes in {seconds} s, median {statistics.median(waits) * 1e3:.0f} ms,"
        f" p99 {waits[int(len(waits) * 0.99)] * 1e3:.0f} ms, longest {waits[-1] * 1e3:.0f} ms,"
        f" fairness {fairness([len(tally.waits) for tally in tallies]):.2f},"
        f" {backups} backups, log {longest_log >> 10} KiB"
    )
    assert inconsistent == []
    assert longest_log < 64 << 20
    return tallies


def test_32_writers_lose_no_update(running):
    before = sum_of_counters(running) if running.database.exists() else 0

    tallies = run_load(running, 4)

    assert [refusal for tally in tallies for refusal in tally.refused] == []
    assert sum_of_counters(running) == sum(tally.done for tally in tallies) > before
    assert fairness([len(tally.waits) for tally in tallies]) > 0.5


def test_writes_wait_5_s_for_the_lock_and_reads_do_not(running):
    """Figure 7: reads are answered first, then the sign-in after 3 s, then the writes."""
    descriptor = os.open(f"{running.database}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        # In the order of the responses.
        waited: dict[str, tuple[float, int, str | None, str | None]] = {}

        def send_request(name: str, method: str, path: str, body: object) -> None:
            with closing(running.consumer()) as consumer:
                began = time.monotonic()
                answer = consumer.send(method, path, body)
            seconds = time.monotonic() - began
            waited[name] = seconds, answer.status, answer.code, answer.headers.get("Retry-After")

        sign_in = {"email": "nobody@example.org", "password": "wrong"}
        requests = [
            *((f"write {n}", "POST", "/inspections", rows(0)) for n in range(4)),
            ("sign-in", "POST", "/auth/v1/token?grant_type=password", sign_in),
            ("read", "GET", "/inspections?limit=1", None),
            ("ready", "GET", "/ready", None),
        ]
        threads = [threading.Thread(target=send_request, args=each) for each in requests]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        os.close(descriptor)

    print({name: (round(found[0], 2), *found[1:]) for name, found in waited.items()})
    for n in range(4):
        seconds, *refusal = waited[f"write {n}"]
        assert refusal == [503, "55P03", "1"]
        assert seconds > 4.9
    assert set(list(waited)[:2]) == {"read", "ready"}
    assert list(waited)[2] == "sign-in"
    assert waited["sign-in"][1] in (429, 503)
    assert waited["read"][1] == 200
    assert waited["ready"][1] == 200
    with closing(running.consumer()) as consumer:
        assert consumer.send("POST", "/inspections", rows(0)).status == 201


def test_slow_request_body_holds_no_snapshot(running):
    """A slow request body does not prevent a checkpoint of the WAL."""
    with closing(running.consumer()) as slow:
        slow.send("GET", "/live")
        connection = slow.connection
        connection.putrequest("POST", "/rpc/get_building_stats")
        for name, value in {**slow.headers, "Content-Length": "20"}.items():
            connection.putheader(name, value)
        connection.endheaders(b'{"building_id"')
        time.sleep(0.5)

        with closing(driver.connect(str(running.database), isolation_level=None)) as other:
            other.execute("INSERT INTO facts VALUES ('slow', 'sender') ON CONFLICT DO NOTHING")
            other.execute("UPDATE facts SET value = value || 'x' WHERE name = 'slow'")
            busy = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]

        connection.send(b": 1}  ")
        answer = connection.getresponse()
        assert (answer.status, bool(answer.read())) == (200, True)
    assert busy == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.attack(entry="H14")
def test_graceful_stop_under_load_loses_nothing(served, number):
    """Figure 29: TERM ends the service, HUP the workers. Accepted requests are answered."""
    stop_gracefully(served, number)


def stop_gracefully(served: Served, number: int) -> None:
    with serving(served):
        load = Load(served.port, 1, 1_000_000, 8)
        load.start()
        time.sleep(0.5)
        served.signal(number)
        if number == signal.SIGTERM:
            assert served.process.wait(25) == 0
        else:
            time.sleep(2)
        load.stop.set()
        load.join()
        assert served.stop() == 0
    assert [each for each in load.refused if each[1] != 503] == []
    assert len(load.acked) > 5
    log = served.database.with_name(f"{DATABASE}-wal")
    assert not log.exists() or log.stat().st_size == 0, "the stop runs a checkpoint"
    assert not served.database.with_name(f"{DATABASE}.serving").exists()
    with closing(driver.connect(str(served.database))) as connection:
        assert integrity_problems(connection) + transaction_problems(connection, set(load.acked)) == []


@pytest.mark.long
def test_many_graceful_stops_lose_nothing(served):
    for number in [signal.SIGTERM, signal.SIGHUP] * scaled(25):
        served.process = None
        delete_transactions(served)
        stop_gracefully(served, number)


def delete_transactions(served: Served) -> None:
    """Delete the transactions of the last round, since their numbers are reused."""
    with closing(driver.connect(str(served.database), isolation_level=None)) as connection:
        connection.execute("DELETE FROM inspections WHERE notes LIKE 'transaction %'")


@pytest.mark.long
def test_32_writers_are_served_fairly(running):
    tallies = run_load(running, scaled(60))

    assert [refusal for tally in tallies for refusal in tally.refused] == []
    assert sum_of_counters(running) == sum(tally.done for tally in tallies)
    assert fairness([len(tally.waits) for tally in tallies]) >= 0.9
