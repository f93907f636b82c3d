"""Probes of rows and functions: what each role may read, write and call."""

from tests.access.test_access_matrix import READABLE
from tests.access.test_frozen_rows import LETTERS, REPORTS
from tests.conftest import ADA, BOB, CAST, MAX, MIA, MOE, ROOT, UNKNOWN_USER_ID
from tests.safety.probe import (
    ADM_BUILDING,
    ADM_INSPECTION,
    MGR_BUILDING,
    MGR_INSPECTION,
    ROLLBACK_PREFERENCE,
    Probe,
    cast_world,
    expect,
    send,
)
from tests.safety.probes_of_lead import CHECK, LEAD_WRITES, NO_ROWS, RULE_VIOLATION, SUCCEEDS
from tests.safety.service_instances import ServiceInstance
from tests.support import oracle
from tests.support.columns import MODELLED_TABLES


def reads_matrix_rows(who: str, table: str) -> Probe:
    """A list and its count contain exactly the rows of the access matrix."""

    def run(instance: ServiceInstance) -> None:
        response = send(instance, who, "GET", f"/{table}", prefer="count=exact")
        keys = {oracle.key_of(table, row) for row in response.json}
        keys = {key if len(key) > 1 else key[0] for key in keys}
        expect(keys == {**READABLE[who], "issued_reports": REPORTS[who], "notices": LETTERS[who]}[table], response)
        expect(response.header("content-range").endswith(f"/{len(keys)}"), response)

    return Probe(f"{who} reads {table}", frozenset((table, "read", who)), run)


def reads_exactly(who: str, path: str, expected: object, *tags: str) -> Probe:
    def run(instance: ServiceInstance) -> None:
        response = send(instance, who, "GET", path)
        expect(response.status == 200 and response.json == expected, response)

    return Probe(f"{who} gets {path}", frozenset((path[1:].split("?")[0], "read", who, *tags)), run)


EMBEDS = [
    reads_exactly("moe", "/inspections?select=id,buildings(id)&id=eq.3", [{"id": 3, "buildings": None}]),
    reads_exactly("bob", "/inspections?select=id,buildings(id)&id=eq.3", [{"id": 3, "buildings": None}]),
    reads_exactly("ada", "/buildings?select=id,clients(id)&id=eq.5", [{"id": 5, "clients": None}], "clients"),
    reads_exactly(
        "moe",
        "/client_manager_building_access?select=users!assigned_by(id),building_id",
        [{"users": None, "building_id": 1}],
        "users",
    ),
    reads_exactly(
        "ada",
        "/client_admin_building_access?select=building_id,users!assigned_by(id)",
        [{"building_id": 1, "users": None}, {"building_id": 5, "users": None}],
        "users",
    ),
    reads_exactly("moe", "/inspectors?select=id,inspections(id)&id=eq.1",
         [{"id": 1, "inspections": [{"id": 1}, {"id": 3}]}], "inspections"),
    reads_exactly("mia", "/buildings?select=id,inspections(id)", [], "inspections"),
    reads_exactly("moe", "/inspections?select=count()", [{"count": 4}]),
    reads_exactly("ada", "/reports_lead?select=id,inspections(id,buildings(id))",
         [{"id": 1, "inspections": {"id": 2, "buildings": {"id": 1}}},
          {"id": 2, "inspections": {"id": 2, "buildings": {"id": 1}}}]),
]  # fmt: skip
# ── writes: user, method, path, body, expected response ──────────────────────────────────────────────────

