"""API keys in the console: one's own, and those of a user; and what a revocation asks before."""

import html
import re
from collections.abc import Callable

import pytest

from tests.conftest import ADA, MOE, ROOT

pytestmark = pytest.mark.one_engine

OWN = "/console/account/api_keys"


def create(client: object, path: str = OWN, **fields: str) -> str:
    answer = client.send(path, {"name": "Script", "rights": "read", "days": "30", **fields})
    found = re.search(r'class="token">(wt_[^<]+)<', answer.text)
    assert found, answer.text
    return found[1]


def with_key(app: object, method: str, path: str, key: str, **options: object) -> int:
    return app.test_client().open(path, method=method, headers={"apikey": key}, **options).status_code


@pytest.mark.parametrize(("rights", "written"), [("read", 403), ("all", 201)])
def test_key_is_shown_once_has_its_rights_and_ends(app: object, browse: Callable, rights: str, written: int) -> None:
    ada = browse("ada")

    key = create(ada, rights=rights, days="none")

    assert key not in ada.page(OWN)
    assert with_key(app, "GET", "/buildings", key) == 200
    row = {"name": "B", "client_id": 1}
    assert with_key(app, "POST", "/buildings", key, json=row) in (written, 400)
    (link,) = re.findall(rf'href="({OWN}/[^"]+/revocation)"', ada.page(OWN))
    assert "Revoke the API key Script?" in ada.page(link)
    assert with_key(app, "GET", "/buildings", key) == 200
    sent = ada.send(link.replace("/revocation", "/revoke"), form=link)
    assert "API key revoked." in ada.page(sent.headers["Location"])
    assert with_key(app, "GET", "/buildings", key) == 401
    assert ada.get(link).status_code == 404


def test_new_key_shows_how_programs_use_it(browse: Callable) -> None:
    page = html.unescape(browse("ada").send(OWN, {"name": "Script", "rights": "read", "days": "30"}).text)
    key = page.partition('class="token">')[2].partition("<")[0]

    assert f'createClient("http://localhost", "{key}")' in page
    assert f'curl -H "apikey: {key}" "http://localhost/buildings?limit=1"' in page


def test_administrator_manages_the_keys_of_a_user(app: object, browse: Callable) -> None:
    ada, path = browse("ada"), f"/console/people/{MOE}/api_keys"

    key = create(ada, path)

    assert f'href="{path}"' in ada.page(f"/console/people/{MOE}")
    assert with_key(app, "GET", "/buildings", key) == 200
    assert "Script" in browse("moe").page(OWN)
    assert "Script" not in ada.page(OWN)
    assert ada.get(f"/console/people/{ROOT}/api_keys").status_code == 404
    assert browse("moe").get(f"/console/people/{ADA}/api_keys").status_code == 403


def test_key_without_a_name_is_refused(browse: Callable) -> None:
    answer = browse("moe").send(OWN, {"name": " ", "rights": "read", "days": "30"})

    assert (answer.status_code, "needs a name" in answer.text) == (422, True)


# Revoke and deactivate ask first, and the message undoes them


def undo(client: object, page: str) -> object:
    """Press the button of the message."""
    form = re.search(r'<form class="note undo" method="post" action="([^"]+)">(.*?)</form>', page)
    assert form, page
    fields = re.findall(r'name="([^"]+)" value="([^"]*)"', form[2])
    return client.client.post(form[1], data={name: html.unescape(value) for name, value in fields})


def test_deactivation_asks_first_shows_in_the_list_and_is_undone(browse: Callable) -> None:
    ada, path = browse("ada"), f"/console/people/{MOE}"
    assert "Deactivate Moe?" in ada.page(f"{path}/deactivation")
    assert "deactivated" not in ada.page("/console/people")

    sent = ada.send(f"{path}/disable", form=f"{path}/deactivation")

    page = ada.page(sent.headers["Location"])
    assert '<span class="badge s-failed">Deactivated</span>' in page
    assert "Moe (deactivated)</a>" in ada.page("/console/people")
    assert "User reactivated." in ada.page(undo(ada, page).headers["Location"])
    assert "deactivated" not in ada.page("/console/people")


def test_revocation_of_a_building_is_undone(browse: Callable) -> None:
    ada, path = browse("ada"), "/console/buildings/1"
    assert "Moe" in ada.page(path)

    sent = ada.send("/console/access/confirm", {"gone": f"{MOE}:1"}, form="/console/access")

    page = ada.page(sent.headers["Location"])
    assert "Moe" not in ada.page(path)
    assert "1 granted, 0 revoked." in ada.page(undo(ada, page).headers["Location"])
    assert "Moe" in ada.page(path)


def test_revocation_of_an_inspection_is_undone(browse: Callable) -> None:
    ada, path = browse("ada"), f"/console/inspections/3/access?person={MOE}"
    assert "Revoke access to" in ada.page(path)

    sent = ada.send("/console/inspections/3/access", {"person": MOE, "do": "take"}, form=path)

    assert "Grant Fire at Mill Court, 11 Apr 2025 to Moe?" in ada.page(path)
    assert "Inspection granted to Moe." in ada.page(undo(ada, ada.page(sent.headers["Location"])).headers["Location"])
    assert "Revoke access to" in ada.page(path)


def test_message_without_its_signature_undoes_nothing(browse: Callable) -> None:
    ada = browse("ada")
    sent = ada.send("/console/access/confirm", {"gone": f"{MOE}:1"}, form="/console/access")
    cookie = ada.client.get_cookie("walkthrough_message", path="/console")
    ada.client.set_cookie("walkthrough_message", f"x{cookie.value}", path="/console")

    forged = ada.page(sent.headers["Location"])

    assert "Undo" not in forged
    assert "0 granted, 1 revoked." not in forged


def test_grant_beyond_the_client_warns(browse: Callable) -> None:
    root = browse("root")

    other = root.send("/console/access", {"pair": f"{MOE}:4", "grant": f"{MOE}:4"})
    own = root.send("/console/access", {"pair": f"{MOE}:2", "grant": f"{MOE}:2"})

    assert "Beyond their client: " in other.text
    assert "Beyond their client" not in own.text
