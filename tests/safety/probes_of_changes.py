"""Probes of writes: their cascades, their caller checks, and their audit entries."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from access.policy import AccessRule
from access.roles import GRANT_PROFILES, Role
from engine.query.read import operators, plan
from routes import resource
from routes.functions import rpc
from routes.postgrest.querystring import parse
from tests.conftest import ADA, BOB, MAX, MIA, MOE, ROOT, UNKNOWN_USER_ID
from tests.safety.database_access import NOW
from tests.safety.probe import (
    ADM_BUILDING,
    ADM_INSPECTION,
    MGR_BUILDING,
    MGR_INSPECTION,
    ROLLBACK_PREFERENCE,
    USERS,
    Probe,
    ProbeFailed,
    cast_world,
    expect,
    send,
)
from tests.safety.service_instances import ServiceInstance, make_request
from tests.support import oracle


def grants_after_write(method: str, path: str, body: dict, remaining_grants: dict[str, set]) -> Probe:
    """Return a probe that writes as root and compares the remaining grants."""

    def run(instance: ServiceInstance) -> None:
        try:
            response = send(instance, "root", method, path, body)
            expect(response.status == 204, response)
            for table, expected in remaining_grants.items():
                keys = {oracle.key_of(table, row) for row in instance.rows(table)}
                expect(keys == expected, (table, keys))
        finally:
            instance.load(cast_world())

    return Probe(f"root {method} {path} {body}", frozenset(("cascade", path[1:].split("?")[0])), run)


GRANT_CASCADE_PROBES = [
    grants_after_write("PATCH", "/buildings?id=eq.1", {"client_id": 2}, {
        MGR_BUILDING: {(MAX, 4)}, ADM_BUILDING: {(ADA, 5)}, MGR_INSPECTION: {(MOE, 3)}}),
    grants_after_write("PATCH", "/buildings?id=eq.2", {"client_id": 2}, {
        MGR_INSPECTION: set(), ADM_INSPECTION: {(BOB, 3)}}),
    grants_after_write("PATCH", "/inspections?id=eq.3", {"building_id": 4}, {
        MGR_INSPECTION: set(), ADM_INSPECTION: {(BOB, 3)}}),
    grants_after_write("PATCH", f"/users?id=eq.{MOE}", {"client_id": 2}, {
        MGR_BUILDING: {(MAX, 4)}, MGR_INSPECTION: set()}),
]  # fmt: skip


def token_of_moved_user_is_refused(instance: ServiceInstance) -> None:
    """Move a user to another client and back. The claims of the token are true again, but it stays revoked."""
    try:
        for client_id in (2, 1):
            send(instance, "root", "PATCH", f"/users?id=eq.{MOE}", {"client_id": client_id})
        expect(send(instance, "moe", "GET", "/buildings").status == 401, "the token of a moved user is accepted")
    finally:
        instance.load(cast_world())


def token_of_recreated_user_is_refused(instance: ServiceInstance) -> None:
    """Delete a user and create another with the same id. The old token stays revoked."""
    person = {**USERS[MOE], "email": "another@acme.example"}
    try:
        for method, path, body in (("DELETE", f"/users?id=eq.{MOE}", None), ("POST", "/users", person)):
            response = send(instance, "root", method, path, body, prefer="return=minimal")
            expect(response.status in (201, 204), response)
        expect(send(instance, "moe", "GET", "/buildings").status == 401, "the token of a recreated user is accepted")
    finally:
        instance.load(cast_world())


def link_to_inspector_ends(change: Callable[[ServiceInstance], None], instance: ServiceInstance) -> None:
    """Another role and a deactivation end the link of a user to an inspector."""
    try:
        instance.direct_database.sql("UPDATE inspectors SET user_id = ? WHERE id = 1", (MIA,))
        change(instance)
        [row] = [row for row in instance.rows("inspectors") if row["id"] == 1]
        expect(row["user_id"] is None, row)
    finally:
        instance.load(cast_world())


def another_role(instance: ServiceInstance) -> None:
    send(instance, "root", "PATCH", f"/users?id=eq.{MIA}", {"role": "client_admin"})


def deactivation(instance: ServiceInstance) -> None:
    send(instance, "root", "PUT", f"/auth/v1/admin/users/{MIA}", {"ban_duration": "876000h"})


def cascaded_grants_are_audited(instance: ServiceInstance) -> None:
    """Grants that a user's deletion removes have audit entries of the user's client."""
    instance.load(cast_world())
    instance.known_audit_entries.clear()
    try:
        response = send(instance, "ada", "DELETE", f"/users?id=eq.{MOE}", prefer="return=minimal")
        expect(response.status == 204, response)
        query = f"/audit_log?select=relation,row_key&action=eq.delete&row_key=like.{MOE},*"
        entries = send(instance, "ada", "GET", query).json
        expect(len(entries) == 2, entries)
    finally:
        instance.load(cast_world())


def claims_are_compared_with_user(instance: ServiceInstance) -> None:
    """Tokens with a wrong client or role, or of a missing user, get 401."""
    for changes in ({"client_id": 2}, {"role": "client_admin"}, {"id": UNKNOWN_USER_ID}):
        response = instance.send({**USERS[MOE], **changes}, make_request("GET", "/buildings"))
        expect(response.status == 401, response)


def unauthenticated_write_shows_no_other_error(instance: ServiceInstance) -> None:
    """An invalid token gets 401 for every write, even if the write has other errors."""
    for changes in ({"client_id": 2}, {"id": UNKNOWN_USER_ID}):
        for method, path, body in (
            ("POST", "/buildings", {"nope": 1}),
            ("POST", "/buildings", []),
            ("POST", "/clients", {"name": "New"}),
            ("PATCH", "/buildings?id=eq.1", {}),
            ("PATCH", "/buildings", {"name": "New"}),
            ("PUT", "/buildings?id=eq.1", {"id": 2}),
            ("DELETE", "/buildings", None),
        ):
            response = instance.send({**USERS[MOE], **changes}, make_request(method, path, body))
            expect(response.status == 401, response)


def caller_is_reloaded_each_request(instance: ServiceInstance) -> None:
    """A change of the caller's role in the database takes effect in the next request."""
    try:
        expect(send(instance, "moe", "GET", "/buildings").status == 200, "a valid token is refused")
        instance.direct_database.sql("UPDATE users SET role = 'client_admin' WHERE id = ?", (MOE,))
        expect(send(instance, "moe", "GET", "/buildings").status == 401, "the caller's former role is used")
    finally:
        instance.load(cast_world())


