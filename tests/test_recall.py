"""What a connection remembers of a snapshot: until anybody has committed anything, and not a moment longer; and how
it goes from one request to the next."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest

import engine.storage.transaction as module
from engine.storage.database import Database
from engine.storage.sqlite import driver
from tests.applications import open_app

pytestmark = pytest.mark.sqlite("a server is asked each time")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "walkthrough.db"


@pytest.fixture
def database(file: Path, base_file: Path) -> Database:
    file.write_bytes(base_file.read_bytes())
    return open_app(file).extensions["walkthrough"]


class Question:
    """How many buildings there are, and how often that was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def answer(self, database: Database, *, writing: bool = False) -> int:
        with database.writing() if writing else database.reading() as transaction:

            def ask() -> int:
                self.asked += 1
                return transaction.value("SELECT count(*) FROM buildings")

            return transaction.recall("how many", ask)


@pytest.fixture
def question() -> Question:
    return Question()


def test_the_same_snapshot_is_asked_once(database: Database, question: Question) -> None:
    assert [question.answer(database) for _ in range(3)] == [6, 6, 6]
    assert question.asked == 1


def test_what_another_program_commits_is_seen_at_once(
    database: Database, question: Question, file: Path
) -> None:
    question.answer(database)
    other = driver.connect(str(file), isolation_level=None)
    other.execute("INSERT INTO facts (name, value) VALUES ('here', '1')")
    other.close()
    question.answer(database)
    assert question.asked == 2  # of what was changed nothing is known

    with database.writing() as transaction:
        transaction.run("DELETE FROM buildings WHERE id = 6")
    assert question.answer(database) == 5
    assert question.asked == 3


def test_what_is_rolled_back_changes_nothing(database: Database, question: Question) -> None:
    with database.writing():
        pass  # the connection that writes is there, and has looked to its statistics
    question.answer(database)
    with database.writing() as transaction:
        transaction.run("DELETE FROM buildings WHERE id = 6")
        transaction.roll_back_at_end()

    assert question.answer(database) == 6
    assert question.asked == 1


def test_a_snapshot_that_is_older_than_a_commit_keeps_its_answer(
    database: Database, question: Question
) -> None:
    count = "SELECT count(*) FROM buildings"
    with database.reading() as old:
        before = old.recall("how many", lambda: old.value(count))
        with database.connections.checked_out(database.writer) as writer:
            writer.driver_connection.execute("DELETE FROM buildings WHERE id = 6")
        assert old.recall("how many", lambda: old.value(count)) == before == 6

    assert question.answer(database) == 5


def test_a_write_asks_each_time(database: Database, question: Question) -> None:
    for _ in range(2):
        question.answer(database, writing=True)

    assert question.asked == 2


def test_what_is_remembered_is_bounded(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWERS_KEPT", 8)
    with database.reading() as transaction:
        for number in range(50):
            assert transaction.recall(number, lambda number=number: number) == number

        assert len(transaction.connection.found) <= 8


# The connections that are kept for the next request


def test_a_connection_serves_the_next_request(database: Database) -> None:
    used = []
    for _ in range(3):
        with database.connections.checked_out(database.reader) as connection:
            used.append(connection)

    assert len(set(map(id, used))) == 1
    assert len(database.connections.idle[database.reader]) == 1


def test_two_at_once_have_two(database: Database) -> None:
    reader = database.reader
    with (
        database.connections.checked_out(reader) as one,
        database.connections.checked_out(reader) as other,
    ):
        assert one is not other

    assert len(database.connections.idle[reader]) == 2


def test_one_that_another_thread_took_first_is_no_error(database: Database) -> None:
    """Whether there is one can be another answer a moment later."""

    class TakenMeanwhile(deque):
        def __bool__(self) -> bool:
            return True

    database.connections.idle[database.reader] = TakenMeanwhile()
    with database.connections.checked_out(database.reader) as connection:
        assert connection.driver_connection.execute("SELECT 1").fetchone() == (1,)


def test_a_broken_one_is_not_kept(database: Database) -> None:
    with database.connections.checked_out(database.reader) as connection:
        connection.broken = True

    assert not database.connections.idle[database.reader]


def test_none_is_left_open_by_a_close(database: Database) -> None:
    with database.connections.checked_out(database.reader) as connection:
        pass
    database.close()

    assert not database.connections.idle[database.reader]
    with pytest.raises(driver.ProgrammingError):
        connection.driver_connection.execute("SELECT 1")
