"""Numbered transactions, and a check for lost ones.

Transaction k is one POST of inspections whose notes contain k. It has one row if k is odd, else 3 + k mod 5 rows.
The server writes single rows in a batch with others.

`acknowledge` appends k to a file after the whole 201 response is read. The module is also a program, so that the
shim can be loaded into it: `python -m tests.durability.load PORT FILE FIRST COUNT THREADS [early]`.
"""

import itertools
import json
import os
import sys
import threading
from http.client import HTTPException

from engine.storage.sqlite import driver
from tests.durability.served import Answer, Consumer

TRIES = 5


def size(k: int) -> int:
    """Return the number of rows of transaction k."""
    return 1 if k % 2 else 3 + k % 5


def rows(k: int) -> list[dict[str, object]]:
    return [{"building_id": 1, "inspection_type": "annual", "notes": f"transaction {k}"} for _ in range(size(k))]


def send_transaction(consumer: Consumer, k: int) -> Answer:
    """Send transaction k, again after a lock timeout: a disk may stall for longer than the timeout."""
    for _ in range(TRIES):
        answer = consumer.send("POST", "/inspections", rows(k))
        if answer.code != "55P03":
            break
    return answer


class Load:
    """Threads that send transactions until all are sent or `stop` is set."""

    def __init__(self, port: int, first: int, count: int, threads: int, *, early: bool = False) -> None:
        self.port = port
        self.numbers = iter(range(first, first + count))
        self.lock = threading.Lock()
        self.early = early
        self.acked: list[int] = []
        self.refused: list[tuple[int, int, bytes]] = []
        self.file: int | None = None
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(threads)]

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def join(self) -> None:
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive(), "a request does not end"

    def next(self) -> int | None:
        with self.lock:
            return None if self.stop.is_set() else next(self.numbers, None)

    def run(self) -> None:
        consumer = Consumer(self.port)
        while (k := self.next()) is not None:
            if self.early:
                self.acknowledge(k)
            try:
                answer = send_transaction(consumer, k)
            except (OSError, HTTPException):
                if not self.stop.wait(0.02):
                    continue
                break
            if answer.status == 201 and not self.early:
                self.acknowledge(k)
            elif answer.status != 201:
                self.refused.append((k, answer.status, answer.body[:200]))
        consumer.close()

    def acknowledge(self, k: int) -> None:
        if self.file is not None:
            os.write(self.file, b"%d\n" % k)
        self.acked.append(k)


def transaction_problems(connection: driver.Connection, acked: set[int]) -> list[str]:
    """Return the problems of a database: acknowledged transactions that are lost, and partial ones."""
    found = dict(
        connection.execute(
            "SELECT CAST(substr(notes, 13) AS INTEGER), count(*) FROM inspections"
            " WHERE notes LIKE 'transaction %' GROUP BY 1"
        )
    )
    lost = sorted(k for k in acked if k not in found)
    partial = sorted(k for k, count in found.items() if count != size(k))
    return [
        *(f"{len(each)} {what}, such as {each[0]}" for what, each in
          (("acknowledged and lost", lost), ("partial", partial)) if each),
    ]  # fmt: skip


def integrity_problems(connection: driver.Connection) -> list[str]:
    broken = [row[0] for row in connection.execute("PRAGMA integrity_check(1)") if row[0] != "ok"]
    return broken + [f"dangling in {row[0]}" for row in connection.execute("PRAGMA foreign_key_check")]


def main(port: str, file: str, first: str, count: str, threads: str, mode: str = "") -> None:
    load = Load(int(port), int(first), int(count), int(threads), **({"early": True} if mode == "early" else {}))
    load.file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    load.start()
    for thread in load.threads:
        thread.join()
    print(json.dumps({"acked": len(load.acked), "refused": list(map(repr, load.refused[:5]))}))


if __name__ == "__main__":
    main(*itertools.islice(sys.argv, 1, None))
