"""The WSGI application that gunicorn serves."""

from __future__ import annotations

from app import create_app

app = create_app()
