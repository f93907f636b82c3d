"""The order of lists: every column sorts, and ranked values sort by their rank."""

import re
from collections.abc import Callable
from html import unescape

import pytest

from models.vocabulary import SEVERITIES, UNITS
from routes.console.components import lists
from tests.console.generic import generic_pages
from tests.console.test_photographs import send
from tests.support.photographs import photograph

pytestmark = pytest.mark.slow

LISTS = sorted({page.path for page in generic_pages() if page.suffix == ""})
HEADINGS = re.compile(r'<th scope="col" class="([^"]*)"( aria-sort="[a-z]+")?>(?:<a href="([^"]+)">)?([^<]+)')


@pytest.fixture(scope="module", autouse=True)
def rows_that_the_data_set_lacks(browse_shared: Callable) -> None:
    """Store a file, and issue a report and a letter."""
    root = browse_shared("root")
    letter = {"to_name": "Pier Trust", "to_address": "1 Harbor Road", "answer_by": "2031-01-01"}
    made = (
        send(root, "/console/findings/1", ("a.jpg", photograph("a"))),
        root.fill_in("/console/inspections/1/issue?kind=findings", {"signed_name": "Root"}),
        root.fill_in("/console/findings/letter?ids=1", letter),
    )
    assert [each.status_code for each in made] == [303] * 3


def headings(page: str) -> dict[str, tuple[str, str]]:
    """Return the `aria-sort` and the URL of each heading of a list, by label."""
    return {label: (sort, unescape(url)) for _, sort, url, label in HEADINGS.findall(page)}


def keys(page: str, path: str) -> list[int]:
    seen = re.findall(rf'href="{path}/([0-9]+)"', page.partition("<tbody>")[2])
    return [int(each) for each in dict.fromkeys(seen)]


@pytest.mark.parametrize("path", LISTS)
def test_every_column_of_a_list_sorts_both_ways(browse_shared: Callable, path: str) -> None:
    root = browse_shared("root")
    shown = headings(root.page(path))
    assert shown

    for label, (sort, url) in shown.items():
        assert sort, (path, label)
        for each in (url, headings(root.page(url))[label][1]):
            assert 'aria-sort="ascending"' in root.page(each) or 'aria-sort="descending"' in root.page(each)
            assert root.get(each.replace(path, f"{path}.csv", 1)).status_code == 200, each


@pytest.mark.parametrize(
    ("path", "label", "direction"),
    [
        ("inspections", "Building", "asc"),
        ("inspections", "Inspector", "asc"),
        ("inspections", "Type", "asc"),
        ("findings", "Inspection", "asc"),
        ("findings", "Severity", "asc"),
        ("findings", "Due", "desc"),
        ("buildings", "Client", "asc"),
        ("reports_lead", "Inspection", "desc"),
        ("inspectors", "License expires", "desc"),
    ],
)
def test_first_click_sorts_ascending_and_dates_newest_first(
    browse_shared: Callable, path: str, label: str, direction: str
) -> None:
    address = f"/console/{path}?order=id.asc"

    assert f".{direction}" in headings(browse_shared("root").page(address))[label][1]


@pytest.fixture
def findings(api: Callable) -> Callable:
    """Return the API of Root after 12 findings in a mixed order."""
    rows = [
        {"inspection_id": each % 4 + 1, "description": f"Defect {each}", "severity": SEVERITIES[each * 7 % 4]}
        for each in range(12)
    ]
    assert api("root").post("/findings", rows).status == 201
    return api("root")


def test_severity_sorts_by_weight_over_pages(
    browse: Callable, findings: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "PAGE_ROWS", 3)
    severities = {row["id"]: row["severity"] for row in findings.get("/findings?select=id,severity").json}
    root = browse("root")
    url = headings(root.page("/console/findings"))["Severity"][1]
    seen: list[int] = []
    while url:
        page = root.page(url)
        seen += keys(page, "/console/findings")
        following = re.search(r'rel="next" href="([^"]+)"', page)
        url = unescape(following[1]) if following else ""

    ranks = [SEVERITIES.index(severities[each]) for each in seen]
    assert sorted(seen) == sorted(severities)
    assert ranks == sorted(ranks)
    assert set(ranks) == {0, 1, 2, 3}


def test_severest_finding_is_first_in_the_file(browse: Callable, findings: Callable) -> None:
    lines = browse("root").page("/console/findings.csv?order=severity.asc").splitlines()
    found = [each for line in lines for each in SEVERITIES if f",{each}," in line]

    assert found == sorted(found, key=SEVERITIES.index)
    assert len(found) == len(findings.get("/findings?select=id").json)


def test_api_sorts_severity_by_the_alphabet(findings: Callable) -> None:
    rows = findings.get("/findings?select=severity&order=severity").json

    assert [row["severity"] for row in rows] == sorted(row["severity"] for row in rows)


def test_request_in_the_api_has_no_order_of_the_console(browse: Callable, findings: Callable) -> None:
    for order in ("severity.asc", "inspections(buildings).asc"):
        page = browse("root").page(f"/console/findings?order={order}")
        request = unescape(page.partition("<code>GET ")[2].partition("</code>")[0])
        assert "order=due_at.asc" in request
        assert findings.get(request).status == 200


def test_units_sort_by_length(browse_shared: Callable) -> None:
    page = browse_shared("root").page("/console/schedules?order=unit.asc")
    shown = [each.lower() for each in re.findall(r"<td[^>]*>(Day|Week|Month|Year)</td>", page)]

    assert shown == sorted(shown, key=UNITS.index)
    assert len(set(shown)) > 1


def test_findings_sort_by_the_name_of_their_building(browse: Callable, findings: Callable) -> None:
    text = "/findings?select=id,inspections(buildings(name))"
    names = {row["id"]: row["inspections"]["buildings"]["name"] for row in findings.get(text).json}
    url = headings(browse("root").page("/console/findings"))["Inspection"][1]

    for direction in ("asc", "desc"):
        shown = keys(browse("root").page(url.replace(".asc", f".{direction}")), "/console/findings")
        ordered = [names[each] for each in shown]
        assert ordered == sorted(ordered, reverse=direction == "desc")
        assert len(set(ordered)) > 1


def test_hidden_building_does_not_order_findings(browse: Callable, findings: Callable) -> None:
    """Moe reads a granted inspection of building 2, and not the building."""
    moe = browse("moe")
    lists_of_names = []
    for name in ("AAA", "ZZZ"):
        assert findings.patch("/buildings?id=eq.2", {"name": name}).status == 204
        orders = ("inspections(buildings).asc", "inspections(buildings).desc")
        lists_of_names.append(
            [keys(moe.page(f"/console/findings?order={each}"), "/console/findings") for each in orders]
        )

    assert lists_of_names[0] == lists_of_names[1]
    assert 3 in lists_of_names[0][0]
