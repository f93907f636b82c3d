"""/console/access: people by buildings. What is ticked is shown for what it would reveal, then made so.

One role's people at a time, of those to whom the caller may grant. Both steps are plain forms. The
second makes every grant and revocation in one transaction, or none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote
from urllib.parse import urlencode

from flask import Response
from flask import g
from flask import request

from access.assignments import IDS_MAX
from access.caller import Caller
from access.caller import GrantKind
from access.caller import GrantProfile
from access.caller import Role
from access.decorators import load_caller
from access.policy import GRANT_TABLES
from access.policy import AccessRule
from engine.current import writing
from engine.query.rule import Action
from models import Building
from models import ClientManagerBuildingAccess
from models.types import BIGINT
from models.types import read_uuid
from routes.console.components import grants
from routes.console.components import queries as engine
from routes.console.components.grants import Sight
from routes.console.components.list_query import SEARCH_CHARACTERS_MAX
from routes.console.components.page import ROLE_NAMES
from routes.console.components.page import TOLD
from routes.console.components.page import bp
from routes.console.components.page import go
from routes.console.components.page import show
from routes.console.components.template_filters import name
from routes.console.session import auth as door
from routes.postgrest.encoding import decode_pairs
from routes.postgrest.limits import LimitExceeded

PEOPLE_SHOWN = 8
BUILDINGS_SHOWN = 24
CLIENTS_OFFERED = 200  # beyond them a number is typed

Pair = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Change:
    """What one person would gain or lose: buildings by name, and what they hold that was, or stays, unseen."""

    person: str
    buildings: tuple[str, ...]
    sight: Sight


@bp.get("/access")
@door.requires_administrator()
def access(caller: Caller) -> Response:
    roles = grants.grantees(caller, GrantKind.BUILDING)
    role = next((role for role in roles if role.value == request.args.get("role")), roles[-1])
    people, buildings = chosen_people(caller, role), chosen_buildings(caller)
    shown_people = people[:PEOPLE_SHOWN]
    shown_buildings = buildings[:BUILDINGS_SHOWN]
    keys = [row["id"] for row in shown_buildings]
    clients = engine.first(caller, "clients", "select=id,name&order=name,id", CLIENTS_OFFERED)
    return show(
        "access.html",
        role=role,
        grantee=ROLE_NAMES[role],
        roles=[(each.value, f"{ROLE_NAMES[each]}s") for each in reversed(roles)],
        people=shown_people,
        buildings=shown_buildings,
        granted=granted(caller, role, shown_people, keys),
        own={
            f"{row['id']}:{key}"
            for row in shown_people
            for key in grants.seen_anyway(caller, row["id"], keys)
        },
        clients=clients.rows,
        are_first=clients.has_more,
        typed=request.args,
        more_people=skip("people", len(people), PEOPLE_SHOWN),
        more_buildings=skip("buildings", len(buildings), BUILDINGS_SHOWN),
    )


def chosen_people(caller: Caller, role: Role) -> list[engine.Row]:
    """Those of the role; of a client's buildings, its own people, or whoever sees none of them yet."""
    text = f"select=id,name,clients(name)&role=eq.{role.value}&order=name,id"
    if client := whole("client"):
        grants_only = AccessRule(GrantProfile(role)).reads_by_grants_only(Building)
        text += f"&client_id={'eq' if grants_only else 'neq'}.{client}"
    if person := request.args.get("person", ""):
        text += f"&id=eq.{quote(person)}"
    return engine.ask(caller, "users", text, limit=PEOPLE_SHOWN + 1, offset=whole("people")).rows


def chosen_buildings(caller: Caller) -> list[engine.Row]:
    """Buildings that the caller may grant: those they may change."""
    text = "select=id,name,city,clients(name)&order=name,id"
    if client := whole("client"):
        text += f"&client_id=eq.{client}"
    if building := whole("building"):
        text += f"&id=eq.{building}"
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


def granted(caller: Caller, role: Role, people: list[engine.Row], keys: list[int]) -> set[str]:
    """The pairs that are granted, as the form spells them."""
    if not people or not keys:
        return set()
    table = GRANT_TABLES[role, GrantKind.BUILDING]
    ids = ",".join(row["id"] for row in people)
    named = f"{table.grantee}=in.({ids})&{table.target}=in.({','.join(map(str, keys))})"
    rows = engine.ask(
        caller,
        table.model.__tablename__,
        f"select=person:{table.grantee},building:{table.target}&{named}",
        limit=PEOPLE_SHOWN * BUILDINGS_SHOWN,
    ).rows
    return {f"{row['person']}:{row['building']}" for row in rows}


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
        made=[change_of(caller, *each, gains=True) for each in by_person(made)],
        gone=[change_of(caller, *each, gains=False) for each in by_person(gone)],
        made_pairs=made,
        gone_pairs=gone,
        back=back_query(),
    )


@bp.post("/access/confirm")
@door.requires(Action.UPDATE, ClientManagerBuildingAccess)
def confirm(caller: Caller) -> Response:
    made, gone = read_pairs(g.form.getlist("made")), read_pairs(g.form.getlist("gone"))
    with writing() as transaction:
        now = load_caller(transaction)
        granted = sum(
            grants.give(transaction, now, person, GrantKind.BUILDING, ids)
            for person, ids in by_person(made)
        )
        revoked = sum(
            grants.take(transaction, now, person, GrantKind.BUILDING, ids)
            for person, ids in by_person(gone)
        )
    return go("/access" + back_query(), f"{granted} granted, {revoked} revoked.")


def back_query() -> str:
    """The part of the matrix that was being looked at, without what was told there."""
    query: str = g.form.get("back", "")
    if not (query.startswith("?") and query.isascii() and query.isprintable()):
        return ""
    pairs = decode_pairs(query[1:].encode())
    kept = urlencode([(name, value or "") for name, value in pairs if name not in TOLD])
    return f"?{kept}" if kept else ""


def read_pairs(texts: Iterable[str]) -> list[Pair]:
    """Pairs of person and building as the form spells them."""
    found: list[Pair] = []
    for text in sorted(texts):
        person, _, building = text.partition(":")
        found.append((str(read_uuid(person)), int(BIGINT.read_text(building) or 0)))
    if len(found) > IDS_MAX:
        raise LimitExceeded(IDS_MAX, "grants at once")
    return found


def by_person(pairs: list[Pair]) -> list[tuple[str, list[int]]]:
    found: dict[str, list[int]] = {}
    for person, building in pairs:
        found.setdefault(person, []).append(building)
    return list(found.items())


def change_of(caller: Caller, person: str, ids: list[int], *, gains: bool) -> Change:
    """What it would show or hide, of buildings that the caller may grant: no form asks what is in others."""
    user = grants.user(caller, person)
    named = engine.one(caller, "users", f"select=name&id=eq.{person}")
    text = f"select=id,name&id=in.({','.join(map(str, ids))})&order=name"
    buildings = engine.ask(caller, "buildings", text, limit=len(ids), within=Action.UPDATE).rows
    keys = [row["id"] for row in buildings]
    return Change(
        name(named["name"], 80) if named else person,
        tuple(name(row["name"], 80) for row in buildings),
        grants.gained(caller, user, GrantKind.BUILDING, keys)
        if gains
        else grants.lost(user, GrantKind.BUILDING, keys),
    )
