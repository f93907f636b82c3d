"""Checks and explanations below the HTTP layer."""

import json
from collections.abc import Callable, Iterator

import pytest

from access import explain
from access.caller import SERVICE_CALLER, Caller
from access.explain import EVIDENCE, Explanation, Reason, UserNotReadable, alternatives_of
from access.roles import GRANT_PROFILES, Role
from engine.interface.database import Transaction
from engine.open import reading
from engine.query.statement import Binding
from models import Building, Inspection, User
from tests.conftest import ADA, BOB, DATASET, MAX, MIA, MOE, ROOT, UNKNOWN_USER_ID

CALLERS = {
    "root": Caller(ROOT, None, GRANT_PROFILES[Role.SUPER_ADMIN, False, False]),
    "service": SERVICE_CALLER,
    "ada": Caller(ADA, 1, GRANT_PROFILES[Role.CLIENT_ADMIN, True, False]),
    "bob": Caller(BOB, 2, GRANT_PROFILES[Role.CLIENT_ADMIN, False, True]),
    "moe": Caller(MOE, 1, GRANT_PROFILES[Role.CLIENT_MANAGER, True, True]),
    "mia": Caller(MIA, 1, GRANT_PROFILES[Role.CLIENT_MANAGER, False, False]),
}
RULES = {
    "super_admin",
    "client_ownership",
    "building_grant",
    "inspection_grant",
    "through_building",
    "own_visit",
    "has_own_visit",
}


@pytest.fixture
def snapshot(pristine: object) -> Iterator[Transaction]:
    with pristine.app_context(), reading() as transaction:
        yield transaction


@pytest.mark.parametrize("model", [Building, Inspection])
@pytest.mark.parametrize("role", Role)
def test_reasons_have_the_documented_names(role: Role, model: type) -> None:
    names = {explain.alternative_name(arm, role) for arm in alternatives_of(role, model)}

    assert names
    assert names <= RULES


@pytest.mark.parametrize("model", [Building, Inspection])
@pytest.mark.parametrize("role", Role)
def test_reason_of_every_grant_has_grantor_and_time(role: Role, model: type) -> None:
    for arm in alternatives_of(role, model):
        name = explain.alternative_name(arm, role)

        assert (arm in EVIDENCE) is ("grant" in name or name == "through_building")


PERMITTED = [
    *((who, user) for who in ("root", "service") for user in (ROOT, ADA, BOB, MOE, MIA, MAX)),
    ("ada", ADA),
    ("ada", MOE),
    ("ada", MIA),
    ("bob", MAX),
    ("moe", MOE),
    ("mia", MIA),
]


@pytest.mark.parametrize(("who", "user"), PERMITTED)
def test_caller_explains_only_users_they_can_read(snapshot: Transaction, who: str, user: str) -> None:
    assert explain.readable_user(snapshot, CALLERS[who], user).id == user


REFUSED = [
    ("root", UNKNOWN_USER_ID),
    ("service", UNKNOWN_USER_ID),
    ("ada", MAX),
    ("ada", BOB),
    ("ada", ROOT),
    ("ada", UNKNOWN_USER_ID),
    ("moe", MIA),
    ("moe", ADA),
    ("moe", UNKNOWN_USER_ID),
]


@pytest.mark.parametrize("row", [1, 4, 999])
@pytest.mark.parametrize(("who", "user"), REFUSED)
def test_hidden_and_unknown_users_are_refused_alike(snapshot: Transaction, who: str, user: str, row: int) -> None:
    for ask in (explain.is_readable, explain.explain):
        with pytest.raises(UserNotReadable) as refusal:
            ask(snapshot, CALLERS[who], Building, row, user)

        assert refusal.value.message == "permission denied to ask about this user"


@pytest.mark.parametrize("model", [Building, Inspection])
@pytest.mark.parametrize(("who", "user"), PERMITTED)
def test_explanation_agrees_with_the_check(snapshot: Transaction, who: str, user: str, model: type) -> None:
    for row in (*range(1, 10), 999, -1):
        explained = explain.explain(snapshot, CALLERS[who], model, row, user)

        assert explained.allowed is bool(explained.reasons)
        assert explained.allowed is explain.is_readable(snapshot, CALLERS[who], model, row, user)


