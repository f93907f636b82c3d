"""The access matrix: the table of docs/ACCESS.md, written by hand: for the data set, and by table.

No expected value is computed. A set holds the keys that a user reads. A row of a write table is one result.
"""

from collections.abc import Callable

import pytest

from tests.conftest import ADA, BOB, MAX, MIA, MOE, RESOURCES, ROOT, dump, privilege
from tests.support.access_requests import (
    BUILDING_GRANTS_TO_ADMINS,
    BUILDING_GRANTS_TO_MANAGERS,
    INSPECTION_GRANTS_TO_ADMINS,
    INSPECTION_GRANTS_TO_MANAGERS,
    keys,
    send_write,
)
from tests.support.factories import existing_row

EVERYTHING = {
    "clients": {1, 2},
    "users": {ROOT, ADA, MOE, MIA, BOB, MAX},
    "inspectors": {1, 2, 3},
    "buildings": {1, 2, 3, 4, 5, 6},
    "building_details": {1, 2, 4, 5},
    "inspections": {1, 2, 3, 4, 5, 6, 7, 8, 9},
    "reports_lead": {1, 2, 3, 4},
    "calibration_checks": {1, 2, 3, 4},
    "xrf_instruments": {1, 2, 3, 4},
    "xrf_limits": {1, 2, 3, 4},
    "lead_standards": {1, 2, 3},
    "schedules": {1, 2, 3, 4},
    "inspection_plans": {2, 3, 6, 8},
    "deadline_rules": {1, 2, 3, 4, 5, 6},
    "findings": {1, 2, 3, 4},
    "finding_events": {1, 2, 3, 4},
    BUILDING_GRANTS_TO_ADMINS: {(ADA, 1), (ADA, 5)},
    BUILDING_GRANTS_TO_MANAGERS: {(MOE, 1), (MAX, 4)},
    INSPECTION_GRANTS_TO_ADMINS: {(BOB, 3)},
    INSPECTION_GRANTS_TO_MANAGERS: {(MOE, 3)},
}
READABLE = {
    "root": EVERYTHING,
    "service": EVERYTHING,
    "ada": {
        "clients": {1},
        "users": {ADA, MOE, MIA},
        "inspectors": {1, 2, 3},
        "buildings": {1, 2, 3, 5, 6},
        "building_details": {1, 2, 5},
        "inspections": {1, 2, 3, 4, 5, 8, 9},
        "reports_lead": {1, 2},
        "calibration_checks": {1, 2, 4},
        "xrf_instruments": {1, 2, 4},
        "xrf_limits": {1, 2, 4},
        "lead_standards": {1, 2},
        "schedules": {1, 3, 4},
        "inspection_plans": {2, 3, 8},
        "deadline_rules": {1, 2, 3, 4, 5},
        "findings": {1, 3, 4},
        "finding_events": {1, 3, 4},
        BUILDING_GRANTS_TO_ADMINS: {(ADA, 1), (ADA, 5)},
        BUILDING_GRANTS_TO_MANAGERS: {(MOE, 1)},
        INSPECTION_GRANTS_TO_ADMINS: set(),
        INSPECTION_GRANTS_TO_MANAGERS: {(MOE, 3)},
    },
    "bob": {
        "clients": {2},
        "users": {BOB, MAX},
        "inspectors": {1, 2, 3},
        "buildings": {4, 5},
        "building_details": {4, 5},
        "inspections": {3, 6, 7, 8},
        "reports_lead": {3, 4},
        "calibration_checks": {2, 3, 4},
        "xrf_instruments": {1, 3, 4},
        "xrf_limits": {1, 3, 4},
        "lead_standards": {1, 3},
        "schedules": {2, 3},
        "inspection_plans": {3, 6, 8},
        "deadline_rules": {1, 2, 3, 4, 6},
        "findings": {2, 3, 4},
        "finding_events": {2, 3, 4},
        BUILDING_GRANTS_TO_ADMINS: set(),
        BUILDING_GRANTS_TO_MANAGERS: {(MAX, 4)},
        INSPECTION_GRANTS_TO_ADMINS: {(BOB, 3)},
        INSPECTION_GRANTS_TO_MANAGERS: set(),
    },
    "moe": {
        "clients": {1},
        "users": {MOE},
        "inspectors": {1, 2},
        "buildings": {1},
        "building_details": {1},
        "inspections": {1, 2, 3, 9},
        "reports_lead": {1, 2},
        "calibration_checks": {1, 2},
        "xrf_instruments": {1, 2},
        "xrf_limits": {1, 2},
        "lead_standards": {1, 2},
        "schedules": {1},
        "inspection_plans": {2, 3},
        "deadline_rules": {1, 2, 3, 4, 5},
        "findings": {1, 3},
        "finding_events": {1, 3},
        BUILDING_GRANTS_TO_ADMINS: set(),
        BUILDING_GRANTS_TO_MANAGERS: {(MOE, 1)},
        INSPECTION_GRANTS_TO_ADMINS: set(),
        INSPECTION_GRANTS_TO_MANAGERS: {(MOE, 3)},
    },
    "mia": {
        "clients": {1},
        "users": {MIA},
        "inspectors": set(),
        "buildings": set(),
        "building_details": set(),
        "inspections": set(),
        "reports_lead": set(),
        "calibration_checks": set(),
        "xrf_instruments": set(),
        "xrf_limits": set(),
        "lead_standards": {1, 2},
        "schedules": set(),
        "inspection_plans": set(),
        "deadline_rules": {1, 2, 3, 4, 5},
        "findings": set(),
        "finding_events": set(),
        BUILDING_GRANTS_TO_ADMINS: set(),
        BUILDING_GRANTS_TO_MANAGERS: set(),
        INSPECTION_GRANTS_TO_ADMINS: set(),
        INSPECTION_GRANTS_TO_MANAGERS: set(),
    },
    "max": {
        "clients": {2},
        "users": {MAX},
        "inspectors": {3},
        "buildings": {4},
        "building_details": {4},
        "inspections": {6, 7},
        "reports_lead": {3, 4},
        "calibration_checks": {3},
        "xrf_instruments": {1, 3},
        "xrf_limits": {1, 3},
        "lead_standards": {1, 3},
        "schedules": {2},
        "inspection_plans": {6},
        "deadline_rules": {1, 2, 3, 4, 6},
        "findings": {2},
        "finding_events": {2},
        BUILDING_GRANTS_TO_ADMINS: set(),
        BUILDING_GRANTS_TO_MANAGERS: {(MAX, 4)},
        INSPECTION_GRANTS_TO_ADMINS: set(),
        INSPECTION_GRANTS_TO_MANAGERS: set(),
    },
}
NOT_IN_DATA_SET = ("files", "issued_reports", "notices")
"""Tables without rows here; tests/inspections/test_files.py and test_frozen_rows.py have some."""
READABLE = {who: {**rows, **{table: set() for table in NOT_IN_DATA_SET}} for who, rows in READABLE.items()}
# By table: what may do with a row that no grant shows: a client admin of its client, one of another client, a client
# manager of its client, one of another client. r: read, w: write, c: change alone. Requests: test_rights.py.
RIGHTS = {
    "clients": ("r", "", "r", ""),
    "users": ("rw", "", "", ""),  # the user is a client manager
    "inspectors": ("r", "r", "", ""),
    "buildings": ("rw", "", "", ""),
    "building_details": ("rw", "", "", ""),
    "inspections": ("rw", "", "", ""),
    "xrf_instruments": ("rw", "", "", ""),
    "xrf_limits": ("rw", "", "", ""),
    "lead_standards": ("rw", "", "r", ""),
    "reports_lead": ("rw", "", "", ""),
    "calibration_checks": ("rw", "", "", ""),
    "schedules": ("rw", "", "", ""),
    "inspection_plans": ("r", "", "", ""),  # the service writes it
    "deadline_rules": ("rw", "", "r", ""),
    "findings": ("rw", "", "", ""),
    "notices": ("r", "", "", ""),  # functions write letters and issued reports
    "finding_events": ("r", "", "", ""),
    "files": ("rc", "", "", ""),  # /storage/v1 makes and removes files; tests/inspections/test_files.py sends these
    "issued_reports": ("r", "", "", ""),
    BUILDING_GRANTS_TO_ADMINS: ("r", "", "", ""),
    BUILDING_GRANTS_TO_MANAGERS: ("rw", "", "", ""),
    INSPECTION_GRANTS_TO_ADMINS: ("r", "", "", ""),
    INSPECTION_GRANTS_TO_MANAGERS: ("rw", "", "", ""),
}
READ_ONLY_TO_ADMINS = [table for table, rights in RIGHTS.items() if "w" not in rights[0]]


