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
from routes.console.components.tables import table_of
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
        target=target_link(caller, kind, key) if answer is not None else None,
        grantors=user_choice.names_of(caller, (each.granted_by for each in answer.reasons)) if answer else {},
        problem=problem,
        is_admin=policy.may_administer(caller.role),
    )


def explain_row(caller: Caller, kind: str, key: str, user: str) -> explain.Explanation:
    number = int(BIGINT.read_text(key) or 0)
    with reading() as transaction:
        return explain.explain(transaction, caller, KINDS[kind], number, user_choice.parse_user_id(user))


def target_link(caller: Caller, kind: str, key: str) -> tuple[str, str] | None:
    """Return the name and the URL of the building or inspection, or None if the caller may not see it."""
    table = table_of(KINDS[kind].__tablename__)
    columns = ",".join(table.title_columns)
    row = queries.first_row(caller, table.name, f"select={table.select(columns)}&{table.filters(int(key))}")
    return (table.describe(row), table.url(row)) if row is not None else None
