"""Probes of writes: cascades of grants, and checks of the caller."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from access.policy import AccessRule
from access.roles import GRANT_PROFILES, Role
from engine.query.read import expressions, plan
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
from tests.safety.probes_of_audit import (
    SEQUENCED_ROWS,
    audit_log_is_complete,
    cascaded_entries_are_in_key_order,
    cascades_of_domain_rules_are_in_key_order,
    chosen_id_of_an_event_counts_as_used,
    deleted_user_leaves_events,
    ids_are_immutable,
    ids_are_never_reused,
    ids_of_findings_are_never_reused,
    write_of_one_client_changes_no_other,
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


def keys_end_with_their_creator(instance: ServiceInstance) -> None:
    """Delete a user who created an API key and a display for another user. Only the display stays."""
    insert = """INSERT INTO tokens (id, use, user_id, name, digest, read_only, created_at, created_by)
        VALUES (?, ?, ?, 'A', ?, 0, 1, ?)"""
    keys = {use: f"{number:08}-0000-4000-8000-000000000000" for number, use in enumerate(("api_key", "display"))}
    try:
        for use, key in keys.items():
            instance.direct_database.sql(insert, (key, use, MOE, key, ADA))
        response = send(instance, "root", "DELETE", f"/users?id=eq.{ADA}", prefer="return=minimal")
        expect(response.status == 204, response)
        rest = instance.direct_database.sql("SELECT use, created_by FROM tokens")
        expect([tuple(row) for row in rest] == [("display", None)], rest)
    finally:
        instance.load(cast_world())


def closing_follows_the_status(instance: ServiceInstance) -> None:
    """A closing names who gave a visit its result, and goes when the visit is open again."""
    new = {"id": 70, "building_id": 1, "inspection_type": "x", "status": "failed"}
    try:
        response = send(instance, "root", "POST", "/inspections", new, prefer="return=minimal")
        expect(response.status == 201, response)
        expect(closers(instance, 70) == [ROOT], "a new visit")
        for who, status, expected in (("ada", "scheduled", []), ("ada", "failed", [ADA]), ("root", "failed", [ADA])):
            response = send(instance, who, "PATCH", "/inspections?id=eq.70", {"status": status})
            expect(response.status == 204, response)
            expect(closers(instance, 70) == expected, (who, status))
    finally:
        instance.load(cast_world())


def closers(instance: ServiceInstance, visit: int) -> list[str | None]:
    rows = instance.direct_database.sql("SELECT closed_by FROM visit_closings WHERE inspection_id = ?", (visit,))
    return [user if user is None else str(user) for (user,) in rows]


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
    for name, operator in expressions.OPERATORS.items():
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
FINDING_COLUMNS = "inspection_id, case_id, description, severity, found_at, client_id, created_at, updated_at"
EVENT_COLUMNS = "finding_id, kind, at, client_id, created_at, updated_at"


def schema_keeps_client_of_parent(instance: ServiceInstance) -> None:
    """The schema refuses a reading, plan, finding or event whose client differs from its parent's client."""
    for statement in (
        "INSERT INTO reports_lead (inspection_id, client_id, updated_at) VALUES (2, 2, '2026-01-01T00:00:00+00:00')",
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


OTHER_PROBES = [
    Probe(
        "cascades of domain rules are in key order",
        frozenset(("cascade", "findings", "schedules", "xrf")),
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
    Probe("a write of one client changes no other", frozenset(("audit",)), write_of_one_client_changes_no_other),
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
    Probe("keys end with their creator", frozenset(("cascade", "users")), keys_end_with_their_creator),
    Probe("a closing follows the status", frozenset(("cascade", "inspections")), closing_follows_the_status),
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
            "reports_lead",
            {"id": 99, "inspection_id": 8, "client_id": 2, "updated_at": "2025-01-01T00:00:00+00:00"},
            "ada",
            "DELETE",
            "/reports_lead?id=eq.99",
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
