"""Which function answers which URL or command: `register` puts all of it on an application."""

from __future__ import annotations

from flask import Flask

from access.decorators import check_guards
from models import RESOURCES
from routes import auth
from routes import auth_admin
from routes import docs
from routes import health
from routes import metrics
from routes import root
from routes import rpc
from routes.cli import commands
from routes.console import register as console
from routes.gotrue import errors as gotrue_errors
from routes.middleware import register_middleware
from routes.resource import blueprint

SUPABASE_PREFIX = "/rest/v1"


def register(app: Flask) -> None:
    """Blueprints at the root and, the same, where Supabase clients look; then the marks are checked."""
    register_middleware(app, gotrue_errors.answer)
    for bp in (*map(blueprint, RESOURCES.values()), rpc.bp, root.bp):
        app.register_blueprint(bp)
        app.register_blueprint(bp, url_prefix=SUPABASE_PREFIX, name=f"rest_{bp.name}")
    # Without the slash too: a redirect would name another URL than was asked for.
    app.add_url_rule(SUPABASE_PREFIX, "rest_root", root.document)
    for bp in (auth.bp, auth_admin.bp, health.bp, metrics.bp, docs.bp, console.bp, commands.bp):
        app.register_blueprint(bp)
    metrics.register_meters(app)
    check_guards(app)
