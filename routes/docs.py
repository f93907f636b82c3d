"""/docs: the OpenAPI document in Swagger UI, from flask-swagger-ui.

The page loads nothing from other hosts and has no inline script or style. Files are served from a fixed table,
so no file path is derived from a request. The document describes the API and holds no data. routes/root.py serves
home.html.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from flask import Blueprint, Response

from access.decorators import public
from routes.documents import document_text
from routes.postgrest import openapi
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
DOCUMENT: Final = "openapi.json"
HOME: Final = "home.html"
FILES: Final = {
    "page.js": (PAGE, JAVASCRIPT),
    "page.css": (PAGE, CSS),
    "swagger-ui-bundle.js": (LIBRARY, JAVASCRIPT),
    "swagger-ui.css": (LIBRARY, CSS),
    "favicon-32x32.png": (LIBRARY, "image/png"),
}

bp = Blueprint("docs", __name__)


@bp.get("/docs")
@public("the page holds no data")
def docs_page() -> Response:
    return file_response("index.html")


@bp.get("/docs/<name>")
@public("the page's public scripts, styles and document")
def file(name: str) -> Response:
    if name == DOCUMENT:
        text = document_text(openapi.openapi_document)
        return Response(text, 200, {"Content-Type": "application/json; charset=utf-8"})
    if name not in FILES:
        raise UnknownPath
    return file_response(name)


def file_response(name: str) -> Response:
    """Return a file of FILES, or a page."""
    directory, content_type = FILES.get(name, (PAGE, HTML))
    headers = {"Content-Type": content_type, "Content-Security-Policy": POLICY}
    return Response((directory / name).read_bytes(), 200, headers)
