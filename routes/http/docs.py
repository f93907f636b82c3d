"""/docs: the OpenAPI document in Swagger UI, from flask-swagger-ui.

The page loads nothing from other hosts and has no inline script or style. Files are served from a fixed table,
so no file path is derived from a request. The document describes the API and holds no data. routes/http/root.py serves
home.html.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from flask import Blueprint, Response

from access.decorators import public
from routes.http.documents import document_text
from routes.http.static_files import StaticFiles
from routes.postgrest import openapi

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

STATIC: Final = StaticFiles("docs", FILES, POLICY)

bp = Blueprint("docs", __name__)


@bp.get("/docs")
@public("the page holds no data")
def docs_page() -> Response:
    return page_response("index.html")


def page_response(page_name: str) -> Response:
    """Return a page of PAGE. Its links to files carry their hashes."""
    page = (PAGE / page_name).read_text(encoding="utf-8")
    for name in FILES:
        page = page.replace(f'"docs/{name}"', f'"{STATIC.url(name)}"')
    return Response(page, 200, {"Content-Type": HTML, "Content-Security-Policy": POLICY})


@bp.get("/docs/<name>")
@public("the page's public scripts, styles and document")
def file(name: str) -> Response:
    if name == DOCUMENT:
        text = document_text(openapi.openapi_document)
        return Response(text, 200, {"Content-Type": "application/json; charset=utf-8"})
    return STATIC.respond(name)
