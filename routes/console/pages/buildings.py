"""What is special about buildings: their statistics, their grants and the form of an inspection."""

from __future__ import annotations

from access.caller import Caller, GrantKind
from engine.current import reading
from engine.reporting.dashboard import read_building_stats
from routes.console.components import charts, grants, queries
from routes.console.components.page import ROLE_NAMES
from routes.console.components.tables import HOOKS, PATH, Hooks, Row, Section

NAME = "buildings"


def statistics_section(caller: Caller, row: Row, may_edit: bool) -> Section:
    with reading() as transaction:
        numbers = read_building_stats(transaction, queries.visible_to(caller), row["id"])
    return "building_statistics.html", {
        "beside": True,
        "numbers": numbers,
        "filters": f"building_id=eq.{row['id']}&",
        "statuses": charts.shares(numbers.by_status),
        "lead": charts.shares(numbers.lead.by_result),
    }


def grants_section(caller: Caller, row: Row, may_edit: bool) -> Section | None:
    """Return the users with a grant of the building, and a link to the access matrix for each role."""
    holders = grants.holders(caller, GrantKind.BUILDING, row["id"])
    roles = reversed(grants.grantable_roles(caller, GrantKind.BUILDING)) if may_edit else ()
    links = [(f"{ROLE_NAMES[role]}s", f"{PATH}/access?role={role.value}&building={row['id']}") for role in roles]
    if not holders.rows and not links:
        return None
    return "building_grants.html", {"holders": holders, "links": links, "roles": ROLE_NAMES, "key": row["id"]}


HOOKS[NAME] = Hooks(
    sections=(statistics_section, grants_section),
    links=lambda row: [("Why can I see this?", f"{PATH}/why?kind=building&key={row['id']}")],
)
HOOKS["inspectors"] = Hooks(counts=("inspections",))
HOOKS["clients"] = Hooks(counts=("buildings",))
