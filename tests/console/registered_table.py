"""A table that describes itself has console pages. `tests/contract/test_registered_table.py` runs this."""

from collections.abc import Callable


def test_registered_table_has_pages(browse: Callable) -> None:
    root, ada, moe = (browse(name) for name in ("root", "ada", "moe"))

    assert 'href="/console/elevators">Elevators</a>' in ada.page("/console/")
    form = ada.page("/console/elevators/new")
    assert '<option value="goods">Goods</option>' in form
    assert 'max="50"' in form
    assert "The most persons at a time." in form
    assert "access_code" not in form
    typed = {"building_id": "1", "name": "North", "kind": "goods"}
    refused = ada.send("/console/elevators/new", {**typed, "persons": "51"})
    assert "Persons is at most 50." in refused.text
    made = ada.fill_in("/console/elevators/new", {**typed, "persons": "8"})
    page = made.headers["Location"].partition("?")[0]
    assert "Harbor House" in ada.page(page)
    assert "North" in ada.page("/console/buildings/1"), "the page of the building lists it"
    assert ada.fill_in(f"{page}/edit", {"persons": "9"}).status_code == 303
    assert "Harbor House" in ada.page("/console/elevators?kind=eq.goods&persons=eq.9")
    assert ",North,goods,9" in ada.get("/console/elevators.csv").text
    assert (moe.get(page).status_code, moe.get("/console/elevators/new").status_code) == (404, 403)
    assert "1 elevator" in root.page("/console/buildings/1/delete")
    assert "Delete North?" in ada.page(f"{page}/delete")
    assert ada.send(f"{page}/delete").status_code == 303
    assert ada.get(page).status_code == 404