NO_PRIVILEGE = (403, "42501", "permission denied for table {}")
BUILDING = {"name": "N", "client_id": 1}
MANAGER = {"email": "n@n.example", "name": "N", "role": "client_manager", "client_id": 1}
SCHEDULE = {"inspection_type": "t", "every": 1, "unit": "year", "first_due": "2025-07-01"}
FINDING = {"description": "d", "severity": "low"}
WRITES: list[tuple] = [
    *LEAD_WRITES,
    ("ada", "POST", "/buildings", BUILDING, SUCCEEDS),
    ("ada", "POST", "/buildings", {**BUILDING, "client_id": 2}, RULE_VIOLATION),
    ("ada", "PATCH", "/buildings?id=eq.1", {"client_id": 2}, RULE_VIOLATION),
    ("ada", "PATCH", "/buildings?id=eq.1", {"units": 1}, SUCCEEDS),
    ("ada", "PATCH", "/buildings?id=eq.5", {"units": 1}, NO_ROWS),
    ("ada", "PATCH", "/buildings?id=eq.4", {"client_id": 1}, NO_ROWS),
    ("ada", "DELETE", "/buildings?id=eq.5", None, NO_ROWS),
    ("ada", "DELETE", "/buildings?id=eq.6", None, SUCCEEDS),
    ("ada", "POST", "/buildings", {**BUILDING, "id": 500}, (400, "428C9", None)),
    ("ada", "PATCH", "/buildings?id=eq.1", {"updated_at": "2020-01-01"}, (400, "428C9", None)),
    ("ada", "POST", "/inspections", {"building_id": 1, "inspection_type": "x"}, SUCCEEDS),
    ("ada", "POST", "/inspections", {"building_id": 5, "inspection_type": "x"}, RULE_VIOLATION),
    ("ada", "POST", "/inspections", {"building_id": 4, "inspection_type": "x"}, RULE_VIOLATION),
    ("ada", "PATCH", "/inspections?id=eq.1", {"building_id": 5}, RULE_VIOLATION),
    ("ada", "PATCH", "/inspections?id=eq.1", {"notes": "n"}, SUCCEEDS),
    ("ada", "PATCH", "/inspections?id=eq.8", {"notes": "n"}, NO_ROWS),
    ("bob", "PATCH", "/inspections?id=eq.3", {"notes": "n"}, NO_ROWS),
    ("bob", "DELETE", "/inspections?id=eq.3", None, NO_ROWS),
    ("bob", "DELETE", "/inspections?id=eq.6", None, SUCCEEDS),
    ("ada", "POST", "/reports_lead", {"inspection_id": 1, "gun_id": 1}, SUCCEEDS),
    ("ada", "POST", "/reports_lead", {"inspection_id": 8, "gun_id": 1}, RULE_VIOLATION),
    ("bob", "POST", "/reports_lead", {"inspection_id": 3, "gun_id": 1}, RULE_VIOLATION),
    ("ada", "PATCH", "/reports_lead?id=eq.1", {"inspection_id": 6}, RULE_VIOLATION),
    ("ada", "PATCH", "/reports_lead?id=eq.1", {"gun_id": 9}, SUCCEEDS),
    ("ada", "PATCH", "/reports_lead?id=eq.3", {"gun_id": 9}, NO_ROWS),
    ("bob", "DELETE", "/reports_lead?id=in.(1,2)", None, NO_ROWS),
    ("ada", "POST", "/schedules", {**SCHEDULE, "building_id": 3}, SUCCEEDS),
    ("ada", "POST", "/schedules", {**SCHEDULE, "building_id": 5}, RULE_VIOLATION),
    ("ada", "PATCH", "/schedules?id=eq.1", {"building_id": 5}, RULE_VIOLATION),
    ("ada", "PATCH", "/schedules?id=eq.1", {"basis": "b"}, SUCCEEDS),
    ("ada", "PATCH", "/schedules?id=eq.3", {"basis": "b"}, NO_ROWS),
    ("bob", "DELETE", "/schedules?id=eq.3", None, SUCCEEDS),
    ("ada", "POST", "/findings", {**FINDING, "inspection_id": 1}, SUCCEEDS),
    ("ada", "POST", "/findings", {**FINDING, "inspection_id": 8}, RULE_VIOLATION),
    ("ada", "PATCH", "/findings?id=eq.1", {"inspection_id": 8}, RULE_VIOLATION),
    ("ada", "PATCH", "/findings?id=eq.1", {"place": "p"}, SUCCEEDS),
    ("ada", "PATCH", "/findings?id=eq.4", {"place": "p"}, NO_ROWS),
    ("bob", "DELETE", "/findings?id=eq.3", None, NO_ROWS),
    ("root", "PATCH", "/schedules?id=eq.2", {"basis": "b"}, SUCCEEDS),
    ("root", "PATCH", "/findings?id=eq.2", {"place": "p"}, SUCCEEDS),
    *[(who, method, f"/{table}?updated_at=not.is.null", {}, NO_PRIVILEGE)
      for who in ("root", "ada") for table in ("inspection_plans", "finding_events", "issued_reports", "notices")
      for method in ("POST", "PATCH", "DELETE")],
    *[("root", method, "/audit_log?id=not.is.null", {}, NO_PRIVILEGE) for method in ("POST", "PATCH", "DELETE")],
    ("ada", "POST", "/users", MANAGER, SUCCEEDS),
    ("ada", "POST", "/users", {**MANAGER, "role": "client_admin"}, RULE_VIOLATION),
    ("ada", "POST", "/users", {**MANAGER, "client_id": 2}, RULE_VIOLATION),
    ("ada", "POST", "/users", {**MANAGER, "role": "super_admin", "client_id": None}, RULE_VIOLATION),
    ("ada", "PATCH", f"/users?id=eq.{MOE}", {"role": "client_admin"}, RULE_VIOLATION),
    ("ada", "PATCH", f"/users?id=eq.{MOE}", {"client_id": 2}, RULE_VIOLATION),
    ("ada", "PATCH", f"/users?id=eq.{MOE}", {"name": "M"}, SUCCEEDS),
    ("ada", "PATCH", f"/users?id=eq.{ADA}", {"name": "M"}, NO_ROWS),
    ("ada", "DELETE", f"/users?id=eq.{MAX}", None, NO_ROWS),
    ("ada", "DELETE", f"/users?id=eq.{ADA}", None, NO_ROWS),
    ("ada", "POST", f"/{MGR_BUILDING}", {"manager_id": MIA, "building_id": 2}, SUCCEEDS),
    ("ada", "POST", f"/{MGR_BUILDING}", {"manager_id": MIA, "building_id": 5}, RULE_VIOLATION),
    ("ada", "POST", f"/{MGR_BUILDING}", {"manager_id": MAX, "building_id": 2}, RULE_VIOLATION),
    ("ada", "POST", f"/{MGR_BUILDING}", {"manager_id": ADA, "building_id": 2}, RULE_VIOLATION),
    ("ada", "POST", f"/{MGR_BUILDING}",
     {"manager_id": MIA, "building_id": 2, "assigned_by": ROOT}, RULE_VIOLATION),
    ("ada", "PATCH", f"/{MGR_BUILDING}?building_id=eq.1", {"assigned_by": ROOT}, RULE_VIOLATION),
    ("ada", "DELETE", f"/{MGR_BUILDING}?building_id=eq.1", None, SUCCEEDS),
    ("bob", "DELETE", f"/{MGR_BUILDING}?building_id=eq.1", None, NO_ROWS),
    ("ada", "POST", f"/{MGR_INSPECTION}", {"manager_id": MIA, "inspection_id": 4}, SUCCEEDS),
    ("ada", "POST", f"/{MGR_INSPECTION}", {"manager_id": MIA, "inspection_id": 8}, RULE_VIOLATION),
    ("ada", "POST", f"/{MGR_INSPECTION}", {"manager_id": MAX, "inspection_id": 4}, RULE_VIOLATION),
    ("ada", "POST", f"/{MGR_INSPECTION}", {"manager_id": ADA, "inspection_id": 4}, RULE_VIOLATION),
    ("ada", "POST", f"/{MGR_INSPECTION}",
     {"manager_id": MIA, "inspection_id": 4, "assigned_by": ROOT}, RULE_VIOLATION),
    ("ada", "PATCH", f"/{MGR_INSPECTION}?inspection_id=eq.3", {"assigned_by": ROOT}, RULE_VIOLATION),
    ("ada", "DELETE", f"/{MGR_INSPECTION}?inspection_id=eq.3", None, SUCCEEDS),
    ("root", "POST", "/clients", {"name": "N"}, SUCCEEDS),
    ("root", "PATCH", "/clients?id=eq.1", {"name": "N"}, SUCCEEDS),
    ("root", "POST", "/inspectors", {"name": "N"}, SUCCEEDS),
    ("root", "DELETE", "/inspectors?id=eq.3", None, SUCCEEDS),
    ("root", "PATCH", "/buildings?id=eq.4", {"units": 1}, SUCCEEDS),
    ("root", "PATCH", "/inspections?id=eq.6", {"notes": "n"}, SUCCEEDS),
    ("root", "PATCH", "/reports_lead?id=eq.3", {"gun_id": 1}, SUCCEEDS),
    ("root", "PATCH", f"/users?id=eq.{MAX}", {"name": "n"}, SUCCEEDS),
    *[
        ("root", "POST", f"/{table}", {oracle.KEYS[table][0]: who, oracle.KEYS[table][1]: 2}, SUCCEEDS)
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
    *[("ada", method, f"/{table}?{oracle.PRIMARY_KEYS.get(table, ('id',))[0]}=not.is.null", {}, NO_PRIVILEGE)
      for table in ("clients", "inspectors", ADM_BUILDING, ADM_INSPECTION)
      for method in ("POST", "PATCH", "DELETE")],
    *[("moe", method, f"/{table}?{oracle.PRIMARY_KEYS.get(table, ('id',))[0]}=not.is.null", {}, NO_PRIVILEGE)
      for table in MODELLED_TABLES for method in ("POST", "PATCH", "DELETE")],
]  # fmt: skip


def writes(who: str, method: str, path: str, body: object, expected: tuple) -> Probe:
    table = path[1:].split("?")[0]
    status, code, detail = expected

    def run(instance: ServiceInstance) -> None:
        response = send(instance, who, method, path, body if method != "DELETE" else None, prefer=ROLLBACK_PREFERENCE)
        if status is None:
            expect(response.status in (200, 201) and response.json != [], response)
            return
        expect((response.status, response.code) == (status, code), response)
        if isinstance(detail, list):
            expect(response.json == detail, response)
        elif detail is not None:
            expect(response.json["message"] == detail.format(table), response)

    name = f"{who} {method} {path} {body} -> {status or 'success'}"
    return Probe(name, frozenset((table, "write", who)), run)


# Table and row that root inserts; then user, method, path and expected rows.
AFTER_ROOT_WRITES: list[tuple] = [
    (f"/{MGR_BUILDING}", {"manager_id": MOE, "building_id": 4},
     "ada", "DELETE", f"/{MGR_BUILDING}?building_id=eq.4", []),
    (f"/{MGR_INSPECTION}", {"manager_id": MOE, "inspection_id": 6},
     "ada", "DELETE", f"/{MGR_INSPECTION}?inspection_id=eq.6", []),
    ("/reports_lead", {"inspection_id": 3, "gun_id": 7},
     "bob", "GET", "/reports_lead?select=gun_id&inspection_id=eq.3", [{"gun_id": 7}]),
]  # fmt: skip


def after_root_write(table: str, row: dict, who: str, method: str, path: str, rows: list) -> Probe:
    def run(instance: ServiceInstance) -> None:
        try:
            expect(send(instance, "root", "POST", table, row).status == 201, row)
            response = send(instance, who, method, path, prefer=ROLLBACK_PREFERENCE)
            expect(response.json == rows, response)
        finally:
            instance.load(cast_world())

    tags = frozenset((table[1:], "read" if method == "GET" else "write", who))
    return Probe(f"{who} {method} {path} after root's insert", tags, run)


PARTS = (("reports_lead", {"gun_id": 7}), ("calibration_checks", CHECK), ("findings", FINDING))
"""Rows of an inspection that its inspector writes."""

OWN_VISIT_WRITES: list[tuple] = [
    *[("POST", f"/{table}", {**row, "inspection_id": 5}, SUCCEEDS) for table, row in PARTS],
    *[("POST", f"/{table}", {**row, "inspection_id": 1}, RULE_VIOLATION) for table, row in PARTS],
    *[("PATCH", f"/{table}?inspection_id=eq.2", {"inspection_id": 5}, NO_ROWS) for table, _ in PARTS],
    *[("DELETE", f"/{table}?inspection_id=eq.2", None, NO_ROWS) for table, _ in PARTS],
    *[("PATCH", f"/{table}?inspection_id=eq.5", {"inspection_id": 1}, RULE_VIOLATION) for table, _ in PARTS],
    *[("DELETE", f"/{table}?inspection_id=eq.5", None, SUCCEEDS) for table, _ in PARTS],
]  # fmt: skip


def own_visit_write(method: str, path: str, body: object, expected: tuple) -> Probe:
    """A write of moe, who signs in as Uma, the inspector of inspection 5."""
    check = writes("moe", method, path, body, expected)

    def run(instance: ServiceInstance) -> None:
        try:
            linked = send(instance, "root", "PATCH", "/inspectors?id=eq.3", {"user_id": MOE})
            expect(linked.status == 204, linked)
            for table, row in PARTS:
                made = send(instance, "root", "POST", f"/{table}", {**row, "inspection_id": 5})
                expect(made.status == 201, made)
            check.run(instance)
        finally:
            instance.load(cast_world())

    return Probe(f"as an inspector, {check.name}", check.tags, run)


def inspector_reinspects(instance: ServiceInstance) -> None:
    """An inspector calls reinspect for a failed visit of theirs."""
    failed = {"status": "failed", "date_visited": "2025-06-10"}
    try:
        for path, change in (("/inspectors?id=eq.3", {"user_id": MOE}), ("/inspections?id=eq.5", failed)):
            expect(send(instance, "root", "PATCH", path, change).status == 204, path)
        asked = {"p_inspection_id": 5, "p_date_visited": "2025-07-01"}
        response = send(instance, "moe", "POST", "/rpc/reinspect", asked)
        expect(response.status == 200 and response.json["round"] == 2, response)
    finally:
        instance.load(cast_world())


def inspector_imports(instance: ServiceInstance) -> None:
    """An inspector imports a finding of a visit of theirs."""
    try:
        linked = send(instance, "root", "PATCH", "/inspectors?id=eq.3", {"user_id": MOE})
        expect(linked.status == 204, linked)
        asked = {"p_target": "findings", "p_csv": "inspection_id,severity,description\n5,low,d\n", "p_dry_run": False}
        response = send(instance, "moe", "POST", "/rpc/import_csv", asked)
        expect(response.status == 200 and response.json["inserted"] == 1, response)
    finally:
        instance.load(cast_world())


IMPORT = Probe("an inspector imports", frozenset(("import_csv", "call", "moe")), inspector_imports)
REINSPECTION = Probe("an inspector re-inspects", frozenset(("reinspect", "call", "moe")), inspector_reinspects)


# ── functions ────────────────────────────────────────────────────────────────────────────────────────────

APPLY = {
    "p_building_ids": [1, 2], "p_inspection_type": "t", "p_every": 1, "p_unit": "year", "p_first_due": "2025-07-01",
}  # fmt: skip
PREVIEW = {"p_every": 1, "p_unit": "year", "p_first_due": "2025-07-01", "p_count": 2}

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
    *[(who, "apply_schedule", APPLY, status, None) for who, status in (("root", 200), ("ada", 200), ("moe", 403))],
    ("ada", "apply_schedule", {**APPLY, "p_building_ids": [5]}, 403, None),
    ("ada", "apply_schedule", {**APPLY, "p_building_ids": [4]}, 404, None),
    *[(who, "import_csv", {"p_target": "buildings", "p_csv": "name,city\nN,C\n", "p_dry_run": False}, status, None)
      for who, status in (("root", 200), ("ada", 200), ("moe", 403))],
    *[(who, "skip_occurrence", {"p_inspection_id": 3, "p_reason": "r"}, status, None)
      for who, status in (("root", 200), ("ada", 200), ("bob", 403), ("moe", 403))],
    *[(who, "preview_schedule", PREVIEW, 200, None) for who in ("root", "ada", "moe")],
    *[(who, "get_due_summary", {}, 200, None) for who in ("root", "ada", "moe")],
    *[(who, "move_findings", {"p_finding_ids": [1], "p_to": "fixed"}, status, None)
      for who, status in (("root", 200), ("ada", 200), ("moe", 200), ("bob", 404), ("mia", 404))],
    *[(who, "move_findings", {"p_finding_ids": [1], "p_to": "verified", "p_how": "visit", "p_inspection_id": 2}, status,
       None)
      for who, status in (("root", 400), ("ada", 400), ("moe", 403))],
    *[(who, "move_findings", {"p_finding_ids": [3], "p_to": "waived", "p_note": "n"}, status, None)
      for who, status in (("root", 200), ("ada", 200), ("bob", 403), ("moe", 403))],
    *[(who, "regrade_finding", {"p_finding_id": 1, "p_severity": "low", "p_note": "n"}, status, None)
      for who, status in (("root", 200), ("ada", 200), ("moe", 403), ("bob", 404))],
    ("moe", "regrade_finding", {"p_finding_id": 999, "p_severity": "low", "p_note": "n"}, 404, None),
    *[(who, "report_defect", {"p_building_id": 1, "p_description": "d", "p_severity": "low"}, status, None)
      for who, status in (("root", 200), ("ada", 200), ("moe", 200), ("bob", 404))],
    *[(who, "issue_notice", {"p_finding_ids": [1], "p_to_name": "O", "p_to_address": "A", "p_answer_by": "2999-12-31"},
       status, None)
      for who, status in (("root", 200), ("ada", 200), ("moe", 403), ("bob", 404))],
    *[(who, function, arguments, 404, None)
      for who in ("root", "ada", "moe", "bob")
      for function, arguments in (
          ("serve_notice", {"p_id": 999, "p_served_on": "2025-06-01", "p_how": "post"}),
          ("withdraw_notice", {"p_id": 999, "p_note": "n"}))],
    *[(who, "reinspect", {"p_inspection_id": 2, "p_date_visited": "2025-07-01"}, status, None)
      for who, status in (("root", 200), ("ada", 200), ("moe", 403), ("bob", 404))],
    *[(who, "start_visit", {"p_inspection_id": 3}, status, None)
      for who, status in (("root", 200), ("ada", 200), ("moe", 403), ("bob", 403), ("mia", 404))],
    *[(who, "close_visit", {"p_inspection_id": 3, "p_status": "completed"}, status, None)
      for who, status in (("root", 200), ("ada", 200), ("moe", 403), ("bob", 403), ("mia", 404))],
    *[(who, "lead_summary", {"p_inspection_id": 2}, status, None)
      for who, status in (("root", 200), ("ada", 200), ("moe", 200), ("bob", 404), ("mia", 404))],
    *[(who, "reclassify_readings", {"p_inspection_id": 2}, status, None)
      for who, status in (("root", 200), ("ada", 200), ("moe", 403), ("bob", 404), ("mia", 404))],
    *[(who, "void_rows", {"p_table": "reports_lead", "p_ids": [1], "p_reason": "r"}, status, None)
      for who, status in (("root", 200), ("ada", 200), ("moe", 403), ("bob", 404), ("mia", 404))],
    *[(who, "issue_report", {"p_inspection_id": 2, "p_kind": "findings", "p_signed_name": "S"}, status, None)
      for who, status in (("root", 200), ("ada", 200), ("moe", 403), ("bob", 404), ("mia", 404))],
    *[(who, "withdraw_report", {"p_id": 999, "p_note": "n"}, 404, None) for who in ("root", "ada", "moe", "bob")],
    *[(who, "verify_report", {"p_number": "2026-000001"}, 200, None) for who in ("root", "ada", "moe", "bob")],
    *[(who, "report_gaps", {"p_inspection_id": 2, "p_rule": "VA"}, status, None)
      for who, status in (("root", 200), ("ada", 200), ("moe", 200), ("bob", 404), ("mia", 404))],
]  # fmt: skip


def calls(who: str, function: str, arguments: dict, status: int, value: object) -> Probe:
    def run(instance: ServiceInstance) -> None:
        response = send(instance, who, "POST", f"/rpc/{function}", arguments, prefer="tx=rollback")
        expect(response.status == status, response)
        expect(value is None or response.json is value, response)

    name = f"{who} calls {function} {arguments}"
    return Probe(name, frozenset((function, "call", who)), run)
