"""The console's one blueprint, once every page has put itself on it."""

from __future__ import annotations

from routes.console.components import page as pages
from routes.console.pages import access_matrix
from routes.console.pages import buildings
from routes.console.pages import dashboard
from routes.console.pages import explain as why
from routes.console.pages import inspection_access
from routes.console.pages import inspections
from routes.console.pages import inspectors
from routes.console.pages import kiosk
from routes.console.pages import kiosk_displays as devices
from routes.console.pages import people
from routes.console.pages import readings
from routes.console.pages import sign_in as signing

bp = pages.bp

PAGES = (
    access_matrix,
    buildings,
    dashboard,
    devices,
    inspection_access,
    inspections,
    inspectors,
    kiosk,
    people,
    readings,
    signing,
    why,
)
"""The modules whose pages stand on the blueprint."""
