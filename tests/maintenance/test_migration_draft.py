"""`flask schema --migration` drafts the statements that take a database from the committed schema to the models."""

import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from engine.maintenance import migrations
from engine.maintenance.schema_files import NothingToDraft, write_draft, write_schemas
from engine.schema.draft import BY_HAND, draft_script
from engine.schema.script import COMMITTED, schema_script
from engine.storage.sqlite import driver
from tests.support import databases
from tests.support.applications import open_app
from tests.support.schema_dump import dump_file, dump_server

PROJECT = pathlib.Path(__file__).parents[2]
SERVER_DATABASES = ("draft_old", "draft_new")


class Drafted:
    """A migrated database and a new one of the extended models, and the drafts by engine."""

    def __init__(self, urls: tuple[str, str], folder: pathlib.Path, files: tuple[pathlib.Path, pathlib.Path]) -> None:
        words = [sys.executable, "-m", "tests.support.extended_models", *urls, str(folder)]
        run = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        self.scripts = {path.name.split(".")[1]: path.read_text(encoding="utf-8") for path in folder.glob("*.sql")}
        self.files = files

    def dumps(self) -> list[dict[str, Any]]:
        if databases.SERVER is None:
            return [dump_file(file) for file in self.files]
        return [dump_server(name) for name in SERVER_DATABASES]

    def rows(self, sql: str) -> list[tuple]:
        """Return rows of the migrated database."""
        if databases.SERVER is None:
            with closing(driver.connect(str(self.files[0]))) as connection:
                return connection.execute(sql).fetchall()
        with databases.connect_to(SERVER_DATABASES[0]) as connection:
            return connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def drafted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drafted]:
    folder = tmp_path_factory.mktemp("drafts")
    files = (folder / "old.db", folder / "new.db")
    if databases.SERVER is None:
        yield Drafted((f"sqlite:///{files[0]}", f"sqlite:///{files[1]}"), folder, files)
        return
    for name in SERVER_DATABASES:
        databases.create(name, "template0")
    old, new = (databases.SERVER.format(database=name) for name in SERVER_DATABASES)
    yield Drafted((old, new), folder, files)
    with databases.connect_to("postgres") as connection:
        for name in SERVER_DATABASES:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_migrated_database_equals_a_new_one(drafted: Drafted) -> None:
    migrated, new = drafted.dumps()

    assert {name for name in new if migrated.get(name) != new[name]} == set()
    assert set(migrated) == set(new)


def test_migration_keeps_rows_and_fills_in_the_stored_default(drafted: Drafted) -> None:
    assert drafted.rows("SELECT id, name, heating, storeys FROM buildings") == [(1, "b", None, 1)]
    assert drafted.rows("SELECT id, client_id, rating, reviewer_id FROM inspections") == [(1, 1, None, None)]
    assert drafted.rows("SELECT count(*) FROM keys") == [(0,)]


def test_draft_leaves_nothing_to_do_by_hand(drafted: Drafted) -> None:
    assert set(drafted.scripts) == {"sqlite", "postgresql"}
    assert [engine for engine, script in drafted.scripts.items() if BY_HAND in script] == []


def test_draft_contains_only_the_statements_of_its_engine(drafted: Drafted) -> None:
    """On SQLite, an upgrade recreates indexes and triggers itself."""
    created = {engine: set(re.findall(r"^(?:CREATE|ALTER|DROP) (?:OR REPLACE )?\w+", script, re.MULTILINE))
               for engine, script in drafted.scripts.items()}  # fmt: skip

    assert created == {
        "sqlite": {"CREATE TABLE", "ALTER TABLE"},
        "postgresql": {"CREATE TABLE", "ALTER TABLE", "CREATE INDEX", "DROP INDEX", "CREATE OR REPLACE FUNCTION"},
    }


@pytest.mark.parametrize("engine", COMMITTED)
def test_equal_schemas_have_an_empty_draft(engine: str) -> None:
    assert draft_script(engine, schema_script(engine), schema_script(engine)) == ""


def test_equal_schemas_are_not_drafted(tmp_path: pathlib.Path) -> None:
    with pytest.raises(NothingToDraft):
        write_draft("nothing", tmp_path)

    assert list(tmp_path.iterdir()) == []


