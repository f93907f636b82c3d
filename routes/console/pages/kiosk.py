"""/console/kiosk: a board to be read from across a room. It only reads (`door.requires_board`)."""

from __future__ import annotations

import hashlib
from typing import Any
from typing import Final

from flask import Response
from flask import g
from flask import render_template

from access.accounts import kiosk_display
from access.accounts import people
from access.caller import Caller
from access.decorators import public
from engine.current import reading
from routes.console.components import queries as engine
from routes.console.components.page import FILES
from routes.console.components.page import HEADERS
from routes.console.components.page import STATIC
from routes.console.components.page import ask_for_token
from routes.console.components.page import bp
from routes.console.components.page import show
from routes.console.pages.dashboard import COLUMNS
from routes.console.pages.dashboard import OPEN
from routes.console.session import auth as door

ROWS: Final = 7
DAYS_MAX: Final = 366
VERSION: Final = hashlib.sha256(
    b"".join((STATIC / name).read_bytes() for name in sorted(FILES))
).hexdigest()[:12]
"""A board that runs for weeks loads itself anew when its files have changed."""


@bp.get("/kiosk")
@door.requires_board
def kiosk(caller: Caller) -> Response:
    return show("kiosk.html", is_signed_in="seal" in g, **picture(caller))


@bp.get("/kiosk/board")
@door.requires_board
def board(caller: Caller) -> Response:
    """The picture alone, which the board's script puts in place of the old one."""
    return Response(render_template("board.html", **picture(caller)), 200, HEADERS)


def picture(caller: Caller) -> dict[str, Any]:
    """What is due today, what is overdue, and the last results, as the board's user sees them."""
    with reading() as transaction:
        today, now = transaction.moment.date(), transaction.now
        person = people.by_id(transaction, caller.id or "")

    def ask(text: str, *, total: bool = False) -> engine.Found:
        return engine.ask(caller, "inspections", f"{COLUMNS}&{text}", limit=ROWS, total=total)

    return {
        "version": VERSION,
        "now": now,
        "today": today,
        "whose": person.name if person is not None else "",
        "due": ask(f"{OPEN}&date_visited=eq.{today}&order=id", total=True),
        "overdue": ask(f"{OPEN}&date_visited=lt.{today}&order=date_visited,id", total=True),
        "results": ask(
            f"status=in.(completed,failed)&date_visited=lte.{today}&order=date_visited.desc,id.desc"
        ),
        "next": ask(f"status=eq.scheduled&date_visited=gt.{today}&order=date_visited,id"),
    }


@bp.get("/kiosk/enter")
@public("the form by which a board is given its token")
def enter_form() -> Response:
    return ask_for_token()


@bp.post("/kiosk/enter")
@public("takes a board's token, of 256 random bits: nobody guesses it")
def enter() -> Response:
    form = door.read_sign_in_form()
    token = form.get("token", "").strip()
    with reading() as transaction:
        seen = kiosk_display.authenticate_display(transaction, token)
    if seen is None:
        return ask_for_token(401, "This token is not in force.")
    response = Response("", 303, {**HEADERS, "Location": door.KIOSK_PATH})
    door.set_cookie(
        response, door.DEVICE_COOKIE, token, door.KIOSK_PATH, DAYS_MAX * kiosk_display.DAY_SECONDS
    )
    return response


@bp.post("/kiosk/leave")
@public("takes a board out of the browser that asks for it")
def leave() -> Response:
    door.read_sign_in_form()
    response = Response("", 303, {**HEADERS, "Location": f"{door.KIOSK_PATH}/enter"})
    door.leave_board(response)
    return response
