"""/console/inspections/<n>/access: one inspection granted to one person, or taken back.

What it would show, or hide, stands on the page before the button that does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field

from flask import Response
from flask import g
from flask import request

from access import explain
from access.caller import Caller
from access.caller import GrantKind
from access.caller import Role
from access.decorators import load_caller
from access.explain import Reason
from access.policy import inspection_grant
from engine.current import reading
from engine.current import writing
from engine.query.rule import Action
from models import ClientManagerInspectionAccess
from models import Inspection
from routes.console.components import grants
from routes.console.components import person_choice as choosing
from routes.console.components import queries as engine
from routes.console.components.grants import Held
from routes.console.components.grants import Sight
from routes.console.components.page import ROLE_NAMES
from routes.console.components.page import bp
from routes.console.components.page import go
from routes.console.components.page import show
from routes.console.components.queries import Row
from routes.console.components.records import require_one
from routes.console.components.template_filters import told
from routes.console.session import auth as door
from routes.postgrest.requests import UnknownPath

PATH = "/inspections/<int:key>/access"
PEOPLE_OFFERED = 150  # beyond them an e-mail is typed
WHOLE = "select=id,inspection_type,date_visited,status,buildings(name),inspectors(name)"


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who holds a grant of an inspection, and to whom the caller may give one. `people` is None where
    they are too many to list."""

    holders: Held
    may_give: bool
    people: list[Row] | None = field(default_factory=list)


def sharing(caller: Caller, key: int, *, may_give: bool) -> Sharing:
    """Of an inspection that the caller sees; `may_give` where they may change it."""
    found = grants.holders(caller, GrantKind.INSPECTION, key)
    roles = grants.grantees(caller, GrantKind.INSPECTION)
    if not may_give or not roles:
        return Sharing(found, may_give=False)
    named = f"role=in.({','.join(role.value for role in roles)})"
    people = choosing.offered(caller, PEOPLE_OFFERED, f"&{named}")
    if people is None:
        return Sharing(found, may_give=True, people=None)
    held = {row["person"]["id"] for row in found.rows}
    return Sharing(
        found, may_give=True, people=[person for person in people if person["id"] not in held]
    )


@bp.get(PATH)
@door.requires(Action.INSERT, ClientManagerInspectionAccess)
def inspection_access(caller: Caller, key: int) -> Response:
    """What a grant would show to somebody, or its end hide from them."""
    found = engine.one(caller, "inspections", f"{WHOLE}&id=eq.{key}")
    person = choosing.person(caller, request.args.get("person", ""))
    if found is None or person is None:
        raise UnknownPath
    held = next(iter(grants.holders(caller, GrantKind.INSPECTION, key, person["id"]).rows), None)
    may_give = Role(person["role"]) in grants.grantees(
        caller, GrantKind.INSPECTION
    ) and engine.is_within_reach(caller, Action.UPDATE, "inspections", key)
    if not (held["revocable"] if held is not None else may_give):
        raise UnknownPath
    reasons, sight = seen_otherwise(caller, person["id"], key)
    return show(
        "inspection_access.html",
        row=found,
        person=person,
        role=ROLE_NAMES,
        held=held,
        reasons=reasons,
        sight=sight,
    )


@bp.post(PATH)
@door.requires(Action.INSERT, ClientManagerInspectionAccess)
def change_inspection_access(caller: Caller, key: int) -> Response:
    person = choosing.person(caller, g.form.get("person", ""))
    if person is None:
        raise UnknownPath
    takes = g.form.get("do") == "take"
    with writing() as transaction:
        now = load_caller(transaction)
        if takes:
            require_one(grants.take(transaction, now, person["id"], GrantKind.INSPECTION, [key]))
        else:
            grants.give(transaction, now, person["id"], GrantKind.INSPECTION, [key])
    done = "The access is taken back from" if takes else "The inspection is granted to"
    return go(f"/inspections/{key}", f"{done} {told(person['name'])}.")


def seen_otherwise(caller: Caller, person: str, key: int) -> tuple[list[Reason], Sight]:
    """By which other rules somebody sees the inspection, and what of it the grant shows besides them."""
    with reading() as transaction:
        told = explain.explain(transaction, caller, Inspection, key, person)
    others = [each for each in told.reasons if each.rule != inspection_grant.__name__]
    without = grants.without(grants.user(caller, person), GrantKind.INSPECTION)
    return others, grants.gained(caller, without, GrantKind.INSPECTION, [key])
