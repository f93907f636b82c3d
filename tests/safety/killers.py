"""A quick suite that no mutant of the rule survives: the cast and their requests, by hand from the contract, over one
small world; then random requests against the oracle.

A probe says what it is about, so that those about a mutant's own relation come first.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from access.caller import STANDINGS
from access.caller import Role
from access.policy import AccessRule
from models.sql import operators
from models.sql import plan
from routes import resource
from routes import rpc
from routes.postgrest.querystring import parse
from tests import oracle
from tests.columns import COLUMNS
from tests.conftest import ADA
from tests.conftest import BOB
from tests.conftest import CAST
from tests.conftest import DATASET
from tests.conftest import MAX
from tests.conftest import MIA
from tests.conftest import MOE
from tests.conftest import NO_ONE
from tests.conftest import RESOURCES
from tests.conftest import ROOT
from tests.safety.sites import Answer
from tests.safety.sites import Site
from tests.safety.sites import asking
from tests.safety.test_random_requests import OracleDiffers
from tests.safety.test_random_requests import travel
from tests.test_access_matrix import READABLE

PEOPLE = ("root", "ada", "bob", "moe", "mia", "max")
ORACLE_SEEDS = (1, 2, 3, 4)  # 300 requests
ELSEWHERE = ("rest_", "console.")
"""Endpoints that are others under a second path, and the console's, whose doors its own tests knock at."""
UNDONE = "tx=rollback, return=representation"


class Killed(AssertionError):
    """A probe that was answered otherwise than the contract says."""


class Broken(RuntimeError):
    """A mutant that does not run: it was not killed by the suite, but never alive."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One question, what it is about, and how it is asked."""

    name: str
    about: frozenset[str]
    run: Callable[[Site], None]


def cast_world() -> dict:
    world = json.loads(DATASET.read_text())
    rows = {
        table: [{column: row.get(column) for column in COLUMNS[table]} for row in world[table]]
        for table in RESOURCES
    }
    rows["users"].sort(key=lambda row: row["role"] != "super_admin")
    return rows


USERS = {row["id"]: row for row in cast_world()["users"]}


def send(
    site: Site, who: str | None, method: str, path: str, body: object = None, **rest: str
) -> Answer:
    user = USERS[CAST[who].id] if who is not None else None
    answer = site.send(user, asking(method, path, body, **rest))
    if answer.status == 500:
        raise Broken(f"{who} {method} {path}\n{answer}")
    return answer


def expect(claim: bool, what: object) -> None:
    if not claim:
        raise Killed(str(what))


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────


def reads(who: str, table: str) -> Probe:
    """A list holds exactly what the matrix says, and so does its count."""

    def run(site: Site) -> None:
        answer = send(site, who, "GET", f"/{table}", prefer="count=exact")
        keys = {oracle.key_of(table, row) for row in answer.json}
        keys = {key if len(key) > 1 else key[0] for key in keys}
        expect(keys == READABLE[who][table], answer)
        expect(answer.header("content-range").endswith(f"/{len(keys)}"), answer)

    return Probe(f"{who} reads {table}", frozenset((table, "read", who)), run)


def gets(who: str, path: str, expected: object, *about: str) -> Probe:
    def run(site: Site) -> None:
        answer = send(site, who, "GET", path)
        expect(answer.status == 200 and answer.json == expected, answer)

    return Probe(
        f"{who} gets {path}", frozenset((path[1:].split("?")[0], "read", who, *about)), run
    )


