"""`flask export FILE`: everybody's rows in one file, which is the owner's alone, and there whole or not at all."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests import databases
from tests.applications import open_app


@pytest.fixture
def app(base_file: Path, tmp_path: Path) -> object:
    file = tmp_path / "walkthrough.db"
    databases.copy(base_file, file)
    return open_app(file)


def export(app: object, file: Path) -> tuple[int, str]:
    done = app.test_cli_runner().invoke(args=["export", str(file)])
    return done.exit_code, done.output


def test_export_can_be_read_by_its_owner_alone(app: object, tmp_path: Path) -> None:
    status, _ = export(app, tmp_path / "all.json")

    assert status == 0
    assert stat.S_IMODE((tmp_path / "all.json").stat().st_mode) == 0o600
    assert json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))["clients"]


def test_export_that_cannot_be_written_is_refused_in_one_line(app: object, tmp_path: Path) -> None:
    status, said = export(app, tmp_path / "nowhere" / "all.json")

    assert status == 1
    assert said.startswith("walkthrough: ")
    assert said.count("\n") == 1


def test_export_that_breaks_off_leaves_what_was_there(
    app: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "all.json"
    file.write_text("the last one")
    monkeypatch.setattr("models.archive.json.dumps", lambda *_, **__: 1 / 0)

    status, _ = export(app, file)

    assert status != 0
    assert file.read_text() == "the last one"
    assert [path.name for path in tmp_path.iterdir() if "all.json" in path.name] == ["all.json"]


def test_import_of_what_is_nested_too_deep_is_refused_in_one_line(
    app: object, tmp_path: Path
) -> None:
    file = tmp_path / "deep.json"
    file.write_text("[" * 200_000)

    refused = app.test_cli_runner().invoke(args=["import", str(file)])

    assert refused.exit_code == 1
    assert str(refused.exception) == "1"
    assert str(file) in refused.output
    assert refused.output.count("\n") == 1
