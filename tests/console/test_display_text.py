"""Displayed text: names, statuses, types and access rules."""

import re
from collections.abc import Callable

import pytest

from tests.conftest import MOE

pytestmark = pytest.mark.one_engine

LISTS = ["/console/", "/console/inspections", "/console/buildings", "/console/kiosk"]
TURN = "\u202e"


@pytest.mark.parametrize("status", ["super_admin", "building_grant", "In_Progress", "in progress", "none"])
def test_custom_status_is_shown_unchanged(browse: Callable, api: Callable, status: str) -> None:
    api("root").patch("/inspections?id=eq.1", {"status": status})
    ada = browse("ada")

    for path in ("/console/inspections/1", "/console/inspections?id=eq.1"):
        assert f'<span class="badge s-other">{status}</span>' in ada.page(path)
    assert f">{status}<" in ada.page("/console/buildings/1")


def test_rules_and_common_statuses_are_shown_in_words(browse: Callable, api: Callable) -> None:
    api("root").patch("/inspections?id=eq.1", {"status": "in_progress"})

    assert "In progress</span>" in browse("ada").page("/console/inspections/1")
    why = browse("root").page("/console/why?kind=building&key=1")
    assert "Super admins see everything" in why


@pytest.mark.parametrize(
    ("kind", "shown"), [("HVAC check", "HVAC check"), ("XRF", "XRF"), ("annual", "Annual"), ("ßa", "SSa")]
)  # fmt: skip
def test_type_starts_with_a_capital_letter(browse: Callable, api: Callable, kind: str, shown: str) -> None:
    api("root").patch("/inspections?id=eq.1", {"inspection_type": kind})

    assert f"<h1>{shown} at Harbor House, " in browse("ada").page("/console/inspections/1")


@pytest.mark.parametrize("name", ["", " ", "\u202e\u200b", "\x01"])
def test_links_of_nameless_rows_have_text(browse: Callable, api: Callable, name: str) -> None:
    for table, key in (("buildings", 1), ("inspectors", 1), ("clients", 1), ("users", MOE)):
        assert api("root").patch(f"/{table}?id=eq.{key}", {"name": name}).status == 204, table
    root = browse("root")

    for path in (*LISTS, "/console/people", "/console/access", "/console/inspections/1", f"/console/people/{MOE}"):
        page = root.page(path)
        links = re.findall(r"<a [^>]*>(.*?)</a>", page, re.DOTALL)
        texts = [re.sub(r"<[^>]+>", "", each).strip() for each in links]
        assert "" not in texts, path
        assert "(no name)" in page or path == "/console/", path
    assert '<option value="1">(no name)</option>' in root.page("/console/inspections/new")


def test_bidi_controls_are_removed_from_names(browse: Callable, api: Callable) -> None:
    for table, key in (("buildings", 1), ("users", MOE)):
        api("root").patch(f"/{table}?id=eq.{key}", {"name": f"x{TURN}gpj.exe"})
    root = browse("root")

    for path in (
        *LISTS,
        "/console/people",
        "/console/access",
        f"/console/people/{MOE}",
        "/console/buildings/1/delete",
        "/console/devices",
        f"/console/why?person={MOE}&kind=building&key=1",
        "/console/inspections/new",
    ):
        page = root.page(path)
        assert TURN not in page, path
        assert "xgpj.exe" in page, path
    made = {
        "name": f"y{TURN}gpj.exe",
        "email": "y@x.example",
        "password": "yes it walks",
        "role": "client_manager",
        "client_id": "1",
    }
    sent = root.send("/console/people/new", made).headers["Location"]
    assert "User ygpj.exe created." in root.page(sent)
    assert TURN in root.page("/console/buildings/1/edit")