EMBEDS = [
    gets("moe", "/inspections?select=id,buildings(id)&id=eq.3", [{"id": 3, "buildings": None}]),
    gets("bob", "/inspections?select=id,buildings(id)&id=eq.3", [{"id": 3, "buildings": None}]),
    gets("ada", "/buildings?select=id,clients(id)&id=eq.5", [{"id": 5, "clients": None}], "clients"),
    gets(
        "moe",
        "/client_manager_building_access?select=users!assigned_by(id),building_id",
        [{"users": None, "building_id": 1}],
        "users",
    ),
    gets(
        "ada",
        "/client_admin_building_access?select=building_id,users!assigned_by(id)",
        [{"building_id": 1, "users": None}, {"building_id": 5, "users": None}],
        "users",
    ),
    gets("moe", "/inspectors?select=id,inspections(id)&id=eq.1",
         [{"id": 1, "inspections": [{"id": 1}, {"id": 3}]}], "inspections"),
    gets("mia", "/buildings?select=id,inspections(id)", [], "inspections"),
    gets("moe", "/inspections?select=count()", [{"count": 4}]),
    gets("ada", "/reports_lead?select=id,inspections(id,buildings(id))",
         [{"id": 1, "inspections": {"id": 2, "buildings": {"id": 1}}},
          {"id": 2, "inspections": {"id": 2, "buildings": {"id": 1}}}]),
]  # fmt: skip

# ── writing: who, what, how it ends ──────────────────────────────────────────────────────────────────────

PRIVILEGE = (403, "42501", "permission denied for table {}")
RULE = (403, "42501", 'new row violates row-level security policy for table "{}"')
NONE = (200, None, [])

BUILDING = {"name": "N", "client_id": 1}
MANAGER = {"email": "n@n.example", "name": "N", "role": "client_manager", "client_id": 1}
MGR_BUILDING, MGR_INSPECTION = "client_manager_building_access", "client_manager_inspection_access"
ADM_BUILDING, ADM_INSPECTION = "client_admin_building_access", "client_admin_inspection_access"
DONE = (None, None, None)

