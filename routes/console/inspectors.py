"""/console/inspectors: who visits."""

from __future__ import annotations

from flask import Response

from access.caller import Caller
from models import Inspector
from models.sql.rule import Action
from routes.console import door
from routes.console.listing import Listing
from routes.console.lists import show_list
from routes.console.pages import bp

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
