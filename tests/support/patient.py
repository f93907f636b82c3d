"""The service whose statements may run for a minute: `gunicorn "tests.support.patient:create()"` serves it."""

from typing import Any

from app import create_app
from tests.support import databases


def create() -> Any:
    databases.extend_time_limits()
    return create_app()
