"""/console/buildings/<n>/access and /console/inspections/<n>/access: grant one row to a user, or revoke the grant.

The page previews what the change reveals or hides.
"""

from __future__ import annotations

from flask import Response, g, request

from access import explain
from access.caller import Caller
from access.decorators import load_caller
from access.explain import Reason
from access.predicates import GRANT_TABLES, building_grant, inspection_grant
from access.roles import GrantKind, Role
from engine.current import reading, writing
from engine.query.rule import Action
from models import Building, ClientManagerInspectionAccess, Inspection
from routes.console.components import grants, queries, user_choice
from routes.console.components.grants import VisibleCounts
from routes.console.components.page import ROLE_NAMES, Undo, bp, redirect_to, render_page
from routes.console.components.records import require_written
from routes.console.components.tables import Row, Section, table_of
from routes.console.components.template_filters import short_name
from routes.console.components.titles import inspector_title
from routes.console.session import auth
from routes.console.session.redirects import safe_redirect
from routes.postgrest.requests import UnknownPath

PATH = "/<any(buildings, inspections):name>/<int:key>/access"
KINDS = {"buildings": GrantKind.BUILDING, "inspections": GrantKind.INSPECTION}
MODELS = {GrantKind.BUILDING: Building, GrantKind.INSPECTION: Inspection}
RULES = {GrantKind.BUILDING: building_grant.__name__, GrantKind.INSPECTION: inspection_grant.__name__}
"""The rule that a grant of that kind satisfies."""
USERS_LISTED_MAX = 150  # with more users, an e-mail field replaces the select
PLACE = "name,client_id,clients(name)"
PREVIEW_COLUMNS = {
    "buildings": f"select=id,{PLACE}",
    "inspections": f"select=id,inspection_type,date_visited,status,buildings({PLACE}),inspectors(name,users(name))",
}


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
def preview_grant(caller: Caller, name: str, key: int) -> Response:
    """Preview what a grant would reveal to a user, or what a revocation would hide."""
    kind = KINDS[name]
    row = queries.first_row(caller, name, f"{PREVIEW_COLUMNS[name]}&id=eq.{key}")
    user = user_choice.find_user(caller, request.args.get("person", ""))
    if row is None or user is None:
        raise UnknownPath
    role = Role(user["role"])
    may_grant = role in grants.grantable_roles(caller, kind) and queries.is_permitted(
        caller, Action.UPDATE, name, f"id=eq.{key}"
    )
    table = GRANT_TABLES.get((role, kind))
    if table is None:
        raise UnknownPath
    held = f"{table.grantee}=eq.{user['id']}&{table.target}=eq.{key}"
    grant = queries.first_row(caller, table.model.__tablename__, held)
    if grant is not None:
        may_grant = queries.is_permitted(caller, Action.DELETE, table.model.__tablename__, held)
    if not may_grant:
        raise UnknownPath
    place = row if kind is GrantKind.BUILDING else row["buildings"]
    clients = (grants.caller_of(caller, user["id"]).client_id, place["client_id"] if place is not None else None)
    reasons, counts = other_reasons(caller, user["id"], kind, key)
    return render_page(
        "grant.html",
        row=row,
        title=table_of(name).title(row),
        inspector=inspector_title(row["inspectors"]) if row.get("inspectors") else "",
        noun=kind.value,
        user=user,
        role=ROLE_NAMES,
        grant=grant,
        reasons=reasons,
        counts=counts,
        owner=place["clients"] if place is not None else None,
        is_foreign=grant is None and None not in clients and clients[0] != clients[1],
        back=back_path(request.args.get("back", ""), name, key),
    )


def back_path(text: str, name: str, key: int) -> str:
    """Return the page that a form returns to: by default that of the row."""
    return safe_redirect(auth.PATH + text).removeprefix(auth.PATH) or f"/{name}/{key}"


@bp.post(PATH)
@auth.requires(Action.INSERT, ClientManagerInspectionAccess)
def save_grant(caller: Caller, name: str, key: int) -> Response:
    kind, user = KINDS[name], user_choice.find_user(caller, g.form.get("person", ""))
    if user is None:
        raise UnknownPath
    is_revocation = g.form.get("do") == "take"
    with writing() as transaction:
        now = load_caller(transaction)
        if is_revocation:
            require_written(grants.revoke_grants(transaction, now, user["id"], kind, [key]))
        else:
            grants.create_grants(transaction, now, user["id"], kind, [key])
    done = "Access revoked from" if is_revocation else f"{kind.value.capitalize()} granted to"
    back = back_path(g.form.get("back", ""), name, key)
    fields = (("person", user["id"]), ("do", "give"), ("back", back))
    undo = Undo(f"/{name}/{key}/access", fields) if is_revocation else None
    return redirect_to(back, f"{done} {short_name(user['name'])}.", undo)


def other_reasons(caller: Caller, user_id: str, kind: GrantKind, key: int) -> tuple[list[Reason], VisibleCounts]:
    """Return the other rules by which a user sees the row, and what the grant reveals beyond them."""
    with reading() as transaction:
        explanation = explain.explain(transaction, caller, MODELS[kind], key, user_id)
    others = [each for each in explanation.reasons if each.rule != RULES[kind]]
    without = grants.without_grants(grants.caller_of(caller, user_id), kind)
    return others, grants.gain(caller, without, kind, [key])