CountRows = Callable[[ServiceInstance, str], int]


def totals_differ_by_caller(count_rows: CountRows, instance: ServiceInstance) -> None:
    """Each caller gets their own total, even directly after another caller's request.

    Max and Mia hold grants of the same kind: only their ids distinguish their statements.
    """
    grant = {"manager_id": MIA, "building_id": 1}
    try:
        response = send(instance, "ada", "POST", "/client_manager_building_access", grant)
        expect(response.status == 201, response)
        found = [count_rows(instance, who) for who in ("root", "ada", "bob", "moe", "max", "mia")]
        expect(found == [9, 7, 4, 4, 2, 3], found)
    finally:
        instance.load(cast_world())


def totals_follow_writes(count_rows: CountRows, instance: ServiceInstance) -> None:
    """Totals change with writes and grants from one request to the next."""
    table, grant_filter = "/client_manager_building_access", f"manager_id=eq.{MIA}"
    grant = {"manager_id": MIA, "building_id": 1}
    steps = [
        ("POST", "/inspections", {"building_id": 1, "inspection_type": "x"}, 1, 0),
        ("POST", table, grant, 0, 4),
        ("DELETE", f"{table}?{grant_filter}", None, 0, -4),
        ("DELETE", "/inspections?inspection_type=eq.x", None, -1, 0),
    ]
    try:
        before = [count_rows(instance, who) for who in ("ada", "mia")]
        for method, path, body, *differences in steps:
            response = send(instance, "ada", method, path, body, prefer="return=minimal")
            expect(response.status in (201, 204), response)
            before = [sum(pair) for pair in zip(before, differences, strict=True)]
            expect([count_rows(instance, who) for who in ("ada", "mia")] == before, path)
    finally:
        instance.load(cast_world())