WRITES: list[tuple] = [
    ("ada", "POST", "/buildings", BUILDING, DONE),
    ("ada", "POST", "/buildings", {**BUILDING, "client_id": 2}, RULE),
    ("ada", "PATCH", "/buildings?id=eq.1", {"client_id": 2}, RULE),
    ("ada", "PATCH", "/buildings?id=eq.1", {"units": 1}, DONE),
    ("ada", "PATCH", "/buildings?id=eq.5", {"units": 1}, NONE),
    ("ada", "PATCH", "/buildings?id=eq.4", {"client_id": 1}, NONE),
    ("ada", "DELETE", "/buildings?id=eq.5", None, NONE),
    ("ada", "DELETE", "/buildings?id=eq.6", None, DONE),
    ("ada", "POST", "/buildings", {**BUILDING, "id": 500}, (400, "428C9", None)),
    ("ada", "PATCH", "/buildings?id=eq.1", {"updated_at": "2020-01-01"}, (400, "428C9", None)),
    ("ada", "POST", "/inspections", {"building_id": 1, "inspection_type": "x"}, DONE),
    ("ada", "POST", "/inspections", {"building_id": 5, "inspection_type": "x"}, RULE),
    ("ada", "POST", "/inspections", {"building_id": 4, "inspection_type": "x"}, RULE),
    ("ada", "PATCH", "/inspections?id=eq.1", {"building_id": 5}, RULE),
    ("ada", "PATCH", "/inspections?id=eq.1", {"notes": "n"}, DONE),
    ("ada", "PATCH", "/inspections?id=eq.8", {"notes": "n"}, NONE),
    ("bob", "PATCH", "/inspections?id=eq.3", {"notes": "n"}, NONE),
    ("bob", "DELETE", "/inspections?id=eq.3", None, NONE),
    ("bob", "DELETE", "/inspections?id=eq.7", None, DONE),
    ("ada", "POST", "/reports_lead", {"inspection_id": 1, "gun_id": 1}, DONE),
    ("ada", "POST", "/reports_lead", {"inspection_id": 8, "gun_id": 1}, RULE),
    ("bob", "POST", "/reports_lead", {"inspection_id": 3, "gun_id": 1}, RULE),
    ("ada", "PATCH", "/reports_lead?id=eq.1", {"inspection_id": 6}, RULE),
    ("ada", "PATCH", "/reports_lead?id=eq.1", {"gun_id": 9}, DONE),
    ("ada", "PATCH", "/reports_lead?id=eq.3", {"gun_id": 9}, NONE),
    ("bob", "DELETE", "/reports_lead?id=in.(1,2)", None, NONE),
    ("ada", "POST", "/users", MANAGER, DONE),
    ("ada", "POST", "/users", {**MANAGER, "role": "client_admin"}, RULE),
    ("ada", "POST", "/users", {**MANAGER, "client_id": 2}, RULE),
    ("ada", "POST", "/users", {**MANAGER, "role": "super_admin", "client_id": None}, RULE),
    ("ada", "PATCH", f"/users?id=eq.{MOE}", {"role": "client_admin"}, RULE),
    ("ada", "PATCH", f"/users?id=eq.{MOE}", {"client_id": 2}, RULE),
    ("ada", "PATCH", f"/users?id=eq.{MOE}", {"name": "M"}, DONE),
    ("ada", "PATCH", f"/users?id=eq.{ADA}", {"name": "M"}, NONE),
    ("ada", "DELETE", f"/users?id=eq.{MAX}", None, NONE),
    ("ada", "DELETE", f"/users?id=eq.{ADA}", None, NONE),
    ("ada", "POST", f"/{MGR_BUILDING}", {"manager_id": MIA, "building_id": 2}, DONE),
    ("ada", "POST", f"/{MGR_BUILDING}", {"manager_id": MIA, "building_id": 5}, RULE),
    ("ada", "POST", f"/{MGR_BUILDING}", {"manager_id": MAX, "building_id": 2}, RULE),
    ("ada", "POST", f"/{MGR_BUILDING}", {"manager_id": ADA, "building_id": 2}, RULE),
    ("ada", "POST", f"/{MGR_BUILDING}",
     {"manager_id": MIA, "building_id": 2, "assigned_by": ROOT}, RULE),
    ("ada", "PATCH", f"/{MGR_BUILDING}?building_id=eq.1", {"assigned_by": ROOT}, RULE),
    ("ada", "DELETE", f"/{MGR_BUILDING}?building_id=eq.1", None, DONE),
    ("bob", "DELETE", f"/{MGR_BUILDING}?building_id=eq.1", None, NONE),
    ("ada", "POST", f"/{MGR_INSPECTION}", {"manager_id": MIA, "inspection_id": 4}, DONE),
    ("ada", "POST", f"/{MGR_INSPECTION}", {"manager_id": MIA, "inspection_id": 8}, RULE),
    ("ada", "POST", f"/{MGR_INSPECTION}", {"manager_id": MAX, "inspection_id": 4}, RULE),
    ("ada", "POST", f"/{MGR_INSPECTION}", {"manager_id": ADA, "inspection_id": 4}, RULE),
    ("ada", "POST", f"/{MGR_INSPECTION}",
     {"manager_id": MIA, "inspection_id": 4, "assigned_by": ROOT}, RULE),
    ("ada", "PATCH", f"/{MGR_INSPECTION}?inspection_id=eq.3", {"assigned_by": ROOT}, RULE),
    ("ada", "DELETE", f"/{MGR_INSPECTION}?inspection_id=eq.3", None, DONE),
    ("root", "POST", "/clients", {"name": "N"}, DONE),
    ("root", "PATCH", "/clients?id=eq.1", {"name": "N"}, DONE),
    ("root", "POST", "/inspectors", {"name": "N"}, DONE),
    ("root", "DELETE", "/inspectors?id=eq.1", None, DONE),
    ("root", "PATCH", "/buildings?id=eq.4", {"units": 1}, DONE),
    ("root", "PATCH", "/inspections?id=eq.6", {"notes": "n"}, DONE),
    ("root", "PATCH", "/reports_lead?id=eq.3", {"gun_id": 1}, DONE),
    ("root", "PATCH", f"/users?id=eq.{MAX}", {"name": "n"}, DONE),
    *[
        ("root", "POST", f"/{table}", {oracle.KEYS[table][0]: who, oracle.KEYS[table][1]: 2}, DONE)
        for table, who in (
            (ADM_BUILDING, BOB), (ADM_INSPECTION, BOB), (MGR_BUILDING, MAX), (MGR_INSPECTION, MAX))
    ],
    *[
        ("root", "POST", f"/{table}", {oracle.KEYS[table][0]: who, oracle.KEYS[table][1]: 2},
         (400, "23514", None))
        for table, who in (
            (ADM_BUILDING, MAX), (ADM_INSPECTION, MAX), (MGR_BUILDING, BOB), (MGR_INSPECTION, BOB))
    ],
    *[
        ("root", "PATCH", f"/{table}?{oracle.KEYS[table][1]}=eq.{target}",
         {oracle.KEYS[table][0]: who}, (400, "23514", None))
        for table, who, target in (
            (ADM_BUILDING, MAX, 1), (ADM_INSPECTION, MAX, 3), (MGR_BUILDING, BOB, 1),
            (MGR_INSPECTION, BOB, 3))
    ],
    ("root", "DELETE", f"/users?id=eq.{ROOT}", None, (400, "23514", None)),
    ("root", "PATCH", f"/users?id=eq.{ROOT}", {"role": "client_admin", "client_id": 1},
     (400, "23514", None)),
    *[("ada", method, f"/{table}?{oracle.KEYS.get(table, ('id',))[0]}=not.is.null", {}, PRIVILEGE)
      for table in ("clients", "inspectors", ADM_BUILDING, ADM_INSPECTION)
      for method in ("POST", "PATCH", "DELETE")],
    *[("moe", method, f"/{table}?{oracle.KEYS.get(table, ('id',))[0]}=not.is.null", {}, PRIVILEGE)
      for table in RESOURCES for method in ("POST", "PATCH", "DELETE")],
]  # fmt: skip