def test_matrix_has_a_row_for_each_table() -> None:
    assert list(RIGHTS) == list(RESOURCES)


@pytest.fixture(scope="module")
def before(unchanging_api: Callable) -> dict:
    """The rows before this module's requests, none of which may change them."""
    return dump(unchanging_api)


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("table", EVERYTHING)
@pytest.mark.parametrize("who", READABLE)
def test_list_contains_exactly_the_rows_that_the_role_reads(api: Callable, who: str, table: str) -> None:
    response = api(who).get(f"/{table}")

    assert response.status == 200
    assert keys(response, table) == READABLE[who][table]


@pytest.mark.parametrize("table", EVERYTHING)
@pytest.mark.parametrize("who", READABLE)
def test_count_equals_the_number_of_listed_rows(api: Callable, who: str, table: str) -> None:
    response = api(who).head(f"/{table}", prefer="count=exact")

    assert response.status == 200
    assert response.total == str(len(READABLE[who][table]))


@pytest.mark.parametrize("table", EVERYTHING)
@pytest.mark.parametrize("who", READABLE)
def test_supabase_path_returns_the_same(api: Callable, who: str, table: str) -> None:
    assert api(who).get(f"/rest/v1/{table}").text == api(who).get(f"/{table}").text


# ── no privilege at all ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("table", RESOURCES)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_anonymous_reads_nothing(api: Callable, method: str, table: str) -> None:
    response = api("nobody").send(method, f"/{table}")

    assert response.status == 401
    assert method == "HEAD" or response.code == "42501"


