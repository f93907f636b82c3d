"""Where the tests' databases are: files, or, with WALKTHROUGH_TEST_SERVER, databases of a PostgreSQL server.

A test names a database by the path of a file, on both: `url(file)` is where it really is. The server's
databases are used again, each made what it was by deleting and inserting: to create one takes a third of a second.
"""

import hashlib
import os
import pathlib
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import Any

from engine.maintenance.migrations import schema_version
from engine.storage.sqlite import driver
from engine.storage.writer_lock import WriterLock

SCHEMA = pathlib.Path(__file__).parents[2] / "engine" / "postgres" / "schema.sql"
SERVER = os.environ.get("WALKTHROUGH_TEST_SERVER")
"""`postgresql+psycopg://user@/{database}?host=/directory`, of a server that is the tests' own."""

NAMES: dict[pathlib.Path, str] = {}
"""The server's database that stands for a file."""

SERVED: dict[pathlib.Path, list[Any]] = {}
"""The apps over it."""

FREE: dict[pathlib.Path | None, list[str]] = {}
"""Databases that were a copy of a file, or, of None, empty: to be made so again is faster than to be made."""


def url(file: pathlib.Path) -> str:
    """What DATABASE_URL is to be for a database named by this file."""
    if SERVER is None:
        return f"sqlite:///{file}"
    if file not in NAMES:
        take(file, None)
    return SERVER.format(database=NAMES[file])


def serve(app: Any, file: pathlib.Path) -> Any:
    """An app over a database, whose sessions end with it."""
    if SERVER is not None:
        SERVED.setdefault(file, []).append(app)
    return app


def serve_no_more(app: Any, file: pathlib.Path) -> None:
    """What was served by an app is so no more, if it was not given back before."""
    if app in SERVED.get(file, ()):
        SERVED[file].remove(app)


def close_all() -> None:
    """End every session that is left."""
    for connection in RESTORING.values():
        connection.close()
    for apps in SERVED.values():
        for app in apps:
            app.extensions["walkthrough"].close()


def copy(source: pathlib.Path, file: pathlib.Path) -> None:
    """A database of its own with what the source holds; nobody may be connected to that."""
    if SERVER is None:
        shutil.copy(source, file)
    else:
        take(file, source)


