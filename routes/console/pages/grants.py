"""Who sees one building or inspection: its readers, its grants, what a grant reveals, and the explanation for one user.

The access rule decides what a user sees, `access/predicates.py` names the table of each grant, and
`access/assignments.py` creates grants.
/console/buildings/<n>/access and /console/inspections/<n>/access grant one row, or revoke the grant. They preview what
the change reveals or hides. /console/why shows the rules by which a user sees a row. It finds a building by a part of
its name, and an inspection by that of its building.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from flask import Response, g, request

from access import assignments, explain, policy
from access.assignments import InvalidGrantee
from access.caller import Caller
from access.decorators import load_caller
from access.explain import Reason
from access.policy import AccessRule
from access.predicates import GRANT_TABLES, GrantTable, Predicate, building_grant, inspection_grant
from access.roles import GrantKind, Role
from engine.interface.database import Transaction
from engine.open import reading, writing
from engine.query.statement import Action
from models import Building, ClientManagerInspectionAccess, Inspection
from models.fields import Model
from models.types import BIGINT, Fault, InvalidInput
from routes.console.components import queries, row_choice
from routes.console.components.error_pages import fault_message, is_client_error, record_fault
from routes.console.components.list_query import quote_pattern
from routes.console.components.page import ROLE_NAMES, Undo, redirect_to, render_page
from routes.console.components.queries import once
from routes.console.components.records import require_written
from routes.console.components.tables import Row, Section, Table, table_of
from routes.console.components.template_filters import inspector_title, short_name
from routes.console.session import auth
from routes.console.session.urls import console_url, page_path
from routes.http.faults import UnknownPath

PLACE = "name,client_id,clients(name)"


@dataclass(frozen=True, slots=True)
class Granted:
    """What a grant of one kind refers to."""

    model: type[Model]
    rule: Predicate
    """The rule that the grant satisfies."""
    inspection_column: str
    """The column of an inspection that the grant refers to."""
    preview: str
    """What the preview of a grant shows of the row."""
    search: str
    """The filter of the rows that a part of a building's name finds."""

    @property
    def table(self) -> Table:
        return table_of(self.model.__tablename__)


GRANTED = {
    GrantKind.BUILDING: Granted(Building, building_grant, "building_id", f"select=id,{PLACE}", "name=ilike.*{0}*"),
    GrantKind.INSPECTION: Granted(
        Inspection,
        inspection_grant,
        "id",
        f"select=id,inspection_type,date_visited,status,buildings({PLACE}),inspectors(name,users(name))",
        "buildings=not.is.null&buildings.name=ilike.*{0}*",
    ),
}
KINDS = {kind.value: kind for kind in GRANTED}
KINDS_BY_TABLE = {each.model.__tablename__: kind for kind, each in GRANTED.items()}


# Grants


@dataclass(frozen=True, slots=True)
class VisibleCounts:
    """Numbers of visible inspections and lead readings."""

    inspections: int
    readings: int

    def beyond(self, other: VisibleCounts) -> VisibleCounts:
        """Return the counts of this without those of `other`, which is a subset."""
        return VisibleCounts(max(0, self.inspections - other.inspections), max(0, self.readings - other.readings))


def grantable_roles(caller: Caller, kind: GrantKind) -> list[Role]:
    """Return the roles to which the caller may grant that kind, the least privileged role last."""
    return [
        role
        for (role, each), grants in GRANT_TABLES.items()
        if each is kind and policy.permits(caller.profile, Action.INSERT, grants.model)
    ]


def grant_table(caller: Caller, user_id: str, kind: GrantKind) -> GrantTable:
    """Return the table of the grants of a user; raise InvalidGrantee if the user cannot hold that kind."""
    row = queries.first_row(caller, "users", f"select=role&id=eq.{user_id}")
    grants = GRANT_TABLES.get((Role(row["role"]), kind)) if row is not None else None
    if grants is None:
        raise InvalidGrantee(grantable_roles(caller, kind)[-1])
    return grants


