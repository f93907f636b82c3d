"""Probes of audit entries, ids and cascades."""

from collections import Counter
from contextlib import suppress
from functools import partial

from engine.interface.database import BeyondClient
from engine.open import database
from tests.conftest import ADA, BOB, MAX, MIA, MOE, ROOT, UNKNOWN_USER_ID
from tests.safety.database_access import NOW
from tests.safety.probe import (
    ADM_BUILDING,
    ADM_INSPECTION,
    MGR_BUILDING,
    MGR_INSPECTION,
    ProbeFailed,
    cast_world,
    expect,
    send,
)
from tests.safety.service_instances import ServiceInstance
from tests.support import databases, oracle

EVENT_COLUMNS = "finding_id, kind, at, client_id, created_at, updated_at"


NEW_USER = {"email": "t@t.example", "name": "T", "role": "client_manager", "client_id": 1}
# One write of each kind to each table by root, and its audit entries: relation, action, client_id.
NEW_SCHEDULE = {"building_id": 2, "inspection_type": "t", "every": 1, "unit": "year", "first_due": "2025-07-01"}
NEW_FINDING = {"inspection_id": 6, "description": "T", "severity": "low"}
NEW_CHECK = {"inspection_id": 6, "gun_id": 77, "taken_at": NOW, "first": 1, "second": 1, "third": 1}
NEW_INSTRUMENT = {"gun_id": 30_003, "client_id": 1, "make": "T", "model": "T", "serial": "T"}
OF_BUILDING_1 = (
    "building_details", "inspections", "reports_lead", "calibration_checks", "schedules", "inspection_plans",
    "findings", "finding_events",
)  # fmt: skip
AUDITED_WRITES: list[tuple] = [
    ("POST", "/clients", {"name": "T"}, [("clients", "insert", None)]),
    ("PATCH", f"/users?id=eq.{MAX}", {"client_id": 1}, [(MGR_BUILDING, "delete", 2)]),
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
    ("POST", "/building_details", {"building_id": 3}, [("building_details", "insert", 1)]),
    ("PATCH", "/building_details?building_id=eq.3", {"parcel": "T"}, [("building_details", "update", 1)]),
    ("DELETE", "/building_details?building_id=eq.3", None, [("building_details", "delete", 1)]),
    ("POST", "/calibration_checks", NEW_CHECK, [("calibration_checks", "insert", 2)]),
    ("PATCH", "/calibration_checks?id=eq.3", {"note": "T"}, [("calibration_checks", "update", 2)]),
    ("DELETE", "/calibration_checks?id=eq.3", None, [("calibration_checks", "delete", 2)]),
    ("POST", "/xrf_instruments", NEW_INSTRUMENT, [("xrf_instruments", "insert", 1)]),
    ("PATCH", "/xrf_instruments?make=eq.T", {"mode": "T"}, [("xrf_instruments", "update", 1)]),
    ("POST", "/xrf_limits", {"gun_id": 30_003, "substrate": "t", "negative_below": 1, "positive_from": 1},
     [("xrf_limits", "insert", 1)]),
    ("PATCH", "/xrf_limits?substrate=eq.t", {"negative_below": 0.5}, [("xrf_limits", "update", 1)]),
    ("PATCH", "/xrf_instruments?make=eq.T", {"client_id": 2},
     [("xrf_instruments", "delete", 1), ("xrf_instruments", "insert", 2), ("xrf_limits", "delete", 1),
      ("xrf_limits", "insert", 2)]),
    ("DELETE", "/xrf_limits?substrate=eq.t", None, [("xrf_limits", "delete", 2)]),
    ("DELETE", "/xrf_instruments?make=eq.T", None, [("xrf_instruments", "delete", 2)]),
    *((method, path, body, rows) for table, row in (
        ("lead_standards", {"unit": "percent", "from_value": 0.1, "valid_from": "2020-01-01"}),
        ("deadline_rules", {"severity": "low", "amount": 5, "unit": "d"}))
      for method, path, body, rows in (
        ("POST", f"/{table}", {**row, "client_id": 1, "basis": "T"}, [(table, "insert", 1)]),
        ("PATCH", f"/{table}?basis=eq.T", {"basis": "U"}, [(table, "update", 1)]),
        ("PATCH", f"/{table}?basis=eq.U", {"client_id": 2}, [(table, "delete", 1), (table, "insert", 2)]),
        ("DELETE", f"/{table}?basis=eq.U", None, [(table, "delete", 2)]))),
    ("POST", "/schedules", NEW_SCHEDULE,
     [("schedules", "insert", 1), ("inspections", "insert", 1), ("inspection_plans", "insert", 1)]),
    ("PATCH", "/schedules?inspection_type=eq.t", {"basis": "t"}, [("schedules", "update", 1)]),
    ("PATCH", "/inspections?inspection_type=eq.t&date_visited=eq.2025-07-01",
     {"status": "completed", "date_visited": NOW[:10]},
     [("inspections", "update", 1), ("inspection_plans", "update", 1), ("inspection_plans", "insert", 1)]),
    ("DELETE", "/schedules?inspection_type=eq.t", None,
     [("schedules", "delete", 1), ("inspections", "delete", 1), ("inspection_plans", "delete", 1)]),
    ("POST", "/findings", NEW_FINDING,
     [("findings", "insert", 2), ("finding_events", "insert", 2)]),
    ("PATCH", "/findings?description=eq.T", {"place": "T"}, [("findings", "update", 2)]),
    ("DELETE", "/findings?description=eq.T", None, [("findings", "delete", 2), ("finding_events", "delete", 2)]),
    ("PATCH", "/buildings?id=eq.1", {"client_id": 2},
     [("buildings", "delete", 1), ("buildings", "insert", 2),
      *((table, *move) for table in OF_BUILDING_1 for move in (("delete", 1), ("insert", 2)))]),
    *[
        (method, f"/{table}{query}", body, [(table, *action) for action in actions])
        for table, who, owner, other, others in (
            (ADM_BUILDING, ADA, 1, BOB, 2), (ADM_INSPECTION, BOB, 2, ADA, 1),
            (MGR_BUILDING, MAX, 1, MIA, 1), (MGR_INSPECTION, MIA, 1, MAX, 1))
        for method, query, body, *actions in (
            ("POST", "", {oracle.KEYS[table][0]: who, oracle.KEYS[table][1]: 8 if "inspection" in table else 3},
             ("insert", owner)),
            ("PATCH", f"?{oracle.KEYS[table][0]}=eq.{who}", {"assigned_by": None}, ("update", owner)),
            ("PATCH", f"?{oracle.KEYS[table][0]}=eq.{who}", {oracle.KEYS[table][0]: other},
             ("delete", owner), ("insert", others)),
            ("DELETE", f"?{oracle.KEYS[table][0]}=eq.{other}", None, ("delete", others)),
        )
    ],
]  # fmt: skip


