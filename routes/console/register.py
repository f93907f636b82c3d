"""The console's blueprint with all of its pages."""

from __future__ import annotations

from routes.console.components import error_pages
from routes.console.components import page
from routes.console.pages import access_matrix
from routes.console.pages import buildings
from routes.console.pages import dashboard
from routes.console.pages import explain_access
from routes.console.pages import inspection_access
from routes.console.pages import inspections
from routes.console.pages import inspectors
from routes.console.pages import kiosk
from routes.console.pages import kiosk_displays
from routes.console.pages import readings
from routes.console.pages import sign_in
from routes.console.pages import users

bp = page.bp

PAGES = (
    access_matrix,
    buildings,
    dashboard,
    error_pages,
    explain_access,
    inspection_access,
    inspections,
    inspectors,
    kiosk,
    kiosk_displays,
    readings,
    sign_in,
    users,
)
"""The modules that register views or error handlers on the blueprint."""