def writes(who: str, method: str, path: str, body: object, end: tuple) -> Probe:
    table = path[1:].split("?")[0]
    status, code, said = end

    def run(site: Site) -> None:
        answer = send(site, who, method, path, body if method != "DELETE" else None, prefer=UNDONE)
        if status is None:
            expect(answer.status in (200, 201) and answer.json != [], answer)
            return
        expect((answer.status, answer.code) == (status, code), answer)
        if isinstance(said, list):
            expect(answer.json == said, answer)
        elif said is not None:
            expect(answer.json["message"] == said.format(table), answer)

    name = f"{who} {method} {path} {body} -> {status or 'done'}"
    return Probe(name, frozenset((table, "write", who)), run)


# ── functions ────────────────────────────────────────────────────────────────────────────────────────────

CALLS: list[tuple] = [
    *[(who, "get_inspections_dashboard_summary_fast", {}, 200, None) for who in ("root", "ada", "moe")],
    *[(who, "get_building_stats_chart_fast", {}, 200, None) for who in ("root", "ada", "moe")],
    *[(who, "get_building_stats", {"building_id": 1}, 200, None) for who in ("root", "ada", "moe")],
    ("moe", "get_building_stats", {"building_id": 2}, 404, None),
    ("ada", "get_building_stats", {"building_id": 4}, 404, None),
    *[(who, f"{verb}_{kind}", {f"{kind.split('_')[0]}_id": 3, "user_id": CAST[who].id}, 200, None)
      for who in ("root", "ada", "moe")
      for verb, kind in (("check", "building_access_v2"), ("check", "inspection_access"),
                         ("explain", "building_access"), ("explain", "inspection_access"))],
    ("moe", "check_building_access_v2", {"building_id": 1, "user_id": MIA}, 403, None),
    ("ada", "check_inspection_access", {"inspection_id": 1, "user_id": MAX}, 403, None),
    ("moe", "check_inspection_access", {"inspection_id": 3, "user_id": MOE}, 200, True),
    ("moe", "check_building_access_v2", {"building_id": 2, "user_id": MOE}, 200, False),
    ("ada", "check_building_access_v2", {"building_id": 5, "user_id": ADA}, 200, True),
    ("bob", "check_inspection_access", {"inspection_id": 3, "user_id": BOB}, 200, True),
    *[("root", f"assign_{kind}s_to_client_admin", {"admin_id": BOB, f"{kind}_ids": [1]}, 200, None)
      for kind in ("building", "inspection")],
    *[(who, f"assign_{kind}s_to_client_admin", {"admin_id": BOB, f"{kind}_ids": [1]}, 403, None)
      for kind in ("building", "inspection") for who in ("ada", "moe")],
    *[("root", f"assign_{kind}s_to_client_admin", {"admin_id": whom, f"{kind}_ids": [1]}, 400, None)
      for kind in ("building", "inspection") for whom in (MOE, NO_ONE)],
    *[(who, "assign_to_client_manager",
       {"manager_id": MIA, "building_ids": [1], "inspection_ids": []}, status, None)
      for who, status in (("root", 200), ("ada", 200), ("bob", 400), ("moe", 403))],
    ("ada", "assign_to_client_manager",
     {"manager_id": MIA, "building_ids": [5], "inspection_ids": []}, 403, None),
    ("ada", "assign_to_client_manager",
     {"manager_id": MIA, "building_ids": [], "inspection_ids": [8]}, 403, None),
]  # fmt: skip


