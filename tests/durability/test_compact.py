"""A file written anew holds what it held, in less room; whoever serves or has it open is in the way, and whatever fails
leaves the file as it was."""

import errno
import random
import resource
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from engine.maintenance import backup
from engine.maintenance.check import MaintenanceError
from engine.storage import file_copies as copies
from engine.storage.server_lock import ServingLock
from engine.storage.sqlite import driver
from tests.conftest import CAST
from tests.durability import shim
from tests.durability.served import Served
from tests.durability.test_power_cuts import SEED
from tests.durability.test_restore import asking, run, statement
from tests.durability.test_restore_failing import acknowledge, inspectors, left_over, refused_by_the_disk, unreplaceable
from tests.support import tokens

WRITE, SYNC = 1, 2
TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
SAID = ("application_id", "user_version", "page_size", "encoding")


@pytest.fixture
def place(base_file: Path, tmp_path: Path) -> Path:
    """A database at its place, alone in its directory, much of which was deleted again."""
    database = tmp_path / "place" / shim.DATABASE
    database.parent.mkdir()
    shutil.copy(base_file, database)
    database.chmod(0o600)
    make_holes(database)
    return database


def make_holes(database: Path) -> None:
    with closing(driver.connect(str(database), isolation_level=None)) as connection:
        connection.execute("BEGIN")
        many = ((str(number), "x" * 500) for number in range(1_000))  # of a table that has no trail
        connection.executemany("INSERT INTO facts (name, value) VALUES (?, ?)", many)
        connection.execute("DELETE FROM facts WHERE value LIKE 'xxx%'")
        connection.execute("INSERT INTO inspectors (name) VALUES ('gone')")
        connection.execute("DELETE FROM inspectors WHERE name = 'gone'")
        connection.execute("COMMIT")


def content(database: Path) -> dict[str, object]:
    """Every row of every table, the hidden ones and SQLite's own too, and what the file says of itself."""
    with closing(driver.connect(str(database), isolation_level=None)) as connection:
        names = [name for (name,) in connection.execute(TABLES).fetchall()]
        rows = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in names}
        said = {name: connection.execute(f"PRAGMA {name}").fetchone() for name in SAID}
    shape = statement(database, "SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2")
    return {**{name: sorted(found, key=repr) for name, found in rows.items()}, **said, "": shape}


def test_a_file_is_smaller_and_holds_what_it_held(place):
    assert run(place, "check")[0] == 0
    before, bytes_before = content(place), place.stat().st_size

    status, said = run(place, "compact")

    assert (status, said) == (0, f"{bytes_before} bytes before, {place.stat().st_size} now")
    assert place.stat().st_size < bytes_before - 400_000
    assert content(place) == before
    assert statement(place, "PRAGMA freelist_count") == [(0,)]
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert left_over(place) == []
    assert run(place, "check")[0] == 0


def test_an_id_that_was_deleted_is_not_handed_out_again(place):
    (used,) = statement(place, "SELECT seq FROM sqlite_sequence WHERE name = 'inspectors'")
    assert used[0] > max(row[0] for row in statement(place, "SELECT id FROM inspectors"))

    assert run(place, "compact")[0] == 0

    assert statement(place, "INSERT INTO inspectors (name) VALUES ('new') RETURNING id") == [(used[0] + 1,)]


def test_who_is_signed_in_stays_signed_in(place):
    root = CAST["root"]
    ask = asking(place, tokens.token_for(root.id, root.role, None))
    assert ask() == 200

    assert run(place, "compact")[0] == 0

    assert ask() == 200


def test_what_a_killed_server_acknowledged_is_in_the_new_file(place):
    acknowledge(place, "acknowledged")

    assert run(place, "compact")[0] == 0

    assert set(inspectors(place)) == {"acknowledged"}
    assert left_over(place) == []


def test_how_the_last_server_ended_is_remembered(place):
    """The next start looks closely after a server that was killed, and not after one that was stopped."""
    mark = place.with_name(f"{place.name}.serving")
    assert run(place, "compact")[0] == 0
    assert not mark.exists()
    mark.touch()

    assert run(place, "compact")[0] == 0

    assert mark.exists()


