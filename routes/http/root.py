"""The API description: OpenAPI 3.1 at /, and PostgREST's Swagger 2.0 at /rest/v1. A browser gets a page with links.

At /, `Accept: application/openapi+json` selects Swagger 2.0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from flask import Blueprint, Response, request

from access.decorators import requires_valid_credentials
from routes.http import docs
from routes.http.documents import document_text
from routes.http.middleware import respond
from routes.postgrest import openapi, requests, swagger
from routes.postgrest.media import DOCUMENT, DOCUMENT_AS_POSTGREST, MediaType, parse_accept
from routes.postgrest.representation import Representation

bp = Blueprint("root", __name__)


def serves_browsers(view: Callable[[], Response]) -> Callable[[], Response]:
    """Return a page with links for a browser at /. Other requests get the view's answer."""

    @wraps(view)
    def page_or_view() -> Response:
        return docs.page_response(docs.HOME) if is_from_browser() else view()

    return page_or_view


def is_from_browser() -> bool:
    """Return whether the request is for HTML at / and has no credentials, which a browser does not send."""
    headers = request.headers
    accepts_html = "text/html" in headers.get("Accept", "").lower()
    return request.path == "/" and accepts_html and "apikey" not in headers and "Authorization" not in headers


@bp.get("/")
@serves_browsers
@requires_valid_credentials
def document() -> Response:
    requests.require_profiles(request.headers.get("Accept-Profile"))
    as_postgrest = request.path != "/"
    offered = DOCUMENT_AS_POSTGREST if as_postgrest else DOCUMENT
    media = parse_accept(request.headers.get("Accept"), offered)
    headers = {"Content-Type": f"{media.value}; charset=utf-8"}
    is_swagger = as_postgrest or media is MediaType.OPENAPI
    render = swagger.swagger_document if is_swagger else openapi.openapi_document
    return respond(Representation(200, headers, document_text(render)))
