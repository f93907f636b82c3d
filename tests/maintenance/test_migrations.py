"""A migration leads to the same schema as the models. The scripts of `tests/data/migration` extend today's tables."""

import pathlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from engine.maintenance import migrate
from engine.schema import migrations
from engine.schema.script import COMMITTED, schema_script, write_schemas
from engine.storage.sqlite import driver
from tests.support import databases
from tests.support.applications import open_app
from tests.support.schema_dump import dump_file, dump_server

PROJECT = pathlib.Path(__file__).parents[2]
SERVER_DATABASES = ("migrated_old", "migrated_new")


class MigratedDatabase:
    """A migrated database and a new one of the extended models."""

    def __init__(self, urls: tuple[str, str], files: tuple[pathlib.Path, pathlib.Path]) -> None:
        words = [sys.executable, "-m", "tests.support.extended_models", *urls]
        run = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
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
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MigratedDatabase]:
    folder = tmp_path_factory.mktemp("migrated")
    files = (folder / "old.db", folder / "new.db")
    if databases.SERVER is None:
        yield MigratedDatabase((f"sqlite:///{files[0]}", f"sqlite:///{files[1]}"), files)
        return
    for name in SERVER_DATABASES:
        databases.create(name, "template0")
    old, new = (databases.SERVER.format(database=name) for name in SERVER_DATABASES)
    yield MigratedDatabase((old, new), files)
    with databases.connect_to("postgres") as connection:
        for name in SERVER_DATABASES:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_migrated_database_equals_a_new_one(migrated: MigratedDatabase) -> None:
    old, new = migrated.dumps()

    assert {name for name in new if old.get(name) != new[name]} == set()
    assert set(old) == set(new)


def test_migration_keeps_rows_and_fills_in_the_stored_default(migrated: MigratedDatabase) -> None:
    assert migrated.rows("SELECT id, name, heating, storeys FROM buildings") == [(1, "b", None, 1)]
    assert migrated.rows("SELECT id, client_id, rating, reviewer_id FROM inspections") == [(1, 1, None, None)]
    assert migrated.rows("SELECT count(*) FROM keys") == [(0,)]


@pytest.mark.sqlite("the shape of a file")
def test_shape_of_a_file_is_compared_with_the_version(migrated: MigratedDatabase) -> None:
    """The file has the extended tables, which this process's models lack."""
    with closing(driver.connect(str(migrated.files[0]))) as connection:
        lines = migrate.schema_differences(lambda sql: connection.execute(sql).fetchall())

    assert "the table keys differs from the schema of this version" in lines
    assert "the table buildings differs from the schema of this version" in lines
    assert "the table clients differs from the schema of this version" not in lines


def test_migrations_are_read_by_version(tmp_path: pathlib.Path) -> None:
    for version, title in ((11, "later"), (2, "first_of_all")):
        for engine in ("sqlite", "postgresql"):
            (tmp_path / f"{version:04}_{title}.{engine}.sql").write_text(f"-- {engine} {version}\n")
    (tmp_path / "notes.sql").write_text("-- no migration\n")

    assert migrations.read_migrations(tmp_path) == (
        migrations.Migration(2, "first of all", "-- sqlite 2\n", "-- postgresql 2\n"),
        migrations.Migration(11, "later", "-- sqlite 11\n", "-- postgresql 11\n"),
    )


@pytest.mark.parametrize("engine", COMMITTED)
def test_command_prints_the_schema(tmp_path: pathlib.Path, engine: str) -> None:
    result = open_app(tmp_path / "a.db").test_cli_runner().invoke(args=["schema", "--engine", engine])

    assert (result.exit_code, result.stdout) == (0, schema_script(engine))


def test_schemas_are_written(tmp_path: pathlib.Path) -> None:
    paths = {engine: tmp_path / f"{engine}.sql" for engine in COMMITTED}

    write_schemas(paths)

    assert {engine: path.read_text(encoding="utf-8") for engine, path in paths.items()} == {
        engine: schema_script(engine) for engine in COMMITTED
    }
