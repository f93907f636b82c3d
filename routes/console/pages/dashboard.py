"""/console/: figures, a chart, overdue and upcoming inspections, of the rows that the caller sees."""

from __future__ import annotations

import datetime

from flask import Response, request

from access import policy
from access.caller import Caller
from engine.interface.database import TimedOut
from engine.open import reading
from engine.query.statement import Action
from engine.rows import QueryResult
from inspections.reporting import chart, counts
from inspections.reporting.dashboard import read_dashboard, read_first_steps
from inspections.reporting.due_summary import read_due_summary
from models import Client
from models.types import DatetimeOutOfRange, InvalidDatetime, read_date
from routes.console.components import charts, queries
from routes.console.components.error_pages import fault_message
from routes.console.components.page import render_page
from routes.console.components.row_choice import in_use
from routes.console.components.tables import Row
from routes.console.pages.findings import due_cell, due_day
from routes.console.session import auth

LIST_ROWS = 8
BUILDINGS_SHOWN = 10
OPEN = "status=in.(scheduled,in_progress)"
CHART_FAULTS = (chart.InvalidPeriod, chart.TooManyLabels, InvalidDatetime, DatetimeOutOfRange, TimedOut)
NO_CHART = chart.Chart("", "", chart.Interval.MONTH, [], [])
COLUMNS = "select=id,inspection_type,date_visited,status,buildings(id,name)"


@auth.requires_session(shares_snapshot=False)
def dashboard(caller: Caller) -> Response:
    problem: str | None = None
    try:
        drawn = requested_chart(caller)
    except CHART_FAULTS as fault:
        problem = fault_message(fault)
        drawn = NO_CHART
    with reading() as transaction:
        numbers = read_dashboard(transaction, caller)
        due = read_due_summary(transaction, caller)
        # The steps count every row, so only a role that may create clients sees them.
        steps = read_first_steps(transaction) if policy.permits(caller.profile, Action.INSERT, Client) else []
        today = transaction.today
    return render_page(
        "dashboard.html",
        400 if problem else 200,
        numbers=numbers,
        due=due,
        first_steps=steps,
        chart=drawn,
        typed=request.args,
        stacked=charts.stacked(drawn),
        types=charts.shares(numbers.by_type),
        busiest=drawn.buildings[:BUILDINGS_SHOWN],
        overdue=inspections(caller, f"{OPEN}&date_visited=lt.{today}"),
        schedules=next_schedules(caller),
        findings=next_findings(caller),
        upcoming=inspections(caller, f"status=eq.scheduled&date_visited=gte.{today}"),
        days=counts.calendar_days(today) | {"yesterday": str(today - datetime.timedelta(1))},
        today=today,
        problem=problem,
    )


def next_schedules(caller: Caller, size: int = LIST_ROWS) -> list[Row]:
    """Return the open inspections of schedules that are due first."""
    select = f"select=due_on,inspections!inner({COLUMNS.removeprefix('select=')})"
    text = f"{in_use(caller, select, 'inspections', 'buildings')}&outcome=is.null&due_on=not.is.null"
    return queries.select_rows(caller, "inspection_plans", f"{text}&order=due_on,inspection_id", limit=size).rows


def next_findings(caller: Caller, size: int = LIST_ROWS, filters: str = "") -> list[Row]:
    """Return the open findings whose deadline is next."""
    select = "select=id,place,item,description,severity,status,due_at,inspections(buildings(name))"
    text = f"{in_use(caller, select, 'inspections', 'buildings')}&status=eq.open"
    rows = queries.select_rows(caller, "findings", f"{text}{filters}&order=due_at,id", limit=size).rows
    for row in rows:
        (row["due"], _), row["due_day"] = due_cell(row), due_day(row)
    return rows


def requested_chart(caller: Caller) -> chart.Chart:
    """Return the chart of the dates in the URL, or of the last twelve months."""
    start, end = (read_date(text) if (text := request.args.get(name, "").strip()) else None for name in ("from", "to"))
    with reading() as transaction:
        drawn = chart.read_chart(transaction, caller, start, end)
    if len(drawn.series) > charts.POINTS_MAX:
        raise chart.InvalidPeriod("Choose dates at most ten years apart")
    return drawn


def inspections(caller: Caller, filters: str) -> QueryResult:
    """Return the first inspections by date."""
    text = f"{in_use(caller, COLUMNS, 'buildings')}&{filters}&order=date_visited.asc,id.asc"
    return queries.select_rows(caller, "inspections", text, limit=LIST_ROWS)
