"""The calendar feed of a user: inspections and due dates as all-day events (RFC 5545).

policy.CALENDAR_VISITS decides which visible inspections are in it. Every table is read under the user's rule.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple

import sqlalchemy as sa
from icalendar import Calendar, Event, vDuration

from access.caller import Caller
from access.policy import CALENDAR_VISITS, has_right
from engine.interface.database import Transaction
from engine.rows import Select, prepared
from inspections.reporting.counts import CountPlanner, shortened
from models import Building, Inspection, InspectionPlan, Inspector
from models.vocabulary import CANCELLED

PAST_DAYS: Final = 90
FUTURE_DAYS: Final = 365
INSPECTIONS_MAX: Final = 1_000
"""The inspections of a feed: the next ones first, then the last ones."""
EVENTS_CACHED: Final = 4_096  # texts of about 400 bytes
REFRESH: Final = timedelta(hours=1)  # what calendar programs are asked for
SEQUENCE_EPOCH: Final = datetime(2020, 1, 1, tzinfo=UTC)  # SEQUENCE has 31 bits
CONTROL_CHARACTERS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class FeedRow(NamedTuple):
    """An inspection of the feed, its building and inspector, and its due date if its plan is open."""

    id: int
    inspection_type: str
    status: str | None
    date_visited: str | None
    due_on: str | None
    building: str | None
    address: str | None
    city: str | None
    state: str | None
    zip: str | None
    inspector: str | None
    changed_at: str
    plan_changed_at: str | None
    building_changed_at: str | None

    @property
    def title(self) -> str:
        kind = as_words(self.inspection_type)
        return f"{kind} at {one_line(self.building)}" if self.building is not None else kind

    @property
    def location(self) -> str:
        region = " ".join(filter(None, (self.state, self.zip)))
        return ", ".join(one_line(part) for part in (self.address, self.city, region) if part)

    @property
    def description(self) -> str:
        lines = (
            f"Status: {as_words(self.status)}" if self.status else "",
            f"Inspector: {one_line(self.inspector)}" if self.inspector else "",
            f"Due on {self.due_on}" if self.due_on else "",
        )
        return "\n".join(filter(None, lines))

    @property
    def changed(self) -> datetime:
        """The time of the last change of the inspection, its plan or its building."""
        times = (self.changed_at, self.plan_changed_at, self.building_changed_at)
        return max(datetime.fromisoformat(time) for time in times if time is not None)


@dataclass(frozen=True, slots=True)
class CalendarEvent:
    """An all-day event. `uid` never changes; `changed` is the time of the last change."""

    uid: str
    day: date
    summary: str
    location: str
    description: str
    url: str
    changed: datetime
    is_cancelled: bool


def read_events(transaction: Transaction, caller: Caller, console_url: str) -> list[CalendarEvent]:
    """Return the events of a user's feed, in the order of the inspections, with links to pages below `console_url`."""
    today = transaction.today
    first, last = today - timedelta(days=PAST_DAYS), today + timedelta(days=FUTURE_DAYS)
    days = {"first_day": first.isoformat(), "last_day": last.isoformat(), "today": today.isoformat()}
    rows = [FeedRow(*row) for row in feed_statement.all(transaction, caller, **days)]
    return [
        event
        for row in sorted(rows)
        for event in events_of(row, uuid.UUID(caller.id), f"{console_url}/inspections/{row.id}")
        if first <= event.day <= last
    ]


def events_of(row: FeedRow, owner: uuid.UUID, url: str) -> list[CalendarEvent]:
    """Return the visit of an inspection, and its due date if that is another day. The UIDs are those of one owner."""
    events = []
    for kind, day, summary in (("visit", row.date_visited, row.title), ("due", row.due_on, f"Due: {row.title}")):
        if day is not None and (kind == "visit" or day != row.date_visited):
            events.append(
                CalendarEvent(
                    str(uuid.uuid5(owner, f"{kind} {row.id}")),
                    date.fromisoformat(day),
                    summary,
                    row.location,
                    row.description,
                    url,
                    row.changed,
                    row.status == CANCELLED,
                )
            )
    return events


