"""How a session runs a statement: prepared once, under a name of its own, its values as text, its rows one by one."""

from __future__ import annotations

import pathlib
import threading
from collections.abc import Callable
from collections.abc import Iterator

import psycopg
import pytest

from models.db import database
from models.server_transaction import ServerTransaction
from models.sql import direct
from models.sql import pipeline
from models.sql.constraints import Unreachable
from models.types import NulInText
from tests import databases
from tests.signin import open_service
from tests.waiting import until

pytestmark = pytest.mark.server("a file has no sessions")


@pytest.fixture
def transaction(tmp_path: pathlib.Path) -> Iterator[ServerTransaction]:
    service = open_service(tmp_path)
    with service.app.app_context(), database().reading() as opened:
        assert isinstance(opened, ServerTransaction)
        yield opened


def prepared(transaction: ServerTransaction) -> list[str]:
    words = "SELECT statement FROM pg_prepared_statements WHERE statement LIKE 'SELECT %'"
    return [row[0] for row in transaction.all(words)]


def test_a_statement_is_prepared_once(transaction: ServerTransaction) -> None:
    for number in range(3):
        assert transaction.value("SELECT $1::bigint + 1", (number,)) == number + 1

    assert prepared(transaction).count("SELECT $1::bigint + 1") == 1