def calls(who: str, function: str, arguments: dict, status: int, value: object) -> Probe:
    def run(site: Site) -> None:
        answer = send(site, who, "POST", f"/rpc/{function}", arguments, prefer="tx=rollback")
        expect(answer.status == status, answer)
        expect(value is None or answer.json is value, answer)

    name = f"{who} calls {function} {arguments}"
    return Probe(name, frozenset((function, "call", who)), run)


# ── what follows a write, and who asks by the time it has its turn ───────────────────────────────────────


def moved(method: str, path: str, body: dict, left: dict[str, set]) -> Probe:
    """A real write by root, then what is left of the grants."""

    def run(site: Site) -> None:
        try:
            answer = send(site, "root", method, path, body)
            expect(answer.status == 204, answer)
            for table, expected in left.items():
                keys = {oracle.key_of(table, row) for row in site.rows(table)}
                expect(keys == expected, (table, keys))
        finally:
            site.load(cast_world())

    return Probe(f"root {method} {path} {body}", frozenset(("follow", path[1:].split("?")[0])), run)


FOLLOWS = [
    moved("PATCH", "/buildings?id=eq.1", {"client_id": 2}, {
        MGR_BUILDING: {(MAX, 4)}, ADM_BUILDING: {(ADA, 5)}, MGR_INSPECTION: {(MOE, 3)}}),
    moved("PATCH", "/buildings?id=eq.2", {"client_id": 2}, {MGR_INSPECTION: set(), ADM_INSPECTION: {(BOB, 3)}}),
    moved("PATCH", "/inspections?id=eq.3", {"building_id": 4}, {
        MGR_INSPECTION: set(), ADM_INSPECTION: {(BOB, 3)}}),
    moved("PATCH", f"/users?id=eq.{MOE}", {"client_id": 2}, {
        MGR_BUILDING: {(MAX, 4)}, MGR_INSPECTION: set()}),
]  # fmt: skip


def token_dies(site: Site) -> None:
    """Whoever was moved and moved back has a token that says the truth, and is dead all the same."""
    try:
        for client_id in (2, 1):
            send(site, "root", "PATCH", f"/users?id=eq.{MOE}", {"client_id": client_id})
        expect(send(site, "moe", "GET", "/buildings").status == 401, "moe's token lives on")
    finally:
        site.load(cast_world())


def looked_up(site: Site) -> None:
    """A token that says what is not so, and one of nobody."""
    for changes in ({"client_id": 2}, {"role": "client_admin"}, {"id": NO_ONE}):
        answer = site.send({**USERS[MOE], **changes}, asking("GET", "/buildings"))
        expect(answer.status == 401, answer)


def asked_again(room: object, method: str, path: str, body: dict) -> Callable[[Site], None]:
    """Ada is made a manager while her write waits for its turn."""

    def run(site: Site) -> None:
        writing = room.writing

        @contextmanager
        def delayed(*arguments: object, **named: object) -> Iterator[object]:
            demote = "UPDATE users SET role = 'client_manager' WHERE id = ?"
            site.side.execute(demote, (ADA,))
            with writing(*arguments, **named) as transaction:
                yield transaction

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(room, "writing", delayed)
            try:
                answer = send(site, "ada", method, path, body)
                expect(answer.status == 401, answer)
            finally:
                site.load(cast_world())

    return run


