"""/console/kiosk: the read-only page of a kiosk display."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from flask import Response, g, render_template

from access.accounts import kiosk_display, people
from access.caller import Caller
from access.decorators import public
from engine.current import reading
from models.errors import Fault
from models.vocabulary import SEVERITIES
from routes.console.components import queries
from routes.console.components.error_pages import fault_message, fault_status, is_shown_in_form, with_retry_after
from routes.console.components.page import HEADERS, STATIC_DIRECTORY, STATIC_FILES, bp, kiosk_sign_in_form, render_page
from routes.console.pages.dashboard import COLUMNS, OPEN, next_findings, next_schedules
from routes.console.session import auth
from routes.gotrue.bodies import client_address, request_deadline

ROWS: Final = 8
DAYS_MAX: Final = 366
VERSION: Final = hashlib.sha256(
    b"".join((STATIC_DIRECTORY / name).read_bytes() for name in sorted(STATIC_FILES))
).hexdigest()[:12]
"""The version of the static files. A running kiosk display reloads the page when it changes."""


@bp.get("/kiosk")
@auth.requires_kiosk_display
def kiosk(caller: Caller) -> Response:
    return render_page("kiosk.html", is_signed_in="session_cookie" in g, location=g.location, **kiosk_content(caller))


@bp.get("/kiosk/board")
@auth.requires_kiosk_display
def kiosk_content_page(caller: Caller) -> Response:
    """Return only the content of the page, for the script that refreshes it."""
    return Response(render_template("kiosk_content.html", **kiosk_content(caller)), 200, HEADERS)


def kiosk_content(caller: Caller) -> dict[str, Any]:
    """Return the inspections due today, overdue, completed or failed last, and next, as the caller sees them."""
    with reading() as transaction:
        today, now = transaction.today, transaction.now
        user = people.by_id(transaction, caller.id or "")

    def select(text: str, *, total: bool = False) -> queries.QueryResult:
        return queries.select_rows(caller, "inspections", f"{COLUMNS}&{text}", limit=ROWS, total=total)

    return {
        "version": VERSION,
        "now": now,
        "today": today,
        "viewer": user.name if user is not None else "",
        "due": select(f"{OPEN}&date_visited=eq.{today}&order=id", total=True),
        "overdue": select(f"{OPEN}&date_visited=lt.{today}&order=date_visited,id", total=True),
        "results": select(f"status=in.(completed,failed)&date_visited=lte.{today}&order=date_visited.desc,id.desc"),
        "findings": severest_findings(caller),
        "schedules": next_schedules(caller, ROWS),
        "next": select(f"status=eq.scheduled&date_visited=gt.{today}&order=date_visited,id"),
    }


def severest_findings(caller: Caller) -> list[queries.Row]:
    """Return open findings, the severest first, and the next deadline first of each severity."""
    rows: list[queries.Row] = []
    for severity in SEVERITIES:
        if len(rows) < ROWS:
            rows += next_findings(caller, ROWS - len(rows), f"&severity=eq.{severity}")
    return rows


@bp.get("/kiosk/enter")
@public("shows the form for the code of a kiosk display")
def sign_in_display_form() -> Response:
    return kiosk_sign_in_form()


@bp.post("/kiosk/enter")
@public("takes the code of a kiosk display, with the throttling of sign-in attempts")
def sign_in_display() -> Response:
    form = auth.read_sign_in_form()
    try:
        with request_deadline().writing() as transaction:
            token = kiosk_display.pair_display(transaction, form.get("code", ""), client_address())
    except Fault as fault:
        if not is_shown_in_form(fault):
            raise
        g.refusal = type(fault).__name__
        return with_retry_after(kiosk_sign_in_form(fault_status(fault), fault_message(fault)), fault)
    if token is None:
        return kiosk_sign_in_form(401, "This code is not valid. A code works once, for 10 minutes.")
    response = Response("", 303, {**HEADERS, "Location": auth.KIOSK_PATH})
    auth.set_cookie(response, auth.KIOSK_COOKIE, token, auth.KIOSK_PATH, DAYS_MAX * kiosk_display.DAY_SECONDS)
    return response


@bp.post("/kiosk/leave")
@public("deletes the kiosk cookie of the browser")
def sign_out_display() -> Response:
    auth.read_sign_in_form()
    response = Response("", 303, {**HEADERS, "Location": f"{auth.KIOSK_PATH}/enter"})
    auth.delete_kiosk_cookie(response)
    return response
