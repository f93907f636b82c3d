"""/client_admin_building_access"""

from __future__ import annotations

from models import ClientAdminBuildingAccess
from routes.resource import blueprint

bp = blueprint(ClientAdminBuildingAccess)
