"""Error handlers of the console, and the status and message of each fault."""

from __future__ import annotations

from collections.abc import Container
from typing import Final
from urllib.parse import urlencode

from flask import Response, g, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from access import policy
from access.access_token import RefusedClaims
from access.accounts import kiosk_display, password, person, sign_in
from access.caller import Caller
from engine.current import reading
from engine.interface.faults import Locked, LockTimeout, TimedOut, TooManyConnections
from engine.query.constraints import ForeignKeyViolation
from engine.query.write.row_security import RowDenied
from inspections import faults
from models.errors import Fault
from routes.console.components.fields import EditConflict
from routes.console.components.page import HEADERS, ROLE_NAMES, bp, kiosk_sign_in_form, reload_with_cookies, render_page
from routes.console.components.template_filters import words
from routes.console.session import auth, submissions
from routes.console.session.auth import PATH, KioskTokenRequired, SignInRequired
from routes.console.session.denied_purpose import DeniedPurpose
from routes.console.session.redirects import is_page, return_url
from routes.gotrue import errors as sign_in_errors
from routes.http import request_log
from routes.http.middleware import handle_http_exception
from routes.postgrest import errors
from routes.postgrest.requests import UnknownPath
from routes.storage import errors as storage_errors

TITLES: Final = {
    400: "Invalid request",
    403: "Access denied",
    404: "Not found",
    405: "Not possible",
    409: "Conflict",
    429: "Too many attempts",
    503: "Service busy",
}


class TooManyDownloads(Fault):
    """The worker already runs its maximum number of long downloads (503)."""

    retry_after_seconds = 30

    def __init__(self) -> None:
        super().__init__(
            "Other long downloads are in progress",
            hint="Try again in a minute, or filter the list by status, date or building.",
        )


class TooManyRows(Fault):
    """A file that is too long to write at once, of a table that cannot be read in parts (400)."""

    def __init__(self) -> None:
        super().__init__("The list is too long for one file", hint="Filter the list.")


FAULT_STATUSES: Final[dict[type[Fault], int]] = {
    EditConflict: 409,
    auth.InvalidFormToken: 403,
    kiosk_display.KioskDisplayNotFound: 404,
    kiosk_display.InvalidKioskDisplay: 400,
    TooManyDownloads: 503,
    TooManyRows: 400,
}
"""The HTTP status of each fault that only the console raises."""


FIELDS_OF_FAULTS: Final[dict[type[Fault], tuple[str, ...]]] = {
    person.InvalidEmail: ("email",),
    person.EmailTaken: ("email",),
    password.WeakPassword: ("password",),
    password.InvalidPassword: ("password",),
    faults.ResultInFuture: ("date_visited",),
    faults.ReinspectionTooEarly: ("reinspect_on", "date_visited"),
}
"""The form fields at which a fault is shown: the first that the form has. Other faults stand above the fields."""


def field_of_fault(fault: Fault, names: Container[str]) -> str:
    """Return which of a form's fields a fault is about; an empty text for the whole form."""
    return next((each for each in FIELDS_OF_FAULTS.get(type(fault), ()) if each in names), "")


def record_fault(fault: Fault) -> None:
    """Store a fault for the request log and the audit log."""
    g.refusal = type(fault).__name__
    g.fault = fault


@bp.errorhandler(SignInRequired)
@bp.errorhandler(RefusedClaims)
def redirect_to_sign_in(fault: Fault) -> Response:
    g.refusal = type(fault).__name__
    if isinstance(fault, RefusedClaims):
        g.ended = True
    elif auth.is_cross_site_without_cookies():
        return reload_with_cookies()
    target = return_url()
    unsaved = submissions.unsaved_form()
    if unsaved is not None and request.path != f"{PATH}/sign-out":
        g.pop("session_cookie", None)
        return render_page(
            "sign_in.html", 401, email="", problem=None, next=target, unsaved=unsaved.text, unsaved_path=unsaved.path
        )
    query = f"?{urlencode({'next': target})}" if target not in ("", f"{PATH}/", PATH) else ""
    return Response("", 303, {**HEADERS, "Location": f"{PATH}/sign-in{query}"})


@bp.errorhandler(KioskTokenRequired)
def render_kiosk_signed_out(fault: Fault) -> Response:
    if auth.is_cross_site_without_cookies():
        return reload_with_cookies()
    g.refusal = type(fault).__name__
    if auth.KIOSK_COOKIE in request.cookies:
        return render_page("kiosk_signed_out.html", 401, problem=fault.message)
    return kiosk_sign_in_form(401)


@bp.errorhandler(auth.InvalidFormToken)
def render_expired_form(fault: Fault) -> Response:
    """Show a form of an earlier session again to its user."""
    cookie, unsaved = g.get("session_cookie"), submissions.unsaved_form()
    if cookie is None or unsaved is None or unsaved.user_id != cookie.user_id:
        return render_fault(fault)
    with reading() as transaction:
        try:
            auth.admit_session(transaction)
        except SignInRequired as ended:
            return redirect_to_sign_in(ended)
    record_fault(fault)
    return render_unsaved(unsaved, fault_status(fault))


def render_unsaved(unsaved: submissions.UnsavedForm, status: int) -> Response:
    """Return the page with a form that was not saved and one button that saves it."""
    lines = [(words(name), value) for name, value in unsaved.lines]
    back = unsaved.path if is_page(unsaved.path.partition("?")[0]) else f"{PATH}/"
    return render_page(
        "unsaved.html", status, title="Not saved yet", path=unsaved.path, pairs=unsaved.pairs, lines=lines, back=back
    )


