"""/reports_lead"""

from __future__ import annotations

from models import ReportLead
from routes.resource import blueprint

bp = blueprint(ReportLead)
