"""A calendar feed in two unmodified readers, icalendar and ical.js: after each change the next fetch says so."""

import datetime
import html
import json
import re
import subprocess
from collections.abc import Callable

import httpx
import pytest
from icalendar import Calendar

from tests.clients import node
from tests.clients.server import Server, password_of
from tests.conftest import MOE
from tests.support import tokens

INES, UMA = 1, 3
VISIT = 3  # of Mill Court, which no other visit of moe is at
TODAY = datetime.datetime.now(datetime.UTC).date()
READER_SECONDS_MAX = 30

Event = dict[str, object]


def read_with_icalendar(feed: str) -> list[Event]:
    return [
        {
            "uid": str(each["uid"]),
            "summary": str(each["summary"]),
            "sequence": each["sequence"],
            "status": str(each["status"]),
            "start": each["dtstart"].dt.isoformat(),
            "end": each["dtend"].dt.isoformat(),
        }
        for each in Calendar.from_ical(feed).walk("VEVENT")
    ]


def read_with_ical_js(feed: str) -> list[Event]:
    node.installed()
    words = [str(node.NODE), "feed.js"]
    ran = subprocess.run(
        words, cwd=node.JS, input=feed, capture_output=True, text=True, timeout=READER_SECONDS_MAX, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def change(server: Server, path: str, **values: object) -> None:
    headers = {"apikey": tokens.ANON_KEY, "Authorization": f"Bearer {tokens.SERVICE_KEY}"}
    assert httpx.patch(f"{server.url}{path}", json=values, headers=headers).status_code == 204


def make_link(server: Server) -> str:
    """Sign moe in and make a link, as a browser without scripts does."""
    with httpx.Client(base_url=server.url, follow_redirects=True) as browser:

        def submit(page: str, action: str, **fields: str) -> str:
            found = re.search(r'name="csrf" value="([^"]+)"', browser.get(page).text)
            assert found
            return browser.post(action, data={"csrf": html.unescape(found[1]), **fields}).text

        submit("/console/sign-in", "/console/sign-in", email="moe@acme.example", password=password_of("Moe"))
        page = submit("/console/account", "/console/account/calendar", link_name="Phone")
    shown = re.search(r'class="token">([^<]+)<', page)
    assert shown, page
    return html.unescape(shown[1])


@pytest.mark.parametrize("read", [read_with_icalendar, read_with_ical_js])
def test_feed_shows_each_change_at_the_next_fetch(server: Server, read: Callable[[str], list[Event]]) -> None:
    visit, booked, moved = f"/inspections?id=eq.{VISIT}", TODAY + datetime.timedelta(3), TODAY + datetime.timedelta(4)
    change(server, f"/inspectors?id=eq.{INES}", user_id=MOE)
    change(server, visit, date_visited=str(booked), status="scheduled", inspector_id=INES)
    link = make_link(server)

    def fetch() -> list[Event]:
        answer = httpx.get(link)
        assert answer.status_code == 200, answer.text
        return [each for each in read(answer.text) if each["summary"] == "Fire at Mill Court"]

    [first] = fetch()
    change(server, visit, date_visited=str(moved))
    [second] = fetch()
    change(server, visit, status="cancelled")
    [third] = fetch()
    change(server, visit, inspector_id=UMA)

    assert (first["start"], first["end"], first["status"]) == (str(booked), str(moved), "CONFIRMED")
    assert (second["start"], second["status"]) == (str(moved), "CONFIRMED")
    assert (third["start"], third["status"]) == (str(moved), "CANCELLED")
    assert first["uid"] == second["uid"] == third["uid"]
    assert first["sequence"] <= second["sequence"] <= third["sequence"]
    assert fetch() == []


def test_log_of_the_service_holds_no_token(server: Server) -> None:
    change(server, f"/inspectors?id=eq.{INES}", user_id=MOE)
    link = make_link(server)
    token = link.rpartition("/wtc_")[2].removesuffix(".ics")

    for url in (link, f"{link}/", link.removesuffix(".ics"), f"{link}?x=%", f"{link}#x"):
        httpx.get(url)
        httpx.post(url, content=b"x" * 10_000)

    assert '"path": "/calendar/wtc_\\u2026.ics"' in server.log
    assert token not in server.log
