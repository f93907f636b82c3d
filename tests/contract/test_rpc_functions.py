"""Behaviour shared by the functions under /rpc."""

from collections.abc import Callable

import pytest

from tests.conftest import ADA, BOB, MIA, MOE, dump
from tests.support.functions import (
    CHART,
    CHECK_BUILDING,
    CHECK_INSPECTION,
    DASHBOARD,
    EXPLAIN_BUILDING,
    EXPLAIN_INSPECTION,
    STABLE,
    STATS,
    TO_ADMIN_BUILDINGS,
    TO_ADMIN_INSPECTIONS,
    TO_MANAGER,
    VALID_CALLS,
    VERIFY_REPORT,
    VOLATILE,
    result_of,
    with_or_without_prefix,
)

# ── all of them ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", VALID_CALLS)
def test_super_admin_can_call_each_function(api: Callable, name: str) -> None:
    response = api("root").rpc(name, VALID_CALLS[name])

    assert response.status == 200
    assert response.headers["Content-Type"].startswith("application/json")


@pytest.mark.parametrize("name", VALID_CALLS)
def test_supabase_path_calls_the_same_function(api: Callable, name: str) -> None:
    response = api("root").post(f"/rest/v1/rpc/{name}", VALID_CALLS[name])

    assert response.status == 200


@pytest.mark.parametrize("p", [True, False], ids=["with-p", "without-p"])
@pytest.mark.parametrize("name", VALID_CALLS)
def test_both_spellings_are_accepted(api: Callable, name: str, p: bool) -> None:
    as_documented = api("root").rpc(name, VALID_CALLS[name], prefer="tx=rollback")

    response = api("root").rpc(name, with_or_without_prefix(VALID_CALLS[name], p), prefer="tx=rollback")

    assert response.status == 200
    assert result_of(response) == result_of(as_documented)


@pytest.mark.parametrize("name", [name for name in VALID_CALLS if name != DASHBOARD])
def test_both_spellings_with_one_value_are_accepted(api: Callable, name: str) -> None:
    arguments = {**with_or_without_prefix(VALID_CALLS[name], True), **with_or_without_prefix(VALID_CALLS[name], False)}

    assert api("root").rpc(name, arguments).status == 200


OTHER_VALUES = [
    (CHART, "start_date", "2024-01-01"),
    (STATS, "building_id", 2),
    (TO_ADMIN_BUILDINGS, "admin_id", BOB),
    (TO_ADMIN_BUILDINGS, "building_ids", [3]),
    (TO_ADMIN_INSPECTIONS, "inspection_ids", [3]),
    (TO_MANAGER, "manager_id", MOE),
    (TO_MANAGER, "building_ids", []),
    (CHECK_BUILDING, "building_id", 2),
    (CHECK_BUILDING, "user_id", MIA),
    (CHECK_INSPECTION, "inspection_id", 2),
    (EXPLAIN_BUILDING, "user_id", MIA),
    (EXPLAIN_INSPECTION, "inspection_id", 2),
]


@pytest.mark.parametrize(
    ("name", "parameter", "other"), OTHER_VALUES, ids=[f"{name}-{parameter}" for name, parameter, _ in OTHER_VALUES]
)
def test_both_spellings_with_different_values_are_refused(
    unchanging_api: Callable, name: str, parameter: str, other: object
) -> None:
    arguments = {**with_or_without_prefix(VALID_CALLS[name], False), f"p_{parameter}": other}
    before = dump(unchanging_api)

    response = unchanging_api("root").rpc(name, arguments)

    assert response.status == 400
    assert set(response.json) == {"code", "message", "details", "hint"}
    assert dump(unchanging_api) == before


@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize("name", STABLE)
def test_unknown_parameter_finds_no_function(api: Callable, name: str, method: str) -> None:
    response = api("root").rpc(name, {**VALID_CALLS[name], "nope": 1}, method=method)

    assert (response.status, response.code) == (404, "PGRST202")


@pytest.mark.parametrize("name", VOLATILE)
def test_unknown_parameter_assigns_nothing(unchanging_api: Callable, name: str) -> None:
    before = dump(unchanging_api)

    response = unchanging_api("root").rpc(name, {**VALID_CALLS[name], "nope": 1})

    assert (response.status, response.code) == (404, "PGRST202")
    assert dump(unchanging_api) == before


