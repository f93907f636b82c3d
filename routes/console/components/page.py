"""What every page of the console has: its frame, its headers, its files, and how it says no.

One blueprint holds them all. Nothing is inline: no script, no style; files are served by name from one
table, so that no path is ever made of what a request says.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Final
from urllib.parse import urlencode

from flask import Blueprint
from flask import Response
from flask import g
from flask import render_template
from flask import request
from werkzeug.exceptions import HTTPException
from werkzeug.exceptions import MethodNotAllowed

from access import policy
from access.accounts import kiosk_display
from access.accounts.access_token import RefusedClaims
from access.caller import Caller
from access.caller import Role
from access.decorators import public
from engine.query.constraints import ForeignKeyViolation
from engine.query.constraints import Locked
from engine.query.rule import Action
from engine.query.write.row_security import RowDenied
from engine.storage.pool import TooManyConnections
from engine.storage.sqlite import TimedOut
from engine.storage.writer_lock import LockTimeout
from models import Building
from models import Inspection
from models import Inspector
from models.errors import Fault
from routes import request_log
from routes.console.components.fields import ChangedMeanwhile
from routes.console.components.template_filters import FILTERS
from routes.console.session import auth as door
from routes.console.session.auth import PATH
from routes.console.session.auth import DeviceNeeded
from routes.console.session.auth import SignInNeeded
from routes.console.session.redirects import here
from routes.console.session.redirects import page_to_show
from routes.gotrue import errors as sign_in_errors
from routes.middleware import record_denial
from routes.postgrest import errors
from routes.postgrest.requests import UnknownPath

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HTML: Final = "text/html; charset=utf-8"
HEADERS: Final = {
    "Content-Type": HTML,
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Vary": "Cookie",
}

STATIC: Final = files("routes.console") / "static"
FILES: Final = {
    "console.css": "text/css; charset=utf-8",
    "kiosk.js": "text/javascript; charset=utf-8",
    "enter.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}

ROLE_NAMES: Final = {role: role.value.replace("client_", "").replace("_", " ") for role in Role}
COMMON_TYPES: Final = ("annual", "fire", "lead", "structural", "emergency")

TOLD: Final = ("done", "seal")
"""What an address tells of what has just happened, and what shows that the words are ours."""

bp = Blueprint("console", __name__, url_prefix=PATH, template_folder="../templates")


class TooManyDownloads(Fault):
    """More long downloads at once than leave the service time for others (503)."""

    retry_after_seconds = 30

    def __init__(self) -> None:
        super().__init__(
            "Others are downloading long lists just now",
            hint="Try again in a minute, or choose fewer rows: by status, by date, or by building.",
        )


def show(template: str, status: int = 200, **values: object) -> Response:
    """A page."""
    caller: Caller | None = g.get("caller")
    seal = g.get("seal")
    page = render_template(
        template,
        caller=caller,
        person_name=seal.name if seal is not None else None,
        role_name=ROLE_NAMES[caller.role] if caller is not None else None,
        links=links(caller) if caller is not None and seal is not None else (),
        csrf=door.form_token,
        message=told(),
        asks_again=status >= 400 and is_board_page(),
        **values,
    )
    response = Response(page, status, HEADERS)
    door.keep_nonce(response)
    return response


def is_board_page() -> bool:
    """Whether this is what a board shows: nobody is there to load it again once it is well."""
    is_there = request.path == door.KIOSK_PATH and door.DEVICE_COOKIE in request.cookies
    return is_there and not door.is_form()


def links(caller: Caller) -> list[tuple[str, str]]:
    """The pages that the caller's role opens."""
    found = [("Dashboard", f"{PATH}/")]
    for name, model in (("inspections", Inspection), ("buildings", Building)):
        if policy.permits(caller.role, Action.READ, model):
            found.append((name.capitalize(), f"{PATH}/{name}"))
    if policy.permits(caller.role, Action.READ, Inspector):
        found.append(("Inspectors", f"{PATH}/inspectors"))
    if policy.may_administer(caller.role):
        found += [
            ("People", f"{PATH}/people"),
            ("Access", f"{PATH}/access"),
            ("Boards", f"{PATH}/devices"),
        ]
    return [*found, ("Why?", f"{PATH}/why")]


def go(path: str, done: str | None = None) -> Response:
    """Send a browser on with a GET, after a form; `done` says there what has happened. A name in it is
    cut (`wording.told`): no sentence of ours is pushed out by one."""
    where = f"{PATH}{path}"
    if done is not None:
        told = dict(zip(TOLD, (done, door.seal_words(done, where.partition("?")[0])), strict=True))
        where += ("&" if "?" in where else "?") + urlencode(told)
    return Response("", 303, {**HEADERS, "Location": where})


def told() -> str | None:
    """What has just happened, in our own words: a link cannot put others into our mouth."""
    done, seal = (request.args.get(name, "") for name in TOLD)
    return done if done and door.are_ours(done, request.path, seal) else None


for each in FILTERS:
    bp.add_app_template_filter(each)


@bp.after_request
def finish(response: Response) -> Response:
    """Outside of every transaction: a young cookie, and a line in the audit trail for a refusal."""
    door.renew(response)
    fault = g.get("fault")
    if isinstance(fault, policy.PermissionDenied | RowDenied):
        record_denial(fault)
    return response


def note(fault: Fault) -> None:
    """Remember what was refused, for the log and for the audit trail."""
    g.refusal = type(fault).__name__
    g.fault = fault


@bp.get("")
@public("says where the pages begin, to whoever leaves out the slash")
def beginning() -> Response:
    return go("/")


# Files


