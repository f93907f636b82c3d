"""/client_manager_inspection_access"""

from __future__ import annotations

from models import ClientManagerInspectionAccess
from routes.resource import blueprint

bp = blueprint(ClientManagerInspectionAccess)
