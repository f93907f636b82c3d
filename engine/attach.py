"""Which database is an application's? The file or the server that its DATABASE_URL names; nothing is opened yet."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from flask import Flask

from engine.maintenance.check import MaintenanceError
from engine.storage import sqlite
from engine.storage.database import CACHED_STATEMENTS_MAX
from engine.storage.database import LOCK_SECONDS_MAX
from engine.storage.database import Database
from engine.storage.pool import CONNECTIONS_MAX
from models.errors import Fault
from models.fields import db


class InvalidDatabaseUrl(Fault):
    """Words that name no file and no server; they may hold a password, and are not said again."""

    def __init__(self) -> None:
        super().__init__(
            "a database's URL begins with sqlite:/// and a path, or with postgresql+psycopg://"
        )


def attach(app: Flask) -> Database:
    """Give an application its database, by its DATABASE_URL. Nothing is opened yet."""
    url = sa.make_url(app.config["DATABASE_URL"])
    found = MAKERS[url.get_backend_name()](app, url)
    app.extensions["walkthrough"] = found
    return found


def attach_url(url: str) -> Database:
    """The database of another URL than the application's, to be copied into."""
    app = Flask(__name__)
    app.config["DATABASE_URL"] = whole(url).render_as_string(hide_password=False)
    return attach(app)


def whole(stated: str) -> sa.URL:
    """A URL of a file, by its whole path, or of a server; InvalidDatabaseUrl for any other."""
    try:
        url = sa.make_url(stated)
    except (sa.exc.ArgumentError, ValueError) as error:  # ValueError: a port that is no number
        raise InvalidDatabaseUrl from error
    if url.get_backend_name() not in MAKERS:
        raise InvalidDatabaseUrl
    if url.get_backend_name() != "sqlite":
        return url
    # A ? and what follows may be dropped without a word.
    is_path = "?" not in stated and url == sa.URL.create(url.drivername, database=url.database)
    if url.drivername not in FILE_DRIVERS or not has_file(url) or not is_path:
        raise InvalidDatabaseUrl
    return url.set(database=str(Path(url.database or "").absolute()))


def has_file(url: sa.URL) -> bool:
    return url.database not in (None, "", ":memory:")


def attach_server(app: Flask, url: sa.URL) -> Database:
    """A PostgreSQL database; its driver is loaded only where it is asked for."""
    standbys = [sa.make_url(each) for each in app.config.get("DATABASE_READ_URL", ())]
    try:
        postgresql = importlib.import_module("engine.postgres.schema")
    except ImportError as error:
        raise MaintenanceError(
            f"PostgreSQL needs what is in requirements/postgres.txt: {error}"
        ) from error
    made: Database = postgresql.attached(url, standbys)
    return made


def attach_file(app: Flask, url: sa.URL) -> Database:
    """A SQLite file."""
    if not has_file(url):
        raise MaintenanceError("DATABASE_URL names no file, and what is in memory is not kept")
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    app.config["SQLALCHEMY_ENGINE_OPTIONS"] = engine_options(writable=True)
    app.config["SQLALCHEMY_BINDS"] = {"reader": {"url": url, **engine_options(writable=False)}}
    db.init_app(app)
    app.teardown_appcontext_funcs.clear()  # ends SQLAlchemy's session, of which there is none
    with app.app_context():
        writer, reader = db.engines[None], db.engines["reader"]
    for engine, writable in ((writer, True), (reader, False)):
        sa.event.listen(engine, "connect", preparing(writable=writable))
    return Database(Path(url.database or ""), writer, reader)


FILE_DRIVERS = ("sqlite", "sqlite+pysqlite")
MAKERS = {"sqlite": attach_file, "postgresql": attach_server}


def preparing(*, writable: bool) -> Any:
    def prepare(driver_connection: Any, record: Any) -> None:
        driver_connection.walkthrough = sqlite.prepare(driver_connection, writable=writable)

    return prepare


def engine_options(*, writable: bool) -> dict[str, Any]:
    return {
        "module": sqlite.driver,
        "hide_parameters": True,
        "pool_size": 1
        if writable
        else CONNECTIONS_MAX + 2,  # the watcher of the data version and the checkpointer
        "max_overflow": 0,
        "pool_timeout": LOCK_SECONDS_MAX,
        "pool_reset_on_return": None,
        # The connection used last is the one whose cache is warm, and few are made.
        "pool_use_lifo": True,
        "connect_args": {
            "cached_statements": CACHED_STATEMENTS_MAX,
            "check_same_thread": False,
            "factory": sqlite.DriverConnection,
        },
    }
