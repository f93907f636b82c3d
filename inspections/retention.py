"""How long what was reported is kept: which visits are locked, and which rows are not deleted yet.

A visit with an issued report is deleted by `flask purge` alone, RETENTION_YEARS after its newest report. Foreign keys
refuse its deletion and that of its building and client. The domain rules here say until when, and keep its inspector.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa
from dateutil.relativedelta import relativedelta

from engine.interface.database import Transaction
from engine.query.catalog import ForeignKeyViolation
from engine.query.read.planner import Planner
from engine.query.statement import UNRESTRICTED, parameter
from engine.query.write.rules import DomainRule, Key
from engine.rows import Select, prepared, read_rows
from models import Building, BuildingDetail, Client, Inspection, Inspector, IssuedReport
from models.fields import Row
from models.types import BIGINT, Bound

REPORTS: Final = IssuedReport.__tablename__


def locked_visits(transaction: Transaction, ids: Collection[Bound]) -> set[Bound]:
    """Return the inspections among these ids that have an issued report that is not withdrawn."""
    rows = read_rows(transaction, UNRESTRICTED, REPORTS, ("inspection_id",), inspection_id=list(ids), withdrawn_at=None)
    return {each["inspection_id"] for each in rows}


def has_reports(inspection: Row) -> sa.ColumnElement[bool]:
    """Return the condition that an inspection has an issued report, withdrawn or not."""
    report = IssuedReport.__table__.alias("rule_reports")
    return sa.exists(sa.literal_column("1")).where(report.c.inspection_id == inspection.id)


@dataclass(frozen=True, slots=True)
class Kept:
    """Which column of an inspection or of its report refers to a row, and the foreign key that refuses its deletion."""

    column: str
    constraint: str
    by: str


KEPT: Final[dict[str, Kept]] = {
    Inspection.__tablename__: Kept("id", "issued_reports_inspection_id_fkey", REPORTS),
    Building.__tablename__: Kept("building_id", "inspections_building_id_fkey", Inspection.__tablename__),
    Inspector.__tablename__: Kept("inspector_id", "inspections_inspector_id_fkey", Inspection.__tablename__),
    Client.__tablename__: Kept("client_id", "issued_reports_client_id_fkey", REPORTS),
}


def kept_until(transaction: Transaction, issued_at: str, years: int) -> datetime.date:
    """Return the day until which a report is kept that was issued at a stored time."""
    moment = datetime.datetime.fromisoformat(issued_at).astimezone(transaction.time_zone)
    day: datetime.date = moment.date() + relativedelta(years=years)
    return day


def require_released(transaction: Transaction, table: str, keys: Sequence[Key], years: int) -> None:
    """Raise ForeignKeyViolation if an inspection of one of these rows has an issued report, withdrawn or not.

    Callers who may delete such a row read its reports. The details say until when these are kept.
    """
    newest = newest_statement.all(transaction, UNRESTRICTED, table, keys=[key[0] for key in keys])
    if not newest:
        return
    key, issued_at = max(newest, key=lambda each: each[1])
    kept = KEPT[table]
    violation = ForeignKeyViolation.referenced(table, kept.constraint, "id", key, kept.by)
    until = kept_until(transaction, issued_at, years).isoformat()
    violation.details = f"{violation.details} Its newest report is kept until {until}: flask purge removes it then."
    raise violation


@prepared(Planner)
def newest_statement(planner: Planner, table: str) -> Select:
    """Return the query for the rows of a table in `Binding.keys` with reports, and the time of each newest one."""
    report, _ = planner.visible(IssuedReport)
    inspection, _ = planner.visible(Inspection)
    column: Any = (report if table == Client.__tablename__ else inspection).c[KEPT[table].column]
    of_row = planner.dialect.in_list(column, BIGINT, parameter("keys", sa.Text))
    query = sa.select(column, sa.func.max(report.c.issued_at)).join_from(
        report, inspection, report.c.inspection_id == inspection.c.id
    )
    if table in (Inspection.__tablename__, Building.__tablename__):
        query = query.where(sa.not_(is_held(inspection.c)))  # triggers say that the building is held
    return query.where(of_row).group_by(column)


def is_held(inspection: Row) -> sa.ColumnElement[bool]:
    """Return the condition that the building of an inspection is held."""
    details = BuildingDetail.__table__.alias("rule_details")
    of_building = sa.and_(details.c.building_id == inspection.building_id, details.c.hold_reason.is_not(None))
    return sa.exists(sa.literal_column("1")).where(of_building)


@dataclass(frozen=True)
class RetentionRule(DomainRule):
    """Rows that an issued report names are kept for some years."""

    table: str
    years: int

    def concerns_update(self, row: Row, columns: frozenset[str]) -> sa.ColumnElement[bool]:
        return sa.false()

    def deleting(self, transaction: Transaction, keys: Sequence[Key]) -> None:
        require_released(transaction, self.table, keys, self.years)
