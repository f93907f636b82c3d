"""Threads that upload files, and a check that no file is missing, half or under another's name.

Upload k stores content(k) as `k.jpg` of one of the inspections. As a program it takes the words of `load.py`:
`python -m tests.durability.uploads_load PORT FILE FIRST COUNT THREADS`.
"""

import hashlib
import itertools
import random
import sys
from functools import cache
from http.client import HTTPException
from pathlib import Path

from engine.storage.sqlite import driver
from inspections.files.store import NAME, FileStore
from tests.durability import load
from tests.durability.load import Load
from tests.durability.served import Consumer
from tests.inspections.file_world import image_bytes

INSPECTIONS = tuple(range(1, 10))
"""Those of the data set."""

CONTENT_BYTES = (1_000, 20_000)
LOCK_TIMEOUT = 503


@cache
def head() -> bytes:
    return image_bytes()


def content(k: int) -> bytes:
    """Return a JPEG with other bytes behind its end for each k."""
    dice = random.Random(k)
    return head() + dice.randbytes(dice.randint(*CONTENT_BYTES))


def create_inspections(consumer: Consumer, count: int) -> tuple[int, ...]:
    """Create inspections, each of which has room for files, and return their ids."""
    rows = [{"building_id": 1, "inspection_type": "annual"}] * count
    answer = consumer.send("POST", "/inspections?select=id", rows, Prefer="return=representation")
    assert answer.status == 201, answer.body
    return tuple(row["id"] for row in answer.json)


class UploadsLoad(Load):
    """A load whose numbers are those of uploads."""

    def __init__(
        self, port: int, first: int, count: int, threads: int, inspections: tuple[int, ...] = INSPECTIONS
    ) -> None:
        super().__init__(port, first, count, threads)
        self.inspections = inspections

    def run(self) -> None:
        consumer = Consumer(self.port)
        while (k := self.next()) is not None:
            path = f"/storage/v1/object/inspections/{self.inspections[k % len(self.inspections)]}/{k}.jpg"
            try:
                answer = consumer.send("POST", path, content(k), Content_Type="image/jpeg")
            except (OSError, HTTPException):
                if not self.stop.wait(0.02):
                    continue
                break
            if answer.status == 200:
                self.acknowledge(k)
            elif answer.status != LOCK_TIMEOUT:
                self.refused.append((k, answer.status, answer.body[:200]))
        consumer.close()


ROWS = "SELECT CAST(replace(substr(name, instr(name, '/') + 1), '.jpg', '') AS INTEGER), sha256, size FROM files"


def uploads_problems(connection: driver.Connection, store: FileStore, acked: set[int]) -> list[str]:
    """Return the problems of a database and its folder."""
    problems: list[str] = []
    stored: set[int] = set()
    for k, sha256, size in connection.execute(ROWS):
        stored.add(k)
        path = store.path(sha256)
        if not path.exists():
            problems.append(f"lost: upload {k} has a row without bytes")
        elif path.read_bytes() != content(k) or size != len(content(k)):
            problems.append(f"partial: upload {k} has other bytes")
    if lost := sorted(acked - stored):
        problems.append(f"{len(lost)} acknowledged and lost, such as {lost[0]}")
    return problems


def damaged_bytes(folder: Path) -> list[str]:
    """Return the hashes whose bytes have another hash. After a power cut, only bytes without a row may."""
    names = (each for each in folder.iterdir() if NAME.fullmatch(each.name))
    return [each.name for each in names if hashlib.sha256(each.read_bytes()).hexdigest() != each.name]


if __name__ == "__main__":
    load.Load = UploadsLoad  # type: ignore[misc]
    load.main(*itertools.islice(sys.argv, 1, None))
