"""The numbers of one building, over the rows that a row rule shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import sqlalchemy as sa

from access.caller import Caller, VisibleRows
from access.functions import function
from access.parameters import required_parameter
from access.roles import EVERY_ROLE
from engine.interface.transaction import Transaction
from engine.query.dialect.registry import DIALECTS
from engine.query.rule import Rule
from engine.query.statement import Statement
from inspections.faults import NoSuchBuilding
from inspections.reporting.counts import LABELS_MAX, PLANS_MAX, CountPlanner, Counts, fetch_rows, labelled, shortened
from inspections.reporting.status_counts import read_status_counts
from models import Building, Inspection, ReportLead
from models.types import BIGINT
from models.vocabulary import COMPLETED, FAILED

RATE_DIGITS = 4


@dataclass(frozen=True, slots=True)
class LeadReadings:
    """The lead-paint readings of a building."""

    readings: int
    by_result: Counts


@dataclass(frozen=True, slots=True)
class BuildingStats:
    """The counts of one building. The rates are the shares of completed and of failed inspections, from 0 to 1, and 0
    without an inspection. The other fields are those of `Dashboard`."""

    building_id: int
    name: str
    total_inspections: int
    by_status: Counts
    by_type: Counts
    last_inspection: str | None
    next_inspection: str | None
    overdue: int
    completion_rate: float
    failure_rate: float
    lead: LeadReadings


@function(
    "get_building_stats",
    summary="Statistics of one building",
    roles=EVERY_ROLE,
    parameters={"building_id": required_parameter(BIGINT)},
)
def get_building_stats(transaction: Transaction, caller: Caller, building_id: int) -> BuildingStats:
    return read_building_stats(transaction, caller.visible_rows(), building_id)


def read_building_stats(transaction: Transaction, visible: VisibleRows, building_id: int) -> BuildingStats:
    """Return the counts of a building. Raise NoSuchBuilding if it is not visible."""
    statement = plan_building_name(transaction.dialect.name, visible.rule)
    name = transaction.value(statement.sql, statement.bind(visible.binding(building_id=building_id)))
    if name is None:
        raise NoSuchBuilding
    status_counts = read_status_counts(transaction, visible, building_id)
    by_status = status_counts.by_status()
    return BuildingStats(
        building_id=building_id,
        name=name,
        total_inspections=status_counts.total,
        by_status=by_status,
        by_type=status_counts.by_type(),
        last_inspection=status_counts.last_inspection,
        next_inspection=status_counts.next_inspection,
        overdue=status_counts.overdue,
        completion_rate=share(by_status[COMPLETED], status_counts.total),
        failure_rate=share(by_status[FAILED], status_counts.total),
        lead=read_lead(transaction, visible, building_id),
    )


def share(part: int, total: int) -> float:
    """Return a share from 0 to 1, rounded to RATE_DIGITS digits; 0 of a total of 0."""
    return round(part / total, RATE_DIGITS) if total else 0


def read_lead(transaction: Transaction, visible: VisibleRows, building_id: int) -> LeadReadings:
    """Return the counts of a building's readings."""
    statement = plan_readings(transaction.dialect.name, visible.rule)
    rows = fetch_rows(transaction, statement, visible.binding(building_id=building_id))
    total = rows[0][2] if rows else 0
    rest = total - sum(row[1] for row in rows)
    return LeadReadings(total, labelled(((row[0], row[1]) for row in rows), (), rest))


# Statements


@lru_cache(maxsize=PLANS_MAX)
def plan_building_name(database: str, rule: Rule) -> Statement:
    """Plan one row: the name of a visible building."""
    planner = CountPlanner(DIALECTS[database], rule)
    building, scope = planner.visible(Building)
    named = building.c.id == planner.named_parameter("building_id")
    return planner.finish(sa.select(building.c.name).where(named, scope))


@lru_cache(maxsize=PLANS_MAX)
def plan_readings(database: str, rule: Rule) -> Statement:
    """Plan rows of result, count and total of the readings of one building, the most frequent results first."""
    planner = CountPlanner(DIALECTS[database], rule)
    inspection, where = planner.inspections(of_building=True)
    reading, scope = planner.visible_by(ReportLead, Inspection)
    result, counted = reading.c.result, sa.func.count()
    readings = (
        sa.select(shortened(result), counted, sa.func.sum(counted).over())
        .select_from(inspection.join(reading, reading.c.inspection_id == inspection.c.id))
        .where(*where, scope)
        .group_by(result)
    )
    return planner.finish(readings.order_by(counted.desc(), result).limit(LABELS_MAX))
