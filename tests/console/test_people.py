"""People, what is granted to them, and why somebody sees something, through the console's forms."""

import re
from collections.abc import Callable

import pytest

from tests.conftest import ADA
from tests.conftest import BOB
from tests.conftest import MAX
from tests.conftest import MIA
from tests.conftest import MOE
from tests.conftest import ROOT
from tests.console.conftest import COOKIE


def test_a_grant_is_shown_for_what_it_reveals_then_made(desk: Callable) -> None:
    ada, mia = desk("ada"), desk("mia")
    assert "No inspection fits." in mia.page("/console/inspections")
    pair = f"{MIA}:2"

    preview = ada.send("/console/access", {"grant": pair, "pair": pair})

    assert "Mia will see" in preview.text
    assert "<b>2</b> inspections and <b>0</b> lead readings" in preview.text
    assert "No inspection fits." in mia.page("/console/inspections")
    done = ada.send("/console/access/confirm", {"made": pair}, form="/console/access")
    assert done.status_code == 303
    assert "Mill Court" in mia.page("/console/inspections")
    gone = ada.send("/console/access", {"was": pair, "pair": pair})
    assert "Mia will no longer see" in gone.text
    assert "<b>2</b> inspections" in gone.text
    ada.send("/console/access/confirm", {"gone": pair}, form="/console/access")
    assert "No inspection fits." in mia.page("/console/inspections")


def test_a_preview_counts_what_is_not_seen_already(desk: Callable) -> None:
    pair = f"{MOE}:2"  # whose inspection 3 moe sees by a grant of its own

    preview = desk("ada").send("/console/access", {"grant": pair, "pair": pair})

    assert "<b>1</b> inspections" in preview.text


def test_all_and_none_tick_a_column(desk: Callable) -> None:
    ada = desk("ada")
    page = ada.page("/console/access")
    pairs = set(re.findall(r'name="pair" value="([^"]+)"', page))
    assert pairs == {f"{who}:{key}" for who in (MOE, MIA) for key in (1, 2, 3, 6)}

    csrf = ada.token("/console/access")
    every = ada.client.post(
        "/console/access", data={"csrf": csrf, "pair": sorted(pairs), "all": MIA}
    )
    none = ada.client.post(
        "/console/access",
        data={
            "csrf": csrf,
            "pair": sorted(pairs),
            "grant": f"{MOE}:1",
            "was": f"{MOE}:1",
            "none": MOE,
        },
    )

    assert every.text.count('name="made"') == 4
    assert none.text.count('name="gone"') == 1


@pytest.mark.parametrize(
    "pair", [f"{MAX}:1", f"{MOE}:4", f"{MOE}:5", f"{MOE}:999", f"{ADA}:1", f"{BOB}:1"]
)
def test_no_grant_beyond_ones_reach(desk: Callable, api: Callable, pair: str) -> None:
    before = api("root").get("/client_manager_building_access").json

    answer = desk("ada").send("/console/access/confirm", {"made": pair}, form="/console/access")

    assert answer.status_code in (400, 403)
    assert api("root").get("/client_manager_building_access").json == before


def test_one_wrong_pair_spoils_all(app: object, desk: Callable, api: Callable) -> None:
    ada = desk("ada")
    before = api("root").get("/client_manager_building_access").json
    csrf = ada.token("/console/access")

    ada.client.post(
        "/console/access/confirm",
        data={"csrf": csrf, "made": [f"{MIA}:1", f"{MOE}:4"], "gone": [f"{MOE}:1"]},
    )

    assert api("root").get("/client_manager_building_access").json == before


def test_a_manager_is_made_with_password_and_buildings_in_one_form(desk: Callable) -> None:
    ada = desk("ada")
    csrf = ada.token("/console/people/new")
    given = {
        "csrf": csrf,
        "name": "Nia",
        "email": "Nia@acme.example",
        "password": "nia walks too",
        "building": ["2", "3"],
    }

    made = ada.client.post("/console/people/new", data={**given, "building": ["2", "3"]})

    assert made.status_code == 303
    nia = desk()
    signed_in = nia.send(
        "/console/sign-in", {"email": "nia@acme.example", "password": "nia walks too"}
    )
    assert signed_in.status_code == 303
    page = nia.page("/console/buildings")
    assert ("Mill Court" in page, "Depot 100%" in page, "Harbor House" in page) == (
        True,
        True,
        False,
    )


def test_a_manager_with_a_building_out_of_reach_is_not_made(desk: Callable, api: Callable) -> None:
    answer = desk("ada").send(
        "/console/people/new",
        {"name": "Nia", "email": "nia@acme.example", "password": "nia walks too", "building": "4"},
    )

    assert answer.status_code == 403
    assert api("root").get("/users?name=eq.Nia").json == []


def test_a_client_admin_makes_no_admin(desk: Callable, api: Callable) -> None:
    desk("ada").send(
        "/console/people/new",
        {
            "name": "N",
            "email": "n@acme.example",
            "password": "nia walks too",
            "role": "super_admin",
            "client_id": "2",
        },
    )

    assert api("root").get("/users?name=eq.N&select=role,client_id").json == [
        {"role": "client_manager", "client_id": 1}
    ]


