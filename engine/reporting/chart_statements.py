"""The statements of charts: inspections between two days, by period and status, and the busiest buildings.

As `counts.py`, of which they are a part, over rows that a rule lets be seen.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from engine.query.dialect.base import SqlDialect
from engine.query.dialect.registry import DIALECTS
from engine.query.rule import Rule
from engine.query.statement import Statement
from engine.query.statement import parameter
from engine.reporting.counts import COMPLETED
from engine.reporting.counts import FAILED
from engine.reporting.counts import PLANS_MAX
from engine.reporting.counts import CountPlanner
from engine.reporting.counts import shortened
from models import Building
from models import Inspection
from models.types import BIGINT

Expression = sa.ColumnElement[Any]

POINT_LABELS_MAX = 20_000  # pairs of period and status: the common statuses fit any chart
BUSIEST_MAX = 20  # as many as a chart can name

DAY_CHARACTERS = len("YYYY-MM-DD")


class ChartPlanner(CountPlanner):
    """A counter of inspections between two days; of a day so many characters are told apart."""

    def __init__(self, dialect: SqlDialect, rule: Rule, characters: int = DAY_CHARACTERS) -> None:
        super().__init__(dialect, rule)
        self.characters = characters

    def within_dates(self, inspection: sa.Alias) -> Expression:
        return self.between_dates(inspection.c.date_visited)

    def between_dates(self, visited: Expression) -> Expression:
        return visited.between(self.value_of("start_date"), self.value_of("end_date"))

    def period_of(self, inspection: sa.Alias) -> Any:
        day = self.dialect.date_text(inspection.c.date_visited)
        return sa.func.substr(day, 1, self.characters).label("period")

    def count_within_dates(self, building_id: Expression, status: str | None = None) -> Expression:
        """How many inspections, or those of a status, a building had that is known to be visible: a walk along an
        index, be it of the building's dates or of those of the status."""
        inspection, scope = self.visible_by(Inspection, Building)
        kept, conditions = inspection.c, [self.within_dates(inspection), scope]
        if status is not None:
            conditions.append(self.dialect.with_length_limit(kept.status, kept.status == status))
        conditions += self.of_one(inspection, building_id)
        counted = sa.select(sa.func.count()).where(*conditions)
        return counted.correlate_except(inspection).scalar_subquery()


@lru_cache(maxsize=PLANS_MAX)
def plan_points(database: str, rule: Rule, period_characters: int) -> Statement:
    """Period, status and how many. A period is the first so many characters of a date.

    Rows are counted by client, status and day first: in a file an index has them in that order. One row more than
    POINT_LABELS_MAX says that there are too many.
    """
    planner = ChartPlanner(DIALECTS[database], rule, period_characters)
    inspection, where = planner.inspections(of_building=False)
    kept = inspection.c
    within = planner.within_dates(inspection)
    if planner.scans_index(
        where[-1]
    ):  # by a range SQLite would skip through the rows of every client
        within = planner.between_dates(planner.dialect.unindexed(kept.date_visited))
    days = (
        sa.select(
            planner.period_of(inspection), shortened(kept.status), sa.func.count().label("many")
        )
        .where(*where, within)
        .group_by(kept.client_id, kept.status, kept.date_visited)
        .subquery("days")
    )
    points = days.c.period, days.c.status
    counted = sa.select(*points, sa.cast(sa.func.sum(days.c.many), sa.BigInteger())).group_by(
        *points
    )
    return planner.finish(counted.limit(POINT_LABELS_MAX + 1))


@lru_cache(maxsize=PLANS_MAX)
def plan_busiest(database: str, rule: Rule) -> Statement:
    """Id, name and number of inspections of the busiest buildings; idle ones may be among them, last."""
    planner = ChartPlanner(DIALECTS[database], rule)
    if planner.dialect.joins_to_count:
        return plan_busiest_joined(planner)
    building, scope = planner.visible(Building)
    total = planner.count_within_dates(building.c.id).label("total")
    busiest = sa.select(building.c.id, building.c.name, total).where(scope)
    return planner.finish(busiest.order_by(sa.desc("total"), building.c.id).limit(BUSIEST_MAX))


def plan_busiest_joined(planner: ChartPlanner) -> Statement:
    """The same by one join, for a database that chooses between walking an index and hashing it all."""
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
    """Building, how many inspections, completed ones and failed ones, of the buildings in `Binding.keys`."""
    planner = ChartPlanner(DIALECTS[database], rule)
    listed = planner.dialect.json_elements(parameter("keys", sa.Text))
    building_id = planner.dialect.json_element(listed, BIGINT)
    outcomes = (None, COMPLETED, FAILED)
    counted = [planner.count_within_dates(building_id, status) for status in outcomes]
    return planner.finish(sa.select(building_id, *counted).select_from(listed))


@lru_cache(maxsize=PLANS_MAX)
def plan_building_names(database: str, rule: Rule) -> Statement:
    """Id and name of the visible buildings among those in `Binding.keys`."""
    planner = ChartPlanner(DIALECTS[database], rule)
    building, scope = planner.visible(Building)
    among = planner.dialect.in_list(building.c.id, BIGINT, parameter("keys", sa.Text))
    return planner.finish(sa.select(building.c.id, building.c.name).where(among, scope))
