"""The way back: only a sound file of ours, never under a running server, and nobody stays signed in (figure 11)."""

import random
import shutil
import stat
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from app import NotStarted
from engine.storage.server_lock import ServingLock
from engine.storage.sqlite import driver
from tests.conftest import CAST
from tests.durability.test_power_cuts import SEED
from tests.support import tokens
from tests.support.applications import open_app


@pytest.fixture
def place(base_file: Path, tmp_path: Path) -> Path:
    """A database at its place, and beside it a backup of it, made by the command."""
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


def inspectors(database: Path) -> list[str]:
    return [row[0] for row in statement(database, "SELECT name FROM inspectors ORDER BY id")]


def test_a_backup_comes_back(place, tmp_path):
    before = inspectors(place)
    statement(place, "DELETE FROM inspectors")

    assert run(place, "restore", str(tmp_path / "kept.backup")) == (0, "restored; all users must sign in again")

    assert inspectors(place) == before
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert (tmp_path / "kept.backup").exists()
    assert not list(tmp_path.glob(".walkthrough*"))
    assert not (tmp_path / "walkthrough.db.serving").exists()
    assert run(place, "check", "--scan", "full")[0] == 0


def test_a_stale_log_is_not_replayed_onto_the_restored_file(place, tmp_path):
    """What a killed process left: a log that belongs to the old file."""
    log = tmp_path / "walkthrough.db-wal"
    with closing(driver.connect(str(place), isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE inspectors SET name = 'stale'")
        stale = log.read_bytes()
    log.write_bytes(stale)
    assert inspectors(place)[0] == "stale"
    log.write_bytes(stale)

    assert run(place, "restore", str(tmp_path / "kept.backup"))[0] == 0

    assert "stale" not in inspectors(place)
    assert not log.exists()
    assert run(place, "check")[0] == 0


def foreign(file: Path) -> None:
    file.unlink()
    statement(file, "CREATE TABLE theirs (id INTEGER)")


def newer(file: Path) -> None:
    statement(file, "PRAGMA user_version = 999")


def cut_off(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def garbage(file: Path) -> None:
    file.write_bytes(random.Random(SEED).randbytes(50_000))


def empty(file: Path) -> None:
    file.write_bytes(b"")


@pytest.mark.parametrize("spoil", [foreign, newer, cut_off, garbage, empty, Path.unlink])
def test_what_is_no_backup_of_ours_is_refused_and_changes_nothing(place, tmp_path, spoil):
    kept = tmp_path / "kept.backup"
    spoil(kept)
    before = inspectors(place)

    status, said = run(place, "restore", str(kept))

    assert status == 1
    assert said.startswith("walkthrough: ")
    assert "\n" not in said
    assert inspectors(place) == before
    assert not (tmp_path / "walkthrough.db.serving").exists()


def test_a_restore_under_a_running_server_is_refused(place, tmp_path):
    lock = ServingLock.take(place)

    status, said = run(place, "restore", str(tmp_path / "kept.backup"))

    lock.release()
    assert (status, said) == (1, f"walkthrough: {place} is being served by another process")


def test_a_restore_under_another_program_is_refused(place, tmp_path, monkeypatch):
    monkeypatch.setattr("engine.storage.sqlite.BUSY_MILLISECONDS", 100)
    with closing(driver.connect(str(place))) as connection:
        connection.execute("SELECT count(*) FROM users").fetchall()

        status, said = run(place, "restore", str(tmp_path / "kept.backup"))

    assert (status, said) == (1, f"walkthrough: {place} is in use by another program")


def test_a_damaged_database_can_be_restored(place, tmp_path):
    before = inspectors(place)
    size = place.stat().st_size
    with place.open("r+b") as file:
        file.seek(4096)
        file.write(random.Random(SEED).randbytes(size - 4096))

    assert run(place, "check")[0] == 1
    assert run(place, "restore", str(tmp_path / "kept.backup"))[0] == 0

    assert inspectors(place) == before
    assert run(place, "check")[0] == 0


def test_a_file_that_cannot_even_be_recognised_is_moved_away_for_a_restore(place, tmp_path):
    """It could be anybody's: it is not written over."""
    before = inspectors(place)
    garbage(place)

    with pytest.raises(NotStarted, match="to restore a backup, move it and its -wal away first"):
        open_app(place)
    place.rename(tmp_path / "lost")

    assert run(place, "restore", str(tmp_path / "kept.backup"))[0] == 0
    assert inspectors(place) == before


def asking(database: Path, token: str) -> Callable[[], int]:
    headers = {"apikey": tokens.ANON_KEY, "Authorization": f"Bearer {token}"}

    def ask() -> int:
        app = open_app(database)
        answer = app.test_client().get("/buildings?limit=1", headers=headers)
        app.extensions["walkthrough"].close()
        return answer.status_code

    return ask


def test_nobody_stays_signed_in_over_a_restore(place, tmp_path):
    """Neither by a session that the backup remembers, nor by a token without one."""
    root, kept = CAST["root"], tmp_path / "kept.backup"
    statement(
        kept,
        "INSERT INTO sessions (id, user_id, salt, created_at, last_used_at)"
        f" VALUES ('00000000-0000-4000-8000-00000000aaaa', '{root.id}', 's', {int(time.time())}, {int(time.time())})",
    )
    shutil.copy(kept, place)
    in_session = tokens.token_for(root.id, root.role, None, session_id="00000000-0000-4000-8000-00000000aaaa")
    askers = [asking(place, in_session), asking(place, tokens.token_for(root.id, root.role, None))]
    assert [ask() for ask in askers] == [200, 200]

    assert run(place, "restore", str(kept))[0] == 0

    assert [ask() for ask in askers] == [401, 401]
    assert asking(place, tokens.token_after_change(root.id, root.role, None))() == 200


def test_a_restore_by_a_clock_that_was_set_back_ends_every_token_all_the_same(place, tmp_path, monkeypatch):
    """The file that is replaced knows better how late it is; so does the one that takes its place, from then on."""
    root, now = CAST["root"], time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
    ask = asking(place, tokens.token_for(root.id, root.role, None))
    statement(place, f"UPDATE audit_context SET at = '{now}'")
    statement(tmp_path / "kept.backup", "UPDATE audit_context SET at = '2020-01-01T00:00:00+00:00'")
    present = time.time
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: present() - 365 * 86_400)
        assert run(place, "restore", str(tmp_path / "kept.backup"))[0] == 0

    assert statement(place, "SELECT at FROM audit_context") >= [(now,)]
    assert ask() == 401
