"""The statements of charts: inspections between two days, by period and status, and the busiest buildings.

As `counts.py`, of which they are a part, over rows that a rule lets be seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from engine.query.dialect.base import SPELLINGS
from engine.query.dialect.base import Spelling
from engine.query.read.disjuncts import Arm
from engine.query.read.skip_scan import of_every_kind
from engine.query.read.skip_scan import owner_said
from engine.query.rule import Rule
from engine.query.statement import Statement
from engine.query.statement import parameter
from engine.reporting.counts import COMPLETED
from engine.reporting.counts import FAILED
from engine.reporting.counts import PLANS_MAX
from engine.reporting.counts import STATUSES
from engine.reporting.counts import Counter
from engine.reporting.counts import shortened
from engine.reporting.counts import united
from models import Building
from models import Inspection
from models.types import BIGINT

Expression = sa.ColumnElement[Any]

POINT_LABELS_MAX = 20_000  # pairs of period and status: the common statuses fit any chart
BUSIEST_MAX = 20  # as many as a chart can name

DAY_CHARACTERS = len("YYYY-MM-DD")


class Charter(Counter):
    """A counter of inspections between two days; of a day so many characters are told apart."""

    def __init__(self, spelling: Spelling, rule: Rule, characters: int = DAY_CHARACTERS) -> None:
        super().__init__(spelling, rule)
        self.characters = characters

    def within_dates(self, inspection: sa.Alias) -> Expression:
        visited = inspection.c.date_visited
        return visited.between(self.given("start_date"), self.given("end_date"))

    def period_of(self, inspection: sa.Alias) -> Any:
        day = self.spelling.day_text(inspection.c.date_visited)
        return sa.func.substr(day, 1, self.characters).label("period")

    def points(self, inspection: sa.Alias, arm: Arm, many: Expression) -> sa.Select[Any]:
        """Periods, statuses, and how many, of what an arm finds between the dates."""
        columns = self.period_of(inspection), shortened(inspection.c.status), many.label("many")
        return sa.select(*columns).where(arm.sought, *arm.rest, self.within_dates(inspection))

    def points_of(self, inspection: sa.Alias, arm: Arm) -> Iterator[sa.Select[Any]]:
        """The same, each status as an index has it, if one has."""
        if not self.walks_along(arm.sought):
            yield self.points(inspection, arm, sa.literal_column("1"))
            return
        kept, days = inspection.c, self.points(inspection, arm, sa.func.count())
        owner = (kept[Inspection.by_date.owner],) if self.walks(arm.sought) else ()
        for status in STATUSES:
            yield days.where(kept.status == status).group_by(*owner, kept.date_visited)
        yield self.others(inspection, arm)

    def others(self, inspection: sa.Alias, arm: Arm) -> sa.Select[Any]:
        """The same of rows without one of STATUSES."""
        relation = self.catalog.relations[Inspection.__tablename__]
        owner = owner_said(arm.said, Inspection.by_date)
        parts = of_every_kind(Inspection.by_date, relation, inspection, owner)
        status = parts.rows.c.status
        points = self.points(inspection, arm, sa.func.count())
        points = points.where(status.is_(None) | status.not_in(STATUSES))
        points = points.select_from(
            self.spelling.beginning_with(parts.rows, inspection, parts.ties)
        )
        return points.group_by(*points.selected_columns[:2])

    def count_within_dates(self, building_id: Expression, status: str | None = None) -> Expression:
        """How many inspections, or those of a status, a building had that is known to be visible: a walk along an
        index, be it of the building's dates or of those of the status."""
        inspection, scope = self.visible_by(Inspection, Building)
        kept, conditions = inspection.c, [self.within_dates(inspection), scope]
        if status is not None:
            conditions.append(self.spelling.of_short_text(kept.status, kept.status == status))
        conditions += self.of_one(inspection, building_id)
        counted = sa.select(sa.func.count()).where(*conditions)
        return counted.correlate_except(inspection).scalar_subquery()


@lru_cache(maxsize=PLANS_MAX)
def plan_points(database: str, rule: Rule, period_characters: int) -> Statement | None:
    """Period, status and how many, where a client's rows of a status are in the order of an index; None where none are
    looked for so. A period is the first so many characters of a date.

    The usual statuses are looked for one by one, and counted by day as they come; the others where there are any. What
    was granted beside that is counted row by row. One row more than POINT_LABELS_MAX says that there are too many.
    """
    charter = Charter(SPELLINGS[database], rule, period_characters)
    inspection, where = charter.inspections(of_building=False)
    arms = charter.arms_of(inspection, where)
    if not any(charter.walks_along(arm.sought) for arm in arms):
        return None
    searches = (search for arm in arms for search in charter.points_of(inspection, arm))
    found = united(searches)
    points = found.period, found.status
    counted = sa.select(*points, sa.func.sum(found.many)).group_by(*points)
    return charter.finish(counted.limit(POINT_LABELS_MAX + 1))


