"""Attack catalogue, group O, from O10: refusals, checks, hints and filters. Marks name the entries."""

from collections.abc import Callable

import pytest

from tests.conftest import ADA, BOB, MAX, MIA, MOE, ROOT, UNKNOWN_USER_ID, dump, ids


@pytest.mark.attack(entry="O10")
def test_refused_deletion_names_only_the_referencing_table(api: Callable) -> None:
    response = api("ada").delete("/buildings?id=eq.1")

    assert (response.status, response.code) == (409, "23503")
    assert "inspections" in response.text
    for word in ("access", "session", "credential", "sqlite", "trigger"):
        assert word not in response.text.lower()


CHECKS = {
    "check_building_access_v2": ("p_building_id", False),
    "check_inspection_access": ("p_inspection_id", False),
    "explain_building_access": ("p_building_id", {"allowed": False, "reasons": []}),
    "explain_inspection_access": ("p_inspection_id", {"allowed": False, "reasons": []}),
}


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize(("who", "others"), [("moe", (MIA, ADA, ROOT, MAX)), ("ada", (MAX, BOB, ROOT))])
@pytest.mark.attack(entry="O11")
def test_foreign_and_unknown_users_give_the_same_error(api: Callable, who: str, others: tuple, name: str) -> None:
    row = CHECKS[name][0]
    about_nobody = api(who).rpc(name, {row: 1, "p_user_id": UNKNOWN_USER_ID})

    answers = [api(who).rpc(name, {row: 1, "p_user_id": other}).whole for other in others]

    assert (about_nobody.status, about_nobody.code) == (403, "42501")
    assert answers == [about_nobody.whole] * len(others)


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("about", [ADA, MOE, MIA])
@pytest.mark.attack(entry="O11")
def test_hidden_row_equals_missing_row(api: Callable, about: str, name: str) -> None:
    row, nothing = CHECKS[name]
    hidden_id = 4 if "building" in name else 6

    hidden = api("ada").rpc(name, {row: hidden_id, "p_user_id": about})
    missing = api("ada").rpc(name, {row: 999, "p_user_id": about})

    assert (hidden.status, hidden.json) == (200, nothing)
    assert hidden.whole == missing.whole


@pytest.mark.attack(entry="O12")
def test_assignment_of_hidden_and_missing_ids_gives_the_same_error(api: Callable) -> None:
    before = dump(api)

    answers = [
        api("ada").rpc("assign_to_client_manager", {"manager_id": MIA, "building_ids": buildings, "inspection_ids": []})
        for buildings in ([1, 999], [1, 4], [1, 5])
    ]

    assert [(answer.status, answer.code) for answer in answers] == [(403, "42501")] * 3
    assert [answer.whole for answer in answers] == [answers[0].whole] * 3
    assert "999" not in answers[0].text
    assert dump(api) == before


@pytest.mark.attack(entry="O12")
def test_invalid_grantees_give_the_same_error(api: Callable) -> None:
    arguments = {"building_ids": [1], "inspection_ids": []}

    answers = [
        api("ada").rpc("assign_to_client_manager", {"manager_id": grantee, **arguments})
        for grantee in (UNKNOWN_USER_ID, MAX, BOB, ADA, ROOT)
    ]

    assert (answers[0].status, answers[0].code) == (400, "23514")
    assert [answer.whole for answer in answers] == [answers[0].whole] * 5


@pytest.mark.parametrize(
    "path",
    [
        "/inspections?select=clientid",
        "/inspections?select=client_i",
        "/users?select=passwor",
        "/users?select=password_has",
        "/session",
        "/credential",
        "/sqlite_maste",
        "/users?select=id,credential(id)",
        "/buildings?select=id,session(id)",
        "/rpc/sign_i",
    ],
)
@pytest.mark.attack(entry="O13")
def test_hints_name_public_names_only(api: Callable, path: str) -> None:
    response = api("root").get(path)

    hint = f"{response.json['hint']} {response.json['details']}"
    assert response.status in (400, 404)
    for word in ("client_id", "password", "sessions", "credentials", "sqlite_master", "sign_in"):
        assert word not in hint


@pytest.mark.attack(entry="O14")
def test_cast_is_evaluated_on_visible_rows_only(world: Callable) -> None:
    api = world(two_inspections(visible="5", hidden="no number"))

    visible = api("moe").get("/inspections?select=id,notes::int")
    everything = api("root").get("/inspections?select=id,notes::int")

    assert (visible.status, visible.json) == (200, [{"id": 1, "notes": 5}])
    assert (everything.status, everything.code) == (400, "22P02")


@pytest.mark.attack(entry="O14")
def test_cast_raises_for_visible_rows(api: Callable) -> None:
    assert api("moe").get("/inspections?select=notes::int").code == "22P02"
    assert api("mia").get("/inspections?select=notes::int").json == []


def two_inspections(visible: str, hidden: str) -> dict:
    """Create a world in which moe sees one of two inspections, with these notes."""
    person = {"name": "P", "client_id": 1}
    return {
        "clients": [{"id": 1, "name": "C"}],
        "users": [
            {"id": ROOT, "email": "r@x.example", "name": "R", "role": "super_admin", "client_id": None},
            {"id": MOE, "email": "m@x.example", "role": "client_manager", **person},
        ],
        "buildings": [{"id": 1, "name": "B", "client_id": 1}],
        "inspections": [
            {"id": 1, "building_id": 1, "inspection_type": "x", "notes": visible},
            {"id": 2, "building_id": 1, "inspection_type": "x", "notes": hidden},
        ],
        "client_manager_inspection_access": [{"manager_id": MOE, "inspection_id": 1}],
    }


@pytest.mark.parametrize("who", ["root", "ada", "moe", "mia"])
@pytest.mark.attack(entry="O16")
def test_empty_list_matches_nothing_and_its_negation_everything(api: Callable, who: str) -> None:
    everything = ids(api(who).get("/inspections?select=id"))

    assert ids(api(who).get("/inspections?select=id&id=in.()")) == set()
    assert ids(api(who).get("/inspections?select=id&id=not.in.()")) == everything


@pytest.mark.attack(entry="O17")
def test_logic_tree_does_not_reach_into_an_embed(api: Callable) -> None:
    response = api("moe").get("/inspections?or=(id.eq.1,buildings.name.eq.X)&select=id,buildings(id)")

    assert (response.status, response.code) == (400, "PGRST100")


@pytest.mark.attack(entry="O17")
def test_logic_tree_of_an_embed_decides_inside_it_only(api: Callable) -> None:
    path = "/inspections?select=id,buildings(id)&buildings.or=(id.eq.4,name.eq.X)&order=id"

    rows = api("ada").get(path).json

    assert [row["id"] for row in rows] == [1, 2, 3, 4, 5, 8, 9]
    assert [row["buildings"] for row in rows] == [None] * 7


@pytest.mark.attack(entry="O18")
def test_updated_at_moves_only_with_a_write_to_its_row(api: Callable) -> None:
    before = api("ada").get("/inspections?id=eq.2&select=updated_at").json

    api("ada").patch("/buildings?id=eq.1", {"name": "Renamed"})
    api("ada").patch("/reports_lead?id=eq.1", {"result": "negative"})
    api("ada").patch("/inspections?id=eq.1", {"notes": "x"})
    api("root").post("/client_manager_inspection_access", {"manager_id": MIA, "inspection_id": 2})

    assert api("ada").get("/inspections?id=eq.2&select=updated_at").json == before
    api("ada").patch("/inspections?id=eq.2", {"notes": "x"})
    assert api("ada").get("/inspections?id=eq.2&select=updated_at").json != before
