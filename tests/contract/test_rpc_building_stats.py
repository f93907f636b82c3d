"""get_building_stats: statistics of one visible building."""

from collections.abc import Callable

import pytest

from tests.support.functions import CHECK_BUILDING, EXPLAIN_BUILDING, STATS, VALID_CALLS, day, one_building


@pytest.mark.parametrize("who", ["root", "ada", "moe"])
def test_building_stats_count_all_inspections(api: Callable, who: str) -> None:
    body = api(who).rpc(STATS, {"building_id": 1}).json

    assert set(body) == {
        "building_id",
        "name",
        "total_inspections",
        "by_status",
        "by_type",
        "last_inspection",
        "next_inspection",
        "overdue",
        "completion_rate",
        "failure_rate",
        "lead",
    }
    assert (body["building_id"], body["name"], body["total_inspections"]) == (1, "Harbor House", 3)
    assert {k: v for k, v in body["by_status"].items() if v} == {"completed": 1, "failed": 1, "scheduled": 1}
    assert {k: v for k, v in body["by_type"].items() if v} == {"annual": 1, "lead": 1, "fire": 1}
    assert body["overdue"] == 1
    assert body["lead"] == {"readings": 2, "by_result": {"positive": 1, "negative": 1}}


def test_building_stats_count_readings_without_a_result(api: Callable) -> None:
    lead = api("max").rpc(STATS, {"building_id": 4}).json["lead"]

    assert lead["readings"] == 4 - 2
    assert lead["by_result"]["negative"] == 1


def test_building_stats_of_an_empty_building_are_zeros(api: Callable) -> None:
    body = api("ada").rpc(STATS, {"building_id": 6}).json

    assert (body["total_inspections"], body["overdue"]) == (0, 0)
    assert (body["last_inspection"], body["next_inspection"]) == (None, None)
    assert body["completion_rate"] in (0, None)
    assert body["failure_rate"] in (0, None)
    assert body["lead"] == {"readings": 0, "by_result": {}}


def test_building_stats_name_the_last_and_the_next_inspection(world: Callable) -> None:
    rows = one_building(("completed", day(-9)), ("completed", day(-3)), ("scheduled", day(4)))

    body = world(rows)("root").rpc(STATS, {"building_id": 1}).json

    assert (body["last_inspection"], body["next_inspection"]) == (day(-3), day(4))


def test_building_stats_rates_follow_completed_and_failed(world: Callable) -> None:
    done = world(one_building(("completed", day(-1))))("root").rpc(STATS, {"building_id": 1}).json
    failed = world(one_building(("failed", day(-1))))("root").rpc(STATS, {"building_id": 1}).json

    assert done["completion_rate"] == failed["failure_rate"] > 0
    assert (done["failure_rate"], failed["completion_rate"]) == (0, 0)


HIDDEN_FROM = [("moe", 2), ("moe", 4), ("ada", 4), ("bob", 1), ("bob", 2), ("mia", 1), ("max", 5)]


@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize(("who", "building"), HIDDEN_FROM)
def test_building_stats_of_hidden_and_missing_are_the_same_error(
    api: Callable, who: str, building: int, method: str
) -> None:
    hidden = api(who).rpc(STATS, {"building_id": building}, method=method)
    missing = api(who).rpc(STATS, {"building_id": 999}, method=method)

    assert (hidden.status, hidden.code) == (404, "PT404")
    assert hidden.whole == missing.whole


NOT_AN_ID = ["x", "", "1_000", "1.0", "１", 1.5, True, [], [1], {}, {"id": 1}]


@pytest.mark.parametrize("value", NOT_AN_ID, ids=repr)
@pytest.mark.parametrize("name", [STATS, CHECK_BUILDING, EXPLAIN_BUILDING])
def test_building_id_must_be_an_integer(api: Callable, name: str, value: object) -> None:
    parameter = "building_id" if name == STATS else "p_building_id"

    response = api("root").rpc(name, {**VALID_CALLS[name], parameter: value})

    assert (response.status, response.code) == (400, "22P02")


@pytest.mark.parametrize("value", [2**63, 10**30], ids=["2^63", "10^30"])
@pytest.mark.parametrize("name", [STATS, CHECK_BUILDING])
def test_building_id_beyond_64_bits_is_refused(api: Callable, name: str, value: int) -> None:
    parameter = "building_id" if name == STATS else "p_building_id"

    response = api("root").rpc(name, {**VALID_CALLS[name], parameter: value})

    assert (response.status, response.code) == (400, "22003")
