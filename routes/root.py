"""What can be asked: OpenAPI 3.1 at /, or PostgREST's Swagger 2.0 for whoever asks for application/openapi+json there,
and for whoever asks at /rest/v1. The same bytes for everybody; made once an application."""

from __future__ import annotations

import json
from collections.abc import Callable
from collections.abc import Iterable

from flask import Blueprint
from flask import Response
from flask import current_app
from flask import request

from access.decorators import requires_valid_credentials
from routes import rpc
from routes.middleware import respond
from routes.postgrest import openapi
from routes.postgrest import requests
from routes.postgrest import swagger
from routes.postgrest.media import DOCUMENT
from routes.postgrest.media import DOCUMENT_AS_POSTGREST
from routes.postgrest.media import MediaType
from routes.postgrest.media import parse_accept
from routes.postgrest.openapi_schemas import Json
from routes.postgrest.representation import Representation

KEPT = "walkthrough.documents"

bp = Blueprint("root", __name__)


@bp.get("/")
@requires_valid_credentials
def document() -> Response:
    requests.require_profiles(request.headers.get("Accept-Profile"))
    as_postgrest = request.path != "/"
    offered = DOCUMENT_AS_POSTGREST if as_postgrest else DOCUMENT
    media = parse_accept(request.headers.get("Accept"), offered)
    headers = {"Content-Type": f"{media.value}; charset=utf-8"}
    makes = swagger if as_postgrest or media is MediaType.OPENAPI else openapi
    return respond(Representation(200, headers, text(makes.document)))


def text(make: Callable[[Iterable[openapi.Call]], Json]) -> str:
    """A document's text. Two requests at once may both make it; it is the same."""
    kept: dict[object, str] = current_app.extensions.setdefault(KEPT, {})
    if make not in kept:
        calls = [openapi.Call(each.signature, each.volatility.value) for each in rpc.TABLE]
        kept[make] = json.dumps(make(calls), ensure_ascii=False)
    return kept[make]