def guarded(site: Site) -> None:
    """A filter that tells stands behind the rule, in the plan of a list, of its count, and of a write."""
    rule = AccessRule(STANDINGS[Role.CLIENT_ADMIN, True, True])
    for name, operator in operators.OPERATORS.items():
        shape = parse(f"select=id&notes={name}.x".encode()).shape
        made = plan.plan_read("sqlite", "inspections", shape, rule)
        stands = all("CASE WHEN" in statement.sql for statement in (made.rows, made.count))
        tells = name in ("like", "ilike", "match", "imatch")
        expect(stands == tells == (not operator.leak_proof), made.rows.sql)


def disabled_root_stays(site: Site) -> None:
    """The last super admin cannot be shut out at the sign-in's door either."""
    try:
        path = f"/auth/v1/admin/users/{ROOT}"
        refused = send(site, "root", "PUT", path, {"ban_duration": "876000h"})
        expect(refused.status >= 400, refused)
        site.side.execute("INSERT INTO credentials (user_id) VALUES (?)", (ROOT,))
        refused = send(site, "root", "PUT", path, {"ban_duration": "876000h"})
        expect(refused.status >= 400, refused)
    finally:
        site.load(cast_world())


def planted(table: str, row: dict, who: str, method: str, path: str) -> Callable[[Site], None]:
    """A row that only an old file, or a grant, can bring about is out of reach: nothing matches it."""

    def run(site: Site) -> None:
        kept = site.side.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?", (table,)
        ).fetchall()
        try:
            for name, _ in kept:
                site.side.execute(f"DROP TRIGGER {name}")
            names, places = ", ".join(row), ", ".join("?" * len(row))
            site.side.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", [*row.values()])
            for _, sql in kept:
                site.side.execute(sql)
            answer = send(site, who, method, path, prefer=UNDONE)
            expect(answer.status == 200 and answer.json == [], answer)
        finally:
            site.load(cast_world())

    return run


def shut_out_by_sql(site: Site) -> None:
    """The schema itself refuses to disable the last super admin, whoever asks it to."""
    far = 2**40
    for statement in (
        "INSERT INTO credentials (user_id, disabled_until) VALUES (:id, :far)",
        "INSERT INTO credentials (user_id) VALUES (:id)",
        "UPDATE credentials SET disabled_until = :far WHERE user_id = :id",
    ):
        refused = False
        try:
            site.side.execute(statement, {"id": ROOT, "far": far})
        except sqlite3.IntegrityError:
            refused = True
        expect(refused == ("far" in statement), statement)
    site.load(cast_world())


NEW_USER = {"email": "t@t.example", "name": "T", "role": "client_manager", "client_id": 1}

