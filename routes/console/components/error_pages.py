"""Error handlers of the console, and the status and message of each fault."""

from __future__ import annotations

import re
from collections.abc import Collection, Container
from typing import Final
from urllib.parse import urlencode

from flask import Response, current_app, g, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from access import policy
from access.access_token import RefusedClaims
from access.accounts import password, people, sign_in
from access.caller import Caller
from engine.interface.database import Locked, LockTimeout, TimedOut, TooManyConnections
from engine.open import reading
from engine.query.catalog import ForeignKeyViolation, UnknownColumn
from engine.query.write.rules import RowDenied
from inspections import faults
from models.types import TEXT, DatetimeOutOfRange, Fault, InvalidDatetime, InvalidInput, OutOfRange
from routes.console.components.fields import value_problem
from routes.console.components.page import HEADERS, ROLE_NAMES, kiosk_sign_in_form, reload_with_cookies, render_page
from routes.console.components.template_filters import byte_size, name, words
from routes.console.session import auth, submissions
from routes.console.session.auth import DeniedPurpose, SignInRequired
from routes.console.session.urls import KIOSK_PATH, PATH, console_url, is_page, return_url
from routes.http import middleware
from routes.http.faults import BodyTooLarge, UnknownPath
from routes.http.middleware import handle_http_exception
from routes.postgrest import errors
from routes.postgrest.lexer import Unparsable

TITLES: Final = {
    400: "Invalid request",
    403: "Access denied",
    404: "Not found",
    405: "Not possible",
    409: "Conflict",
    429: "Too many attempts",
    503: "Service busy",
}


VALUE_FAULTS: Final = (InvalidInput, InvalidDatetime, DatetimeOutOfRange, OutOfRange)
FORM_VALUE: Final = "A value has another form than its field takes: a number, a date or a time."
ADDRESS_VALUE: Final = "The address has a filter that this list does not read. Open the list, and choose its filters."


class TooManyDownloads(Fault, status=503):
    """The worker already runs its maximum number of long downloads (503)."""

    retry_after_seconds = 30

    def __init__(self) -> None:
        super().__init__(
            "Other long downloads are in progress",
            hint="Try again in a minute, or filter the list by status, date or building.",
        )


class TooManyRows(Fault, status=400):
    """A file that is too long to write at once, of a table that cannot be read in parts (400)."""

    def __init__(self) -> None:
        super().__init__("The list is too long for one file", hint="Filter the list.")


class RowsRefused(Fault, status=400):
    """Chosen rows that the caller may not change (400). `allowed` are the ids of the others."""

    def __init__(self, message: str, allowed: Collection[int]) -> None:
        super().__init__(message)
        self.allowed = allowed


