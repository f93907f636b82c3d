"""API keys in the console: one's own, and those of a user; and what a revocation asks before."""

import html
import re
from collections.abc import Callable

import pytest

from tests.conftest import ADA, MOE, ROOT

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
    assert "<small>Deactivated</small>" in page
    assert "Moe (deactivated)</a>" in ada.page("/console/people")
    assert 'Deactivated</span> <span class="what">' in ada.page("/console/buildings/1")
    assert "User reactivated." in ada.page(undo(ada, page).headers["Location"])
    assert "deactivated" not in ada.page("/console/people")


@pytest.mark.parametrize(("kind", "key"), [("building", "1"), ("inspection", "3")])
def test_revocation_asks_first_and_is_undone(browse: Callable, kind: str, key: str) -> None:
    ada, path = browse("ada"), f"/console/people/{MOE}"
    link = f"{path}/revocation?kind={kind}&key={key}"
    assert "inspections and" in ada.page(link)
    assert link.replace("&", "&amp;") in ada.page(path)

    sent = ada.send(f"{path}/revoke", {"kind": kind, "key": key}, form=path)

    assert ada.get(link).status_code == 404
    page = ada.page(sent.headers["Location"])
    assert "Access granted again." in ada.page(undo(ada, page).headers["Location"])
    assert ada.get(link).status_code == 200


def test_message_without_its_signature_undoes_nothing(browse: Callable) -> None:
    ada, path = browse("ada"), f"/console/people/{MOE}"
    location = ada.send(f"{path}/revoke", {"kind": "building", "key": "1"}, form=path).headers["Location"]

    forged = ada.page(location.replace("key%3D1", "key%3D2"))

    assert "Undo" not in forged
    assert "Access revoked." not in forged


@pytest.mark.parametrize(
    "values", ["", "?kind=x&key=1", "?kind=building", "?kind=building&key=9", "?kind=building&key="]
)
def test_revocation_of_no_grant_is_not_found(browse: Callable, values: str) -> None:
    assert browse("ada").get(f"/console/people/{MOE}/revocation{values}").status_code in (400, 404)


def test_grant_beyond_the_client_warns(browse: Callable) -> None:
    root = browse("root")

    other = root.send("/console/access", {"pair": f"{MOE}:4", "grant": f"{MOE}:4"})
    own = root.send("/console/access", {"pair": f"{MOE}:2", "grant": f"{MOE}:2"})

    assert "Beyond their client: " in other.text
    assert "Beyond their client" not in own.text
