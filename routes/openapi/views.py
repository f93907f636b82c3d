"""The API's description, and the pages that show it.

`/` answers with OpenAPI 3.1 and `/rest/v1` with PostgREST's Swagger 2.0; a browser gets a page with links. `/docs`
shows the document in Swagger UI, from flask-swagger-ui. The page loads nothing from other hosts and has no inline
script or style. The documents hold no data and are the same for every caller.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from importlib.resources import files
from typing import Final

from flask import Blueprint, Response, current_app, request

from access.decorators import public, requires_valid_credentials
from routes.functions.registry import FUNCTIONS
from routes.http.middleware import respond
from routes.http.static_files import StaticFiles
from routes.openapi.document import openapi_document
from routes.openapi.swagger import swagger_document
from routes.postgrest import requests
from routes.postgrest.media import DOCUMENT, DOCUMENT_AS_POSTGREST, MediaType, parse_accept
from routes.postgrest.representation import Representation

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

STATIC: Final = StaticFiles("/docs", FILES, POLICY)
DOCUMENTS_KEY: Final = "walkthrough.documents"

ROOTS: Final = {False: '"servers": [{"url": "/"}]', True: '"basePath": "/"'}
"""By `as_swagger`, the text in a document that names the path of the API."""

bp = Blueprint("docs", __name__)
root = Blueprint("root", __name__)


def document_text(*, as_swagger: bool) -> str:
    """Return a document's text. Two concurrent first requests may both render it, with the same result."""
    texts: dict[bool, str] = current_app.extensions.setdefault(DOCUMENTS_KEY, {})
    if as_swagger not in texts:
        document = openapi_document(FUNCTIONS.values())
        texts[as_swagger] = json.dumps(swagger_document(document) if as_swagger else document, ensure_ascii=False)
    text = texts[as_swagger]
    if prefix := request.script_root:
        root = ROOTS[as_swagger]
        text = text.replace(root, root.replace('"/"', f'"{prefix}"'), 1)
    return text


def serves_browsers(view: Callable[[], Response]) -> Callable[[], Response]:
    """Return a page with links for a browser at /. Other requests get the view's answer."""

    @wraps(view)
    def page_or_view() -> Response:
        return page_response("home.html") if is_from_browser() else view()

    return page_or_view


def is_from_browser() -> bool:
    """Return whether the request is for HTML at / and has no credentials, which a browser does not send."""
    headers = request.headers
    accepts_html = "text/html" in headers.get("Accept", "").lower()
    return request.path == "/" and accepts_html and "apikey" not in headers and "Authorization" not in headers


@root.get("/")
@serves_browsers
@requires_valid_credentials
def document() -> Response:
    requests.require_profiles(request.headers.get("Accept-Profile"))
    as_postgrest = request.path != "/"
    media = parse_accept(request.headers.get("Accept"), DOCUMENT_AS_POSTGREST if as_postgrest else DOCUMENT)
    headers = {"Content-Type": f"{media.value}; charset=utf-8"}
    is_swagger = as_postgrest or media is MediaType.OPENAPI
    return respond(Representation(200, headers, document_text(as_swagger=is_swagger)))


@bp.get("/docs")
@public("the page holds no data")
def docs_page() -> Response:
    return page_response("index.html")


def page_response(page_name: str) -> Response:
    """Return a page of PAGE. Its links to files carry their hashes."""
    page = (PAGE / page_name).read_text(encoding="utf-8")
    for name in FILES:
        page = page.replace(f'"/docs/{name}"', f'"{STATIC.url(name)}"')
    return Response(page, 200, {"Content-Type": HTML, "Content-Security-Policy": POLICY})


@bp.get("/docs/<name>")
@public("the page's public scripts, styles and document")
def file(name: str) -> Response:
    if name == "openapi.json":
        text = document_text(as_swagger=False)
        return Response(text, 200, {"Content-Type": "application/json; charset=utf-8"})
    return STATIC.respond(name)