def grantees(caller: Caller, kind: GrantKind, key: int, size: int) -> set[str]:
    """Return the ids of at most `size` users of each role with a grant of a row, as far as the caller sees them."""
    return {
        row["id"]
        for (_, each), grants in GRANT_TABLES.items()
        if each is kind
        for row in queries.first_page(
            caller, grants.model.__tablename__, f"select=id:{grants.grantee}&{grants.target}=eq.{key}", size
        ).rows
    }


def grant_links(table: Table, caller: Caller, rows: list[Row], back: str) -> dict[str, list[tuple[str, str]]]:
    """Return the links that explain and revoke grants, by key. A revocation returns to the page `back`."""
    grant = table.model.grant
    assert grant is not None
    links: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        key, person, target = table.key_text(row), row[grant.grantee], row[grant.target]
        kind = GrantKind(grant.target.removesuffix("_id"))
        links[key] = [("Why?", console_url(f"/why?person={person}&kind={kind.value}&key={target}"))]
        if queries.is_permitted(caller, Action.DELETE, table.name, table.filters(key)):
            links[key].append(("Revoke", console_url(f"/{kind.value}s/{target}/access?person={person}&back={back}")))
    return links


def matrix_links(caller: Caller, filters: str) -> list[tuple[str, str]]:
    """Return the links to the access matrix of each role to which the caller may grant buildings."""
    return [
        (f"Assign {ROLE_NAMES[role].lower()}s", console_url(f"/access?role={role.value}&{filters}"))
        for role in reversed(grantable_roles(caller, GrantKind.BUILDING))
    ]


# Previews


def caller_of(caller: Caller, user_id: str) -> Caller:
    """Return a user that the caller may see as a caller."""
    with reading() as transaction:
        return explain.readable_user(transaction, caller, user_id)


def without_grants(user: Caller, kind: GrantKind) -> Caller:
    """Return a caller without the grants of that kind."""
    profile = replace(user.profile, kinds=user.profile.kinds - {kind})
    return replace(user, profile=profile)


def count_visible(user: Caller, kind: GrantKind, ids: list[int]) -> VisibleCounts:
    """Return what a caller sees of these buildings or inspections."""
    filters = f"{GRANTED[kind].inspection_column}=in.({','.join(map(str, ids))})"
    return VisibleCounts(
        queries.count_rows(user, "inspections", filters),
        queries.count_rows(user, "reports_lead", f"select=id,inspections!inner()&inspections.{filters}"),
    )


def gain(caller: Caller, user: Caller, kind: GrantKind, ids: list[int]) -> VisibleCounts:
    """Return what grants of these would reveal to a user, of what the caller sees."""
    return count_visible(caller, kind, ids).beyond(count_visible(user, kind, ids))


def loss(user: Caller, kind: GrantKind, ids: list[int]) -> VisibleCounts:
    """Return what a user would lose with the grants of these."""
    return count_visible(user, kind, ids).beyond(count_visible(without_grants(user, kind), kind, ids))


def visible_without_grant(caller: Caller, user_id: str, ids: list[int]) -> set[int]:
    """Return those of the buildings that a user sees without a grant."""
    user = without_grants(caller_of(caller, user_id), GrantKind.BUILDING)
    if AccessRule(user.profile).reads_by_grants_only(Building):
        return set()
    text = f"select=id&id=in.({','.join(map(str, ids))})"
    return {row["id"] for row in queries.select_rows(user, "buildings", text, limit=len(ids)).rows}


# Writes, in an open transaction


def create_grants(transaction: Transaction, caller: Caller, user_id: str, kind: GrantKind, ids: list[int]) -> int:
    """Create grants and return the number of new ones."""
    grants = grant_table(caller, user_id, kind)
    policy.require(caller.profile, Action.INSERT, grants.model)
    role = next(role for (role, _), each in GRANT_TABLES.items() if each is grants)

    def create() -> int:
        return assignments.assign_to_user(transaction, caller, role, user_id, kind, ids).created

    return int(once(transaction, caller, grants.model.__tablename__, create))