def settle(app: Any, file: pathlib.Path) -> None:
    """Let go of a database that is to be copied, all of it in one place."""
    app.extensions["walkthrough"].close()
    if SERVER is None:
        # The service's own driver: two SQLites in one process undo each other's locks.
        with closing(driver.connect(file)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def sql(file: pathlib.Path, statement: str, *values: object) -> list:
    """Look into, or reach into, a database past the service; `?` is a value, as SQLite has it."""
    if SERVER is None:
        with closing(driver.connect(file)) as connection, connection:
            return connection.execute(statement, values).fetchall()
    with connected(NAMES[file]) as connection:
        cursor = connection.cursor()
        cursor.execute(spelled(statement), values or None)
        return cursor.fetchall() if cursor.description is not None else []


def spelled(statement: str) -> str:
    """A statement as the server's driver takes it."""
    return statement.replace("%", "%%").replace("?", "%s").replace("unixepoch()", "this_second()")


@contextmanager
def turn(file: pathlib.Path) -> Iterator[Callable[..., object]]:
    """Hold the turn to write, as another process does; what this yields is `sql` of whoever has it."""
    if SERVER is None:
        with WriterLock(pathlib.Path(f"{file}.lock")).held(5):
            yield partial(sql, file)
        return
    with turn_in(NAMES[file]) as connection:
        yield lambda statement, *values: connection.execute(spelled(statement), values)


def waiting(file: pathlib.Path) -> int:
    """How many wait for the turn to write: processes at a file, requests at a server."""
    if SERVER is not None:
        return waiting_in(NAMES[file])
    place = pathlib.Path(f"{file}.lock").stat().st_ino
    locks = pathlib.Path("/proc/locks").read_text(encoding="ascii")
    return len(re.findall(rf"-> FLOCK .*:{place} ", locks))


@contextmanager
def queue(opened: Any) -> Iterator[Callable[[], int]]:
    """Hold the turn to write that an app of this process needs, by its `app.extensions["walkthrough"]`; what this
    yields tells how many requests wait for it. Who waits first is first, on both."""
    if SERVER is None:
        with opened.writer_lock.held(1):
            yield lambda: len(opened.writer_lock.waiting)
        return
    with turn_in(opened.url.database):
        yield partial(waiting_in, opened.url.database)


def is_being_read(file: pathlib.Path) -> bool:
    """Whether somebody keeps a snapshot, or a transaction at all, open."""
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
    """Every table, hidden ones too."""
    where = "sqlite_schema WHERE type = 'table'" if SERVER is None else "pg_tables WHERE schemaname = 'public'"
    return [name for (name,) in sql(file, f"SELECT {'name' if SERVER is None else 'tablename'} FROM {where}")]


def discard(file: pathlib.Path) -> None:
    """Drop a server's database whose tables a test has changed: it cannot be used again."""
    for app in SERVED.pop(file, ()):
        app.extensions["walkthrough"].close()
    name = NAMES.pop(file)
    SOURCES.pop(name)
    with connected("postgres") as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def give_back_under(directory: pathlib.Path) -> None:
    """Give back the databases named by files of a test's own directory."""
    for file in [each for each in NAMES if directory in each.parents]:
        for app in SERVED.pop(file, ()):
            app.extensions["walkthrough"].close()
        name = NAMES.pop(file)
        FREE[SOURCES.pop(name)].append(name)


# The server

SOURCES: dict[str, pathlib.Path | None] = {}

KEEP = """
CREATE SCHEMA kept;
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        EXECUTE format('CREATE TABLE kept.%1$I AS TABLE public.%1$I', name);
    END LOOP;
    CREATE TABLE kept.sequences AS
        SELECT sequencename AS name, last_value AS last FROM pg_sequences WHERE schemaname = 'public';
END $$;
DO $do$ BEGIN
    -- Said table by table, so that a session plans it once.
    EXECUTE 'CREATE FUNCTION kept.restore() RETURNS void LANGUAGE plpgsql'
        || ' SET session_replication_role = replica AS $$ BEGIN '
        || (SELECT string_agg(format('DELETE FROM public.%1$I;'
                || ' INSERT INTO public.%1$I SELECT * FROM kept.%1$I;', tablename), ' ')
            FROM pg_tables WHERE schemaname = 'public')
        || ' PERFORM setval(sequences.name::regclass, coalesce(last, 1), last IS NOT NULL)'
        || ' FROM kept.sequences; END $$';
END $do$;
"""

RESTORING: dict[str, Any] = {}
"""The sessions in which databases are made what they were."""


def take(file: pathlib.Path, source: pathlib.Path | None) -> None:
    """Let a database stand for a file that is a copy of another, or empty."""
    free = FREE.setdefault(source, [])
    if free:
        name = free.pop()
        restore(name)
    else:
        name = f"t_{hashlib.sha256(str(file).encode()).hexdigest()[:24]}"
        create(name, "template0" if source is None else NAMES[source])
        with connected(name) as connection:
            if source is None:
                connection.execute(SCHEMA.read_text())
                connection.execute("INSERT INTO facts VALUES ('release_schema', %s)", (schema_version(),))
            connection.execute("DROP SCHEMA IF EXISTS kept CASCADE")
            connection.execute(KEEP)
    NAMES[file] = name
    SOURCES[name] = source


def restore(name: str) -> None:
    """Make a database what it was, in a session that has planned how to, if no test has ended that."""
    import psycopg

    with suppress(psycopg.OperationalError, KeyError):
        RESTORING[name].execute("SELECT kept.restore()")
        return
    RESTORING[name] = connected(name)
    RESTORING[name].execute("SELECT kept.restore()")


@contextmanager
def turn_in(name: str) -> Iterator[Any]:
    with connected(name) as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (0x57414C4B,))
        yield connection


def waiting_in(name: str) -> int:
    """Who has asked for the turn and has not got it, all of them in the order in which they asked."""
    with connected("postgres") as connection:
        [(count,)] = connection.execute(
            "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database"
            " WHERE locktype = 'advisory' AND NOT granted AND datname = %s",
            (name,),
        )
        return int(count)


def create(name: str, template: str) -> None:
    if template in RESTORING:  # nobody may be connected to it
        RESTORING.pop(template).close()
    with connected("postgres") as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')


def connected(name: str) -> Any:
    import psycopg
    import sqlalchemy as sa

    from engine.postgres.session import CONTEXT

    at = sa.make_url(SERVER.format(database=name))
    return psycopg.connect(user=at.username, host=at.query["host"], dbname=name, autocommit=True, context=CONTEXT)
