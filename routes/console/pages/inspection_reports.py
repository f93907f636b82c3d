"""The reports of an inspection in the console: the links to them, and the pages that a browser prints."""

from __future__ import annotations

from flask import Response

from access.caller import Caller
from engine.query.rule import Action
from inspections.faults import NoSuchRow
from inspections.files.thumbnails import FORMATS
from inspections.reports.content import FINDINGS_REPORT, LEAD_REPORT, LeadReport, ReportedFile
from inspections.reports.rules import FEDERAL, RULES
from models import Inspection
from routes.console.components.page import bp
from routes.console.components.tables import PATH, Section
from routes.console.session import auth
from routes.postgrest.requests import UnknownPath
from routes.reports.views import IMAGE_WIDTH, report_page, requested_report

NAMES = {LEAD_REPORT: "Lead report", FINDINGS_REPORT: "Findings report"}


def report_links(key: int, kinds: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(NAMES[each], f"{PATH}/inspections/{key}/report?kind={each}") for each in kinds]


def reports_section(key: int, *, has_readings: bool) -> Section:
    """Return the links to the reports of an inspection."""
    kinds = (LEAD_REPORT, FINDINGS_REPORT) if has_readings else (FINDINGS_REPORT,)
    return "inspection_reports.html", {"links": report_links(key, kinds)}


def image_url(file: ReportedFile) -> str:
    """Return the URL of a photograph in the console; an empty text for a document."""
    return f"{PATH}/files/{file.id}/thumbnail/{IMAGE_WIDTH}" if file.mimetype in FORMATS else ""


@bp.get("/inspections/<int:key>/report")
@auth.requires(Action.READ, Inspection)
def show_report(caller: Caller, key: int) -> Response:
    """Show a report with links to the inspection and to the reports by the other rules."""
    try:
        report = requested_report(caller, str(key))
    except NoSuchRow as fault:
        raise UnknownPath from fault
    links = [("Inspection", f"{PATH}/inspections/{key}")]
    if isinstance(report, LeadReport):
        [(_, url)] = report_links(key, (LEAD_REPORT,))
        names = [(each.capitalize() if each == FEDERAL else each, each) for each in RULES if each != report.rule]
        links += [(f"{name} rule", f"{url}&rule={rule}") for name, rule in names]
    response = report_page(report, links, image_url, "'self'")
    response.headers["Vary"] = "Cookie"
    return response
