"""Which database is an application's? The file or the server that its DATABASE_URL names; nothing is opened yet."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from flask import Flask

from models.base import db
from models.connections import CONNECTIONS_MAX
from models.db import STATEMENTS_KEPT
from models.db import TURN_SECONDS_MAX
from models.db import Database
from models.faults import Fault
from models.sql import sqlite


class NoDatabaseUrl(Fault):
    """Words that name no database."""


def attach(app: Flask) -> Database:
    """Give an application its database, by its DATABASE_URL. Nothing is opened yet."""
    url = sa.make_url(app.config["DATABASE_URL"])
    make = MAKERS.get(url.get_backend_name(), attach_file)
    found = make(app, url)
    app.extensions["walkthrough"] = found
    return found


def elsewhere(url: str) -> Database:
    """The database of another URL than the application's, to be copied into."""
    try:
        found = sa.make_url(url)
    except sa.exc.ArgumentError as error:
        raise NoDatabaseUrl(f'"{url}" is no database URL') from error
    if found.get_backend_name() == "sqlite":
        found = found.set(database=str(Path(found.database or "").absolute()))
    app = Flask(__name__)
    app.config["DATABASE_URL"] = found.render_as_string(hide_password=False)
    return attach(app)


def attach_server(app: Flask, url: sa.URL) -> Database:
    """A PostgreSQL database; its driver is loaded only where it is asked for."""
    standbys = [sa.make_url(each) for each in app.config.get("DATABASE_READ_URL", ())]
    made: Database = importlib.import_module("models.postgresql").attached(url, standbys)
    return made


def attach_file(app: Flask, url: sa.URL) -> Database:
    """A SQLite file."""
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


MAKERS = {"postgresql": attach_server}


def preparing(*, writable: bool) -> Any:
    def prepare(driver_connection: Any, record: Any) -> None:
        driver_connection.walkthrough = sqlite.prepare(driver_connection, writable=writable)

    return prepare


def engine_options(*, writable: bool) -> dict[str, Any]:
    return {
        "module": sqlite.driver,
        "hide_parameters": True,
        "pool_size": 1 if writable else CONNECTIONS_MAX,
        "max_overflow": 0,
        "pool_timeout": TURN_SECONDS_MAX,
        "pool_reset_on_return": None,
        # The connection used last is the one whose cache is warm, and few are made.
        "pool_use_lifo": True,
        "connect_args": {
            "cached_statements": STATEMENTS_KEPT,
            "check_same_thread": False,
            "factory": sqlite.DriverConnection,
        },
    }
