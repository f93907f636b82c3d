"""The API description: OpenAPI 3.1 at /, and PostgREST's Swagger 2.0 at /rest/v1.

At /, `Accept: application/openapi+json` selects Swagger 2.0. Each document is rendered once per application and
is the same for every caller.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from flask import Blueprint, Response, current_app, request

from access.decorators import requires_valid_credentials
from routes import rpc
from routes.middleware import respond
from routes.postgrest import openapi, requests, swagger
from routes.postgrest.media import DOCUMENT, DOCUMENT_AS_POSTGREST, MediaType, parse_accept
from routes.postgrest.openapi_schemas import Json
from routes.postgrest.representation import Representation

DOCUMENTS_KEY = "walkthrough.documents"

bp = Blueprint("root", __name__)


@bp.get("/")
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


def document_text(make: Callable[[Iterable[openapi.Call]], Json]) -> str:
    """Return a document's text from the cache. Two concurrent requests may both render it, with the same result."""
    texts: dict[object, str] = current_app.extensions.setdefault(DOCUMENTS_KEY, {})
    if make not in texts:
        calls = [openapi.Call(each.signature, each.volatility.value) for each in rpc.TABLE]
        texts[make] = json.dumps(make(calls), ensure_ascii=False)
    return texts[make]
