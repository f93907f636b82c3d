"""/inspectors"""

from __future__ import annotations

from models import Inspector
from routes.resource import blueprint

bp = blueprint(Inspector)
