"""Migrations of a SQLite file: applied once and completely, or not at all (figure 12)."""

import os
import random
import shutil
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from app import NotStarted
from engine.maintenance import migrate
from engine.maintenance.migrate import statements
from engine.schema import migrations
from engine.storage import file_copies
from engine.storage.database import ServingLock, SqliteDatabase
from engine.storage.sqlite import driver
from engine.storage.writer_lock import WriterLock
from tests.durability import shim
from tests.durability.conftest import scaled
from tests.durability.load import integrity_problems
from tests.durability.served import PROJECT
from tests.durability.test_power_cuts import SEED
from tests.support.applications import open_app
from tests.support.migrations import ADD_MOBILE, FAIL, LOSE_CLIENTS, NEXT

CURRENT = migrations.schema_version()
TABLES_WITH_MOBILE = ("clients", "inspectors")


@pytest.fixture
def file(base_file: Path, tmp_path: Path) -> Path:
    """A file of the current version, with rows."""
    copy = tmp_path / "walkthrough.db"
    shutil.copy(base_file, copy)
    copy.chmod(0o600)
    return copy


def rows(file: Path, sql: str) -> list[tuple]:
    with closing(driver.connect(str(file), isolation_level=None)) as connection:
        return connection.execute(sql).fetchall()


def dump(file: Path) -> dict[str, list[str]]:
    """Return the rows of each table, the SQL of all other objects, and the version."""
    with closing(driver.connect(str(file), isolation_level=None)) as connection:
        assert integrity_problems(connection) == []
        run = connection.execute
        found = {"version": [str(run("PRAGMA user_version").fetchone()[0])]}
        for kind, name, sql in run("SELECT type, name, sql FROM sqlite_schema").fetchall():
            is_table = kind == "table" and not name.startswith("sqlite_stat")
            found[name] = sorted(map(repr, run(f"SELECT * FROM {name}"))) if is_table else [sql]
        return found


def version(file: Path) -> int:
    found: int = rows(file, "PRAGMA user_version")[0][0]
    return found


def open_database(file: Path) -> SqliteDatabase:
    found: SqliteDatabase = open_app(file).extensions["walkthrough"]
    return found


def test_migrations_are_numbered_without_gaps():
    assert [each.version for each in migrations.MIGRATIONS] == [*range(2, CURRENT + 1)]


def test_script_without_final_semicolon_is_an_error():
    with pytest.raises(ValueError, match="semicolon"):
        statements("UPDATE clients SET name = 'a'")


def test_migration_adds_columns_and_keeps_all_rows(file, register):
    before = dump(file)
    register(ADD_MOBILE)

    open_database(file).close()

    after = dump(file)
    assert after.pop("version") == [str(NEXT)]
    assert {name: found for name, found in after.items() if name not in TABLES_WITH_MOBILE} == {
        name: found for name, found in before.items() if name not in (*TABLES_WITH_MOBILE, "version")
    }
    for name in TABLES_WITH_MOBILE:
        assert after[name] == [f"{row[:-1]}, 'none')" for row in before[name]]


def test_second_start_changes_nothing(file, register):
    register(ADD_MOBILE)
    open_database(file).close()
    once = dump(file)

    open_database(file).close()

    assert dump(file) == once
    assert not migrate.backup_path(file, CURRENT, 2).exists()


def test_migration_copies_the_file_first(file, register):
    before = dump(file)
    register(ADD_MOBILE)

    open_database(file).close()

    copy = migrate.backup_path(file, CURRENT)
    assert dump(copy) == before
    assert copy.stat().st_mode & 0o777 == 0o600


def test_previous_copy_is_not_overwritten(file, register):
    first = migrate.backup_path(file, CURRENT)
    first.write_bytes(b"kept before")
    register(FAIL)

    for _ in range(2):
        with pytest.raises(NotStarted):
            open_database(file)

    assert first.read_bytes() == b"kept before"
    assert dump(migrate.backup_path(file, CURRENT, 2)) == dump(file)
    assert not migrate.backup_path(file, CURRENT, 3).exists()


def test_failed_copy_prevents_the_migration(file, register, monkeypatch):
    def fail(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    before = dump(file)
    register(ADD_MOBILE)
    monkeypatch.setattr(file_copies, "copy", fail)

    with pytest.raises(NotStarted, match="No space left"):
        open_database(file)

    assert dump(file) == before


@pytest.mark.parametrize(
    ("migration", "words"),
    [(FAIL, "no such table"), (LOSE_CLIENTS, r"afterwards \w+ row \d+ references no row of clients")],
)
def test_failed_migration_changes_nothing(file, register, migration, words):
    before = dump(file)
    register(migration)

    with pytest.raises(NotStarted, match=f"stays at schema {CURRENT}.*{words}"):
        open_database(file)

    assert dump(file) == before


def test_migration_recreates_indexes_views_and_triggers(file, tmp_path, register):
    with closing(driver.connect(str(file), isolation_level=None)) as connection:
        connection.execute("DROP INDEX inspections_client_status")
        connection.execute("CREATE INDEX stray ON buildings (zip)")
        connection.execute("DROP TRIGGER users_moved")
        connection.execute("CREATE TRIGGER users_moved AFTER UPDATE ON users BEGIN SELECT 1; END")
    objects = "SELECT type, name, sql FROM sqlite_schema WHERE type <> 'table' ORDER BY 1, 2"
    open_database(tmp_path / "new.db").close()
    register(ADD_MOBILE)

    open_database(file).close()

    assert rows(file, objects) == rows(tmp_path / "new.db", objects)


def test_file_of_a_later_version_is_refused(file):
    rows(file, f"PRAGMA user_version = {NEXT}")
    size = file.stat().st_size

    with pytest.raises(NotStarted, match="was made by a later version") as refusal:
        open_database(file)

    assert "\n" not in refusal.value.message
    assert (version(file), file.stat().st_size) == (NEXT, size)


@pytest.mark.parametrize("development_version", [1, 12])
def test_file_of_a_development_version_is_refused_with_export_instructions(file, development_version):
    rows(file, f"PRAGMA application_id = {migrations.DEVELOPMENT_APPLICATION_ID}")
    rows(file, f"PRAGMA user_version = {development_version}")
    before = file.read_bytes()

    with pytest.raises(NotStarted, match="development version from before 0") as refusal:
        open_database(file)

    assert ("\n" in refusal.value.message, "export FILE" in refusal.value.message) == (False, True)
    assert file.read_bytes() == before


def test_file_served_by_an_older_version_is_not_migrated(file, register, tmp_path):
    register(ADD_MOBILE)
    before = dump(file)
    lock = ServingLock.take(file)

    with pytest.raises(NotStarted, match="an older version serves it: stop that version first"):
        open_database(file)
    source = open_app(tmp_path / "source.db").test_cli_runner()
    copied = source.invoke(args=["copy", "--to", f"sqlite:///{file}"])
    unchanged = dump(file)
    lock.release()
    open_database(file)

    assert (copied.exit_code, "an older version serves it" in copied.output) == (1, True)
    assert unchanged == before
    assert version(file) == NEXT


def test_concurrent_starts_migrate_once(file, register, monkeypatch):
    applied = []
    apply = migrate.apply
    monkeypatch.setattr(migrate, "apply", lambda *given: (applied.append(1), apply(*given)))
    register(ADD_MOBILE)
    locks = [WriterLock(Path(f"{file}.lock")) for _ in range(4)]
    threads = [threading.Thread(target=migrate.migrate, args=(file, each)) for each in locks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert applied == [1]
    assert version(file) == NEXT
    for each in locks:
        each.close()


SCRIPT = """
import os
import sys
from pathlib import Path
from engine.schema import migrations
from engine.maintenance import migrate
from engine.storage.writer_lock import WriterLock
from tests.support.migrations import ADD_MOBILE

path = Path(sys.argv[1])
migrations.MIGRATIONS += (ADD_MOBILE,)
if "--die" in sys.argv:
    migrate.recreate_schema_objects = lambda connection: os._exit(9)
migrate.migrate(path, WriterLock(Path(f"{path}.lock")))
"""


def migrate_in_process(file: Path, *words: str, **watched: str) -> int:
    """Migrate in another process, and return its exit status."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(file), *words],
        cwd=PROJECT,
        env={**os.environ, **watched},
        check=False,
        capture_output=True,
    )
    return done.returncode


def test_crash_before_the_commit_leaves_the_old_version(file):
    before = dump(file)

    assert migrate_in_process(file, "--die") == 9

    assert dump(file) == before


@pytest.mark.parametrize("cuts", [40, pytest.param(2_000, marks=pytest.mark.long)])
def test_power_cut_leaves_the_old_or_the_new_version(served, cuts):
    cuts = scaled(cuts) if cuts > 40 else cuts
    file = served.directory / shim.DATABASE
    old = dump(file)
    log, dice, at = served.directory.parent / "cut.log", random.Random(SEED), 0
    disk = shim.Disk(served.directory)

    assert migrate_in_process(file, **shim.environment(served.directory, log)) == 0

    new, records, seen = dump(file), shim.records(log), set()
    assert (old["version"], new["version"]) == ([str(CURRENT)], [str(NEXT)])
    for number, moment in enumerate(sorted(dice.choices(range(len(records) + 1), k=cuts))):
        for record in records[at:moment]:
            disk.replay(record)
        at = moment
        left = shim.empty_directory(served.directory.parent / "left")
        disk.cut(random.Random(SEED * 1_000_003 + number), left)
        found = dump(left / shim.DATABASE)
        assert found in (old, new), f"seed {SEED}, cut {number}"
        seen.add(*found["version"])
    assert len(seen) == 2 or cuts < 100
