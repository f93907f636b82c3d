"""Calendar feeds: whose inspections are in them, what a change does to an event, and what ends a link."""

import copy
import datetime
from collections.abc import Callable
from typing import Any

import pytest
from icalendar import Calendar

from access.accounts.api_key import create_key, list_keys_of_user, new_calendar_link, revoke_key
from access.policy import PermissionDenied
from inspections.reporting import calendar
from tests.conftest import ADA, MIA, MOE, dump
from tests.inspections.calendar_world import (
    BOOKED,
    LATER,
    MOMENT,
    OF_INES,
    OTHER_CLIENT,
    TOO_OLD,
    UMA,
    Feeds,
    calendar_rows,
    visit,
)  # fmt: skip

NOT_FOUND = "Invalid path specified in request URL"


@pytest.fixture
def feeds(world: Callable) -> Feeds:
    return Feeds(world(calendar_rows(), MOMENT))


def days(events: list[Any]) -> set[tuple[str, str]]:
    return {(str(each["summary"]), each["dtstart"].dt.isoformat()) for each in events}


def of_summary(events: list[Any], summary: str) -> Any:
    (event,) = [each for each in events if each["summary"] == summary]
    return event


# Contents


def test_inspector_gets_their_own_visits_and_due_dates(feeds: Feeds) -> None:
    assert days(feeds.events(feeds.link("mia", is_inspector=True))) == {
        ("Fire at Mill Court", "2026-03-12"),
        ("Due: Fire at Mill Court", "2026-03-31"),
        ("Due: Fire at Mill Court", "2026-05-01"),
        ("Fire at Harbor House", "2025-12-10"),
        ("Fire at Harbor House", "2027-03-10"),
        ('Fire at Ash, "The" Lofts (North)', "2026-04-01"),
    }


def test_client_admin_gets_the_inspections_of_their_client(feeds: Feeds) -> None:
    assert days(feeds.events(feeds.link("ada"))) == {
        ("Fire at Mill Court", "2026-03-12"),
        ("Due: Fire at Mill Court", "2026-03-31"),
        ("Due: Fire at Mill Court", "2026-05-01"),
        ("Fire at Harbor House", "2025-12-10"),
        ("Fire at Harbor House", "2027-03-10"),
        ("Fire at Harbor House", "2026-03-20"),
    }
    assert days(feeds.events(feeds.link("bob"))) == {('Fire at Ash, "The" Lofts (North)', "2026-04-01")}


@pytest.mark.parametrize("who", ["root", "moe"])
def test_users_without_a_calendar_make_no_link(feeds: Feeds, who: str) -> None:
    with pytest.raises(PermissionDenied):
        feeds.link(who)


def test_link_is_made_for_oneself_only(feeds: Feeds) -> None:
    with pytest.raises(PermissionDenied), feeds.stored.writing() as transaction:
        create_key(transaction, feeds.caller("ada"), MOE, new_calendar_link("Phone"))


def test_event_is_an_all_day_event_with_place_state_and_page(feeds: Feeds) -> None:
    feeds.api("root").patch("/buildings?id=eq.2", {"address": "1 Mill St", "city": "Bath", "state": "ME", "zip": "04"})

    event = of_summary(feeds.events(feeds.link("ada")), "Fire at Mill Court")

    assert event["dtstart"].dt == datetime.date(2026, 3, 12)
    assert event["dtend"].dt == datetime.date(2026, 3, 13)
    assert event["location"] == "1 Mill St, Bath, ME 04"
    assert event["description"] == "Status: Scheduled\nInspector: Ivo Kral\nDue on 2026-03-31"
    assert event["url"] == f"http://localhost/console/inspections/{BOOKED}"
    assert event["status"] == "CONFIRMED"
    assert "secret note" not in feeds.get(feeds.link("ada")).text


def test_line_ends_and_separators_in_texts_add_no_property(feeds: Feeds) -> None:
    name = "A;B,C\\D\nEND:VEVENT\r\nATTACH:x\rSTATUS:CANCELLED\u2028\x0b" + "é" * 300
    feeds.api("root").patch("/buildings?id=eq.2", {"name": name})
    feeds.write(BOOKED, inspection_type="x\r\nBEGIN:VALARM", status="y\nSTATUS:CANCELLED")

    event = next(each for each in feeds.events(feeds.link("ada")) if "VALARM" in each["summary"])

    assert event["summary"].startswith("X BEGIN:VALARM at A;B,C\\D END:VEVENT ATTACH:x STATUS:CANCELLED ")
    assert "attach" not in event
    assert event["status"] == "CONFIRMED"
    assert [each.name for each in event.walk()] == ["VEVENT"]


def test_nearest_inspections_are_kept_beyond_the_maximum(feeds: Feeds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calendar, "INSPECTIONS_MAX", 4)
    calendar.feed_statement.cache_clear()
    try:
        events = feeds.events(feeds.link("ada"))
    finally:
        calendar.feed_statement.cache_clear()

    assert ("Fire at Harbor House", "2025-12-10") not in days(events)
    assert ("Fire at Harbor House", "2027-03-10") in days(events)


# Changes


def test_moved_visit_keeps_its_uid_and_raises_its_sequence(feeds: Feeds) -> None:
    link = feeds.link("mia", is_inspector=True)
    before = of_summary(feeds.events(link), "Fire at Mill Court")

    feeds.stored.clock.set(LATER)
    feeds.write(BOOKED, date_visited="2026-03-13")

    after = of_summary(feeds.events(link), "Fire at Mill Court")
    assert after["uid"] == before["uid"]
    assert after["dtstart"].dt == datetime.date(2026, 3, 13)
    assert after["sequence"] > before["sequence"]
    assert after["dtstamp"].dt > before["dtstamp"].dt


