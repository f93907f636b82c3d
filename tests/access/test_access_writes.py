"""Permitted writes: the table of docs/ACCESS.md, row by row."""

from collections.abc import Callable

import pytest

from tests.conftest import ADA, MAX, MIA, MOE, RESOURCES, WRITABLE, privilege
from tests.support.access_requests import MANAGER_BUILDING, MANAGER_INSPECTION, complete_user, new_manager, send_write
from tests.support.factories import RowFactory, key_filter


@pytest.mark.parametrize("table", WRITABLE)
@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT"])
@pytest.mark.parametrize("who", ["root", "service"])
def test_super_admin_writes_everything(api: Callable, who: str, method: str, table: str) -> None:
    status = 201 if method == "POST" else 204

    factory = RowFactory(api)
    row = factory.body(table) if method == "POST" else factory.create(table)

    response = send_write(api, who, method, table, row)

    assert (response.status, response.text) == (status, "")


@pytest.mark.parametrize("table", WRITABLE)
@pytest.mark.parametrize("who", ["root", "service"])
def test_super_admin_deletes_everything(api: Callable, who: str, table: str) -> None:
    row = RowFactory(api).create(table)

    response = send_write(api, who, "DELETE", table, row)

    assert (response.status, response.text) == (204, "")
    assert api("root").get(f"/{table}?{key_filter(table, row)}").json == []


@pytest.mark.parametrize("table", sorted(set(RESOURCES) - set(WRITABLE)))
@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
@pytest.mark.parametrize("who", ["root", "service"])
def test_super_admin_only_reads_tables_of_the_service(api: Callable, who: str, method: str, table: str) -> None:
    if (table, method) == ("files", "PATCH"):
        pytest.skip("captions change")
    assert send_write(api, who, method, table, RowFactory(api).create(table)).refusal == privilege(table)