# One write of each kind to each table, by root, and what of it is told: relation, action, whose.
TRAIL: list[tuple] = [
    ("POST", "/clients", {"name": "T"}, [("clients", "insert", None)]),
    ("PATCH", "/clients?id=eq.1", {"name": "U"}, [("clients", "update", 1)]),
    ("DELETE", "/clients?name=eq.T", None, [("clients", "delete", None)]),
    ("POST", "/inspectors", {"name": "T"}, [("inspectors", "insert", None)]),
    ("PATCH", "/inspectors?id=eq.2", {"name": "U"}, [("inspectors", "update", None)]),
    ("DELETE", "/inspectors?name=eq.T", None, [("inspectors", "delete", None)]),
    ("POST", "/users", NEW_USER, [("users", "insert", 1)]),
    ("PATCH", "/users?email=eq.t@t.example", {"name": "U"}, [("users", "update", 1)]),
    ("PATCH", "/users?email=eq.t@t.example", {"client_id": 2},
     [("users", "delete", 1), ("users", "insert", 2)]),
    ("DELETE", "/users?email=eq.t@t.example", None, [("users", "delete", 2)]),
    ("POST", "/buildings", {"name": "T", "client_id": 2}, [("buildings", "insert", 2)]),
    ("PATCH", "/buildings?id=eq.5", {"units": 1}, [("buildings", "update", 2)]),
    ("DELETE", "/buildings?id=eq.6", None, [("buildings", "delete", 1)]),
    ("POST", "/inspections", {"building_id": 3, "inspection_type": "t"}, [("inspections", "insert", 1)]),
    ("PATCH", "/inspections?id=eq.9", {"notes": "t"}, [("inspections", "update", 1)]),
    ("DELETE", "/inspections?id=eq.9", None, [("inspections", "delete", 1)]),
    ("POST", "/reports_lead", {"inspection_id": 6, "gun_id": 7}, [("reports_lead", "insert", 2)]),
    ("PATCH", "/reports_lead?id=eq.3", {"gun_id": 12_345}, [("reports_lead", "update", 2)]),
    ("DELETE", "/reports_lead?id=eq.1", None, [("reports_lead", "delete", 1)]),
    ("PATCH", "/buildings?id=eq.1", {"client_id": 2},
     [("buildings", "delete", 1), ("buildings", "insert", 2), ("inspections", "delete", 1),
      ("inspections", "insert", 2), ("reports_lead", "delete", 1), ("reports_lead", "insert", 2)]),
    *[
        (method, f"/{table}{query}", body, [(table, action, owner)])
        for table, who, owner in (
            (ADM_BUILDING, ADA, 1), (ADM_INSPECTION, BOB, 2), (MGR_BUILDING, MAX, 2), (MGR_INSPECTION, MIA, 1))
        for method, query, body, action in (
            ("POST", "", {oracle.KEYS[table][0]: who, oracle.KEYS[table][1]: 8 if "inspection" in table else 3},
             "insert"),
            ("PATCH", f"?{oracle.KEYS[table][0]}=eq.{who}", {"assigned_by": None}, "update"),
            ("DELETE", f"?{oracle.KEYS[table][0]}=eq.{who}", None, "delete"),
        )
    ],
]  # fmt: skip


def trail(site: Site) -> None:
    """Every change is told, to root all of it and to admins what is their client's; and nobody unsays it."""
    site.load(cast_world())
    site.told.clear()
    try:
        for method, path, body, rows in TRAIL:
            answer = send(site, "root", method, path, body, prefer="return=minimal")
            expect(answer.status in (201, 204), answer)
            tell(site, rows)
        told = {row for *_, rows in TRAIL for row in rows}
        for who, own in (("root", None), ("ada", 1), ("bob", 2), ("moe", 0)):
            query = "/audit_log?select=relation,action,client_id&limit=1000"
            answer = send(site, who, "GET", query)
            expect(answer.status == 200, answer)
            seen = {(row["relation"], row["action"], row["client_id"]) for row in answer.json}
            if own is None:
                expect({row[:2] for row in told} == {row[:2] for row in seen}, seen)
            else:
                expect({row for row in told if row[2] == own} <= seen, (who, seen))
                expect(all(row[2] == own for row in seen), (who, seen))
            for method in ("POST", "PATCH", "DELETE"):
                refused = send(site, who, method, "/audit_log?id=not.is.null", {"action": "x"})
                expect((refused.status, refused.code) == (403, "42501"), refused)
        for statement in ("UPDATE audit_log SET action = 'x'", "DELETE FROM audit_log"):
            try:
                site.side.execute(statement)
            except sqlite3.IntegrityError:
                continue
            raise Killed(statement)
    finally:
        site.load(cast_world())


def tell(site: Site, rows: list[tuple]) -> None:
    """The last write has told these; whose a new client is, nobody knew before."""
    found = site.side.execute(
        "SELECT relation, action, client_id FROM audit_log WHERE row_key IS NOT NULL"
    )
    new = Counter(found.fetchall()) - site.told
    site.told += new
    for relation, action, owner in rows:
        expect(any(row[:2] == (relation, action) and owner in (None, row[2]) for row in new), new)


