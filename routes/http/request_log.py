"""The request log: caller, path, status and duration. It never holds query values, headers, tokens or bodies.

serving/logging.py formats the lines.
"""

from __future__ import annotations

import logging
import re
import time
from secrets import token_hex

from flask import Response

from access import request_state
from access.caller import Caller
from access.session import CALENDAR_PREFIX
from routes.postgrest.limits import excerpt

LOG = logging.getLogger("walkthrough")

PROXY_IDS = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The accepted request ids of a proxy. No key or token has this form (docs/decisions/0019)."""


CALENDAR_TOKEN = re.compile(f"(?<={CALENDAR_PREFIX})[A-Za-z0-9_-]+")


def request_id() -> str:
    """Return the request's id. It is chosen at the first call."""
    notes = request_state.state()
    if "request_id" not in notes:
        notes.request_id = chosen_id(request_state.request().environ.get("HTTP_X_REQUEST_ID"))
    chosen: str = notes.request_id
    return chosen


def chosen_id(sent: str | None) -> str:
    """Return the proxy's request id if it is valid; else a new one."""
    return sent if sent is not None and PROXY_IDS.fullmatch(sent) else token_hex(16)


def log(response: Response) -> None:
    """Write the log line of a request."""
    if not LOG.isEnabledFor(logging.INFO):
        return
    request, notes = request_state.request(), request_state.state()
    caller: Caller | None = notes.get("caller")
    LOG.info(
        {
            "event": "request",
            "request_id": request_id(),
            "method": request.method,
            "path": excerpt(CALENDAR_TOKEN.sub("…", request.path)),
            "status": response.status_code,
            "milliseconds": round((time.monotonic() - notes.began) * 1_000, 1),
            "user_id": caller.id if caller is not None else None,
            "role": caller.role.value if caller is not None else None,
            "refusal": notes.get("refusal"),
        }
    )


def log_incident(error: Exception) -> str:
    """Log an unexpected exception and return its incident id."""
    incident = request_id()
    LOG.error({"event": "incident", "request_id": incident}, exc_info=error)
    return incident
