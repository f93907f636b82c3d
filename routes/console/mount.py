"""The console's one blueprint, once every page has put itself on it."""

from __future__ import annotations

from routes.console import access_matrix
from routes.console import buildings
from routes.console import dashboard
from routes.console import devices
from routes.console import inspection_access
from routes.console import inspections
from routes.console import inspectors
from routes.console import kiosk
from routes.console import pages
from routes.console import people
from routes.console import readings
from routes.console import signing
from routes.console import why

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
