"""The application factory. It reads the configuration, opens the database and registers the routes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NoReturn

import click
from flask import Flask
from flask.cli import run_command

import config
from access.access_token import TokenSigner
from access.session import Authenticator
from engine.maintenance import check
from engine.open import open_configured
from engine.storage.database import is_served
from inspections.deadlines import adopt_deadlines
from inspections.files.store import FileStore, require_folder
from inspections.lead.readings import register_lead_rules
from inspections.register import register_rules
from routes.cli.command import DATABASE_ERROR, MISSING_DATABASE, MissingDatabase
from routes.http.flask_app import ApiFlask
from routes.register import register
from system import bound_heap


class NotStarted(click.ClickException):
    """The service cannot start. The command line prints the message on one line; `__cause__` holds the reason."""


def create_app(overrides: Mapping[str, object] | None = None, *, has_right_to_serve: bool = False) -> Flask:
    """Return the configured application; raise NotStarted or ConfigurationError.

    `overrides` take precedence over the environment, and the environment over the secrets file. Set
    `has_right_to_serve` if this process or its parent holds the lock of engine/storage/database.py.
    """
    refuse_development_server()
    bound_heap()
    app = ApiFlask(__name__, static_folder=None)
    settings = config.current_settings(overrides)
    register_rules(settings["RETENTION_YEARS"])
    register_lead_rules()
    app.config.from_mapping(settings)
    app.config["TESTING"] = bool(overrides and overrides.get("TESTING"))
    app.extensions["walkthrough.authenticator"] = Authenticator(
        TokenSigner(settings["SECRET_KEY"]), settings["ANON_KEY"], settings["SERVICE_KEY"], settings["REQUIRE_APIKEY"]
    )
    files = app.extensions["walkthrough.files"] = FileStore(settings["FILES_DIR"])
    app.extensions["walkthrough.renew_signing_key"] = partial(config.renew_signing_key, used=settings["SECRET_KEY"])
    try:
        database = app.extensions["walkthrough"] = open_configured(app.config)
        app.extensions["walkthrough.clock"] = database.clock
        is_served_by_others = not has_right_to_serve and is_served(database.path)
        create = partial(
            check.ensure_schema, database, is_served_by_others=is_served_by_others, repairs=has_right_to_serve
        )
        missing = missing_database(database.path, create) if config.has_default_database(overrides) else None
        if missing is not None:
            app.extensions[MISSING_DATABASE] = missing
            app.wsgi_app = partial(refuse_to_serve, missing.message())  # type: ignore[method-assign]
        elif needs_tables():
            create()
            adopt_deadlines(database, settings["FINDING_DEADLINES"])
        if has_right_to_serve:
            require_folder(database, files)
    except check.MaintenanceError as error:
        # Some commands work without an open database.
        is_command = click.get_current_context(silent=True) is not None
        if has_right_to_serve or not (is_command and isinstance(error, check.UnwritableDisk)):
            raise NotStarted(str(error)) from error
        app.extensions[DATABASE_ERROR] = str(error)
        app.wsgi_app = partial(refuse_to_serve, str(error))  # type: ignore[method-assign]
    register(app)
    return app


def missing_database(path: Path | None, create: Callable[[], None]) -> MissingDatabase | None:
    """Return the missing default database of a `flask` command, which decides whether to create it; otherwise None."""
    is_command = click.get_current_context(silent=True) is not None
    if path is None or path.exists() or not is_command:
        return None
    return MissingDatabase(path, config.DEMONSTRATION, create)


def needs_tables() -> bool:
    """Return whether this process uses the database: every process except `flask schema`.

    A database that it creates would have the changed tables and the old version, and its migration would fail. Click
    does not pass the name of the command to the factory.
    """
    return click.get_current_context(silent=True) is None or "schema" not in sys.argv[1:]


def refuse_to_serve(reason: str, environ: object, start_response: object) -> NoReturn:
    """Raise NotStarted: the WSGI application over a database that cannot be opened."""
    raise NotStarted(reason)


def refuse_development_server() -> None:
    """Raise NotStarted for `flask run`: it holds neither the serving lock nor the limits of the worker."""
    run_command.hidden = True
    context = click.get_current_context(silent=True)
    if context is not None and context.command is run_command:
        raise NotStarted("flask run is a development server: start the service with bin/serve")
