"""GET /calendar/<token>.ics: the calendar feed of the user to whom the link belongs.

The token in the path is the only credential, since calendar programs send no header of their own.
"""

from __future__ import annotations

import hashlib

from flask import Blueprint, Response, request

from access import request_state
from access.accounts import throttle
from access.decorators import load_caller, public
from access.session import InvalidApiKey, calendar_digest
from engine.current import reading
from inspections.reporting.calendar import feed_text, read_events
from routes.gotrue.bodies import client_address, request_deadline
from routes.postgrest.requests import UnknownPath

ETAG_DIGITS = 32

bp = Blueprint("calendar", __name__)


@bp.get("/calendar/<token>.ics")
@public("the token in the path is looked up; a wrong one counts against its origin")
def show_feed(token: str) -> Response:
    """Return the feed under the rights of its owner at this moment. A link that is not in force is an unknown path."""
    origin = client_address()
    try:
        with reading() as transaction:
            throttle.require_calendar_attempts_left(transaction, origin)
            request_state.state().credential = calendar_digest(token)
            events = read_events(transaction, load_caller(transaction), f"{request.url_root}console")
    except InvalidApiKey:
        with request_deadline().writing() as transaction:
            throttle.record_calendar_attempt(transaction, origin)
        raise UnknownPath from None
    body = feed_text(events)
    # A weak tag: it also holds for the compressed body.
    tag = hashlib.sha256(body).hexdigest()[:ETAG_DIGITS]
    headers = {
        "Content-Type": "text/calendar; charset=utf-8",
        "Cache-Control": "private, no-cache",
        "ETag": f'W/"{tag}"',
    }
    if request.if_none_match.contains_weak(tag):
        return Response(status=304, headers=headers)
    return Response(body, 200, headers)
