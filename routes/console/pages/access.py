"""The matrix of grants: users and buildings, one role at a time, among those to which the caller may grant.

A preview precedes the save, and one transaction saves all grants and revocations. Both steps are plain forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from flask import Response, g, request

from access.assignments import IDS_MAX
from access.caller import Caller
from access.decorators import load_caller
from access.policy import AccessRule
from access.predicates import GRANT_TABLES
from access.roles import GrantKind, GrantProfile, Role
from engine.open import writing
from engine.query.statement import Action
from models import Building, ClientManagerBuildingAccess
from models.types import BIGINT, read_uuid
from routes.console.components import queries, row_choice
from routes.console.components.list_query import SEARCH_CHARACTERS_MAX, WORDS_MAX, word_pattern
from routes.console.components.lists import neighboring_pages
from routes.console.components.page import ROLE_NAMES, Undo, redirect_to, render_page
from routes.console.components.tables import Row
from routes.console.components.template_filters import name
from routes.console.pages.grants import (
    VisibleCounts,
    caller_of,
    create_grants,
    gain,
    grantable_roles,
    loss,
    revoke_grants,
    visible_without_grant,
)
from routes.console.session import auth
from routes.console.session.urls import console_url
from routes.postgrest.lexer import LimitExceeded

USERS_SHOWN = 8
BUILDINGS_SHOWN = 24
CLIENTS_LISTED_MAX = 200  # with more clients, a number field replaces the select

PARAMETERS = ("role", "q", "who", "client", "person", "building", "people", "buildings")

Pair = tuple[str, int]


@dataclass(frozen=True, slots=True)
class MatrixPart:
    """The buildings or the users of a page of the matrix: the numbers of the first and the last, and all pages."""

    rows: list[Row]
    first: int
    last: int
    total: int
    pages: list[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class GrantPreview:
    """A user, the buildings that they gain or lose, and the rows that these buildings reveal or hide.

    `foreign` are those of the gained buildings that belong to another client than the user.
    """

    user: str
    buildings: tuple[str, ...]
    foreign: tuple[str, ...]
    counts: VisibleCounts


@auth.requires_administrator()
def access(caller: Caller) -> Response:
    roles = grantable_roles(caller, GrantKind.BUILDING)
    role = next((role for role in roles if role.value == request.args.get("role")), roles[-1])
    clients = queries.first_page(caller, "clients", "select=id,name&order=name,id", CLIENTS_LISTED_MAX)
    client = chosen_client(caller, role, clients.rows)
    users, buildings = select_users(caller, role, client), select_buildings(caller, client)
    row_choice.mark_deactivated(users.rows)
    keys = [row["id"] for row in buildings.rows]
    return render_page(
        "access.html",
        role=role,
        grantee=ROLE_NAMES[role].lower(),
        roles=[(each.value, f"{ROLE_NAMES[each]}s") for each in reversed(roles)],
        users=users,
        buildings=buildings,
        granted=granted_pairs(caller, role, users.rows, keys),
        own={f"{row['id']}:{key}" for row in users.rows for key in visible_without_grant(caller, row["id"], keys)},
        clients=clients.rows,
        client=client,
        are_first=clients.has_more,
        typed=request.args,
    )


def chosen_client(caller: Caller, role: Role, clients: list[Row]) -> int:
    """Return the client of the URL, or 0 for all clients.

    By default, return that of the URL's building or user, or else the first of several clients. Return all clients for
    a link to one grant, and for a role that sees buildings without a grant.
    """
    user_id, building = request.args.get("person", ""), int_argument("building")
    if "client" in request.args or len(clients) < 2 or (user_id and building) or not sees_grants_only(role):
        return int_argument("client")
    row: Row | None = {"client_id": clients[0]["id"]}
    if building:
        row = queries.first_row(caller, "buildings", f"select=client_id&id=eq.{building}")
    elif user_id:
        row = queries.first_row(caller, "users", f"select=client_id&id=eq.{quote(user_id)}")
    return int((row or {}).get("client_id") or 0)


def sees_grants_only(role: Role) -> bool:
    return AccessRule(GrantProfile(role)).reads_by_grants_only(Building)


def select_users(caller: Caller, role: Role, client: int) -> MatrixPart:
    """Return the page of the users of the role that the search for a name or e-mail finds.

    For a client, return its own users if the role sees only granted buildings, otherwise the users of other clients.
    """
    text = f"select=id,name,client_id,clients(name)&role=eq.{role.value}&order=name,id"
    if client:
        text += f"&client_id={'eq' if sees_grants_only(role) else 'neq'}.{client}"
    if user_id := request.args.get("person", ""):
        text += f"&id=eq.{quote(user_id)}"
    return read_part(caller, "users", text + search_filters("who", ("name", "email")), "people", USERS_SHOWN)


def select_buildings(caller: Caller, client: int) -> MatrixPart:
    """Return the page of the buildings that the caller may update, and therefore grant, and that the search finds."""
    text = "select=id,name,client_id,clients(name)&order=name,id"
    if client:
        text += f"&client_id=eq.{client}"
    if building := int_argument("building"):
        text += f"&id=eq.{building}"
    text += search_filters("q", ("name", "address", "city"))
    return read_part(caller, "buildings", text, "buildings", BUILDINGS_SHOWN, Action.UPDATE)


def search_filters(name: str, columns: Sequence[str]) -> str:
    """Return the filters of the search in a parameter: one of the columns contains each word."""
    words = request.args.get(name, "")[:SEARCH_CHARACTERS_MAX].split(maxsplit=WORDS_MAX - 1)
    patterns = [quote(word_pattern(each)) for each in words]
    return "".join(f"&or=({','.join(f'{each}.ilike.%22{text}%22' for each in columns)})" for text in patterns)


def read_part(
    caller: Caller, name: str, text: str, parameter: str, size: int, within: Action = Action.READ
) -> MatrixPart:
    """Return the page of the rows or columns of the matrix whose offset the parameter has."""
    offset = int_argument(parameter)
    found = queries.select_rows(caller, name, text, limit=size, offset=offset, total=True, within=within)
    total = found.total or 0
    numbers = neighboring_pages(offset // size + 1, max(1, -(-total // size)))
    pages = [(each, "" if (each - 1) * size == offset else page_url(parameter, (each - 1) * size)) for each in numbers]
    return MatrixPart(found.rows, offset + 1, offset + len(found.rows), total, pages)


def page_url(parameter: str, offset: int) -> str:
    """Return the URL of the matrix with another offset of its rows or columns."""
    pairs = [(each, request.args[each]) for each in PARAMETERS if each in request.args and each != parameter]
    return console_url(f"/access?{urlencode([*pairs, (parameter, offset)])}")


def int_argument(name: str) -> int:
    text = request.args.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def granted_pairs(caller: Caller, role: Role, users: list[Row], keys: list[int]) -> set[str]:
    """Return the granted pairs as `user:building`."""
    if not users or not keys:
        return set()
    table = GRANT_TABLES[role, GrantKind.BUILDING]
    ids = ",".join(row["id"] for row in users)
    filters = f"{table.grantee}=in.({ids})&{table.target}=in.({','.join(map(str, keys))})"
    rows = queries.select_rows(
        caller,
        table.model.__tablename__,
        f"select=person:{table.grantee},building:{table.target}&{filters}",
        limit=USERS_SHOWN * BUILDINGS_SHOWN,
    ).rows
    return {f"{row['person']}:{row['building']}" for row in rows}


# Preview and save


@auth.requires(Action.UPDATE, ClientManagerBuildingAccess)
def preview(caller: Caller) -> Response:
    checked, before = set(g.form.getlist("grant")), set(g.form.getlist("was"))
    pairs = set(g.form.getlist("pair"))
    if check_all := g.form.get("all", ""):
        checked |= {pair for pair in pairs if pair.startswith(f"{check_all}:")}
    if uncheck_all := g.form.get("none", ""):
        checked -= {pair for pair in pairs if pair.startswith(f"{uncheck_all}:")}
    added, removed = parse_pairs(checked - before), parse_pairs(before - checked)
    if not added and not removed:
        return redirect_to("/access" + return_query(), "Nothing changed.")
    return render_page(
        "access_preview.html",
        added=[preview_of(caller, *each, gains=True) for each in group_by_user(added)],
        removed=[preview_of(caller, *each, gains=False) for each in group_by_user(removed)],
        added_pairs=added,
        removed_pairs=removed,
        back=return_query(),
    )


@auth.requires(Action.UPDATE, ClientManagerBuildingAccess)
def confirm(caller: Caller) -> Response:
    added, removed = parse_pairs(g.form.getlist("made")), parse_pairs(g.form.getlist("gone"))
    with writing() as transaction:
        now = load_caller(transaction)
        granted = sum(
            create_grants(transaction, now, user_id, GrantKind.BUILDING, ids) for user_id, ids in group_by_user(added)
        )
        revoked = sum(
            revoke_grants(transaction, now, user_id, GrantKind.BUILDING, ids) for user_id, ids in group_by_user(removed)
        )
    undo = None
    if (granted, revoked) == (len(added), len(removed)):
        swapped = [("made", pair_text(each)) for each in removed] + [("gone", pair_text(each)) for each in added]
        undo = Undo("/access/confirm", (*swapped, ("back", return_query())))
    return redirect_to("/access" + return_query(), f"{granted} granted, {revoked} revoked.", undo)


def pair_text(pair: Pair) -> str:
    return f"{pair[0]}:{pair[1]}"


def return_query() -> str:
    """Return the query string of the matrix page."""
    query: str = g.form.get("back", "")
    if not (query.startswith("?") and query.isascii() and query.isprintable()):
        return ""
    return query


def parse_pairs(texts: Iterable[str]) -> list[Pair]:
    """Return pairs of user and building from their form values; raise LimitExceeded if there are too many."""
    pairs: list[Pair] = []
    for text in sorted(texts):
        user_id, _, building = text.partition(":")
        pairs.append((str(read_uuid(user_id)), int(BIGINT.read_text(building) or 0)))
    if len(pairs) > IDS_MAX:
        raise LimitExceeded(IDS_MAX, "grants at once")
    return pairs


def group_by_user(pairs: list[Pair]) -> list[tuple[str, list[int]]]:
    ids_by_user: dict[str, list[int]] = {}
    for user_id, building in pairs:
        ids_by_user.setdefault(user_id, []).append(building)
    return list(ids_by_user.items())


def preview_of(caller: Caller, user_id: str, ids: list[int], *, gains: bool) -> GrantPreview:
    """Return the preview for one user, limited to the buildings that the caller may update."""
    user = caller_of(caller, user_id)
    row = queries.first_row(caller, "users", f"select=name&id=eq.{user_id}")
    text = f"select=id,name,client_id,clients(name)&id=in.({','.join(map(str, ids))})&order=name"
    buildings = queries.select_rows(caller, "buildings", text, limit=len(ids), within=Action.UPDATE).rows
    keys = [row["id"] for row in buildings]
    return GrantPreview(
        name(row["name"], 80) if row else user_id,
        tuple(name(each["name"], 80) for each in buildings),
        tuple(
            f"{name(each['name'], 80)} ({name(each['clients']['name'], 80) if each['clients'] else 'another client'})"
            for each in buildings
            if gains and user.client_id is not None and each["client_id"] != user.client_id
        ),
        gain(caller, user, GrantKind.BUILDING, keys) if gains else loss(user, GrantKind.BUILDING, keys),
    )