@bp.get("/static/<name>")
@public("the pages' style, script and icon, which hold no data")
def file(name: str) -> Response:
    if name not in FILES:
        raise UnknownPath
    headers = {"Content-Type": FILES[name], "Content-Security-Policy": POLICY}
    return Response((STATIC / name).read_bytes(), 200, headers)


@bp.route("/<path:rest>")
@public("says that there is no such page")
def nowhere(rest: str) -> Response:
    raise UnknownPath


# How it says no


@bp.errorhandler(SignInNeeded)
@bp.errorhandler(RefusedClaims)
def ask_to_sign_in(fault: Fault) -> Response:
    g.refusal = type(fault).__name__
    if isinstance(fault, RefusedClaims):
        g.ended = True
    elif door.has_left_cookies_behind():
        return ask_again()
    wanted = page_to_show()
    after = f"?{urlencode({'next': wanted})}" if wanted not in ("", f"{PATH}/", PATH) else ""
    return Response("", 303, {**HEADERS, "Location": f"{PATH}/sign-in{after}"})


def ask_again() -> Response:
    """A page that asks for this same one, with the cookies that a link from another site leaves behind."""
    return Response(render_template("again.html", here=here()), 200, HEADERS)


@bp.errorhandler(DeviceNeeded)
def ask_for_device(fault: Fault) -> Response:
    if door.has_left_cookies_behind():
        return ask_again()
    g.refusal = type(fault).__name__
    if door.DEVICE_COOKIE in request.cookies:
        return show("waiting.html", 401, problem=fault.message)
    return ask_for_token(401)


def ask_for_token(status: int = 200, problem: str | None = None) -> Response:
    """The form by which a board is given its token. A link's token goes in by itself where no other site
    had the link opened and nothing is there that it would replace; elsewhere somebody presses the button."""
    is_asked_for = problem is None and not door.is_from_elsewhere() and door.is_vacant()
    return show(
        "enter.html",
        status,
        problem=problem,
        by_itself=is_asked_for,
        has_board=door.DEVICE_COOKIE in request.cookies,
    )


@bp.errorhandler(Fault)
def handle_fault(fault: Fault) -> Response:
    note(fault)
    status = status_of(fault)
    response = show(
        "error.html",
        status,
        title=TITLES.get(status, "That did not work"),
        fault=said(fault),
        hint=fault.hint,
    )
    return told_to_wait(response, fault)


def told_to_wait(response: Response, fault: Fault) -> Response:
    """The same answer, with when to try again where the fault passes by itself."""
    if response.status_code in (429, 503):
        response.headers["Retry-After"] = str(getattr(fault, "retry_after_seconds", 1))
    return response


TITLES: Final = {
    400: "That was not understood",
    403: "Not allowed",
    404: "Nothing here",
    409: "That cannot be done",
    429: "Too many tries",
    503: "Busy just now",
}


@bp.errorhandler(HTTPException)
def answer_http(error: HTTPException) -> Response:
    status = error.code or 500
    title = "Nothing here" if status == 404 else error.name
    response = show("error.html", status, title=title, fault="There is no such page.", hint=None)
    if isinstance(error, MethodNotAllowed):
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods or ()))
    return response


@bp.errorhandler(Exception)
def answer_unexpected(error: Exception) -> Response:
    incident = request_log.log_incident(error)
    fault = f"The service failed at this. It is written down as incident {incident}."
    return show("error.html", 500, title="Something broke", fault=fault, hint=None)


OWN: Final[dict[type[Fault], int]] = {
    ChangedMeanwhile: 409,
    door.ForgedForm: 403,
    kiosk_display.KioskDisplayNotFound: 404,
    kiosk_display.InvalidKioskDisplay: 400,
    TooManyDownloads: 503,
}
"""What only the console can tell."""


def status_of(fault: Fault) -> int:
    """The status that the API has for the same fact."""
    if type(fault) in OWN:
        return OWN[type(fault)]
    status = errors.lookup(type(fault))[0]
    if status == 500 and type(fault) is not Fault:
        # What only sign-in and its users know has its row in the other table.
        return sign_in_errors.render_fault(fault).status
    return status


def said(fault: Fault) -> str:
    """A fault in a reader's words, where the wire's own are none."""
    if isinstance(fault, UnknownPath):
        return "There is no such page, or it is not yours to see."
    if isinstance(fault, TimedOut | LockTimeout | Locked | TooManyConnections):
        return said_of_time(fault)
    if isinstance(fault, RowDenied):
        return "That is outside of what you may change."
    if isinstance(fault, policy.PermissionDenied):
        return f"Your role does not allow this ({fault.message})."
    if isinstance(fault, ForeignKeyViolation):
        return "Something else still depends on it, or what it names does not exist."
    return fault.message


def said_of_time(fault: Fault) -> str:
    """The same of what may go well the next time: a form is sent again, a page is asked for less."""
    what = "That took too long" if isinstance(fault, TimedOut) else "The service is busy just now"
    if door.is_form():
        return f"{what}, and nothing was kept. Send it again."
    if isinstance(fault, TimedOut):
        return f"{what}. Choose fewer: by status, by date, or by building."
    return f"{what}. Try again."


def is_about_what_was_asked(fault: Fault) -> bool:
    """Whether whoever asked can do something about it: by asking otherwise, or for something else."""
    if isinstance(fault, policy.PermissionDenied | RefusedClaims | SignInNeeded):
        return False
    return status_of(fault) in (400, 403, 404, 409, 422, 429)


def is_told_in_place(fault: Fault) -> bool:
    """Whether a fault stands above the form that ran into it, so that what was typed is not lost: it is
    about that, or it passes by itself."""
    return is_about_what_was_asked(fault) or status_of(fault) == 503
