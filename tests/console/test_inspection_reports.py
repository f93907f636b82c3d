"""The reports of inspections and the details of buildings in the console."""

import re
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.one_engine

REPORT = "/console/inspections/2/report"
DETAILS = {"year_built": 1928, "owner_name": "Pier Street Trust", "owner_phone": "+1 207 555 0100"}


def buttons(page: str) -> list[str]:
    return re.findall(r'<a class="button" href="(/console/inspections/[^"]*/report[^"]*)">', page)


def test_inspection_has_buttons_of_its_reports(browse: Callable, api: Callable) -> None:
    [fire] = (
        api("service")
        .post("/inspections", {"building_id": 1, "inspection_type": "fire"}, prefer="return=representation")
        .json
    )

    for who in ("root", "ada", "moe"):
        assert buttons(browse(who).page("/console/inspections/2")) == [f"{REPORT}?kind=lead", f"{REPORT}?kind=findings"]
    path = f"/console/inspections/{fire['id']}"
    assert buttons(browse("ada").page(path)) == [f"{path}/report?kind=findings"]


def test_report_links_to_the_inspection_and_the_other_rules(browse: Callable) -> None:
    page = browse("moe").page(f"{REPORT}?kind=lead&rule=VA")

    assert re.findall(r'href="(/[^"]*)"', page) == [
        "/console/inspections/2",
        *(f"{REPORT}?kind=lead&amp;rule={rule}" for rule in ("federal", "MN", "MI")),
    ]
    assert "18VAC15-30-540" in page


def test_report_has_the_content_of_the_api(browse: Callable, api: Callable) -> None:
    main = re.compile(r"<header>.*</main>", re.DOTALL)

    for kind in ("lead", "findings"):
        page = browse("moe").get(f"{REPORT}?kind={kind}").data.decode()
        [content] = main.findall(page)
        assert content in api("moe").get(f"/reports/inspections/2?kind={kind}").text


@pytest.mark.parametrize("query", ["", "?kind=lead", "?kind=findings"])
def test_hidden_and_missing_reports_have_equal_pages(browse: Callable, query: str) -> None:
    moe = browse("moe")

    hidden, missing = (moe.get(f"/console/inspections/{key}/report{query}") for key in (4, 999))

    assert (hidden.status_code, hidden.text) == (404, missing.text)


def test_report_ends_with_the_grant(browse: Callable, api: Callable) -> None:
    moe = browse("moe")
    assert moe.get(REPORT).status_code == 200

    assert api("service").delete("/client_manager_building_access?building_id=eq.1").status == 204

    assert moe.get(REPORT).status_code == 404


def test_building_shows_its_details(browse: Callable, api: Callable) -> None:
    assert api("service").patch("/building_details?building_id=eq.1", DETAILS).status == 204

    for who in ("root", "ada", "moe"):
        page = browse(who).page("/console/buildings/1")
        section = page.partition('id="details"')[2].partition("</section>")[0]
        assert all(str(value) in section for value in DETAILS.values())
        assert ('href="/console/building_details/1/edit"' in section) is (who != "moe")


def test_details_are_added_and_edited_from_the_page_of_the_building(browse: Callable, api: Callable) -> None:
    assert api("service").delete("/building_details?building_id=eq.1").status == 204
    ada = browse("ada")
    page = ada.page("/console/buildings/1")
    assert 'href="/console/building_details/new?building_id=1"' in page
    assert "No details." in page
    assert "building_details" not in browse("moe").page("/console/buildings/1")

    added = ada.fill_in("/console/building_details/new?building_id=1", {"year_built": "1928"})
    edited = ada.fill_in("/console/building_details/1/edit", {"child_occupied": "yes", "owner_name": "Pier Trust"})

    assert [each.headers["Location"].partition("?")[0] for each in (added, edited)] == ["/console/buildings/1"] * 2
    [row] = api("ada").get("/building_details?building_id=eq.1").json
    assert (row["year_built"], row["child_occupied"], row["owner_name"]) == (1928, "yes", "Pier Trust")


def test_details_of_hidden_buildings_do_not_exist(browse: Callable) -> None:
    ada = browse("ada")
    answers = [ada.get(f"/console/building_details/{key}/edit") for key in (4, 999)]

    assert [each.status_code for each in answers] == [404, 404]
    assert answers[0].text == answers[1].text
