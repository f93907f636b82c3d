"""The URLs of the console, and the targets of redirects.

A path of a request is without the prefix of a proxy, and so are the paths that forms carry in `back` and `next`.
`console_url` returns the path that a response names. Every target of a redirect is a page of the console, so a link
cannot send a browser to another site.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final
from urllib.parse import quote

from flask import current_app, request
from werkzeug.exceptions import HTTPException
from werkzeug.routing import RequestRedirect

from routes.http.middleware import url_path

PATH: Final = "/console"
KIOSK_PATH: Final = f"{PATH}/kiosk"
NO_RETURN_PATHS = (f"{PATH}/sign-", f"{PATH}/static")
NOT_FOUND_ENDPOINT = "console.GET /<path:rest>"
DOT = re.compile("%2e", re.IGNORECASE)  # browsers read it as a dot in a segment of dots
QUERY_CHARACTERS = "!$&'()*+,-./:;=?@_~%"  # left unquoted in a query string


console_url: Final = partial(url_path, PATH)
"""Returns the URL of a page of the console, whose path is below that of the console."""


def page_path(text: str | None) -> str:
    """Return the page that a form names in `back`, below the path of the console; an empty text for any other."""
    return safe_redirect(PATH + (text or "")).removeprefix(PATH)


def safe_redirect(path: str) -> str:
    """Return the path if it is a page of the console, otherwise an empty string.

    >>> safe_redirect("/console/buildings?city=eq.Lynn"), safe_redirect("//evil.example/console/")
    ('/console/buildings?city=eq.Lynn', '')
    >>> safe_redirect("/\\\\evil"), safe_redirect("//["), safe_redirect("/console/why?person=[")
    ('', '', '/console/why?person=[')
    >>> safe_redirect("/console/sign-out"), safe_redirect("/console/é")
    ('', '')
    >>> safe_redirect("/console/../../x"), safe_redirect("/console/%2E./x"), safe_redirect("/console/why?a=../b")
    ('', '', '/console/why?a=../b')
    """
    # A path with this prefix has neither a scheme nor a host.
    is_console = path.startswith(f"{PATH}/") and not path.startswith(NO_RETURN_PATHS)
    is_plain = path.isascii() and path.isprintable() and "\\" not in path
    segments = DOT.sub(".", re.split("[?#]", path, maxsplit=1)[0]).split("/")
    return path if is_console and is_plain and not {".", ".."} & set(segments) else ""


def requested_url() -> str:
    """Return the path and query of the request, quoted."""
    query = quote(request.query_string, safe=QUERY_CHARACTERS)
    return quote(request.path) + (f"?{query}" if query else "")


def return_url() -> str:
    """Return the page to show after a sign-in.

    For a GET request this is the requested page. For a form it is the page of the form, or the next page above it.
    """
    if request.method != "POST":
        return requested_url()
    path = request.path
    while path.startswith(f"{PATH}/"):
        if is_page(path):
            return quote(path)
        path = path.rpartition("/")[0]
    return ""


def is_page(path: str) -> bool:
    """Return whether a GET request of the path matches a view of the console."""
    try:
        endpoint, _ = current_app.url_map.bind(request.host).match(path, "GET")
    except (HTTPException, RequestRedirect):
        return False
    return str(endpoint) != NOT_FOUND_ENDPOINT
