"""Filters never run on hidden values, whatever plan the database chooses.

A few visible rows stand among 1,500 hidden rows, and the database has statistics of them. A plan that starts with
hidden rows is therefore attractive.
"""

from dataclasses import replace

import pytest

from access.policy import AccessRule
from access.roles import GRANT_PROFILES, Role
from engine.query.read import expressions, plan
from models.types import canonical_json
from routes.postgrest.querystring import parse
from tests.safety.filter_spy import FilterSpy
from tests.safety.plan_caches import clear_plan_caches
from tests.safety.service_instances import ServiceInstance, make_request
from tests.safety.vocabulary import TEXT
from tests.support.frozen_rows import issued_report_row, notice_row
from tests.support.worlds import CREATED_AT, building_row, inspector_row, user_row

HIDDEN_BUILDINGS = 1_500
ADMIN = user_row(1, "client_admin", 1)
MANAGER = user_row(2, "client_manager", 1)
ROOT = user_row(0, "super_admin", None)


def mostly_hidden_world() -> dict:
    """Return a world with three rows of client 1 and 1,500 of client 2. Texts of client 2 begin with `secret`."""
    times = {"created_at": CREATED_AT, "updated_at": CREATED_AT}
    world: dict = {
        "clients": [{"id": n, "name": f"client {n}", **times} for n in (1, 2)],
        "users": [ROOT, ADMIN, MANAGER, *(hidden_user(n) for n in range(10, 60))],
        "inspectors": [],
        "buildings": [],
        "inspections": [],
        "reports_lead": [],
        "calibration_checks": [],
        "xrf_instruments": [],
        "xrf_limits": [],
        "lead_standards": [],
        "building_details": [],
        "schedules": [],
        "inspection_plans": [],
        "deadline_rules": [],
        "findings": [],
        "finding_events": [],
        "issued_reports": [],
        "notices": [],
        "client_admin_building_access": [],
        "client_admin_inspection_access": [],
        "client_manager_building_access": [grant("manager_id", "building_id", HIDDEN_BUILDINGS + 1)],
        "client_manager_inspection_access": [grant("manager_id", "inspection_id", HIDDEN_BUILDINGS + 2)],
    }
    for n in range(1, HIDDEN_BUILDINGS + 4):
        word, client_id = ("secret", 2) if n <= HIDDEN_BUILDINGS else ("open", 1)
        named = {"name": f"{word} {n}", "city": f"{word} {n}"}
        world["buildings"].append({**building_row(n, client_id), **named})
        world["inspectors"].append({**inspector_row(n), "name": f"{word} {n}", "email": f"{word}{n}@x.example"})
        world["inspections"].append(
            {
                "id": n,
                "building_id": n,
                "inspection_type": f"{word} {n}",
                "date_visited": f"20{n % 40 + 10}-01-01",
                "status": f"{word} {n}",
                "inspector_id": n,
                "notes": f"{word} {n}",
                **times,
            }
        )
        reading = {"id": n, "inspection_id": n, "gun_id": n, "result": f"{word} {n}", "method": "xrf"}
        reading |= {"time_is_by_order": False, "updated_at": CREATED_AT}
        world["reports_lead"].append(reading)
        if client_id == 1:
            continue  # a report keeps its visit, which a test deletes
        report, letter = issued_report_row(n, n, client_id), notice_row(n, n, client_id)
        content = canonical_json(report["content"])
        texts = dict.fromkeys(("number", "sha256", "signed_name", "withdrawn_note"), f"{word} {n}")
        world["issued_reports"].append({**report, **texts, "content": content})
        texts = dict.fromkeys(("number", "sha256", "to_name", "to_address"), f"{word} {n}")
        world["notices"].append({**letter, **texts, "content": content})
    return world


def hidden_user(number: int) -> dict:
    return {**user_row(number, "client_manager", 2), "name": f"secret user {number}"}


def grant(grantee: str, target: str, id_: int) -> dict:
    return {grantee: MANAGER["id"], target: id_, "assigned_by": None, "assigned_at": CREATED_AT}