CHANGES = [
    pytest.param("city ", "town ", "the column buildings.city is dropped", id="column-dropped"),
    pytest.param("    floors ", "    floors x", "the column buildings.floors changes from", id="column-changed"),
    pytest.param("CREATE TABLE inspectors (", "CREATE TABLE others (", "the table inspectors is dropped", id="table"),
]


@pytest.mark.parametrize("engine", COMMITTED)
@pytest.mark.parametrize(("old", "new", "line"), CHANGES)
def test_changes_that_lose_values_are_left_to_do_by_hand(engine: str, old: str, new: str, line: str) -> None:
    script = schema_script(engine)
    assert old in script

    assert f"{BY_HAND}{line}" in draft_script(engine, script, script.replace(old, new))


def test_changed_check_is_replaced_on_postgresql_only() -> None:
    narrower = {engine: schema_script(engine).replace("BETWEEN -90 AND 90", "BETWEEN 0 AND 90") for engine in COMMITTED}

    assert draft_script("sqlite", schema_script("sqlite"), narrower["sqlite"]).startswith(BY_HAND)
    assert draft_script("postgresql", schema_script("postgresql"), narrower["postgresql"]).splitlines() == [
        "ALTER TABLE buildings DROP CONSTRAINT buildings_latitude_check;",
        "ALTER TABLE buildings ADD CONSTRAINT buildings_latitude_check CHECK (latitude BETWEEN 0 AND 90);",
    ]


def test_dropped_objects_of_postgresql_are_dropped() -> None:
    """An upgrade recreates functions and triggers, and drops none."""
    script = schema_script("postgresql")
    without = script.replace("CREATE INDEX devices_user_id ON devices (user_id);\n", "")
    without = without.replace("CREATE OR REPLACE TRIGGER users_after_insert ", "CREATE OR REPLACE TRIGGER users_back ")

    assert draft_script("postgresql", script, without).splitlines() == [
        "DROP INDEX IF EXISTS devices_user_id;",
        "DROP TRIGGER IF EXISTS users_after_insert ON users;",
    ]


def test_required_column_needs_a_value() -> None:
    old = schema_script("sqlite")
    new = old.replace(
        "    firm               TEXT,\n", "    phone              TEXT NOT NULL,\n    firm               TEXT,\n"
    )

    assert new != old
    assert draft_script("sqlite", old, new) == (
        f"{BY_HAND}inspectors.phone (TEXT NOT NULL) needs a value in existing rows.\n"
    )


def test_released_migrations_have_nothing_left_to_do() -> None:
    unfinished = [each.title for each in migrations.MIGRATIONS if BY_HAND in each.sqlite + each.postgresql]

    assert unfinished == []


def test_migrations_are_read_by_version(tmp_path: pathlib.Path) -> None:
    for version, title in ((11, "later"), (2, "first of all")):
        for engine in ("sqlite", "postgresql"):
            migrations.script_path(version, title, engine, tmp_path).write_text(f"-- {engine} {version}\n")
    (tmp_path / "notes.sql").write_text("-- no migration\n")

    assert migrations.read_migrations(tmp_path) == (
        migrations.Migration(2, "first of all", "-- sqlite 2\n", "-- postgresql 2\n"),
        migrations.Migration(11, "later", "-- sqlite 11\n", "-- postgresql 11\n"),
    )


@pytest.mark.parametrize("engine", COMMITTED)
def test_command_prints_the_schema(tmp_path: pathlib.Path, engine: str) -> None:
    result = open_app(tmp_path / "a.db").test_cli_runner().invoke(args=["schema", "--engine", engine])

    assert (result.exit_code, result.stdout) == (0, schema_script(engine))


def test_command_without_a_difference_drafts_nothing(tmp_path: pathlib.Path) -> None:
    result = open_app(tmp_path / "a.db").test_cli_runner().invoke(args=["schema", "--migration", "nothing"])

    assert (result.exit_code, result.stderr) == (1, "walkthrough: the models equal the committed schemas\n")


def test_schemas_are_written(tmp_path: pathlib.Path) -> None:
    paths = {engine: tmp_path / f"{engine}.sql" for engine in COMMITTED}

    write_schemas(paths)

    assert {engine: path.read_text(encoding="utf-8") for engine, path in paths.items()} == {
        engine: schema_script(engine) for engine in COMMITTED
    }
