"""Bring a file to today's version: a backup, then every step in one transaction, or nothing.

A power cut leaves the old version or the new one: the version stands on the file's first page and is
committed with the tables. The turn to write is held throughout, so that of several processes that start
at once one migrates and the others find it done.
"""

from __future__ import annotations

import filecmp
import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from models import migrations
from models.migrations.step import Run
from models.migrations.step import Step
from models.schema import ASTRAY
from models.schema import DANGLING
from models.schema import schema
from models.sql import copies
from models.sql import sqlite
from models.sql.writer_lock import WriterLock

WAIT_SECONDS_MAX = 600.0  # for another process that migrates the same file


class MigrationFailed(Exception):
    """A file that stays at its version. The message is one line."""


def migrate(path: Path, writer_lock: WriterLock) -> int:
    """Bring the file to today's version, unless it is there; the version it came from."""
    with writer_lock.held(WAIT_SECONDS_MAX), copies.opened(path) as connection:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        steps = [step for step in migrations.STEPS if step.version > version]
        if not steps:
            return version
        keep(path, version)
        try:
            take(connection, steps)
        except sqlite.ERRORS as error:
            raise MigrationFailed(f"{path} stays at schema {version}: {error}") from error
        return version


def keep(path: Path, version: int) -> None:
    """Keep a copy of the file as it is, beside those kept before; of what has not changed since, one is enough."""
    earlier: list[Path] = []
    while os.path.lexists(kept := backup_path(path, version, len(earlier) + 1)):
        earlier.append(kept)
    copies.copy(path, kept)
    if earlier and filecmp.cmp(earlier[-1], kept, shallow=False):
        kept.unlink()


def backup_path(path: Path, version: int, number: int = 1) -> Path:
    """Where the file as it was is kept; the first time, and each time it is as old as that again.

    >>> backup_path(Path("a.db"), 1).name, backup_path(Path("a.db"), 1, 2).name
    ('a.db.schema-1', 'a.db.schema-1.2')
    """
    return path.with_name(f"{path.name}.schema-{version}{f'.{number}' if number > 1 else ''}")


def make_anew(run: Run) -> None:
    """Have indexes, views and triggers as a new file has them; those that are alike are left alone."""
    with closing(sqlite.driver.connect(":memory:")) as new:
        for statement in schema():
            new.execute(statement)
        wanted = beside_tables(new.execute)
    there = beside_tables(run)
    for name, (kind, sql) in there.items():
        if wanted.get(name) != (kind, sql):
            run(f"DROP {kind} {name}")
    for name, (kind, sql) in wanted.items():
        if there.get(name) != (kind, sql):
            run(sql)


def beside_tables(run: Run) -> dict[str, tuple[str, str]]:
    """What a file has beside its tables: kind and statement, by name."""
    found = run(
        "SELECT name, type, sql FROM sqlite_schema WHERE type <> 'table' AND sql IS NOT NULL"
    )
    return {name: (kind, sql) for name, kind, sql in found.fetchall()}


def take(connection: Any, steps: Sequence[Step]) -> None:
    """Take the steps in one transaction, and keep it if every foreign key still has its row."""
    run = connection.execute
    run("PRAGMA foreign_keys = OFF")
    run("BEGIN IMMEDIATE")
    try:
        for step in steps:
            step.change(run)
            run(f"PRAGMA user_version = {step.version}")
        make_anew(run)
        for question in (DANGLING, ASTRAY):
            found = run(question).fetchone()
            if found is not None:
                raise sqlite.driver.IntegrityError(f"afterwards {found[0]}")
        run("COMMIT")
    except BaseException:
        if connection.in_transaction:
            run("ROLLBACK")
        raise