OTHERS = [
    Probe("the trail", frozenset(("audit_log", "trail")), trail),
    Probe("a moved user's token dies", frozenset(("follow", "users")), token_dies),
    Probe("the user is looked up", frozenset(("session",)), looked_up),
    Probe(
        "a write asks again who writes",
        frozenset(("session", "again")),
        asked_again(resource, "PATCH", "/buildings?id=eq.1", {"units": 1}),
    ),
    Probe(
        "a call asks again who calls",
        frozenset(("session", "again")),
        asked_again(
            rpc,
            "POST",
            "/rpc/assign_to_client_manager",
            {"manager_id": MIA, "building_ids": [1], "inspection_ids": []},
        ),
    ),
    Probe("filters stand behind the rule", frozenset(("barrier",)), guarded),
    Probe("the last super admin stays", frozenset(("last",)), disabled_root_stays),
    Probe("the last super admin stays in SQL", frozenset(("last",)), shut_out_by_sql),
    Probe(
        "a reading seen by a grant is not written",
        frozenset(("reports_lead", "write", "ada")),
        planted(
            "reports_lead",
            {"id": 99, "inspection_id": 8, "client_id": 2},
            "ada",
            "DELETE",
            "/reports_lead?id=eq.99",
        ),
    ),
    *[
        Probe(
            f"{method} {table} leaves out a grantee who is no manager (G14)",
            frozenset((table, "read" if method == "GET" else "write", "ada")),
            planted(
                table,
                {
                    "manager_id": ADA,
                    oracle.KEYS[table][1]: 2,
                    "assigned_at": "2025-01-01T00:00:00+00:00",
                },
                "ada",
                method,
                f"/{table}?{oracle.KEYS[table][1]}=eq.2",
            ),
        )
        for table in (MGR_BUILDING, MGR_INSPECTION)
        for method in ("GET", "DELETE")
    ],
]

# ── every door: its key, its token, its privilege ────────────────────────────────────────────────────────


def doors(site: Site) -> list[Probe]:
    """For each route that asks for a caller: nobody gets in, and a manager without the privilege neither."""
    found = []
    for rule in site.app.url_map.iter_rules():
        view = site.app.view_functions[rule.endpoint]
        if not rule.endpoint.startswith(ELSEWHERE) and is_entered(view):
            path = str(rule).replace("<user_id>", NO_ONE).replace("<name>", "nothing")
            inner = dict(zip(view.__code__.co_freevars, view.__closure__, strict=True))
            open_to_managers = inner["allowed"].cell_contents(Role.CLIENT_MANAGER)
            found += [
                door(rule.endpoint, method, path, open_to_managers)
                for method in sorted(rule.methods - {"OPTIONS", "HEAD"})
            ]
    return found


def is_entered(view: object) -> bool:
    """Is that a view behind `entering`?"""
    return {"allowed", "joins", "view"} <= set(view.__code__.co_freevars)


def door(endpoint: str, method: str, path: str, open_to_managers: bool) -> Probe:
    body = b"{" if method in ("POST", "PUT", "PATCH") else None

    def run(site: Site) -> None:
        answer = send(site, None, method, path, body)
        expect(answer.status == 401, answer)
        if not open_to_managers:
            answer = send(site, "moe", method, path, body)
            expect(answer.status == 403, answer)
        if method == "GET":
            answer = site.send(USERS[ROOT], asking(method, path, apikey="wrong"))
            expect(answer.status == 401, answer)

    return Probe(f"{method} {path} at the door", frozenset(("door", endpoint)), run)


def every_probe(site: Site) -> list[Probe]:
    return [
        *(reads(who, table) for table in RESOURCES for who in PEOPLE),
        *EMBEDS,
        *(writes(*row) for row in WRITES),
        *(calls(*row) for row in CALLS),
        *FOLLOWS,
        *OTHERS,
        *doors(site),
    ]


def killed(site: Site, probes: list[Probe], about: Iterable[str]) -> str | None:
    """The name of the first probe that a mutant fails, those about it first; None if it survives all."""
    wanted = set(about)
    site.load(cast_world())
    for probe in sorted(probes, key=lambda probe: -len(probe.about & wanted)):
        try:
            probe.run(site)
        except Killed:
            return probe.name
    try:
        for seed in ORACLE_SEEDS:
            travel(seed, site)
    except OracleDiffers as differs:
        return f"oracle: {str(differs).splitlines()[1]}"
    return None
