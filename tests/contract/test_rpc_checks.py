"""The two check functions and the two explain functions: permitted callers and results."""

import json
from collections.abc import Callable

import pytest

from tests.conftest import ADA, BOB, MAX, MIA, MOE, ROOT, UNKNOWN_USER_ID
from tests.support.functions import (
    CHECK_BUILDING,
    CHECK_INSPECTION,
    EXPLAIN_BUILDING,
    EXPLAIN_INSPECTION,
    FUNCTIONS_WITH_USER_ID,
    VALID_CALLS,
)

PERMITTED = [
    ("moe", MOE),
    ("mia", MIA),
    ("max", MAX),
    ("ada", ADA),
    ("ada", MOE),
    ("ada", MIA),
    ("bob", BOB),
    ("bob", MAX),
    *(("root", user) for user in (ROOT, ADA, BOB, MOE, MIA, MAX)),
    *(("service", user) for user in (ROOT, ADA, BOB, MOE, MIA, MAX)),
]
REFUSED = [
    ("moe", MIA),
    ("moe", ADA),
    ("moe", ROOT),
    ("moe", MAX),
    ("max", MOE),
    ("ada", BOB),
    ("ada", MAX),
    ("ada", ROOT),
    ("bob", ADA),
    ("bob", MOE),
]


@pytest.mark.parametrize("name", FUNCTIONS_WITH_USER_ID)
@pytest.mark.parametrize(("who", "about"), PERMITTED)
def test_caller_may_ask_about_own_users(api: Callable, who: str, about: str, name: str) -> None:
    response = api(who).rpc(name, {**VALID_CALLS[name], "p_user_id": about})

    assert response.status == 200


@pytest.mark.parametrize("name", FUNCTIONS_WITH_USER_ID)
@pytest.mark.parametrize(("who", "about"), REFUSED)
def test_foreign_and_unknown_users_give_the_same_error(api: Callable, who: str, about: str, name: str) -> None:
    about_them = api(who).rpc(name, {**VALID_CALLS[name], "p_user_id": about})
    about_no_one = api(who).rpc(name, {**VALID_CALLS[name], "p_user_id": UNKNOWN_USER_ID})

    assert (about_them.status, about_them.code) == (403, "42501")
    assert about_them.whole == about_no_one.whole


@pytest.mark.parametrize("name", FUNCTIONS_WITH_USER_ID)
def test_foreign_user_is_refused_before_the_row_is_read(api: Callable, name: str) -> None:
    row = "p_building_id" if "building" in name else "p_inspection_id"
    answers = [api("moe").rpc(name, {row: id_, "p_user_id": MIA}).whole for id_ in (1, 2, 4, 999)]

    assert answers == [answers[0]] * 4


@pytest.mark.parametrize("value", ["x", "", 5, None, True, [], {}, f"urn:uuid:{MOE}"], ids=repr)
@pytest.mark.parametrize("name", FUNCTIONS_WITH_USER_ID)
def test_user_id_must_be_a_uuid(api: Callable, name: str, value: object) -> None:
    response = api("root").rpc(name, {**VALID_CALLS[name], "p_user_id": value})

    assert (response.status, response.code) == (400, "22P02")


# who asks, about whom, building, answer
BUILDING_CHECKS = [
    ("ada", ADA, 1, True),
    ("ada", ADA, 5, True),
    ("ada", ADA, 4, False),
    ("ada", ADA, 999, False),
    ("ada", MOE, 1, True),
    ("ada", MOE, 2, False),
    ("ada", MIA, 1, False),
    ("moe", MOE, 1, True),
    ("moe", MOE, 2, False),
    ("bob", BOB, 4, True),
    ("bob", BOB, 1, False),
    ("bob", MAX, 4, True),
    ("bob", MAX, 5, False),
    ("root", ROOT, 1, True),
    ("root", ROOT, 999, False),
    ("root", MAX, 4, True),
    ("root", MAX, 1, False),
    ("service", MOE, 1, True),
]


@pytest.mark.parametrize(("who", "about", "building", "answer"), BUILDING_CHECKS)
def test_check_building_access(api: Callable, who: str, about: str, building: int, answer: bool) -> None:
    asked = {"p_building_id": building, "p_user_id": about}

    response = api(who).rpc(CHECK_BUILDING, asked)

    assert (response.status, response.text.strip()) == (200, json.dumps(answer))
    assert api(who).rpc(EXPLAIN_BUILDING, asked).json["allowed"] is answer


# who asks, about whom, inspection, answer
INSPECTION_CHECKS = [
    ("ada", ADA, 3, True),
    ("ada", ADA, 8, True),
    ("ada", ADA, 6, False),
    ("ada", MOE, 3, True),
    ("ada", MOE, 4, False),
    ("moe", MOE, 1, True),
    ("moe", MOE, 3, True),
    ("moe", MOE, 4, False),
    ("bob", BOB, 3, True),
    ("bob", BOB, 4, False),
    ("bob", MAX, 6, True),
    ("bob", MAX, 3, False),
    ("root", BOB, 3, True),
    ("root", MAX, 8, False),
    ("root", ROOT, 999, False),
]


