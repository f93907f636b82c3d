"""What every page shares: the blueprint, the layout, the response headers, redirects and static files.

Pages contain no inline script or style. A table maps the names of static files, so a request never forms a path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from flask import Blueprint, Response, g, render_template, request

from access import policy
from access.caller import Caller
from access.decorators import public
from access.roles import Role
from engine.query.rule import Action
from engine.query.write.row_security import RowDenied
from routes.console.components.charts import label_filter
from routes.console.components.tables import all_tables
from routes.console.components.template_filters import FILTERS
from routes.console.components.titles import TITLES
from routes.console.session import auth, messages, submissions
from routes.console.session.auth import PATH
from routes.console.session.redirects import requested_url
from routes.http.middleware import record_denial
from routes.http.static_files import StaticFiles
from routes.postgrest.requests import UnknownPath

CONTENT_SECURITY_POLICY: Final = "; ".join(
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
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Vary": "Cookie",
}
STATIC_DIRECTORY: Final = files("routes.console") / "static"
STATIC_FILES: Final = {
    "console.css": "text/css; charset=utf-8",
    "kiosk.js": "text/javascript; charset=utf-8",
    "drafts.js": "text/javascript; charset=utf-8",
    "shortcuts.js": "text/javascript; charset=utf-8",
    "suggestions.js": "text/javascript; charset=utf-8",
    "uploads.js": "text/javascript; charset=utf-8",
    "kiosk_sign_in.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
ROLE_NAMES: Final = {role: role.value.replace("_", " ").capitalize() for role in Role}

Pairs = Sequence[tuple[str, str]]

bp = Blueprint("console", __name__, url_prefix=PATH, template_folder="../templates")

STATIC: Final = StaticFiles(
    f"{PATH}/static", {name: (STATIC_DIRECTORY, kind) for name, kind in STATIC_FILES.items()}, CONTENT_SECURITY_POLICY
)
bp.add_app_template_global(STATIC.url, "static_url")
bp.add_app_template_global(submissions.write_submission, "submission")
for each in (*FILTERS, *TITLES, label_filter):
    bp.add_app_template_filter(each)


def render_page(template: str, status: int = 200, **values: object) -> Response:
    """Return a template as a response with the headers of every page."""
    caller: Caller | None = g.get("caller")
    cookie = g.get("session_cookie")
    message, undo = messages.read_message()
    body = render_template(
        template,
        caller=caller,
        user_name=cookie.name if cookie is not None else None,
        role_name=ROLE_NAMES[caller.role] if caller is not None else None,
        links=navigation(caller) if caller is not None and cookie is not None else (),
        csrf=auth.csrf_token,
        message=message,
        undo=Undo(*undo) if undo is not None else None,
        is_filled=request.method == "POST" or status >= 400,
        reloads=status >= 400 and is_kiosk_page(),
        **values,
    )
    response = Response(body, status, HEADERS)
    auth.set_nonce_cookie(response)
    if message is not None:
        messages.forget_message(response)
    return response


def is_kiosk_page() -> bool:
    """Return whether a kiosk display shows the response. Its error pages reload without a user."""
    is_display = request.path == auth.KIOSK_PATH and auth.KIOSK_COOKIE in request.cookies
    return is_display and not auth.is_form()


def navigation(caller: Caller) -> list[tuple[str, str]]:
    """Return the label and path of each page that the caller's role may open."""
    links = [("My visits", f"{PATH}/visits")] if caller.profile.is_inspector else []
    links.append(("Dashboard", f"{PATH}/"))
    links += [
        (each.plural, f"{PATH}{each.path}" + (f"?{first}" if (first := each.presentation.first_view) else ""))
        for each in all_tables()
        if each.model.grant is None
        and (not each.presentation.part_of if (linked := each.presentation.in_navigation) is None else linked)
        and each.permits(caller, Action.READ)
    ]
    if policy.may_administer(caller.role):
        links += [("Access", f"{PATH}/access"), ("Displays", f"{PATH}/devices")]
    return [*links, ("Why?", f"{PATH}/why")]


@dataclass(frozen=True, slots=True)
class Undo:
    """The form that undoes a change: its path and its fields."""

    path: str
    fields: Pairs = ()


def redirect_to(path: str, done: str | None = None, undo: Undo | None = None, anchor: str = "") -> Response:
    """Return a 303 redirect to a page of the console, which shows the message `done` once, with a button to undo.

    Pass names in the message through `short_name`, so that a long name cannot displace the rest of the message. A form
    that is too long for a cookie has no button. `anchor` is the part of the page to scroll to.
    """
    location = f"{PATH}{path}"
    response = Response("", 303, {**HEADERS, "Location": f"{location}#{anchor}" if anchor else location})
    if done is not None:
        fields = (undo.path, undo.fields) if undo is not None else None
        messages.leave_message(response, location.partition("?")[0], done, fields)
    return response


def render_confirmation(
    title: str, text: str, *, verb: str, action: str, back: str, fields: Pairs = (), names: Sequence[str] = ()
) -> Response:
    """Return the page that asks before a change of the rows `names`; its form sends `fields` to `action`.

    The question belongs to the submission of the form before it: the answer removes the draft of that form.
    """
    submission = g.get("form", {}).get("submission", "")
    return render_page(
        "confirm.html",
        title=title,
        text=text,
        verb=verb,
        action=action,
        back=back,
        fields=[*fields, *([("submission", submission)] if submission else [])],
        names=names,
        is_new=not submission,
    )


def reload_with_cookies() -> Response:
    """Return a page that reloads the requested URL.

    A browser leaves SameSite=Strict cookies out of a request from another site, and sends them with the reload.
    """
    return Response(render_template("reload.html", url=requested_url()), 200, HEADERS)


def kiosk_sign_in_form(status: int = 200, problem: str | None = None) -> Response:
    """Return the form that takes the code of a kiosk display.

    The script submits the token of a link by itself only if no other site opened the link and the browser is signed
    out. Otherwise the user presses the button.
    """
    is_automatic = problem is None and not auth.is_cross_site() and auth.is_signed_out()
    return render_page(
        "kiosk_sign_in.html",
        status,
        problem=problem,
        is_automatic=is_automatic,
        has_display=auth.KIOSK_COOKIE in request.cookies,
    )


@bp.after_request
def finish_response(response: Response) -> Response:
    """Renew the session cookie, and write a refusal to the audit log. Runs outside of every transaction."""
    auth.refresh_session_cookie(response)
    submissions.confirm_submission(response)
    fault = g.get("fault")
    if isinstance(fault, policy.PermissionDenied | RowDenied):
        record_denial(fault)
    return response


@bp.get("")
@public("redirects to the first page")
def redirect_to_root() -> Response:
    return redirect_to("/")


@bp.get("/static/<name>")
@public("the pages' style, scripts and icon, which hold no data")
def static_file(name: str) -> Response:
    return STATIC.respond(name)


@bp.route("/<path:rest>")
@public("answers 404 for unknown paths")
def not_found(rest: str) -> Response:
    raise UnknownPath
