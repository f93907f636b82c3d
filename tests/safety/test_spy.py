"""Filters look at no hidden value, whatever plan the database chooses: a few visible rows among thousands of hidden
ones, with the database's own statistics of them, so that it has every reason to begin elsewhere.
"""

from dataclasses import replace

import pytest

from access.caller import GRANT_PROFILES, Role
from access.policy import AccessRule
from engine.query import operators
from engine.query.read import plan
from routes.postgrest.querystring import parse
from tests.safety.planted import forget_plans
from tests.safety.sites import Site, asking
from tests.safety.spies import Spy
from tests.safety.vocabulary import TEXT
from tests.support.worlds import CREATED_AT, building_row, user_row

HIDDEN = 1_500
ADMIN = user_row(1, "client_admin", 1)
MANAGER = user_row(2, "client_manager", 1)
ROOT = user_row(0, "super_admin", None)


def lopsided_world() -> dict:
    """Client 1 has three of everything, client 2 all the rest; all of client 2's texts begin with `secret`."""
    times = {"created_at": CREATED_AT, "updated_at": CREATED_AT}
    world: dict = {
        "clients": [{"id": n, "name": f"client {n}", **times} for n in (1, 2)],
        "users": [ROOT, ADMIN, MANAGER, *(hidden_user(n) for n in range(10, 60))],
        "inspectors": [],
        "buildings": [],
        "inspections": [],
        "reports_lead": [],
        "client_admin_building_access": [],
        "client_admin_inspection_access": [],
        "client_manager_building_access": [grant("manager_id", "building_id", HIDDEN + 1)],
        "client_manager_inspection_access": [grant("manager_id", "inspection_id", HIDDEN + 2)],
    }
    for n in range(1, HIDDEN + 4):
        word, client_id = ("secret", 2) if n <= HIDDEN else ("open", 1)
        named = {"name": f"{word} {n}", "city": f"{word} {n}"}
        world["buildings"].append({**building_row(n, client_id), **named})
        world["inspectors"].append({"id": n, "name": f"{word} {n}", "email": f"{word}{n}@x.example"})
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
        reading = {"id": n, "inspection_id": n, "gun_id": n, "result": f"{word} {n}"}
        world["reports_lead"].append(reading)
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
def lopsided(site: Site) -> Site:
    site.load(lopsided_world())
    site.side.sql("ANALYZE")
    return site


@pytest.fixture(scope="module")
def spy(lopsided: Site) -> Spy:
    return Spy.upon(lopsided.app, lopsided.side)


def secrets(site: Site, user: dict) -> set[str]:
    """Every text that the user may not see. An admin sees all inspectors."""
    tables = ["buildings", "inspections", "reports_lead", "users"]
    tables += ["inspectors"] if user is MANAGER else []
    rows = [row for table in tables for row in site.rows(table)]
    texts = {str(value).lower() for row in rows for c, value in row.items() if c in TEXT}
    own = {"secret"} if user is MANAGER else set()
    shown = set() if user is MANAGER else {
        str(value).lower() for row in site.rows("inspectors") for value in row.values()
    }  # fmt: skip
    return {text for text in texts | own if text.startswith("secret")} - shown


@pytest.mark.parametrize("user", [ADMIN, MANAGER], ids=["admin", "manager"])
@pytest.mark.parametrize("query", QUERIES)
def test_no_filter_is_run_on_a_hidden_row(lopsided: Site, spy: Spy, query: str, user: dict) -> None:
    spy.begin(secrets(lopsided, user))

    for method, path in (("GET", query), ("GET", f"{query}&limit=1"), ("HEAD", query)):
        answer = lopsided.send(user, asking(method, path, prefer="count=exact"))
        assert answer.status in (200, 206, 400), answer

    assert not spy.saw


