"""Fills PocketBase's file: its own migration makes the tables, then SQL inserts the rows while no server runs."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from bench.dataset import COLUMNS, Dataset, Row
from bench.pocketbase.dialect import RELATIONS, record_id, token_key, user_record_id
from bench.servers import SECRET

HERE: Final = Path(__file__).resolve().parent
MIGRATIONS: Final = HERE / "pb_migrations"
HOOKS: Final = HERE / "pb_hooks"
USER_KEYS: Final = ("manager_id", "assigned_by")


def environ() -> dict[str, str]:
    return {**os.environ, "TOKEN_SECRET": SECRET}


def fill_directory(program: Path, home: Path, dataset: Dataset) -> None:
    """Make PocketBase's data directory anew, with the rows of a dataset."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    words = [str(program), "migrate", "up", "--dir", str(home), "--migrationsDir", str(MIGRATIONS)]
    subprocess.run(words, env=environ(), check=True, stdout=subprocess.DEVNULL)
    with closing(sqlite3.connect(home / "data.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -262144")
        connection.execute("BEGIN")
        # Indexes are made after the rows: each one in one pass.
        found = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql NOTNULL"
        for table in COLUMNS:
            indexes = connection.execute(found, (table,)).fetchall()
            for name, _ in indexes:
                connection.execute(f'DROP INDEX "{name}"')
            insert(connection, table, dataset.rows(table))
            for _, sql in indexes:
                connection.execute(sql)
        connection.execute("COMMIT")
        connection.execute("VACUUM")
        connection.execute("ANALYZE")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def insert(connection: sqlite3.Connection, table: str, rows: Iterator[Row]) -> None:
    columns = [fields_of(name) for name in COLUMNS[table]]
    fields = list(columns)
    if table == "users":
        fields = ["id", "email", "name", "role", "client", "created", "updated", "tokenKey", "password"]
    elif "id" not in columns:
        fields = [*columns, "id"]
    places = ", ".join("?" * len(fields))
    names = ", ".join(f'"{field}"' for field in fields)
    sql = f"INSERT INTO {table} ({names}) VALUES ({places})"  # noqa: S608
    connection.executemany(sql, records(table, rows))


def fields_of(column: str) -> str:
    return "created_at" if column == "assigned_at" else RELATIONS.get(column, column)


def records(table: str, rows: Iterator[Row]) -> Iterator[tuple[Any, ...]]:
    """Yield a table's rows as values of its fields."""
    columns = COLUMNS[table]
    for number, row in enumerate(rows, 1):
        values = [value(table, name, each) for name, each in zip(columns, row, strict=True)]
        if table == "users":
            yield *values, token_key(str(row[0])), "!"  # no password: tokens are signed here
        elif "id" not in columns:
            yield *values, record_id(number)
        else:
            yield tuple(values)


def value(table: str, column: str, found: Any) -> Any:
    """Return a value as PocketBase stores it: never null, times with a `Z`."""
    if found is None:
        return ""
    if column in USER_KEYS or (table == "users" and column == "id"):
        return user_record_id(found)
    if column == "id" or column in RELATIONS:
        return record_id(found)
    if column == "date_visited":
        return f"{found} 00:00:00.000Z"
    if column.endswith("_at"):
        return f"{found[:10]} {found[11:19]}.000Z"
    return found
