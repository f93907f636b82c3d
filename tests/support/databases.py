"""Databases of the tests: files, or with WALKTHROUGH_TEST_SERVER databases of a PostgreSQL server.

A test names a database by the path of a file on both engines; `url(file)` returns its URL. Databases of the server
are reused after their rows are restored, since creating one takes a third of a second.
"""

import hashlib
import importlib
import os
import pathlib
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import Any

from engine.interface.database import READ_SECONDS_MAX, WRITE_SECONDS_MAX
from engine.schema.migrations import schema_version
from engine.schema.script import schema_script
from engine.storage.database import SqliteDatabase
from engine.storage.sqlite import driver
from engine.storage.writer_lock import WriterLock

SERVER = os.environ.get("WALKTHROUGH_TEST_SERVER")
"""`postgresql+psycopg://user@/{database}?host=/directory`, of a server for the tests."""

DATABASE_NAMES: dict[pathlib.Path, str] = {}
"""The name of the server's database for a file."""

APPS: dict[pathlib.Path, list[Any]] = {}
"""The applications over the database of a file."""

UNUSED: dict[pathlib.Path | None, list[str]] = {}
"""Unused databases by the file that they are a copy of. The key of empty ones is None."""


def extend_time_limits() -> None:
    """Let statements run for a minute by default: a busy machine must not change a response."""
    set_time_limits(60.0, 60.0)


def restore_time_limits() -> None:
    """Set the time limits that the service ships."""
    set_time_limits(READ_SECONDS_MAX, WRITE_SECONDS_MAX)


def set_time_limits(read_seconds_max: float, write_seconds_max: float) -> None:
    kind: Any = SqliteDatabase
    if SERVER is not None:
        server: Any = importlib.import_module("postgres.database")
        server.READ_SECONDS_MAX = read_seconds_max
        kind = server.ServerDatabase
    kind.reading.__defaults__ = (read_seconds_max,)
    writing = kind.writing.__wrapped__
    writing.__defaults__ = (write_seconds_max, *writing.__defaults__[1:])


def url(file: pathlib.Path) -> str:
    """Return the DATABASE_URL of the database for a file."""
    if SERVER is None:
        return f"sqlite:///{file}"
    if file not in DATABASE_NAMES:
        assign_database(file, None)
    return SERVER.format(database=DATABASE_NAMES[file])


def register_app(app: Any, file: pathlib.Path) -> Any:
    """Register an application, so that its sessions end before its database is reused."""
    if SERVER is not None:
        APPS.setdefault(file, []).append(app)
    return app


def unregister_app(app: Any, file: pathlib.Path) -> None:
    """Remove an application from the registered ones, if it is registered."""
    if app in APPS.get(file, ()):
        APPS[file].remove(app)


def close_all() -> None:
    """Close all remaining sessions."""
    for connection in RESTORE_SESSIONS.values():
        connection.close()
    for apps in APPS.values():
        for app in apps:
            app.extensions["walkthrough"].close()


def copy(source: pathlib.Path, file: pathlib.Path) -> None:
    """Copy a database. No session may be connected to the source."""
    if SERVER is None:
        shutil.copy(source, file)
    else:
        assign_database(file, source)


def restore_copy(source: pathlib.Path, file: pathlib.Path) -> None:
    """Give a copy that a service has open the rows of its source again."""
    if SERVER is not None:
        with hold_advisory_lock(DATABASE_NAMES[file]):
            restore(DATABASE_NAMES[file])
        return
    locked = WriterLock(pathlib.Path(f"{file}.lock")).held(5)
    with locked, closing(driver.connect(source)) as rows, closing(driver.connect(file)) as copied:
        rows.backup(copied)


