"""Make, recognise and check a database file. A foreign, newer or linked file is refused in one line."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from models.db import Database
from models.db import Transaction
from models.sql import sqlite

SCHEMA = Path(__file__).resolve().parent.parent / "schema.sql"
SCHEMA_VERSION = 1


class RefusedFile(Exception):
    """A file that is not ours to open. The message is one line."""


def ensure_schema(database: Database) -> None:
    """Make the tables in a new file; refuse one that is another program's or a later version's."""
    path = database.path
    assert path is not None
    refuse_links(path)
    make_file(path)
    try:
        with database.reading(seconds_max=60) as transaction:
            state = recognise(transaction, path)
    except sqlite.FileCorrupt as error:
        raise RefusedFile(f"{path} is not a sound SQLite database") from error
    if state == "ours":
        return
    with database.writing(seconds_max=60) as transaction:
        if recognise(transaction, path) == "empty":
            make_tables(transaction)


def recognise(transaction: Transaction, path: Path) -> str:
    """`empty` or `ours`; anything else is refused."""
    application_id = transaction.value("PRAGMA application_id")
    version = transaction.value("PRAGMA user_version")
    tables = transaction.value("SELECT count(*) FROM sqlite_schema")
    if application_id == 0 and version == 0 and tables == 0:
        return "empty"
    if application_id != sqlite.APPLICATION_ID:
        raise RefusedFile(f"{path} is another program's database")
    if version > SCHEMA_VERSION:
        raise RefusedFile(f"{path} was made by a later version (schema {version})")
    return "ours"


def refuse_links(path: Path) -> None:
    if not os.path.lexists(path):
        return
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode) or not stat.S_ISREG(found.st_mode):
        raise RefusedFile(f"{path} is not a regular file")
    if found.st_nlink > 1:
        raise RefusedFile(f"{path} has a second name (a hard link)")


def make_file(path: Path) -> None:
    """An empty file that only its owner can read: SQLite gives -wal and -shm the same mode."""
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))


def make_tables(transaction: Transaction) -> None:
    for statement in statements(SCHEMA.read_text(encoding="utf-8")):
        transaction.run(statement)
    transaction.run(f"PRAGMA application_id = {sqlite.APPLICATION_ID}")
    transaction.run(f"PRAGMA user_version = {SCHEMA_VERSION}")


def statements(script: str) -> list[str]:
    """A script's statements; a trigger's body holds semicolons of its own."""
    found: list[str] = []
    pending = ""
    for line in script.splitlines():
        code = line.split("--")[0].rstrip()
        pending = f"{pending}\n{code}" if pending else code
        if code.endswith(";") and sqlite.driver.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found


def check(database: Database) -> list[str]:
    """What is wrong with a file and its settings; nothing, if it is sound."""
    with database.reading(seconds_max=600) as transaction:
        problems = [str(row[0]) for row in transaction.all("PRAGMA integrity_check") if row[0] != "ok"]
        for table, row, parent, _ in transaction.all("PRAGMA foreign_key_check"):
            problems.append(f"{table} row {row} points at nothing in {parent}")
    assert database.path is not None
    if stat.S_IMODE(database.path.stat().st_mode) & 0o077:
        problems.append(f"{database.path} can be read by others: chmod 600 it")
    return problems


def versions(database: Database) -> dict[str, str]:
    """What is in use: driver, SQLite, schema, and whether this SQLite has the WAL-reset fix."""
    with database.reading() as transaction:
        schema = transaction.value("PRAGMA user_version")
    safe = sqlite.driver.sqlite_version_info >= sqlite.VERSION_SAFE
    return {
        "driver": sqlite.driver.__name__.split(".")[0],
        "sqlite": sqlite.driver.sqlite_version,
        "schema": str(schema),
        "checkpoints": "safe" if safe else "kept apart by the write lock",
    }
