"""Every kind of page in Chromium, light and dark, on four screens, with long names: no axe violation, no overflow.

The tests skip with a reason if no browser or no axe-core is available.
"""

import fcntl
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from tests.clients.node import UNREACHABLE
from tests.clients.server import KEYS
from tests.conftest import MIA, MOE
from tests.console.conftest import Service
from tests.console.kinds_of_pages import PAGES
from tests.support.photographs import photograph
from tests.support.storage import PDF

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("a browser shows the same pages over both engines")]

HEADS = {"apikey": KEYS["ANON_KEY"], "Authorization": f"Bearer {KEYS['SERVICE_KEY']}"}
JS = Path(__file__).parent / "js"
AXE = JS / "node_modules" / "axe-core" / "axe.min.js"
INSTALL_SECONDS_MAX = 120
SCREENS = ((320, 700), (390, 844), (1280, 800), (2560, 1440))
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
WIDER = """() => [...document.querySelectorAll('body *')].filter(each => {
  const edges = each.getBoundingClientRect();
  return edges.width && edges.right > document.documentElement.clientWidth + 1
    && !each.closest('.scroll, .vh, nav, .skip');
}).slice(0, 2).map(each => `${each.tagName}.${each.className} ${each.textContent.trim().slice(0, 30)}`)"""
SMALL = """[...document.querySelectorAll('button, input:not([type=hidden]), select, textarea, a.button, nav a')]
  .filter(each => each.offsetParent && !each.closest('label') && each.getBoundingClientRect().height < 43.5)
  .map(each => each.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def axe() -> str:
    """Return the source of axe-core; install it from the npm registry once."""
    npm = shutil.which("npm")
    with (JS / "package-lock.json").open() as guard:  # several test processes may run at once
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not AXE.exists():
            if npm is None:
                pytest.skip("npm is not installed: axe-core is not available")
            command = [npm, "ci", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=1"]
            ran = subprocess.run(
                command, cwd=JS, capture_output=True, text=True, timeout=INSTALL_SECONDS_MAX, check=False
            )
            if ran.returncode and (cause := UNREACHABLE.search(ran.stdout + ran.stderr)):
                pytest.skip(f"the npm registry cannot be reached ({cause[0]}): no axe-core")
            assert ran.returncode == 0, f"npm ci failed: {ran.stdout}{ran.stderr}"
    return AXE.read_text(encoding="utf-8")


RUN_AXE = """async (rules) => (await axe.run(document, {
  runOnly: rules,
  resultTypes: ["violations"],
})).violations.map(each => [each.impact, each.id, each.nodes.length, each.nodes[0].html])"""
ALL_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RULES = {390: {"light": ALL_RULES}, 1280: {"light": ALL_RULES, "dark": ["color-contrast"]}}
"""The rules by width and scheme: the layout has a narrow and a wide form, and only contrast depends on the scheme."""


@pytest.fixture(scope="module")
def long_names(service: Service) -> int:
    """Names of 60 and of 200 characters without a break, and a visit of today. Return the number of the visit."""
    half, whole = "W" * 60, "M" * 200
    for path, row in {
        "clients?id=eq.1": {"name": half},
        "clients?id=eq.2": {"name": whole},
        "buildings?id=eq.1": {"name": whole, "address": whole, "city": half},
        "buildings?id=neq.1": {"name": half, "address": whole},
        "inspectors?id=eq.1": {"name": half, "email": f"{half}@x.example", "firm": whole},
        "inspectors?id=eq.2": {"name": whole, "user_id": MIA},
        f"users?id=eq.{MOE}": {"name": whole},
        f"users?id=eq.{MIA}": {"name": half},
        "inspections?id=eq.1": {"notes": whole, "inspection_type": half, "status": whole},
        "findings?id=lt.3": {"item": half, "place": whole, "description": whole},
        "schedules?id=eq.1": {"title": whole, "basis": whole},
        "reports_lead?id=eq.1": {"result": whole},
    }.items():
        answer = httpx.patch(f"{service.url}/{path}", headers=HEADS, json=row)
        assert answer.status_code == 204, answer.text
    for place in ("inspections/1/a.jpg", "findings/1/a.jpg", "findings/1/a.pdf", f"buildings/1/{half}.jpg"):
        body = PDF if place.endswith(".pdf") else photograph(place)
        answer = httpx.post(f"{service.url}/storage/v1/object/{place}", headers=HEADS, content=body)
        assert answer.status_code == 200, answer.text
    answer = httpx.patch(f"{service.url}/files?finding_id=eq.1", headers=HEADS, json={"caption": whole})
    assert answer.status_code == 204, answer.text
    today = f"{datetime.now(UTC).date()}"
    visit = {
        "building_id": 1,
        "inspection_type": "fire",
        "status": "scheduled",
        "date_visited": today,
        "inspector_id": 2,
    }
    made = httpx.post(f"{service.url}/inspections", headers={**HEADS, "Prefer": "return=representation"}, json=visit)
    assert made.status_code == 201, made.text
    return int(made.json()[0]["id"])


@pytest.mark.parametrize("who", ["root", "moe", "mia"])
def test_pages_are_accessible_and_as_wide_as_each_screen(
    open_page: Callable, axe: str, long_names: int, who: str
) -> None:
    page = open_page(who)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    visit = f"/console/inspections/{long_names}"
    pages = [*PAGES[who], "/console/sign-in"] if who != "mia" else ["/console/visits", visit, f"{visit}/close_visit"]
    page.goto("/console/findings/1")
    urls = {each.get_attribute("href") for each in page.locator(".gallery .picture").all()}
    assert len(urls) == (0 if who == "mia" else 2)
    pages += [
        "/console/files",
        *urls,
        *(f"{url}/{form}" for url in urls for form in ("edit", "delete") if who == "root"),
    ]
    found: list[tuple] = []
    for path in pages:
        page.goto(path)
        page.evaluate(axe)
        found += [(path, "small", each) for each in page.evaluate(SMALL)]
        for width, height in SCREENS:
            page.set_viewport_size({"width": width, "height": height})
            if (over := page.evaluate(OVERFLOW)) > 0:
                found.append((path, width, "wider than the screen", over, page.evaluate(WIDER)))
            for scheme, rules in RULES.get(width, {}).items():
                page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
                found += [(path, width, scheme, *fault) for fault in page.evaluate(RUN_AXE, rules)]

    assert found == [], "\n".join(map(str, found))
    assert [each for each in complaints if "404" not in each and "401" not in each] == []