def test_the_statement_used_longest_ago_is_forgotten(
    transaction: ServerTransaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    transaction.session.known.clear()
    monkeypatch.setattr(direct, "STATEMENTS_KEPT", 3)

    for number in (1, 2, 3, 1, 4):
        assert transaction.value(f"SELECT {number}") == number

    assert list(transaction.session.known) == ["SELECT 3", "SELECT 1", "SELECT 4"]
    assert "SELECT 2" not in prepared(transaction)
    assert transaction.value("SELECT 2") == 2


@pytest.mark.parametrize(
    ("sql", "value", "found"),
    [
        ("SELECT $1::text", "é\U0001f3e2\\'", "é\U0001f3e2\\'"),
        ("SELECT $1::text", "", ""),
        ("SELECT $1::text", None, None),
        ("SELECT $1::bigint", 2**63 - 1, 2**63 - 1),
        ("SELECT $1::bigint", "-5", -5),
        ("SELECT $1::double precision", 0.1, 0.1),
        ("SELECT $1::boolean", True, True),
        ("SELECT $1::numeric", 2.5, 2.5),
        ("SELECT $1::date", "2025-01-31", "2025-01-31"),
        ("SELECT $1::timestamptz", "2025-01-31T10:00:00.5+02:00", "2025-01-31T08:00:00.5+00:00"),
        (
            "SELECT $1::uuid",
            "00000000-0000-4000-8000-000000000001",
            "00000000-0000-4000-8000-000000000001",
        ),
        ("SELECT $1::json", '{"a": [1]}', '{"a": [1]}'),
    ],
)
def test_values_go_in_as_text_and_come_out_as_they_are_printed(
    transaction: ServerTransaction, sql: str, value: object, found: object
) -> None:
    assert transaction.value(sql, (value,)) == found


def test_text_that_would_end_early_is_refused(tmp_path: pathlib.Path) -> None:
    service = open_service(tmp_path)

    with service.app.app_context(), pytest.raises(NulInText), database().reading() as opened:
        opened.value("SELECT $1::text", ("a\0b",))


def test_rows_come_one_by_one_and_all_at_once(transaction: ServerTransaction) -> None:
    words = "SELECT each, each * 2 FROM generate_series(1, 3) AS each"

    assert list(transaction.each(words)) == [(1, 2), (2, 4), (3, 6)]
    assert transaction.all(words) == [(1, 2), (2, 4), (3, 6)]
    assert transaction.one(words) == (1, 2)
    assert transaction.one("SELECT 1 WHERE false") is None
    found = transaction.run(words)
    assert [found.fetchone(), *found, found.fetchone()] == [(1, 2), (2, 4), (3, 6), None]
    assert transaction.run("SELECT 1 FROM generate_series(1, 7)").rowcount == 7


def test_a_statement_that_fails_says_how(tmp_path: pathlib.Path) -> None:
    service = open_service(tmp_path)

    with (
        service.app.app_context(),
        pytest.raises(psycopg.errors.DivisionByZero) as raised,
        database().reading() as opened,
    ):
        opened.value("SELECT 1 / $1::int", (0,))

    assert raised.value.sqlstate == "22012"
    assert raised.value.diag.message_primary == "division by zero"


def test_a_session_goes_from_one_to_the_next(tmp_path: pathlib.Path) -> None:
    service = open_service(tmp_path)
    pids = set()
    with service.app.app_context():
        for _ in range(3):
            with database().reading() as opened:
                pids.add(opened.value("SELECT pg_backend_pid()"))

    assert len(pids) == 1


def test_a_read_ends_although_nobody_waits_for_its_end(tmp_path: pathlib.Path) -> None:
    service = open_service(tmp_path)
    with service.app.app_context():
        with database().reading() as opened:
            pid = opened.value("SELECT pg_backend_pid()")
            session = opened.session

        def state() -> str:
            asked = "SELECT state FROM pg_stat_activity WHERE pid = %s"
            with databases.connected("postgres") as connection:
                return connection.execute(asked, (pid,)).fetchone()[0]

        assert session.is_idle
        until(lambda: state() == "idle")
        with database().reading() as opened:
            assert opened.value("SELECT pg_backend_pid()") == pid


def test_what_is_queued_goes_first_and_together(transaction: ServerTransaction) -> None:
    session = transaction.session
    session.queue("SELECT set_config('walk.a', $1, true)", ("1",))
    session.queue("SELECT set_config('walk.a', current_setting('walk.a') || $1, true)", ("2",))

    found = session.run("SELECT current_setting('walk.a'), $1::bigint", (3,))

    assert found.fetchall() == [("12", 3)]
    assert session.run("SELECT current_setting('walk.a')").fetchall() == [("12",)]
    assert transaction.is_open


@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_follows_a_failure_is_not_run(tmp_path: pathlib.Path, place: int) -> None:
    """The failure is that of the first that failed, and the session is as good as before."""
    service = open_service(tmp_path)
    counted = "SELECT pg_sequence_last_value('clients_id_seq')"  # which no rollback takes back
    steps = ["SELECT nextval('clients_id_seq')"] * 3
    steps[place] = "SELECT 1 / 0"

    def run(transaction: ServerTransaction) -> None:
        for each in steps[:2]:
            transaction.session.queue(each)
        transaction.run(steps[2])

    with service.app.app_context():
        with database().writing() as opened:
            before, session = opened.value(counted), opened.session
        with pytest.raises(psycopg.errors.DivisionByZero), database().writing() as opened:
            run(opened)
        with database().writing() as opened:
            assert opened.session is session
            assert opened.value(counted) == before + place


def test_many_rows_come_through_a_queue(transaction: ServerTransaction) -> None:
    """More than a socket holds, in both directions."""
    session = transaction.session
    for number in range(200):
        session.queue("SELECT repeat($1::text, 50)", (f"{number:05}" * 1_000,))

    found = session.run("SELECT repeat('x', 1000) FROM generate_series(1, 5000)")

    assert len(found.fetchall()) == 5_000


def end_session(transaction: ServerTransaction) -> None:
    """By what goes first, so that the next statement finds it ended."""
    transaction.session.queue("SELECT pg_terminate_backend(pg_backend_pid())")
    transaction.run("SELECT 1")


def test_a_session_that_is_lost_in_the_middle_is_given_up(tmp_path: pathlib.Path) -> None:
    service = open_service(tmp_path)
    with service.app.app_context():
        with database().reading() as opened:
            session = opened.session
        with pytest.raises(Unreachable), database().reading() as opened:
            end_session(opened)
        assert session.closed
        with database().reading() as opened:
            assert opened.value("SELECT 1") == 1


def ask_twice(transaction: ServerTransaction) -> None:
    transaction.session.queue("SELECT 1")
    transaction.run("SELECT 2")


def test_a_session_that_was_left_in_the_middle_is_given_up(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers to what it was told would be taken for those to the next questions."""
    service = open_service(tmp_path)

    def leave(pgconn: object) -> None:
        monkeypatch.undo()
        raise ZeroDivisionError

    with service.app.app_context():
        with database().reading() as opened:
            session = opened.session
        monkeypatch.setattr(pipeline, "result_of", leave)
        with pytest.raises(ZeroDivisionError), database().reading() as opened:
            ask_twice(opened)
        with database().reading() as opened:
            assert opened.session is not session
            assert opened.value("SELECT 3") == 3


def test_others_go_on_while_a_queue_is_waited_for(transaction: ServerTransaction) -> None:
    """It ends once this thread lets it: with the interpreter held, it would wait for itself."""
    session = transaction.session
    with databases.connected(transaction.value("SELECT current_database()")) as other:
        other.execute("SELECT pg_advisory_lock(1)")
        session.queue("SELECT pg_advisory_xact_lock(1)")
        waits = threading.Thread(target=lambda: session.run("SELECT 1"))
        waits.start()
        waiting = "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = %s AND NOT granted)"
        pid = session.pgconn.backend_pid
        until(lambda: other.execute(waiting, (pid,)).fetchone()[0])
        other.execute("SELECT pg_advisory_unlock(1)")
    waits.join()

    assert transaction.value("SELECT 2") == 2


def test_a_statement_is_forgotten_while_others_are_queued(
    transaction: ServerTransaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = transaction.session
    session.known.clear()
    monkeypatch.setattr(direct, "STATEMENTS_KEPT", 2)

    session.queue("SELECT set_config('walk.b', '1', true)")
    for each in "2345":
        session.queue(f"SELECT set_config('walk.b', current_setting('walk.b') || '{each}', true)")
    found = session.run("SELECT current_setting('walk.b')")

    assert found.fetchall() == [("12345",)]


def test_no_room_is_made_for_a_name_behind_an_error(
    api: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that knows as many statements as it keeps takes a refused bulk write back, too."""
    monkeypatch.setattr(direct, "STATEMENTS_KEPT", 1)

    refused = api("root").post("/reports_lead", [{"inspection_id": 1}, {"inspection_id": 999_999}])

    assert (refused.status, refused.code) == (409, "23503")
