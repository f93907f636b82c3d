"""/console/why: the access rules by which a user sees a building or an inspection, and the users who see it.

The page of one user finds a building by a part of its name, and an inspection by that of its building.
"""

from __future__ import annotations

from collections.abc import Callable

from flask import Response, request

from access import explain, policy
from access.caller import Caller
from engine.current import reading
from models import Building, Inspection
from models.errors import Fault
from models.fields import Model
from models.types import BIGINT, InvalidInput
from routes.console.components import queries, user_choice
from routes.console.components.error_pages import fault_message, is_client_error, record_fault
from routes.console.components.list_query import quote_pattern
from routes.console.components.page import ROLE_NAMES, bp, render_page
from routes.console.components.tables import PATH, Row, Section, table_of
from routes.console.session import auth

USERS_LISTED_MAX = 300  # with more users, an e-mail field replaces the select
MATCHES_SHOWN = 10
READERS_SHOWN = 100
KINDS: dict[str, type[Model]] = {"building": Building, "inspection": Inspection}
SEARCHES = {"building": "name=ilike.*{0}*", "inspection": "buildings=not.is.null&buildings.name=ilike.*{0}*"}


@bp.get("/why")
@auth.requires_session()
def why(caller: Caller) -> Response:
    user = request.args.get("person", "").strip() or caller.id or ""
    kind, typed = request.args.get("kind", "building"), request.args.get("key", "").strip()
    users = user_choice.list_users(caller, USERS_LISTED_MAX)
    key, matches = typed, list[queries.Row]()
    answer = problem = None
    if typed and kind in KINDS:
        try:
            user = user_choice.find_named_user(caller, user)
            if not typed.isdigit():
                matches = rows_of_name(caller, kind, typed)
                key = str(matches[0]["id"]) if len(matches) == 1 else ""
            answer = explain_row(caller, kind, key, user) if key else None
        except Fault as fault:
            if not (isinstance(fault, explain.UserNotReadable) or is_client_error(fault)):
                raise
            record_fault(fault)
            problem = fault_message(fault)
    chosen = user_choice.find_user(caller, user)
    table = table_of(KINDS.get(kind, Building).__tablename__)
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
        grantors=user_choice.names_of(caller, (each.granted_by for each in answer.reasons)) if answer else {},
        problem=problem,
        is_admin=policy.may_administer(caller.role),
    )


def rows_of_name(caller: Caller, kind: str, text: str) -> list[queries.Row]:
    """Return the first rows that a part of a building's name finds; raise InvalidInput if there are none."""
    table = table_of(KINDS[kind].__tablename__)
    columns = table.select(",".join(table.title_columns))
    filters = f"select={columns}&{SEARCHES[kind].format(quote_pattern(text))}&order={table.order},id"
    rows = queries.select_rows(caller, table.name, filters, limit=MATCHES_SHOWN + 1).rows
    if not rows:
        raise InvalidInput(f"You can see no {kind} of this name")
    return rows


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


def readers_section(kind: str) -> Callable[[Caller, Row, bool], Section | None]:
    """Return the part of a row's page with the users who see the row, as far as the caller sees these users."""

    def section(caller: Caller, row: Row, may_edit: bool) -> Section | None:
        if not policy.may_administer(caller.role):
            return None
        with reading() as transaction:
            readers = explain.list_readers(transaction, caller, KINDS[kind], row["id"], READERS_SHOWN + 1)
        shown = readers[:READERS_SHOWN]
        users = [{"id": each.id} for each in shown]
        user_choice.mark_deactivated(users)
        return "readers.html", {
            "readers": shown,
            "roles": ROLE_NAMES,
            "is_deactivated": {each["id"]: each["is_deactivated"] for each in users},
            "grantors": user_choice.names_of(caller, (why.granted_by for each in shown for why in each.reasons)),
            "search": f"{PATH}/why?kind={kind}&key={row['id']}",
            "has_more": len(readers) > READERS_SHOWN,
        }

    return section
