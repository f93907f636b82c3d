"""Simulated power cuts: an acknowledged write survives a cut at any moment (figure 1).

The shim logs all writes and syncs of the service and its clients. A cut is a position in this log. A random subset
of the unsynced writes reaches the disk.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.storage.sqlite import ERRORS, driver
from tests.durability import shim
from tests.durability.conftest import scaled
from tests.durability.load import integrity_problems, transaction_problems
from tests.durability.served import PROJECT, SHIPPED, Served, serving
from tests.support.applications import open_app
from tests.support.tokens import ANON_KEY

SEED = int(os.environ.get("DURABILITY_SEED", "20260101"))
FAULTY = "tests.durability.faulty_applications"
THREADS = 8
LOG = f"{shim.DATABASE}-wal".encode()
SLOW_SYNC_MICROSECONDS = 5_000  # the fastest sync of a memory card
CUTS_PER_START = 25  # the service itself opens the result of one in 25 cuts


@dataclass(slots=True)
class Outcome:
    """The number of cuts, and of those with lost or partial transactions or damage."""

    cuts: int = 0
    lost: int = 0
    partial: int = 0
    unsound: int = 0
    first: str = ""

    @property
    def faulty(self) -> int:
        return self.lost + self.partial + self.unsound

    def add(self, problems: list[str]) -> None:
        self.cuts += 1
        self.first = self.first or "; ".join(problems)
        self.unsound += any(problem.startswith("unsound") for problem in problems)
        self.lost += any("lost" in problem for problem in problems)
        self.partial += any("partial" in problem for problem in problems)


def record_load(
    served: Served,
    writes: int,
    *,
    early: bool = False,
    sync_microseconds: int = 0,
    module: str = "tests.durability.load",
) -> tuple[shim.Disk, list]:
    """Run the service under load; return the disk before the load, and the log."""
    log = served.directory.parent / "cut.log"
    disk = shim.Disk(served.directory)
    served.watched = shim.environment(served.directory, log, sync_microseconds=sync_microseconds)
    with serving(served):
        command = [sys.executable, "-m", module, str(served.port)]
        words = [str(served.directory / shim.ACK), "1", str(writes), str(THREADS)]
        done = subprocess.run(
            [*command, *words, *(["early"] if early else [])],
            cwd=PROJECT,
            env=served.environ(),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["acked"] == writes, report
    return disk, shim.records(log)


def cut_repeatedly(
    disk: shim.Disk, records: list, cuts: int, seed: int, scratch: Path, check: Callable | None = None
) -> Outcome:
    """Cut at random moments after the first acknowledgement, and check the files that each cut leaves."""
    dice = random.Random(seed)
    first = next(number for number, record in enumerate(records) if record.op == b"C" and record.data == b"ACK")
    moments = sorted(dice.choices(range(first, len(records)), k=cuts))
    outcome, at = Outcome(), 0
    for number, moment in enumerate(moments):
        for record in records[at:moment]:
            disk.replay(record)
        at = moment
        left = shim.empty_directory(scratch)
        disk.cut(random.Random(seed * 1_000_003 + number), left)
        outcome.add((check or file_problems)(left, set(disk.acked), starts=number % CUTS_PER_START == 0))
    return outcome


def file_problems(left: Path, acked: set[int], *, starts: bool) -> list[str]:
    database = left / shim.DATABASE
    try:
        connection = driver.connect(str(database), isolation_level=None)
        try:
            problems = [f"unsound: {each}" for each in integrity_problems(connection)]
            problems += transaction_problems(connection, acked)
            connection.execute("INSERT INTO facts VALUES ('after the cut', 'written')")
        finally:
            connection.close()
    except ERRORS as error:
        return [f"unsound: {error}"]
    return problems or (start_problems(database) if starts else [])


def start_problems(database: Path) -> list[str]:
    """Open a database with the service itself, and write."""
    app = open_app(database)
    headers = {"apikey": ANON_KEY, "Authorization": f"Bearer {app.config['SERVICE_KEY']}"}
    answer = app.test_client().post("/inspectors", json={"name": "After"}, headers=headers)
    app.extensions["walkthrough"].close()
    return [] if answer.status_code == 201 else [f"unsound: {answer.get_data(as_text=True)}"]


def cut_under_load(served: Served, application: str, writes: int, cuts: int, *, early: bool = False) -> Outcome:
    served.application = application
    disk, records = record_load(served, writes, early=early)
    outcome = cut_repeatedly(disk, records, cuts, SEED, served.directory.parent / "left")
    print(f"{application}: seed {SEED}, {writes} writes, {len(records)} records, {outcome}")
    return outcome


SOUND_APPLICATIONS = [SHIPPED, f"{FAULTY}:frequent_checkpoints()"]


@pytest.mark.parametrize("application", SOUND_APPLICATIONS)
def test_power_cuts_lose_no_acknowledged_write(served, application):
    outcome = cut_under_load(served, application, 400, 150)

    assert outcome.faulty == 0, f"seed {SEED}: {outcome}"


def test_commits_without_sync_are_detected(served):
    outcome = cut_under_load(served, f"{FAULTY}:synchronous_normal()", 200, 150)

    assert outcome.lost >= 15, f"seed {SEED}: {outcome}"


def test_writes_without_any_sync_are_detected(served):
    outcome = cut_under_load(served, f"{FAULTY}:synchronous_off()", 200, 150)

    assert outcome.unsound >= 37, f"seed {SEED}: {outcome}"


def test_early_acknowledgement_is_detected(served):
    outcome = cut_under_load(served, f"{FAULTY}:frequent_checkpoints()", 100, 50, early=True)

    assert outcome.lost >= 10, f"seed {SEED}: {outcome}"


def cut_on_slow_disk(
    served: Served, application: str, writes: int, cuts: int, sync_microseconds: int = SLOW_SYNC_MICROSECONDS
) -> Outcome:
    """Cut on a disk so slow that writes share a COMMIT; assert that they do."""
    served.application = application
    disk, records = record_load(served, writes, sync_microseconds=sync_microseconds)
    logs = {record.inode for record in records if record.op == b"C" and record.data == LOG}
    syncs = sum(record.op == b"E" and record.inode in logs for record in records)
    outcome = cut_repeatedly(disk, records, cuts, SEED, served.directory.parent / "left")
    print(f"{application}, slow: seed {SEED}, {writes} writes, {syncs} syncs, {outcome}")
    assert syncs < 0.8 * writes, f"{syncs} syncs for {writes} writes"
    return outcome


def test_power_cuts_lose_no_write_of_a_commit_group(served):
    outcome = cut_on_slow_disk(served, SHIPPED, 200, 150)

    assert outcome.faulty == 0, f"seed {SEED}: {outcome}"


@pytest.mark.parametrize("fault", ["not_waiting_for_commit()"])
def test_member_that_does_not_wait_for_its_commit_group_is_detected(served, fault):
    # Also on a busy machine, the early response comes during such a sync.
    outcome = cut_on_slow_disk(served, f"{FAULTY}:{fault}", 100, 200, sync_microseconds=100_000)

    assert outcome.lost >= 3, f"seed {SEED}: {outcome}"


@pytest.mark.long
def test_many_power_cuts_lose_no_write_of_a_commit_group(served):
    outcome = cut_on_slow_disk(served, SHIPPED, scaled(4_000), scaled(5_000))

    assert outcome.faulty == 0, f"seed {SEED}: {outcome}"


@pytest.mark.long
@pytest.mark.parametrize("application", SOUND_APPLICATIONS)
def test_many_power_cuts_lose_no_acknowledged_write(served, application):
    outcome = cut_under_load(served, application, scaled(4_000), scaled(5_000))

    assert outcome.faulty == 0, f"seed {SEED}: {outcome}"