def revoke_grants(transaction: Transaction, caller: Caller, user_id: str, kind: GrantKind, ids: list[int]) -> int:
    """Revoke grants and return the number of deleted ones."""
    grants = grant_table(caller, user_id, kind)
    filters = f"{grants.grantee}=eq.{user_id}&{grants.target}=in.({','.join(map(str, ids))})"
    name = grants.model.__tablename__
    return int(once(transaction, caller, name, lambda: queries.delete_in(transaction, caller, name, filters)))


# The readers and the grants of a row

GRANTEES_LISTED_MAX = 150  # with more users, an e-mail field replaces the select


def readers_section(kind: GrantKind) -> Callable[[Caller, Row, bool], Section | None]:
    """Return the part of a row's page with the users who see the row, as far as the caller sees these users."""

    def section(caller: Caller, row: Row, may_edit: bool) -> Section | None:
        if not policy.may_administer(caller.role):
            return None
        with reading() as transaction:
            readers = explain.list_readers(transaction, caller, GRANTED[kind].model, row["id"], READERS_SHOWN + 1)
        shown = readers[:READERS_SHOWN]
        users = [{"id": each.id} for each in shown]
        row_choice.mark_deactivated(users)
        return "readers.html", {
            "key": row["id"],
            "grant": grantable_users(caller, row["id"]) if kind is GrantKind.INSPECTION and may_edit else None,
            "readers": shown,
            "roles": ROLE_NAMES,
            "is_deactivated": {each["id"]: each["is_deactivated"] for each in users},
            "grantors": row_choice.names_of(caller, (why.granted_by for each in shown for why in each.reasons)),
            "search": console_url(f"/why?kind={kind.value}&key={row['id']}"),
            "has_more": len(readers) > READERS_SHOWN,
        }

    return section


def grantable_users(caller: Caller, key: int) -> dict[str, object] | None:
    """Return the users to whom the caller may grant an inspection: None in their place if there are too many."""
    roles = grantable_roles(caller, GrantKind.INSPECTION)
    if not roles:
        return None
    users = row_choice.list_users(caller, GRANTEES_LISTED_MAX, f"&role=in.({','.join(role.value for role in roles)})")
    if users is not None:
        granted = grantees(caller, GrantKind.INSPECTION, key, GRANTEES_LISTED_MAX)
        users = [user for user in users if user["id"] not in granted]
    return {"users": users}


