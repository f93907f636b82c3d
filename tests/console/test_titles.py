"""What inspections, findings, schedules and people are called on every page."""

import re
from collections.abc import Callable

import pytest

from tests.conftest import MIA, MOE
from tests.console.conftest import FormClient

pytestmark = pytest.mark.one_engine

VISIT = "Annual at Harbor House, 1 Mar 2025"
KEY = 9_000
FINDING = "Smoke alarm, 3D bathroom at Harbor House"
SCHEDULE = "Fire, Sprinklers at Harbor House"


@pytest.fixture
def rows(api: Callable) -> None:
    """A finding, a schedule and a reading at Harbor House. Inspection 1 is granted to Mia."""
    bodies = {
        "findings": {"id": KEY, "inspection_id": 1, "item": "Smoke alarm", "place": "3D bathroom",
                     "description": "It is missing.", "severity": "severe"},
        "schedules": {"id": KEY, "building_id": 1, "inspection_type": "fire", "title": "Sprinklers", "every": 1,
                      "unit": "year", "first_due": "2030-01-31"},
        "reports_lead": {"id": KEY, "inspection_id": 1, "result": "positive"},
        "client_manager_inspection_access": {"manager_id": MIA, "inspection_id": 1},
    }  # fmt: skip
    for table, body in bodies.items():
        answer = api("root").post(f"/{table}", body)
        assert answer.status in (201, 409), answer.text


def title_of(page: str) -> str:
    found = re.search(r"<title>(.*?) · Walkthrough</title>", page)
    assert found
    return found[1]


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("inspections/1", VISIT),
        (f"findings/{KEY}", FINDING),
        (f"schedules/{KEY}", SCHEDULE),
        ("inspections/1/edit", f"Edit {VISIT}"),
        (f"findings/{KEY}/edit", f"Edit {FINDING}"),
        (f"schedules/{KEY}/edit", f"Edit {SCHEDULE}"),
        ("inspections/1/delete", f"Delete {VISIT}?"),
        (f"findings/{KEY}/delete", f"Delete {FINDING}?"),
        (f"schedules/{KEY}/delete", f"Delete {SCHEDULE}?"),
        (f"schedules/{KEY}/end", f"End {SCHEDULE}"),
        (f"findings/move/fixed?ids={KEY}", f"Mark fixed: {FINDING}"),
        (f"inspections/1/access?person={MOE}", f"Grant {VISIT} to Moe?"),
    ],
)
def test_page_has_the_title_of_its_row_in_heading_and_title(
    rows: None, browse: Callable, path: str, title: str
) -> None:
    page = browse("ada").page(f"/console/{path}")
    heading = re.search(r"<h1>(.*?)</h1>", page, re.DOTALL)

    assert heading
    assert re.sub(r" <span.*", "", heading[1]).strip() == title
    assert title_of(page) == title.removesuffix("?").replace(" to Moe", "")


@pytest.mark.parametrize(
    ("path", "title"),
    [
        (f"findings/{KEY}", VISIT),
        (f"reports_lead/{KEY}", VISIT),
        ("findings?status=eq.open", VISIT),
        ("reports_lead", VISIT),
        ("inspection_plans", "Fire at Harbor House, 31 Jan 2030"),
        ("inspection_plans", SCHEDULE),
        ("why?kind=inspection&key=1", VISIT),
    ],
)
def test_links_of_other_pages_have_the_title(rows: None, browse: Callable, path: str, title: str) -> None:
    assert re.search(rf"<a [^>]*>{re.escape(title)}</a>", browse("ada").page(f"/console/{path}"))


def test_breadcrumb_names_the_row_that_a_page_belongs_to(rows: None, browse: Callable) -> None:
    crumb = re.search(r'<p class="crumb">(.*?)</p>', browse("ada").page(f"/console/reports_lead/{KEY}"), re.DOTALL)

    assert crumb
    assert re.findall(r">([^<>]+)</a>", crumb[1]) == ["Lead readings", VISIT]


def test_titles_leave_out_a_building_that_the_caller_does_not_see(rows: None, browse: Callable) -> None:
    mia = browse("mia")

    pages = {path: mia.page(f"/console/{path}") for path in ("inspections/1", f"findings/{KEY}", "findings")}

    assert title_of(pages["inspections/1"]) == "Annual, 1 Mar 2025"
    assert title_of(pages[f"findings/{KEY}"]) == "Smoke alarm, 3D bathroom"
    for path, page in pages.items():
        assert ">Annual, 1 Mar 2025</a>" in page or path == "inspections/1"
        assert "Harbor House" not in page


def test_deletion_names_the_row(rows: None, browse: Callable) -> None:
    ada = browse("ada")

    sent = ada.send(f"/console/findings/{KEY}/delete")

    assert f"{FINDING} deleted." in ada.page(sent.headers["Location"])


def test_change_of_many_inspections_names_each(browse: Callable, api: Callable) -> None:
    api("root").patch("/inspections?id=eq.1", {"status": "scheduled"})

    assert f"{VISIT}: Scheduled → Cancelled" in browse("ada").page("/console/inspections/change/status?ids=1")


# An inspector and the user who signs in as them


@pytest.fixture
def linked(api: Callable, browse: Callable) -> FormClient:
    """Inspector 2 is Mia, under another name."""
    api("root").patch("/inspectors?id=eq.2", {"user_id": MIA, "name": "M. Lee"})
    api("root").patch("/inspections?id=eq.1", {"inspector_id": 2})
    return browse("root")


BOTH = "Mia (inspector: M. Lee)"


@pytest.mark.parametrize(
    "path",
    ["inspectors", "inspectors/2", "inspections?id=eq.1", "inspections/1", "people", f"people/{MIA}", "inspections/new",
     f"why?person={MIA}&kind=inspection&key=1", "devices", f"inspections/1/access?person={MIA}"],
)  # fmt: skip
def test_two_names_of_an_inspector_are_shown_together(linked: FormClient, path: str) -> None:
    assert BOTH in linked.page(f"/console/{path}")


def test_renaming_on_either_side_is_visible_on_the_other(linked: FormClient, api: Callable) -> None:
    linked.fill_in("/console/inspectors/2/edit", {"name": "Mia Lee"})
    assert "<h1>Mia (inspector: Mia Lee)" in linked.page(f"/console/people/{MIA}")

    linked.fill_in(f"/console/people/{MIA}/edit", {"name": "Mia Lee"})

    for path in (f"people/{MIA}", "inspectors/2", "inspections/1"):
        page = linked.page(f"/console/{path}")
        assert ("Mia Lee" in page, "inspector:" in page) == (True, False), path


def test_name_of_a_hidden_user_is_not_shown(linked: FormClient, browse: Callable, api: Callable) -> None:
    api("root").patch(f"/users?id=eq.{MIA}", {"name": "Hidden Mia"})

    page = browse("moe").page("/console/inspections/1")

    assert ("M. Lee" in page, "Hidden" in page) == (True, False)
