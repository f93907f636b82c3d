"""/console/devices: create and revoke kiosk displays. The page shows the code of a new display once."""

from __future__ import annotations

from flask import Response, g, request

from access.accounts import kiosk_display
from access.caller import Caller
from access.decorators import load_caller
from engine.current import reading, writing
from engine.query.rule import Action
from routes.console.components import user_choice
from routes.console.components.fields import FormValues
from routes.console.components.page import bp, redirect_to, render_confirmation, render_page
from routes.console.components.records import save
from routes.console.components.submissions import once
from routes.console.components.template_filters import short_name
from routes.console.session import auth, messages

DAYS = (30, 90, 180, 365)
CODE_COOKIE = "walkthrough_code"  # holds the code of a new display until the next page shows it
CODE_PATH = f"{auth.PATH}/devices"
CODE_SHOWN_SECONDS_MAX = 60
USERS_LISTED_MAX = 300  # with more users, an e-mail field replaces the select


@bp.get("/devices")
@auth.requires_administrator()
def list_kiosk_displays(caller: Caller) -> Response:
    """Return the page of the displays. It shows the code of a new display once."""
    sealed = messages.unseal(request.cookies.get(CODE_COOKIE, ""), CODE_PATH)
    if sealed is None:
        return render_kiosk_displays(caller)
    response = render_kiosk_displays(caller, code=str(sealed[0]))
    response.delete_cookie(CODE_COOKIE, path=CODE_PATH, httponly=True, samesite="Strict")
    return response


@bp.post("/devices")
@auth.requires_administrator(writes=True)
def create_kiosk_display(caller: Caller) -> Response:
    values = FormValues(g.form)

    def store() -> Response:
        days = values.typed.get("days", "")
        user_id = user_choice.parse_user_id(values.typed.get("person", ""))
        lifetime = int(days) if days.isascii() and days.isdigit() and len(days) < 5 else 0
        codes: list[str] = []

        def create() -> str:
            name = values.typed.get("name", "")
            display_id, code = kiosk_display.create_display(transaction, now, user_id, name, lifetime)
            codes.append(code)
            return display_id

        with writing() as transaction:
            now = load_caller(transaction)
            once(transaction, now, "devices", create)
        if not codes:
            return redirect_to("/devices", "This kiosk display was created before. Its code was shown once.")
        response = redirect_to("/devices")
        sealed = messages.seal(CODE_PATH, codes[0])
        auth.set_cookie(response, CODE_COOKIE, sealed, CODE_PATH, CODE_SHOWN_SECONDS_MAX)
        return response

    return save(values, store, lambda status: render_kiosk_displays(caller, problem=values.problems[""], status=status))


@bp.get("/devices/<key>/revocation")
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


@bp.post("/devices/<key>/revoke")
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
        users = user_choice.list_users(caller, USERS_LISTED_MAX, within=Action.UPDATE)
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
