"""The three assignment functions: atomic, audited, with uniform errors."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from tests.conftest import ADA, BOB, MAX, MIA, MOE, ROOT, UNKNOWN_USER_ID, dump, ids
from tests.support.functions import TO_ADMIN_BUILDINGS, TO_ADMIN_INSPECTIONS, TO_MANAGER, VALID_CALLS


def grants(api: Callable, table: str, grantee: str) -> list[dict]:
    column = "admin_id" if "admin" in table else "manager_id"
    return api("root").get(f"/{table}?{column}=eq.{grantee}").json


def to_manager(manager: str, buildings: object, inspections: object) -> dict:
    return {"manager_id": manager, "building_ids": buildings, "inspection_ids": inspections}


def test_buildings_are_assigned_to_a_client_admin(api: Callable) -> None:
    response = api("root").rpc(TO_ADMIN_BUILDINGS, {"admin_id": ADA, "building_ids": [1, 2, 4]})

    assert response.json == {"success": True, "assigned": 2, "already_assigned": 1}
    assert ids(api("ada").get("/buildings?select=id")) == {1, 2, 3, 4, 5, 6}


def test_inspections_are_assigned_to_a_client_admin(api: Callable) -> None:
    response = api("root").rpc(TO_ADMIN_INSPECTIONS, {"admin_id": BOB, "inspection_ids": [3, 9]})

    assert response.json == {"success": True, "assigned": 1, "already_assigned": 1}
    assert ids(api("bob").get("/inspections?select=id")) == {3, 6, 7, 8, 9}
    assert ids(api("bob").get("/buildings?select=id")) == {4, 5}


@pytest.mark.parametrize("who", ["root", "ada", "service"])
def test_buildings_and_inspections_are_assigned_to_a_manager(api: Callable, who: str) -> None:
    response = api(who).rpc(TO_MANAGER, to_manager(MOE, [1, 2], [3, 5]))

    assert response.json == {"success": True, "assigned_buildings": 1, "assigned_inspections": 1, "already_assigned": 2}
    assert ids(api("moe").get("/buildings?select=id")) == {1, 2}
    assert ids(api("moe").get("/inspections?select=id")) == {1, 2, 3, 4, 5, 9}


def test_super_admin_assigns_to_a_manager_across_clients(api: Callable) -> None:
    response = api("root").rpc(TO_MANAGER, to_manager(MIA, [4], [8]))

    assert response.json["assigned_buildings"] == response.json["assigned_inspections"] == 1
    assert ids(api("mia").get("/inspections?select=id")) == {6, 7, 8}


@pytest.mark.parametrize(("who", "grantor"), [("root", ROOT), ("ada", ADA), ("service", None)])
def test_assignment_records_its_caller(api: Callable, who: str, grantor: str | None) -> None:
    start = datetime.now(UTC)

    api(who).rpc(TO_MANAGER, to_manager(MIA, [2], [5]))

    for table in ("client_manager_building_access", "client_manager_inspection_access"):
        [grant] = grants(api, table, MIA)
        assert grant["assigned_by"] == grantor
        assert abs(datetime.fromisoformat(grant["assigned_at"]) - start) < timedelta(seconds=60)


def test_repeated_assignment_keeps_grantor_and_time(api: Callable) -> None:
    before = dump(api)

    response = api("root").rpc(TO_MANAGER, to_manager(MOE, [1], [3]))

    assert response.json == {"success": True, "assigned_buildings": 0, "assigned_inspections": 0, "already_assigned": 2}
    assert dump(api) == before
    [grant] = grants(api, "client_manager_building_access", MOE)
    assert (grant["assigned_by"], grant["assigned_at"]) == (ADA, "2025-02-12T00:00:00+00:00")


def test_repeated_admin_assignment_keeps_grantor_and_time(api: Callable) -> None:
    api("service").rpc(TO_ADMIN_BUILDINGS, {"admin_id": ADA, "building_ids": [1, 4]})
    first = grants(api, "client_admin_building_access", ADA)

    response = api("root").rpc(TO_ADMIN_BUILDINGS, {"admin_id": ADA, "building_ids": [4, 1]})

    assert response.json == {"success": True, "assigned": 0, "already_assigned": 2}
    assert grants(api, "client_admin_building_access", ADA) == first


def test_duplicate_ids_are_accepted(api: Callable) -> None:
    response = api("root").rpc(TO_ADMIN_BUILDINGS, {"admin_id": BOB, "building_ids": [1, 1, 1]})

    assert response.json == {"success": True, "assigned": 1, "already_assigned": 0}
    assert len(grants(api, "client_admin_building_access", BOB)) == 1


def test_empty_arrays_assign_nothing(api: Callable) -> None:
    before = dump(api)

    to_admin = api("root").rpc(TO_ADMIN_BUILDINGS, {"admin_id": ADA, "building_ids": []})
    of_ada = api("ada").rpc(TO_MANAGER, to_manager(MIA, [], []))

    assert to_admin.json == {"success": True, "assigned": 0, "already_assigned": 0}
    assert of_ada.json == {"success": True, "assigned_buildings": 0, "assigned_inspections": 0, "already_assigned": 0}
    assert dump(api) == before


# id, who, function, arguments
WITHOUT_THE_RIGHT = [
    ("ada-buildings-to-admin", "ada", TO_ADMIN_BUILDINGS, {"admin_id": ADA, "building_ids": [2]}),
    ("ada-inspections-to-admin", "ada", TO_ADMIN_INSPECTIONS, {"admin_id": ADA, "inspection_ids": [2]}),
    ("moe-buildings-to-admin", "moe", TO_ADMIN_BUILDINGS, {"admin_id": ADA, "building_ids": [1]}),
    ("moe-inspections-to-admin", "moe", TO_ADMIN_INSPECTIONS, {"admin_id": ADA, "inspection_ids": [1]}),
    ("moe-to-himself", "moe", TO_MANAGER, to_manager(MOE, [1], [])),
    ("max-to-moe", "max", TO_MANAGER, to_manager(MOE, [4], [])),
    ("moe-nothing", "moe", TO_MANAGER, to_manager(MOE, [], [])),
    ("ada-nothing-to-admin", "ada", TO_ADMIN_BUILDINGS, {"admin_id": ADA, "building_ids": []}),
]


@pytest.mark.parametrize(
    ("who", "name", "arguments"), [line[1:] for line in WITHOUT_THE_RIGHT], ids=[line[0] for line in WITHOUT_THE_RIGHT]
)
def test_assigning_without_the_right_is_refused(unchanging_api: Callable, who: str, name: str, arguments: dict) -> None:
    before = dump(unchanging_api)

    response = unchanging_api(who).rpc(name, arguments)

    assert (response.status, response.code) == (403, "42501")
    assert dump(unchanging_api) == before


# id, who, function, arguments: all or nothing, and no id in the answer
OUT_OF_REACH = [
    ("missing-building", "root", TO_ADMIN_BUILDINGS, {"admin_id": ADA, "building_ids": [2, 987]}),
    ("missing-inspection", "root", TO_ADMIN_INSPECTIONS, {"admin_id": ADA, "inspection_ids": [1, 987]}),
    ("missing-to-manager", "root", TO_MANAGER, to_manager(MIA, [2, 987], [5])),
    ("missing-inspection-to-manager", "root", TO_MANAGER, to_manager(MIA, [2], [5, 987])),
    ("ada-other-clients-building", "ada", TO_MANAGER, to_manager(MIA, [2, 4], [])),
    ("ada-readable-building", "ada", TO_MANAGER, to_manager(MIA, [2, 5], [])),
    ("ada-missing-building", "ada", TO_MANAGER, to_manager(MIA, [2, 987], [])),
    ("ada-other-clients-inspection", "ada", TO_MANAGER, to_manager(MIA, [2], [6])),
    ("ada-readable-inspection", "ada", TO_MANAGER, to_manager(MIA, [2], [8])),
    ("bob-granted-inspection", "bob", TO_MANAGER, to_manager(MAX, [5], [3])),
    ("negative", "root", TO_ADMIN_BUILDINGS, {"admin_id": ADA, "building_ids": [-1]}),
]


@pytest.mark.parametrize(
    ("who", "name", "arguments"), [line[1:] for line in OUT_OF_REACH], ids=[line[0] for line in OUT_OF_REACH]
)
def test_one_invisible_id_assigns_nothing(unchanging_api: Callable, who: str, name: str, arguments: dict) -> None:
    before = dump(unchanging_api)

    response = unchanging_api(who).rpc(name, arguments)

    assert (response.status, response.code) == (403, "42501")
    assert "987" not in response.text
    assert dump(unchanging_api) == before


def test_hidden_and_missing_ids_give_the_same_error(unchanging_api: Callable) -> None:
    answers = [
        unchanging_api("ada").rpc(TO_MANAGER, to_manager(MIA, buildings, inspections)).whole
        for buildings, inspections in (([4], []), ([5], []), ([999], []), ([1, 999], []))
    ]

    assert answers == [answers[0]] * 4


# id, who, function, arguments without the grantee, the grantees that are none
NO_GRANTEE = [
    (
        "root-admin-buildings",
        "root",
        TO_ADMIN_BUILDINGS,
        "admin_id",
        {"building_ids": [1]},
        (MOE, ROOT, UNKNOWN_USER_ID),
    ),
    (
        "root-admin-inspections",
        "root",
        TO_ADMIN_INSPECTIONS,
        "admin_id",
        {"inspection_ids": [1]},
        (MAX, ROOT, UNKNOWN_USER_ID),
    ),
    (
        "root-manager",
        "root",
        TO_MANAGER,
        "manager_id",
        {"building_ids": [1], "inspection_ids": []},
        (ADA, ROOT, UNKNOWN_USER_ID),
    ),
    (
        "ada-manager",
        "ada",
        TO_MANAGER,
        "manager_id",
        {"building_ids": [1], "inspection_ids": []},
        (ADA, BOB, MAX, ROOT, UNKNOWN_USER_ID),
    ),
    (
        "ada-manager-nothing",
        "ada",
        TO_MANAGER,
        "manager_id",
        {"building_ids": [], "inspection_ids": []},
        (ADA, BOB, MAX, ROOT, UNKNOWN_USER_ID),
    ),
]


@pytest.mark.parametrize(
    ("who", "name", "parameter", "arguments", "grantees"),
    [line[1:] for line in NO_GRANTEE],
    ids=[line[0] for line in NO_GRANTEE],
)
def test_invalid_grantees_give_the_same_error(
    unchanging_api: Callable, who: str, name: str, parameter: str, arguments: dict, grantees: tuple
) -> None:
    before = dump(unchanging_api)

    answers = [unchanging_api(who).rpc(name, {parameter: grantee, **arguments}) for grantee in grantees]

    assert [(answer.status, answer.code) for answer in answers] == [(400, "23514")] * len(grantees)
    assert {answer.text for answer in answers} == {answers[0].text}
    assert dump(unchanging_api) == before


NOT_IDS = [None, {}, "x", "1", 5, True, [1.5], ["x"], [None], [True], [[1]], [{}]]


@pytest.mark.parametrize("value", NOT_IDS, ids=repr)
@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        (TO_ADMIN_BUILDINGS, "building_ids"),
        (TO_ADMIN_INSPECTIONS, "inspection_ids"),
        (TO_MANAGER, "building_ids"),
        (TO_MANAGER, "inspection_ids"),
    ],
)
def test_array_of_invalid_ids_is_refused(unchanging_api: Callable, name: str, parameter: str, value: object) -> None:
    if name == TO_MANAGER and value is None:
        pytest.skip("null means an absent optional array")
    response = unchanging_api("root").rpc(name, {**VALID_CALLS[name], parameter: value})

    assert (response.status, response.code) == (400, "22P02")


@pytest.mark.parametrize("value", [None, 5, "x", "", {}, [], f"urn:uuid:{ADA}"], ids=repr)
@pytest.mark.parametrize(
    ("name", "parameter"),
    [(TO_ADMIN_BUILDINGS, "admin_id"), (TO_ADMIN_INSPECTIONS, "admin_id"), (TO_MANAGER, "manager_id")],
)
def test_grantee_must_be_a_uuid(unchanging_api: Callable, name: str, parameter: str, value: object) -> None:
    response = unchanging_api("root").rpc(name, {**VALID_CALLS[name], parameter: value})

    assert (response.status, response.code) == (400, "22P02")


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        (TO_ADMIN_BUILDINGS, "building_ids"),
        (TO_ADMIN_INSPECTIONS, "inspection_ids"),
        (TO_MANAGER, "building_ids"),
        (TO_MANAGER, "inspection_ids"),
    ],
)
def test_ids_are_limited_to_1000(api: Callable, name: str, parameter: str) -> None:
    at_the_bound = api("root").rpc(name, {**VALID_CALLS[name], parameter: [2] * 1000})
    before = dump(api)

    beyond = api("root").rpc(name, {**VALID_CALLS[name], parameter: [3] * 1001})

    assert at_the_bound.status == 200
    assert beyond.status == 400
    assert "1000" in beyond.message.replace(",", "")
    assert dump(api) == before
