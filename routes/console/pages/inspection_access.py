"""/console/inspections/<n>/access: grant one inspection to a user, or revoke the grant.

The page previews what the change reveals or hides.
"""

from __future__ import annotations

from flask import Response, g, request

from access import explain
from access.caller import Caller
from access.decorators import load_caller
from access.explain import Reason
from access.predicates import GRANT_TABLES, inspection_grant
from access.roles import GrantKind, Role
from engine.current import reading, writing
from engine.query.rule import Action
from models import ClientManagerInspectionAccess, Inspection
from routes.console.components import grants, queries, user_choice
from routes.console.components.grants import VisibleCounts
from routes.console.components.page import ROLE_NAMES, Undo, bp, redirect_to, render_page
from routes.console.components.records import require_written
from routes.console.components.tables import Row, Section
from routes.console.components.template_filters import short_name
from routes.console.components.titles import inspection_title, inspector_title
from routes.console.session import auth
from routes.postgrest.requests import UnknownPath

PATH = "/inspections/<int:key>/access"
USERS_LISTED_MAX = 150  # with more users, an e-mail field replaces the select
PREVIEW_COLUMNS = (
    "select=id,inspection_type,date_visited,status,buildings(name,client_id,clients(name)),inspectors(name,users(name))"
)


def grants_section(caller: Caller, row: Row, may_edit: bool) -> Section | None:
    """Return the users to whom the caller may grant an inspection, or None in their place if there are too many."""
    roles = grants.grantable_roles(caller, GrantKind.INSPECTION)
    if not may_edit or not roles:
        return None
    filters = f"&role=in.({','.join(role.value for role in roles)})"
    users = user_choice.list_users(caller, USERS_LISTED_MAX, filters)
    if users is not None:
        granted = grants.grantees(caller, GrantKind.INSPECTION, row["id"], USERS_LISTED_MAX)
        users = [user for user in users if user["id"] not in granted]
    return "inspection_grants.html", {"users": users, "roles": ROLE_NAMES, "key": row["id"]}


@bp.get(PATH)
@auth.requires(Action.INSERT, ClientManagerInspectionAccess)
def inspection_access(caller: Caller, key: int) -> Response:
    """Preview what a grant would reveal to a user, or what a revocation would hide."""
    row = queries.first_row(caller, "inspections", f"{PREVIEW_COLUMNS}&id=eq.{key}")
    user = user_choice.find_user(caller, request.args.get("person", ""))
    if row is None or user is None:
        raise UnknownPath
    role = Role(user["role"])
    may_grant = role in grants.grantable_roles(caller, GrantKind.INSPECTION) and queries.is_permitted(
        caller, Action.UPDATE, "inspections", f"id=eq.{key}"
    )
    table = GRANT_TABLES.get((role, GrantKind.INSPECTION))
    if table is None:
        raise UnknownPath
    held = f"{table.grantee}=eq.{user['id']}&{table.target}=eq.{key}"
    grant = queries.first_row(caller, table.model.__tablename__, held)
    if grant is not None:
        may_grant = queries.is_permitted(caller, Action.DELETE, table.model.__tablename__, held)
    if not may_grant:
        raise UnknownPath
    place, own_client = row["buildings"], grants.caller_of(caller, user["id"]).client_id
    is_foreign = grant is None and own_client is not None and place is not None and place["client_id"] != own_client
    reasons, counts = other_reasons(caller, user["id"], key)
    return render_page(
        "inspection_access.html",
        row=row,
        title=inspection_title(row),
        inspector=inspector_title(row["inspectors"]) if row["inspectors"] else "",
        user=user,
        role=ROLE_NAMES,
        grant=grant,
        reasons=reasons,
        counts=counts,
        is_foreign=is_foreign,
    )


@bp.post(PATH)
@auth.requires(Action.INSERT, ClientManagerInspectionAccess)
def update_inspection_access(caller: Caller, key: int) -> Response:
    user = user_choice.find_user(caller, g.form.get("person", ""))
    if user is None:
        raise UnknownPath
    is_revocation = g.form.get("do") == "take"
    with writing() as transaction:
        now = load_caller(transaction)
        if is_revocation:
            require_written(grants.revoke_grants(transaction, now, user["id"], GrantKind.INSPECTION, [key]))
        else:
            grants.create_grants(transaction, now, user["id"], GrantKind.INSPECTION, [key])
    done = "Access revoked from" if is_revocation else "Inspection granted to"
    undo = Undo(f"/inspections/{key}/access", (("person", user["id"]), ("do", "give"))) if is_revocation else None
    return redirect_to(f"/inspections/{key}", f"{done} {short_name(user['name'])}.", undo)


def other_reasons(caller: Caller, user_id: str, key: int) -> tuple[list[Reason], VisibleCounts]:
    """Return the other rules by which a user sees the inspection, and what the grant reveals beyond them."""
    with reading() as transaction:
        explanation = explain.explain(transaction, caller, Inspection, key, user_id)
    others = [each for each in explanation.reasons if each.rule != inspection_grant.__name__]
    without = grants.without_grants(grants.caller_of(caller, user_id), GrantKind.INSPECTION)
    return others, grants.gain(caller, without, GrantKind.INSPECTION, [key])