def test_a_file_that_is_served_is_not_written_anew(place):
    lock = ServingLock.take(place)
    before = place.read_bytes()

    status, said = run(place, "compact")

    lock.release()
    assert (status, said) == (1, f"walkthrough: {place} is being served by another process")
    assert place.read_bytes() == before


def test_a_file_that_another_program_has_open_is_not_written_anew(place, monkeypatch):
    monkeypatch.setattr("engine.storage.sqlite.BUSY_MILLISECONDS", 100)
    with closing(driver.connect(str(place))) as connection:
        connection.execute("SELECT count(*) FROM users").fetchall()

        status, said = run(place, "compact")

    assert (status, said) == (1, f"walkthrough: {place} is in use by another program")
    assert left_over(place) == []


def test_nobody_writes_between_the_copy_and_its_name(place, monkeypatch):
    """What they wrote would be in the old file alone."""
    settle, refusals = copies.settle, []

    def write_meanwhile(*words: object) -> None:
        settle(*words)
        with closing(driver.connect(str(place), timeout=0)) as other:
            with pytest.raises(driver.OperationalError) as refusal:
                other.execute("UPDATE inspectors SET name = 'late'")
            refusals.append(str(refusal.value))

    monkeypatch.setattr(copies, "settle", write_meanwhile)

    backup.compact(place)

    assert refusals == ["database is locked"]
    assert "late" not in inspectors(place)


def test_a_damaged_file_is_left_as_it_is(place):
    with place.open("r+b") as file:
        file.seek(4096 * 3)
        file.write(random.Random(SEED).randbytes(4096 * 20))
    before = place.read_bytes()

    status, said = run(place, "compact")

    assert status == 1
    assert said.startswith("walkthrough: ")
    assert said.count("\n") == 0
    assert place.read_bytes()[4096:] == before[4096:], "but for the head, which says WAL or not"
    assert left_over(place) == []


def test_a_copy_that_does_not_pass_its_check_gets_no_name(place, monkeypatch):
    def unsound(connection: object) -> None:
        raise copies.UnsoundCopy("the copy is not sound: row 7 missing from index")

    before = content(place)
    monkeypatch.setattr(copies, "require_sound", unsound)

    assert run(place, "compact") == (
        1,
        f"walkthrough: {place} cannot be compacted: the copy is not sound: row 7 missing from index",
    )
    assert content(place) == before
    assert left_over(place) == []


def test_a_name_that_cannot_be_given_is_told_and_loses_nothing(place, monkeypatch):
    before = content(place)

    with unreplaceable(place, monkeypatch), pytest.raises(MaintenanceError) as refusal:
        backup.compact(place)

    assert str(refusal.value) == f"{place} cannot be compacted: Input/output error"
    assert content(place) == before
    assert left_over(place) == []


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    """What a full disk is to whoever writes: past so many bytes nothing is taken."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [0, 4_096, 100_000])
def test_a_copy_that_the_disk_has_no_room_for_is_told_and_gone(place, size):
    before = content(place)

    with no_file_longer_than(size), pytest.raises(MaintenanceError) as refusal:
        backup.compact(place)

    assert str(refusal.value).startswith(f"{place} cannot be compacted: ")
    assert content(place) == before
    assert left_over(place) == []


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize(
    ("kind", "number"),
    [
        pytest.param(WRITE, errno.ENOSPC, id="full"),
        pytest.param(WRITE, errno.EIO, id="write"),
        pytest.param(SYNC, errno.EIO, id="sync"),
    ],
)
def test_a_log_that_cannot_be_folded_is_where_it_was(served: Served, kind: int, number: int, at: int) -> None:
    make_holes(served.database)
    acknowledge(served.database, "acknowledged")

    refused_by_the_disk(served, (kind, number, at), "compact")

    assert set(inspectors(served.database)) == {"acknowledged"}
    assert not list(served.directory.glob(".*"))
