"""GET /calendar/<token>.ics: the calendar feed of the user to whom the link belongs.

The token in the path is the only credential, since calendar programs send no header of their own.
"""

from __future__ import annotations

import hashlib

from flask import Blueprint, Response, request

from access import session
from access.accounts import password
from access.decorators import load_caller, public
from access.policy import has_calendar
from access.session import InvalidApiKey, invalid_key, token_digest
from engine.open import reading
from inspections.reporting.calendar import feed_text, read_events
from models.credential import CALENDAR_LINK
from routes.http.faults import UnknownPath
from routes.http.middleware import client_address, request_deadline

ETAG_DIGITS = 32

bp = Blueprint("calendar", __name__)


@bp.get("/calendar/<token>.ics")
@public("the token in the path is looked up; a wrong one counts against its origin")
def show_feed(token: str) -> Response:
    """Return the feed under the rights of its owner at this moment. A link that is not in force is an unknown path."""
    try:
        with reading() as transaction:
            session.state().credential = token_digest(token, CALENDAR_LINK)
            caller = load_caller(transaction)
            if not has_calendar(caller.profile):
                raise invalid_key()
            events = read_events(transaction, caller, f"{request.url_root}console")
    except InvalidApiKey:
        record_wrong_link(client_address())
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


def record_wrong_link(origin: str) -> None:
    """Count a link that is not in force; raise RateLimitExceeded, without a write if the limit is reached."""
    with reading() as transaction:
        password.require_guesses_left(transaction, password.CALENDAR, origin)
    with request_deadline().writing() as transaction:
        password.record_wrong_guess(transaction, password.CALENDAR, origin)
