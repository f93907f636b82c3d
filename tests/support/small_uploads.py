"""The service with a low limit of unfinished uploads.

The service has no setting for it. `gunicorn "tests.support.small_uploads:make()"` serves it.
"""

from typing import Any

from app import create_app
from serving.worker import connection

BYTES_MAX = 8 << 20


def make() -> Any:
    connection.UPLOADED_BYTES_MAX = BYTES_MAX
    return create_app()
