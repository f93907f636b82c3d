"""/clients"""

from __future__ import annotations

from models import Client
from routes.resource import blueprint

bp = blueprint(Client)
