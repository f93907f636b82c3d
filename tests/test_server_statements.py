"""How a session runs a statement: prepared once, under a name of its own, its values as text, its rows one by one."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import psycopg
import pytest

from models.db import database
from models.server_transaction import ServerTransaction
from models.sql import direct
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
