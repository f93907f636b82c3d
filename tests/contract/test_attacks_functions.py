"""Attack catalogue, group G: functions. Marks name the entries."""

from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.access.test_attacks_grants import TO_MANAGERS
from tests.conftest import ADA, MAX, MIA, MOE, UNKNOWN_USER_ID, dump, ids

ASSIGN = "assign_to_client_manager"


def assign(manager: str, buildings: object = (), inspections: object = ()) -> dict:
    def listed(value: object) -> object:
        return list(value) if isinstance(value, tuple) else value

    return {"manager_id": manager, "building_ids": listed(buildings), "inspection_ids": listed(inspections)}


@pytest.mark.parametrize(
    ("who", "name", "arguments"),
    [
        ("ada", ASSIGN, assign(MOE, (4,))),
        ("ada", ASSIGN, assign(MOE, (5,))),
        ("ada", ASSIGN, assign(MOE, (999,))),
        ("ada", ASSIGN, assign(MOE, (2, 4))),
        ("ada", ASSIGN, assign(MOE, (), (6,))),
        ("ada", ASSIGN, assign(MOE, (), (8,))),
        ("ada", ASSIGN, assign(MOE, (2,), (8,))),
        ("moe", ASSIGN, assign(MOE, (1,))),
        ("max", ASSIGN, assign(MOE, (4,))),
        ("ada", "assign_buildings_to_client_admin", {"admin_id": ADA, "building_ids": [1]}),
        ("ada", "assign_inspections_to_client_admin", {"admin_id": ADA, "inspection_ids": [1]}),
    ],
)
@pytest.mark.attack(entry="G06")
def test_functions_respect_row_rules(api: Callable, who: str, name: str, arguments: dict) -> None:
    before = dump(api)

    response = api(who).rpc(name, arguments)

    assert (response.status, response.code) == (403, "42501")
    assert dump(api) == before


@pytest.mark.parametrize(("who", "grantee", "building"), [("bob", MOE, 4), ("ada", ADA, 1)])
@pytest.mark.attack(entry="G07")
def test_invisible_and_unknown_grantees_give_the_same_error(
    api: Callable, who: str, grantee: str, building: int
) -> None:
    out_of_reach = api(who).rpc(ASSIGN, assign(grantee, (building,)))
    unknown = api(who).rpc(ASSIGN, assign(UNKNOWN_USER_ID, (building,)))

    assert (out_of_reach.status, out_of_reach.code) == (400, "23514")
    assert out_of_reach.whole == unknown.whole


@pytest.mark.attack(entry="G08")
def test_two_values_for_one_parameter_are_refused(api: Callable) -> None:
    before = dump(api)

    response = api("ada").rpc(ASSIGN, {**assign(MIA, (2,)), "p_manager_id": MAX})

    assert response.status == 400
    assert dump(api) == before


@pytest.mark.attack(entry="G08")
def test_one_value_in_both_spellings_is_accepted(api: Callable) -> None:
    response = api("ada").rpc(ASSIGN, {**assign(MIA, (2,)), "p_manager_id": MIA})

    assert response.json["assigned_buildings"] == 1
    assert ids(api("mia").get("/buildings?select=id")) == {2}


@pytest.mark.attack(entry="G08")
def test_last_of_two_equal_keys_is_checked_and_executed(api: Callable) -> None:
    body = f'{{"manager_id": "{MAX}", "manager_id": "{MIA}", "building_ids": [2], "inspection_ids": []}}'

    response = api("ada").post(f"/rpc/{ASSIGN}", body)

    assert response.status == 200
    assert ids(api("mia").get("/buildings?select=id")) == {2}
    assert ids(api("max").get("/buildings?select=id")) == {4}


@pytest.mark.attack(entry="G09")
def test_repeated_id_is_assigned_once(api: Callable) -> None:
    assert api("ada").rpc(ASSIGN, assign(MIA, (1, 1, 1))).json["assigned_buildings"] == 1


@pytest.mark.attack(entry="G09")
def test_more_than_a_thousand_ids_are_refused(api: Callable) -> None:
    assert api("root").rpc(ASSIGN, assign(MIA, (1,) * 1001)).status == 400


@pytest.mark.parametrize("value", [{}, [1.5], ["x"]], ids=repr)
@pytest.mark.parametrize("parameter", ["building_ids", "inspection_ids"])
@pytest.mark.attack(entry="G09")
def test_invalid_id_array_is_refused(api: Callable, parameter: str, value: object) -> None:
    response = api("root").rpc(ASSIGN, {**assign(MIA), parameter: value})

    assert (response.status, response.code) == (400, "22P02")


@pytest.mark.attack(entry="G09")
def test_empty_arrays_check_rights_and_assign_nothing(api: Callable) -> None:
    refused = api("moe").rpc(ASSIGN, assign(MOE))
    allowed = api("ada").rpc(ASSIGN, assign(MIA))

    assert (refused.status, refused.code) == (403, "42501")
    assert allowed.json == {"success": True, "assigned_buildings": 0, "assigned_inspections": 0, "already_assigned": 0}


