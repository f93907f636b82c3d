"""Limits of selects and lists: text fields replace long selects, and pages say that a list is cut."""

from collections.abc import Callable

import pytest

from routes.console.pages import access, grants, kiosk, rows, users
from tests.conftest import ADA, MAX, MOE
from tests.console.conftest import EMAILS

QUESTION = "kind=building&key=1"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit each list to one row."""
    for module, name in (
        (access, "CLIENTS_LISTED_MAX"),
        (kiosk, "USERS_LISTED_MAX"),
        (rows, "RELATED_SHOWN"),
        (users, "BUILDINGS_LISTED_MAX"),
        (grants, "USERS_LISTED_MAX"),
        (grants, "GRANTEES_LISTED_MAX"),
    ):
        monkeypatch.setattr(module, name, 1)


def test_explanation_names_user_and_grantor_beyond_the_list_limit(few: None, browse: Callable, api: Callable) -> None:
    row = {"manager_id": MOE, "building_id": 2, "assigned_by": ADA}
    assert api("root").post("/client_manager_building_access", row).status == 201
    root = browse("root")

    for named in (MOE, EMAILS["moe"], f" {EMAILS['moe'].upper()} "):
        page = root.get("/console/why", query_string={"person": named, "kind": "building", "key": 2}).text
        assert "Moe can see" in page
        assert "by Ada on " in page
        assert f'value="{EMAILS["moe"]}"' in page


@pytest.mark.parametrize("person", [MAX, EMAILS["max"], "nobody@x.example"])
def test_explanation_of_hidden_and_missing_users_is_equal(few: None, browse_shared: Callable, person: str) -> None:
    answer = browse_shared("ada").get(f"/console/why?person={person}&{QUESTION}")

    assert "role does not allow" in answer.text
    assert "Max" not in answer.text


def test_kiosk_display_is_created_for_an_email(few: None, browse: Callable) -> None:
    ada = browse("ada")
    assert '<input id="person" name="person" type="text"' in ada.page("/console/devices")

    def make(person: str) -> object:
        return ada.send("/console/devices", {"name": "Hall", "person": person, "days": "30"})

    for person in ("moe", "ada"):
        assert make(EMAILS[person]).status_code == 303
        assert 'class="token code"' in ada.page("/console/devices")
    refused = [make(each) for each in (EMAILS["max"], "nobody@x.example")]
    assert [answer.status_code for answer in refused] == [404, 404]
    assert f'value="{EMAILS["max"]}"' in refused[0].text
    assert make("nonsense").status_code == 400


def test_cut_lists_say_so(few: None, browse: Callable, api: Callable) -> None:
    row = {"manager_id": MOE, "building_id": 2}
    assert api("root").post("/client_manager_building_access", row).status == 201
    root = browse("root")

    assert "Only the first 1 buildings are shown." in root.page("/console/people/new")
    assert ">All building access of client managers</a>" in root.page(f"/console/people/{MOE}")
    assert 'name="client" inputmode="numeric"' in root.page("/console/access?client=2")
