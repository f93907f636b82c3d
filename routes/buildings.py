"""/buildings"""

from __future__ import annotations

from models import Building
from routes.resource import blueprint

bp = blueprint(Building)