def test_a_super_admin_chooses_role_and_client(desk: Callable, api: Callable) -> None:
    root = desk("root")
    given = {
        "name": "N",
        "email": "n@x.example",
        "password": "nia walks too",
        "role": "client_admin",
        "client_id": "2",
    }

    assert root.send("/console/people/new", given).status_code == 303
    assert root.send("/console/people/new", given).status_code in (409, 422)
    assert root.send(
        "/console/people/new", {**given, "email": "m@x.example", "role": "boss"}
    ).status_code in (400, 422)
    assert api("root").get("/users?name=eq.N&select=role,client_id").json == [
        {"role": "client_admin", "client_id": 2}
    ]


def test_the_last_super_admin_stays(desk: Callable) -> None:
    root = desk("root")

    assert root.send(f"/console/people/{ROOT}/delete").status_code == 400
    assert root.send(f"/console/people/{ROOT}/disable", form="/console/").status_code == 400
    assert root.get("/console/").status_code == 200


def test_shutting_somebody_out_and_letting_them_in_again(desk: Callable) -> None:
    ada, moe = desk("ada"), desk("moe")
    path = f"/console/people/{MOE}"

    assert ada.send(f"{path}/disable", form=path).status_code == 303
    assert moe.get("/console/").status_code == 303
    assert "cannot sign in" in ada.page(path)
    ada.send(f"{path}/enable", form=path)
    assert desk("moe").get("/console/").status_code == 200


def test_a_ban_of_the_api_has_what_they_had_wait(desk: Callable, api: Callable) -> None:
    moe, user = desk("moe"), f"/auth/v1/admin/users/{MOE}"
    cookie = moe.cookie.value

    for duration, status in (("24h", 303), ("none", 200)):
        assert api("root").put(user, {"ban_duration": duration}).status == 200
        moe.client.set_cookie(COOKIE, cookie, path="/console")
        assert moe.get("/console/").status_code == status


def test_only_what_can_be_revoked_is_offered(desk: Callable, api: Callable) -> None:
    """Moe holds buildings 1, which is Ada's, 5, which she sees, and 4, which she does not."""
    for key in (4, 5):
        row = {"manager_id": MOE, "building_id": key}
        assert api("root").post("/client_manager_building_access", row).status == 201
    path = f"/console/people/{MOE}"

    for who, links, revoked in (
        ("ada", {"/console/buildings/1", "/console/buildings/5", "/console/inspections/3"}, {"1", "3"}),
        ("root", {*(f"/console/buildings/{key}" for key in (1, 4, 5)), "/console/inspections/3"}, {"1", "3", "4", "5"}),
    ):  # fmt: skip
        page = desk(who).page(path)
        assert set(re.findall(r'<a class="row" href="([^"]+)"', page)) == links
        assert set(re.findall(r'name="key" value="([^"]+)"', page)) == revoked
    assert "<td>number 4</td>" in desk("ada").page(path)
    assert "Revoke" not in desk("ada").page(f"/console/people/{ADA}")
    refused = desk("ada").send(f"{path}/revoke", {"kind": "building", "key": "4"}, form=path)
    assert refused.status_code == 404


def test_revoking_from_the_persons_page(desk: Callable) -> None:
    ada, moe = desk("ada"), desk("moe")
    path = f"/console/people/{MOE}"

    ada.send(f"{path}/revoke", {"kind": "building", "key": "1"}, form=path)
    ada.send(f"{path}/revoke", {"kind": "inspection", "key": "3"}, form=path)

    assert "No inspection fits." in moe.page("/console/inspections")


@pytest.mark.parametrize(
    ("who", "query", "said"),
    [
        ("ada", f"person={MOE}&kind=building&key=1", "building_grant"),
        ("ada", f"person={MOE}&kind=inspection&key=3", "inspection_grant"),
        ("ada", f"person={MOE}&kind=inspection&key=1", "through_building"),
        ("ada", f"person={ADA}&kind=building&key=1", "client_ownership"),
        ("ada", f"person={MOE}&kind=building&key=2", "cannot see"),
        ("ada", f"person={MOE}&kind=building&key=4", "cannot see"),
        ("root", f"person={ROOT}&kind=building&key=4", "super_admin"),
        ("moe", "kind=building&key=1", "building_grant"),
    ],
)
def test_why(office: Callable, who: str, query: str, said: str) -> None:
    assert said in office(who).page(f"/console/why?{query}")


@pytest.mark.parametrize(
    ("who", "person"), [("ada", BOB), ("ada", MAX), ("moe", ADA), ("moe", MIA)]
)
def test_one_asks_only_about_whom_one_sees(office: Callable, who: str, person: str) -> None:
    answer = office(who).get(f"/console/why?person={person}&kind=building&key=1")

    assert "can see" not in answer.text
    assert "role does not allow" in answer.text