def audit_log_is_complete(instance: ServiceInstance) -> None:
    """Every write has an audit entry. Root sees all entries, admins those of their client. Entries are immutable."""
    instance.load(cast_world())
    instance.known_audit_entries.clear()
    try:
        for method, path, body, rows in AUDITED_WRITES:
            response = send(instance, "root", method, path, body, prefer="return=minimal")
            expect(response.status in (201, 204), response)
            expect_audit_entries(instance, rows)
        entries = {row for *_, rows in AUDITED_WRITES for row in rows}
        for who, own in (("root", None), ("ada", 1), ("bob", 2), ("moe", 0)):
            query = "/audit_log?select=relation,action,client_id&limit=1000"
            response = send(instance, who, "GET", query)
            expect(response.status == 200, response)
            seen = {(row["relation"], row["action"], row["client_id"]) for row in response.json}
            if own is None:
                expect({row[:2] for row in entries} == {row[:2] for row in seen}, seen)
            else:
                expect({row for row in entries if row[2] == own} <= seen, (who, seen))
                expect(all(row[2] == own for row in seen), (who, seen))
            for method in ("POST", "PATCH", "DELETE"):
                refused = send(instance, who, method, "/audit_log?id=not.is.null", {"action": "x"})
                expect((refused.status, refused.code) == (403, "42501"), refused)
        for statement in ("UPDATE audit_log SET action = 'x'", "DELETE FROM audit_log"):
            try:
                instance.direct_database.sql(statement)
            except instance.direct_database.constraint_errors:
                continue
            raise ProbeFailed(statement)
    finally:
        instance.load(cast_world())


def expect_audit_entries(instance: ServiceInstance, rows: list[tuple]) -> None:
    """Expect these entries of the last write. The client of a new client row is unknown in advance."""
    found = instance.direct_database.sql("SELECT relation, action, client_id FROM audit_log WHERE row_key IS NOT NULL")
    new = Counter(found) - instance.known_audit_entries
    instance.known_audit_entries += new
    for relation, action, owner in rows:
        expect(any(row[:2] == (relation, action) and owner in (None, row[2]) for row in new), new)


