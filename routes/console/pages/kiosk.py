"""/console/kiosk: the read-only page of a kiosk display. /console/devices: create and revoke displays.

The page of devices shows the code of a new display once.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any, Final

from flask import Response, g, render_template, request

from access.accounts import kiosk_display, people
from access.caller import Caller
from access.decorators import load_caller, public
from engine.interface.clock import in_zone
from engine.open import reading, writing
from engine.query.statement import Action
from engine.rows import QueryResult
from models.types import Fault
from models.vocabulary import INSPECTION_TYPES, SEVERITIES
from routes.console.components import queries, row_choice
from routes.console.components.error_pages import fault_message, fault_status, is_shown_in_form, with_retry_after
from routes.console.components.fields import FormValues
from routes.console.components.page import (
    HEADERS,
    STATIC_DIRECTORY,
    STATIC_FILES,
    kiosk_sign_in_form,
    redirect_to,
    render_confirmation,
    render_page,
)
from routes.console.components.queries import once
from routes.console.components.records import save
from routes.console.components.row_choice import in_use
from routes.console.components.tables import Row
from routes.console.components.template_filters import short_name
from routes.console.pages.dashboard import COLUMNS, OPEN, next_findings, next_schedules
from routes.console.session import auth, submissions
from routes.console.session.urls import KIOSK_PATH, PATH
from routes.http.middleware import client_address, request_deadline, url_path

ROWS: Final = 8
DAYS_MAX: Final = 366
VERSION: Final = hashlib.sha256(
    b"".join((STATIC_DIRECTORY / name).read_bytes() for name in sorted(STATIC_FILES))
).hexdigest()[:12]
"""The version of the static files. A running kiosk display reloads the page when it changes."""


FULL: Final = "full"
"""The mode of a display that shows everything that its user sees. Any other is public."""


@auth.requires_kiosk_display
def kiosk(caller: Caller) -> Response:
    return render_page("kiosk.html", **kiosk_content(caller))


@auth.requires_kiosk_display
def kiosk_content_page(caller: Caller) -> Response:
    """Return only the content of the page, for the script that refreshes it."""
    return Response(render_template("kiosk_content.html", **kiosk_content(caller)), 200, HEADERS)


def kiosk_content(caller: Caller) -> dict[str, Any]:
    """Return the inspections due today, overdue, completed or failed last, and next, as the caller sees them.

    A public display has counts, dates and buildings, and no other text that a user typed.
    """
    with reading() as transaction:
        today, local = transaction.today, in_zone(transaction.now, transaction.time_zone)
        user = people.by_id(transaction, caller.id or "")

    columns = in_use(caller, COLUMNS, "buildings")

    def select(text: str, *, total: bool = False) -> QueryResult:
        result = queries.select_rows(caller, "inspections", f"{columns}&{text}", limit=ROWS, total=total)
        return replace(result, rows=[shown_row(row) for row in result.rows])

    results = f"status=in.(completed,failed)&date_visited=lte.{today}&order=date_visited.desc,id.desc"
    return {
        "version": VERSION,
        "now": local.isoformat(),
        "clock": f"{local:%H:%M}",
        "location": g.location,
        "is_signed_in": "session_cookie" in g,
        "today": today,
        "is_public": g.is_public,
        "viewer": user.name if user is not None and not g.is_public else "",
        "due": select(f"{OPEN}&date_visited=eq.{today}&order=id", total=True),
        "overdue": select(f"{OPEN}&date_visited=lt.{today}&order=date_visited,id", total=True),
        "results": None if g.is_public else select(results),
        "findings": count_findings(caller) if g.is_public else severest_findings(caller),
        "schedules": [{**each, "inspections": shown_row(each["inspections"])} for each in next_schedules(caller, ROWS)],
        "next": select(f"status=eq.scheduled&date_visited=gt.{today}&order=date_visited,id"),
    }


def shown_row(row: Row) -> Row:
    """Return an inspection as the display shows it. A public one shows no type that is none of the common ones."""
    return {**row, "inspection_type": ""} if g.is_public and row["inspection_type"] not in INSPECTION_TYPES else row


def count_findings(caller: Caller) -> list[tuple[str, int]]:
    """Return the number of open findings of each severity that has any, the severest first."""
    text = f"{in_use(caller, 'select=id,inspections(buildings())', 'inspections', 'buildings')}&status=eq.open"
    counts = [(each, queries.count_rows(caller, "findings", f"{text}&severity=eq.{each}")) for each in SEVERITIES]
    return [(severity, number) for severity, number in counts if number]


def severest_findings(caller: Caller) -> list[Row]:
    """Return open findings, the severest first, and the next deadline first of each severity."""
    rows: list[Row] = []
    for severity in SEVERITIES:
        if len(rows) < ROWS:
            rows += next_findings(caller, ROWS - len(rows), f"&severity=eq.{severity}")
    return rows


@public("shows the form for the code of a kiosk display")
def sign_in_display_form() -> Response:
    return kiosk_sign_in_form()


@public("takes the code of a kiosk display; a wrong one counts against its origin")
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
    response = Response("", 303, {**HEADERS, "Location": url_path(KIOSK_PATH)})
    auth.set_cookie(response, auth.KIOSK_COOKIE, token, KIOSK_PATH, DAYS_MAX * kiosk_display.DAY_SECONDS)
    return response


@public("deletes the kiosk cookie of the browser")
def sign_out_display() -> Response:
    auth.read_sign_in_form()
    response = Response("", 303, {**HEADERS, "Location": url_path(f"{KIOSK_PATH}/enter")})
    auth.delete_kiosk_cookie(response)
    return response


DAYS = (30, 90, 180, 365)
CODE_COOKIE = "walkthrough_code"  # holds the code of a new display until the next page shows it
CODE_PATH = f"{PATH}/devices"
CODE_SHOWN_SECONDS_MAX = 60
USERS_LISTED_MAX = 300  # with more users, an e-mail field replaces the select


@auth.requires_administrator()
def list_kiosk_displays(caller: Caller) -> Response:
    """Return the page of the displays. It shows the code of a new display once."""
    sealed = submissions.unseal(request.cookies.get(CODE_COOKIE, ""), CODE_PATH)
    if sealed is None:
        return render_kiosk_displays(caller)
    response = render_kiosk_displays(caller, code=str(sealed[0]))
    auth.delete_cookie(response, CODE_COOKIE, CODE_PATH)
    return response


@auth.requires_administrator(writes=True)
def create_kiosk_display(caller: Caller) -> Response:
    values = FormValues(g.form)

    def store() -> Response:
        days = values.typed.get("days", "")
        user_id = row_choice.parse_user_id(values.typed.get("person", ""))
        lifetime = int(days) if days.isascii() and days.isdigit() and len(days) < 5 else 0
        codes: list[str] = []

        def create() -> str:
            name = values.typed.get("name", "")
            is_public = values.typed.get("mode") != FULL
            display_id, code = kiosk_display.create_display(
                transaction, now, user_id, name, lifetime, is_public=is_public
            )
            codes.append(code)
            return display_id

        with writing() as transaction:
            now = load_caller(transaction)
            once(transaction, now, "devices", create)
        if not codes:
            return redirect_to("/devices", "This kiosk display was created before. Its code was shown once.")
        response = redirect_to("/devices")
        sealed = submissions.seal(CODE_PATH, codes[0])
        auth.set_cookie(response, CODE_COOKIE, sealed, CODE_PATH, CODE_SHOWN_SECONDS_MAX)
        return response

    return save(values, store, lambda status: render_kiosk_displays(caller, problem=values.problems[""], status=status))


@auth.requires_administrator()
def confirm_display_revocation(caller: Caller, key: str) -> Response:
    with reading() as transaction:
        display = kiosk_display.find_display(transaction, caller, key)
    return render_confirmation(
        f"Revoke the kiosk display {short_name(display.name)}?",
        "The display signs out at its next refresh. This cannot be undone; create a display to replace it.",
        verb="Revoke",
        action=f"/devices/{display.id}/revoke",
        back="/devices",
    )


@auth.requires_administrator(writes=True)
def revoke_kiosk_display(caller: Caller, key: str) -> Response:
    with writing() as transaction:
        now = load_caller(transaction)
        once(transaction, now, "devices", lambda: kiosk_display.revoke_display(transaction, now, key))
    return redirect_to("/devices", "Kiosk display revoked.")


def render_kiosk_displays(
    caller: Caller, code: str | None = None, problem: str | None = None, status: int = 200
) -> Response:
    with reading() as transaction:
        displays = kiosk_display.list_displays(transaction, caller)
        users = row_choice.list_users(caller, USERS_LISTED_MAX, within=Action.UPDATE)
    is_listed = users is None or caller.id in [row["id"] for row in users]
    return render_page(
        "kiosk_displays.html",
        status,
        displays=displays,
        users=users,
        own_id=[] if is_listed else [caller.id],
        days=DAYS,
        code=code,
        problem=problem,
        typed=g.get("form", {}),
    )
