"""/console/why: the access rules by which a user sees a building or an inspection."""

from __future__ import annotations

from flask import Response, request

from access import explain, policy
from access.caller import Caller
from engine.current import reading
from models import Building, Inspection
from models.errors import Fault
from models.fields import Model
from models.types import BIGINT
from routes.console.components import queries, user_choice
from routes.console.components.error_pages import fault_message, is_client_error, record_fault
from routes.console.components.page import bp, render_page
from routes.console.session import auth

USERS_LISTED_MAX = 300  # with more users, an e-mail field replaces the select
KINDS: dict[str, type[Model]] = {"building": Building, "inspection": Inspection}


@bp.get("/why")
@auth.requires_session()
def why(caller: Caller) -> Response:
    user = request.args.get("person", "").strip() or caller.id or ""
    kind, key = request.args.get("kind", "building"), request.args.get("key", "").strip()
    users = user_choice.list_users(caller, USERS_LISTED_MAX)
    chosen = user_choice.find_user(caller, user)
    answer = problem = None
    if key and kind in KINDS:
        try:
            answer = explain_row(caller, kind, key, user)
        except Fault as fault:
            if not (isinstance(fault, explain.UserNotReadable) or is_client_error(fault)):
                raise
            record_fault(fault)
            problem = fault_message(fault)
    return render_page(
        "explain_access.html",
        400 if problem else 200,
        users=users,
        user=user,
        chosen=chosen,
        is_self=caller.id in (user, chosen["id"] if chosen is not None else None),
        kind=kind,
        key=key,
        answer=answer,
        row=target_row(caller, kind, key) if answer is not None else None,
        grantors=grantors_of(caller, answer) if answer is not None else {},
        problem=problem,
        is_admin=policy.may_administer(caller.role),
    )


def explain_row(caller: Caller, kind: str, key: str, user: str) -> explain.Explanation:
    number = int(BIGINT.read_text(key) or 0)
    with reading() as transaction:
        return explain.explain(transaction, caller, KINDS[kind], number, user_choice.parse_user_id(user))


def grantors_of(caller: Caller, answer: explain.Explanation) -> dict[str, str]:
    """Return the names of the users who granted access, as far as the caller sees them."""
    ids = sorted({each.granted_by for each in answer.reasons if each.granted_by})
    if not ids:
        return {}
    text = f"select=id,name&id=in.({','.join(ids)})"
    return {row["id"]: row["name"] for row in queries.select_rows(caller, "users", text, limit=len(ids)).rows}


def target_row(caller: Caller, kind: str, key: str) -> queries.Row | None:
    """Return the building or inspection, or None if the caller may not see it."""
    number = int(BIGINT.read_text(key) or 0)
    if kind == "building":
        return queries.first_row(caller, "buildings", f"select=id,name&id=eq.{number}")
    select = "select=id,inspection_type,date_visited,buildings(name)"
    return queries.first_row(caller, "inspections", f"{select}&id=eq.{number}")
