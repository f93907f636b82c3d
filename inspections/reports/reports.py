"""The reports of an inspection, as far as a caller sees its rows: every table is read under the caller's rule."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from access.caller import Caller
from access.functions import function
from access.parameters import choice, required_parameter
from access.roles import EVERY_ROLE
from engine import execute
from engine.interface.transaction import Transaction
from engine.query.catalog import catalog
from engine.query.shape import Filter, Node, OrderTerm, Query, Shape
from engine.query.statement import Binding
from inspections.faults import ReportTooLarge
from inspections.lead.summary import LeadRows, read_lead
from inspections.reports.content import (
    FINDINGS_REPORT,
    LEAD_REPORT,
    STANDARD_MG_CM2,
    FindingsReport,
    InspectionReport,
    LeadReport,
    ReportedBuilding,
    ReportedCheck,
    ReportedInspector,
    ReportedInstrument,
    ReportedLimit,
    ReportedVisit,
    by_severity,
    by_status,
    front_of,
    pick,
    reported_files,
    reported_finding,
    reported_owner,
    reported_reading,
)
from inspections.reports.rules import CITATIONS, RULES, find_gaps, rule_of_state
from inspections.visits import read_visit
from models.types import BIGINT
from models.vocabulary import LEAD

ROWS_MAX = 10_000
"""The rows of one table in a report."""

Row = dict[str, Any]
ReadRows = Callable[..., list[Row]]
"""`visible_rows` of a caller in a transaction."""


@function(
    "report_gaps",
    summary="What a rule requires of an inspection's lead report, and the report lacks",
    roles=EVERY_ROLE,
    parameters={"p_inspection_id": required_parameter(BIGINT), "p_rule": choice(RULES)},
)
def report_gaps(transaction: Transaction, caller: Caller, inspection_id: int, rule: str) -> tuple[str, ...]:
    """Return the codes of the gaps, in the order of the report. Raise NoSuchRow."""
    report = read_report(transaction, caller, inspection_id, LEAD_REPORT, rule)
    return tuple(each.code for each in report.gaps) if isinstance(report, LeadReport) else ()


def read_report(
    transaction: Transaction, caller: Caller, inspection_id: int, kind: str | None = None, rule: str | None = None
) -> InspectionReport:
    """Return a report of a visible inspection. Raise NoSuchRow or ReportTooLarge.

    The kind follows from the inspection's type by default, and the rule from the building's state.
    """
    visit = read_visit(transaction, caller, inspection_id)
    rows = partial(visible_rows, transaction, caller)
    building = first(rows("buildings", "id", [visit.building_id]))
    details = first(rows("building_details", "building_id", [visit.building_id]))
    head: dict[str, Any] = {
        "made_on": transaction.today.isoformat(),
        "visit": pick(ReportedVisit, dataclasses.asdict(visit)),
        "building": pick(ReportedBuilding, building, details),
        "owner": reported_owner(details, first(rows("clients", "id", [building.get("client_id")]))),
        "inspector": pick(ReportedInspector, first(rows("inspectors", "id", [visit.inspector_id]))),
        "files": reported_files(rows("files", "inspection_id", [inspection_id], "created_at", "id")),
    }
    if (kind or (LEAD_REPORT if visit.inspection_type == LEAD else FINDINGS_REPORT)) == FINDINGS_REPORT:
        of_case = rows("findings", "case_id", [visit.case_id], "due_at", "id")
        files = rows("files", "finding_id", [each["id"] for each in of_case], "created_at", "id")
        findings = [
            reported_finding(each, transaction.moment, [file for file in files if file["finding_id"] == each["id"]])
            for each in of_case
        ]
        return FindingsReport(
            FINDINGS_REPORT,
            **head,
            by_status=by_status(findings),
            late=sum(each.is_late for each in findings),
            severities=by_severity(findings),
        )
    lead = read_lead(transaction, caller, inspection_id)
    return read_lead_report(rows, lead, head, rule or rule_of_state(building.get("state")))


def read_lead_report(rows: ReadRows, lead: LeadRows, head: dict[str, Any], rule: str) -> LeadReport:
    """Return the lead report of a visit by a rule."""
    inspection_id = head["visit"].id
    readings = tuple(
        reported_reading(each, lead.checked[each["id"]].validity if each["id"] in lead.checked else None)
        for each in rows("reports_lead", "inspection_id", [inspection_id], "taken_at", "reading_no", "id")
    )
    checks = rows("calibration_checks", "inspection_id", [inspection_id], "taken_at", "id")
    report = LeadReport(
        LEAD_REPORT,
        **head,
        rule=rule,
        citation=CITATIONS[rule],
        standard_mg_cm2=STANDARD_MG_CM2,
        is_complete=True,
        gaps=(),
        positives=front_of(readings),
        instruments=reported_instruments(rows, lead),
        checks=tuple(pick(ReportedCheck, each) for each in checks),
        readings=readings,
    )
    gaps = find_gaps(report)
    return dataclasses.replace(report, gaps=gaps, is_complete=not gaps)


def reported_instruments(rows: ReadRows, lead: LeadRows) -> tuple[ReportedInstrument, ...]:
    """Return the instruments of readings that are not void, and of checks. An unknown one has its number only."""
    instruments = {each["gun_id"]: each for each in rows("xrf_instruments", "gun_id", lead.instruments)}
    limits = rows("xrf_limits", "gun_id", lead.instruments, "gun_id", "substrate")
    return tuple(
        pick(
            ReportedInstrument,
            instruments.get(each.gun_id, {}),
            gun_id=each.gun_id,
            limits=tuple(pick(ReportedLimit, limit) for limit in limits if limit["gun_id"] == each.gun_id),
        )
        for each in lead.guns()
    )


def visible_rows(
    transaction: Transaction, caller: Caller, table: str, column: str, values: Collection[int | None], *order: str
) -> list[Row]:
    """Return the rows with one of the values that the caller reads. Raise ReportTooLarge above ROWS_MAX rows."""
    texts = tuple(str(each) for each in values if each is not None)
    if not texts:
        return []
    node = Node(conditions=(Filter(column, "in", value=0),), order=tuple(map(OrderTerm, order)))
    binding = Binding((texts,), caller.parameters, limit=ROWS_MAX + 1)
    selected = execute.select(
        transaction, caller.rule, binding, relation=catalog().relations[table], query=Query(Shape(node)), count=False
    )
    if selected.shown > ROWS_MAX:
        raise ReportTooLarge(ROWS_MAX, table)
    return [json.loads(row) for row in selected.rows]


def first(rows: list[Row]) -> Row:
    """Return the only row, or an empty one."""
    return rows[0] if rows else {}
