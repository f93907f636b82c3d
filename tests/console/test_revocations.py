"""Revoke on the pages of a building, an inspection and a user: it asks, says what is lost, returns, and is undone."""

import html
import re
from collections.abc import Callable

import pytest

from tests.conftest import ADA, BOB, MAX, MOE
from tests.console.conftest import Form, FormClient

REVOKE = re.compile(r'<a href="([^"]+/access[^"]*)">Revoke<')


def revocations(page: str) -> list[str]:
    return [html.unescape(each) for each in REVOKE.findall(page)]


def submit(client: FormClient, path: str) -> object:
    """Submit the form of a revocation."""
    action = path.partition("?")[0]
    return client.client.post(action, data=Form(client.page(path), action).with_({}))


def undo(client: FormClient, page: str) -> object:
    action = html.unescape(re.search(r'<form class="note undo" method="post" action="([^"]+)"', page)[1])
    return client.client.post(action, data=Form(page, action).with_({}))


@pytest.mark.parametrize(
    ("path", "text", "question"),
    [
        ("/buildings/1", "<b>3</b> inspections there", "Revoke access to Harbor House from Moe?"),
        (f"/people/{MOE}", "<b>3</b> inspections there", "Revoke access to Harbor House from Moe?"),
        ("/inspections/3", "with its notes and status", "Revoke access to Fire at Mill Court, 11 Apr 2025 from Moe?"),
    ],
)
def test_one_grant_is_revoked_from_its_page_and_undone(
    browse: Callable, api: Callable, path: str, text: str, question: str
) -> None:
    ada = browse("ada")
    link = revocations(ada.page(f"/console{path}"))[0]

    asked = ada.page(link)
    sent = submit(ada, link)

    assert "Moe will no longer see" in asked
    assert (text in asked, question in asked) == (True, True)
    assert sent.headers["Location"].startswith(f"/console{path}")
    page = ada.page(sent.headers["Location"])
    assert "Access revoked from Moe." in page
    assert link not in revocations(page)
    kept = {"/buildings/1": 1, "/inspections/3": 1}.get(path, 1)
    assert len([*api("moe").get("/client_manager_building_access").json,
                *api("moe").get("/client_manager_inspection_access").json]) == kept  # fmt: skip
    again = undo(ada, page)
    assert again.headers["Location"].startswith(f"/console{path}")
    assert link in revocations(ada.page(again.headers["Location"]))


def test_revocation_that_is_sent_twice_has_the_first_answer(browse: Callable) -> None:
    ada = browse("ada")
    path = f"/console/buildings/1/access?person={MOE}"
    sent = Form(ada.page(path), "/console/buildings/1/access").with_({})

    answers = [ada.client.post("/console/buildings/1/access", data=sent) for _ in range(2)]

    assert [each.status_code for each in answers] == [303, 303]


def test_visits_that_stay_visible_are_no_loss(browse: Callable, api: Callable) -> None:
    """An inspector keeps the building of a visit, and loses its other inspections."""
    root = api("root")
    assert root.patch("/inspectors?id=eq.2", {"user_id": MOE}).status == 204
    assert root.patch("/inspections?id=eq.2", {"status": "scheduled"}).status == 204

    page = browse("ada").page(f"/console/buildings/1/access?person={MOE}")

    assert "Moe (inspector: Ivo Kral) can still see it" in page
    assert "Inspector of a visit of this building" in page
    assert "<b>2</b> inspections there" in page


@pytest.mark.parametrize(
    ("who", "path", "person", "status"),
    [
        pytest.param("ada", "buildings/4", MAX, 404, id="a hidden user"),
        pytest.param("ada", "buildings/5", ADA, 404, id="an admin's own"),
        pytest.param("ada", "buildings/3", MOE, 200, id="a building without a grant is granted"),
        pytest.param("bob", "inspections/3", BOB, 404, id="a super admin's grant"),
        pytest.param("moe", "buildings/1", MOE, 403, id="by the manager"),
    ],
)
def test_page_of_a_grant_is_for_those_who_may_change_it(
    browse_shared: Callable, who: str, path: str, person: str, status: int
) -> None:
    assert browse_shared(who).get(f"/console/{path}/access?person={person}").status_code == status


@pytest.mark.parametrize("back", ["/../../x", "/sign-out"])
def test_revocation_returns_to_a_page_of_the_console(browse: Callable, back: str) -> None:
    ada = browse("ada")

    sent = submit(ada, f"/console/buildings/1/access?person={MOE}&back={back}")

    assert sent.headers["Location"].startswith("/console/buildings/1")
