"""/console/: figures, a chart, overdue and upcoming inspections, of the rows that the caller sees."""

from __future__ import annotations

import datetime

from flask import Response, request

from access import policy
from access.caller import Caller
from engine.current import reading
from engine.interface.faults import TimedOut
from engine.query.rule import Action
from inspections.reporting import chart, status_counts
from inspections.reporting.dashboard import read_dashboard
from inspections.reporting.first_steps import read_first_steps
from models import Client
from models.types import DatetimeOutOfRange, InvalidDatetime, read_date
from routes.console.components import charts, queries
from routes.console.components.error_pages import fault_message
from routes.console.components.page import bp, render_page
from routes.console.pages.findings import due_cell
from routes.console.session import auth

LIST_ROWS = 8
BUILDINGS_SHOWN = 10
OPEN = "status=in.(scheduled,in_progress)"
CHART_FAULTS = (chart.InvalidPeriod, chart.TooManyLabels, InvalidDatetime, DatetimeOutOfRange, TimedOut)
NO_CHART = chart.Chart("", "", chart.Interval.MONTH, [], [])
COLUMNS = "select=id,inspection_type,date_visited,status,buildings(id,name)"


@bp.get("/")
@auth.requires_session(shares_snapshot=False)
def dashboard(caller: Caller) -> Response:
    problem: str | None = None
    try:
        drawn = requested_chart(caller)
    except CHART_FAULTS as fault:
        problem = fault_message(fault)
        drawn = NO_CHART
    with reading() as transaction:
        numbers = read_dashboard(transaction, caller.visible_rows())
        # The steps count every row, so only a role that may create clients sees them.
        steps = read_first_steps(transaction) if policy.permits(caller.profile, Action.INSERT, Client) else []
        today = transaction.today
    return render_page(
        "dashboard.html",
        400 if problem else 200,
        numbers=numbers,
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
        days=status_counts.calendar_days(today) | {"yesterday": str(today - datetime.timedelta(1))},
        today=today,
        problem=problem,
    )


def next_schedules(caller: Caller, size: int = LIST_ROWS) -> list[queries.Row]:
    """Return the open inspections of schedules that are due first."""
    text = f"select=due_on,inspections!inner({COLUMNS.removeprefix('select=')})&outcome=is.null&due_on=not.is.null"
    return queries.select_rows(caller, "inspection_plans", f"{text}&order=due_on,inspection_id", limit=size).rows


def next_findings(caller: Caller, size: int = LIST_ROWS, filters: str = "") -> list[queries.Row]:
    """Return the open findings whose deadline is next."""
    text = "select=id,place,item,description,severity,status,due_at,inspections(buildings(name))&status=eq.open"
    rows = queries.select_rows(caller, "findings", f"{text}{filters}&order=due_at,id", limit=size).rows
    for row in rows:
        row["due"], _ = due_cell(row)
    return rows


def requested_chart(caller: Caller) -> chart.Chart:
    """Return the chart of the dates in the URL, or of the last twelve months."""
    start, end = (read_date(text) if (text := request.args.get(name, "").strip()) else None for name in ("from", "to"))
    with reading() as transaction:
        drawn = chart.read_chart(transaction, caller.visible_rows(), start, end)
    if len(drawn.series) > charts.POINTS_MAX:
        raise chart.InvalidPeriod("Choose dates at most ten years apart")
    return drawn


def inspections(caller: Caller, filters: str) -> queries.QueryResult:
    """Return the first inspections by date."""
    text = f"{COLUMNS}&{filters}&order=date_visited.asc,id.asc"
    return queries.select_rows(caller, "inspections", text, limit=LIST_ROWS)
