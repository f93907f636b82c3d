"""/audit_log"""

from __future__ import annotations

from models import AuditLog
from routes.resource import blueprint

bp = blueprint(AuditLog)
