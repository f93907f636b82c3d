"""A file that is removed or replaced under a running server: from then on nothing is acknowledged that is lost."""

import os
import shutil
import signal
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy

from engine.storage.database import Database
from engine.storage.file_identity import DatabaseFileReplaced, FileIdentity, identity
from engine.storage.sqlite import driver
from tests.durability.facts import names, put
from tests.durability.load import integrity
from tests.durability.served import Answer, Served, serving
from tests.support.applications import open_app
from tests.support.waiting import until

WORDS = "removed or replaced"


def post(served: Served, name: str) -> Answer:
    with closing(served.consumer()) as consumer:
        return consumer.send("POST", "/inspectors", {"name": name})


def ready(served: Served) -> Answer:
    with closing(served.consumer()) as consumer:
        return consumer.send("GET", "/ready")


def require_refused(served: Served) -> None:
    for _ in range(20):  # by both workers
        answer = post(served, "lost")
        assert (answer.status, answer.code) == (503, "58P01")
        assert answer.headers["Retry-After"] == "1"
        assert answer.json["message"] == f"the database file was {WORDS}"
        assert (ready(served).status, WORDS in ready(served).json["status"]) == (503, True)


def told(served: Served) -> int:
    return served.log.read_text().count(WORDS)


def found(file: Path, name: str) -> int:
    with closing(driver.connect(str(file))) as connection:
        assert integrity(connection) == []
        question = "SELECT count(*) FROM inspectors WHERE name = ?"
        return int(connection.execute(question, (name,)).fetchone()[0])


def test_nothing_is_acknowledged_once_the_file_is_removed(served: Served):
    with serving(served):
        assert [post(served, "kept").status for _ in range(5)] == [201] * 5
        log = served.directory / f"{served.database.name}-wal"
        content = log.read_bytes()

        served.database.unlink()

        require_refused(served)
        assert 1 <= told(served) <= 2, "once a worker"
    assert log.read_bytes()[: len(content)] == content, "nothing else has what was acknowledged"
    assert not served.database.exists()

    again = served.gunicorn()

    assert again.returncode == 1
    assert f"its log {log} does" in again.stderr
    assert not served.database.exists()


def test_a_file_that_gets_its_name_back_is_written_to(served: Served):
    with serving(served):
        assert post(served, "kept").status == 201
        served.database.rename(served.directory / "elsewhere")
        require_refused(served)

        (served.directory / "elsewhere").rename(served.database)

        assert ready(served).status == 200
        assert [post(served, "kept").status for _ in range(5)] == [201] * 5
    assert found(served.database, "kept") == 6


def test_nothing_is_acknowledged_once_another_file_has_the_name(served: Served, base_file: Path):
    with serving(served):
        assert post(served, "of the old one").status == 201
        other = served.directory / "other.db"
        shutil.copy(base_file, other)
        other.chmod(0o600)

        other.replace(served.database)

        require_refused(served)
    assert found(served.database, "of the old one") == 0

    with serving(served):
        assert post(served, "of the new one").status == 201
    assert found(served.database, "of the new one") == 1
    assert found(served.database, "of the old one") == 0


def test_the_log_of_a_file_that_was_replaced_does_not_outlast_a_kill_beside_the_other(served: Served, base_file: Path):
    """Whoever opens the other one next would replay it there."""
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

        assert found(served.database, "of the old one") == 0


def test_a_worker_that_comes_later_makes_no_other_file(served: Served):
    """Nor does it serve one beside those who serve the one that was there."""
    with serving(served):
        for file in served.directory.glob(f"{served.database.name}*"):
            if not file.name.endswith((".serving", ".lock")):
                file.unlink()

        first = served.workers()[0]
        os.kill(first, signal.SIGKILL)

        until(lambda: first not in served.workers() and len(served.workers()) == 2)
        for _ in range(4):
            require_refused(served)
        assert not served.database.exists()


@pytest.mark.parametrize("at", ["opening", "opened"])
def test_a_worker_under_whom_the_file_is_replaced_while_it_starts_serves_no_other(base_file, tmp_path, monkeypatch, at):
    file, other = tmp_path / "a.db", tmp_path / "b.db"
    for each in (file, other):
        shutil.copy(base_file, each)
        each.chmod(0o600)
    monkeypatch.setattr(FileIdentity, "expected", {str(file): identity(str(file))})
    raw_connection = sqlalchemy.Engine.raw_connection

    def replace(*words: object) -> object:
        if at == "opened":
            taken = raw_connection(*words)
        if other.exists():
            other.replace(file)
        return raw_connection(*words) if at == "opening" else taken

    monkeypatch.setattr("sqlalchemy.Engine.raw_connection", replace)

    app = open_app(file)

    assert app.test_client().get("/ready").json["status"] == f"the database file was {WORDS}"
    app.extensions["walkthrough"].close()


def test_a_worker_that_starts_once_the_file_is_gone_makes_none(base_file, tmp_path, monkeypatch):
    file = tmp_path / "a.db"
    shutil.copy(base_file, file)
    monkeypatch.setattr(FileIdentity, "expected", {str(file): identity(str(file))})
    file.unlink()

    app = open_app(file)

    assert app.test_client().get("/ready").json["status"] == f"the database file was {WORDS}"
    assert not file.exists()


def test_no_connection_is_opened_to_another_file(database: Database):
    """It would be one with the log of this one."""
    put(database, "kept")
    database.path.rename(f"{database.path}.away")
    with database.reading():
        pass

    database.connections.close()

    for way in (database.reading, database.writing):
        try:
            with way():
                raise AssertionError("it was opened")
        except DatabaseFileReplaced:
            pass
    assert not database.path.exists()
    Path(f"{database.path}.away").rename(database.path)
    assert "kept" in names(database)
