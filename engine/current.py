"""The database of the current Flask application, and transactions on it."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from flask import Flask, current_app

from engine.interface.clock import day_of
from engine.interface.database import WRITE_WAIT_SECONDS_MAX, Database
from engine.interface.transaction import CURRENT, Transaction

Result = TypeVar("Result")


def database() -> Database:
    """Return the application's database."""
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]  # see access/request_state.py
    found: Database = app.extensions["walkthrough"]
    return found


def local_day(unix: float) -> datetime.date:
    """Return the day of a Unix time in TIMEZONE."""
    return day_of(unix, database().time_zone)


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
