"""Restore: accepts sound backups only, refuses a served database, and ends all sessions (figure 11)."""

import random
import shutil
import stat
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from app import NotStarted
from engine.storage.database import ServingLock
from engine.storage.sqlite import driver
from tests.conftest import CAST
from tests.durability.test_power_cuts import SEED
from tests.support import tokens
from tests.support.applications import open_app


@pytest.fixture
def database_file(base_file: Path, tmp_path: Path) -> Path:
    """A database, and beside it a backup that the command made."""
    database = tmp_path / "walkthrough.db"
    shutil.copy(base_file, database)
    database.chmod(0o600)
    assert run(database, "backup", str(tmp_path / "kept.backup"))[0] == 0
    return database


def run(database: Path, *words: str) -> tuple[int, str]:
    app = open_app(database)
    done = app.test_cli_runner().invoke(args=list(words))
    app.extensions["walkthrough"].close()
    return done.exit_code, done.output.strip()


def statement(file: Path, sql: str) -> list[tuple]:
    with closing(driver.connect(str(file), isolation_level=None)) as connection:
        return connection.execute(sql).fetchall()


def inspector_names(database: Path) -> list[str]:
    return [row[0] for row in statement(database, "SELECT name FROM inspectors ORDER BY id")]


def test_restore_replaces_the_database(database_file, tmp_path):
    before = inspector_names(database_file)
    statement(database_file, "DELETE FROM inspectors")

    assert run(database_file, "restore", str(tmp_path / "kept.backup")) == (0, "restored; all users must sign in again")

    assert inspector_names(database_file) == before
    assert stat.S_IMODE(database_file.stat().st_mode) == 0o600
    assert (tmp_path / "kept.backup").exists()
    assert not list(tmp_path.glob(".walkthrough*"))
    assert not (tmp_path / "walkthrough.db.serving").exists()
    assert run(database_file, "check", "--scan", "full")[0] == 0


def test_stale_wal_is_not_replayed_into_the_restored_file(database_file, tmp_path):
    """A killed process left the WAL of the old file."""
    log = tmp_path / "walkthrough.db-wal"
    with closing(driver.connect(str(database_file), isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE inspectors SET name = 'stale'")
        stale = log.read_bytes()
    log.write_bytes(stale)
    assert inspector_names(database_file)[0] == "stale"
    log.write_bytes(stale)

    assert run(database_file, "restore", str(tmp_path / "kept.backup"))[0] == 0

    assert "stale" not in inspector_names(database_file)
    assert not log.exists()
    assert run(database_file, "check")[0] == 0


def foreign(file: Path) -> None:
    file.unlink()
    statement(file, "CREATE TABLE theirs (id INTEGER)")


def newer(file: Path) -> None:
    statement(file, "PRAGMA user_version = 999")


def truncated(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def garbage(file: Path) -> None:
    file.write_bytes(random.Random(SEED).randbytes(50_000))


def empty(file: Path) -> None:
    file.write_bytes(b"")


@pytest.mark.parametrize("damage", [foreign, newer, truncated, garbage, empty, Path.unlink])
def test_restore_of_an_invalid_backup_changes_nothing(database_file, tmp_path, damage):
    kept = tmp_path / "kept.backup"
    damage(kept)
    before = inspector_names(database_file)

    status, output = run(database_file, "restore", str(kept))

    assert status == 1
    assert output.startswith("walkthrough: ")
    assert "\n" not in output
    assert inspector_names(database_file) == before
    assert not (tmp_path / "walkthrough.db.serving").exists()


def test_restore_of_a_served_database_is_refused(database_file, tmp_path):
    lock = ServingLock.take(database_file)

    status, output = run(database_file, "restore", str(tmp_path / "kept.backup"))

    lock.release()
    assert (status, output) == (1, f"walkthrough: {database_file} is being served by another process")


def test_restore_of_a_database_open_elsewhere_is_refused(database_file, tmp_path, monkeypatch):
    monkeypatch.setattr("engine.storage.sqlite.BUSY_MILLISECONDS", 100)
    with closing(driver.connect(str(database_file))) as connection:
        connection.execute("SELECT count(*) FROM users").fetchall()

        status, output = run(database_file, "restore", str(tmp_path / "kept.backup"))

    assert (status, output) == (1, f"walkthrough: {database_file} is in use by another program")


def test_damaged_database_is_restored(database_file, tmp_path):
    before = inspector_names(database_file)
    size = database_file.stat().st_size
    with database_file.open("r+b") as file:
        file.seek(4096)
        file.write(random.Random(SEED).randbytes(size - 4096))

    assert run(database_file, "check")[0] == 1
    assert run(database_file, "restore", str(tmp_path / "kept.backup"))[0] == 0

    assert inspector_names(database_file) == before
    assert run(database_file, "check")[0] == 0


def test_unrecognised_file_is_not_overwritten_by_a_restore(database_file, tmp_path):
    """The file could be another program's, so it is not overwritten."""
    before = inspector_names(database_file)
    garbage(database_file)

    with pytest.raises(NotStarted, match="to restore a backup, move it and its -wal away first"):
        open_app(database_file)
    database_file.rename(tmp_path / "lost")

    assert run(database_file, "restore", str(tmp_path / "kept.backup"))[0] == 0
    assert inspector_names(database_file) == before


def read_with(database: Path, token: str) -> Callable[[], int]:
    headers = {"apikey": tokens.ANON_KEY, "Authorization": f"Bearer {token}"}

    def read_status() -> int:
        app = open_app(database)
        answer = app.test_client().get("/buildings?limit=1", headers=headers)
        app.extensions["walkthrough"].close()
        return answer.status_code

    return read_status


def test_restore_ends_all_sessions(database_file, tmp_path):
    """This includes sessions in the backup, and tokens without a session."""
    root, kept = CAST["root"], tmp_path / "kept.backup"
    statement(
        kept,
        "INSERT INTO sessions (id, user_id, salt, created_at, last_used_at)"
        f" VALUES ('00000000-0000-4000-8000-00000000aaaa', '{root.id}', 's', {int(time.time())}, {int(time.time())})",
    )
    shutil.copy(kept, database_file)
    in_session = tokens.token_for(root.id, root.role, None, session_id="00000000-0000-4000-8000-00000000aaaa")
    reads = [read_with(database_file, in_session), read_with(database_file, tokens.token_for(root.id, root.role, None))]
    assert [read_status() for read_status in reads] == [200, 200]

    assert run(database_file, "restore", str(kept))[0] == 0

    assert [read_status() for read_status in reads] == [401, 401]
    assert read_with(database_file, tokens.token_after_change(root.id, root.role, None))() == 200


def test_restore_with_a_clock_set_back_ends_all_tokens(database_file, tmp_path, monkeypatch):
    """The restored database continues from the time of the replaced database."""
    root, now = CAST["root"], time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
    read_status = read_with(database_file, tokens.token_for(root.id, root.role, None))
    statement(database_file, f"UPDATE audit_context SET at = '{now}'")
    statement(tmp_path / "kept.backup", "UPDATE audit_context SET at = '2020-01-01T00:00:00+00:00'")
    present = time.time
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: present() - 365 * 86_400)
        assert run(database_file, "restore", str(tmp_path / "kept.backup"))[0] == 0

    assert statement(database_file, "SELECT at FROM audit_context") >= [(now,)]
    assert read_status() == 401
