"""/console/access: managers by buildings. What is ticked is shown for what it would reveal, then made so.

Both steps are plain forms. The second makes every grant and revocation in one transaction, or none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from flask import Response
from flask import g
from flask import request

from access import assignments
from access import explain
from access import policy
from access.assignments import IDS_MAX
from access.caller import Caller
from access.decorators import admit
from models import ClientManagerBuildingAccess
from models.db import reading
from models.db import writing
from models.sql.rule import Action
from models.types import BIGINT
from models.types import read_uuid
from routes.console import door
from routes.console import engine
from routes.console.listing import SEARCH_CHARACTERS_MAX
from routes.console.pages import bp
from routes.console.pages import go
from routes.console.pages import show
from routes.postgrest.limits import TooMuch

GRANTS = ClientManagerBuildingAccess.__tablename__
GRANTEES = next(
    role
    for (role, _), grants in policy.GRANTS.items()
    if grants.model is ClientManagerBuildingAccess
)
"""The role of those who may hold such grants."""
MANAGERS_SHOWN = 8
BUILDINGS_SHOWN = 30
CLIENTS_OFFERED = 200

Pair = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Change:
    """What one manager would gain or lose: buildings by name, and what they hold that was, or stays, unseen."""

    manager: str
    buildings: tuple[str, ...]
    inspections: int
    readings: int


@bp.get("/access")
@door.requires_administrator()
def access(caller: Caller) -> Response:
    managers, buildings = chosen_managers(caller), chosen_buildings(caller)
    shown_managers = managers[:MANAGERS_SHOWN]
    shown_buildings = buildings[:BUILDINGS_SHOWN]
    return show(
        "access.html",
        managers=shown_managers,
        buildings=shown_buildings,
        granted=granted(caller, shown_managers, shown_buildings),
        clients=engine.ask(
            caller, "clients", "select=id,name&order=name,id", limit=CLIENTS_OFFERED
        ).rows,
        typed=request.args,
        more_managers=skip("managers", len(managers), MANAGERS_SHOWN),
        more_buildings=skip("buildings", len(buildings), BUILDINGS_SHOWN),
    )


def chosen_managers(caller: Caller) -> list[engine.Row]:
    text = f"select=id,name,client_id&role=eq.{GRANTEES.value}&order=name,id"
    if client := whole("client"):
        text += f"&client_id=eq.{client}"
    if person := request.args.get("person", ""):
        text += f"&id=eq.{quote(person)}"
    return engine.ask(
        caller, "users", text, limit=MANAGERS_SHOWN + 1, offset=whole("managers")
    ).rows


def chosen_buildings(caller: Caller) -> list[engine.Row]:
    """Buildings that the caller may grant: those they may change."""
    text = "select=id,name,city&order=name,id"
    if client := whole("client"):
        text += f"&client_id=eq.{client}"
    if word := request.args.get("q", "").strip()[:SEARCH_CHARACTERS_MAX]:
        text += f"&name=ilike.{quote(f'*{word}*')}"
    return engine.ask(
        caller,
        "buildings",
        text,
        limit=BUILDINGS_SHOWN + 1,
        offset=whole("buildings"),
        within=Action.UPDATE,
    ).rows


def whole(name: str) -> int:
    text = request.args.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def skip(name: str, found: int, shown: int) -> tuple[int | None, int | None]:
    """Where the page before and the page after begin."""
    first = whole(name)
    return (max(0, first - shown) if first else None, first + shown if found > shown else None)


def granted(caller: Caller, managers: list[engine.Row], buildings: list[engine.Row]) -> set[str]:
    """The pairs that are granted, as the form spells them."""
    if not managers or not buildings:
        return set()
    people = ",".join(row["id"] for row in managers)
    keys = ",".join(str(row["id"]) for row in buildings)
    text = f"select=manager_id,building_id&manager_id=in.({people})&building_id=in.({keys})"
    rows = engine.ask(caller, GRANTS, text, limit=MANAGERS_SHOWN * BUILDINGS_SHOWN).rows
    return {f"{row['manager_id']}:{row['building_id']}" for row in rows}


# First what it would do, then doing it


@bp.post("/access")
@door.requires(Action.UPDATE, ClientManagerBuildingAccess)
def preview(caller: Caller) -> Response:
    ticked, was = set(g.form.getlist("grant")), set(g.form.getlist("was"))
    everything = set(g.form.getlist("pair"))
    if every := g.form.get("all", ""):
        ticked |= {pair for pair in everything if pair.startswith(f"{every}:")}
    if none := g.form.get("none", ""):
        ticked -= {pair for pair in everything if pair.startswith(f"{none}:")}
    made, gone = read_pairs(ticked - was), read_pairs(was - ticked)
    if not made and not gone:
        return go("/access" + back_query(), "Nothing was changed.")
    return show(
        "access_preview.html",
        made=[change_of(caller, *each, gains=True) for each in by_manager(made)],
        gone=[change_of(caller, *each, gains=False) for each in by_manager(gone)],
        made_pairs=made,
        gone_pairs=gone,
        back=back_query(),
    )


@bp.post("/access/confirm")
@door.requires(Action.UPDATE, ClientManagerBuildingAccess)
def confirm(caller: Caller) -> Response:
    made, gone = read_pairs(g.form.getlist("made")), read_pairs(g.form.getlist("gone"))
    with writing() as transaction:
        now = admit(transaction)
        for manager, ids in by_manager(made):
            assignments.assign_to_client_manager(transaction, now, manager, ids, [])
        for manager, ids in by_manager(gone):
            keys = ",".join(str(key) for key in ids)
            text = f"manager_id=eq.{manager}&building_id=in.({keys})"
            engine.delete_in(transaction, now, GRANTS, text)
    return go("/access" + back_query(), f"{len(made)} granted, {len(gone)} revoked.")


def back_query() -> str:
    """The part of the matrix that was being looked at."""
    query: str = g.form.get("back", "")
    return query if query.startswith("?") and query.isascii() and query.isprintable() else ""


def read_pairs(texts: Iterable[str]) -> list[Pair]:
    """Pairs of manager and building as the form spells them."""
    found: list[Pair] = []
    for text in sorted(texts):
        manager, _, building = text.partition(":")
        found.append((str(read_uuid(manager)), int(BIGINT.read_text(building) or 0)))
    if len(found) > IDS_MAX:
        raise TooMuch(IDS_MAX, "grants at once")
    return found


def by_manager(pairs: list[Pair]) -> list[tuple[str, list[int]]]:
    found: dict[str, list[int]] = {}
    for manager, building in pairs:
        found.setdefault(manager, []).append(building)
    return list(found.items())


def change_of(caller: Caller, manager: str, ids: list[int], *, gains: bool) -> Change:
    """What a grant would show, or a revocation hide, of the buildings: the rule's own answer for that user."""
    keys = ",".join(str(key) for key in ids)
    with reading() as transaction:
        user = explain.asked_about(transaction, caller, manager)
    person = engine.one(caller, "users", f"select=name&id=eq.{manager}")
    buildings = engine.ask(
        caller, "buildings", f"select=name&id=in.({keys})&order=name", limit=len(ids)
    ).rows
    inspections = f"building_id=in.({keys})"
    readings = f"select=id,inspections!inner()&inspections.building_id=in.({keys})"
    counts = [
        (engine.number(caller, name, text), engine.number(user, name, text))
        for name, text in (("inspections", inspections), ("reports_lead", readings))
    ]
    new = [all_ - seen if gains else seen for all_, seen in counts]
    if not gains:
        new = [count - kept for count, kept in zip(new, kept_after(user, keys), strict=True)]
    return Change(
        person["name"] if person else manager,
        tuple(row["name"] for row in buildings),
        *(max(0, count) for count in new),
    )


def kept_after(user: Caller, keys: str) -> tuple[int, int]:
    """What of those buildings somebody goes on seeing by grants of single inspections."""
    single = "client_manager_inspection_access"
    rows = engine.ask(
        user,
        single,
        f"select=inspection_id,inspections!inner(building_id,reports_lead(count))"
        f"&manager_id=eq.{user.id}&inspections.building_id=in.({keys})",
        limit=IDS_MAX,
    ).rows
    readings = sum(row["inspections"]["reports_lead"][0]["count"] for row in rows)
    return len(rows), readings