@bp.errorhandler(Fault)
def render_fault(fault: Fault) -> Response:
    record_fault(fault)
    status = fault_status(fault)
    load_frame(status)
    response = render_page(
        "error.html", status, title=TITLES.get(status, "Error"), fault=fault_message(fault), hint=fault.hint
    )
    return with_retry_after(response, fault)


@bp.errorhandler(HTTPException)
def render_http_error(error: HTTPException) -> Response:
    status = error.code or 500
    load_frame(status)
    title = TITLES.get(status, error.name)
    return render_page("error.html", status, title=title, fault="This page does not exist.", hint=None)


@bp.app_errorhandler(MethodNotAllowed)
def render_method_not_allowed(error: MethodNotAllowed) -> Response:
    """Return the page for a request whose method no view of the address takes; the API has its own response."""
    if not request.path.startswith(f"{PATH}/"):
        return handle_http_exception(error)
    # Every address takes GET, with the answer that it does not exist.
    allowed = {*(error.valid_methods or ())} - (set() if is_page(request.path) else {"GET", "HEAD", "OPTIONS"})
    if not allowed:
        return render_fault(UnknownPath())
    load_frame(405)
    fault = "This address does not take such a request. Open the page, and use its buttons."
    response = render_page("error.html", 405, title=TITLES[405], fault=fault, hint=None)
    response.headers["Allow"] = ", ".join(sorted(allowed))
    return response


def load_frame(status: int) -> None:
    """Look up the signed-in user of a request that was refused before its view, for the menu of the page."""
    cookie = auth.find_session_cookie()
    is_kiosk = request.path.startswith(auth.KIOSK_PATH)
    if "caller" in g or g.get("ended") or cookie is None or is_kiosk or not 400 <= status < 429:
        return
    auth.adopt(cookie)
    try:
        with reading() as transaction:
            auth.admit_session(transaction)
    except Fault:
        g.pop("session_cookie", None)


@bp.errorhandler(Exception)
def render_unexpected_error(error: Exception) -> Response:
    incident = request_log.log_incident(error)
    fault = f"The service failed. The log describes the failure as incident {incident}."
    return render_page("error.html", 500, title="Internal error", fault=fault, hint=None)


def with_retry_after(response: Response, fault: Fault) -> Response:
    """Return the response, with a Retry-After header for the statuses 429 and 503."""
    if response.status_code in (429, 503):
        response.headers["Retry-After"] = str(getattr(fault, "retry_after_seconds", 1))
    return response


def fault_status(fault: Fault) -> int:
    """Return the HTTP status of a fault, which is the API's status unless only the console raises the fault."""
    if type(fault) in FAULT_STATUSES:
        return FAULT_STATUSES[type(fault)]
    status = errors.lookup(type(fault))[0]
    if status == 500 and type(fault) is not Fault:
        # Faults of files are in Storage's table only, those of sign-in and of its users in GoTrue's.
        if type(fault) in storage_errors.STATUSES:
            return storage_errors.render_fault(fault).status
        return sign_in_errors.render_fault(fault).status
    return status


def fault_message(fault: Fault) -> str:
    """Return the message of a fault for users of the console."""
    if isinstance(fault, UnknownPath):
        return "This page does not exist, or you do not have access to it."
    if isinstance(fault, TimedOut | LockTimeout | Locked | TooManyConnections):
        return retry_message(fault)
    if isinstance(fault, sign_in.WrongCredentials):
        return "The e-mail address or the password is wrong."
    if isinstance(fault, person.InvalidEmail):
        return "This is no e-mail address."
    if isinstance(fault, faults.FileTooLarge):
        return "The file is too large"
    if isinstance(fault, RowDenied | faults.FileDenied):
        return "You are not allowed to make this change."
    if isinstance(fault, policy.PermissionDenied):
        return denial_message(g.get("denied"), g.get("caller"))
    if isinstance(fault, ForeignKeyViolation):
        return "Other records depend on it, or a record that it refers to does not exist."
    return fault.message


def denial_message(denied: DeniedPurpose | None, caller: Caller | None) -> str:
    """Return what the user's role may not do, and whom to ask."""
    if denied is None or caller is None:
        return "Your role does not allow this. Ask an administrator."
    if caller.role in denied.roles:
        return f"Only a user who is linked to an inspector may {denied.text}."
    able = [ROLE_NAMES[role].lower() for role in reversed(denied.roles)]
    return f"As a {ROLE_NAMES[caller.role].lower()}, you may not {denied.text}. Ask a {' or a '.join(able)}."


def retry_message(fault: Fault) -> str:
    """Return the message of a fault that a retry may resolve."""
    cause = "The request took too long" if isinstance(fault, TimedOut) else "The service is busy"
    if auth.is_form():
        return f"{cause}, and nothing was saved. Submit the form again."
    if isinstance(fault, TimedOut):
        return f"{cause}. Filter the list by status, date or building."
    return f"{cause}. Try again."


def is_client_error(fault: Fault) -> bool:
    """Return whether the user can correct the input that caused the fault."""
    if isinstance(fault, policy.PermissionDenied | RefusedClaims | SignInRequired):
        return False
    return fault_status(fault) in (400, 403, 404, 409, 413, 415, 422, 429)


def is_shown_in_form(fault: Fault) -> bool:
    """Return whether the form shows the fault and keeps its input.

    This holds for faults that the user can correct and for temporary ones.
    """
    return is_client_error(fault) or fault_status(fault) in (503, 507)