SEQUENCED_ROWS: dict[str, dict] = {
    "clients": {"name": "T"},
    "inspectors": {"name": "T"},
    "buildings": {"name": "T", "client_id": 2},
    "inspections": {"building_id": 3, "inspection_type": "t"},
    "reports_lead": {"inspection_id": 6, "gun_id": 7},
    "calibration_checks": NEW_CHECK,
    "xrf_instruments": NEW_INSTRUMENT,
    "xrf_limits": {"gun_id": 77, "substrate": "ids", "negative_below": 0.9, "positive_from": 1.2},
    "lead_standards": {"unit": "percent", "from_value": 0.1, "valid_from": "2020-01-01", "basis": "A rule"},
    "deadline_rules": {"severity": "low", "amount": 5, "unit": "d"},
    "schedules": {**NEW_SCHEDULE, "title": "Ids", "ended_on": "2025-01-01"},
}


def ids_are_never_reused(instance: ServiceInstance) -> None:
    """An id that a row received by an update is not assigned again, even after the row's deletion."""
    try:
        for table, body in SEQUENCED_ROWS.items():
            prefer = "return=representation"
            made = send(instance, "root", "POST", f"/{table}?select=id", body, prefer=prefer).json[0]
            changed_id = made["id"] + 5
            for method, key, change in (("PATCH", made["id"], {"id": changed_id}), ("DELETE", changed_id, None)):
                response = send(instance, "root", method, f"/{table}?id=eq.{key}", change)
                expect(response.status == 204, response)
            next_ = send(instance, "root", "POST", f"/{table}?select=id", body, prefer=prefer)
            expect(next_.json == [{"id": changed_id + 1}], next_)
    finally:
        instance.load(cast_world())


def ids_of_findings_are_never_reused(instance: ServiceInstance) -> None:
    """The same for findings, whose id changes only without events."""
    try:
        instance.direct_database.sql("DELETE FROM finding_events")
        expect(send(instance, "root", "PATCH", "/findings?id=eq.1", {"id": 200_000}).status == 204, "id")
        expect(send(instance, "root", "DELETE", "/findings?id=eq.200000").status == 204, "deletion")
        made = send(instance, "root", "POST", "/findings?select=id", NEW_FINDING, prefer="return=representation")
        expect(made.json == [{"id": 200_001}], made)
    finally:
        instance.load(cast_world())


def deleted_user_leaves_events(instance: ServiceInstance) -> None:
    """The deletion of a user changes the events of the user, and the audit log has these changes."""
    try:
        send(instance, "moe", "POST", "/rpc/move_findings", {"p_finding_ids": [1], "p_to": "fixed"})
        expect(send(instance, "root", "DELETE", f"/users?id=eq.{MOE}").status == 204, MOE)
        logged = send(instance, "root", "GET", "/audit_log?relation=eq.finding_events&action=eq.update")
        expect([row["before"] for row in logged.json] == [{"user_id": MOE}], logged)
    finally:
        instance.load(cast_world())


def ids_are_immutable(instance: ServiceInstance) -> None:
    """The id of a user cannot change, and the id of a deleted client cannot be used again."""
    root = partial(send, instance, "root", prefer="return=minimal")
    deleted, other = {"id": 57, "name": "Gone"}, {"id": 58, "name": "Other"}
    try:
        for method, path, body in (
            ("POST", "/clients", deleted),
            ("DELETE", "/clients?id=eq.57", None),
            ("POST", "/clients", other),
        ):
            response = root(method, path, body)
            expect(response.status in (201, 204), response)
        for method, path, body in (
            ("PATCH", f"/users?id=eq.{MIA}", {"id": UNKNOWN_USER_ID}),
            ("POST", "/clients", deleted),
            ("PATCH", "/clients?id=eq.58", {"id": 57}),
        ):
            response = root(method, path, body)
            expect((response.status, response.code) == (400, "23514"), response)
    finally:
        instance.load(cast_world())


# Path to delete, path of a prior update that moves a row on a server, and table of the cascaded audit entries.
CASCADED_DELETES = (
    ("/inspections?id=eq.2", f"/{MGR_INSPECTION}?manager_id=eq.{MAX}", MGR_INSPECTION),
    ("/buildings?id=eq.6", f"/{MGR_BUILDING}?manager_id=eq.{MOE}&building_id=eq.6", MGR_BUILDING),
    ("/inspectors?id=eq.1", "/inspections?id=eq.1", "inspections"),
)


