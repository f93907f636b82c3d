"""A restore that cannot be: whatever fails on the way, the database that it would replace is there as it was, with its
log; and nobody who opens it meanwhile leaves a log beside the new one."""

import errno
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from engine.maintenance import backup
from engine.maintenance.check import MaintenanceError
from engine.storage import atomic_files as drafts
from engine.storage import file_copies as copies
from engine.storage.clock import Clock
from engine.storage.sqlite import driver
from tests.durability import shim
from tests.durability.served import PROJECT, Served
from tests.durability.test_power_cuts import SEED, judged

WRITE, SYNC = 1, 2
MALFORMED = driver.DatabaseError("database disk image is malformed")


@pytest.fixture
def place(base_file: Path, tmp_path: Path) -> Path:
    """A database at its place, alone in its directory; its backup lies beside that."""
    directory = tmp_path / "place"
    directory.mkdir()
    database = directory / shim.DATABASE
    shutil.copy(base_file, database)
    database.chmod(0o600)
    backup.back_up(database, kept(database))
    return database


def kept(place: Path) -> Path:
    return place.parent.parent / "kept.backup"


def statement(file: Path, sql: str) -> list[tuple]:
    with closing(driver.connect(str(file), isolation_level=None)) as connection:
        return connection.execute(sql).fetchall()


def inspectors(database: Path) -> list[str]:
    return [row[0] for row in statement(database, "SELECT name FROM inspectors ORDER BY id")]


def acknowledge(database: Path, name: str) -> None:
    """Leave what a server leaves that was killed: a write that was acknowledged stands in the log alone."""
    log = database.with_name(f"{database.name}-wal")
    with closing(driver.connect(str(database), isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        before = database.read_bytes()
        connection.execute("UPDATE inspectors SET name = ?", (name,))
        written = log.read_bytes()
    database.write_bytes(before)
    log.write_bytes(written)


def left_over(place: Path) -> list[str]:
    """What lies beside a database, but for the lock files."""
    names = {each.name for each in place.parent.iterdir()}
    return sorted(names - {place.name, f"{place.name}.lock", f"{place.name}.serving"})


def refused_by_the_disk(served: Served, failure: tuple[int, int, int], *words: str) -> subprocess.CompletedProcess:
    """Run a command while a kind of call fails by a number, from the so-many-th on; it says so in one line."""
    control = shim.Control(served.directory.parent / "control")
    served.watched = shim.environment(served.directory, control=served.directory.parent / "control")
    with control.failing(*failure, once=False):
        run = served.command(*words)
    assert control[shim.Word.FAILED], "the control works"
    assert run.returncode == 1, run.stdout
    assert run.stderr.count("\n") == 1, run.stderr
    return run


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        pytest.param(WRITE, errno.ENOSPC, id="full"),
        pytest.param(WRITE, errno.EIO, id="write"),
        pytest.param(SYNC, errno.EIO, id="sync"),
    ],
)
def test_a_log_that_cannot_be_folded_keeps_a_restore_from_being(served: Served, kind: int, number: int) -> None:
    made = served.directory.parent / "made.backup"
    backup.back_up(served.database, made)
    acknowledge(served.database, "acknowledged")

    run = refused_by_the_disk(served, (kind, number, 1), "restore", str(made))

    assert f"the log of {served.database} cannot be checkpointed: " in run.stderr
    assert set(inspectors(served.database)) == {"acknowledged"}


def test_a_name_that_cannot_be_given_is_told_and_loses_nothing(place, monkeypatch):
    acknowledge(place, "acknowledged")
    with unreplaceable(place, monkeypatch), pytest.raises(MaintenanceError) as refusal:
        backup.restore(kept(place), place, Clock())

    assert str(refusal.value) == f"{kept(place)} cannot be restored: Input/output error"
    assert set(inspectors(place)) == {"acknowledged"}
    assert left_over(place) == []