def one_line(text: str) -> str:
    """Return a text without line ends and other control characters.

    >>> one_line("Mill\\r\\nCourt")
    'Mill Court'
    """
    return CONTROL_CHARACTERS.sub(" ", text)


def as_words(code: str) -> str:
    """Return a status or type for people.

    >>> as_words("in_progress")
    'In progress'
    """
    text = one_line(code).replace("_", " ")
    return text[:1].upper() + text[1:]


# The feed in the format of RFC 5545


def feed_text(events: Iterable[CalendarEvent]) -> bytes:
    """Return a calendar with these events."""
    calendar = Calendar()
    calendar.add("version", "2.0")
    calendar.add("prodid", "-//Walkthrough//Inspections//EN")
    for name in ("name", "x-wr-calname"):
        calendar.add(name, "Inspections")
    for name in ("refresh-interval", "x-published-ttl"):
        calendar.add(name, vDuration(REFRESH), parameters={"value": "DURATION"})
    head, end, rest = calendar.to_ical().rpartition(b"END:VCALENDAR")
    return b"".join((head, *map(event_text, events), end, rest))


@lru_cache(maxsize=EVENTS_CACHED)
def event_text(event: CalendarEvent) -> bytes:
    """Return the component of an event. DTSTAMP is its last change, so that an equal event has equal bytes."""
    component = Event()
    component.add("uid", event.uid)
    component.add("dtstamp", event.changed)
    component.add("last-modified", event.changed)
    component.add("sequence", int((event.changed - SEQUENCE_EPOCH).total_seconds()))
    component.add("dtstart", event.day)
    component.add("dtend", event.day + timedelta(days=1))
    component.add("transp", "TRANSPARENT")
    component.add("status", "CANCELLED" if event.is_cancelled else "CONFIRMED")
    for name in ("summary", "location", "description", "url"):
        if text := getattr(event, name):
            component.add(name, text)
    written: bytes = component.to_ical()
    return written


# Statement


@prepared(CountPlanner)
def feed_statement(planner: CountPlanner) -> Select:
    """Return the query for the rows of the feed, as FeedRow, with a date from `first_day` to `last_day`."""
    inspection, scope = planner.visible(Inspection)
    is_of_caller = has_right(CALENDAR_VISITS, planner.rule, inspection.c)
    (plan, plan_scope), (building, building_scope), (inspector, inspector_scope) = (
        planner.visible_by(model, Inspection) for model in (InspectionPlan, Building, Inspector)
    )
    is_open = sa.and_(plan.c.inspection_id == inspection.c.id, plan.c.outcome.is_(None), plan_scope)
    rows = (
        inspection.outerjoin(plan, is_open)
        .outerjoin(building, sa.and_(building.c.id == inspection.c.building_id, building_scope))
        .outerjoin(inspector, sa.and_(inspector.c.id == inspection.c.inspector_id, inspector_scope))
    )
    first, last, today = map(planner.named_parameter, ("first_day", "last_day", "today"))
    visited, due_on = inspection.c.date_visited, plan.c.due_on
    day = sa.func.coalesce(visited, due_on)
    columns = (
        inspection.c.id,
        shortened(inspection.c.inspection_type),
        shortened(inspection.c.status),
        visited,
        due_on,
        *(shortened(building.c[name]) for name in ("name", "address", "city", "state", "zip")),
        shortened(inspector.c.name),
        inspection.c.updated_at,
        plan.c.updated_at,
        building.c.updated_at,
    )
    statement = sa.select(*columns).select_from(rows)
    statement = statement.where(scope, is_of_caller, sa.or_(visited.between(first, last), due_on.between(first, last)))
    next_first = (sa.case((day >= today, day)).is_(None), sa.case((day >= today, day)), day.desc(), inspection.c.id)
    return statement.order_by(*next_first).limit(INSPECTIONS_MAX)
