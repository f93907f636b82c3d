"""The application, the request and what is noted of it, at a tenth of what Flask's stand-ins for them cost.

`flask.request.path` finds the request and then the attribute's name by way of four functions of Werkzeug: 2.5 us,
two dozen times in a point read of 250. Those who are on every request's way ask here, once each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flask
from flask import Flask
from flask import Request

application: Callable[[], Flask] = flask.current_app._get_current_object  # type: ignore[attr-defined]
"""The application that serves."""

request: Callable[[], Request] = flask.request._get_current_object  # type: ignore[attr-defined]
"""The request that is served."""

notes: Callable[[], Any] = flask.g._get_current_object
"""What is noted of the request (Flask's `g`): its beginning, its caller, its claims."""
