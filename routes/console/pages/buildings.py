"""What is special about buildings: their statistics, and the links to their grants."""

from __future__ import annotations

from access.caller import Caller
from engine.current import reading
from inspections.reporting.building_statistics import read_building_stats
from routes.console.components import charts, grants
from routes.console.components.tables import HOOKS, PATH, Hooks, Row, Section
from routes.console.pages.dashboard import OPEN
from routes.console.pages.duties import apply_action, duties_section

NAME = "buildings"


def statistics_section(caller: Caller, row: Row, may_edit: bool) -> Section:
    with reading() as transaction:
        numbers = read_building_stats(transaction, caller.visible_rows(), row["id"])
        today = transaction.today
    return "building_statistics.html", {
        "beside": True,
        "numbers": numbers,
        "filters": f"building_id=eq.{row['id']}&",
        "overdue": f"building_id=eq.{row['id']}&{OPEN}&date_visited=lt.{today}",
        "statuses": charts.shares(numbers.by_status),
        "lead": charts.shares(numbers.lead.by_result),
    }


HOOKS[NAME] = Hooks(
    sections=(statistics_section, duties_section),
    list_actions=apply_action,
    actions=lambda caller, row, may_edit: grants.matrix_links(caller, f"building={row['id']}") if may_edit else [],
    links=lambda row: [("Why can I see this?", f"{PATH}/why?kind=building&key={row['id']}")],
)
