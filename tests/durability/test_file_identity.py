"""After the database file is removed or replaced, a running server acknowledges no write."""

import os
import shutil
import signal
from contextlib import closing
from pathlib import Path

import pytest

from engine.storage import sqlite
from engine.storage.database import SqliteDatabase
from engine.storage.file_copies import DatabaseFileReplaced, FileIdentity, identity
from engine.storage.sqlite import driver
from tests.durability.facts import names, put
from tests.durability.load import integrity_problems
from tests.durability.served import Answer, Served, serving
from tests.support.applications import open_app
from tests.support.waiting import until

REASON = "removed or replaced"


def post(served: Served, name: str) -> Answer:
    with closing(served.consumer()) as consumer:
        return consumer.send("POST", "/inspectors", {"name": name})


def ready(served: Served) -> Answer:
    with closing(served.consumer()) as consumer:
        return consumer.send("GET", "/ready")


def require_refused(served: Served) -> None:
    for _ in range(20):  # so that both workers answer
        answer = post(served, "lost")
        assert (answer.status, answer.code) == (503, "58P01")
        assert answer.headers["Retry-After"] == "1"
        assert answer.json["message"] == f"the database file was {REASON}"
        assert (ready(served).status, REASON in ready(served).json["status"]) == (503, True)


def count_log_entries(served: Served) -> int:
    return served.log.read_text().count(REASON)


def count_inspectors(file: Path, name: str) -> int:
    with closing(driver.connect(str(file))) as connection:
        assert integrity_problems(connection) == []
        question = "SELECT count(*) FROM inspectors WHERE name = ?"
        return int(connection.execute(question, (name,)).fetchone()[0])


def test_writes_to_a_removed_file_are_refused(served: Served):
    with serving(served):
        assert [post(served, "kept").status for _ in range(5)] == [201] * 5
        log = served.directory / f"{served.database.name}-wal"
        content = log.read_bytes()

        served.database.unlink()

        require_refused(served)
        assert 1 <= count_log_entries(served) <= 2, "once for each worker"
    assert log.read_bytes()[: len(content)] == content, "the WAL alone has the acknowledged writes"
    assert not served.database.exists()

    again = served.gunicorn()

    assert again.returncode == 1
    assert f"its log {log} does" in again.stderr
    assert not served.database.exists()


def test_writes_resume_when_the_file_is_renamed_back(served: Served):
    with serving(served):
        assert post(served, "kept").status == 201
        served.database.rename(served.directory / "elsewhere")
        require_refused(served)

        (served.directory / "elsewhere").rename(served.database)

        assert ready(served).status == 200
        assert [post(served, "kept").status for _ in range(5)] == [201] * 5
    assert count_inspectors(served.database, "kept") == 6


def test_writes_to_a_replaced_file_are_refused(served: Served, base_file: Path):
    with serving(served):
        assert post(served, "of the old one").status == 201
        other = served.directory / "other.db"
        shutil.copy(base_file, other)
        other.chmod(0o600)

        other.replace(served.database)

        require_refused(served)
    assert count_inspectors(served.database, "of the old one") == 0

    with serving(served):
        assert post(served, "of the new one").status == 201
    assert count_inspectors(served.database, "of the new one") == 1
    assert count_inspectors(served.database, "of the old one") == 0


def test_kill_leaves_no_wal_of_a_replaced_file(served: Served, base_file: Path):
    """The next program that opens the other file would replay the WAL into it."""
    with serving(served):
        assert [post(served, "of the old one").status for _ in range(5)] == [201] * 5
        other = served.directory / "other.db"
        shutil.copy(base_file, other)
        other.chmod(0o600)
        with closing(driver.connect(str(other), isolation_level=None)) as connection:
            connection.execute("UPDATE clients SET name = 'of the new one'")
        other.replace(served.database)
        require_refused(served)

        served.kill()

        assert count_inspectors(served.database, "of the old one") == 0


def test_new_worker_does_not_create_a_removed_file(served: Served):
    """It does not serve another file than the other workers do."""
    with serving(served):
        for file in served.directory.glob(f"{served.database.name}*"):
            if file.is_file() and not file.name.endswith((".serving", ".lock")):
                file.unlink()

        first = served.workers()[0]
        os.kill(first, signal.SIGKILL)

        until(lambda: first not in served.workers() and len(served.workers()) == 2)
        for _ in range(4):
            require_refused(served)
        assert not served.database.exists()


@pytest.mark.parametrize("at", ["opening", "opened"])
def test_worker_does_not_serve_a_file_replaced_during_its_start(base_file, tmp_path, monkeypatch, at):
    file, other = tmp_path / "a.db", tmp_path / "b.db"
    for each in (file, other):
        shutil.copy(base_file, each)
        each.chmod(0o600)
    monkeypatch.setattr(FileIdentity, "expected", {str(file): identity(str(file))})
    connect = sqlite.connect

    def replace(path: Path, *, writable: bool) -> sqlite.Connection:
        if at == "opened":
            taken = connect(path, writable=writable)
        if other.exists():
            other.replace(file)
        return connect(path, writable=writable) if at == "opening" else taken

    monkeypatch.setattr("engine.storage.sqlite.connect", replace)

    app = open_app(file)

    assert app.test_client().get("/ready").json["status"] == f"the database file was {REASON}"
    app.extensions["walkthrough"].close()


def test_worker_started_without_its_file_creates_none(base_file, tmp_path, monkeypatch):
    file = tmp_path / "a.db"
    shutil.copy(base_file, file)
    monkeypatch.setattr(FileIdentity, "expected", {str(file): identity(str(file))})
    file.unlink()

    app = open_app(file)

    assert app.test_client().get("/ready").json["status"] == f"the database file was {REASON}"
    assert not file.exists()


def test_connection_to_a_replaced_file_is_refused(database: SqliteDatabase):
    """The connection would use the WAL of the first file."""
    put(database, "kept")
    database.path.rename(f"{database.path}.away")
    with database.reading():
        pass

    for pool in (database.writers, database.readers):
        pool.drop_idle()

    for open_transaction in (database.reading, database.writing):
        try:
            with open_transaction():
                raise AssertionError("the other file was opened")
        except DatabaseFileReplaced:
            pass
    assert not database.path.exists()
    Path(f"{database.path}.away").rename(database.path)
    assert "kept" in names(database)
