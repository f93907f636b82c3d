"""The functions: names, a valid call of each, and dates."""

from datetime import UTC, date, datetime, timedelta

from routes.functions.rpc import FUNCTIONS
from tests.conftest import ADA, MIA, MOE, ROOT, Response

DASHBOARD = "get_inspections_dashboard_summary_fast"
CHART = "get_building_stats_chart_fast"
STATS = "get_building_stats"
CHECK_BUILDING = "check_building_access_v2"
CHECK_INSPECTION = "check_inspection_access"
EXPLAIN_BUILDING = "explain_building_access"
EXPLAIN_INSPECTION = "explain_inspection_access"
TO_ADMIN_BUILDINGS = "assign_buildings_to_client_admin"
TO_ADMIN_INSPECTIONS = "assign_inspections_to_client_admin"
TO_MANAGER = "assign_to_client_manager"
APPLY_SCHEDULE = "apply_schedule"
SKIP_OCCURRENCE = "skip_occurrence"
PREVIEW_SCHEDULE = "preview_schedule"
DUE_SUMMARY = "get_due_summary"
MOVE_FINDINGS = "move_findings"
REGRADE_FINDING = "regrade_finding"
REPORT_DEFECT = "report_defect"
ISSUE_NOTICE = "issue_notice"
REINSPECT = "reinspect"
START_VISIT = "start_visit"
CLOSE_VISIT = "close_visit"
LEAD_SUMMARY = "lead_summary"
IMPORT_CSV = "import_csv"
REPORT_GAPS = "report_gaps"
ISSUE_REPORT = "issue_report"
VERIFY_REPORT = "verify_report"
# function -> arguments of a valid call by root
VALID_CALLS = {
    DASHBOARD: {},
    CHART: {"start_date": "2025-01-01", "end_date": "2025-12-31"},
    STATS: {"building_id": 1},
    TO_ADMIN_BUILDINGS: {"admin_id": ADA, "building_ids": [2]},
    TO_ADMIN_INSPECTIONS: {"admin_id": ADA, "inspection_ids": [2]},
    TO_MANAGER: {"manager_id": MIA, "building_ids": [2], "inspection_ids": [5]},
    CHECK_BUILDING: {"p_building_id": 1, "p_user_id": MOE},
    CHECK_INSPECTION: {"p_inspection_id": 1, "p_user_id": MOE},
    EXPLAIN_BUILDING: {"p_building_id": 1, "p_user_id": MOE},
    EXPLAIN_INSPECTION: {"p_inspection_id": 1, "p_user_id": MOE},
    APPLY_SCHEDULE: {
        "p_building_ids": [1, 2],
        "p_inspection_type": "fire",
        "p_every": 3,
        "p_unit": "month",
        "p_first_due": "2026-01-31",
    },
    SKIP_OCCURRENCE: {"p_inspection_id": 3, "p_reason": "The building is closed."},
    PREVIEW_SCHEDULE: {"p_every": 3, "p_unit": "month", "p_first_due": "2026-01-31", "p_count": 4},
    DUE_SUMMARY: {},
    MOVE_FINDINGS: {"p_finding_ids": [1], "p_to": "fixed"},
    REGRADE_FINDING: {"p_finding_id": 1, "p_severity": "low", "p_note": "n"},
    REPORT_DEFECT: {"p_building_id": 1, "p_description": "d", "p_severity": "low"},
    ISSUE_NOTICE: {"p_finding_ids": [1], "p_to_name": "O", "p_to_address": "A", "p_answer_by": "2999-12-31"},
    REINSPECT: {"p_inspection_id": 2, "p_date_visited": "2025-06-01"},
    START_VISIT: {"p_inspection_id": 4},
    CLOSE_VISIT: {"p_inspection_id": 5, "p_status": "completed"},
    LEAD_SUMMARY: {"p_inspection_id": 2},
    IMPORT_CSV: {
        "p_target": "buildings",
        "p_csv": "name,city\nNew House,Boston\n",
        "p_defaults": {"client_id": 1},
        "p_dry_run": False,
    },
    REPORT_GAPS: {"p_inspection_id": 1, "p_rule": "federal"},
    ISSUE_REPORT: {"p_inspection_id": 1, "p_kind": "findings", "p_signed_name": "Ines Vega"},
    VERIFY_REPORT: {"p_number": "2026-000001"},
}
VOLATILE = tuple(name for name in VALID_CALLS if FUNCTIONS[name].is_volatile)
STABLE = tuple(name for name in VALID_CALLS if name not in VOLATILE)
FUNCTIONS_WITH_USER_ID = (CHECK_BUILDING, CHECK_INSPECTION, EXPLAIN_BUILDING, EXPLAIN_INSPECTION)


def today() -> date:
    return datetime.now(UTC).date()


def day(offset: int) -> str:
    """Return the date a number of days from today."""
    return (today() + timedelta(days=offset)).isoformat()


def with_or_without_prefix(arguments: dict, p: bool) -> dict:
    """Return the arguments with or without the prefix `p_`."""
    bare = {name.removeprefix("p_"): value for name, value in arguments.items()}
    return {f"p_{name}": value for name, value in bare.items()} if p else bare


def result_of(response: Response) -> object:
    """Return the result without its times, and without the ids and the hash of what is new."""
    body = response.json
    changing = ("generated_at", "issued_at", "inspection_id", "finding_id", "id", "sha256")
    return {k: v for k, v in body.items() if k not in changing} if isinstance(body, dict) else body


def one_building(*inspections: tuple[str, str | None]) -> dict:
    """Return rows of one client, one building, one super admin, and inspections of (status, date)."""
    return {
        "clients": [{"id": 1, "name": "C"}],
        "users": [{"id": ROOT, "email": "root@example.org", "name": "Root", "role": "super_admin", "client_id": None}],
        "buildings": [{"id": 1, "name": "B", "client_id": 1}],
        "inspections": [
            {"id": n, "building_id": 1, "inspection_type": "annual", "status": status, "date_visited": visited}
            for n, (status, visited) in enumerate(inspections, 1)
        ],
    }
