"""The tables. `RESOURCES` holds those that the API exposes, by path."""

from __future__ import annotations

from models.audit_log import AuditLog
from models.building import Building
from models.client import Client
from models.fields import Model
from models.grant import (
    ClientAdminBuildingAccess,
    ClientAdminInspectionAccess,
    ClientManagerBuildingAccess,
    ClientManagerInspectionAccess,
)
from models.inspection import Inspection
from models.inspector import Inspector
from models.report_lead import ReportLead
from models.user import User

RESOURCES: dict[str, type[Model]] = {
    "inspections": Inspection,
    "buildings": Building,
    "inspectors": Inspector,
    "reports_lead": ReportLead,
    "clients": Client,
    "users": User,
    "client_admin_building_access": ClientAdminBuildingAccess,
    "client_manager_building_access": ClientManagerBuildingAccess,
    "client_admin_inspection_access": ClientAdminInspectionAccess,
    "client_manager_inspection_access": ClientManagerInspectionAccess,
    "audit_log": AuditLog,
}

__all__ = [
    "RESOURCES",
    "AuditLog",
    "Building",
    "Client",
    "ClientAdminBuildingAccess",
    "ClientAdminInspectionAccess",
    "ClientManagerBuildingAccess",
    "ClientManagerInspectionAccess",
    "Inspection",
    "Inspector",
    "ReportLead",
    "User",
]
