"""Issued reports and letters in HTTP: the stored content as JSON or as its page, the same bytes always.

The page stands in the content, with placeholders for its images. The policy of the response allows the style that the
page has, whatever later versions print.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Final

from flask import Response, request

from inspections.reports.frozen import filled_page
from routes.http.middleware import respond
from routes.postgrest import representation
from routes.postgrest.preferences import REPORT, MediaType, parse_accept
from routes.postgrest.representation import Representation, content_headers

STYLE: Final = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def accepted_media() -> MediaType:
    """Return what the request accepts: a page, or JSON."""
    representation.require_profiles(request.headers.get("Accept-Profile"))
    return parse_accept(request.headers.get("Accept"), REPORT)


def frozen_response(content: str, media: MediaType, signature: str | None = None) -> Response:
    """Return a stored content as it is, or its page. `signature` is a PNG in base64."""
    if media is not MediaType.HTML:
        return respond(Representation(200, content_headers(media), content))
    page = filled_page(json.loads(content), signature)
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": policy_of(page),
        "Referrer-Policy": "same-origin",
    }
    return Response(page, 200, headers)


def policy_of(page: str) -> str:
    """Return the policy of a page: its own style and images, and nothing else."""
    style = STYLE.search(page)
    digest = base64.b64encode(hashlib.sha256(style[1].encode() if style else b"").digest()).decode()
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src 'sha256-{digest}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )
