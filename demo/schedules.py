"""Schedules, and the inspections and planned visits that they made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from dateutil.relativedelta import relativedelta

from demo.cases import FAILURES, Case, Failure, planned_visit
from demo.visits import DAYS_PAST, Row, Sampler, VisitComposer, VisitRows, working_day
from demo.vocabulary import (
    INSPECTORS_OF_CLIENT,
    LEAD_TYPES,
    LINKED_INSPECTORS,
    RECURRING_INSPECTIONS,
    SPRINKLER_FLOORS,
    RecurringInspection,
)
from models.vocabulary import (
    ANNUAL,
    CANCELLED,
    COMPLETED,
    DONE,
    EARLY,
    FAILED,
    FIRE,
    IN_PROGRESS,
    LEAD,
    PLANNED,
    SCHEDULED,
    SKIPPED,
)

AGENDA = (-9, -3, 0, 0, 0, 1, 3, 4, 6)
"""The open visits of an inspector who signs in, in days from today. One visit of today is in progress."""

HISTORY_DAYS = DAYS_PAST - 30
DAYS_LATE = 25
DAYS_SOON = 20

OUTCOMES = {SKIPPED: 2, CANCELLED: 3, FAILED: 9, COMPLETED: 86}
"""The weights of what happens to an occurrence of the past."""
EARLY_SHARE = 0.1
"""The share of the occurrences with a window that are visited before it."""


@dataclass(slots=True, eq=False)
class Course:
    """A schedule, with its open visit. `failure`: its last visit failed, as written there."""

    building: Row
    recurring: RecurringInspection
    open_day: date
    inspector_id: int | None
    status: str = SCHEDULED
    failure: Failure | None = None
    is_scripted: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """The open visit that an inspector who signs in has at a client, or the visit of theirs that failed."""

    client_id: int
    inspector_id: int
    days: int
    status: str = SCHEDULED
    failure: Failure | None = None


class ScheduleComposer:
    """Generates schedules. Each has a history of up to three years and one open visit."""

    def __init__(self, sampler: Sampler, visits: VisitComposer) -> None:
        self.sampler = sampler
        self.visits = visits
        self.schedules: list[Row] = []
        self.cases: list[Case] = []

    def compose(self, buildings: Sequence[Row]) -> None:
        courses = [
            self.course(building, recurring) for building in buildings for recurring in recurring_inspections(building)
        ]
        self.apply_scripts(courses)
        for course in courses:
            self.add(course)

    def course(self, building: Row, recurring: RecurringInspection) -> Course:
        is_late = self.sampler.rng.random() < 0.12
        days = -self.sampler.count(1, DAYS_LATE) if is_late else self.sampler.count(1, recurring.months * 30)
        inspector_id = self.sampler.rng.choice((None, *INSPECTORS_OF_CLIENT[building["client_id"]] * 2))
        return Course(building, recurring, self.sampler.day(days), inspector_id)

    def apply_scripts(self, courses: Sequence[Course]) -> None:
        """Put the script of each inspector who signs in on random courses of the right client."""
        shuffled = self.sampler.rng.sample(courses, len(courses))
        for script in scripts():
            free = (each for each in shuffled if not each.is_scripted)
            course = next(each for each in free if each.building["client_id"] == script.client_id)
            course.is_scripted, course.inspector_id = True, script.inspector_id
            course.status, course.failure = script.status, script.failure
            course.open_day = self.sampler.day(script.days)
            if script.failure is not None:
                course.open_day += relativedelta(months=course.recurring.months)

    def add(self, course: Course) -> None:
        """Append the schedule of a course, and a case for each of its visits."""
        months = course.recurring.months
        number = (HISTORY_DAYS + (course.open_day - self.sampler.today).days) // (months * 30 + months // 2)
        *past, last = due_dates(course.recurring, course.open_day - relativedelta(months=number * months), number)
        schedule = self.schedule(course, past[0])
        self.schedules.append(schedule)
        made_at = schedule["created_at"]
        for occurrence, due_on in enumerate(past):
            failure = course.failure if occurrence == number - 1 else None
            for visit, outcome in self.past_visits(course, due_on, made_at, failure):
                visit.planned = planned_visit(visit, outcome, schedule["id"], occurrence, due_on)
                self.cases.append(Case([visit], failure))
                made_at = visit.closed_at
        visit = self.open_visit(course, made_at)
        visit.planned = planned_visit(visit, None, schedule["id"], number, last)
        self.cases.append(Case([visit]))

    def schedule(self, course: Course, first_due: date) -> Row:
        recurring = course.recurring
        created_on = date.fromisoformat(course.building["created_at"][:10]) + timedelta(days=1)
        created_at = self.sampler.moment(created_on, 9)
        return {
            "id": len(self.schedules) + 1,
            "building_id": course.building["id"],
            "inspection_type": recurring.inspection_type,
            "title": recurring.title,
            "every": recurring.every,
            "unit": recurring.unit,
            "counted_from": recurring.counted_from,
            "first_due": first_due.isoformat(),
            "grace_days": recurring.grace_days,
            "early_days": recurring.early_days,
            "inspector_id": course.inspector_id,
            "basis": recurring.basis,
            "ended_on": None,
            "created_at": created_at,
            "updated_at": created_at,
        }

    def past_visits(
        self, course: Course, due_on: date, made_at: str, failure: Failure | None
    ) -> Iterator[tuple[VisitRows, str]]:
        """Yield the visits of an occurrence with their outcomes. A cancelled or early visit is repeated."""
        fate, day = self.sampler.weighted_choice(**OUTCOMES), due_on
        if failure is not None:
            fate, day = FAILED, self.sampler.day(failure.days[0])
        elif course.recurring.counted_from == PLANNED:
            day = min(working_day(due_on + timedelta(days=self.sampler.count(-6, 8))), self.sampler.day(-1))
        if fate in (SKIPPED, CANCELLED):
            visit = self.visit(course, due_on, CANCELLED, made_at)
            visit.inspection["updated_at"] = self.sampler.moment(due_on - timedelta(days=8), 12)
            yield visit, fate
            made_at = visit.closed_at
        elif course.recurring.early_days is not None and self.sampler.rng.random() < EARLY_SHARE:
            visit = self.visit(course, due_on - timedelta(days=course.recurring.early_days + 5), COMPLETED, made_at)
            yield visit, EARLY
            made_at = visit.closed_at
        if fate != SKIPPED:
            yield self.visit(course, day, FAILED if fate == FAILED else COMPLETED, made_at), DONE

    def open_visit(self, course: Course, made_at: str) -> VisitRows:
        """Return the open visit of a schedule. Some that are late or due soon are booked for a later day."""
        visit = self.visit(course, course.open_day, course.status, made_at)
        is_soon = course.open_day < self.sampler.day(DAYS_SOON)
        if is_soon and not course.is_scripted and self.sampler.rng.random() < 0.4:
            booked = max(course.open_day, self.sampler.today) + timedelta(days=self.sampler.count(2, DAYS_SOON))
            visit.inspection["date_visited"] = booked.isoformat()
            visit.inspection["updated_at"] = self.sampler.moment(self.sampler.day(-1), 11)
        return visit

    def visit(self, course: Course, day: date, status: str, made_at: str) -> VisitRows:
        return self.visits.visit(
            course.building, course.recurring.inspection_type, day, status, course.inspector_id, made_at
        )


def recurring_inspections(building: Row) -> list[RecurringInspection]:
    """Return the recurring inspections of a building: sprinklers from some floors on, lead where people live."""
    recurring = [RECURRING_INSPECTIONS[ANNUAL], RECURRING_INSPECTIONS[FIRE]]
    if building["building_type"] in LEAD_TYPES:
        recurring.append(RECURRING_INSPECTIONS[LEAD])
    if building["floors"] >= SPRINKLER_FLOORS:
        recurring.append(RECURRING_INSPECTIONS["sprinklers"])
    return recurring


def due_dates(recurring: RecurringInspection, first_due: date, number: int) -> list[date]:
    """Return the due dates of the occurrences 0 to `number`, for visits on the due date."""
    if recurring.counted_from == PLANNED:
        return [first_due + relativedelta(months=each * recurring.months) for each in range(number + 1)]
    dates = [first_due]
    for _ in range(number):
        dates.append(dates[-1] + relativedelta(months=recurring.months))
    return dates


def scripts() -> Iterator[Script]:
    """Yield the agenda of each inspector who signs in, then the failed visits, by turns."""
    turns: list[tuple[int, int]] = []
    for inspector_id, (_, clients) in LINKED_INSPECTORS.items():
        for index, days in enumerate(AGENDA):
            status = IN_PROGRESS if index == AGENDA.index(0) else SCHEDULED
            yield Script(clients[index % len(clients)], inspector_id, days, status)
        turns += [(clients[-1], inspector_id)]
    for index, failure in enumerate(FAILURES):
        yield Script(*turns[index % len(turns)], failure.days[0], failure=failure)
