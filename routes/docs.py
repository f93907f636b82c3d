"""/docs: the document to be read and tried in a browser, by the Swagger UI that flask-swagger-ui ships.

Everything comes from here: no other host, no inline script or style. Files are served by name from one
table, so no path is ever made of what a request says. The page asks for the apikey before it asks for
the document.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from flask import Blueprint
from flask import Response

from access.decorators import public
from routes.postgrest.requests import UnknownPath

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",  # Swagger UI's style sheet holds its icons
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

PAGE: Final = files("routes") / "docs_page"
LIBRARY: Final = files("flask_swagger_ui") / "dist"
CSS: Final = "text/css; charset=utf-8"
HTML: Final = "text/html; charset=utf-8"
JAVASCRIPT: Final = "text/javascript; charset=utf-8"
FILES: Final = {
    "page.js": (PAGE, JAVASCRIPT),
    "page.css": (PAGE, CSS),
    "swagger-ui-bundle.js": (LIBRARY, JAVASCRIPT),
    "swagger-ui.css": (LIBRARY, CSS),
    "favicon-32x32.png": (LIBRARY, "image/png"),
}

bp = Blueprint("docs", __name__)


@bp.get("/docs")
@public("instructions that hold no data: the document is asked for with the reader's own apikey")
def page() -> Response:
    return answer("index.html")


@bp.get("/docs/<name>")
@public("the page's scripts and styles, which anybody may have from its makers")
def file(name: str) -> Response:
    if name not in FILES:
        raise UnknownPath
    return answer(name)


def answer(name: str) -> Response:
    directory, content_type = FILES.get(name, (PAGE, HTML))
    headers = {"Content-Type": content_type, "Content-Security-Policy": POLICY}
    return Response((directory / name).read_bytes(), 200, headers)
