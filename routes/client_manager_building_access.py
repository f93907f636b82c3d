"""/client_manager_building_access"""

from __future__ import annotations

from models import ClientManagerBuildingAccess
from routes.resource import blueprint

bp = blueprint(ClientManagerBuildingAccess)
