"""Where a browser comes back to: the page that it asked for, or the one whose form it sent.

Addresses of the console alone, whoever made the link.
"""

from __future__ import annotations

from urllib.parse import quote

from flask import current_app
from flask import request
from werkzeug.exceptions import HTTPException
from werkzeug.routing import RequestRedirect

from routes.console.session.auth import PATH

ELSEWHERE = (f"{PATH}/sign-", f"{PATH}/static")  # no pages to go on to
NOWHERE = "console.nowhere"
SAFE = "!$&'()*+,-./:;=?@_~%"  # of a query string, as it came


def safe(path: str) -> str:
    """A page of the console to go on to, or nothing: never another place.

    >>> safe("/console/buildings?city=eq.Lynn"), safe("//evil.example/console/"), safe("/\\\\evil")
    ('/console/buildings?city=eq.Lynn', '', '')
    >>> safe("//["), safe("/console/why?person=["), safe("/console/sign-out"), safe("/console/é")
    ('', '/console/why?person=[', '', '')
    """
    # What begins like this has neither scheme nor host, so there is nothing to take apart.
    is_ours = path.startswith(f"{PATH}/") and not path.startswith(ELSEWHERE)
    is_plain = path.isascii() and path.isprintable() and "\\" not in path
    return path if is_ours and is_plain else ""


def here() -> str:
    """The address that was asked for, as it can be asked for again."""
    query = quote(request.query_string, safe=SAFE)
    return quote(request.path) + (f"?{query}" if query else "")


def page_to_show() -> str:
    """The page to show once somebody has signed in: the one that was asked for. Of a form it is the page
    that it stands on, or the next one above: what was sent is not sent again by itself."""
    if request.method != "POST":
        return here()
    path = request.path
    while path.startswith(f"{PATH}/"):
        if is_page(path):
            return quote(path)
        path = path.rpartition("/")[0]
    return ""


def is_page(path: str) -> bool:
    """Whether there is something to be seen there."""
    try:
        endpoint, _ = current_app.url_map.bind(request.host).match(path, "GET")
    except (HTTPException, RequestRedirect):
        return False
    return str(endpoint) != NOWHERE