def cascaded_entries_are_in_key_order(instance: ServiceInstance) -> None:
    """Audit entries of a cascade are in key order, regardless of physical row order."""
    root = partial(send, instance, "root")
    for deleted_path, changed_path, audited_table in CASCADED_DELETES:
        try:
            instance.direct_database.sql("DELETE FROM issued_reports")  # they keep visits and inspectors
            for who in (MAX, MIA, MOE):
                for table, column, id_ in ((MGR_INSPECTION, "inspection_id", 2), (MGR_BUILDING, "building_id", 6)):
                    row = {"manager_id": who, column: id_}
                    root("POST", f"/{table}", row, prefer="resolution=ignore-duplicates")
            instance.direct_database.compact(audited_table)
            change = {"status": "x"} if audited_table == "inspections" else {"assigned_by": ROOT}
            expect(root("PATCH", changed_path, change).status == 204, changed_path)
            query = f"/audit_log?select=id,row_key&relation=eq.{audited_table}&order=id"
            before = root("GET", query).json
            expect(root("DELETE", deleted_path).status == 204, deleted_path)
            entries = [row["row_key"] for row in root("GET", query).json[len(before) :]]
            expect(len(entries) > 1 and entries == sorted(entries), (deleted_path, entries))
        finally:
            instance.load(cast_world())


def cascades_of_domain_rules_are_in_key_order(instance: ServiceInstance) -> None:
    """The same for the events of a finding, the plans of a schedule and the limits of an instrument."""
    root, sql = partial(send, instance, "root"), instance.direct_database.sql
    try:
        for id_ in range(300_006, 300_000, -1):  # the last id is the first row of the table
            values = f"({id_}, 1, 'remark', '{NOW}', 1, '{NOW}', '{NOW}')"
            sql(f"INSERT INTO finding_events (id, {EVENT_COLUMNS}) VALUES {values}")
        sql("DELETE FROM finding_events WHERE id = 1")
        for inspection_id in (8, 6):
            sql(f"UPDATE inspection_plans SET schedule_id = 1 WHERE inspection_id = {inspection_id}")
        sql("UPDATE inspection_plans SET occurrence = 1 WHERE inspection_id = 2")
        root("POST", "/xrf_instruments", {"gun_id": 9, "make": "M", "model": "M", "serial": "S"})
        for substrate in ("wood", "steel", "brick"):
            root("POST", "/xrf_limits", {"gun_id": 9, "substrate": substrate, "negative_below": 1, "positive_from": 1})
        for deleted_path, audited_table in (
            ("/findings?id=eq.1", "finding_events"),
            ("/schedules?id=eq.1", "inspection_plans"),
            ("/xrf_instruments?gun_id=eq.9", "xrf_limits"),
        ):
            query = f"/audit_log?select=id,row_key&relation=eq.{audited_table}&order=id"
            before = root("GET", query).json
            expect(root("DELETE", deleted_path).status == 204, deleted_path)
            entries = [row["row_key"] for row in root("GET", query).json[len(before) :]]
            expect(len(entries) > 2 and entries == sorted(entries), (deleted_path, entries))
    finally:
        instance.load(cast_world())


def write_of_one_client_changes_no_other(instance: ServiceInstance) -> None:
    """Under the lock of one client, a server refuses rows of another client and changes that decide rights."""
    if databases.SERVER is None:
        return
    for change in ("notes = 'x' WHERE id = 6", "inspector_id = 1 WHERE id = 4"):
        with instance.app.app_context(), suppress(BeyondClient):
            with database().writing(client_id=1) as transaction:
                transaction.roll_back_at_end()
                transaction.run(f"UPDATE inspections SET {change}")
            raise ProbeFailed(change)


def chosen_id_of_an_event_counts_as_used(instance: ServiceInstance) -> None:
    """An import sets ids. Later ids are larger."""
    values = f"(300000, 1, 'remark', '{NOW}', 1, '{NOW}', '{NOW}')"
    try:
        instance.direct_database.sql(f"INSERT INTO finding_events (id, {EVENT_COLUMNS}) VALUES {values}")
        expect(send(instance, "root", "POST", "/findings", NEW_FINDING).status == 201, NEW_FINDING)
        newest = send(instance, "root", "GET", "/finding_events?select=id&order=id.desc&limit=1").json
        expect(newest == [{"id": 300_001}], newest)
    finally:
        instance.load(cast_world())
