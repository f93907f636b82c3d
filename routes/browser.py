"""Pages for a person's browser at the addresses of programs: an error, /live and /ready.

A browser asks for text/html, and has neither an apikey nor a token. The status and the other headers are those of the
answer for programs, and a page says no more than that answer. Pages of the console are left as they are.
"""

from __future__ import annotations

import json
from typing import Final

from flask import Blueprint, Response, render_template, request

from routes.http.middleware import request_id, url_path
from routes.openapi.views import HTML, POLICY, STATIC, is_from_browser

HEALTH: Final = ("/live", "/ready")
FILES: Final = "/storage/v1/"
CALENDARS: Final = "/calendar/"

bp = Blueprint("browser", __name__)


@bp.after_app_request
def replace_answer(response: Response) -> Response:
    """Replace the body of an answer for programs by a page, if a browser asked for it."""
    if response.status_code < 400 and request.path not in HEALTH:
        return response
    if request.method not in ("GET", "HEAD") or not is_from_browser() or response.mimetype == "text/html":
        return response
    health = json.loads(response.get_data()) if request.path in HEALTH and response.is_json else {}
    is_health = "status" in health  # an error has none
    title, text = health_words(health, response) if is_health else error_words(request.path, response.status_code)
    page = render_template("message.html", title=title, text=text, static_url=STATIC.url, url_path=url_path)
    response.set_data(page)
    response.headers["Content-Type"] = HTML
    response.headers["Content-Security-Policy"] = POLICY
    return response


def health_words(found: dict[str, str | int], response: Response) -> tuple[str, str]:
    """Return the title and the text of /live or /ready."""
    word = found.pop("status")
    text = f"The service is {word}." if response.status_code == 200 else f"The service cannot be used: {word}."
    return str(word).capitalize(), " ".join(
        [text, *(f"{name.replace('_', ' ').capitalize()}: {found[name]}." for name in found)]
    )


def error_words(path: str, status: int) -> tuple[str, str]:
    """Return the title and the text of the page of an error."""
    if status == 429:
        return "Too many attempts", "Wait some minutes, then try again."
    if status >= 500:
        return "The service cannot answer now", f"Try again in a minute. The log calls this request {request_id()}."
    if path.startswith(CALENDARS):
        return (
            "This calendar link does not work",
            "The link was revoked, or the address is incomplete. My account in the console makes a new link.",
        )
    if path.startswith(FILES):
        return (
            "This link to a file does not work",
            "The link has expired, was withdrawn, or is incomplete. Ask the person who sent the link for a new one.",
        )
    return "There is no page here", "The address is wrong, or it is an address for programs."
