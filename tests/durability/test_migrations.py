"""Migrations: every file that was ever released becomes one of today, once, whole, or stays what it was (figure 12).

One version more, of the tests, proves the machinery.
"""

import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from app import NotStarted
from models import migrations
from models import upkeep
from models.db import Database
from models.migrations import migrate
from models.migrations.step import Run
from models.migrations.step import Step
from models.sql import copies
from models.sql.sqlite import driver
from models.sql.writer_lock import WriterLock
from serving.lock import ServingLock
from tests.applications import open_app
from tests.durability import shim
from tests.durability.conftest import scaled
from tests.durability.load import integrity
from tests.durability.served import PROJECT
from tests.durability.test_power_cuts import SEED

RELEASED = sorted(
    (PROJECT / "tests" / "data" / "released").glob("schema-*.sqlite"),
    key=lambda path: int(path.stem.removeprefix("schema-")),
)
TODAY = migrations.schema_version()


def add_phone(run: Run) -> None:
    """A column, and a table made anew: the two kinds of change there are."""
    run("ALTER TABLE inspectors ADD COLUMN phone TEXT")
    run("UPDATE inspectors SET phone = 'none'")
    run("CREATE TABLE clients_anew (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,"
        " created_at TEXT NOT NULL, updated_at TEXT NOT NULL, phone TEXT) STRICT")  # fmt: skip
    run("INSERT INTO clients_anew SELECT *, NULL FROM clients")
    run("DROP TABLE clients")
    run("ALTER TABLE clients_anew RENAME TO clients")


def fail_half_way(run: Run) -> None:
    add_phone(run)
    run("UPDATE nowhere SET name = 1")


def lose_clients(run: Run) -> None:
    run("DELETE FROM clients")


def die_half_way(run: Run) -> None:
    add_phone(run)
    os._exit(9)


@pytest.fixture
def second(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Run], None]], None]:
    """`second(change)` gives the house one version more for the length of a test."""

    def plant(change: Callable[[Run], None]) -> None:
        steps = (*migrations.STEPS, Step(TODAY + 1, "of the tests", change))
        monkeypatch.setattr(migrations, "STEPS", steps)

    return plant


