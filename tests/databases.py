"""Where the tests' databases are: files, or, with WALKTHROUGH_TEST_SERVER, databases of a PostgreSQL server.

A test names a database by the path of a file, on both: `url(file)` is where it really is. The server's
own is named by the path's digest, made when it is first asked for, and dropped with the test.
"""

import hashlib
import os
import pathlib
import shutil
from contextlib import closing
from typing import Any

from models.sql.sqlite import driver

SERVER = os.environ.get("WALKTHROUGH_TEST_SERVER")
"""`postgresql+psycopg://user@/{database}?host=/directory`, of a server that is the tests' own."""

MADE: dict[str, pathlib.Path] = {}
SERVED: dict[str, list[Any]] = {}
"""The server's databases by name: the file that stands for each, and the apps over it."""


def url(file: pathlib.Path) -> str:
    """What DATABASE_URL is to be for a database named by this file."""
    if SERVER is None:
        return f"sqlite:///{file}"
    if name_of(file) not in MADE:
        create(file)
    return SERVER.format(database=name_of(file))


def serve(app: Any, file: pathlib.Path) -> Any:
    """An app over a database, whose sessions end with it."""
    if SERVER is not None:
        SERVED.setdefault(name_of(file), []).append(app)
    return app


def close_all() -> None:
    """End every session that is left."""
    for apps in SERVED.values():
        for app in apps:
            app.extensions["walkthrough"].close()


def copy(source: pathlib.Path, file: pathlib.Path) -> None:
    """A database of its own with what the source holds; nobody may be connected to that."""
    if SERVER is None:
        shutil.copy(source, file)
    else:
        create(file, name_of(source))


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
    spelled = statement.replace("%", "%%").replace("?", "%s").replace("unixepoch()", "this_second()")
    with connected(name_of(file)) as connection:
        cursor = connection.cursor()
        cursor.execute(spelled, values or None)
        return cursor.fetchall() if cursor.description is not None else []


def drop_under(directory: pathlib.Path) -> None:
    """Drop the databases named by files of a test's own directory."""
    gone = [name for name, file in MADE.items() if directory in file.parents]
    if not gone:
        return
    with connected("postgres") as connection:
        for name in gone:
            for app in SERVED.pop(name, ()):
                app.extensions["walkthrough"].close()
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            del MADE[name]


# The server


def name_of(file: pathlib.Path) -> str:
    return f"t_{hashlib.sha256(str(file).encode()).hexdigest()[:24]}"


def create(file: pathlib.Path, template: str = "template0") -> None:
    with connected("postgres") as connection:
        connection.execute(f'CREATE DATABASE "{name_of(file)}" TEMPLATE "{template}"')
    MADE[name_of(file)] = file


def connected(name: str) -> Any:
    import psycopg
    import sqlalchemy as sa

    from models.sql.postgresql import CONTEXT

    at = sa.make_url(SERVER.format(database=name))
    return psycopg.connect(
        user=at.username, host=at.query["host"], dbname=name, autocommit=True, context=CONTEXT
    )
