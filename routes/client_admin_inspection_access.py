"""/client_admin_inspection_access"""

from __future__ import annotations

from models import ClientAdminInspectionAccess
from routes.resource import blueprint

bp = blueprint(ClientAdminInspectionAccess)
