"""Statements of a session: prepared once under a unique name, text parameters, and rows one by one."""

from __future__ import annotations

import pathlib
import threading
from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy as sa

from engine.interface.database import Unreachable
from engine.interface.versioned_cache import VersionedCache
from engine.open import database
from engine.query.statement import LARGE_CHARACTERS
from models.types import NulInText
from postgres import session
from postgres.session import FAILURES_MAX
from postgres.transaction import ServerTransaction
from tests.support import databases
from tests.support.signin import open_service
from tests.support.waiting import until

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


def test_statement_is_prepared_once(transaction: ServerTransaction) -> None:
    for number in range(3):
        assert transaction.value("SELECT $1::bigint + 1", (number,)) == number + 1

    assert prepared(transaction).count("SELECT $1::bigint + 1") == 1


def test_least_recently_used_statements_are_deallocated(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "STATEMENTS_MAX", 4)
    service = open_service(tmp_path)
    with service.app.app_context(), database().reading() as opened:
        for number in (*range(20), 19, 0):
            assert opened.value(f"SELECT {number}") == number
        left = opened.all("SELECT statement FROM pg_prepared_statements")

    assert ("SELECT 0",) in left
    assert ("SELECT 5",) not in left
    assert len(left) <= 4 + 2


def test_large_statement_is_not_prepared(transaction: ServerTransaction) -> None:
    large = f"SELECT 1 {'':{LARGE_CHARACTERS}}"

    assert transaction.value(large) == 1

    assert prepared(transaction).count(large) == 0


def test_session_with_many_failed_statements_is_replaced(tmp_path: pathlib.Path) -> None:
    """The server keeps statements that were prepared and then failed."""
    service = open_service(tmp_path)
    with service.app.app_context():
        sessions = [fail_statement(number) for number in range(FAILURES_MAX + 2)]

    assert len(set(sessions[:FAILURES_MAX])) == 1
    assert len(set(sessions)) == 2


def fail_statement(number: int) -> object:
    with pytest.raises(psycopg.errors.DivisionByZero), database().reading() as opened:
        opened.value(f"SELECT {number} / $1::int", (0,))
    return opened.session


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
        ("SELECT $1::uuid", "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000001"),
        ("SELECT $1::json", '{"a": [1]}', '{"a": [1]}'),
    ],
)
def test_parameters_and_results_are_text(
    transaction: ServerTransaction, sql: str, value: object, found: object
) -> None:
    assert transaction.value(sql, (value,)) == found


def test_text_with_nul_is_refused(tmp_path: pathlib.Path) -> None:
    service = open_service(tmp_path)

    with service.app.app_context(), pytest.raises(NulInText), database().reading() as opened:
        opened.value("SELECT $1::text", ("a\0b",))


def test_rows_are_fetched_singly_or_together(transaction: ServerTransaction) -> None:
    words = "SELECT each, each * 2 FROM generate_series(1, 3) AS each"

    assert list(transaction.each(words)) == [(1, 2), (2, 4), (3, 6)]
    assert transaction.all(words) == [(1, 2), (2, 4), (3, 6)]
    assert transaction.one(words) == (1, 2)
    assert transaction.one("SELECT 1 WHERE false") is None
    found = transaction.run(words)
    assert [found.fetchone(), *found, found.fetchone()] == [(1, 2), (2, 4), (3, 6), None]
    assert transaction.run("SELECT 1 FROM generate_series(1, 7)").rowcount == 7


def test_failed_statement_raises_the_servers_error(tmp_path: pathlib.Path) -> None:
    service = open_service(tmp_path)

    with (
        service.app.app_context(),
        pytest.raises(psycopg.errors.DivisionByZero) as raised,
        database().reading() as opened,
    ):
        opened.value("SELECT 1 / $1::int", (0,))

    assert raised.value.sqlstate == "22012"
    assert raised.value.diag.message_primary == "division by zero"


def test_session_is_reused(tmp_path: pathlib.Path) -> None:
    service = open_service(tmp_path)
    pids = set()
    with service.app.app_context():
        for _ in range(3):
            with database().reading() as opened:
                pids.add(opened.value("SELECT pg_backend_pid()"))

    assert len(pids) == 1


