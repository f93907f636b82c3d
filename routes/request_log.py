"""What is written down of a request: who, what, how it ended. Never a query's values, a header, a token or
a body. How a line looks, and where it goes, is the server's to say (`serving/logging.py`)."""

from __future__ import annotations

import logging
import re
import time
from secrets import token_hex

from flask import Response

from access import request_state
from access.caller import Caller
from routes.postgrest.limits import excerpt

LOG = logging.getLogger("walkthrough")

TAKEN_IDS = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""A proxy's request ids: no key or token of ours looks like one (docs/decisions/0019)."""


def request_id() -> str:
    """The request's id, which is chosen when it is first asked for."""
    notes = request_state.state()
    if "request_id" not in notes:
        notes.request_id = chosen_id(request_state.request().environ.get("HTTP_X_REQUEST_ID"))
    found: str = notes.request_id
    return found


def chosen_id(sent: str | None) -> str:
    """The id that a proxy gave a request, if it is one; else a new one."""
    return sent if sent is not None and TAKEN_IDS.fullmatch(sent) else token_hex(16)


def log(response: Response) -> None:
    """Write the line of a request."""
    if not LOG.isEnabledFor(logging.INFO):
        return
    request, notes = request_state.request(), request_state.state()
    caller: Caller | None = notes.get("caller")
    LOG.info(
        {
            "event": "request",
            "request_id": request_id(),
            "method": request.method,
            "path": excerpt(request.path),
            "status": response.status_code,
            "milliseconds": round((time.monotonic() - notes.began) * 1_000, 1),
            "user_id": caller.id if caller is not None else None,
            "role": caller.role.value if caller is not None else None,
            "refusal": notes.get("refusal"),
        }
    )


def log_incident(error: Exception) -> str:
    """Write down what broke, under the number that its caller is told."""
    incident = request_id()
    LOG.error({"event": "incident", "request_id": incident}, exc_info=error)
    return incident
