"""Buildings: their statistics and schedules, and the links to their grants."""

from __future__ import annotations

import datetime

from flask import Response

from access.caller import Caller
from engine.current import reading
from inspections.reporting.building_statistics import read_building_stats
from routes.console.components import charts, grants, queries
from routes.console.components.display import label_of, value_cell
from routes.console.components.lists import list_page
from routes.console.components.tables import PATH, PRESENTATIONS, Presentation, Row, Section, Table, table_of
from routes.console.pages.dashboard import OPEN
from routes.console.pages.explain_access import readers_section
from routes.console.pages.photographs import building_photographs
from routes.console.pages.rows import own_view, show_page
from routes.console.pages.schedules import apply_links, building_section

NAME, DETAILS = "buildings", "building_details"


def statistics_section(caller: Caller, row: Row, may_edit: bool) -> Section:
    with reading() as transaction:
        numbers = read_building_stats(transaction, caller.visible_rows(), row["id"])
        today = transaction.today
    return "building_statistics.html", {
        "beside": True,
        "numbers": numbers,
        "filters": f"building_id=eq.{row['id']}&",
        "overdue": f"building_id=eq.{row['id']}&{OPEN}&date_visited=lte.{today - datetime.timedelta(1)}",
        "statuses": charts.shares(numbers.by_status),
        "lead": charts.shares(numbers.lead.by_result),
    }


def details_section(caller: Caller, row: Row, may_edit: bool) -> Section:
    """Return the details of a building that lead reports name, with the link to their form."""
    table = table_of(DETAILS)
    details = queries.first_row(caller, DETAILS, f"select={table.select('*')}&building_id=eq.{row['id']}")
    form = f"{row['id']}/edit" if details is not None else f"new?building_id={row['id']}"
    attributes = [each for name, each in table.relation.attributes.items() if name in table.writable - {"building_id"}]
    return "building_details.html", {
        "lines": [(label_of(each), value_cell(table, caller, each, details)) for each in attributes] if details else (),
        "form": f"{PATH}{table.path}/{form}" if may_edit else "",
        "verb": "Edit" if details is not None else "Add",
    }


def grant_links(caller: Caller, row: Row, may_edit: bool) -> list[tuple[str, str]]:
    return grants.matrix_links(caller, f"building={row['id']}") if may_edit else []


@own_view(NAME, "")
def list_buildings(table: Table, caller: Caller) -> Response:
    return list_page(table, caller, actions=lambda query: apply_links(caller, query))


@own_view(NAME, "/{key}")
def show_building(table: Table, caller: Caller, key: int) -> Response:
    return show_page(
        table,
        caller,
        key,
        sections=(
            statistics_section,
            details_section,
            building_photographs,
            building_section,
            readers_section("building"),
        ),
        actions=grant_links,
        links=[("Why can I see this?", f"{PATH}/why?kind=building&key={key}")],
    )


PRESENTATIONS[DETAILS] = Presentation(
    part_of="building_id",
    related=lambda caller, column, row: False,
    describe=lambda row: f"the details of building {row['building_id']}",
)
PRESENTATIONS[NAME] = Presentation(choice_columns=("address",))
