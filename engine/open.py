"""Open the database that a URL or the settings name."""

from __future__ import annotations

import datetime
import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from engine.interface.database import Database
from engine.maintenance.check import MaintenanceError
from engine.storage.database import SqliteDatabase
from models.errors import Fault


class InvalidDatabaseUrl(Fault):
    """A URL that names no file and no server. The message omits the URL, which may hold a password."""

    def __init__(self) -> None:
        super().__init__("a database's URL begins with sqlite:/// and a path, or with postgresql+psycopg://")


def open_database(url: str | sa.URL, standbys: Sequence[str] = ()) -> Database:
    """Return the database of a URL. Open no file and no connection yet. Raise MaintenanceError for an unusable URL."""
    parts = sa.make_url(url)
    return ENGINES[parts.get_backend_name()](parts, [sa.make_url(each) for each in standbys])


def open_configured(settings: Mapping[str, Any]) -> Database:
    """Return the database of DATABASE_URL, with its settings."""
    database = open_database(settings["DATABASE_URL"], settings.get("DATABASE_READ_URL", ()))
    database.time_zone = time_zone(settings.get("TIMEZONE", "UTC"))
    return database


def time_zone(name: str) -> datetime.tzinfo:
    """Return a time zone. UTC needs no time zone database."""
    return datetime.UTC if name == "UTC" else ZoneInfo(name)


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


def open_server(url: sa.URL, standbys: Sequence[sa.URL]) -> Database:
    """Return a PostgreSQL database. Import its driver only now. Raise MaintenanceError without the driver."""
    try:
        postgresql = importlib.import_module("engine.postgres.schema")
    except ImportError as error:
        raise MaintenanceError(f"PostgreSQL needs the packages of requirements/postgres.txt: {error}") from error
    database: Database = postgresql.attached(url, standbys)
    return database


def open_file(url: sa.URL, standbys: Sequence[sa.URL]) -> Database:
    """Return a SQLite database, which has no standbys. Raise MaintenanceError for a database in memory."""
    if not names_file(url):
        raise MaintenanceError("DATABASE_URL names no file, and a database in memory is not durable")
    return SqliteDatabase(Path(url.database or ""))


FILE_DRIVERS = ("sqlite", "sqlite+pysqlite")
ENGINES = {"sqlite": open_file, "postgresql": open_server}
