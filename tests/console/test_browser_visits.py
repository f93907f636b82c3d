"""A visit on a telephone: findings, a failed visit, and the users who fix and verify what it found."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tests.clients.server import KEYS
from tests.conftest import MIA
from tests.console.conftest import PHONE, Service
from tests.console.test_browser import OVERFLOW

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("a browser shows the same pages over both engines")]

REPRESENTATION = "return=representation"
HEADS = {"apikey": KEYS["ANON_KEY"], "Authorization": f"Bearer {KEYS['SERVICE_KEY']}", "Prefer": REPRESENTATION}
SEVERITIES = ("Life threatening", "Severe", "Moderate", "Low")


@pytest.fixture
def visit(service: Service) -> str:
    """Give Mia a fire inspection of today in Harbor House, and return its page."""
    row = {"building_id": 1, "inspection_type": "fire", "status": "scheduled", "inspector_id": 2}
    row["date_visited"] = str(datetime.now(UTC).date())
    link = httpx.patch(f"{service.url}/inspectors?id=eq.2", headers=HEADS, json={"user_id": MIA})
    made = httpx.post(f"{service.url}/inspections", headers=HEADS, json=row)
    assert (link.status_code, made.status_code) == (200, 201), made.text
    return f"/console/inspections/{made.json()[0]['id']}"


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_visit_from_the_first_finding_to_the_verified_one(open_page: Callable, visit: str, scripts: bool) -> None:
    mia = open_page("mia", scripts=scripts, size=PHONE)
    mia.goto("/console/visits")
    mia.get_by_role("region", name="Today").get_by_role("link", name="Harbor House").last.click()
    mia.get_by_role("button", name="Start visit").click()
    mia.get_by_text("Visit started.").wait_for()
    mia.get_by_label("Place").fill("3D, hall")
    for number in range(4):
        mia.get_by_label(SEVERITIES[0]).check()
        mia.get_by_label("Item").fill(f"Item {number}")
        mia.get_by_label("Description").fill(f"Defect {number}")
        mia.get_by_role("button", name="Add finding").click()
        mia.get_by_role("link", name=f"Defect {number} 3D, hall").wait_for()
    assert mia.evaluate(OVERFLOW) <= 0

    mia.get_by_role("link", name="Close visit").click()
    mia.get_by_label("Result").select_option("failed")
    mia.get_by_label("Re-inspect on").fill(str(datetime.now(UTC).date() + timedelta(7)))
    mia.get_by_role("button", name="Close visit").click()
    mia.get_by_text("Visit closed.").wait_for()
    mia.get_by_role("heading", name="Case").wait_for()

    moe = open_page("moe", scripts=scripts, size=PHONE)
    moe.goto(visit)
    assert moe.get_by_role("button", name="Verify").count() == 0
    moe.get_by_role("button", name="Mark fixed Defect 0").click()
    moe.get_by_text("1 finding fixed.").wait_for()

    ada = open_page("ada", scripts=scripts)
    ada.goto("/console/findings")
    ada.get_by_role("link", name="To verify 1").click()
    ada.get_by_label("Choose Defect 0").check()
    ada.get_by_role("button", name="Verify").click()
    ada.get_by_role("button", name="Verify").click()
    assert ada.get_by_role("status").inner_text() == "1 finding verified."
    ada.get_by_text("No findings match.").wait_for()


class Phone:
    """A page whose taps and loads are counted."""

    def __init__(self, page: object) -> None:
        self.page, self.taps, self.loads = page, 0, 0
        page.on("domcontentloaded", self.count_load)

    def count_load(self, page: object) -> None:
        self.loads += 1

    def tap(self, target: object) -> None:
        self.taps += 1
        target.click()

    def type(self, target: object, text: str) -> None:
        self.tap(target)
        target.fill(text)


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_visit_takes_at_most_20_taps_and_8_loads(open_page: Callable, visit: str, scripts: bool) -> None:
    page = open_page("mia", scripts=scripts, size=PHONE)
    page.goto("/console/visits")
    phone = Phone(page)
    add = page.get_by_role("button", name="Add finding")

    phone.tap(page.get_by_role("region", name="Today").get_by_role("link", name="Harbor House").last)
    phone.type(page.get_by_label("Place"), "3D, hall")
    for number in range(3):
        phone.type(page.get_by_label("Description"), f"Defcet {number}")
        if number == 1:
            phone.tap(add)  # an error: the severity is missing
            assert page.locator("[name=severity]:invalid").count() == 4
        phone.tap(page.get_by_label(SEVERITIES[number]))
        phone.tap(add)
        page.get_by_role("link", name=f"Defcet {number}").and_(page.locator(".findings a")).first.wait_for()
        assert page.get_by_role("status").is_visible()
        assert page.get_by_role("status").bounding_box()["y"] >= 0
    phone.tap(page.get_by_role("link", name="Edit Defcet 1"))
    phone.type(page.get_by_label("Description"), "Defect 1")
    phone.tap(page.get_by_role("button", name="Save"))
    page.get_by_role("link", name="Edit Defect 1").wait_for()
    assert 0 <= page.get_by_role("status").bounding_box()["y"] < PHONE["height"]
    phone.tap(page.get_by_role("link", name="Close visit"))
    phone.taps += 1  # a select takes two taps
    phone.tap(page.get_by_label("Result"))
    page.get_by_label("Result").select_option("failed")
    phone.tap(page.get_by_role("button", name="Close visit"))
    page.get_by_text("Visit closed.").wait_for()
    page.get_by_role("link", name="My visits").and_(page.locator("#findings a")).wait_for()

    assert (phone.taps, phone.loads) == (19, 8)  # at most 20 and 8


def test_rows_of_visits_are_one_target(open_page: Callable, visit: str) -> None:
    page = open_page("mia", size=PHONE)
    page.goto("/console/visits")
    row = page.get_by_role("region", name="Today").get_by_role("listitem").last
    box = row.bounding_box()

    assert box["height"] >= 44
    row.click(position={"x": box["width"] - 4, "y": box["height"] - 4})
    page.wait_for_url(f"**{visit}")
