"""/console/devices: boards on walls, made and revoked. A token is shown once, to whoever makes it."""

from __future__ import annotations

import datetime

from flask import Response
from flask import g

from access.accounts import kiosk_display
from access.caller import Caller
from access.decorators import load_caller
from engine.current import reading
from engine.current import writing
from engine.query.rule import Action
from models.errors import Fault
from routes.console.components import person_choice as choosing
from routes.console.components.page import bp
from routes.console.components.page import go
from routes.console.components.page import is_told_in_place
from routes.console.components.page import note
from routes.console.components.page import said
from routes.console.components.page import show
from routes.console.components.page import status_of
from routes.console.components.page import told_to_wait
from routes.console.session import auth as door

DAYS = (30, 90, 180, 365)
PEOPLE_OFFERED = 300  # beyond them an e-mail is typed


@bp.get("/devices")
@door.requires_administrator()
def devices(caller: Caller) -> Response:
    return page(caller)


@bp.post("/devices")
@door.requires_administrator(writes=True)
def make_device(caller: Caller) -> Response:
    days = g.form.get("days", "")
    try:
        user_id = choosing.id_of(g.form.get("person", ""))
        with writing() as transaction:
            _, token = kiosk_display.create_display(
                transaction,
                load_caller(transaction),
                user_id,
                g.form.get("name", ""),
                int(days) if days.isascii() and days.isdigit() and len(days) < 5 else 0,
            )
    except Fault as fault:
        if not is_told_in_place(fault):
            raise
        note(fault)
        return told_to_wait(page(caller, problem=said(fault), status=status_of(fault)), fault)
    return page(caller, token=token)


@bp.post("/devices/<key>/revoke")
@door.requires_administrator(writes=True)
def revoke_device(caller: Caller, key: str) -> Response:
    with writing() as transaction:
        kiosk_display.revoke_display(transaction, load_caller(transaction), key)
    return go("/devices", "The board is signed out.")


def page(
    caller: Caller, token: str | None = None, problem: str | None = None, status: int = 200
) -> Response:
    with reading() as transaction:
        listed = kiosk_display.list_displays(transaction, caller)
        people = choosing.offered(caller, PEOPLE_OFFERED, within=Action.UPDATE)
    is_listed = people is None or caller.id in [row["id"] for row in people]
    return show(
        "devices.html",
        status,
        devices=listed,
        people=people,
        oneself=[] if is_listed else [caller.id],
        days=DAYS,
        token=token,
        problem=problem,
        typed=g.get("form", {}),
    )


def date_of(unix: int | None) -> str:
    """A second as a day."""
    if unix is None:
        return "never"
    return datetime.datetime.fromtimestamp(unix, datetime.UTC).date().isoformat()


bp.add_app_template_filter(date_of)
