"""Buildings: their statistics and schedules, and the links to their grants."""

from __future__ import annotations

import datetime

from flask import Response

from access.caller import Caller
from access.roles import GrantKind
from engine.open import reading
from inspections.reporting.chart import read_building_stats
from routes.console.components import charts, lists, queries
from routes.console.components.display import label_of, value_cell
from routes.console.components.lists import list_page
from routes.console.components.row_choice import IN_USE, ONLY_CLOSED
from routes.console.components.tables import Presentation, Row, Section, Table, table_of
from routes.console.pages.dashboard import OPEN
from routes.console.pages.findings import defect_links, findings_of_building
from routes.console.pages.grants import matrix_links, readers_section
from routes.console.pages.photographs import building_photographs
from routes.console.pages.rows import show_page
from routes.console.pages.schedules import apply_links, building_filters, building_section
from routes.console.session.urls import console_url

NAME, DETAILS = "buildings", "building_details"
MAP = "https://www.openstreetmap.org/"


def statistics_section(caller: Caller, row: Row, may_edit: bool) -> Section:
    with reading() as transaction:
        numbers = read_building_stats(transaction, caller, row["id"])
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
        "form": console_url(f"{table.path}/{form}") if may_edit else "",
        "verb": "Edit" if details is not None else "Add",
    }


def map_links(row: Row) -> list[tuple[str, str]]:
    """Return the link to a map of another host, if the place of a building is known."""
    if row["latitude"] is None or row["longitude"] is None:
        return []
    latitude, longitude = f"{row['latitude']:.6f}", f"{row['longitude']:.6f}"
    return [("Map", f"{MAP}?mlat={latitude}&mlon={longitude}#map=18/{latitude}/{longitude}")]


def action_links(caller: Caller, row: Row, may_edit: bool) -> list[tuple[str, str]]:
    grant_links = matrix_links(caller, f"building={row['id']}") if may_edit else []
    return [*defect_links(caller, row), *map_links(row), *grant_links]


def list_buildings(table: Table, caller: Caller) -> Response:
    views = [("In use", IN_USE), ("Closed", ONLY_CLOSED), ("All", "")]
    more = building_filters(caller)
    return list_page(table, caller, more=more, views=views, actions=lambda query: apply_links(caller, query))


def download_buildings(table: Table, caller: Caller) -> Response:
    return lists.download(table, caller, building_filters(caller))


def show_building(table: Table, caller: Caller, key: int) -> Response:
    return show_page(
        table,
        caller,
        key,
        sections=(
            findings_of_building,
            statistics_section,
            details_section,
            building_photographs,
            building_section,
            readers_section(GrantKind.BUILDING),
        ),
        actions=action_links,
        links=[("Why can I see this?", console_url(f"/why?kind=building&key={key}"))],
    )


PRESENTATIONS = {
    DETAILS: Presentation(
        part_of="building_id", related_by=(), describe=lambda row: f"the details of building {row['building_id']}"
    ),
    NAME: Presentation(choice_columns=("address",), first_view=IN_USE),
}
