"""What `flask purge` removes: old visits with their records and reports, and old letters without findings.

A visit stays while its building is held, one of its findings is open or has a new event or letter, its schedule counts
from it or waits for it, or one of its reports is not old enough. The visits of a case go together. Each transaction
removes whole visits, so that an interrupted run leaves whole visits, too.
The sweep of files removes the bytes (inspections/files/uploads.py).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa
from dateutil.relativedelta import relativedelta

from engine.interface.database import Database, Transaction
from engine.rows import delete_rows
from inspections.retention import is_held
from models import RESOURCES, BuildingDetail, Finding, FindingEvent, Inspection, InspectionPlan, IssuedReport, Notice
from models.finding_move import UNRESOLVED
from models.types import write_timestamp

VISITS_AT_ONCE: Final = 50
LETTERS_AT_ONCE: Final = 500
SECONDS_MAX: Final = 600.0
VISIT: Final[Any] = Inspection.__table__
REPORTS, LETTERS = IssuedReport.__tablename__, Notice.__tablename__

Condition = sa.ColumnElement[bool]


def latest_day(transaction: Transaction, years: int) -> datetime.date:
    """Return the last day before which everything may be old enough: today less the years of retention."""
    day: datetime.date = transaction.today - relativedelta(years=years)
    return day


@dataclass(frozen=True, slots=True)
class Before:
    """The end of what is old: a day, and its first moment in TIMEZONE, both as SQL."""

    day: sa.ColumnElement[Any]
    moment: sa.ColumnElement[Any]

    @classmethod
    def of(cls, transaction: Transaction, day: datetime.date) -> Before:
        midnight = datetime.datetime.combine(day, datetime.time(), transaction.time_zone).astimezone(datetime.UTC)
        return cls(*(sa.literal_column(f"'{text}'") for text in (day.isoformat(), write_timestamp(midnight))))


def exists(table: Any, *conditions: Condition) -> Condition:
    return sa.exists(sa.literal_column("1")).select_from(table).where(*conditions)


def case_of(visit: Any) -> sa.ColumnElement[Any]:
    """Return the case of a visit: that of its plan. A visit without a plan is a case by itself."""
    plan = InspectionPlan.__table__.alias("plan_of_visit")
    planned = sa.select(plan.c.case_id).where(plan.c.inspection_id == visit.c.id).correlate(visit).scalar_subquery()
    case: sa.ColumnElement[Any] = sa.func.coalesce(planned, visit.c.id)
    return case


def has_open_findings(visit: Any) -> Condition:
    finding = Finding.__table__.alias("open_findings")
    return exists(finding, finding.c.inspection_id == visit.c.id, finding.c.status.in_(UNRESOLVED))


def has_newer_reports(visit: Any, before: Before) -> Condition:
    report = IssuedReport.__table__.alias("newer_reports")
    return exists(report, report.c.inspection_id == visit.c.id, report.c.issued_at >= before.moment)


def has_newer_events(visit: Any, before: Before) -> Condition:
    """Return the condition that a finding has an event, or is named in a letter, of the day or later."""
    finding, event = Finding.__table__.alias("findings_of_visit"), FindingEvent.__table__.alias("newer_events")
    letter = Notice.__table__.alias("newer_letters")
    events = sa.join(event, finding, event.c.finding_id == finding.c.id)
    named = exists(letter, letter.c.id == event.c.notice_id, letter.c.issued_at >= before.moment)
    return exists(events, finding.c.inspection_id == visit.c.id, sa.or_(event.c.at >= before.moment, named))


def is_awaited(visit: Any) -> Condition:
    plan = InspectionPlan.__table__.alias("open_plans")
    return exists(plan, plan.c.inspection_id == visit.c.id, plan.c.outcome.is_(None))


def is_last_of_schedule(visit: Any) -> Condition:
    plan, later = InspectionPlan.__table__.alias("last_plans"), InspectionPlan.__table__.alias("later_plans")
    follows = exists(later, later.c.schedule_id == plan.c.schedule_id, later.c.occurrence > plan.c.occurrence)
    return exists(plan, plan.c.inspection_id == visit.c.id, plan.c.schedule_id.is_not(None), sa.not_(follows))


def own_reasons(visit: Any, before: Before) -> dict[str, Condition]:
    """Return by words why a visit stays, whatever its case."""
    return {
        "with open findings": has_open_findings(visit),
        "of held buildings": is_held(visit.c),
        "with later reports": has_newer_reports(visit, before),
        "with later letters or moves of findings": has_newer_events(visit, before),
        "that a schedule or a case waits for": is_awaited(visit),
        "that are the last of a schedule": is_last_of_schedule(visit),
    }


def reasons_to_stay(before: Before) -> dict[str, Condition]:
    """Return by words why an old visit stays."""
    reasons = own_reasons(VISIT, before)
    other = VISIT.alias("visits_that_stay")
    is_new = sa.or_(other.c.date_visited.is_(None), other.c.date_visited >= before.day)
    staying = sa.select(case_of(other)).where(sa.or_(is_new, *own_reasons(other, before).values())).correlate(None)
    of_case = sa.and_(sa.not_(sa.or_(*reasons.values())), case_of(VISIT).in_(staying))
    return {**reasons, "of cases of which another visit stays": of_case}


def purged_visits(before: Before) -> sa.Select[Any]:
    """Return the query for the ids of the visits that go."""
    stays = sa.or_(*reasons_to_stay(before).values())
    return sa.select(VISIT.c.id).where(VISIT.c.date_visited < before.day, sa.not_(stays)).correlate(None)


def purged_letters(before: Before, *, with_visits: bool) -> Condition:
    """Return the condition that a letter goes. `with_visits`: its findings may be those of visits that go."""
    letter, event = Notice.__table__, FindingEvent.__table__.alias("events_of_letter")
    finding, details = Finding.__table__.alias("findings_gone"), BuildingDetail.__table__.alias("details_of_letter")
    names = [event.c.notice_id == letter.c.id]
    if with_visits:
        gone = sa.select(finding.c.id).where(finding.c.inspection_id.in_(purged_visits(before)))
        names.append(event.c.finding_id.not_in(gone))
    held = exists(details, details.c.building_id == letter.c.building_id, details.c.hold_reason.is_not(None))
    return sa.and_(letter.c.issued_at < before.moment, sa.not_(exists(event, *names)), sa.not_(held))


@dataclass(frozen=True, slots=True)
class Purge:
    """What a purge removes: rows by client and table. `kept`: old visits that stay, by reason in words."""

    removed: dict[int, dict[str, int]]
    kept: dict[str, int]


def plan_purge(transaction: Transaction, day: datetime.date) -> Purge:
    """Return what a purge of visits before a day would remove, and what it would keep."""
    before = Before.of(transaction, day)
    removed: dict[int, dict[str, int]] = {}
    for name, query in counts(before):
        numbers: Any = transaction.execute(query).all()
        for client_id, rows in numbers:
            removed.setdefault(client_id, {})[name] = rows
    kept = {
        reason: transaction.execute(
            sa.select(sa.func.count()).select_from(VISIT).where(VISIT.c.date_visited < before.day, condition)
        ).scalar_one()
        for reason, condition in reasons_to_stay(before).items()
    }
    return Purge(dict(sorted(removed.items())), {reason: number for reason, number in kept.items() if number})


def counts(before: Before) -> Iterator[tuple[str, sa.Select[Any]]]:
    """Yield each table with the query that counts its rows that go, by the client of the visit."""
    for name in RESOURCES:
        table = RESOURCES[name].__table__
        inspection = inspection_of(table)
        if name == LETTERS:
            counted = sa.select(table.c.client_id, sa.func.count()).where(purged_letters(before, with_visits=True))
            yield name, counted.group_by(table.c.client_id)
        elif inspection is not None:
            joined = sa.select(VISIT.c.client_id, sa.func.count())
            if table is not VISIT:
                joined = joined.join_from(table, VISIT, inspection == VISIT.c.id)
            yield name, joined.where(VISIT.c.id.in_(purged_visits(before))).group_by(VISIT.c.client_id)


def inspection_of(table: Any) -> sa.ColumnElement[Any] | None:
    """Return the inspection with which a row is deleted; None for rows that stay."""
    if table is VISIT:
        key: sa.ColumnElement[Any] = VISIT.c.id
        return key
    columns: list[sa.ColumnElement[Any]] = []
    if "inspection_id" in table.c and table.name != FindingEvent.__tablename__:
        columns.append(table.c.inspection_id)
    if "finding_id" in table.c:
        of_finding = Finding.__table__.alias("finding_of_row")
        visit = sa.select(of_finding.c.inspection_id).where(of_finding.c.id == table.c.finding_id)
        columns.append(visit.scalar_subquery())
    found: sa.ColumnElement[Any] = sa.func.coalesce(*columns, sa.null())
    return found if columns else None


def purge(database: Database, day: datetime.date) -> Iterator[int]:
    """Remove old visits, then old letters. Yield the number of visits and letters of each transaction after its end."""
    while number := purge_visits(database, day):
        yield number
    while number := purge_letters(database, day):
        yield number


def purge_visits(database: Database, day: datetime.date) -> int:
    with database.writing(seconds_max=SECONDS_MAX) as transaction:
        query = purged_visits(Before.of(transaction, day)).order_by(VISIT.c.id).limit(VISITS_AT_ONCE)
        ids = [row[0] for row in transaction.execute(query).all()]
        report = IssuedReport.__table__
        reports = sa.select(report.c.id).where(report.c.inspection_id.in_(ids)).order_by(report.c.id)
        delete_rows(transaction, REPORTS, [(row[0],) for row in transaction.execute(reports).all()])
        delete_rows(transaction, VISIT.name, [(each,) for each in ids])
    return len(ids)


def purge_letters(database: Database, day: datetime.date) -> int:
    letter = Notice.__table__
    with database.writing(seconds_max=SECONDS_MAX) as transaction:
        goes = purged_letters(Before.of(transaction, day), with_visits=False)
        query = sa.select(letter.c.id).where(goes).order_by(letter.c.id).limit(LETTERS_AT_ONCE)
        ids = [row[0] for row in transaction.execute(query).all()]
        delete_rows(transaction, LETTERS, [(each,) for each in ids])
    return len(ids)