@contextmanager
def unreplaceable(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing gets the database's name."""
    replace = Path.replace

    def fail(draft: Path, target: Path) -> Path:
        if target == place:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(target))
        return replace(draft, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        yield


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    raise MALFORMED
    yield


def test_the_log_of_a_damaged_file_is_back_where_a_restore_cannot_be(place, monkeypatch):
    acknowledge(place, "acknowledged")
    log = place.with_name(f"{place.name}-wal")
    before = log.read_bytes()
    monkeypatch.setattr(copies, "held", damaged)

    with unreplaceable(place, monkeypatch), pytest.raises(MaintenanceError):
        backup.restore(kept(place), place, Clock())

    assert log.read_bytes() == before
    assert left_over(place) == [log.name]


def test_the_log_of_a_damaged_file_goes_with_it(place, monkeypatch):
    names = inspectors(kept(place))
    acknowledge(place, "acknowledged")
    monkeypatch.setattr(copies, "held", damaged)

    backup.restore(kept(place), place, Clock())

    assert left_over(place) == []
    assert inspectors(place) == names


SCRIPT = """
import sys
from pathlib import Path
from engine.maintenance import backup
from engine.storage.clock import Clock
from engine.storage import file_copies as copies
from engine.storage import atomic_files as drafts
from tests.durability import test_restore_failing

copies.held = test_restore_failing.damaged
backup.restore(Path(sys.argv[1]), Path(sys.argv[2]), Clock())
"""


def test_a_power_cut_leaves_a_damaged_file_s_log_or_the_new_file_without_it(place):
    """The log lies beside the file it belongs to, under its name or another, and never beside the new one."""
    acknowledge(place, "acknowledged")
    log, old = place.with_name(f"{place.name}-wal").read_bytes(), place.read_bytes()
    disk, told_in = shim.Disk(place.parent), place.parent.parent / "cut.log"
    subprocess.run(
        [sys.executable, "-c", SCRIPT, str(kept(place)), str(place)],
        cwd=PROJECT, env={**os.environ, **shim.environment(place.parent, told_in)}, check=True,
    )  # fmt: skip

    told, dice, at, seen = shim.records(told_in), random.Random(SEED), 0, set()
    for number, moment in enumerate(sorted(dice.choices(range(len(told) + 1), k=200))):
        for record in told[at:moment]:
            disk.take(record)
        at = moment
        left = shim.emptied(place.parent.parent / "left")
        disk.cut(random.Random(SEED * 1_000_003 + number), left)
        logs = {each.name: each.read_bytes() for each in left.glob(f"*{place.name}-wal*")}
        is_old = (left / place.name).read_bytes() == old
        if is_old:
            assert list(logs.values()) == [log], f"seed {SEED}, cut {number}"
        else:
            assert f"{place.name}-wal" not in logs, f"seed {SEED}, cut {number}"
            assert judged(left, set(), starts=False) == [], f"seed {SEED}, cut {number}"
        seen.add(is_old)
    assert seen == {True, False}


def test_whoever_opens_the_old_file_meanwhile_waits_and_leaves_no_log(place, monkeypatch):
    names, replace, found = inspectors(place), Path.replace, []
    acknowledge(place, "acknowledged")
    late: list = []

    def opened_meanwhile(draft: Path, target: Path) -> Path:
        if target == place:
            with closing(driver.connect(str(place), timeout=0)) as reader:
                with pytest.raises(driver.OperationalError) as refusal:
                    reader.execute("SELECT count(*) FROM users").fetchall()
                found.append(str(refusal.value))
            late.append(driver.connect(str(place), isolation_level=None))
        return replace(draft, target)

    monkeypatch.setattr(Path, "replace", opened_meanwhile)
    backup.restore(kept(place), place, Clock())
    monkeypatch.undo()

    assert found == ["database is locked"]
    with closing(late.pop()) as reader:
        assert reader.execute("SELECT DISTINCT name FROM inspectors").fetchall() == [("acknowledged",)]
        with pytest.raises(driver.OperationalError, match="readonly"):
            reader.execute("PRAGMA journal_mode = WAL").fetchall()
    assert left_over(place) == []
    assert inspectors(place) == names


def test_who_has_opened_the_file_anew_before_it_was_held_is_in_its_way(place, monkeypatch):
    """Between the end of the log and the lock somebody may begin another log."""
    monkeypatch.setattr("engine.storage.sqlite.BUSY_MILLISECONDS", 50)
    readers = []

    class Connection(driver.Connection):
        def execute(self, sql: str, *parameters: object) -> object:
            if sql == "BEGIN EXCLUSIVE":
                readers.append(driver.connect(str(place), isolation_level=None))
                readers[0].execute("PRAGMA journal_mode = WAL").fetchall()
                readers[0].execute("SELECT count(*) FROM users").fetchall()
            return super().execute(sql, *parameters)

    connect = driver.connect
    monkeypatch.setattr(
        copies.sqlite.driver,
        "connect",
        lambda *words, **more: (
            connect(*words, **more, factory=Connection) if "mode=rw" in words[0] else connect(*words, **more)
        ),
    )  # fmt: skip

    with pytest.raises(MaintenanceError, match="is in use by another program"):
        backup.restore(kept(place), place, Clock())
    for reader in readers:
        reader.close()

    assert len(readers) == 1


def test_a_name_that_may_not_last_is_told(place, monkeypatch):
    names, sync = inspectors(place), copies.sync

    def fail(path: Path) -> None:
        if path == place.parent and not list(place.parent.glob(".*")):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(path)

    monkeypatch.setattr(copies, "sync", fail)
    with pytest.raises(MaintenanceError, match="is restored, but a power cut may bring back"):
        backup.restore(kept(place), place, Clock())

    assert inspectors(place) == names


@pytest.mark.parametrize("at", ["2025-03-0q", "", "0001-01-01T00:00:00"])
def test_a_backup_whose_last_moment_is_damaged_is_as_late_as_its_file(place, at):
    statement(kept(place), f"UPDATE audit_context SET at = '{at}'")
    tomorrow = time.time() + 86_400
    os.utime(kept(place), (tomorrow, tomorrow))
    clock = Clock()

    backup.restore(kept(place), place, clock)

    assert clock() == pytest.approx(tomorrow, abs=1)
    stored = statement(place, "SELECT unixepoch(at) FROM audit_context")
    assert stored == [(pytest.approx(tomorrow, abs=1),)]


def test_where_there_is_no_place_for_the_copy_it_is_told(place, monkeypatch):
    names = inspectors(place)
    monkeypatch.setattr(drafts.secrets, "token_hex", lambda count: "f" * 300)

    with pytest.raises(MaintenanceError, match=r"cannot be restored: File name too long$"):
        backup.restore(kept(place), place, Clock())

    assert inspectors(place) == names