def close_for_copy(app: Any, file: pathlib.Path) -> None:
    """Close a database and checkpoint its WAL, so that it can be copied."""
    app.extensions["walkthrough"].close()
    if SERVER is None:
        # The service's own driver: two copies of SQLite in one process release each other's locks.
        with closing(driver.connect(file)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def sql(file: pathlib.Path, statement: str, *values: object) -> list:
    """Run a statement on a database without the service. `?` is the placeholder on both engines."""
    if SERVER is None:
        with closing(driver.connect(file)) as connection, connection:
            return connection.execute(statement, values).fetchall()
    with connect_to(DATABASE_NAMES[file]) as connection:
        cursor = connection.cursor()
        cursor.execute(to_postgresql(statement), values or None)
        return cursor.fetchall() if cursor.description is not None else []


def sql_without_checks(file: pathlib.Path, statement: str) -> None:
    """Run a statement on a SQLite file that may violate CHECK constraints."""
    with closing(driver.connect(file)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement)


def to_postgresql(statement: str) -> str:
    """Return a statement in the syntax of the server's driver."""
    return statement.replace("%", "%%").replace("?", "%s").replace("unixepoch()", "this_second()")


@contextmanager
def hold_writer_lock(file: pathlib.Path) -> Iterator[Callable[..., object]]:
    """Hold the writer lock as another process does. Yields a function that runs statements with the lock."""
    if SERVER is None:
        with WriterLock(pathlib.Path(f"{file}.lock")).held(5):
            yield partial(sql, file)
        return
    with hold_advisory_lock(DATABASE_NAMES[file]) as connection:
        yield lambda statement, *values: connection.execute(to_postgresql(statement), values)


def waiting_writers(file: pathlib.Path) -> int:
    """Return how many wait for the writer lock: processes for a file, requests for a server."""
    if SERVER is not None:
        return waiting_sessions(DATABASE_NAMES[file])
    place = pathlib.Path(f"{file}.lock").stat().st_ino
    locks = pathlib.Path("/proc/locks").read_text(encoding="ascii")
    return len(re.findall(rf"-> FLOCK .*:{place} ", locks))


@contextmanager
def hold_lock_of_app(opened: Any) -> Iterator[Callable[[], int]]:
    """Hold the writer lock of an application of this process, given its `app.extensions["walkthrough"]`.

    Yields a function that returns the number of waiting requests. On both engines they get the lock in order.
    """
    if SERVER is None:
        with opened.writer_lock.held(1):
            yield lambda: len(opened.writer_lock.waiting)
        return
    with hold_advisory_lock(opened.url.database):
        yield partial(waiting_sessions, opened.url.database)


def is_being_read(file: pathlib.Path) -> bool:
    """Return whether a session has an open snapshot or transaction."""
    if SERVER is None:
        [(busy, _, _)] = sql(file, "PRAGMA wal_checkpoint(TRUNCATE)")
        return bool(busy)
    [(open_ones,)] = sql(
        file,
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND xact_start IS NOT NULL AND pid <> pg_backend_pid()",
    )
    return open_ones > 0


def tables(file: pathlib.Path) -> list[str]:
    """Return all tables, also hidden ones."""
    where = "sqlite_schema WHERE type = 'table'" if SERVER is None else "pg_tables WHERE schemaname = 'public'"
    return [name for (name,) in sql(file, f"SELECT {'name' if SERVER is None else 'tablename'} FROM {where}")]


def discard(file: pathlib.Path) -> None:
    """Drop a server's database whose schema a test has changed."""
    for app in APPS.pop(file, ()):
        app.extensions["walkthrough"].close()
    name = DATABASE_NAMES.pop(file)
    SOURCES.pop(name)
    with connect_to("postgres") as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def release_databases_below(directory: pathlib.Path) -> None:
    """Release the databases of the files below a directory."""
    for file in [each for each in DATABASE_NAMES if directory in each.parents]:
        for app in APPS.pop(file, ()):
            app.extensions["walkthrough"].close()
        name = DATABASE_NAMES.pop(file)
        UNUSED[SOURCES.pop(name)].append(name)


# The server

SOURCES: dict[str, pathlib.Path | None] = {}

SAVE_ROWS = """
CREATE SCHEMA kept;
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        EXECUTE format('CREATE TABLE kept.%1$I AS TABLE public.%1$I', name);
    END LOOP;
    CREATE TABLE kept.sequences AS
        SELECT sequencename AS name, last_value AS last FROM pg_sequences WHERE schemaname = 'public';
END $$;
DO $do$ BEGIN
    -- One statement for each table, so that a session plans each once.
    EXECUTE 'CREATE FUNCTION kept.restore() RETURNS void LANGUAGE plpgsql'
        || ' SET session_replication_role = replica AS $$ BEGIN '
        || (SELECT string_agg(format('DELETE FROM public.%1$I;'
                || ' INSERT INTO public.%1$I SELECT * FROM kept.%1$I;', tablename), ' ')
            FROM pg_tables WHERE schemaname = 'public')
        || ' PERFORM setval(sequences.name::regclass, coalesce(last, 1), last IS NOT NULL)'
        || ' FROM kept.sequences; END $$';
END $do$;
"""

RESTORE_SESSIONS: dict[str, Any] = {}
"""The session that restores the rows of each database."""


def assign_database(file: pathlib.Path, source: pathlib.Path | None) -> None:
    """Assign a database to a file: a copy of the source, or an empty one."""
    free = UNUSED.setdefault(source, [])
    if free:
        name = free.pop()
        restore(name)
    else:
        name = f"t_{hashlib.sha256(str(file).encode()).hexdigest()[:24]}"
        create(name, "template0" if source is None else DATABASE_NAMES[source])
        with connect_to(name) as connection:
            if source is None:
                connection.execute(schema_script("postgresql"))
                connection.execute("INSERT INTO facts VALUES ('release_schema', %s)", (schema_version(),))
            connection.execute("DROP SCHEMA IF EXISTS kept CASCADE")
            connection.execute(SAVE_ROWS)
    DATABASE_NAMES[file] = name
    SOURCES[name] = source


def restore(name: str) -> None:
    """Restore the rows of a database, in a session that is kept unless a test ended it."""
    import psycopg

    with suppress(psycopg.OperationalError, KeyError):
        RESTORE_SESSIONS[name].execute("SELECT kept.restore()")
        return
    RESTORE_SESSIONS[name] = connect_to(name)
    RESTORE_SESSIONS[name].execute("SELECT kept.restore()")


@contextmanager
def hold_advisory_lock(name: str) -> Iterator[Any]:
    with connect_to(name) as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (0x57414C4B,))
        yield connection


def waiting_sessions(name: str) -> int:
    """Return the number of sessions that wait for the writer lock of a database."""
    with connect_to("postgres") as connection:
        [(count,)] = connection.execute(
            "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database"
            " WHERE locktype = 'advisory' AND NOT granted AND datname = %s",
            (name,),
        )
        return int(count)


def create(name: str, template: str) -> None:
    if template in RESTORE_SESSIONS:  # a template must have no sessions
        RESTORE_SESSIONS.pop(template).close()
    with connect_to("postgres") as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')


def connect_to(name: str) -> Any:
    import psycopg
    import sqlalchemy as sa

    from postgres.session import CONTEXT

    at = sa.make_url(SERVER.format(database=name))
    return psycopg.connect(user=at.username, host=at.query["host"], dbname=name, autocommit=True, context=CONTEXT)