def test_read_transaction_ends_without_waiting(tmp_path: pathlib.Path) -> None:
    service = open_service(tmp_path)
    with service.app.app_context():
        with database().reading() as opened:
            pid = opened.value("SELECT pg_backend_pid()")
            used = opened.session

        assert used.is_idle
        until(lambda: not databases.is_being_read(service.file))
        with database().reading() as opened:
            assert opened.value("SELECT pg_backend_pid()") == pid


def test_queued_statements_run_first(transaction: ServerTransaction) -> None:
    session = transaction.session
    session.send("SELECT set_config('walk.a', $1, true)", ("1",))
    session.send("SELECT set_config('walk.a', current_setting('walk.a') || $1, true)", ("2",))

    found = session.run("SELECT current_setting('walk.a'), $1::bigint", (3,))

    assert found.fetchall() == [("12", 3)]
    assert session.run("SELECT current_setting('walk.a')").fetchall() == [("12",)]
    assert transaction.is_open


@pytest.mark.parametrize("position", [0, 1, 2])
def test_statements_after_a_failure_are_skipped(tmp_path: pathlib.Path, position: int) -> None:
    """The first error is raised, and the session stays usable."""
    service = open_service(tmp_path)
    counted = "SELECT pg_sequence_last_value('clients_id_seq')"  # a rollback does not undo this
    steps = ["SELECT nextval('clients_id_seq')"] * 3
    steps[position] = "SELECT 1 / 0"

    def run(transaction: ServerTransaction) -> None:
        for each in steps[:2]:
            transaction.session.send(each)
        transaction.run(steps[2])

    with service.app.app_context():
        with database().writing() as opened:
            before, session = opened.value(counted), opened.session
        with pytest.raises(psycopg.errors.DivisionByZero), database().writing() as opened:
            run(opened)
        with database().writing() as opened:
            assert opened.session is session
            assert opened.value(counted) == before + position


def test_queue_transfers_many_rows(transaction: ServerTransaction) -> None:
    """Both directions exceed the buffer of a socket."""
    session = transaction.session
    for number in range(200):
        session.send("SELECT repeat($1::text, 50)", (f"{number:05}" * 1_000,))

    found = session.run("SELECT repeat('x', 1000) FROM generate_series(1, 5000)")

    assert len(found.fetchall()) == 5_000


def end_session(transaction: ServerTransaction) -> None:
    """End a session by a queued statement, so that the next statement fails."""
    transaction.session.send("SELECT pg_terminate_backend(pg_backend_pid())")
    transaction.run("SELECT 1")


def test_lost_session_is_closed(tmp_path: pathlib.Path) -> None:
    service = open_service(tmp_path)
    with service.app.app_context():
        with database().reading() as opened:
            session = opened.session
        with pytest.raises(Unreachable), database().reading() as opened:
            end_session(opened)
        assert session.closed
        with database().reading() as opened:
            assert opened.value("SELECT 1") == 1


def test_other_threads_run_while_a_queue_waits(transaction: ServerTransaction) -> None:
    """The queue waits for this thread. If it held the interpreter lock, both would deadlock."""
    session = transaction.session
    with databases.connect_to(transaction.value("SELECT current_database()")) as other:
        other.execute("SELECT pg_advisory_lock(1)")
        session.send("SELECT pg_advisory_xact_lock(1)")
        waits = threading.Thread(target=lambda: session.run("SELECT 1"))
        waits.start()
        waiting = "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = %s AND NOT granted)"
        pid = session.info.backend_pid
        until(lambda: other.execute(waiting, (pid,)).fetchone()[0])
        other.execute("SELECT pg_advisory_unlock(1)")
    waits.join()

    assert transaction.value("SELECT 2") == 2


def test_statement_is_deallocated_while_others_are_pending(transaction: ServerTransaction) -> None:
    transaction.session.prepared_max = 2

    transaction.session.send("SELECT set_config('walk.b', '1', true)")
    for each in "2345":
        transaction.session.send(f"SELECT set_config('walk.b', current_setting('walk.b') || '{each}', true)")
    found = transaction.session.run("SELECT current_setting('walk.b')")

    assert found.fetchall() == [("12345",)]


