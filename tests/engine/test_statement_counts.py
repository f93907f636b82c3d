"""The number of statements that a request runs and prepares. These counts do not depend on the machine's speed."""

from __future__ import annotations

import re
import sys
from contextlib import closing
from pathlib import Path

import pytest
from flask import Flask

from engine.storage import sqlite
from engine.storage.database import SqliteDatabase
from engine.storage.transaction import SqliteTransaction
from tests.conftest import DATASET
from tests.support.applications import import_rows, open_app
from tests.support.costs import LISTS, TOKENS, open_small_and_large
from tests.support.tokens import ANON_KEY

pytestmark = pytest.mark.sqlite("listens to SQLite's driver")


with closing(sqlite.driver.connect(":memory:")) as _connection:
    CAN_SAMPLE = ("ENABLE_STAT4",) in _connection.execute("PRAGMA compile_options").fetchall()
CAN_SWITCH = not sqlite.driver.__name__.startswith("sqlite3") or sys.version_info >= (3, 12)


@pytest.fixture(scope="module")
def apps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Flask]:
    return open_small_and_large(tmp_path_factory)


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that records every statement in order."""
    run: list[str] = []
    original = SqliteTransaction.run

    def recording(self: SqliteTransaction, sql: str, parameters: object = ()) -> object:
        run.append(sql)
        return original(self, sql, parameters)

    monkeypatch.setattr(SqliteTransaction, "run", recording)
    return run


@pytest.mark.parametrize("who", TOKENS)
@pytest.mark.parametrize("name", LISTS)
def test_list_is_a_lookup_and_a_select_and_cached_until_a_commit(
    apps: dict[str, Flask], statements: list[str], who: str, name: str
) -> None:
    path = LISTS[name]
    headers = {"apikey": ANON_KEY, "Authorization": f"Bearer {TOKENS[who]}"}

    apps["small"].extensions["walkthrough"].close()  # a new connection has no data version
    for _ in range(2):
        apps["small"].test_client().get(path, headers=headers)

    kinds = [sql.split()[0] for sql in statements]
    again = ["SELECT"] if name == "point" else []
    opens = ["BEGIN", "PRAGMA", "COMMIT", "BEGIN", "PRAGMA"]  # the first snapshot, or one after a commit
    assert kinds == [*opens, "SELECT", "SELECT", "BEGIN", "PRAGMA", *again]


def preparations(app: Flask, who: str, paths: list[str]) -> list[int]:
    """Return the number of authorizer calls during each request. It is 0 if all statements are prepared already."""
    client = app.test_client()
    headers = {"apikey": ANON_KEY, "Authorization": f"Bearer {TOKENS[who]}"}
    database: SqliteDatabase = app.extensions["walkthrough"]
    asked: list[str] = []

    def permit(*what: object) -> int:
        asked.append(repr(what))
        return sqlite.driver.SQLITE_OK

    def count(path: str) -> int:
        asked.clear()
        database.cache.clear()  # so that the list runs again
        assert client.get(path, headers=headers).status_code == 200
        return len(asked)

    with database.readers.checked_out() as connection:
        connection.driver_connection.set_authorizer(permit)
    counted = [count(path) for path in paths]
    database.close()
    return counted


@pytest.mark.skipif(not CAN_SAMPLE, reason="this SQLite keeps no samples of its tables")
@pytest.mark.skipif(not CAN_SWITCH, reason="this driver does not let it be switched")
@pytest.mark.parametrize("who", TOKENS)
@pytest.mark.parametrize("path", LISTS.values(), ids=LISTS)
def test_statement_is_prepared_once_for_all_values(apps: dict[str, Flask], who: str, path: str) -> None:
    """With table samples, SQLite would plan again for each value, which costs more than a point read."""
    other = re.sub(r"eq\.\w+", "eq.3", path)
    analyse(apps["large"])
    samples = samples_of(apps["large"], "inspections")

    first, *later = preparations(apps["large"], who, [path, path, other, path])

    assert samples > 0
    assert first > 0
    assert later == [0, 0, 0]


def test_bulk_insert_is_one_statement(tmp_path: Path) -> None:
    app = open_app(tmp_path / "walkthrough.db")
    import_rows(app, DATASET)
    database: SqliteDatabase = app.extensions["walkthrough"]
    headers = {"apikey": ANON_KEY, "Authorization": f"Bearer {TOKENS['root']}"}
    rows = [{"name": f"Inspector {number}"} for number in range(237)]
    said: list[str] = []
    with database.writers.checked_out() as connection:
        connection.driver_connection.set_trace_callback(said.append)

    answer = app.test_client().post(
        "/inspectors?select=id,name", headers={**headers, "Prefer": "return=representation"}, json=rows
    )

    assert [row["name"] for row in answer.json] == [row["name"] for row in rows]
    assert len({row["id"] for row in answer.json}) == 237
    inserts = {text for text in said if text.startswith("INSERT INTO inspectors")}
    assert len(inserts) == 1


def analyse(app: Flask) -> None:
    """Run ANALYZE as another program may. New connections load the statistics."""
    database: SqliteDatabase = app.extensions["walkthrough"]
    with app.app_context(), database.writing() as transaction:
        transaction.run("ANALYZE")
    database.close()


def samples_of(app: Flask, table: str) -> int:
    """Return the number of samples that SQLite stores for a table's indexes."""
    with app.app_context(), app.extensions["walkthrough"].reading() as transaction:
        found: int = transaction.value("SELECT count(*) FROM sqlite_stat4 WHERE tbl = ?", (table,))
        return found
