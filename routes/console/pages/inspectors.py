"""/console/inspectors: the list of inspectors."""

from __future__ import annotations

from flask import Response

from access.caller import Caller
from engine.query.rule import Action
from models import Inspector
from routes.console.components.list_query import Listing
from routes.console.components.lists import render_list
from routes.console.components.page import bp
from routes.console.session import auth

LISTING = Listing(
    relation="inspectors", select="id,name,email,inspections(count)", order="name.asc", searched=("name", "email")
)


@bp.get("/inspectors")
@auth.requires(Action.READ, Inspector, shares_snapshot=False)
def list_inspectors(caller: Caller) -> Response:
    return render_list(caller, LISTING, "inspectors.html")
