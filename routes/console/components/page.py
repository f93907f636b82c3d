"""What every page shares: the blueprint, the layout, the response headers, redirects and static files.

Pages contain no inline script or style. A table maps the names of static files, so a request never forms a path.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from flask import Response, g, render_template, request

from access import policy
from access.caller import Caller
from access.decorators import public
from access.roles import Role
from access.session import current_time
from engine.interface.clock import zone_name
from engine.open import database
from engine.query.statement import Action
from engine.query.write.rules import RowDenied
from routes.console.components.tables import all_tables
from routes.console.components.template_filters import unix_moment
from routes.console.session import auth, submissions
from routes.console.session.urls import KIOSK_PATH, PATH, console_url, requested_url
from routes.http.faults import UnknownPath
from routes.http.middleware import StaticFiles, record_denial, url_path

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
    "outbox.js": "text/javascript; charset=utf-8",
    "shortcuts.js": "text/javascript; charset=utf-8",
    "suggestions.js": "text/javascript; charset=utf-8",
    "imports.js": "text/javascript; charset=utf-8",
    "signature.js": "text/javascript; charset=utf-8",
    "uploads.js": "text/javascript; charset=utf-8",
    "kiosk_sign_in.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
WORK, PLACES, PEOPLE, SETTINGS = "", "Places", "People", "Settings"
GROUPS: Final = {
    "inspections": WORK,
    "findings": WORK,
    "schedules": WORK,
    "notices": PLACES,
    "buildings": PLACES,
    "clients": PLACES,
    "users": PEOPLE,
    "inspectors": PEOPLE,
}
"""The group of the menu that has the list of a table. Other lists are among the settings."""
ROLE_NAMES: Final = {role: role.value.replace("_", " ").capitalize() for role in Role}

Pairs = Sequence[tuple[str, str]]

STATIC: Final = StaticFiles(
    f"{PATH}/static", {name: (STATIC_DIRECTORY, kind) for name, kind in STATIC_FILES.items()}, CONTENT_SECURITY_POLICY
)


def time_zone_name() -> str:
    """Return the zone of the times on pages, such as "America/New_York (EST)"."""
    now = datetime.datetime.fromtimestamp(current_time(), database().time_zone)
    name, short = str(now.tzinfo), zone_name(now)
    return name if name == short else f"{name} ({short})"


def printed_at() -> str:
    """Return the time of the page, which paper shows."""
    return unix_moment(int(current_time()))


def render_page(template: str, status: int = 200, **values: object) -> Response:
    """Return a template as a response with the headers of every page."""
    caller: Caller | None = g.get("caller")
    cookie = g.get("session_cookie")
    message, undo = submissions.read_message()
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
        submissions.forget_message(response)
    return response


def is_kiosk_page() -> bool:
    """Return whether a kiosk display shows the response. Its error pages reload without a user."""
    is_display = request.path == KIOSK_PATH and auth.KIOSK_COOKIE in request.cookies
    return is_display and not auth.is_form()


def navigation(caller: Caller) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the groups of the menu: each with the label and path of the pages that the caller's role may open.

    The first group, the daily work, has no label.
    """
    if caller.has_temporary_password:
        return []
    groups: dict[str, list[tuple[str, str]]] = {WORK: [], PLACES: [], PEOPLE: [], SETTINGS: []}
    if caller.profile.is_inspector:
        groups[WORK].append(("My visits", console_url("/visits")))
    groups[WORK].append(("Dashboard", console_url("/")))
    for each in all_tables():
        shown = each.presentation.in_navigation
        is_linked = not each.presentation.part_of if shown is None else shown
        if each.model.grant is None and is_linked and each.permits(caller, Action.READ):
            first = each.presentation.first_view
            url = console_url(each.path) + (f"?{first}" if first else "")
            groups[GROUPS.get(each.name, SETTINGS)].append((each.plural, url))
    if policy.may_administer(caller.role):
        groups[PEOPLE].append(("Access", console_url("/access")))
        groups[SETTINGS].append(("Displays", console_url("/devices")))
    groups[PEOPLE].append(("Why?", console_url("/why")))
    return [(label, links) for label, links in groups.items() if links]


def is_current_page(path: str) -> bool:
    """Return whether a link of the menu leads to the requested page, or to the list of its row."""
    page = url_path(request.path)
    return page == path or (path != console_url("/") and page.startswith(f"{path}/"))


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
    url = console_url(path)
    response = Response("", 303, {**HEADERS, "Location": f"{url}#{anchor}" if anchor else url})
    if done is not None:
        fields = (undo.path, undo.fields) if undo is not None else None
        submissions.leave_message(response, PATH + path.partition("?")[0], done, fields)
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
    return Response(render_template("reload.html", url=url_path(requested_url())), 200, HEADERS)


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


def finish_response(response: Response) -> Response:
    """Renew the session cookie, and write a refusal to the audit log. Runs outside of every transaction."""
    auth.refresh_session_cookie(response)
    submissions.confirm_submission(response)
    fault = g.get("fault")
    if isinstance(fault, policy.PermissionDenied | RowDenied):
        record_denial(fault)
    return response


@public("redirects to the first page")
def redirect_to_root() -> Response:
    return redirect_to("/")


@public("the pages' style, scripts and icon, which hold no data")
def static_file(name: str) -> Response:
    return STATIC.respond(name)


@public("answers 404 for unknown paths")
def not_found(rest: str) -> Response:
    raise UnknownPath