@pytest.mark.parametrize("user", [ADMIN, MANAGER], ids=["admin", "manager"])
@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_no_filter_of_a_write_is_run_on_a_hidden_row(lopsided: Site, spy: Spy, method: str, user: dict) -> None:
    spy.begin(secrets(lopsided, user))
    body = {"notes": "x"} if method == "PATCH" else None

    query = "/inspections?notes=ilike.*1*&status=match.2"
    answer = lopsided.send(user, asking(method, query, body, prefer="tx=rollback"))

    assert answer.status == (204 if user is ADMIN else 403)
    assert not spy.saw
    assert spy.calls > 0 or user is MANAGER, "a spy that hears nothing proves nothing"


OPERATIONS = [name for name, operator in operators.OPERATORS.items() if not operator.leak_proof]


def unguarded(operation: str) -> list[str]:
    """The statements in which a filter of that operator stands bare beside the rule."""
    rule = AccessRule(GRANT_PROFILES[Role.CLIENT_ADMIN, True, True])
    shape = parse(f"select=id&notes={operation}.x".encode()).shape
    made = plan.plan_read("sqlite", "inspections", shape, rule)
    return [each.sql for each in (made.rows, made.count) if "CASE WHEN" not in each.sql]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_filter_that_tells_stands_behind_the_rule(operation: str) -> None:
    assert not unguarded(operation)


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_it_does_so_where_a_visible_row_implies_the_other(operation: str, dialect: str) -> None:
    """Inspections of visible buildings are visible; a database may begin with all inspections, though."""
    rule = AccessRule(GRANT_PROFILES[Role.CLIENT_ADMIN, True, True])
    query = f"select=id,inspections!inner(id)&inspections.notes={operation}.x"

    made = plan.plan_read(dialect, "buildings", parse(query.encode()).shape, rule)

    for each in (made.rows, made.count):
        assert "CASE WHEN" in each.sql
        behind = each.sql.partition("CASE WHEN")[2].partition(" THEN ")[0]
        assert "client_id" in behind


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
@pytest.mark.parametrize("said", ["is.null", "not.is.null", "eq.x", "not.in.(x)"])
def test_what_looks_into_json_stands_behind_the_rule(said: str, dialect: str) -> None:
    """To read it takes the longer the more there is of it, whatever is asked of it then."""
    rule = AccessRule(GRANT_PROFILES[Role.CLIENT_ADMIN, True, True])
    shape = parse(f"select=id&before->>name={said}".encode()).shape

    made = plan.plan_read(dialect, "audit_log", shape, rule)

    for each in (made.rows, made.count):
        before, _, behind = each.sql.partition("CASE WHEN")
        assert "->" not in before
        assert "client_id" in behind.partition(" THEN ")[0]


def test_a_server_looks_at_the_clock_within_a_row_of_much_json() -> None:
    filters = "".join(f"&before->>name{n}=is.null" for n in range(9))
    shape = parse(f"select=id{filters}".encode()).shape

    made = plan.plan_read("postgresql", "audit_log", shape, AccessRule(GRANT_PROFILES[Role.CLIENT_ADMIN, True, True]))

    assert made.rows.sql.count("pg_sleep") == 9


def test_without_the_barrier_it_would_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the check above is one that can fail."""
    bare = {name: replace(each, leak_proof=True) for name, each in operators.OPERATORS.items()}
    monkeypatch.setattr(operators, "OPERATORS", bare)
    forget_plans()

    assert all(unguarded(operation) for operation in OPERATIONS)

    monkeypatch.undo()
    forget_plans()


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize(("count", "looks"), [(1, False), (8, False), (9, True), (99, True)])
def test_a_server_looks_at_the_clock_within_a_row_that_takes_long(role: Role, count: int, looks: bool) -> None:
    """And within no other: what is volatile cannot be joined, and is looked up row by row."""
    filters = "".join(f"&buildings.name=like.{n}*" for n in range(count))
    shape = parse(f"select=id,buildings!inner(id){filters}".encode()).shape

    made = plan.plan_read("postgresql", "inspections", shape, AccessRule(GRANT_PROFILES[role, True, True]))

    for each in (made.rows, made.count):
        assert each.sql.count("pg_sleep") == each.sql.count(" LIKE ") * looks >= count * looks


def test_comparisons_keep_their_index() -> None:
    assert unguarded("eq"), "a leak-proof operator needs no barrier"