@lru_cache(maxsize=PLANS_MAX)
def plan_series(database: str, rule: Rule, period_characters: int) -> Statement:
    """Period, how many of each of STATUSES, and how many in all.

    Counted by day first, in the order of an index, and then by period. In that order a day's statuses are mixed: so
    they are no groups of their own.
    """
    charter = Charter(SPELLINGS[database], rule, period_characters)
    inspection, where = charter.inspections(of_building=False)
    kept, count = inspection.c, sa.func.count()
    of_statuses = [count.filter(kept.status == status).label(status) for status in STATUSES]
    days = (
        sa.select(charter.period_of(inspection), *of_statuses, count.label("total"))
        .where(*where, charter.within_dates(inspection))
        .group_by(kept.date_visited)
        .subquery("days")
    )
    sums = [sa.func.sum(days.c[name]) for name in (*STATUSES, "total")]
    return charter.finish(sa.select(days.c.period, *sums).group_by(days.c.period))


@lru_cache(maxsize=PLANS_MAX)
def plan_other_statuses(database: str, rule: Rule, period_characters: int) -> Statement:
    """Period, status and how many, of inspections without one of STATUSES.

    One row more than POINT_LABELS_MAX says that there are too many.
    """
    charter = Charter(SPELLINGS[database], rule, period_characters)
    inspection, where = charter.inspections(of_building=False)
    status = inspection.c.status
    points = sa.select(charter.period_of(inspection), shortened(status), sa.func.count()).where(
        *where,
        charter.within_dates(inspection),
        status.is_(None) | status.not_in(STATUSES),
    )
    grouped = points.group_by(points.selected_columns[0], points.selected_columns[1])
    return charter.finish(grouped.limit(POINT_LABELS_MAX + 1))


@lru_cache(maxsize=PLANS_MAX)
def plan_busiest(database: str, rule: Rule) -> Statement:
    """Id, name and number of inspections of the busiest buildings; idle ones may be among them, last."""
    charter = Charter(SPELLINGS[database], rule)
    if charter.spelling.joins_to_count:
        return plan_busiest_joined(charter)
    building, scope = charter.visible(Building)
    total = charter.count_within_dates(building.c.id).label("total")
    busiest = sa.select(building.c.id, building.c.name, total).where(scope)
    return charter.finish(busiest.order_by(sa.desc("total"), building.c.id).limit(BUSIEST_MAX))


def plan_busiest_joined(charter: Charter) -> Statement:
    """The same by one join, for a database that chooses between walking an index and hashing it all."""
    building, scope = charter.visible(Building)
    inspection, inspection_scope = charter.visible_by(Inspection, Building)
    total = sa.func.count().label("total")
    busiest = (
        sa.select(building.c.id, building.c.name, total)
        .select_from(building.join(inspection, inspection.c.building_id == building.c.id))
        .where(scope, charter.within_dates(inspection), inspection_scope)
        .group_by(building.c.id)
    )
    return charter.finish(busiest.order_by(sa.desc("total"), building.c.id).limit(BUSIEST_MAX))


@lru_cache(maxsize=PLANS_MAX)
def plan_outcomes(database: str, rule: Rule) -> Statement:
    """Building, how many inspections, completed ones and failed ones, of the buildings in `Binding.keys`."""
    charter = Charter(SPELLINGS[database], rule)
    listed = charter.spelling.elements(parameter("keys", sa.Text))
    building_id = charter.spelling.element(listed, BIGINT)
    outcomes = (None, COMPLETED, FAILED)
    counted = [charter.count_within_dates(building_id, status) for status in outcomes]
    return charter.finish(sa.select(building_id, *counted).select_from(listed))


@lru_cache(maxsize=PLANS_MAX)
def plan_names(database: str, rule: Rule) -> Statement:
    """Id and name of the visible buildings among those in `Binding.keys`."""
    charter = Charter(SPELLINGS[database], rule)
    building, scope = charter.visible(Building)
    among = charter.spelling.in_list(building.c.id, BIGINT, parameter("keys", sa.Text))
    return charter.finish(sa.select(building.c.id, building.c.name).where(among, scope))
