"""The statements of a chart, each over the rows that a row rule shows."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from engine.query.dialect.base import SqlDialect
from engine.query.dialect.registry import DIALECTS
from engine.query.rule import Rule
from engine.query.statement import Statement, parameter
from inspections.reporting.counts import PLANS_MAX, CountPlanner, shortened
from models import Building, Inspection
from models.types import BIGINT
from models.vocabulary import COMPLETED, FAILED

Expression = sa.ColumnElement[Any]

POINT_LABELS_MAX = 20_000  # pairs of period and status; the five common statuses fit any chart
BUSIEST_MAX = 20  # of a chart

DAY_CHARACTERS = len("YYYY-MM-DD")


class ChartPlanner(CountPlanner):
    """A planner of counts between two days. `characters` is the length of a date's prefix that identifies a period."""

    def __init__(self, dialect: SqlDialect, rule: Rule, characters: int = DAY_CHARACTERS) -> None:
        super().__init__(dialect, rule)
        self.characters = characters

    def within_dates(self, inspection: sa.Alias) -> Expression:
        """Return the condition that an inspection is between the two days."""
        return self.between_dates(inspection.c.date_visited)

    def between_dates(self, visited: Expression) -> Expression:
        """Return the condition that a day is between the two days."""
        return visited.between(self.named_parameter("start_date"), self.named_parameter("end_date"))

    def period_of(self, inspection: sa.Alias) -> Any:
        """Return the expression of an inspection's period."""
        day = self.dialect.date_text(inspection.c.date_visited)
        return sa.func.substr(day, 1, self.characters).label("period")

    def count_within_dates(self, building_id: Expression, status: str | None = None) -> Expression:
        """Return the number of inspections of a visible building, or of those with one status, by an index scan."""
        inspection, scope = self.visible_by(Inspection, Building)
        columns, conditions = inspection.c, [self.within_dates(inspection), scope]
        if status is not None:
            conditions.append(self.dialect.with_length_limit(columns.status, columns.status == status))
        conditions += self.in_building(inspection, building_id)
        counted = sa.select(sa.func.count()).where(*conditions)
        return counted.correlate_except(inspection).scalar_subquery()


@lru_cache(maxsize=PLANS_MAX)
def plan_points(database: str, rule: Rule, period_characters: int) -> Statement:
    """Plan rows of period, status and count. A period is the first `period_characters` characters of a date.

    The inner query counts by client, status and day, the order of an index of SQLite. The limit is
    POINT_LABELS_MAX + 1, so that the caller detects too many rows.
    """
    planner = ChartPlanner(DIALECTS[database], rule, period_characters)
    inspection, where = planner.inspections(of_building=False)
    columns = inspection.c
    within = planner.within_dates(inspection)
    if planner.scans_index(where[-1]):  # a range on the column would make SQLite skip-scan every client
        within = planner.between_dates(planner.dialect.unindexed(columns.date_visited))
    days = (
        sa.select(planner.period_of(inspection), shortened(columns.status), sa.func.count().label("many"))
        .where(*where, within)
        .group_by(columns.client_id, columns.status, columns.date_visited)
        .subquery("days")
    )
    points = days.c.period, days.c.status
    counted = sa.select(*points, sa.cast(sa.func.sum(days.c.many), sa.BigInteger())).group_by(*points)
    return planner.finish(counted.limit(POINT_LABELS_MAX + 1))


@lru_cache(maxsize=PLANS_MAX)
def plan_busiest(database: str, rule: Rule) -> Statement:
    """Plan rows of id, name and inspection count of the busiest buildings. The last may have no inspection."""
    planner = ChartPlanner(DIALECTS[database], rule)
    if planner.dialect.joins_to_count:
        return plan_busiest_joined(planner)
    building, scope = planner.visible(Building)
    total = planner.count_within_dates(building.c.id).label("total")
    busiest = sa.select(building.c.id, building.c.name, total).where(scope)
    return planner.finish(busiest.order_by(sa.desc("total"), building.c.id).limit(BUSIEST_MAX))


def plan_busiest_joined(planner: ChartPlanner) -> Statement:
    """Return `plan_busiest` as one join, for an engine that chooses between an index scan and a hash."""
    building, scope = planner.visible(Building)
    inspection, inspection_scope = planner.visible_by(Inspection, Building)
    total = sa.func.count().label("total")
    busiest = (
        sa.select(building.c.id, building.c.name, total)
        .select_from(building.join(inspection, inspection.c.building_id == building.c.id))
        .where(scope, planner.within_dates(inspection), inspection_scope)
        .group_by(building.c.id)
    )
    return planner.finish(busiest.order_by(sa.desc("total"), building.c.id).limit(BUSIEST_MAX))


@lru_cache(maxsize=PLANS_MAX)
def plan_outcomes(database: str, rule: Rule) -> Statement:
    """Plan rows of id and numbers of all, completed and failed inspections, of the buildings in `Binding.keys`."""
    planner = ChartPlanner(DIALECTS[database], rule)
    listed = planner.dialect.json_elements(parameter("keys", sa.Text))
    building_id = planner.dialect.json_element(listed, BIGINT)
    outcomes = (None, COMPLETED, FAILED)
    counted = [planner.count_within_dates(building_id, status) for status in outcomes]
    return planner.finish(sa.select(building_id, *counted).select_from(listed))


@lru_cache(maxsize=PLANS_MAX)
def plan_building_names(database: str, rule: Rule) -> Statement:
    """Plan rows of id and name of the visible buildings in `Binding.keys`."""
    planner = ChartPlanner(DIALECTS[database], rule)
    building, scope = planner.visible(Building)
    among = planner.dialect.in_list(building.c.id, BIGINT, parameter("keys", sa.Text))
    return planner.finish(sa.select(building.c.id, building.c.name).where(among, scope))
