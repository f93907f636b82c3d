"""Open the database that a URL or the settings name, and begin transactions on that of the Flask application."""

from __future__ import annotations

import datetime
import importlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from flask import Flask, current_app

from engine.interface.clock import day_of, in_zone
from engine.interface.database import CURRENT, WRITE_WAIT_SECONDS_MAX, Database, Transaction
from engine.maintenance.check import MaintenanceError
from engine.storage.database import SqliteDatabase
from settings import database_path


def open_database(url: str | sa.URL, standbys: Sequence[str] = ()) -> Database:
    """Return the database of an absolute URL. Open no connection yet. Raise MaintenanceError for an unusable URL."""
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


def open_server(url: sa.URL, standbys: Sequence[sa.URL]) -> Database:
    """Return a PostgreSQL database. Import its driver only now. Raise MaintenanceError without the driver."""
    try:
        postgresql = importlib.import_module("postgres.schema")
    except ImportError as error:
        raise MaintenanceError(f"PostgreSQL needs the packages of requirements/postgres.txt: {error}") from error
    database: Database = postgresql.attached(url, standbys)
    return database


def open_file(url: sa.URL, standbys: Sequence[sa.URL]) -> Database:
    """Return a SQLite database, which has no standbys. Raise MaintenanceError for a database in memory."""
    path = database_path(url)
    if path is None:
        raise MaintenanceError("DATABASE_URL names no file, and a database in memory is not durable")
    return SqliteDatabase(path)


ENGINES = {"sqlite": open_file, "postgresql": open_server}


Result = TypeVar("Result")


def database() -> Database:
    """Return the application's database."""
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]  # see access/session.py
    found: Database = app.extensions["walkthrough"]
    return found


def local_day(unix: float) -> datetime.date:
    """Return the day of a Unix time in TIMEZONE."""
    return day_of(unix, database().time_zone)


def local_time(stored: str) -> datetime.datetime:
    """Return a stored timestamp in TIMEZONE."""
    return in_zone(stored, database().time_zone)


def zone_info() -> ZoneInfo | None:
    """Return TIMEZONE; None for UTC."""
    zone = database().time_zone
    return zone if isinstance(zone, ZoneInfo) else None


def reading(seconds_max: float | None = None) -> AbstractContextManager[Transaction]:
    """Return the current transaction, or a new snapshot for reading only."""
    current = CURRENT.get()
    return database().reading(**limit_of(seconds_max)) if current is None else nullcontext(current)


def writing(
    wait_seconds_max: float = WRITE_WAIT_SECONDS_MAX,
    *,
    seconds_max: float | None = None,
    is_brief: bool = False,
    client_id: int | None = None,
) -> AbstractContextManager[Transaction]:
    """Return a transaction that writes. Raise LockTimeout if the writer lock is not free in time."""
    return database().writing(
        wait_seconds_max=wait_seconds_max, is_brief=is_brief, client_id=client_id, **limit_of(seconds_max)
    )


def limit_of(seconds_max: float | None) -> dict[str, float]:
    """Return the argument for a time limit; none for the limit of most transactions."""
    return {} if seconds_max is None else {"seconds_max": seconds_max}


def on_any_server(transaction: Transaction, read: Callable[[], Result]) -> Result:
    """Return the result of `read`, computed on a hot standby if one qualifies.

    A hot standby qualifies if its snapshot has the same rights and the caller's writes (see `ReplicationPositions`).
    Call it inside `reading()`. `read` may be called twice: a hot standby can fail.
    """
    if not transaction.reports_positions:
        return read()
    return database().on_any_server(transaction, read)