def exact_count(instance: ServiceInstance, who: str) -> int:
    response = send(instance, who, "HEAD", "/inspections", prefer="count=exact")
    return int(response.header("content-range").split("/")[1])


def list_length(instance: ServiceInstance, who: str) -> int:
    return len(send(instance, who, "GET", "/inspections?select=id&order=date_visited").json)


def caller_is_rechecked_in_write(
    module: object, method: str, path: str, body: dict
) -> Callable[[ServiceInstance], None]:
    """Demote Ada while her write waits for the writer lock. The write gets 401."""

    def run(instance: ServiceInstance) -> None:
        writing = module.writing

        @contextmanager
        def delayed(*arguments: object, **named: object) -> Iterator[object]:
            demote = "UPDATE users SET role = 'client_manager' WHERE id = ?"
            instance.direct_database.sql(demote, (ADA,))
            with writing(*arguments, **named) as transaction:
                yield transaction

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "writing", delayed)
            try:
                response = send(instance, "ada", method, path, body)
                expect(response.status == 401, response)
            finally:
                instance.load(cast_world())

    return run


def leaking_filters_are_behind_rule(instance: ServiceInstance) -> None:
    """Filters with side channels are behind the rule in rows and count."""
    rule = AccessRule(GRANT_PROFILES[Role.CLIENT_ADMIN, True, True])
    dialect = instance.app.extensions["walkthrough"].dialect.name
    for name, operator in operators.OPERATORS.items():
        shape = parse(f"select=id&notes={name}.x".encode()).shape
        made = plan.plan_read(dialect, "inspections", shape, rule)
        is_behind_rule = all("CASE WHEN" in statement.sql for statement in (made.rows, made.count))
        leaks = name in ("like", "ilike", "match", "imatch")
        expect(is_behind_rule == leaks == (not operator.leak_proof), made.rows.sql)


def last_super_admin_cannot_be_banned(instance: ServiceInstance) -> None:
    """The sign-in API refuses to ban the last super admin."""
    try:
        path = f"/auth/v1/admin/users/{ROOT}"
        refused = send(instance, "root", "PUT", path, {"ban_duration": "876000h"})
        expect(refused.status >= 400, refused)
        instance.direct_database.sql("INSERT INTO credentials (user_id) VALUES (?)", (ROOT,))
        refused = send(instance, "root", "PUT", path, {"ban_duration": "876000h"})
        expect(refused.status >= 400, refused)
    finally:
        instance.load(cast_world())


def unreachable_row(table: str, row: dict, who: str, method: str, path: str) -> Callable[[ServiceInstance], None]:
    """No request matches a row that only an old file or a grant can contain."""

    def run(instance: ServiceInstance) -> None:
        try:
            instance.direct_database.plant(table, row)
            response = send(instance, who, method, path, prefer=ROLLBACK_PREFERENCE)
            expect(response.status == 200 and response.json == [], response)
        finally:
            instance.load(cast_world())

    return run


def schema_keeps_last_super_admin_enabled(instance: ServiceInstance) -> None:
    """The schema refuses to disable the last super admin."""
    far_future = 2**40
    for statement in (
        "INSERT INTO credentials (user_id, disabled_until) VALUES (:id, :far)",
        "INSERT INTO credentials (user_id) VALUES (:id)",
        "UPDATE credentials SET disabled_until = :far WHERE user_id = :id",
    ):
        refused = False
        try:
            instance.direct_database.sql(statement, {"id": ROOT, "far": far_future})
        except instance.direct_database.constraint_errors:
            refused = True
        expect(refused == ("far" in statement), statement)
    instance.load(cast_world())


