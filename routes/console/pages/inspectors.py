"""/console/inspectors: who visits."""

from __future__ import annotations

from flask import Response

from access.caller import Caller
from engine.query.rule import Action
from models import Inspector
from routes.console.components.list_query import Listing
from routes.console.components.lists import show_list
from routes.console.components.page import bp
from routes.console.session import auth as door

LISTING = Listing(
    relation="inspectors",
    select="id,name,email,inspections(count)",
    order="name.asc",
    searched=("name", "email"),
)


@bp.get("/inspectors")
@door.requires(Action.READ, Inspector, joins=False)
def list_inspectors(caller: Caller) -> Response:
    return show_list(caller, LISTING, "inspectors.html")
