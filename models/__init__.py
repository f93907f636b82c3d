"""The tables. `RESOURCES` holds the tables of the API, by path."""

from __future__ import annotations

from models.audit_log import AuditLog
from models.building import Building, BuildingDetail
from models.calibration_check import CalibrationCheck
from models.client import Client
from models.deadline_rule import DeadlineRule
from models.fields import Model
from models.file import File
from models.finding import Finding, FindingEvent
from models.grant import (
    ClientAdminBuildingAccess,
    ClientAdminInspectionAccess,
    ClientManagerBuildingAccess,
    ClientManagerInspectionAccess,
)
from models.inspection import Inspection
from models.inspector import Inspector
from models.issued_report import IssuedReport
from models.lead_standard import LeadStandard
from models.notice import Notice
from models.report_lead import ReportLead
from models.schedule import InspectionPlan, Schedule
from models.user import User
from models.xrf_instrument import XrfInstrument, XrfLimit

RESOURCES: dict[str, type[Model]] = {
    "clients": Client,
    "users": User,
    "inspectors": Inspector,
    "buildings": Building,
    "building_details": BuildingDetail,
    "inspections": Inspection,
    "xrf_instruments": XrfInstrument,
    "xrf_limits": XrfLimit,
    "lead_standards": LeadStandard,
    "reports_lead": ReportLead,
    "calibration_checks": CalibrationCheck,
    "schedules": Schedule,
    "inspection_plans": InspectionPlan,
    "deadline_rules": DeadlineRule,
    "findings": Finding,
    "finding_events": FindingEvent,
    "files": File,
    "issued_reports": IssuedReport,
    "notices": Notice,
    "client_admin_building_access": ClientAdminBuildingAccess,
    "client_manager_building_access": ClientManagerBuildingAccess,
    "client_admin_inspection_access": ClientAdminInspectionAccess,
    "client_manager_inspection_access": ClientManagerInspectionAccess,
    "audit_log": AuditLog,
}
"""Documents, archives and the console list the tables in this order."""


def parents_first() -> list[str]:
    """Return the names of RESOURCES in their order, each table after the tables that it refers to."""
    ordered: list[str] = []
    visited: set[str] = set()

    def visit(name: str) -> None:
        if name in visited:
            return
        visited.add(name)
        parents = {key.column.table.name for key in RESOURCES[name].__table__.foreign_keys}
        for parent in RESOURCES:
            if parent in parents:
                visit(parent)
        ordered.append(name)

    for name in RESOURCES:
        visit(name)
    return ordered


__all__ = [
    "RESOURCES",
    "AuditLog",
    "Building",
    "BuildingDetail",
    "CalibrationCheck",
    "Client",
    "ClientAdminBuildingAccess",
    "ClientAdminInspectionAccess",
    "ClientManagerBuildingAccess",
    "ClientManagerInspectionAccess",
    "DeadlineRule",
    "File",
    "Finding",
    "FindingEvent",
    "Inspection",
    "InspectionPlan",
    "Inspector",
    "IssuedReport",
    "LeadStandard",
    "Notice",
    "ReportLead",
    "Schedule",
    "User",
    "XrfInstrument",
    "XrfLimit",
    "parents_first",
]