def test_cancelled_visit_stays_as_cancelled(feeds: Feeds) -> None:
    link = feeds.link("mia", is_inspector=True)
    before = of_summary(feeds.events(link), "Fire at Mill Court")

    feeds.stored.clock.set(LATER)
    feeds.write(BOOKED, status="cancelled")

    after = of_summary(feeds.events(link), "Fire at Mill Court")
    assert (after["uid"], after["status"]) == (before["uid"], "CANCELLED")
    assert after["sequence"] > before["sequence"]


def test_visit_of_another_inspector_disappears(feeds: Feeds) -> None:
    link = feeds.link("mia", is_inspector=True)
    assert "2026-04-01" in {day for _, day in days(feeds.events(link))}

    feeds.write(OTHER_CLIENT, inspector_id=UMA)

    assert "2026-04-01" not in {day for _, day in days(feeds.events(link))}


def test_hidden_rows_change_no_byte(world: Callable) -> None:
    """The rows that differ are of another inspector, of another client, or beside the visits."""
    rows = calendar_rows()
    others = copy.deepcopy(rows)
    others["inspections"] = [each for each in others["inspections"] if each["id"] not in (TOO_OLD, OF_INES)]
    others["inspection_plans"] = [each for each in others["inspection_plans"] if each["inspection_id"] != OF_INES]
    others["inspections"].append(visit(200, 5, "2026-03-12", inspector_id=UMA))
    others["buildings"][4] |= {"name": "Hidden", "updated_at": LATER}
    others["inspectors"][UMA - 1]["name"] = "Hidden"
    others["clients"][1]["name"] = "Hidden"
    feeds = [Feeds(world(each, MOMENT)) for each in (rows, others)]

    answers = [each.get(each.link("mia", is_inspector=True)) for each in feeds]

    assert answers[0].whole == answers[1].whole


# HTTP


def test_calendar_asks_to_be_fetched_every_hour(feeds: Feeds) -> None:
    calendar = Calendar.from_ical(feeds.get(feeds.link("bob")).text)

    assert calendar["refresh-interval"].dt == datetime.timedelta(hours=1)
    assert calendar["x-published-ttl"].to_ical() == b"PT1H"


def test_unchanged_feed_is_not_sent_again(feeds: Feeds) -> None:
    link = feeds.link("ada")
    first = feeds.get(link)

    again = feeds.get(link, **{"If-None-Match": first.headers["ETag"]})
    feeds.write(BOOKED, date_visited="2026-03-13")
    changed = feeds.get(link, **{"If-None-Match": first.headers["ETag"]})

    assert first.headers["Content-Type"] == "text/calendar; charset=utf-8"
    assert first.headers["Cache-Control"] == again.headers["Cache-Control"] == "private, no-cache"
    assert (again.status, again.text, again.headers["ETag"]) == (304, "", first.headers["ETag"])
    assert (changed.status, changed.headers["ETag"] != first.headers["ETag"]) == (200, True)
    assert feeds.api("nobody").head(link).status == 200


def test_feed_changes_nothing_except_the_time_of_its_use(feeds: Feeds) -> None:
    link, before = feeds.link("ada"), dump(feeds.api)

    with feeds.app.test_client().get(link) as fetched:
        assert (fetched.status_code, bool(fetched.get_data())) == (200, True)
    written = {feeds.api("nobody").send(method, link).status for method in ("POST", "PUT", "PATCH", "DELETE")}

    assert written == {405}
    assert dump(feeds.api) == before
    with feeds.stored.reading() as transaction:
        (key,) = list_keys_of_user(transaction, feeds.caller("ada"), ADA)
    assert key.last_used_at is not None


# Ends


def ban(feeds: Feeds) -> None:
    assert feeds.api("service").put(f"/auth/v1/admin/users/{MIA}", {"ban_duration": "24h"}).status == 200


def new_password(feeds: Feeds) -> None:
    assert feeds.api("service").put(f"/auth/v1/admin/users/{MIA}", {"password": "another password"}).status == 200


def new_role(feeds: Feeds) -> None:
    assert feeds.api("root").patch(f"/users?id=eq.{MIA}", {"role": "client_admin"}).status == 204


def new_client(feeds: Feeds) -> None:
    assert feeds.api("root").patch(f"/users?id=eq.{MIA}", {"client_id": 2}).status == 204


def deletion(feeds: Feeds) -> None:
    assert feeds.api("root").delete(f"/users?id=eq.{MIA}").status == 204


def revocation(feeds: Feeds) -> None:
    caller = feeds.caller("mia", is_inspector=True)
    with feeds.stored.writing() as transaction:
        (key,) = list_keys_of_user(transaction, caller, MIA)
        revoke_key(transaction, caller, MIA, key.id)


@pytest.mark.parametrize("end", [ban, new_password, new_role, new_client, deletion, revocation])
def test_link_that_ended_answers_as_one_that_never_was(feeds: Feeds, end: Callable[[Feeds], None]) -> None:
    link = feeds.link("mia", is_inspector=True)
    assert feeds.get(link).status == 200

    end(feeds)

    ended, unknown = feeds.get(link), feeds.get(f"/calendar/wtc_{'A' * 43}.ics")
    assert ended.whole == unknown.whole
    assert (ended.status, ended.message) == (404, NOT_FOUND)


def test_reactivated_user_has_their_link_again(feeds: Feeds) -> None:
    link = feeds.link("mia", is_inspector=True)
    ban(feeds)
    assert feeds.get(link).status == 404

    feeds.api("service").put(f"/auth/v1/admin/users/{MIA}", {"ban_duration": "none"})

    assert feeds.get(link).status == 200