@pytest.mark.parametrize(("who", "about", "inspection", "answer"), INSPECTION_CHECKS)
def test_check_inspection_access(api: Callable, who: str, about: str, inspection: int, answer: bool) -> None:
    asked = {"p_inspection_id": inspection, "p_user_id": about}

    response = api(who).rpc(CHECK_INSPECTION, asked)

    assert (response.status, response.text.strip()) == (200, json.dumps(answer))
    assert api(who).rpc(EXPLAIN_INSPECTION, asked).json["allowed"] is answer


def test_hidden_row_is_not_explained(api: Callable) -> None:
    api("root").post("/client_manager_building_access", {"manager_id": MOE, "building_id": 4})
    asked = {"p_building_id": 4, "p_user_id": MOE}

    assert api("root").rpc(CHECK_BUILDING, asked).json is True
    assert api("moe").rpc(CHECK_BUILDING, asked).json is True
    assert api("ada").rpc(CHECK_BUILDING, asked).json is False
    assert api("ada").rpc(EXPLAIN_BUILDING, asked).json == {"allowed": False, "reasons": []}


def test_inspections_of_hidden_building_are_not_explained(api: Callable) -> None:
    api("root").post("/client_manager_building_access", {"manager_id": MOE, "building_id": 4})
    asked = {"p_inspection_id": 6, "p_user_id": MOE}

    assert api("root").rpc(CHECK_INSPECTION, asked).json is True
    assert api("ada").rpc(CHECK_INSPECTION, asked).json is False
    assert api("ada").rpc(EXPLAIN_INSPECTION, asked).json == {"allowed": False, "reasons": []}


# about whom, building: the rules that let them, each with its grantor and time where it is a grant
BUILDING_REASONS = [
    ("root", ROOT, 1, {("super_admin", None, None)}),
    ("ada", ADA, 1, {("client_ownership", None, None), ("building_grant", ROOT, "2025-02-10T00:00:00+00:00")}),
    ("ada", ADA, 2, {("client_ownership", None, None)}),
    ("ada", ADA, 5, {("building_grant", ROOT, "2025-02-11T00:00:00+00:00")}),
    ("moe", MOE, 1, {("building_grant", ADA, "2025-02-12T00:00:00+00:00")}),
    ("moe", MOE, 2, set()),
    ("max", MAX, 4, {("building_grant", BOB, "2025-02-12T00:00:00+00:00")}),
]


@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize(("who", "about", "building", "reasons"), BUILDING_REASONS)
def test_explain_building_access(api: Callable, who: str, about: str, building: int, reasons: set, method: str) -> None:
    body = api(who).rpc(EXPLAIN_BUILDING, {"p_building_id": building, "p_user_id": about}, method=method).json

    assert set(body) == {"allowed", "reasons"}
    assert body["allowed"] is bool(reasons)
    assert {(r["rule"], r["granted_by"], r["granted_at"]) for r in body["reasons"]} == reasons
    assert len(body["reasons"]) == len(reasons)


# about whom, inspection: the rules that let them
INSPECTION_REASONS = [
    ("root", ROOT, 1, {"super_admin"}),
    ("ada", ADA, 1, {"client_ownership", "through_building"}),
    ("ada", ADA, 3, {"client_ownership"}),
    ("ada", ADA, 8, {"through_building"}),
    ("ada", ADA, 6, set()),
    ("bob", BOB, 3, {"inspection_grant"}),
    ("moe", MOE, 1, {"through_building"}),
    ("moe", MOE, 3, {"inspection_grant"}),
    ("moe", MOE, 4, set()),
    ("max", MAX, 7, {"through_building"}),
]


@pytest.mark.parametrize(("who", "about", "inspection", "reasons"), INSPECTION_REASONS)
def test_explain_inspection_access(api: Callable, who: str, about: str, inspection: int, reasons: set) -> None:
    body = api(who).rpc(EXPLAIN_INSPECTION, {"p_inspection_id": inspection, "p_user_id": about}).json

    assert body["allowed"] is bool(reasons)
    assert {reason["rule"] for reason in body["reasons"]} == reasons
    assert all(set(r) == {"rule", "granted_by", "granted_at"} for r in body["reasons"])


def test_explain_grant_has_grantor_and_time(api: Callable) -> None:
    body = api("moe").rpc(EXPLAIN_INSPECTION, {"p_inspection_id": 3, "p_user_id": MOE}).json

    assert body["reasons"] == [
        {"rule": "inspection_grant", "granted_by": ADA, "granted_at": "2025-02-13T00:00:00+00:00"}
    ]


def test_two_grants_are_two_reasons(api: Callable) -> None:
    api("root").post("/client_manager_inspection_access", {"manager_id": MOE, "inspection_id": 1})

    body = api("moe").rpc(EXPLAIN_INSPECTION, {"p_inspection_id": 1, "p_user_id": MOE}).json

    assert {reason["rule"] for reason in body["reasons"]} == {"inspection_grant", "through_building"}
