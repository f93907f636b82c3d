"""The users who see a building or an inspection, on its page."""

import re
from collections.abc import Callable

import pytest

from routes.console.pages import grants
from tests.conftest import BOB, MOE, ROOT

READERS = re.compile(r'<section class="card span2" id="readers">.*?</section>', re.DOTALL)


def listed(page: str) -> list[tuple[str, str]]:
    """Return the names and reasons of the users on a page."""
    (section,) = READERS.findall(page)
    rows = re.findall(r"<tr><td><a[^>]*>([^<]*)</a>.*?</td><td[^>]*>[^<]*</td><td>(.*?)</td></tr>", section, re.DOTALL)
    return [(name, reasons) for name, reasons in rows]


def test_page_of_a_building_lists_everybody_who_sees_it(browse_shared: Callable) -> None:
    assert listed(browse_shared("root").page("/console/buildings/1")) == [
        ("Root", "Super admins see everything"),
        ("Ada", "Client admin of the owner; Granted this building by Root on 10 Feb 2025"),
        ("Moe", "Granted this building by Ada on 12 Feb 2025"),
    ]


def test_page_of_an_inspection_lists_everybody_who_sees_it(browse_shared: Callable) -> None:
    names = [name for name, _ in listed(browse_shared("root").page("/console/inspections/3"))]

    assert names == ["Root", "Ada", "Bob", "Moe"]


def test_hidden_users_are_not_listed(browse_shared: Callable) -> None:
    """Bob of the other client sees inspection 3 by a grant, and Root sees everything."""
    page = browse_shared("ada").page("/console/inspections/3")

    assert [name for name, _ in listed(page)] == ["Ada", "Moe"]
    assert ("Root" in page, "Bob" in page, BOB in page, ROOT in page) == (False, False, False, False)


@pytest.mark.parametrize("path", ["buildings/1", "inspections/1"])
def test_hidden_users_and_grants_change_no_byte(browse: Callable, api: Callable, path: str) -> None:
    ada, root = browse("ada"), api("root")
    before = ada.page(f"/console/{path}")
    hidden = {"email": "zoe@borough.example", "name": "Zoe", "client_id": 2}
    zoe = root.post("/users", {**hidden, "role": "client_admin"}, prefer="return=representation").json[0]["id"]
    for user_id in (BOB, zoe):
        for table, target in (("building", "building_id"), ("inspection", "inspection_id")):
            assert root.post(f"/client_admin_{table}_access", {"admin_id": user_id, target: 1}).status == 201

    after = ada.page(f"/console/{path}")

    assert [name for name, _ in listed(browse("root").page(f"/console/{path}"))] == ["Root", "Ada", "Bob", "Zoe", "Moe"]
    without_ids = [re.sub(r'name="submission" value="[^"]*"', "", page) for page in (before, after)]
    assert without_ids[0] == without_ids[1]


def test_hidden_grantor_is_an_administrator(browse_shared: Callable) -> None:
    assert listed(browse_shared("ada").page("/console/buildings/5")) == [
        ("Ada", "Granted this building by an administrator on 11 Feb 2025")
    ]


def test_manager_has_no_list(browse_shared: Callable) -> None:
    assert not READERS.findall(browse_shared("moe").page("/console/buildings/1"))


def test_long_list_ends_with_a_search(browse_shared: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grants, "READERS_SHOWN", 1)
    page = browse_shared("ada").page("/console/buildings/1")

    assert [name for name, _ in listed(page)] == ["Ada"]
    assert "Only the first 1 users are shown." in page
    assert '<a href="/console/why?kind=building&amp;key=1">Search for another user</a>' in page


def test_deactivated_user_looks_it(browse: Callable) -> None:
    ada = browse("ada")
    ada.send(f"/console/people/{MOE}/disable", form=f"/console/people/{MOE}")

    assert "Moe</a> (deactivated)" in ada.page("/console/buildings/1")
