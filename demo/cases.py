"""Cases: failed inspections with their re-inspections and findings, and the texts of findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import cycle
from typing import NamedTuple

from demo.visits import Row, Sampler, VisitComposer, VisitRows, with_unit, working_day
from models.vocabulary import (
    ANNUAL,
    COMPLETED,
    DONE,
    EMERGENCY,
    EXTENDED,
    FAILED,
    FIRE,
    FIXED,
    LEAD,
    LIFE_THREATENING,
    LOW,
    MADE,
    MODERATE,
    OPEN,
    REGRADED,
    REMARK,
    REOPENED,
    SCHEDULED,
    SEVERE,
    STRUCTURAL,
    VERIFICATIONS,
    VERIFIED,
    WAIVED,
)

# The texts of findings and of their events


class Defect(NamedTuple):
    """What a finding says. The texts may name a floor and a unit."""

    severity: str
    place: str
    item: str
    code: str | None
    description: str


ANYWHERE = (
    Defect(
        LIFE_THREATENING, "{unit}, hallway", "Smoke alarm", "NSPIRE Smoke Alarm", "No smoke alarm. The base is empty."
    ),
    Defect(LIFE_THREATENING, "Boiler room", "CO alarm", None, "Carbon monoxide alarm does not sound when tested."),
    Defect(LIFE_THREATENING, "Floor {floor}, rear exit", "Egress", "NFPA 1 4.4.3", "Exit door is chained shut."),
    Defect(SEVERE, "{unit}, kitchen", "Outlet", None, "Outlet beside the sink has no ground-fault protection."),
    Defect(SEVERE, "Floor {floor}, stair", "Handrail", None, "Handrail is loose for two flights."),
    Defect(SEVERE, "{unit}", "Heating", None, "Radiator valve leaks; the floor below it is soft."),
    Defect(MODERATE, "{unit}, bathroom", "Ceiling", None, "Water stain of two feet, damp to the touch."),
    Defect(MODERATE, "Floor {floor}, hallway", "Lighting", None, "Three fixtures are out."),
    Defect(MODERATE, "{unit}, bedroom", "Window", None, "Sash does not stay open."),
    Defect(LOW, "Lobby", "Mailboxes", None, "Two doors do not lock."),
    Defect(LOW, "{unit}, kitchen", "Cabinet", None, "Drawer front is missing."),
    Defect(LOW, "Roof", "Drain", None, "Leaves on the strainer; water stands."),
)
FIRE_DEFECTS = (
    Defect(LIFE_THREATENING, "Floor {floor}, stair", "Fire door", None, "Self-closer is missing; door wedged open."),
    Defect(SEVERE, "Basement", "Fire pump", None, "Pump does not start on a drop of pressure."),
    Defect(SEVERE, "Floor {floor}", "Sprinkler", "NFPA 25 5.2.1", "Two heads are painted over."),
    Defect(MODERATE, "Floor {floor}, hallway", "Emergency light", None, "Light fails after 20 minutes."),
    Defect(LOW, "Lobby", "Extinguisher", None, "Tag has expired; the gauge is in the green."),
)
LEAD_DEFECTS = (
    Defect(
        SEVERE, "{unit}, bedroom", "Window sash", "40 CFR 745.65", "Paint peels; positive. A child of four lives here."
    ),
    Defect(MODERATE, "{unit}, living room", "Door casing", "40 CFR 745.65", "Positive, with friction damage."),
    Defect(LOW, "Floor {floor}, stair", "Stringer", None, "Positive, intact. To be watched."),
)

DEFECTS = {ANNUAL: ANYWHERE, STRUCTURAL: ANYWHERE, EMERGENCY: ANYWHERE, FIRE: FIRE_DEFECTS, LEAD: LEAD_DEFECTS}
"""The defects by type of inspection."""

EVENT_NOTES = {
    FIXED: ("Replaced and tested.", "Contractor was here; invoice filed.", None),
    VERIFIED: ("Seen and tested.", None),
    WAIVED: ("The unit is gutted next month.", "Accepted until the renovation of floor {floor}."),
    REOPENED: ("Broken again.", "Repaired on the wrong floor."),
    REGRADED: ("Seen again with the superintendent.",),
    EXTENDED: ("The part is on back order.",),
    REMARK: ("Tenant of {unit} gives access on Thursdays only.", "Parts ordered."),
}
"""The notes of events, by kind."""


CASE_DAYS = 365
"""Inspections that failed longer ago have neither findings nor re-inspections."""
ROUNDS_MAX = 3

DEADLINES = {
    LIFE_THREATENING: timedelta(hours=24), SEVERE: timedelta(hours=24),
    MODERATE: timedelta(days=30), LOW: timedelta(days=60),
}  # fmt: skip
"""Those of a new database's deadline_rules. Days end at 23:59:59."""