@auth.requires(Action.INSERT, ClientManagerInspectionAccess)
def preview_grant(caller: Caller, name: str, key: int) -> Response:
    """Preview what a grant would reveal to a user, or what a revocation would hide."""
    kind = KINDS_BY_TABLE[name]
    row = queries.first_row(caller, name, f"{GRANTED[kind].preview}&id=eq.{key}")
    user = row_choice.find_user(caller, request.args.get("person", ""))
    if row is None or user is None:
        raise UnknownPath
    role = Role(user["role"])
    may_grant = role in grantable_roles(caller, kind) and queries.is_permitted(
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
    clients = (caller_of(caller, user["id"]).client_id, place["client_id"] if place is not None else None)
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
    return page_path(text) or f"/{name}/{key}"


@auth.requires(Action.INSERT, ClientManagerInspectionAccess)
def save_grant(caller: Caller, name: str, key: int) -> Response:
    kind, user = KINDS_BY_TABLE[name], row_choice.find_user(caller, g.form.get("person", ""))
    if user is None:
        raise UnknownPath
    is_revocation = g.form.get("do") == "take"
    with writing() as transaction:
        now = load_caller(transaction)
        if is_revocation:
            require_written(revoke_grants(transaction, now, user["id"], kind, [key]))
        else:
            create_grants(transaction, now, user["id"], kind, [key])
    done = "Access revoked from" if is_revocation else f"{kind.value.capitalize()} granted to"
    back = back_path(g.form.get("back", ""), name, key)
    fields = (("person", user["id"]), ("do", "give"), ("back", back))
    undo = Undo(f"/{name}/{key}/access", fields) if is_revocation else None
    return redirect_to(back, f"{done} {short_name(user['name'])}.", undo)


def other_reasons(caller: Caller, user_id: str, kind: GrantKind, key: int) -> tuple[list[Reason], VisibleCounts]:
    """Return the other rules by which a user sees the row, and what the grant reveals beyond them."""
    with reading() as transaction:
        explanation = explain.explain(transaction, caller, GRANTED[kind].model, key, user_id)
    others = [each for each in explanation.reasons if each.rule != GRANTED[kind].rule.__name__]
    without = without_grants(caller_of(caller, user_id), kind)
    return others, gain(caller, without, kind, [key])


# Why

USERS_LISTED_MAX = 300  # with more users, an e-mail field replaces the select
MATCHES_SHOWN = 10
READERS_SHOWN = 100


@auth.requires_session()
def why(caller: Caller) -> Response:
    user = request.args.get("person", "").strip() or caller.id or ""
    kind, typed = request.args.get("kind", "building"), request.args.get("key", "").strip()
    users = row_choice.list_users(caller, USERS_LISTED_MAX)
    key, matches = typed, list[Row]()
    answer = problem = None
    if typed and kind in KINDS:
        try:
            user = row_choice.find_named_user(caller, user)
            if not typed.isdigit():
                matches = rows_of_name(caller, kind, typed)
                key = str(matches[0]["id"]) if len(matches) == 1 else ""
            answer = explain_row(caller, kind, key, user) if key else None
        except Fault as fault:
            if not (isinstance(fault, explain.UserNotReadable) or is_client_error(fault)):
                raise
            record_fault(fault)
            problem = fault_message(fault)
    chosen = row_choice.find_user(caller, user)
    table = GRANTED[KINDS.get(kind, GrantKind.BUILDING)].table
    return render_page(
        "explain_access.html",
        400 if problem else 200,
        users=users,
        user=user,
        chosen=chosen,
        is_self=caller.id in (user, chosen["id"] if chosen is not None else None),
        kind=kind,
        key=key,
        typed=typed,
        matches=[(row["id"], table.describe(row)) for row in matches[:MATCHES_SHOWN]] if len(matches) > 1 else [],
        are_first=len(matches) > MATCHES_SHOWN,
        answer=answer,
        target=target_link(caller, kind, key) if answer is not None else None,
        grantors=row_choice.names_of(caller, (each.granted_by for each in answer.reasons)) if answer else {},
        problem=problem,
        is_admin=policy.may_administer(caller.role),
    )


def rows_of_name(caller: Caller, kind: str, text: str) -> list[Row]:
    """Return the first rows that a part of a building's name finds; raise InvalidInput if there are none."""
    granted = GRANTED[KINDS[kind]]
    table = granted.table
    columns = table.select(",".join(table.title_columns))
    filters = f"select={columns}&{granted.search.format(quote_pattern(text))}&order={table.order},id"
    rows = queries.select_rows(caller, table.name, filters, limit=MATCHES_SHOWN + 1).rows
    if not rows:
        raise InvalidInput(f"You can see no {kind} of this name")
    return rows


def explain_row(caller: Caller, kind: str, key: str, user: str) -> explain.Explanation:
    number = int(BIGINT.read_text(key) or 0)
    with reading() as transaction:
        return explain.explain(transaction, caller, GRANTED[KINDS[kind]].model, number, row_choice.parse_user_id(user))


def target_link(caller: Caller, kind: str, key: str) -> tuple[str, str] | None:
    """Return the name and the URL of the building or inspection, or None if the caller may not see it."""
    table = GRANTED[KINDS[kind]].table
    columns = ",".join(table.title_columns)
    row = queries.first_row(caller, table.name, f"select={table.select(columns)}&{table.filters(int(key))}")
    return (table.describe(row), table.url(row)) if row is not None else None
