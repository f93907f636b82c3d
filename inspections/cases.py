"""Cases: an inspection and its re-inspections. Each is a round of the case."""

from __future__ import annotations

from functools import cache
from typing import cast

import sqlalchemy as sa

from access.caller import Caller
from access.policy import AccessRule
from engine.interface.transaction import Transaction
from engine.query.catalog import catalog
from engine.query.dialect.registry import DIALECTS
from engine.query.read.planner import Planner
from engine.query.statement import Statement, parameter
from inspections.faults import RoundOpen
from inspections.writes import insert_rows, read_rows
from models import Finding, Inspection, InspectionPlan
from models.vocabulary import DONE, OPEN, SCHEDULED

INSPECTIONS, PLANNED_VISITS = Inspection.__tablename__, InspectionPlan.__tablename__


def add_round(
    transaction: Transaction, case_id: int, inspection_id: int, date_visited: str, inspector_id: int | None
) -> tuple[int, int]:
    """Insert the inspection of the next round after one, and return its id and round. Raise RoundOpen.

    Without an inspector it has the one of the last round.
    """
    rounds = read_rows(transaction, PLANNED_VISITS, ("inspection_id", "round", "outcome"), "case_id", [case_id])
    if any(each["outcome"] is None for each in rounds):
        raise RoundOpen
    if not rounds:
        insert_round(transaction, inspection_id, case_id, 1, DONE)
    last = max(rounds, key=lambda each: each["round"], default={"inspection_id": inspection_id, "round": 1})
    columns = ("id", "building_id", "inspection_type", "inspector_id")
    ids = [inspection_id, last["inspection_id"]]
    inspections = {each["id"]: each for each in read_rows(transaction, INSPECTIONS, columns, "id", ids)}
    inspection = {
        "building_id": inspections[inspection_id]["building_id"],
        "inspection_type": inspections[inspection_id]["inspection_type"],
        "status": SCHEDULED,
        "date_visited": date_visited,
        "inspector_id": inspections[last["inspection_id"]]["inspector_id"] if inspector_id is None else inspector_id,
    }
    [(key,)] = insert_rows(transaction, INSPECTIONS, [inspection])
    new_id, number = cast(int, key), cast(int, last["round"]) + 1
    insert_round(transaction, new_id, case_id, number, None)
    return new_id, number


def insert_round(transaction: Transaction, inspection_id: int, case_id: int, number: int, outcome: str | None) -> None:
    """Insert the planned visit of a round, which has no schedule."""
    planned = {"inspection_id": inspection_id, "case_id": case_id, "round": number, "outcome": outcome}
    insert_rows(transaction, PLANNED_VISITS, [planned])


def count_open_findings(transaction: Transaction, caller: Caller, case_id: int) -> int:
    """Return the number of open findings of a case that the caller reads."""
    statement = open_findings_statement(transaction.dialect.name, caller.rule)
    number: int = transaction.value(statement.sql, statement.bind(caller.binding(case_id=case_id)))
    return number


@cache
def open_findings_statement(database: str, rule: AccessRule) -> Statement:
    planner = Planner(DIALECTS[database], rule)
    finding, scope = planner.scoped(catalog().relations[Finding.__tablename__])
    of_case = finding.c.case_id == parameter("case_id")
    counted = sa.select(sa.func.count()).select_from(finding)
    return planner.finish(counted.where(of_case, finding.c.status == OPEN, scope))
