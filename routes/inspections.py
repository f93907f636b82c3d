"""/inspections"""

from __future__ import annotations

from models import Inspection
from routes.resource import blueprint

bp = blueprint(Inspection)