STORIES: Mapping[str, tuple[str, ...]] = {
    OPEN: (),
    REMARK: (REMARK,),
    EXTENDED: (EXTENDED,),
    REGRADED: (REGRADED,),
    FIXED: (FIXED,),
    REOPENED: (FIXED, REOPENED),
    VERIFIED: (FIXED, VERIFIED),
    WAIVED: (WAIVED,),
}
"""The kinds of events after `made`, by the kind of the last one."""
CLOSED_STORIES = (VERIFIED, VERIFIED, WAIVED, VERIFIED, VERIFIED)
OPEN_STORIES = (OPEN, FIXED, OPEN, REMARK, OPEN, FIXED, EXTENDED, REOPENED, REGRADED, WAIVED)
CLOSED_SEVERITIES = (MODERATE, LOW, SEVERE, MODERATE, LOW, LIFE_THREATENING, MODERATE)
OPEN_SEVERITIES = (MODERATE, LOW)


class Failure(NamedTuple):
    """A failed visit, the days from today of its rounds, and the severities and stories of its findings.

    All rounds failed, except the last of several: it is scheduled.
    """

    days: tuple[int, ...]
    findings: tuple[tuple[str, str], ...]


FAILURES = (
    Failure((-1,), ((SEVERE, OPEN), (LIFE_THREATENING, OPEN), (MODERATE, OPEN))),
    Failure((-1,), ((LIFE_THREATENING, FIXED), (SEVERE, REMARK))),
    Failure((-64, -30, 4), ((LOW, OPEN), (MODERATE, REOPENED), (LOW, VERIFIED))),
    Failure((-57, -27, 0), ((LOW, OPEN), (MODERATE, FIXED), (SEVERE, VERIFIED))),
    Failure((-3, 12), ((SEVERE, OPEN), (LIFE_THREATENING, OPEN), (LOW, OPEN))),
    Failure((-9, 21), ((SEVERE, FIXED), (MODERATE, OPEN), (LOW, REMARK))),
    Failure((-24, 5), ((MODERATE, OPEN), (LOW, FIXED))),
    Failure((-27, 3), ((MODERATE, OPEN), (MODERATE, EXTENDED))),
    Failure((-30, 1), ((MODERATE, OPEN), (LOW, OPEN))),
    Failure((-36, -6, 9), ((MODERATE, OPEN), (MODERATE, VERIFIED), (LOW, OPEN))),
    Failure((-71, -40, -2), ((LOW, OPEN), (MODERATE, OPEN), (LOW, WAIVED))),
)
"""The failed visits of the inspectors who sign in: findings late, due today and due this week."""


@dataclass(slots=True, eq=False)
class Case:
    """An inspection and its re-inspections."""

    visits: list[VisitRows]
    failure: Failure | None = None

    @property
    def is_closed(self) -> bool:
        return self.visits[-1].status == COMPLETED


class FindingHistory(NamedTuple):
    """A finding and its events."""

    finding: Row
    events: list[Row]


@dataclass(frozen=True, slots=True)
class People:
    """The ids of the users who work on findings: admins by client, managers by building, users of inspectors."""

    admins: Mapping[int, str]
    managers: Mapping[int, str]
    inspectors: Mapping[int, str]

    def inspector(self, visit: VisitRows) -> str:
        """Return the user of a visit's inspector, or the client admin who writes for them."""
        return self.inspectors.get(visit.inspection["inspector_id"]) or self.admins[visit.building["client_id"]]

    def of_event(self, kind: str, visit: VisitRows) -> str:
        """Return the user who adds an event of a kind."""
        admin = self.admins[visit.building["client_id"]]
        if kind in (FIXED, REMARK):
            return self.managers.get(visit.building["id"], admin)
        return self.inspector(visit) if kind in (VERIFIED, REOPENED) else admin


