"""What each may read, write and call: the probes about rows."""

from tests.access.test_access_matrix import READABLE
from tests.conftest import ADA, BOB, CAST, MAX, MIA, MOE, RESOURCES, ROOT, UNKNOWN_USER_ID
from tests.safety.probe import (
    ADM_BUILDING,
    ADM_INSPECTION,
    MGR_BUILDING,
    MGR_INSPECTION,
    UNDONE,
    Probe,
    cast_world,
    expect,
    send,
)
from tests.safety.sites import Site
from tests.support import oracle


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

    return Probe(f"{who} gets {path}", frozenset((path[1:].split("?")[0], "read", who, *about)), run)


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


# What root writes first, and what somebody is then shown, or may take back of it.
GIVEN: list[tuple] = [
    (f"/{MGR_BUILDING}", {"manager_id": MOE, "building_id": 4},
     "ada", "DELETE", f"/{MGR_BUILDING}?building_id=eq.4", []),
    (f"/{MGR_INSPECTION}", {"manager_id": MOE, "inspection_id": 6},
     "ada", "DELETE", f"/{MGR_INSPECTION}?inspection_id=eq.6", []),
    ("/reports_lead", {"inspection_id": 3, "gun_id": 7},
     "bob", "GET", "/reports_lead?select=gun_id&inspection_id=eq.3", [{"gun_id": 7}]),
]  # fmt: skip


def given(table: str, row: dict, who: str, method: str, path: str, rows: list) -> Probe:
    def run(site: Site) -> None:
        try:
            expect(send(site, "root", "POST", table, row).status == 201, row)
            answer = send(site, who, method, path, prefer=UNDONE)
            expect(answer.json == rows, answer)
        finally:
            site.load(cast_world())

    about = frozenset((table[1:], "read" if method == "GET" else "write", who))
    return Probe(f"{who} {method} {path} of what root gave", about, run)


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
      for kind in ("building", "inspection") for whom in (MOE, UNKNOWN_USER_ID)],
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
