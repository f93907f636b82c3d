"""/users"""

from __future__ import annotations

from models import User
from routes.resource import blueprint

bp = blueprint(User)