QUERIES = (
    "/inspections?select=id&notes=ilike.*1*",
    "/inspections?select=id&notes=like.*1*&order=date_visited.desc&limit=5",
    "/inspections?select=id&notes=match.1&order=status",
    "/inspections?select=id&or=(notes.ilike.*1*,status.imatch.9)&date_visited=gte.2040-01-01",
    "/inspections?select=id&not.or=(notes.ilike.*1*,status.imatch.9)",
    "/inspections?select=id,reports_lead!inner(id)&reports_lead.result=ilike.*1*",
    "/inspections?select=id,reports_lead!inner(id)&reports_lead.result=match.1&order=date_visited",
    "/inspections?select=id,inspectors!inner(id)&inspectors.name=ilike.*1*",
    "/inspections?select=id,buildings!inner(id)&buildings.name=ilike.*1*",
    "/inspections?select=id,buildings(id)&buildings.name=ilike.*1*&buildings=is.null",
    "/inspections?select=id,buildings(name)&buildings.city=match.1&order=buildings(name).desc",
    "/inspections?select=count(),buildings(name)&buildings.city=match.1",
    "/inspections?select=inspection_type::int,id&limit=3&order=date_visited",
    "/inspections?select=notes::int.sum()",
    "/inspections?select=id,issued_reports!inner(id)&issued_reports.signed_name=ilike.*1*",
    "/issued_reports?select=id&number=ilike.*1*&sha256=match.1&order=signed_name",
    "/buildings?select=id,notices!inner(id)&notices.to_name=ilike.*1*",
    "/notices?select=id&number=ilike.*1*&to_address=match.1&order=to_name",
    "/buildings?select=id,inspections!inner(id)&inspections.notes=imatch.1",
    "/buildings?select=id,inspections!inner(reports_lead!inner(id))&inspections.reports_lead.result=ilike.*1*",
    "/buildings?select=id,inspections(id,notes::int)&name=ilike.*&order=city",
    "/buildings?select=id,clients!inner(id)&clients.name=match.1&name=like(any).{*1*,*2*}",
    "/reports_lead?select=id,inspections!inner(id)&inspections.notes=ilike.*1*&result=match.1",
    "/reports_lead?select=id,inspections!inner(buildings!inner(id))&inspections.buildings.name=ilike.*1*",
    "/inspectors?select=id,inspections!inner(id)&inspections.notes=ilike.*1*",
    "/inspectors?select=id&name=ilike(all).{*1*,*2*}&email=match.example&order=name",
    "/clients?select=id,buildings!inner(id)&buildings.name=ilike.*1*",
    "/clients?select=id,users!inner(id)&users.name=ilike.*1*",
    "/users?select=id,clients!inner(id)&name=ilike.*1*&email=match.user&order=name",
    "/users?select=id,buildings!client_manager_building_access!inner(id)&buildings.name=ilike.*1*",
    "/client_manager_building_access?select=building_id,buildings!inner(id)&buildings.name=ilike.*1*",
    "/client_manager_building_access?select=building_id,users!manager_id!inner(id)&users.name=match.e",
)


@pytest.fixture(scope="module")
def mostly_hidden_instance(instance: ServiceInstance) -> ServiceInstance:
    instance.load(mostly_hidden_world())
    instance.direct_database.sql("ANALYZE")
    return instance


@pytest.fixture(scope="module")
def spy(mostly_hidden_instance: ServiceInstance) -> FilterSpy:
    return FilterSpy.attach(mostly_hidden_instance.app, mostly_hidden_instance.direct_database)


def hidden_texts(instance: ServiceInstance, user: dict) -> set[str]:
    """Return every text that the user may not see. An admin sees all inspectors."""
    tables = ["buildings", "inspections", "reports_lead", "users"]
    tables += ["inspectors"] if user is MANAGER else []
    rows = [row for table in tables for row in instance.rows(table)]
    texts = {str(value).lower() for row in rows for c, value in row.items() if c in TEXT}
    own = {"secret"} if user is MANAGER else set()
    shown = set() if user is MANAGER else {
        str(value).lower() for row in instance.rows("inspectors") for value in row.values()
    }  # fmt: skip
    return {text for text in texts | own if text.startswith("secret")} - shown


@pytest.mark.parametrize("user", [ADMIN, MANAGER], ids=["admin", "manager"])
@pytest.mark.parametrize("query", QUERIES)
def test_read_filter_never_runs_on_hidden_rows(
    mostly_hidden_instance: ServiceInstance, spy: FilterSpy, query: str, user: dict
) -> None:
    spy.reset(hidden_texts(mostly_hidden_instance, user))

    for method, path in (("GET", query), ("GET", f"{query}&limit=1"), ("HEAD", query)):
        response = mostly_hidden_instance.send(user, make_request(method, path, prefer="count=exact"))
        assert response.status in (200, 206, 400), response

    assert not spy.hidden_values_seen