class CaseComposer:
    """Adds re-inspections and findings to failed inspections."""

    def __init__(self, sampler: Sampler, visits: VisitComposer) -> None:
        self.sampler = sampler
        self.visits = visits
        self.severities = {True: cycle(CLOSED_SEVERITIES), False: cycle(OPEN_SEVERITIES)}
        self.stories = {True: cycle(CLOSED_STORIES), False: cycle(OPEN_STORIES)}

    def has_case(self, visit: VisitRows) -> bool:
        return visit.status == FAILED and self.sampler.day(-CASE_DAYS) <= visit.day < self.sampler.today

    def add_rounds(self, case: Case) -> None:
        """Add the re-inspections of a failed inspection."""
        if case.failure is not None:
            _, *days = case.failure.days
            for days_from_today in days:
                status = SCHEDULED if days_from_today == days[-1] else FAILED
                self.add_round(case, self.sampler.day(days_from_today), status)
            return
        while self.has_case(case.visits[-1]) and len(case.visits) < ROUNDS_MAX:
            day = working_day(case.visits[-1].day + timedelta(days=self.sampler.count(21, 35)))
            self.add_round(case, day, self.status_of_round(day, is_last=len(case.visits) + 1 == ROUNDS_MAX))

    def status_of_round(self, day: date, *, is_last: bool) -> str:
        if day >= self.sampler.today:
            return SCHEDULED
        return self.sampler.weighted_choice(completed=75, failed=0 if is_last else 25)

    def add_round(self, case: Case, day: date, status: str) -> None:
        first, last = case.visits[0], case.visits[-1]
        if first.planned is None:
            first.planned = planned_visit(first, DONE)
            first.planned["created_at"] = first.closed_at
        kind, inspector_id = first.inspection["inspection_type"], last.inspection["inspector_id"]
        visit = self.visits.visit(first.building, kind, day, status, inspector_id, last.closed_at)
        visit.planned = planned_visit(visit, None if status == SCHEDULED else DONE)
        case.visits.append(visit)

    def histories(self, case: Case, people: People) -> Iterator[FindingHistory]:
        """Yield the findings of a case, with their events."""
        pairs = case.failure.findings if case.failure is not None else self.random_findings(case)
        for severity, story in pairs:
            yield self.history(case, severity, story, people)

    def random_findings(self, case: Case) -> Iterator[tuple[str, str]]:
        for _ in range(self.sampler.count(1, 4)):
            yield next(self.severities[case.is_closed]), next(self.stories[case.is_closed])

    def history(self, case: Case, severity: str, story: str, people: People) -> FindingHistory:
        first, building = case.visits[0], case.visits[0].building
        defect = self.defect(first.inspection["inspection_type"], severity)
        found = datetime.fromisoformat(self.sampler.moment(first.day, 15))
        verified_by = case.visits[-1 if case.is_closed else -2] if story == VERIFIED else None
        steps = STORIES[story]
        times = self.times(found, verified_by, len(steps))
        place, description = (with_unit(text, self.sampler, building) for text in (defect.place, defect.description))
        due = due_at(found, severity, is_extended=story == EXTENDED)
        due_day = datetime.fromisoformat(due)
        fixed = times[0] if story in (FIXED, VERIFIED) else None
        finding = {
            "id": 0,
            "inspection_id": first.inspection["id"],
            "case_id": first.inspection["id"],
            "ref": None,
            "place": place,
            "item": defect.item,
            "code": defect.code,
            "description": description,
            "severity": severity,
            "status": story if story in (FIXED, VERIFIED, WAIVED) else OPEN,
            "found_at": found.isoformat(),
            "due_at": due,
            "fixed_at": fixed,
            "days_late": None
            if fixed is None
            else max(0, -((due_day - datetime.fromisoformat(fixed)) // timedelta(1))),
            "closed_at": times[-1] if story in (VERIFIED, WAIVED) else None,
            "created_at": found.isoformat(),
            "updated_at": found.isoformat() if story == REMARK or not times else times[-1],
        }
        events = [event(MADE, found.isoformat(), people.inspector(first), first)]
        for kind, at in zip(steps, times, strict=True):
            visit = verified_by if kind == VERIFIED else None
            each = event(kind, at, people.of_event(kind, visit or first), visit, self.note(kind, building))
            events.append(each | changed_values(kind, found, severity, due))
        return FindingHistory(finding, events)

    def defect(self, inspection_type: str, severity: str) -> Defect:
        """Return a defect of a severity that inspections of a type find."""
        defects = [each for each in DEFECTS[inspection_type] if each.severity == severity]
        return self.sampler.rng.choice(defects or [each for each in ANYWHERE if each.severity == severity])

    def note(self, kind: str, building: Row) -> str | None:
        template = self.sampler.rng.choice(EVENT_NOTES[kind])
        return with_unit(template, self.sampler, building) if template is not None else None

    def times(self, found: datetime, verified_by: VisitRows | None, number: int) -> list[str]:
        """Return the times of the events after a finding was made, the last one with the visit that verifies it."""
        yesterday = datetime.combine(self.sampler.day(-1), time(18), UTC)
        last = min(found + timedelta(days=self.sampler.count(2, 20)), max(found + timedelta(hours=2), yesterday))
        if verified_by is not None:
            last = datetime.fromisoformat(verified_by.closed_at)
        moments = (found + (last - found) * step / number for step in range(1, number + 1))
        return [moment.replace(microsecond=0).isoformat() for moment in moments]


def event(kind: str, at: str, user_id: str, visit: VisitRows | None, note: str | None = None) -> Row:
    """Return an event of a finding. `number_findings` sets its id and finding."""
    return {
        "id": 0,
        "finding_id": 0,
        "at": at,
        "user_id": user_id,
        "kind": kind,
        "inspection_id": visit.inspection["id"] if visit is not None else None,
        "note": note,
        "how": VERIFICATIONS[0] if kind == VERIFIED else None,
        "severity_before": None,
        "severity_after": None,
        "due_before": None,
        "due_after": None,
        "notice_id": None,
        "created_at": at,
        "updated_at": at,
    }


def changed_values(kind: str, found: datetime, severity: str, due: str) -> Row:
    """Return both values of what an event changed."""
    if kind == EXTENDED:
        return {"due_before": due_at(found, severity, is_extended=False), "due_after": due}
    if kind != REGRADED:
        return {}
    before = MODERATE if severity == LOW else LOW
    return {
        "severity_before": before,
        "severity_after": severity,
        "due_before": due_at(found, before, is_extended=False),
        "due_after": due,
    }


def due_at(found: datetime, severity: str, *, is_extended: bool) -> str:
    deadline = found + DEADLINES[severity] + timedelta(days=21 * is_extended)
    is_in_days = DEADLINES[severity] > timedelta(days=1) or is_extended
    return (datetime.combine(deadline, time(23, 59, 59), UTC) if is_in_days else deadline).isoformat()


def planned_visit(
    visit: VisitRows,
    outcome: str | None,
    schedule_id: int | None = None,
    occurrence: int | None = None,
    due_on: date | None = None,
) -> Row:
    """Return the row of inspection_plans of a visit. `number_visits` sets its inspection, case and round."""
    return {
        "inspection_id": 0,
        "schedule_id": schedule_id,
        "occurrence": occurrence,
        "due_on": due_on.isoformat() if due_on is not None else None,
        "case_id": 0,
        "round": 1,
        "outcome": outcome,
        "touched_at": visit.closed_at if visit.closed_at != visit.inspection["created_at"] else None,
        "created_at": visit.inspection["created_at"],
        "updated_at": visit.closed_at if outcome is not None else visit.inspection["created_at"],
    }


def number_visits(cases: Sequence[Case]) -> list[VisitRows]:
    """Give the inspections ids in the order of their creation, and the planned visits their case and round."""
    visits = [visit for case in cases for visit in case.visits]
    visits.sort(key=lambda visit: (visit.inspection["created_at"], visit.inspection["date_visited"]))
    for number, visit in enumerate(visits, start=1):
        visit.inspection["id"] = number
    for case in cases:
        for number, visit in enumerate(case.visits, start=1):
            if visit.planned is not None:
                visit.planned["inspection_id"] = visit.inspection["id"]
                visit.planned["case_id"], visit.planned["round"] = case.visits[0].inspection["id"], number
    return visits


def number_findings(histories: Iterable[FindingHistory]) -> tuple[list[Row], list[Row]]:
    """Return the findings and the events, with ids in the order of their times."""
    ordered = sorted(histories, key=lambda history: str(history.finding["created_at"]))
    events: list[Row] = []
    for number, history in enumerate(ordered, start=1):
        history.finding["id"] = number
        events += [{**each, "finding_id": number} for each in history.events]
    events.sort(key=lambda each: (each["at"], each["finding_id"]))
    return [history.finding for history in ordered], [{**each, "id": n} for n, each in enumerate(events, start=1)]
