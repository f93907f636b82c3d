"""The application: the only module that knows every room. It configures, mounts, and returns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NoReturn

import click
from flask import Flask

import config
from access.accounts.access_token import Signers
from access.decorators import Authenticator
from engine.attach import attach
from engine.maintenance import check
from engine.storage.server_lock import is_served
from routes import register as mount
from routes.cli.command import REFUSAL
from routes.flask_app import ApiFlask


class NotStarted(click.ClickException):
    """The service does not start. On the command line it is one line; the cause says more."""


def create_app(
    overrides: Mapping[str, object] | None = None, *, has_right_to_serve: bool = False
) -> Flask:
    """Make the service; `overrides` win over the environment, which wins over the kept secrets.

    `has_right_to_serve`: this process, or its parent, holds the lock of engine/storage/server_lock.py.
    """
    app = ApiFlask(__name__, static_folder=None)
    settings = config.in_force(overrides)
    app.config.from_mapping(settings)
    app.config["TESTING"] = bool(overrides and overrides.get("TESTING"))
    app.extensions["walkthrough.authenticator"] = Authenticator(
        Signers(settings["SECRET_KEY"]),
        settings["ANON_KEY"],
        settings["SERVICE_KEY"],
        settings["REQUIRE_APIKEY"],
    )
    app.extensions["walkthrough.renew_signing_key"] = partial(
        config.renew_signing_key, used=settings["SECRET_KEY"]
    )
    try:
        database = attach(app)
        app.extensions["walkthrough.clock"] = database.clock
        is_served_by_others = not has_right_to_serve and is_served(database.path)
        check.ensure_schema(database, is_served_by_others=is_served_by_others)
    except check.MaintenanceError as error:
        # A command may do without: it is no server, and nobody is served by what it has.
        is_command = click.get_current_context(silent=True) is not None
        if has_right_to_serve or not (is_command and isinstance(error, check.UnwritableDisk)):
            raise NotStarted(str(error)) from error
        app.extensions[REFUSAL] = str(error)
        app.wsgi_app = partial(refuse_to_serve, str(error))  # type: ignore[method-assign]
    mount.register(app)
    return app


def refuse_to_serve(reason: str, environ: object, start_response: object) -> NoReturn:
    """What `flask run` answers over a database that cannot be opened."""
    raise NotStarted(reason)
