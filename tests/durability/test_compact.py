"""`flask compact` rewrites a database: the same content in a smaller file.

It refuses a file that is served or open elsewhere. A failure leaves the file as it was.
"""

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
from engine.storage import file_copies
from engine.storage.database import ServingLock
from engine.storage.sqlite import driver
from tests.conftest import CAST
from tests.durability import shim
from tests.durability.served import Served
from tests.durability.test_power_cuts import SEED
from tests.durability.test_restore import read_with, run, statement
from tests.durability.test_restore_failing import (
    failing_rename,
    files_beside,
    inspector_names,
    run_on_failing_disk,
    write_to_wal_only,
)
from tests.support import tokens

WRITE, SYNC = 1, 2
TABLE_NAMES = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
HEADER_PRAGMAS = ("application_id", "user_version", "page_size", "encoding")


@pytest.fixture
def database_file(base_file: Path, tmp_path: Path) -> Path:
    """A database with many free pages, alone in its directory."""
    database = tmp_path / "place" / shim.DATABASE
    database.parent.mkdir()
    shutil.copy(base_file, database)
    database.chmod(0o600)
    add_free_pages(database)
    return database


def add_free_pages(database: Path) -> None:
    with closing(driver.connect(str(database), isolation_level=None)) as connection:
        connection.execute("BEGIN")
        many = ((str(number), "x" * 500) for number in range(1_000))  # this table has no audit trigger
        connection.executemany("INSERT INTO facts (name, value) VALUES (?, ?)", many)
        connection.execute("DELETE FROM facts WHERE value LIKE 'xxx%'")
        connection.execute("INSERT INTO inspectors (name) VALUES ('gone')")
        connection.execute("DELETE FROM inspectors WHERE name = 'gone'")
        connection.execute("COMMIT")


def content(database: Path) -> dict[str, object]:
    """Return the rows of all tables, hidden and internal ones too, the schema, and the header fields."""
    with closing(driver.connect(str(database), isolation_level=None)) as connection:
        names = [name for (name,) in connection.execute(TABLE_NAMES).fetchall()]
        rows = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in names}
        output = {name: connection.execute(f"PRAGMA {name}").fetchone() for name in HEADER_PRAGMAS}
    shape = statement(database, "SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2")
    return {**{name: sorted(found, key=repr) for name, found in rows.items()}, **output, "": shape}


def test_compact_shrinks_the_file_and_keeps_its_content(database_file):
    assert run(database_file, "check")[0] == 0
    before, bytes_before = content(database_file), database_file.stat().st_size

    status, output = run(database_file, "compact")

    assert (status, output) == (0, f"{bytes_before} bytes before, {database_file.stat().st_size} now")
    assert database_file.stat().st_size < bytes_before - 400_000
    assert content(database_file) == before
    assert statement(database_file, "PRAGMA freelist_count") == [(0,)]
    assert stat.S_IMODE(database_file.stat().st_mode) == 0o600
    assert files_beside(database_file) == []
    assert run(database_file, "check")[0] == 0


def test_compact_does_not_reuse_deleted_ids(database_file):
    (used,) = statement(database_file, "SELECT seq FROM sqlite_sequence WHERE name = 'inspectors'")
    assert used[0] > max(row[0] for row in statement(database_file, "SELECT id FROM inspectors"))

    assert run(database_file, "compact")[0] == 0

    assert statement(database_file, "INSERT INTO inspectors (name) VALUES ('new') RETURNING id") == [(used[0] + 1,)]


def test_compact_keeps_sessions(database_file):
    root = CAST["root"]
    read_status = read_with(database_file, tokens.token_for(root.id, root.role, None))
    assert read_status() == 200

    assert run(database_file, "compact")[0] == 0

    assert read_status() == 200


def test_compact_keeps_writes_in_the_wal_of_a_killed_server(database_file):
    write_to_wal_only(database_file, "acknowledged")

    assert run(database_file, "compact")[0] == 0

    assert set(inspector_names(database_file)) == {"acknowledged"}
    assert files_beside(database_file) == []


def test_compact_keeps_the_unclean_stop_marker(database_file):
    """The next start runs a full check after a killed server only."""
    marker = database_file.with_name(f"{database_file.name}.serving")
    assert run(database_file, "compact")[0] == 0
    assert not marker.exists()
    marker.touch()

    assert run(database_file, "compact")[0] == 0

    assert marker.exists()


