"""Server-Timing: the duration of a request, for the service key only, on request.

The service key may read every row, so the figures reveal nothing about hidden rows.
"""

from __future__ import annotations

import time

from flask import Response, g

from access import request_state
from access.caller import SERVICE_CALLER

ASKED_BY = "HTTP_X_SERVER_TIMING"


def add_server_timing(response: Response) -> None:
    """Add the header if the caller may see it and requests it."""
    if request_state.request().environ.get(ASKED_BY) != "1" or g.get("caller") is not SERVICE_CALLER:
        return
    seconds = {"total": time.monotonic() - g.began, "lock": g.get("lock_seconds", 0.0)}
    metrics = ", ".join(f"{name};dur={value * 1_000:.1f}" for name, value in seconds.items())
    response.headers["Server-Timing"] = metrics
