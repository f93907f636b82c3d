"""A visit on a telephone: findings, a failed visit, and the users who fix and verify what it found."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tests.clients.server import KEYS
from tests.conftest import MIA
from tests.console.conftest import PHONE, Service
from tests.console.test_browser import OVERFLOW
from tests.support.photographs import photograph

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("a browser shows the same pages over both engines")]

REPRESENTATION = "return=representation"
HEADS = {"apikey": KEYS["ANON_KEY"], "Authorization": f"Bearer {KEYS['SERVICE_KEY']}", "Prefer": REPRESENTATION}
SEVERITIES = ("Life threatening", "Severe", "Moderate", "Low")


@pytest.fixture
def visit(service: Service) -> str:
    """Give Mia a fire inspection of today in Harbor House, and return its page."""
    return make_visit(service, "fire")


def make_visit(service: Service, kind: str) -> str:
    row = {"building_id": 1, "inspection_type": kind, "status": "scheduled", "inspector_id": 2}
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

    mia.locator("summary", has_text="Close visit").click()
    mia.get_by_label("Failed", exact=True).check()
    mia.get_by_label("Re-inspect on").fill(str(datetime.now(UTC).date() + timedelta(7)))
    mia.get_by_role("button", name="Close visit").click()
    mia.get_by_text("Visit closed.").wait_for()
    mia.get_by_role("heading", name="Case").wait_for()

    moe = open_page("moe", scripts=scripts, size=PHONE)
    moe.goto(visit)
    assert moe.get_by_role("button", name="Verify").count() == 0
    moe.get_by_role("button", name="Mark fixed Defect 0").click()
    moe.get_by_text("1 finding fixed.").wait_for()

    mia.goto("/console/visits")
    mia.get_by_role("link", name="Harbor House").last.click()
    mia.get_by_role("button", name="Start visit").click()
    mia.get_by_text("Visit started.").wait_for()

    ada = open_page("ada", scripts=scripts)
    ada.goto("/console/findings")
    ada.get_by_role("link", name="To verify 1").click()
    ada.get_by_label("Choose Defect 0").check()
    ada.get_by_role("button", name="Verify").click()
    ada.get_by_label("Verified by").select_option("photo")
    ada.get_by_role("button", name="Verify").click()
    ada.get_by_text("1 finding verified.").wait_for()
    ada.get_by_text("No findings match.").wait_for()


class Phone:
    """A page whose taps and loads are counted."""

    def __init__(self, page: object) -> None:
        self.page, self.taps, self.loads = page, 0, 0
        page.on("request", self.count_load)

    def count_load(self, request: object) -> None:
        """Count a request for a page. A redirect belongs to its request."""
        self.loads += request.is_navigation_request() and request.redirected_from is None

    def tap(self, target: object) -> None:
        self.taps += 1
        target.click()

    def choose(self, target: object, text: str) -> None:
        """Take a photograph. The taps of the camera do not count."""
        self.taps += 1
        file = {"name": "image.jpg", "mimeType": "image/jpeg", "buffer": photograph(text, (1_600, 1_200))}
        target.set_input_files([file])

    def type(self, target: object, text: str) -> None:
        self.tap(target)
        target.fill(text)


@pytest.fixture
def lead_visit(service: Service) -> str:
    """Give Mia a lead inspection of today in Harbor House, and return its page."""
    return make_visit(service, "lead")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_lead_visit_takes_at_most_32_taps_and_8_loads(open_page: Callable, lead_visit: str, scripts: bool) -> None:
    """Three findings with a photograph each, a check, a reading, and the result."""
    page = open_page("mia", scripts=scripts, size=PHONE)
    page.goto("/console/visits")
    phone = Phone(page)

    phone.tap(page.get_by_role("region", name="Today").locator(f"a[href='{lead_visit}']"))
    phone.tap(page.get_by_role("button", name="Start visit"))
    page.get_by_text("Visit started.").wait_for()
    phone.type(page.get_by_label("Place"), "3D, hall")
    phone.tap(page.get_by_label(SEVERITIES[1], exact=True))
    for number in range(3):
        before = phone.taps, phone.loads
        phone.type(page.get_by_label("Description"), f"Defect {number}")
        phone.choose(page.get_by_label("Photo of the finding"), f"defect {number} {scripts}")
        phone.tap(page.get_by_role("button", name="Add finding"))
        page.locator(".findings .thumbs img").nth(number).wait_for()
        page.get_by_text("Finding added.").wait_for()
        assert page.get_by_label("Place").input_value() == "3D, hall"
        assert page.get_by_label(SEVERITIES[1], exact=True).is_checked()
        assert (phone.taps - before[0], phone.loads - before[1]) == (3, 1)  # at most 5 and 1
    checks, readings = page.locator("#calibration_checks"), page.locator("#reports_lead")
    for label, text in (("XRF gun", "20417"), ("First", "1.0"), ("Second", "1.1"), ("Third", "1.0")):
        phone.type(checks.get_by_label(label), text)
    phone.tap(checks.get_by_role("button", name="Add calibration check"))
    page.get_by_text("Calibration check added.").wait_for()
    for label, text in (("Room", "Kitchen"), ("Component", "Sill"), ("XRF gun", "20417"), ("Lead (mg/cm²)", "0.3")):
        phone.type(readings.get_by_label(label, exact=True), text)
    phone.tap(readings.get_by_role("button", name="Add reading"))
    page.get_by_text("Reading added.").wait_for()
    readings.get_by_role("cell", name="0.3").wait_for()
    phone.tap(page.locator("summary", has_text="Close visit"))
    phone.tap(page.get_by_label("Failed", exact=True))
    phone.tap(page.get_by_role("button", name="Close visit"))
    page.get_by_text("Visit closed.").wait_for()
    page.get_by_role("link", name="My visits").and_(page.locator("#visit a")).wait_for()

    assert (phone.taps, phone.loads) == (26, 8)  # at most 32 and 8
    page.set_viewport_size({"width": 320, "height": 640})
    page.locator("summary", has_text="Record, access and history").click()
    assert page.evaluate(OVERFLOW) <= 0


def test_rows_of_visits_are_one_target(open_page: Callable, visit: str) -> None:
    page = open_page("mia", size=PHONE)
    page.goto("/console/visits")
    row = page.get_by_role("region", name="Today").get_by_role("listitem").last
    box = row.bounding_box()

    assert box["height"] >= 44
    row.click(position={"x": box["width"] - 4, "y": box["height"] - 4})
    page.wait_for_url(f"**{visit}")