@pytest.mark.parametrize("user", [ADMIN, MANAGER], ids=["admin", "manager"])
@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_write_filter_never_runs_on_hidden_rows(
    mostly_hidden_instance: ServiceInstance, spy: FilterSpy, method: str, user: dict
) -> None:
    spy.reset(hidden_texts(mostly_hidden_instance, user))
    body = {"notes": "x"} if method == "PATCH" else None

    query = "/inspections?notes=ilike.*1*&status=match.2"
    response = mostly_hidden_instance.send(user, make_request(method, query, body, prefer="tx=rollback"))

    assert response.status == (204 if user is ADMIN else 403)
    assert not spy.hidden_values_seen
    assert spy.calls > 0 or user is MANAGER, "the spy recorded no call"


LEAKING_OPERATORS = [name for name, operator in expressions.OPERATORS.items() if not operator.leak_proof]


def statements_without_barrier(operation: str) -> list[str]:
    """Return the statements that evaluate a filter of the operator outside the rule's CASE."""
    rule = AccessRule(GRANT_PROFILES[Role.CLIENT_ADMIN, True, True])
    shape = parse(f"select=id&notes={operation}.x".encode()).shape
    made = plan.plan_read("sqlite", "inspections", shape, rule)
    return [each.sql for each in (made.rows, made.count) if "CASE WHEN" not in each.sql]


@pytest.mark.parametrize("operation", LEAKING_OPERATORS)
def test_leaking_filter_is_behind_the_rule(operation: str) -> None:
    assert not statements_without_barrier(operation)


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
@pytest.mark.parametrize("operation", LEAKING_OPERATORS)
def test_leaking_filter_of_implied_embed_is_behind_the_rule(operation: str, dialect: str) -> None:
    """Inspections of visible buildings are visible, but a plan may start with all inspections."""
    rule = AccessRule(GRANT_PROFILES[Role.CLIENT_ADMIN, True, True])
    query = f"select=id,inspections!inner(id)&inspections.notes={operation}.x"

    made = plan.plan_read(dialect, "buildings", parse(query.encode()).shape, rule)

    for each in (made.rows, made.count):
        assert "CASE WHEN" in each.sql
        condition = each.sql.partition("CASE WHEN")[2].partition(" THEN ")[0]
        assert "client_id" in condition


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
@pytest.mark.parametrize("operation", ["is.null", "not.is.null", "eq.x", "not.in.(x)"])
def test_json_path_filter_is_behind_the_rule(operation: str, dialect: str) -> None:
    """The time to read JSON grows with its length, whatever the operator."""
    rule = AccessRule(GRANT_PROFILES[Role.CLIENT_ADMIN, True, True])
    shape = parse(f"select=id&before->>name={operation}".encode()).shape

    made = plan.plan_read(dialect, "audit_log", shape, rule)

    for each in (made.rows, made.count):
        before, _, condition = each.sql.partition("CASE WHEN")
        assert "->" not in before
        assert "client_id" in condition.partition(" THEN ")[0]


def test_postgresql_checks_time_in_each_json_path_filter() -> None:
    filters = "".join(f"&before->>name{n}=is.null" for n in range(9))
    shape = parse(f"select=id{filters}".encode()).shape

    made = plan.plan_read("postgresql", "audit_log", shape, AccessRule(GRANT_PROFILES[Role.CLIENT_ADMIN, True, True]))

    assert made.rows.sql.count("pg_sleep") == 9


def test_missing_barrier_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: the barrier check fails without the barrier."""
    leak_proof_operators = {name: replace(each, leak_proof=True) for name, each in expressions.OPERATORS.items()}
    monkeypatch.setattr(expressions, "OPERATORS", leak_proof_operators)
    clear_plan_caches()

    assert all(statements_without_barrier(operation) for operation in LEAKING_OPERATORS)

    monkeypatch.undo()
    clear_plan_caches()


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize(("count", "has_check"), [(1, False), (8, False), (9, True), (99, True)])
def test_postgresql_checks_time_in_rows_with_many_pattern_filters(role: Role, count: int, has_check: bool) -> None:
    """Other queries have no check: a volatile condition prevents joins and causes a lookup per row."""
    filters = "".join(f"&buildings.name=like.{n}*" for n in range(count))
    shape = parse(f"select=id,buildings!inner(id){filters}".encode()).shape

    made = plan.plan_read("postgresql", "inspections", shape, AccessRule(GRANT_PROFILES[role, True, True]))

    for each in (made.rows, made.count):
        assert each.sql.count("pg_sleep") == each.sql.count(" LIKE ") * has_check >= count * has_check


def test_leak_proof_comparison_has_no_barrier() -> None:
    assert statements_without_barrier("eq"), "a leak-proof operator needs no barrier"
