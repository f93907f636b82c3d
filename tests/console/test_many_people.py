"""More people, buildings, clients and grants than a page lists: another way to name one, and it is said."""

from collections.abc import Callable

import pytest

from routes.console.components import grants
from routes.console.pages import access_matrix
from routes.console.pages import explain as why
from routes.console.pages import kiosk_displays as devices
from routes.console.pages import people
from tests.conftest import ADA
from tests.conftest import MAX
from tests.conftest import MOE
from tests.console.conftest import EMAILS

QUESTION = "kind=building&key=1"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages list one of each."""
    for module, name in (
        (access_matrix, "CLIENTS_OFFERED"),
        (devices, "PEOPLE_OFFERED"),
        (grants, "HELD_SHOWN"),
        (people, "BUILDINGS_OFFERED"),
        (why, "PEOPLE_OFFERED"),
    ):
        monkeypatch.setattr(module, name, 1)


def test_why_names_person_and_grantor_however_many_there_are(
    few: None, desk: Callable, api: Callable
) -> None:
    row = {"manager_id": MOE, "building_id": 2, "assigned_by": ADA}
    assert api("root").post("/client_manager_building_access", row).status == 201
    root = desk("root")

    for named in (MOE, EMAILS["moe"], f" {EMAILS['moe'].upper()} "):
        page = root.get(
            "/console/why", query_string={"person": named, "kind": "building", "key": 2}
        ).text
        assert "Moe can see" in page
        assert "By Ada, " in page
        assert f'value="{EMAILS["moe"]}"' in page


@pytest.mark.parametrize("person", [MAX, EMAILS["max"], "nobody@x.example"])
def test_why_tells_hidden_and_missing_alike(few: None, office: Callable, person: str) -> None:
    answer = office("ada").get(f"/console/why?person={person}&{QUESTION}")

    assert "role does not allow" in answer.text
    assert "Max" not in answer.text


def test_a_board_is_made_for_an_email(few: None, desk: Callable) -> None:
    ada = desk("ada")
    assert '<input id="person" name="person" type="text"' in ada.page("/console/devices")

    def make(person: str) -> object:
        return ada.send("/console/devices", {"name": "Hall", "person": person, "days": "30"})

    assert "wtk_" in make(EMAILS["moe"]).text
    assert "wtk_" in make(EMAILS["ada"]).text
    refused = [make(each) for each in (EMAILS["max"], "nobody@x.example")]
    assert [answer.status_code for answer in refused] == [404, 404]
    assert f'value="{EMAILS["max"]}"' in refused[0].text
    assert make("nonsense").status_code == 400


def test_what_is_left_out_is_said(few: None, desk: Callable, api: Callable) -> None:
    row = {"manager_id": MOE, "building_id": 2}
    assert api("root").post("/client_manager_building_access", row).status == 201
    root = desk("root")

    assert "These are the first 1." in root.page("/console/people/new")
    assert "And others: these are the 1 newest." in root.page(f"/console/people/{MOE}")
    assert 'name="client" inputmode="numeric"' in root.page("/console/access?client=2")
