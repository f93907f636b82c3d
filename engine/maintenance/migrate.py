"""Migrate a SQLite file: a copy of the file, then every pending script in one transaction.

A power cut leaves the old version or the new one: `user_version` is on the file's first page and is committed with
the tables. The write lock is held throughout, so that one of several starting processes migrates.
"""

from __future__ import annotations

import filecmp
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine.schema import migrations
from engine.schema.migrations import Migration
from engine.schema.script import schema_script, violations
from engine.schema.tables import SQLITE
from engine.storage import file_copies, sqlite
from engine.storage.writer_lock import WriterLock

WAIT_SECONDS_MAX = 600.0  # for another process that migrates the same file


class MigrationFailed(Exception):
    """The file stays at its version. The message is one line."""


def migrate(path: Path, writer_lock: WriterLock) -> int:
    """Migrate the file and return the version that it had before."""
    with writer_lock.held(WAIT_SECONDS_MAX), file_copies.opened(path) as connection:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        pending = migrations.pending(version)
        if not pending:
            return version
        save_copy(path, version)
        try:
            apply(connection, pending, path)
        except sqlite.ERRORS as error:
            raise MigrationFailed(f"{path} stays at schema {version}: {error}") from error
        return version


def save_copy(path: Path, version: int) -> None:
    """Copy the file beside earlier copies, and drop the new copy if it equals the last one."""
    earlier: list[Path] = []
    while os.path.lexists(target := backup_path(path, version, len(earlier) + 1)):
        earlier.append(target)
    file_copies.copy(path, target)
    if earlier and filecmp.cmp(earlier[-1], target, shallow=False):
        target.unlink()


def backup_path(path: Path, version: int, number: int = 1) -> Path:
    """Return the path of the n-th copy of a file that had this version.

    >>> backup_path(Path("a.db"), 1).name, backup_path(Path("a.db"), 1, 2).name
    ('a.db.schema-1', 'a.db.schema-1.2')
    """
    return path.with_name(f"{path.name}.schema-{version}{f'.{number}' if number > 1 else ''}")


def apply(connection: Any, pending: Sequence[Migration], path: Path) -> None:
    """Run the scripts in one transaction. Commit if all columns exist and every foreign key has its row, else roll
    back and raise."""
    run = connection.execute
    run("PRAGMA foreign_keys = OFF")
    with committed(connection):
        drop_triggers_and_views(connection)
        for migration in pending:
            for statement in statements(migration.sqlite):
                run(statement)
            run(f"PRAGMA user_version = {migration.version}")
        require_columns(run, path)
        recreate_schema_objects(connection)
        violation = next(violations(run), None)
        if violation is not None:
            raise sqlite.driver.IntegrityError(f"afterwards {violation}")


@contextmanager
def committed(connection: Any) -> Iterator[None]:
    """Run a block in one transaction, and commit it unless it raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def drop_triggers_and_views(connection: Any) -> None:
    """Let a script rebuild a table that triggers name, and fill in columns without entries in the audit log."""
    for name, (kind, _) in schema_objects(connection).items():
        if kind in ("trigger", "view"):
            connection.execute(f"DROP {kind} {name}")


def recreate_schema_objects(connection: Any) -> None:
    """Make indexes, views and triggers those of a new file. Equal ones stay."""
    with closing(sqlite.driver.connect(":memory:")) as new:
        for statement in schema():
            new.execute(statement)
        wanted = schema_objects(new)
    present = schema_objects(connection)
    for name, (kind, sql) in present.items():
        if wanted.get(name) != (kind, sql):
            connection.execute(f"DROP {kind} {name}")
    for name, (kind, sql) in wanted.items():
        if present.get(name) != (kind, sql):
            connection.execute(sql)


def schema_objects(connection: Any) -> dict[str, tuple[str, str]]:
    """Return kind and statement of every index, view and trigger, by name."""
    rows = connection.execute("SELECT name, type, sql FROM sqlite_schema WHERE type <> 'table' AND sql IS NOT NULL")
    return {name: (kind, sql) for name, kind, sql in rows.fetchall()}


def schema() -> list[str]:
    """Return every statement, in order."""
    return statements(schema_script(SQLITE))


def statements(script: str) -> list[str]:
    """Split a script into statements, each of which ends a line. A trigger's body holds semicolons of its own.

    Raise ValueError if the last statement has no semicolon.
    """
    complete: list[str] = []
    pending = ""
    for line in script.splitlines():
        code = line.split("--")[0].rstrip()
        pending = f"{pending}\n{code}" if pending else code
        if code.endswith(";") and sqlite.driver.complete_statement(pending):
            complete.append(pending)
            pending = ""
    if pending.strip():
        raise ValueError(f"the last statement has no semicolon: {pending.strip()}")
    return complete


SHAPE = (
    "SELECT s.type, s.name, c.name, c.type, c.[notnull], c.pk FROM sqlite_schema s"
    " LEFT JOIN pragma_table_info(s.name) c ON s.type = 'table' WHERE s.name NOT LIKE 'sqlite_%'"
)
OBJECTS = "SELECT type, name, sql FROM sqlite_schema WHERE type <> 'table' AND sql IS NOT NULL"
TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table'"

Run = Callable[[str], Iterable[Any]]


@lru_cache(maxsize=1)
def new_file(script: str) -> tuple[set[Any], set[Any]]:
    """Return the rows of SHAPE and of OBJECTS in a new file."""
    with closing(sqlite.driver.connect(":memory:")) as new:
        for statement in statements(script):
            new.execute(statement)
        return set(new.execute(SHAPE).fetchall()), set(new.execute(OBJECTS).fetchall())


def schema_differences(run: Run) -> list[str]:
    """Return a line for each table, index, view and trigger of a file that differs from this version's schema."""
    shape, objects = new_file(schema_script(SQLITE))
    changed = objects - set(run(OBJECTS))
    names = {f"{row[0]} {row[1]}" for row in (*(shape ^ set(run(SHAPE))), *changed)}
    return [f"the {name} differs from the schema of this version" for name in sorted(names)]


def require_columns(run: Run, path: Path) -> None:
    """Raise MigrationFailed if a file of this version lacks a table or a column."""
    shape, _ = new_file(schema_script(SQLITE))
    absent: dict[str, set[str]] = {}
    for _, table, column, *_ in (row for row in shape - set(run(SHAPE)) if row[0] == "table"):
        absent.setdefault(table, set()).add(column)
    if absent:
        tables = {name for (name,) in run(TABLES)}
        raise MigrationFailed(f"{path} lacks {migrations.lacking(absent, tables)}: it {migrations.EARLIER_VERSION}")


def lacks_objects(run: Run) -> bool:
    """Return whether an index, view or trigger of this version is absent or differs."""
    _, objects = new_file(schema_script(SQLITE))
    return bool(objects - set(run(OBJECTS)))


def recreate_changed_objects(path: Path, writer_lock: WriterLock) -> None:
    """Make indexes, views and triggers of a file those of a new one, if one is absent or differs.

    Development versions had others under the same version.
    """
    with writer_lock.held(WAIT_SECONDS_MAX), file_copies.opened(path) as connection:
        if lacks_objects(connection.execute):
            with committed(connection):
                recreate_schema_objects(connection)
