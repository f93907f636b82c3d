"""GET /reports/inspections/<id>: a report of a visible inspection as a page, or as JSON with the same content.

The page is one file without scripts, whose style and images stand in it. They are all that its policy allows, so the
page makes no request. A browser prints it. The page of the console fetches its images from the console.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any, Final

from flask import Blueprint, Response, render_template, request

from access.caller import Caller
from access.decorators import requires
from access.predicates import Parameter, choice, required_parameter
from engine.interface.clock import in_zone
from engine.open import database, reading
from engine.query.statement import Action
from inspections.faults import BytesMissing, NoThumbnail
from inspections.files.thumbnails import FORMATS, thumbnail
from inspections.reports.content import FINDINGS_REPORT, LEAD_REPORT, InspectionReport, ReportedFile
from inspections.reports.frozen import RENDERERS, STORES, filled_page
from inspections.reports.issued import read_issued
from inspections.reports.reports import RULES, read_report
from models import Inspection, IssuedReport
from models.types import BIGINT
from models.vocabulary import JPEG, REPORT_KINDS
from routes.http.middleware import respond
from routes.postgrest import errors, representation
from routes.postgrest.preferences import REPORT, MediaType, parse_accept
from routes.postgrest.representation import Representation, content_headers
from routes.storage.bodies import file_store

TEMPLATES: Final = {LEAD_REPORT: "report_lead.html", FINDINGS_REPORT: "report_findings.html"}
STYLE: Final = (files("routes.reports") / "templates" / "report.css").read_bytes().removesuffix(b"\n")
STYLE_HASH: Final = base64.b64encode(hashlib.sha256(STYLE).digest()).decode()
IMAGES_MAX: Final = 100
"""The images within a page. Each has about 100 KB."""
IMAGE_WIDTH: Final = 640
EMBEDDED: Final = "data:"

INSPECTION_ID: Final = required_parameter(BIGINT)
KIND: Final = choice(REPORT_KINDS, required=False)
RULE: Final = choice(RULES, required=False)

REPORT_ID: Final = required_parameter(BIGINT)
PAGE_STYLE: Final = re.compile(r"<style>(.*?)</style>", re.DOTALL)

bp = Blueprint("reports", __name__, template_folder="templates")


@bp.get("/reports/inspections/<inspection_id>")
@requires(Action.READ, Inspection)
def show_report(caller: Caller, inspection_id: str) -> Response:
    representation.require_profiles(request.headers.get("Accept-Profile"))
    media = parse_accept(request.headers.get("Accept"), REPORT)
    report = requested_report(caller, inspection_id)
    if media is MediaType.HTML:
        return report_page(report)
    text = json.dumps(errors.as_json(report), ensure_ascii=False, separators=(",", ":"))
    return respond(Representation(200, content_headers(media), text))


def requested_report(caller: Caller, key: str) -> InspectionReport:
    """Return the report that the request names. Raise NoSuchRow, InvalidInput or InvalidArgument."""
    inspection_id, kind, rule = INSPECTION_ID.deserialize(key), chosen("kind", KIND), chosen("rule", RULE)
    with reading() as transaction:
        return read_report(transaction, caller, inspection_id, kind, rule)


def chosen(name: str, parameter: Parameter) -> Any:
    """Return an argument of the URL; None if it is absent or empty."""
    return parameter.deserialize(request.args.get(name) or None)


@bp.get("/reports/issued/<report_id>")
@requires(Action.READ, IssuedReport)
def show_issued_report(caller: Caller, report_id: str) -> Response:
    """Return what was frozen: the page with its images, or the content as canonical JSON. The bytes never change."""
    media = accepted_media()
    with reading() as transaction:
        report = read_issued(transaction, caller, REPORT_ID.deserialize(report_id))
    return frozen_answer(media, report.number, report.content, report.sha256, report.signature)


def accepted_media() -> MediaType:
    """Return what the request accepts: a page, or JSON."""
    representation.require_profiles(request.headers.get("Accept-Profile"))
    return parse_accept(request.headers.get("Accept"), REPORT)


def frozen_answer(media: MediaType, number: str, content: str, sha256: str, signature: str | None = None) -> Response:
    """Return the page of a frozen content with its images, or the content as canonical JSON."""
    if media is MediaType.HTML:
        page = filled_page(json.loads(content), signature)
        style = PAGE_STYLE.search(page)
        answer = html_page(page, EMBEDDED, hash_of(style[1] if style is not None else ""))
    else:
        text = f'{{"content":{content},"number":"{number}","sha256":"{sha256}"}}'
        answer = respond(Representation(200, content_headers(media), text))
    answer.set_etag(f"{sha256}-{media.name.lower()}")
    answer.make_conditional(request)
    return answer


def hash_of(style: str) -> str:
    """Return the hash of a style as a security policy names it."""
    return base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


def security_policy(image_source: str, style_hash: str = STYLE_HASH) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src 'sha256-{style_hash}'",
            f"img-src {image_source}",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


class EmbeddedImages:
    """The images of a page as data: URIs, up to IMAGES_MAX."""

    def __init__(self) -> None:
        self.store = file_store()
        self.count = 0

    def __call__(self, file: ReportedFile) -> str:
        """Return the source of an image; an empty text for a document, or for an image that cannot be shown."""
        if file.mimetype not in FORMATS or self.count >= IMAGES_MAX:
            return ""
        self.count += 1
        try:
            image = thumbnail(self.store, file.id, file.sha256, IMAGE_WIDTH)
        except (NoThumbnail, BytesMissing):
            return ""
        return f"data:{JPEG};base64,{base64.b64encode(image).decode()}"


def report_page(
    report: InspectionReport,
    links: Sequence[tuple[str, str]] = (),
    image: Callable[[ReportedFile], str] | None = None,
    image_source: str = EMBEDDED,
) -> Response:
    """Return the page of a report. `links` stand above it on a screen, and not on paper.

    `image` returns the URL of a photograph, or an empty text. `image_source` is where the policy allows images from.
    """
    return html_page(render(report, None, database().time_zone, image or EmbeddedImages(), links), image_source)


def html_page(body: str, image_source: str, style_hash: str = STYLE_HASH) -> Response:
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": security_policy(image_source, style_hash),
        "Referrer-Policy": "same-origin",
    }
    return Response(body, 200, headers)


def render(
    report: InspectionReport,
    issued: Mapping[str, Any] | None,
    zone: datetime.tzinfo,
    image: Callable[[ReportedFile], str],
    links: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the page of a report. Without `issued`, which issue_report makes, it is a draft."""

    def day_and_time(text: str | None) -> tuple[str, str]:
        """Return the day and the minute of a timestamp in TIMEZONE, or empty texts."""
        moment = in_zone(text, zone) if text is not None else None
        return (f"{moment:%Y-%m-%d}", f"{moment:%H:%M}") if moment is not None else ("", "")

    template = TEMPLATES[report.kind]
    return render_template(template, report=report, issued=issued, links=links, zone=zone, at=day_and_time, image=image)


STORES["files"] = file_store
RENDERERS.update(dict.fromkeys(TEMPLATES, render))