@pytest.fixture(params=RELEASED, ids=lambda path: path.stem)
def released(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    file = tmp_path / "walkthrough.db"
    shutil.copy(request.param, file)
    file.chmod(0o600)
    return file


def dump(file: Path) -> list[str]:
    with closing(driver.connect(str(file), isolation_level=None)) as connection:
        assert integrity(connection) == []
        run = connection.execute
        tables = run(
            "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%' ORDER BY 1, 2"
        ).fetchall()
        found = [f"version {run('PRAGMA user_version').fetchone()[0]}", *map(repr, tables)]
        for kind, name, _ in tables:
            if kind == "table":
                found += sorted(f"{name}: {row}" for row in run(f"SELECT * FROM {name}"))
        return found


def version(file: Path) -> int:
    with closing(driver.connect(str(file), isolation_level=None)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def rows(file: Path, sql: str) -> list[tuple]:
    with closing(driver.connect(str(file), isolation_level=None)) as connection:
        return connection.execute(sql).fetchall()


def opened(file: Path) -> Database:
    found: Database = open_app(file).extensions["walkthrough"]
    return found


def test_there_is_a_file_of_every_version():
    versions = {int(path.stem.removeprefix("schema-")) for path in RELEASED}
    assert versions == {*range(1, TODAY + 1)}


def test_steps_are_numbered_without_gaps():
    assert [step.version for step in migrations.STEPS] == [*range(2, TODAY + 1)]


def test_a_released_file_becomes_one_of_today_and_stays_it(released, tmp_path):
    with_it = upkeep.check
    database = opened(released)
    assert with_it(database) == []
    database.close()
    once = dump(released)

    database = opened(released)
    database.close()

    assert dump(released) == once
    assert version(released) == TODAY
    assert [row[0] for row in rows(released, "SELECT count(*) FROM inspections")] == [9]


def test_a_file_of_the_last_version_equals_a_new_one_but_for_its_rows(tmp_path):
    """A change of schema.sql that no step follows would part old files from new ones."""
    new = tmp_path / "new.db"
    opened(new).close()
    schema = (
        "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%' ORDER BY 1, 2"
    )

    assert rows(RELEASED[-1], schema) == rows(new, schema), (
        "schema.sql has changed: write a step (models/migrations), or, while this version is not"
        " released, make its file again (python -m tests.durability.release)"
    )


def parts(statement: str) -> list[str]:
    """What a table's statement says, in any order: a column that was added stands behind the constraints."""
    head, _, rest = " ".join(statement.replace('"', "").split()).partition(" (")
    said, _, how = rest.rpartition(")")
    found, depth = [""], 0
    for letter in said:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [head, how, *sorted(map(str.strip, found))]


def test_a_released_files_tables_become_those_of_a_new_one(released, tmp_path):
    """By its steps: one that adds a column and forgets its check would leave old files without it."""
    new = tmp_path / "new.db"
    opened(new).close()
    tables = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_stat%' ORDER BY 1"
    wanted = {name: parts(sql) for name, sql in rows(new, tables)}

    opened(released).close()

    assert {name: parts(sql) for name, sql in rows(released, tables)} == wanted


def test_a_second_version_is_taken_once_and_the_first_is_kept(released, second):
    before = rows(released, "SELECT id, name FROM clients ORDER BY id")
    users = rows(released, "SELECT count(*) FROM users")
    old, made = dump(released), version(released)
    second(add_phone)

    opened(released).close()
    once = dump(released)
    opened(released).close()

    assert version(released) == TODAY + 1
    assert dump(released) == once
    assert rows(released, "SELECT DISTINCT phone FROM inspectors") == [("none",)]
    assert rows(released, "SELECT id, name FROM clients ORDER BY id") == before
    assert rows(released, "SELECT count(*) FROM users") == users, "no cascade ran"
    kept = migrate.backup_path(released, made)
    assert dump(kept) == old
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_file_that_was_kept_is_never_written_over(released, second):
    """An old backup may come back, and be brought up to date again: each of the two is kept, and once."""
    made = version(released)
    first = migrate.backup_path(released, made)
    first.write_bytes(b"kept before")
    second(fail_half_way)

    for _ in range(2):
        with pytest.raises(NotStarted):
            opened(released)

    assert first.read_bytes() == b"kept before"
    assert dump(migrate.backup_path(released, made, 2)) == dump(released)
    assert not migrate.backup_path(released, made, 3).exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (fail_half_way, "no such table"),
        (lose_clients, r"afterwards \w+ row \d+ points at nothing in clients"),
    ],
)
def test_a_step_that_fails_changes_nothing(released, second, change, words):
    before, made = dump(released), version(released)
    second(change)

    with pytest.raises(NotStarted, match=f"stays at schema {made}.*{words}"):
        opened(released)

    assert dump(released) == before


def test_a_file_of_a_later_version_is_refused_and_left_alone(released, monkeypatch):
    with closing(driver.connect(str(released))) as connection:
        connection.execute(f"PRAGMA user_version = {TODAY + 1}")
    before = released.read_bytes()

    with pytest.raises(NotStarted, match="was made by a later version") as refusal:
        opened(released)

    assert "\n" not in refusal.value.message
    assert dump(released)[0] == f"version {TODAY + 1}"
    assert len(released.read_bytes()) == len(before)


def test_a_file_that_an_older_version_serves_is_left_to_it(released, second, tmp_path):
    """Its statements are of the tables that it knows."""
    second(add_phone)
    before = dump(released)
    lock = ServingLock.take(released)

    with pytest.raises(NotStarted, match="is served by it: stop that first"):
        opened(released)
    source = open_app(tmp_path / "source.db").test_cli_runner()
    copied = source.invoke(args=["copy", "--to", f"sqlite:///{released}"])
    unchanged = dump(released)
    lock.release()
    opened(released)

    assert (copied.exit_code, "is served by it" in copied.output) == (1, True)
    assert unchanged == before
    assert dump(released)[0] == f"version {TODAY + 1}"


