"""/console/why: may this person see this, and by which rules?"""

from __future__ import annotations

from flask import Response
from flask import request

from access import explain
from access import policy
from access.caller import Caller
from engine.current import reading
from models import Building
from models import Inspection
from models.errors import Fault
from models.fields import Model
from models.types import BIGINT
from routes.console.components import person_choice as choosing
from routes.console.components import queries as engine
from routes.console.components.page import bp
from routes.console.components.page import is_about_what_was_asked
from routes.console.components.page import note
from routes.console.components.page import said
from routes.console.components.page import show
from routes.console.session import auth as door

PEOPLE_OFFERED = 300  # beyond them an e-mail is typed
KINDS: dict[str, type[Model]] = {"building": Building, "inspection": Inspection}


@bp.get("/why")
@door.requires_session()
def why(caller: Caller) -> Response:
    person = request.args.get("person", "").strip() or caller.id or ""
    kind, key = request.args.get("kind", "building"), request.args.get("key", "").strip()
    people = choosing.offered(caller, PEOPLE_OFFERED)
    chosen = choosing.person(caller, person)
    answer = problem = None
    if key and kind in KINDS:
        try:
            answer = explained(caller, kind, key, person)
        except Fault as fault:
            told = isinstance(fault, explain.UserNotReadable) or is_about_what_was_asked(fault)
            if not told:
                raise
            note(fault)
            problem = said(fault)
    return show(
        "why.html",
        400 if problem else 200,
        people=people,
        person=person,
        chosen=chosen,
        kind=kind,
        key=key,
        answer=answer,
        row=seen(caller, kind, key) if answer is not None else None,
        grantors=named(caller, answer) if answer is not None else {},
        problem=problem,
        asks_others=policy.may_administer(caller.role),
    )


def explained(caller: Caller, kind: str, key: str, person: str) -> explain.Explanation:
    number = int(BIGINT.read_text(key) or 0)
    with reading() as transaction:
        return explain.explain(transaction, caller, KINDS[kind], number, choosing.id_of(person))


def named(caller: Caller, answer: explain.Explanation) -> dict[str, str]:
    """Those who granted what an answer rests on, as far as the caller sees them."""
    ids = sorted({each.granted_by for each in answer.reasons if each.granted_by})
    if not ids:
        return {}
    text = f"select=id,name&id=in.({','.join(ids)})"
    return {
        row["id"]: row["name"] for row in engine.ask(caller, "users", text, limit=len(ids)).rows
    }


def seen(caller: Caller, kind: str, key: str) -> engine.Row | None:
    """What is asked about, where the caller sees it."""
    number = int(BIGINT.read_text(key) or 0)
    if kind == "building":
        return engine.one(caller, "buildings", f"select=id,name&id=eq.{number}")
    select = "select=id,inspection_type,date_visited,buildings(name)"
    return engine.one(caller, "inspections", f"{select}&id=eq.{number}")
