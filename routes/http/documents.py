"""The texts of the API's descriptions. Each is rendered once per application and is the same for every caller."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from flask import current_app

from routes.functions import rpc
from routes.postgrest import openapi
from routes.postgrest.openapi_schemas import Json

DOCUMENTS_KEY = "walkthrough.documents"


def document_text(make: Callable[[Iterable[openapi.Call]], Json]) -> str:
    """Return a document's text from the cache. Two concurrent requests may both render it, with the same result."""
    texts: dict[object, str] = current_app.extensions.setdefault(DOCUMENTS_KEY, {})
    if make not in texts:
        calls = [openapi.Call(each.signature, each.volatility.value) for each in rpc.TABLE]
        texts[make] = json.dumps(make(calls), ensure_ascii=False)
    return texts[make]
