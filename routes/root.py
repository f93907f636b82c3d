"""What can be asked, at / and /rest/v1: OpenAPI 3.1, or PostgREST's Swagger 2.0 for whoever asks for
application/openapi+json (docs/decisions/0121). The same bytes for everybody; made once an application."""

from __future__ import annotations

import json

from flask import Blueprint
from flask import Response
from flask import current_app
from flask import request

from access.decorators import requires_entrance
from routes import rpc
from routes.edge import respond
from routes.postgrest import openapi
from routes.postgrest import requests
from routes.postgrest import swagger
from routes.postgrest.media import DOCUMENT
from routes.postgrest.media import MediaType
from routes.postgrest.media import parse_accept
from routes.postgrest.representation import Representation

DOCUMENTS = {MediaType.JSON: openapi.document, MediaType.OPENAPI: swagger.document}
KEPT = "walkthrough.documents"

bp = Blueprint("root", __name__)


@bp.get("/")
@requires_entrance
def document() -> Response:
    requests.require_profiles(request.headers.get("Accept-Profile"))
    media = parse_accept(request.headers.get("Accept"), DOCUMENT)
    headers = {"Content-Type": f"{media.value}; charset=utf-8"}
    return respond(Representation(200, headers, text(media)))


def text(media: MediaType) -> str:
    """A document's text. Two requests at once may both make it; it is the same."""
    kept: dict[MediaType, str] = current_app.extensions.setdefault(KEPT, {})
    if media not in kept:
        calls = [openapi.Call(each.signature, each.volatility.value) for each in rpc.TABLE]
        kept[media] = json.dumps(DOCUMENTS[media](calls), ensure_ascii=False)
    return kept[media]
