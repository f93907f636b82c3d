"""The console's blueprint with all of its pages."""

from __future__ import annotations

from routes.console.components import error_pages, page
from routes.console.pages import (
    access_matrix,
    account,
    api_keys,
    audit_log,
    buildings,
    dashboard,
    explain_access,
    findings,
    grants_of_row,
    imports,
    inspection_changes,
    inspection_reports,
    inspections,
    kiosk,
    kiosk_displays,
    lead,
    photographs,
    rows,
    schedules,
    sign_in,
    users,
    visits,
)

bp = page.bp

PAGES = (
    access_matrix,
    account,
    api_keys,
    audit_log,
    buildings,
    dashboard,
    error_pages,
    explain_access,
    findings,
    grants_of_row,
    imports,
    inspection_changes,
    inspection_reports,
    inspections,
    kiosk,
    kiosk_displays,
    lead,
    photographs,
    rows,
    schedules,
    sign_in,
    users,
    visits,
)
"""The modules that register views or error handlers on the blueprint."""