@pytest.mark.attack(entry="G09")
def test_repeated_assignment_keeps_grantor_and_time(api: Callable) -> None:
    before = dump(api)

    response = api("root").rpc(ASSIGN, assign(MOE, (1,), (3,)))

    assert response.json["already_assigned"] == 2
    assert dump(api) == before


@pytest.mark.parametrize("name", ["assign_buildings_to_client_admin", "assign_inspections_to_client_admin", ASSIGN])
@pytest.mark.attack(entry="G11")
def test_get_assigns_nothing(api: Callable, name: str) -> None:
    response = api("root").get(f"/rpc/{name}?admin_id={ADA}&building_ids=[2]")

    assert (response.status, response.code) == (405, "PGRST101")


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("name", ["get_building_stats", ASSIGN])
@pytest.mark.attack(entry="G11")
def test_functions_are_called_by_post_and_get_only(api: Callable, name: str, method: str) -> None:
    response = api("root").send(method, f"/rpc/{name}", {"building_id": 1})

    assert (response.status, response.code) == (405, "PGRST101")


@pytest.mark.parametrize("name", ["__init__", "pg_sleep", "login", "sqlite_version", "eval"])
@pytest.mark.attack(entry="G12")
def test_unknown_function_is_not_found(api: Callable, name: str) -> None:
    response = api("root").rpc(name, {})

    assert (response.status, response.code) == (404, "PGRST202")


@pytest.mark.parametrize("arguments", [{}, {"building_id": 1, "nope": 2}, {"nope": 2}])
@pytest.mark.attack(entry="G12")
def test_unknown_or_missing_parameter_is_not_found(api: Callable, arguments: dict) -> None:
    response = api("root").rpc("get_building_stats", arguments)

    assert (response.status, response.code) == (404, "PGRST202")


@pytest.mark.parametrize("query", ["select=*", "order=id", "limit=1000", "offset=0"])
@pytest.mark.attack(entry="G12")
def test_reserved_parameters_change_nothing(api: Callable, query: str) -> None:
    hidden = api("moe").post(f"/rpc/get_building_stats?{query}", {"building_id": 2})

    assert (hidden.status, hidden.code) == (404, "PT404")


LETTERS = "abcdef00-0000-4000-8000-0000000000fe"
SPELLINGS = [LETTERS, LETTERS.upper(), f"{{{LETTERS}}}", LETTERS.replace("-", ""), LETTERS.replace("-", "").upper()]


@pytest.mark.parametrize("spelled", SPELLINGS)
@pytest.mark.attack(entry="G13")
def test_uuid_is_normalized_before_rules(api: Callable, spelled: str) -> None:
    lee = {"email": "lee@acme.example", "name": "Lee", "role": "client_manager", "client_id": 1}
    api("root").post("/users", {"id": spelled, **lee})

    made = api("ada").post(f"/{TO_MANAGERS}", {"manager_id": spelled, "building_id": 2})
    called = api("ada").rpc(ASSIGN, assign(spelled, (2, 3)))

    assert made.status == 201
    assert (called.json["assigned_buildings"], called.json["already_assigned"]) == (1, 1)
    rows = api("root").get(f"/{TO_MANAGERS}?building_id=in.(2,3)&select=manager_id").json
    assert rows == [{"manager_id": LETTERS}] * 2
    assert ids(api("ada").get(f"/users?select=id&id=eq.{quote(spelled)}")) == {LETTERS}


@pytest.mark.parametrize("spelled", [f"urn:uuid:{MIA}", MIA[:-1], MIA + "0", "x", ""])
@pytest.mark.attack(entry="G13")
def test_invalid_uuid_is_refused(api: Callable, spelled: str) -> None:
    made = api("ada").post(f"/{TO_MANAGERS}", {"manager_id": spelled, "building_id": 2})
    read = api("ada").get(f"/users?id=eq.{spelled}")

    assert (made.status, made.code) == (400, "22P02")
    assert (read.status, read.code) == (400, "22P02")


@pytest.mark.parametrize("who", ["root", "ada", "bob", "moe", "mia", "max"])
@pytest.mark.attack(entry="G15")
def test_reading_changes_nothing(api: Callable, who: str) -> None:
    before = dump(api)

    for path in (
        "/buildings?select=*,inspections(*,reports_lead(*))",
        "/inspections?select=count()",
        "/rpc/get_inspections_dashboard_summary_fast",
        "/rpc/get_building_stats_chart_fast",
        f"/rpc/check_building_access_v2?p_building_id=1&p_user_id={MOE}",
        f"/rpc/explain_inspection_access?p_inspection_id=3&p_user_id={MOE}",
    ):
        api(who).get(path)

    assert dump(api) == before
