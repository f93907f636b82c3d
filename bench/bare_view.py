"""A Flask application with one view that returns a constant page of JSON: the cost of Flask and gunicorn alone."""

from __future__ import annotations

import json

from flask import Flask, Response

ROW = {
    "id": 123_456,
    "date_visited": "2026-06-30",
    "status": "completed",
    "inspection_type": "annual",
    "buildings": {"name": "Maple Court 1234"},
}
BODY = json.dumps([ROW] * 20, separators=(",", ":"))

app = Flask(__name__, static_folder=None)


@app.get("/live")
@app.get("/bare")
def bare() -> Response:
    return Response(BODY, mimetype="application/json")