PLAN_COLUMNS = "inspection_id, case_id, client_id, created_at, updated_at"
FINDING_COLUMNS = "inspection_id, case_id, description, severity, due_at, client_id, created_at, updated_at"
EVENT_COLUMNS = "finding_id, kind, at, client_id, created_at, updated_at"


def schema_keeps_client_of_parent(instance: ServiceInstance) -> None:
    """The schema refuses a reading, plan, finding or event whose client differs from its parent's client."""
    for statement in (
        "INSERT INTO reports_lead (inspection_id, client_id) VALUES (2, 2)",
        "UPDATE reports_lead SET inspection_id = 6 WHERE id = 1",
        "UPDATE reports_lead SET client_id = 2 WHERE id = 1",
        f"INSERT INTO inspection_plans ({PLAN_COLUMNS}) VALUES (1, 1, 2, '{NOW}', '{NOW}')",
        "UPDATE inspection_plans SET client_id = 2 WHERE inspection_id = 2",
        f"INSERT INTO findings ({FINDING_COLUMNS}) VALUES (1, 1, 'T', 'low', '{NOW}', 2, '{NOW}', '{NOW}')",
        "UPDATE findings SET client_id = 2 WHERE id = 1",
        f"INSERT INTO finding_events ({EVENT_COLUMNS}) VALUES (1, 'remark', '{NOW}', 2, '{NOW}', '{NOW}')",
        "UPDATE finding_events SET client_id = 2 WHERE id = 1",
    ):
        try:
            instance.direct_database.sql(statement)
        except instance.direct_database.constraint_errors:
            continue
        finally:
            instance.load(cast_world())
        raise ProbeFailed(statement)


NEW_USER = {"email": "t@t.example", "name": "T", "role": "client_manager", "client_id": 1}
# One write of each kind to each table by root, and its audit entries: relation, action, client_id.
NEW_SCHEDULE = {"building_id": 2, "inspection_type": "t", "every": 1, "unit": "year", "first_due": "2025-07-01"}
NEW_FINDING = {"inspection_id": 6, "description": "T", "severity": "low"}
OF_BUILDING_1 = ("inspections", "reports_lead", "schedules", "inspection_plans", "findings", "finding_events")
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
            for who in (MAX, MIA, MOE):
                for table, column, id_ in ((MGR_INSPECTION, "inspection_id", 2), (MGR_BUILDING, "building_id", 6)):
                    row = {"manager_id": who, column: id_}
                    root("POST", f"/{table}", row, prefer="resolution=ignore-duplicates")
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
    """The same for the events of a finding and the plans of a schedule."""
    root, sql = partial(send, instance, "root"), instance.direct_database.sql
    try:
        for id_ in range(300_006, 300_000, -1):  # the last id is the first row of the table
            values = f"({id_}, 1, 'remark', '{NOW}', 1, '{NOW}', '{NOW}')"
            sql(f"INSERT INTO finding_events (id, {EVENT_COLUMNS}) VALUES {values}")
        sql("DELETE FROM finding_events WHERE id = 1")
        for inspection_id in (8, 6):
            sql(f"UPDATE inspection_plans SET schedule_id = 1 WHERE inspection_id = {inspection_id}")
        sql("UPDATE inspection_plans SET occurrence = 1 WHERE inspection_id = 2")
        for deleted_path, audited_table in (
            ("/findings?id=eq.1", "finding_events"),
            ("/schedules?id=eq.1", "inspection_plans"),
        ):
            query = f"/audit_log?select=id,row_key&relation=eq.{audited_table}&order=id"
            before = root("GET", query).json
            expect(root("DELETE", deleted_path).status == 204, deleted_path)
            entries = [row["row_key"] for row in root("GET", query).json[len(before) :]]
            expect(len(entries) > 2 and entries == sorted(entries), (deleted_path, entries))
    finally:
        instance.load(cast_world())


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


