"""The functions of the API, in the order of its description."""

from __future__ import annotations

from typing import Any, Final

from access import assignments, explain
from access.functions import Function
from inspections import findings, schedules, visits
from inspections.imports.import_csv import import_csv
from inspections.lead import summary
from inspections.reporting import building_statistics, chart, dashboard, due_summary
from inspections.reports import reports

DECLARED: Final[tuple[Function[..., Any], ...]] = (
    dashboard.get_dashboard,
    chart.get_chart,
    building_statistics.get_building_stats,
    assignments.assign_buildings_to_client_admin,
    assignments.assign_inspections_to_client_admin,
    assignments.assign_to_manager,
    explain.check_building_access_v2,
    explain.check_inspection_access,
    explain.explain_building_access,
    explain.explain_inspection_access,
    schedules.apply_schedule,
    schedules.skip_occurrence,
    schedules.preview_schedule,
    due_summary.get_due_summary,
    findings.move_findings,
    visits.reinspect,
    visits.start_visit,
    visits.close_visit,
    summary.lead_summary,
    import_csv,
    reports.report_gaps,
)

FUNCTIONS: Final = {each.name: each for each in DECLARED}