def test_compact_of_a_served_file_is_refused(database_file):
    lock = ServingLock.take(database_file)
    before = database_file.read_bytes()

    status, output = run(database_file, "compact")

    lock.release()
    assert (status, output) == (1, f"walkthrough: {database_file} is being served by another process")
    assert database_file.read_bytes() == before


def test_compact_of_a_file_open_elsewhere_is_refused(database_file, monkeypatch):
    monkeypatch.setattr("engine.storage.sqlite.BUSY_MILLISECONDS", 100)
    with closing(driver.connect(str(database_file))) as connection:
        connection.execute("SELECT count(*) FROM users").fetchall()

        status, output = run(database_file, "compact")

    assert (status, output) == (1, f"walkthrough: {database_file} is in use by another program")
    assert files_beside(database_file) == []


def test_writes_between_copy_and_rename_are_blocked(database_file, monkeypatch):
    """The write would be lost with the old file."""
    settle, refusals = file_copies.settle, []

    def write_meanwhile(*words: object) -> None:
        settle(*words)
        with closing(driver.connect(str(database_file), timeout=0)) as other:
            with pytest.raises(driver.OperationalError) as refusal:
                other.execute("UPDATE inspectors SET name = 'late'")
            refusals.append(str(refusal.value))

    monkeypatch.setattr(file_copies, "settle", write_meanwhile)

    backup.compact(database_file)

    assert refusals == ["database is locked"]
    assert "late" not in inspector_names(database_file)


def test_compact_of_a_damaged_file_changes_nothing(database_file):
    with database_file.open("r+b") as file:
        file.seek(4096 * 3)
        file.write(random.Random(SEED).randbytes(4096 * 20))
    before = database_file.read_bytes()

    status, output = run(database_file, "compact")

    assert status == 1
    assert output.startswith("walkthrough: ")
    assert output.count("\n") == 0
    assert database_file.read_bytes()[4096:] == before[4096:], (
        "all pages except the first, whose header has the journal mode"
    )
    assert files_beside(database_file) == []


def test_compact_discards_a_copy_that_fails_its_check(database_file, monkeypatch):
    def fail(connection: object) -> None:
        raise file_copies.UnsoundCopy("the copy is not sound: row 7 missing from index")

    before = content(database_file)
    monkeypatch.setattr(file_copies, "require_sound", fail)

    assert run(database_file, "compact") == (
        1,
        f"walkthrough: {database_file} cannot be compacted: the copy is not sound: row 7 missing from index",
    )
    assert content(database_file) == before
    assert files_beside(database_file) == []


def test_failed_rename_of_a_compacted_copy_loses_nothing(database_file, monkeypatch):
    before = content(database_file)

    with failing_rename(database_file, monkeypatch), pytest.raises(MaintenanceError) as refusal:
        backup.compact(database_file)

    assert str(refusal.value) == f"{database_file} cannot be compacted: Input/output error"
    assert content(database_file) == before
    assert files_beside(database_file) == []


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Limit the size of files: writes past it fail, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [0, 4_096, 100_000])
def test_compact_without_disk_space_leaves_no_copy(database_file, size):
    before = content(database_file)

    with file_size_limit(size), pytest.raises(MaintenanceError) as refusal:
        backup.compact(database_file)

    assert str(refusal.value).startswith(f"{database_file} cannot be compacted: ")
    assert content(database_file) == before
    assert files_beside(database_file) == []


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize(
    ("kind", "number"),
    [
        pytest.param(WRITE, errno.ENOSPC, id="full"),
        pytest.param(WRITE, errno.EIO, id="write"),
        pytest.param(SYNC, errno.EIO, id="sync"),
    ],
)
def test_compact_keeps_a_wal_that_cannot_be_checkpointed(served: Served, kind: int, number: int, at: int) -> None:
    add_free_pages(served.database)
    write_to_wal_only(served.database, "acknowledged")

    run_on_failing_disk(served, (kind, number, at), "compact")

    assert set(inspector_names(served.database)) == {"acknowledged"}
    assert not list(served.directory.glob(".*"))