FIELDS_OF_FAULTS: Final[dict[type[Fault], tuple[str, ...]]] = {
    people.InvalidEmail: ("email",),
    people.EmailTaken: ("email",),
    password.WeakPassword: ("password",),
    password.InvalidPassword: ("password",),
    faults.ResultInFuture: ("date_visited",),
    faults.ReasonRequired: ("reason",),
    faults.BuildingClosed: ("ended_on",),
    faults.ReportHasGaps: ("gaps_reason",),
    faults.InvalidSignature: ("signature_png",),
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


def redirect_to_sign_in(fault: Fault) -> Response:
    g.refusal = type(fault).__name__
    if auth.asks_for_json():
        # A cookie of this response could replace the nonce of a sign-in page that loads at the same time.
        return Response("", 401, HEADERS)
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
    return Response("", 303, {**HEADERS, "Location": console_url(f"/sign-in{query}")})


def render_kiosk_signed_out(fault: Fault) -> Response:
    if auth.is_cross_site_without_cookies():
        return reload_with_cookies()
    g.refusal = type(fault).__name__
    if auth.KIOSK_COOKIE in request.cookies:
        return render_page("kiosk_signed_out.html", 401, problem=fault.message)
    return kiosk_sign_in_form(401)


def render_expired_form(fault: Fault) -> Response:
    """Show a form of an earlier session again to its user."""
    cookie, unsaved = g.get("session_cookie"), submissions.unsaved_form()
    if cookie is None or unsaved is None or unsaved.user_id != cookie.user_id:
        return render_fault(fault)
    with reading() as transaction:
        try:
            auth.admit_session(transaction)
        except (SignInRequired, auth.PasswordChangeRequired) as ended:
            return current_app.make_response(current_app.handle_user_exception(ended))
    record_fault(fault)
    return render_unsaved(unsaved, fault_status(fault))


def render_unsaved(unsaved: submissions.UnsavedForm, status: int) -> Response:
    """Return the page with a form that was not saved and one button that saves it."""
    lines = [(words(name), value) for name, value in unsaved.lines]
    back = unsaved.path if is_page(unsaved.path.partition("?")[0]) else f"{PATH}/"
    return render_page(
        "unsaved.html", status, title="Not saved yet", path=unsaved.path, pairs=unsaved.pairs, lines=lines, back=back
    )


def render_fault(fault: Fault) -> Response:
    record_fault(fault)
    status = fault_status(fault)
    load_frame(status)
    response = render_page(
        "error.html", status, title=TITLES.get(status, "Error"), fault=fault_message(fault), hint=fault.hint
    )
    return with_retry_after(response, fault)


def render_http_error(error: HTTPException) -> Response:
    status = error.code or 500
    load_frame(status)
    title = TITLES.get(status, error.name)
    return render_page("error.html", status, title=title, fault="This page does not exist.", hint=None)


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
    is_kiosk = request.path.startswith(KIOSK_PATH)
    if "caller" in g or g.get("ended") or cookie is None or is_kiosk or not 400 <= status < 429:
        return
    auth.adopt(cookie)
    try:
        with reading() as transaction:
            auth.admit_session(transaction)
    except Fault:
        g.pop("session_cookie", None)


def render_unexpected_error(error: Exception) -> Response:
    incident = middleware.log_incident(error)
    fault = f"The service failed. The log describes the failure as incident {incident}."
    return render_page("error.html", 500, title="Internal error", fault=fault, hint=None)


def with_retry_after(response: Response, fault: Fault) -> Response:
    """Return the response, with a Retry-After header for the statuses 429 and 503."""
    if response.status_code in (429, 503):
        response.headers["Retry-After"] = str(getattr(fault, "retry_after_seconds", 1))
    return response


def fault_status(fault: Fault) -> int:
    """Return the HTTP status of a fault."""
    return 503 if isinstance(fault, TimedOut) else errors.status_of(fault)


FAULT_MESSAGES: Final[dict[type[Fault], str]] = {
    UnknownPath: "This page does not exist, or you do not have access to it.",
    sign_in.WrongCredentials: "The e-mail address or the password is wrong.",
    sign_in.UserBanned: "This user is deactivated. Ask an administrator of your company.",
    people.InvalidEmail: "This is no e-mail address.",
    BodyTooLarge: "The form or its file is too large.",
    RowDenied: "You are not allowed to make this change.",
    faults.FileDenied: "You are not allowed to make this change.",
    faults.ReportIssued: "The visit has a report of this kind. An administrator may withdraw it.",
    faults.ReportHasGaps: "Say why the report is issued although something is missing. The report prints it.",
    faults.InvalidSignature: "The drawing is too large, or no picture. Clear it, and draw it again.",
    faults.ReportChanged: "The rows of the report were changed meanwhile. Submit the form again.",
    ForeignKeyViolation: "Other records depend on it, or a record that it refers to does not exist.",
}


def fault_message(fault: Fault) -> str:
    """Return the message of a fault for users of the console."""
    if isinstance(fault, TimedOut | LockTimeout | Locked | TooManyConnections):
        return retry_message(fault)
    if isinstance(fault, faults.FileTooLarge):
        return f"The file is too large: a file has at most {byte_size(fault.bytes_max)}"
    if isinstance(fault, policy.PermissionDenied) and not isinstance(fault, RowDenied | faults.FileDenied):
        return denial_message(g.get("denied"), g.get("caller"))
    found = next((text for kind, text in FAULT_MESSAGES.items() if isinstance(fault, kind)), None)
    return found or value_message(fault) or without_underscores(fault.message)


SCHEMA_NAME: Final = re.compile(r'(?<!["“.@/])\b(?:p_)?[a-z]+(?:_[a-z]+)*\b(?!["”.@/]\S)')


def without_underscores(text: str) -> str:
    """Return a message with parameters and statuses in words. A text in quotation marks stays.

    >>> without_underscores('The visit is in_progress: p_reason says why. "a_b" is no name.')
    'The visit is in progress: reason says why. "a_b" is no name.'
    """
    return SCHEMA_NAME.sub(lambda found: found[0].removeprefix("p_").replace("_", " "), text)


def value_message(fault: Fault) -> str:
    """Return the message of a value or a column that the database does not take; an empty text for another fault."""
    if isinstance(fault, UnknownColumn):
        named = fault.message.removeprefix("column ").removesuffix(" does not exist").rpartition(".")[2]
        return f"The address names the column “{name(named, 60)}”, which this list does not have."
    is_value = isinstance(fault, VALUE_FAULTS) and value_problem(fault.message, "", TEXT)
    if is_value or isinstance(fault, Unparsable):
        return FORM_VALUE if auth.is_form() else ADDRESS_VALUE
    return ""


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
