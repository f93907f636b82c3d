"""The service with short deadlines and a background thread that fails.

The service has no settings for these. `gunicorn "tests.support.short_deadlines:make()"` serves it.
"""

import threading
from typing import Any

from app import create_app
from serving.worker import connection

HEAD_SECONDS_MAX = 2.0
REQUEST_SECONDS_MAX = 2.0
THREAD = "failing-thread"


def fail() -> None:
    raise RuntimeError("a background thread of the tests fails")


def create() -> Any:
    connection.HEAD_SECONDS_MAX = HEAD_SECONDS_MAX
    connection.REQUEST_SECONDS_MAX = REQUEST_SECONDS_MAX
    threading.Thread(target=fail, name=THREAD).start()
    return create_app()
