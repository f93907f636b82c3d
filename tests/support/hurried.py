"""The service in a hurry, for tests of its deadlines: the shipped ones, much shorter. A background thread of it ends
badly, too. The service has no switches for any of this. `gunicorn "tests.support.hurried:make()"` serves it."""

import threading
from typing import Any

from app import create_app
from serving.worker import limits

HEAD_SECONDS_MAX = 2.0
REQUEST_SECONDS_MAX = 2.0
THREAD = "planted-thread"


def fail() -> None:
    raise RuntimeError("a background thread of the tests ends badly")


def make() -> Any:
    limits.HEAD_SECONDS_MAX = HEAD_SECONDS_MAX
    limits.REQUEST_SECONDS_MAX = REQUEST_SECONDS_MAX
    threading.Thread(target=fail, name=THREAD).start()
    return create_app()