@pytest.mark.parametrize("table", RESOURCES)
@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
def test_anonymous_writes_nothing(unchanging_api: Callable, before: dict, method: str, table: str) -> None:
    response = send_write(unchanging_api, "nobody", method, table, existing_row(table))

    assert (response.status, response.code) == (401, "42501")
    assert dump(unchanging_api) == before


@pytest.mark.parametrize("table", RESOURCES)
@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
@pytest.mark.parametrize("who", ["moe", "mia", "max"])
def test_manager_writes_nothing(unchanging_api: Callable, before: dict, who: str, method: str, table: str) -> None:
    response = send_write(unchanging_api, who, method, table, existing_row(table))

    assert response.refusal == privilege(table)
    assert dump(unchanging_api) == before


@pytest.mark.parametrize("table", READ_ONLY_TO_ADMINS)
@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
@pytest.mark.parametrize("who", ["ada", "bob"])
def test_client_admin_only_reads(unchanging_api: Callable, before: dict, who: str, method: str, table: str) -> None:
    if method == "PATCH" and "c" in RIGHTS[table][0]:
        pytest.skip("admins change rows of their client")
    response = send_write(unchanging_api, who, method, table, existing_row(table))

    assert response.refusal == privilege(table)
    assert dump(unchanging_api) == before