# id, who, method, path, body, status; afterwards this path (as root) shows this many rows
ADMIN_WRITES = [
    ("building", "ada", "POST", "/buildings", {"name": "New", "client_id": 1}, 201, "/buildings?name=eq.New", 1),
    ("building-changed", "ada", "PATCH", "/buildings?id=eq.1", {"name": "R"}, 204, "/buildings?name=eq.R", 1),
    (
        "building-put",
        "ada",
        "PUT",
        "/buildings?id=eq.1",
        {"id": 1, "name": "P", "client_id": 1},
        204,
        "/buildings?name=eq.P",
        1,
    ),
    ("building-deleted", "ada", "DELETE", "/buildings?id=eq.6", None, 204, "/buildings?id=eq.6", 0),
    (
        "inspection",
        "ada",
        "POST",
        "/inspections",
        {"building_id": 2, "inspection_type": "x"},
        201,
        "/inspections?inspection_type=eq.x",
        1,
    ),
    ("inspection-changed", "ada", "PATCH", "/inspections?id=eq.3", {"notes": "x"}, 204, "/inspections?notes=eq.x", 1),
    (
        "inspection-moved-within",
        "ada",
        "PATCH",
        "/inspections?id=eq.3",
        {"building_id": 6},
        204,
        "/inspections?building_id=eq.6",
        1,
    ),
    (
        "inspection-put",
        "ada",
        "PUT",
        "/inspections?id=eq.3",
        {"id": 3, "building_id": 2, "inspection_type": "x"},
        204,
        "/inspections?inspection_type=eq.x",
        1,
    ),
    ("inspection-deleted", "ada", "DELETE", "/inspections?id=eq.2", None, 204, "/inspections?id=eq.2", 0),
    ("reading", "ada", "POST", "/reports_lead", {"inspection_id": 5, "gun_id": 9}, 201, "/reports_lead?gun_id=eq.9", 1),
    ("reading-changed", "ada", "PATCH", "/reports_lead?id=eq.1", {"gun_id": 9}, 204, "/reports_lead?gun_id=eq.9", 1),
    (
        "reading-moved-within",
        "ada",
        "PATCH",
        "/reports_lead?id=eq.1",
        {"inspection_id": 5},
        204,
        "/reports_lead?inspection_id=eq.5",
        1,
    ),
    (
        "reading-put",
        "ada",
        "PUT",
        "/reports_lead?id=eq.1",
        {"id": 1, "inspection_id": 2, "gun_id": 9},
        204,
        "/reports_lead?gun_id=eq.9",
        1,
    ),
    ("reading-deleted", "ada", "DELETE", "/reports_lead?id=eq.1", None, 204, "/reports_lead?id=eq.1", 0),
    ("manager", "ada", "POST", "/users", new_manager(), 201, "/users?name=eq.New", 1),
    ("manager-changed", "ada", "PATCH", f"/users?id=eq.{MOE}", {"name": "M"}, 204, "/users?name=eq.M", 1),
    (
        "manager-put",
        "ada",
        "PUT",
        f"/users?id=eq.{MOE}",
        complete_user(MOE, "moe@acme.example"),
        204,
        "/users?name=eq.Put",
        1,
    ),
    ("manager-deleted", "ada", "DELETE", f"/users?id=eq.{MOE}", None, 204, f"/users?id=eq.{MOE}", 0),
    (
        "building-grant",
        "ada",
        "POST",
        MANAGER_BUILDING,
        {"manager_id": MIA, "building_id": 6},
        201,
        f"{MANAGER_BUILDING}?building_id=eq.6",
        1,
    ),
    (
        "building-grant-signed-herself",
        "ada",
        "POST",
        MANAGER_BUILDING,
        {"manager_id": MIA, "building_id": 6, "assigned_by": ADA},
        201,
        f"{MANAGER_BUILDING}?building_id=eq.6",
        1,
    ),
    (
        "building-grant-changed",
        "ada",
        "PATCH",
        f"{MANAGER_BUILDING}?manager_id=eq.{MOE}",
        {"building_id": 6},
        204,
        f"{MANAGER_BUILDING}?building_id=eq.6",
        1,
    ),
    (
        "building-grant-put",
        "ada",
        "PUT",
        f"{MANAGER_BUILDING}?manager_id=eq.{MIA}&building_id=eq.6",
        {"manager_id": MIA, "building_id": 6},
        204,
        f"{MANAGER_BUILDING}?building_id=eq.6",
        1,
    ),
    (
        "building-grant-deleted",
        "ada",
        "DELETE",
        f"{MANAGER_BUILDING}?building_id=eq.1",
        None,
        204,
        f"{MANAGER_BUILDING}?building_id=eq.1",
        0,
    ),
    (
        "inspection-grant",
        "ada",
        "POST",
        MANAGER_INSPECTION,
        {"manager_id": MIA, "inspection_id": 5},
        201,
        f"{MANAGER_INSPECTION}?inspection_id=eq.5",
        1,
    ),
    (
        "inspection-grant-changed",
        "ada",
        "PATCH",
        f"{MANAGER_INSPECTION}?manager_id=eq.{MOE}",
        {"inspection_id": 5},
        204,
        f"{MANAGER_INSPECTION}?inspection_id=eq.5",
        1,
    ),
    (
        "inspection-grant-put",
        "ada",
        "PUT",
        f"{MANAGER_INSPECTION}?manager_id=eq.{MIA}&inspection_id=eq.5",
        {"manager_id": MIA, "inspection_id": 5},
        204,
        f"{MANAGER_INSPECTION}?inspection_id=eq.5",
        1,
    ),
    (
        "inspection-grant-deleted",
        "ada",
        "DELETE",
        f"{MANAGER_INSPECTION}?inspection_id=eq.3",
        None,
        204,
        f"{MANAGER_INSPECTION}?inspection_id=eq.3",
        0,
    ),
    ("bob-building", "bob", "POST", "/buildings", {"name": "New", "client_id": 2}, 201, "/buildings?name=eq.New", 1),
    (
        "bob-inspection-changed",
        "bob",
        "PATCH",
        "/inspections?id=eq.8",
        {"notes": "x"},
        204,
        "/inspections?notes=eq.x",
        1,
    ),
    ("bob-manager-deleted", "bob", "DELETE", f"/users?id=eq.{MAX}", None, 204, f"/users?id=eq.{MAX}", 0),
]


@pytest.mark.parametrize(
    ("who", "method", "path", "body", "status", "shown", "rows"),
    [line[1:] for line in ADMIN_WRITES],
    ids=[line[0] for line in ADMIN_WRITES],
)
def test_client_admin_writes_what_the_client_owns(
    api: Callable, who: str, method: str, path: str, body: dict, status: int, shown: str, rows: int
) -> None:
    response = api(who).send(method, path, body)

    assert (response.status, response.text) == (status, "")
    assert len(api("root").get(shown).json) == rows