def test_row_hidden_from_the_caller_is_explained_as_missing(snapshot: Transaction) -> None:
    hidden = explain.explain(snapshot, CALLERS["moe"], Building, 2, MOE)
    missing = explain.explain(snapshot, CALLERS["moe"], Building, 999, MOE)

    assert hidden == missing == Explanation(False, ())


def test_reasons_are_in_the_order_of_the_policy(snapshot: Transaction) -> None:
    found = explain.explain(snapshot, CALLERS["root"], Inspection, 1, ADA)

    assert found == Explanation(
        True, (Reason("client_ownership", None, None), Reason("through_building", ROOT, "2025-02-10T00:00:00+00:00"))
    )


def test_super_admin_reads_by_role(snapshot: Transaction) -> None:
    found = explain.explain(snapshot, SERVICE_CALLER, Building, 4, ROOT)

    assert found == Explanation(True, (Reason("super_admin", None, None),))


LISTING_CALLERS = ("root", "service", "ada", "bob", "moe", "mia")


@pytest.mark.parametrize("model", [Building, Inspection])
@pytest.mark.parametrize("who", LISTING_CALLERS)
def test_list_of_readers_agrees_with_the_explanations(snapshot: Transaction, who: str, model: type) -> None:
    caller = CALLERS[who]
    users = [user for user in (ROOT, ADA, BOB, MOE, MIA, MAX) if explain.can_read(snapshot, caller, User, user)]

    for row in (*range(1, 10), 999, -1):
        listed = explain.list_readers(snapshot, caller, model, row, 100)
        explained = {user: explain.explain(snapshot, caller, model, row, user) for user in users}

        assert {each.id: each.reasons for each in listed} == {
            user: each.reasons for user, each in explained.items() if each.allowed
        }


def test_list_of_readers_has_linked_inspectors(world: Callable) -> None:
    rows = json.loads(DATASET.read_text())
    rows["inspectors"][2]["user_id"] = MIA  # Uma, who has inspection 5 of building 3
    app = world(rows, "2026-03-10T12:00:00+00:00")("ada").database.own
    with app.app_context(), reading() as transaction:
        building, visit = (
            explain.list_readers(transaction, CALLERS["ada"], model, key, 100)
            for model, key in ((Building, 3), (Inspection, 5))
        )

    assert [(each.name, each.reasons) for each in building] == [
        ("Ada", (Reason("client_ownership", None, None),)),
        ("Mia", (Reason("has_own_visit", None, None),)),
    ]
    assert [each.reasons[0].rule for each in visit] == ["client_ownership", "own_visit"]


@pytest.mark.parametrize("model", [Building, Inspection])
def test_list_of_readers_is_bounded(snapshot: Transaction, model: type) -> None:
    every = explain.list_readers(snapshot, CALLERS["root"], model, 1, 100)

    assert len(every) > 2
    assert explain.list_readers(snapshot, CALLERS["root"], model, 1, 2) == every[:2]


@pytest.mark.sqlite("reads SQLite's plans")
@pytest.mark.parametrize("model", [Building, Inspection])
@pytest.mark.parametrize("role", Role)
def test_list_of_readers_searches_each_table_by_an_index(snapshot: Transaction, role: Role, model: type) -> None:
    caller = CALLERS["ada"]
    plan = explain.plan_readers.statement(snapshot.dialect.name, caller.rule, role, model)
    values = plan.bind(
        Binding(parameters=caller.parameters | {"row_id": 1, "visits_since": "2026-01-01", "users_max": 100})
    )

    steps = [row[-1] for row in snapshot.all(f"EXPLAIN QUERY PLAN {plan.sql}", values)]

    assert [each for each in steps if each.startswith("SCAN") and "t0" not in each] == []