OPTIONAL = [
    ("assign_to_client_manager", "building_ids"),
    ("assign_to_client_manager", "inspection_ids"),
    ("import_csv", "p_defaults"),
    ("import_csv", "p_dry_run"),
    ("issue_notice", "p_to_name"),
    ("issue_notice", "p_to_address"),
    (VERIFY_REPORT, "p_number"),
]
REQUIRED = [
    (name, parameter)
    for name in VALID_CALLS
    for parameter in VALID_CALLS[name]
    if name not in (DASHBOARD, CHART) and (name, parameter) not in OPTIONAL
]


@pytest.mark.parametrize(("name", "parameter"), REQUIRED, ids=["-".join(pair) for pair in REQUIRED])
def test_missing_parameter_finds_no_function(unchanging_api: Callable, name: str, parameter: str) -> None:
    arguments = {key: value for key, value in VALID_CALLS[name].items() if key != parameter}

    response = unchanging_api("root").rpc(name, arguments)

    assert (response.status, response.code) == (404, "PGRST202")


@pytest.mark.parametrize("name", [name for name in STABLE if VALID_CALLS[name] and name not in (CHART, VERIFY_REPORT)])
def test_missing_parameter_by_get_finds_no_function(api: Callable, name: str) -> None:
    response = api("root").rpc(name, {}, method="GET")

    assert (response.status, response.code) == (404, "PGRST202")


@pytest.mark.parametrize("name", STABLE)
def test_get_equals_post(api: Callable, name: str) -> None:
    by_get = api("root").rpc(name, VALID_CALLS[name], method="GET")

    assert by_get.status == 200
    assert result_of(by_get) == result_of(api("root").rpc(name, VALID_CALLS[name]))


@pytest.mark.parametrize("who", ["root", "ada", "moe", "nobody"])
@pytest.mark.parametrize("name", VOLATILE)
def test_assigning_by_get_is_refused(api: Callable, name: str, who: str) -> None:
    response = api(who).rpc(name, {"admin_id": ADA}, method="GET")

    assert (response.status, response.code) in ((405, "PGRST101"), (401, "42501"))
    assert who == "nobody" or response.status == 405


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("name", VALID_CALLS)
def test_only_post_and_get_call(unchanging_api: Callable, name: str, method: str) -> None:
    before = dump(unchanging_api)

    response = unchanging_api("root").rpc(name, VALID_CALLS[name], method=method)

    assert (response.status, response.code) == (405, "PGRST101")
    assert dump(unchanging_api) == before


@pytest.mark.parametrize("name", VALID_CALLS)
def test_anonymous_calls_are_refused(unchanging_api: Callable, name: str) -> None:
    response = unchanging_api("nobody").rpc(name, VALID_CALLS[name])

    assert (response.status, response.code) == (401, "42501")


@pytest.mark.parametrize("query", ["select=total_inspections", "order=id", "limit=1", "offset=0", "limit=1&offset=5"])
@pytest.mark.parametrize("name", STABLE)
def test_reserved_parameters_are_ignored(api: Callable, name: str, query: str) -> None:
    arguments = "&".join(f"{key}={value}" for key, value in VALID_CALLS[name].items())

    assert api("root").get(f"/rpc/{name}?{arguments}&{query}").status == 200


@pytest.mark.parametrize("body", ["{", "[]", "5", '"x"', "[null]", "[1]"], ids=lambda body: f"body-{body}")
def test_body_must_be_an_object(api: Callable, body: str) -> None:
    response = api("root").post(f"/rpc/{STATS}", body)

    assert (response.status, response.code) == (400, "PGRST102")


@pytest.mark.parametrize(
    "name",
    [
        "__init__",
        "pg_sleep",
        "login",
        "get_building_stats_",
        "check_building_access",
        "GET_BUILDING_STATS",
        "buildings",
    ],
)
def test_unknown_function_is_not_found(api: Callable, name: str) -> None:
    response = api("root").rpc(name)

    assert (response.status, response.code) == (404, "PGRST202")
