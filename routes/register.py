"""The application's routes and commands."""

from __future__ import annotations

from flask import Flask

from access.decorators import check_guards
from models import RESOURCES
from routes import browser, calendar
from routes.cli import commands, files, retention
from routes.console import register as console
from routes.console.session.auth import FileFormHeads
from routes.functions import rpc
from routes.gotrue import api_keys, sessions, users
from routes.gotrue import errors as gotrue_errors
from routes.http import metrics
from routes.http.middleware import register_middleware
from routes.openapi import views
from routes.reports import letters
from routes.reports import views as reports
from routes.resource import blueprint
from routes.storage import errors as storage_errors
from routes.storage import links, lists, objects, uploads
from routes.storage.bodies import FileConverter

SUPABASE_PREFIX = "/rest/v1"


def register(app: Flask) -> None:
    """Register the middleware, all blueprints and the commands; then check that every view has an access decorator.

    The data routes exist twice: at the root, and under /rest/v1 for Supabase clients.
    """
    register_middleware(app, {"/auth/v1/": gotrue_errors.render_fault, "/storage/v1/": storage_errors.render_fault})
    for bp in (*map(blueprint, RESOURCES.values()), rpc.bp, views.root):
        app.register_blueprint(bp)
        app.register_blueprint(bp, url_prefix=SUPABASE_PREFIX, name=f"rest_{bp.name}")
    # Without a trailing slash as well: a redirect would change the URL.
    app.add_url_rule(SUPABASE_PREFIX, "rest_root", views.document)
    for bp in (
        sessions.bp,
        users.bp,
        api_keys.bp,
        metrics.health,
        metrics.bp,
        views.bp,
        reports.bp,
        letters.bp,
        calendar.bp,
        browser.bp,
        console.bp,
    ):
        app.register_blueprint(bp)
    app.url_map.converters["file"] = FileConverter
    for bp in (lists.buckets, objects.bp, lists.bp, links.bp):
        app.register_blueprint(bp)
    app.extensions["walkthrough.uploads"] = uploads.UploadHeads(app, FileFormHeads(app).body_bytes_max)
    for bp in (commands.bp, files.bp, retention.bp):
        app.register_blueprint(bp)
    metrics.register_meters(app)
    check_guards(app)
