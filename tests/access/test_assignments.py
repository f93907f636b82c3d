"""Assignments of many grants in one transaction, below the HTTP layer."""

from collections.abc import Callable, Iterator

import pytest

from access import assignments
from access.assignments import AssignmentCounts, InvalidGrantee, TargetOutOfScope
from access.caller import SERVICE_CALLER, Caller
from access.roles import GRANT_PROFILES, GrantKind, Role
from engine.interface.database import Transaction
from engine.open import writing
from tests.conftest import ADA, BOB, MAX, MIA, MOE, ROOT, UNKNOWN_USER_ID

CALLERS = {
    "root": Caller(ROOT, None, GRANT_PROFILES[Role.SUPER_ADMIN, False, False]),
    "service": SERVICE_CALLER,
    "ada": Caller(ADA, 1, GRANT_PROFILES[Role.CLIENT_ADMIN, True, False]),
    "bob": Caller(BOB, 2, GRANT_PROFILES[Role.CLIENT_ADMIN, False, True]),
}


@pytest.fixture
def transaction(database: object) -> Iterator[Transaction]:
    """One write transaction over a copy of the data set."""
    with database.app_for("POST", "/").app_context(), writing() as transaction:
        yield transaction


def grants(transaction: Transaction, table: str, grantee: str) -> dict[int, tuple]:
    """Return target -> (grantor, time) of the grants of a user in a table."""
    kind, target = (
        ("admin_id" if "admin" in table else "manager_id"),
        ("building_id" if "building" in table else "inspection_id"),
    )
    rows = transaction.all(f"SELECT {target}, assigned_by, assigned_at FROM {table} WHERE {kind} = '{grantee}'")
    return {row[0]: (row[1], row[2]) for row in rows}


@pytest.mark.parametrize(("who", "grantor"), [("root", ROOT), ("service", None), ("ada", ADA)])
def test_grants_record_the_caller_and_the_time(transaction: Transaction, who: str, grantor: str | None) -> None:
    made = assignments.assign_to_client_manager(transaction, CALLERS[who], MIA, [1, 2], [5])

    assert made == (AssignmentCounts(2, 0), AssignmentCounts(1, 0))
    assert grants(transaction, "client_manager_building_access", MIA) == {
        1: (grantor, transaction.now),
        2: (grantor, transaction.now),
    }
    assert grants(transaction, "client_manager_inspection_access", MIA) == {5: (grantor, transaction.now)}


def test_existing_grants_keep_their_grantor_and_time(transaction: Transaction) -> None:
    before = grants(transaction, "client_admin_building_access", ADA)

    made = assignments.assign_to_client_admin(transaction, SERVICE_CALLER, ADA, GrantKind.BUILDING, [5, 4, 1, 4])

    assert made == AssignmentCounts(1, 2)
    after = grants(transaction, "client_admin_building_access", ADA)
    assert after == {**before, 4: (None, transaction.now)}


def test_repeated_ids_are_granted_once(transaction: Transaction) -> None:
    made = assignments.assign_to_client_admin(
        transaction, SERVICE_CALLER, BOB, GrantKind.INSPECTION, [1, 2] * (assignments.IDS_MAX // 2)
    )

    assert made == AssignmentCounts(2, 0)


@pytest.mark.parametrize(
    ("who", "grantee"),
    [
        ("root", ADA),
        ("root", ROOT),
        ("root", UNKNOWN_USER_ID),
        ("ada", MAX),
        ("ada", ADA),
        ("ada", BOB),
        ("ada", ROOT),
        ("ada", UNKNOWN_USER_ID),
        ("bob", MOE),
    ],
)
@pytest.mark.parametrize("building_ids", [[], [1], [999]], ids=repr)
def test_grantee_is_checked_before_the_ids(
    transaction: Transaction, who: str, grantee: str, building_ids: list[int]
) -> None:
    with pytest.raises(InvalidGrantee) as refusal:
        assignments.assign_to_client_manager(transaction, CALLERS[who], grantee, building_ids, [])

    assert refusal.value.message == "The grantee is not a client_manager"


# who, buildings, inspections: one of them is hidden or missing
OUT_OF_SCOPE = [
    ("root", [1, 999], []),
    ("root", [], [1, 999]),
    ("service", [0], []),
    ("ada", [4], []),
    ("ada", [5], []),
    ("ada", [2, 999], []),
    ("ada", [], [6]),
    ("ada", [], [8]),
    ("ada", [1], [999]),
]


@pytest.mark.parametrize(("who", "building_ids", "inspection_ids"), OUT_OF_SCOPE)
def test_ids_out_of_scope_share_one_error_text(
    transaction: Transaction, who: str, building_ids: list[int], inspection_ids: list[int]
) -> None:
    with pytest.raises(TargetOutOfScope) as refusal:
        assignments.assign_to_client_manager(transaction, CALLERS[who], MIA, building_ids, inspection_ids)

    kind = "inspection" if inspection_ids else "building"
    assert refusal.value.message == f"permission denied to assign every {kind} of the list"
    assert refusal.value.details is refusal.value.hint is None
    transaction.roll_back_at_end()


def test_existing_grant_out_of_scope_is_refused_like_a_missing_one(transaction: Transaction) -> None:
    assignments.assign_to_client_manager(transaction, SERVICE_CALLER, MOE, [4], [])
    refusals = []

    for building_id in (4, 5, 999):
        with pytest.raises(TargetOutOfScope) as refusal:
            assignments.assign_to_client_manager(transaction, CALLERS["ada"], MOE, [building_id], [])
        refusals.append(refusal.value.message)

    assert len(set(refusals)) == 1


def test_refused_assignment_writes_nothing(api: Callable) -> None:
    before = api("root").get("/client_manager_building_access").json

    refused = api("root").rpc(
        "assign_to_client_manager", {"manager_id": MIA, "building_ids": [1, 2], "inspection_ids": [1, 999]}
    )

    assert refused.refusal == (
        403, "42501", "permission denied to assign every inspection of the list",
    )  # fmt: skip
    assert api("root").get("/client_manager_building_access").json == before
