"""Server-Timing: how long a request took, told to the service key alone, and only when it asks for it.

The figures are of the whole request, and whoever reads them sees every row anyway: so they tell nobody
about a row that is hidden from them.
"""

from __future__ import annotations

import time

from flask import Response
from flask import g

from access import request_state
from access.caller import SERVICE_CALLER

ASKED_BY = "HTTP_X_SERVER_TIMING"


def tell_timing(response: Response) -> None:
    """Add the header, if it was asked for by whom it is for."""
    if (
        request_state.request().environ.get(ASKED_BY) != "1"
        or g.get("caller") is not SERVICE_CALLER
    ):
        return
    seconds = {"total": time.monotonic() - g.began, "lock": g.get("lock_seconds", 0.0)}
    told = ", ".join(f"{name};dur={value * 1_000:.1f}" for name, value in seconds.items())
    response.headers["Server-Timing"] = told
