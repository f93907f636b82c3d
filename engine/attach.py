"""Attach the database that DATABASE_URL names to an application. Open no file and no connection yet."""

from __future__ import annotations

import datetime
import importlib
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from flask import Flask

from engine.maintenance.check import MaintenanceError
from engine.storage import sqlite
from engine.storage.database import CACHED_STATEMENTS_MAX, WRITE_WAIT_SECONDS_MAX, Database
from engine.storage.pool import CONNECTIONS_MAX
from models.errors import Fault
from models.fields import db


class InvalidDatabaseUrl(Fault):
    """A URL that names no file and no server. The message omits the URL, which may hold a password."""

    def __init__(self) -> None:
        super().__init__("a database's URL begins with sqlite:/// and a path, or with postgresql+psycopg://")


def attach(app: Flask) -> Database:
    """Attach the database of an application's DATABASE_URL and return it. Open nothing yet."""
    url = sa.make_url(app.config["DATABASE_URL"])
    database = ENGINES[url.get_backend_name()](app, url)
    database.time_zone = time_zone(app.config.get("TIMEZONE", "UTC"))
    app.extensions["walkthrough"] = database
    return database


def time_zone(name: str) -> datetime.tzinfo:
    """Return a time zone. UTC needs no time zone database."""
    return datetime.UTC if name == "UTC" else ZoneInfo(name)


def attach_url(url: str) -> Database:
    """Return the database of a URL, for a copy. Raise InvalidDatabaseUrl."""
    app = Flask(__name__)
    app.config["DATABASE_URL"] = absolute_url(url).render_as_string(hide_password=False)
    return attach(app)


def absolute_url(text: str) -> sa.URL:
    """Return the URL of a file, with its absolute path, or of a server. Raise InvalidDatabaseUrl for any other."""
    try:
        url = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError) as error:  # ValueError: a port that is not a number
        raise InvalidDatabaseUrl from error
    if url.get_backend_name() not in ENGINES:
        raise InvalidDatabaseUrl
    if url.get_backend_name() != "sqlite":
        return url
    # SQLAlchemy may drop a query string silently.
    is_path = "?" not in text and url == sa.URL.create(url.drivername, database=url.database)
    if url.drivername not in FILE_DRIVERS or not names_file(url) or not is_path:
        raise InvalidDatabaseUrl
    return url.set(database=str(Path(url.database or "").absolute()))


def names_file(url: sa.URL) -> bool:
    """Return whether a SQLite URL names a file, not a database in memory."""
    return url.database not in (None, "", ":memory:")


def attach_server(app: Flask, url: sa.URL) -> Database:
    """Return a PostgreSQL database. Import its driver only now. Raise MaintenanceError without the driver."""
    standbys = [sa.make_url(each) for each in app.config.get("DATABASE_READ_URL", ())]
    try:
        postgresql = importlib.import_module("engine.postgres.schema")
    except ImportError as error:
        raise MaintenanceError(f"PostgreSQL needs the packages of requirements/postgres.txt: {error}") from error
    database: Database = postgresql.attached(url, standbys)
    return database


def attach_file(app: Flask, url: sa.URL) -> Database:
    """Return a SQLite database. Raise MaintenanceError for a database in memory."""
    if not names_file(url):
        raise MaintenanceError("DATABASE_URL names no file, and a database in memory is not durable")
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    app.config["SQLALCHEMY_ENGINE_OPTIONS"] = engine_options(writable=True)
    app.config["SQLALCHEMY_BINDS"] = {"reader": {"url": url, **engine_options(writable=False)}}
    db.init_app(app)
    app.teardown_appcontext_funcs.clear()  # it ends a session of SQLAlchemy, which is not used
    with app.app_context():
        writer, reader = db.engines[None], db.engines["reader"]
    for engine, writable in ((writer, True), (reader, False)):
        sa.event.listen(engine, "connect", connection_setup(writable=writable))
    return Database(Path(url.database or ""), writer, reader)


FILE_DRIVERS = ("sqlite", "sqlite+pysqlite")
ENGINES = {"sqlite": attach_file, "postgresql": attach_server}


def connection_setup(*, writable: bool) -> Any:
    """Return a listener that prepares each new connection."""

    def prepare(driver_connection: Any, record: Any) -> None:
        driver_connection.walkthrough = sqlite.prepare(driver_connection, writable=writable)

    return prepare


def engine_options(*, writable: bool) -> dict[str, Any]:
    """Return the options of the writer's or the readers' SQLAlchemy engine."""
    return {
        "module": sqlite.driver,
        "hide_parameters": True,
        "pool_size": 1 if writable else CONNECTIONS_MAX + 2,  # plus one each for the data version and the checkpointer
        "max_overflow": 0,
        "pool_timeout": WRITE_WAIT_SECONDS_MAX,
        "pool_reset_on_return": None,
        # Reuse the last used connection, whose cache is warm. This keeps the number of connections low.
        "pool_use_lifo": True,
        "connect_args": {
            "cached_statements": CACHED_STATEMENTS_MAX,
            "check_same_thread": False,
            "factory": sqlite.DriverConnection,
        },
    }
