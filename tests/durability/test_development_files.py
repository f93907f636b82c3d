"""Files of development versions that claim the schema of this version: refused if a table or a column is absent."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from app import NotStarted, create_app
from engine.maintenance import migrate
from engine.schema.migrations import Migration, schema_version
from engine.storage.sqlite import driver
from tests.support.applications import open_app

WAY_OUT = "development version from before 0.1.0: run `flask --app app export FILE` with that version"


@pytest.fixture
def file(base_file: Path, tmp_path: Path) -> Path:
    copied = tmp_path / "walkthrough.db"
    shutil.copy(base_file, copied)
    copied.chmod(0o600)
    return copied


def execute(file: Path, *statements: str) -> None:
    with closing(driver.connect(str(file), isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    ("statements", "lacking"),
    [
        (["DROP TABLE tokens"], "lacks the table tokens: "),
        (["DROP TABLE finding_events", "DROP TABLE findings"], "lacks the tables finding_events and findings: "),
        (["ALTER TABLE inspectors RENAME COLUMN firm_phone TO telephone"], "lacks the column inspectors.firm_phone: "),
    ],
)
def test_incomplete_file_is_refused_with_the_way_out(file: Path, statements: list[str], lacking: str) -> None:
    execute(file, *(f"DROP TRIGGER {name}" for name in triggers(file)), *statements)

    with pytest.raises(NotStarted) as refusal:
        open_app(file)

    assert lacking in str(refusal.value)
    assert WAY_OUT in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_incomplete_file_of_an_earlier_version_is_refused_unchanged(file: Path, register: Callable) -> None:
    execute(file, *(f"DROP TRIGGER {name}" for name in triggers(file)), "DROP TABLE tokens")
    register(Migration(schema_version() + 1, "changes no table"))
    before = file.read_bytes()

    with pytest.raises(NotStarted, match=r"lacks the table tokens: .* leaves out passwords, API keys"):
        open_app(file)

    assert file.read_bytes() == before


def triggers(file: Path) -> list[str]:
    with closing(driver.connect(str(file))) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")]


def test_start_of_the_service_recreates_other_objects(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    execute(file, "DROP TRIGGER users_moved", "DROP INDEX findings_status", "CREATE INDEX own ON inspectors (firm)")

    monkeypatch.setattr("app.create_app", partial(create_app, has_right_to_serve=True))
    app = open_app(file)

    with app.extensions["walkthrough"].reading() as transaction:
        assert migrate.schema_differences(transaction.all) == []
    app.extensions["walkthrough"].close()