def test_rollback_keeps_prepared_statements(tmp_path: pathlib.Path) -> None:
    service = open_service(tmp_path)
    counted = "SELECT count(*) FROM pg_prepared_statements WHERE statement = 'SELECT $1::int + 7'"
    with service.app.app_context():
        for _ in range(2):
            with database().writing() as opened:
                opened.value("SELECT $1::int + 7", (1,))
                opened.roll_back_at_end()
        with database().reading() as opened:
            assert opened.value(counted) == 1


def test_rollback_of_a_new_session_keeps_prepared_statements(tmp_path: pathlib.Path) -> None:
    opened = session.connect(sa.make_url(databases.url(tmp_path / "walkthrough.db")), 2.0)
    opened.send("BEGIN")
    with pytest.raises(psycopg.errors.DivisionByZero):
        opened.run("SELECT 1 / 0")
    ServerTransaction(opened, VersionedCache()).roll_back()

    for _ in range(3):
        assert opened.run("SELECT 1 AS prepared").fetchall() == [(1,)]
    opened.close()


def test_no_more_rows_are_fetched_at_once_than_a_page_has(
    transaction: ServerTransaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row of an issued report may have 16 MB: its tables are read by pages of one row."""
    fetched = []
    run = transaction.all
    monkeypatch.setattr(transaction, "all", lambda sql, *rest: fetched.append(rows := run(sql, *rest)) or rows)

    pages = list(transaction.pages("SELECT each FROM generate_series(1, 3) AS each", 1))

    assert [len(page) for page in pages] == [1, 1, 1]
    assert [len(rows) for rows in fetched] == [1, 1, 1, 0]


def test_rows_are_fetched_in_pages(transaction: ServerTransaction) -> None:
    pages = list(transaction.pages("SELECT each FROM generate_series(1, 120) AS each", 50))

    assert [len(page) for page in pages] == [50, 50, 20]
    assert [each for page in pages for (each,) in page] == list(range(1, 121))


@pytest.mark.parametrize("statements_max", [1, 2])
def test_refused_bulk_insert_leaves_the_session_usable(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, statements_max: int
) -> None:
    monkeypatch.setattr(session, "STATEMENTS_MAX", statements_max)
    root = open_service(tmp_path).api("root")
    body = [{"inspection_id": 1, "gun_id": 1}, {"inspection_id": 999_999, "gun_id": 1}]

    for _ in range(3):
        refused = root.post("/reports_lead", body)
        assert (refused.status, refused.code) == (409, "23503")
    assert root.post("/reports_lead", body[0]).status == 201


@pytest.mark.parametrize("characters", [8_000, 300_000, 6_000_000])
def test_large_values_are_sent_completely(transaction: ServerTransaction, characters: int) -> None:
    """Parameters and results exceed the buffer of a socket, behind a statement without a response."""
    transaction.session.send("SELECT 1")

    assert transaction.value("SELECT $1::text", ("x" * characters,)) == "x" * characters
    assert transaction.value("SELECT 2") == 2


def test_many_large_rows_are_sent_completely(tmp_path: pathlib.Path) -> None:
    service = open_service(tmp_path)
    rows = [(f"large {number}", "x" * 300_000) for number in range(40)]
    with service.app.app_context(), database().writing() as opened:
        opened.insert_many("INSERT INTO facts (name, value) VALUES ($1, $2)", rows)
        counted = opened.value("SELECT count(*) FROM facts WHERE name LIKE 'large %'")
        opened.roll_back_at_end()

    assert counted == 40


def test_large_statement_that_fails_leaves_the_session_usable(tmp_path: pathlib.Path) -> None:
    service = open_service(tmp_path)
    with service.app.app_context():
        with pytest.raises(psycopg.errors.DivisionByZero), database().reading() as opened:
            opened.value("SELECT $1::text, 1 / $2::int", ("x" * 1_000_000, 0))
        with database().reading() as again:
            assert again.session is opened.session
            assert again.value("SELECT 1") == 1
