"""The day of TIMEZONE on the dashboard and on the kiosk display."""

import re
from collections.abc import Callable
from zoneinfo import ZoneInfo

import pytest

from tests.console.conftest import FormClient
from tests.console.test_kiosk_displays import create_kiosk_display, enter
from tests.support.set_clock import SetClock

EVENING = "2026-11-21T01:20:00+00:00"  # of 2026-11-20 in New York
MIDNIGHT = "2026-11-21T05:00:00+00:00"


@pytest.fixture
def clock(app: object, api: Callable) -> SetClock:
    """The clock of a database in New York with an inspection of 2026-11-20."""
    changed = api("ada").patch("/inspections?id=eq.1", {"status": "scheduled", "date_visited": "2026-11-20"})
    assert changed.status == 204, changed.text
    clock = SetClock(EVENING)
    database = app.extensions["walkthrough"]
    database.clock = app.extensions["walkthrough.clock"] = clock
    database.time_zone = ZoneInfo("America/New_York")
    return clock


def panel(page: str, heading: str) -> str:
    found = re.search(rf'<section class="panel[^"]*"><h2>{heading} .*?</section>', page, re.DOTALL)
    assert found, page
    return found[0]


def test_day_turns_on_a_running_kiosk_display(clock: SetClock, browse: Callable) -> None:
    display: FormClient = enter(browse, create_kiosk_display(browse("ada")))
    pages = [display.page("/console/kiosk/board")]
    clock.set(MIDNIGHT)
    pages.append(display.page("/console/kiosk/board"))

    assert ["20 Nov 2026" in panel(page, "Due today") for page in pages] == [True, False]
    assert ["20 Nov 2026" in panel(page, "Overdue") for page in pages] == [False, True]
    assert "Friday, 20 Nov 2026" in pages[0]
    assert "Saturday, 21 Nov 2026" in pages[1]


def test_day_turns_on_the_dashboard(clock: SetClock, browse: Callable) -> None:
    ada = browse("ada")
    for yesterday in ("2026-11-19", "2026-11-20"):
        assert f"date_visited=lte.{yesterday}" in ada.page("/console/")
        clock.set(MIDNIGHT)
