"""The application's routes and commands."""

from __future__ import annotations

from flask import Flask

from access.decorators import check_guards
from models import RESOURCES
from routes import calendar
from routes.cli import commands, files
from routes.console import register as console
from routes.console.session.form_heads import FileFormHeads
from routes.functions import rpc
from routes.gotrue import api_keys, sign_in, users
from routes.gotrue import errors as gotrue_errors
from routes.http import health, metrics
from routes.http.middleware import register_middleware
from routes.openapi import views as docs
from routes.reports import views as reports
from routes.resource import blueprint
from routes.storage import buckets, heads, links, lists, objects
from routes.storage import errors as storage_errors
from routes.storage.payload import FileConverter

SUPABASE_PREFIX = "/rest/v1"


def register(app: Flask) -> None:
    """Register the middleware, all blueprints and the commands; then check that every view has an access decorator.

    The data routes exist twice: at the root, and under /rest/v1 for Supabase clients.
    """
    register_middleware(app, {"/auth/v1/": gotrue_errors.render_fault, "/storage/v1/": storage_errors.render_fault})
    for bp in (*map(blueprint, RESOURCES.values()), rpc.bp, docs.root):
        app.register_blueprint(bp)
        app.register_blueprint(bp, url_prefix=SUPABASE_PREFIX, name=f"rest_{bp.name}")
    # Without a trailing slash as well: a redirect would change the URL.
    app.add_url_rule(SUPABASE_PREFIX, "rest_root", docs.document)
    for bp in (sign_in.bp, users.bp, api_keys.bp, health.bp, metrics.bp, docs.bp, reports.bp, calendar.bp, console.bp):
        app.register_blueprint(bp)
    app.url_map.converters["file"] = FileConverter
    for bp in (buckets.bp, objects.bp, lists.bp, links.bp):
        app.register_blueprint(bp)
    app.extensions["walkthrough.uploads"] = heads.UploadHeads(app, FileFormHeads(app).body_bytes_max)
    for bp in (commands.bp, files.bp):
        app.register_blueprint(bp)
    metrics.register_meters(app)
    check_guards(app)