def test_of_several_that_start_at_once_one_migrates(released, second):
    taken = []

    def change(run: Run) -> None:
        taken.append(1)
        add_phone(run)

    second(change)
    turns = [WriterLock(Path(f"{released}.lock")) for _ in range(4)]
    threads = [threading.Thread(target=migrate.migrate, args=(released, each)) for each in turns]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert taken == [1]
    assert version(released) == TODAY + 1
    for each in turns:
        each.close()


SCRIPT = """
import sys
from pathlib import Path
from models import migrations
from models.migrations import migrate
from models.migrations.step import Step
from models.sql.writer_lock import WriterLock
from tests.durability import test_migrations

path = Path(sys.argv[1])
change = getattr(test_migrations, sys.argv[2])
migrations.STEPS += (Step(migrations.schema_version() + 1, "of the tests", change),)
migrate.migrate(path, WriterLock(Path(f"{path}.lock")))
"""


def migrate_apart(file: Path, change: str, **watched: str) -> int:
    """Migrate in a process of its own, which may die of it."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(file), change],
        cwd=PROJECT,
        env={**os.environ, **watched},
        check=False,
        capture_output=True,
    )
    return done.returncode


def test_a_process_that_dies_half_way_leaves_the_old_version(released):
    before = dump(released)

    assert migrate_apart(released, "die_half_way") == 9

    assert dump(released) == before


@pytest.mark.parametrize("cuts", [40, pytest.param(2_000, marks=pytest.mark.long)])
def test_a_power_cut_leaves_the_old_version_or_the_new(served, cuts):
    cuts = scaled(cuts) if cuts > 40 else cuts
    file = served.directory / shim.DATABASE
    shutil.copy(RELEASED[-1], file)
    old = dump(file)
    log, dice, at = served.directory.parent / "cut.log", random.Random(SEED), 0
    disk = shim.Disk(served.directory)

    assert migrate_apart(file, "add_phone", **shim.environment(served.directory, log)) == 0

    new, told, seen = dump(file), shim.records(log), set()
    assert new != old
    for number, moment in enumerate(sorted(dice.choices(range(len(told) + 1), k=cuts))):
        for record in told[at:moment]:
            disk.take(record)
        at = moment
        left = shim.emptied(served.directory.parent / "left")
        disk.cut(random.Random(SEED * 1_000_003 + number), left)
        found = dump(left / shim.DATABASE)
        assert found in (old, new), f"seed {SEED}, cut {number}"
        seen.add(found[0])
    assert len(seen) == 2 or cuts < 100


def test_the_copy_of_before_is_made_before_anything_is_changed(released, second, monkeypatch):
    def no_room(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    before = dump(released)
    second(add_phone)
    monkeypatch.setattr(copies, "copy", no_room)

    with pytest.raises(NotStarted, match="No space left"):
        opened(released)

    assert dump(released) == before


def test_what_is_beside_the_tables_is_made_as_a_new_file_has_it(tmp_path):
    """Indexes, views and triggers that went astray within a version, or are of another: whatever an old file has."""
    old, new = tmp_path / "walkthrough.db", tmp_path / "new.db"
    shutil.copy(RELEASED[0], old)
    old.chmod(0o600)
    with closing(driver.connect(str(old), isolation_level=None)) as connection:
        connection.execute("DROP INDEX inspections_client_status")
        connection.execute("CREATE INDEX stray ON buildings (zip)")
        connection.execute("DROP TRIGGER users_moved")
        connection.execute("CREATE TRIGGER users_moved AFTER UPDATE ON users BEGIN SELECT 1; END")
    opened(new).close()
    beside = "SELECT type, name, sql FROM sqlite_schema WHERE type <> 'table' ORDER BY 1, 2"

    opened(old).close()

    assert rows(old, beside) == rows(new, beside)