OTHER_PROBES = [
    Probe(
        "cascades of domain rules are in key order",
        frozenset(("cascade", "findings", "schedules")),
        cascades_of_domain_rules_are_in_key_order,
    ),
    Probe("a chosen id of an event counts", frozenset(("cascade", "finding")), chosen_id_of_an_event_counts_as_used),
    Probe(
        "cascaded audit entries are in key order",
        frozenset(("cascade", "inspections", "buildings", "inspectors")),
        cascaded_entries_are_in_key_order,
    ),
    Probe("ids are never reused", frozenset(("cascade", *SEQUENCED_ROWS)), ids_are_never_reused),
    Probe("ids of findings are never reused", frozenset(("cascade", "findings")), ids_of_findings_are_never_reused),
    Probe("a deleted user leaves events", frozenset(("audit", "finding_events")), deleted_user_leaves_events),
    Probe("ids are immutable", frozenset(("cascade", "users", "clients")), ids_are_immutable),
    Probe("the audit log is complete", frozenset(("audit_log", "audit")), audit_log_is_complete),
    Probe("a moved user's token is refused", frozenset(("cascade", "users")), token_of_moved_user_is_refused),
    Probe(
        "a recreated user's old token is refused", frozenset(("cascade", "users")), token_of_recreated_user_is_refused
    ),
    Probe(
        "another role ends the link to an inspector",
        frozenset(("cascade", "users")),
        partial(link_to_inspector_ends, another_role),
    ),
    Probe(
        "a deactivation ends the link to an inspector",
        frozenset(("cascade", "credentials")),
        partial(link_to_inspector_ends, deactivation),
    ),
    Probe("cascaded grants are audited", frozenset(("cascade", "users")), cascaded_grants_are_audited),
    Probe("token claims are compared with the user", frozenset(("session",)), claims_are_compared_with_user),
    Probe("an invalid token gets no other error", frozenset(("session",)), unauthenticated_write_shows_no_other_error),
    Probe("the caller is reloaded for each request", frozenset(("session",)), caller_is_reloaded_each_request),
    Probe("counts differ by caller", frozenset(("counts",)), partial(totals_differ_by_caller, exact_count)),
    Probe("counts follow writes", frozenset(("counts",)), partial(totals_follow_writes, exact_count)),
    Probe("lists differ by caller", frozenset(("lists",)), partial(totals_differ_by_caller, list_length)),
    Probe("lists follow writes", frozenset(("lists",)), partial(totals_follow_writes, list_length)),
    Probe(
        "a write rechecks its caller",
        frozenset(("session", "recheck")),
        caller_is_rechecked_in_write(resource, "PATCH", "/buildings?id=eq.1", {"units": 1}),
    ),
    Probe(
        "a function call rechecks its caller",
        frozenset(("session", "recheck")),
        caller_is_rechecked_in_write(
            rpc, "POST", "/rpc/assign_to_client_manager", {"manager_id": MIA, "building_ids": [1], "inspection_ids": []}
        ),
    ),
    Probe("leaking filters are behind the rule", frozenset(("barrier",)), leaking_filters_are_behind_rule),
    Probe("the last super admin cannot be banned", frozenset(("last",)), last_super_admin_cannot_be_banned),
    Probe("the schema keeps the last super admin enabled", frozenset(("last",)), schema_keeps_last_super_admin_enabled),
    Probe("the schema keeps a reading's client", frozenset(("reports",)), schema_keeps_client_of_parent),
    Probe(
        "a reading that a grant shows is not writable",
        frozenset(("reports_lead", "write", "ada")),
        unreachable_row(
            "reports_lead", {"id": 99, "inspection_id": 8, "client_id": 2}, "ada", "DELETE", "/reports_lead?id=eq.99"
        ),
    ),
    *[
        Probe(
            f"{method} {table} excludes a grantee with another role (G14)",
            frozenset((table, "read" if method == "GET" else "write", "ada")),
            unreachable_row(
                table,
                {"manager_id": ADA, oracle.KEYS[table][1]: 2, "assigned_at": "2025-01-01T00:00:00+00:00"},
                "ada",
                method,
                f"/{table}?{oracle.KEYS[table][1]}=eq.2",
            ),
        )
        for table in (MGR_BUILDING, MGR_INSPECTION)
        for method in ("GET", "DELETE")
    ],
]
