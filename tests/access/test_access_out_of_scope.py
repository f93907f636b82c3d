"""Rows out of scope: writes do not match them, and writes that would leave one are refused."""

from collections.abc import Callable

import pytest

from tests.conftest import ADA, BOB, MAX, MIA, MOE, ROOT, dump, rule, uuid
from tests.support.access_requests import MANAGER_BUILDING, MANAGER_INSPECTION, complete_user, new_manager


@pytest.fixture(scope="module")
def before(unchanging_api: Callable) -> dict:
    """The rows before this module's requests, none of which may change them."""
    return dump(unchanging_api)


# ── out of scope ─────────────────────────────────────────────────────────────────────────────────────────


# id, who, method, path, body: the rule refuses a row that would be out of scope
OUT_OF_SCOPE_AFTER_WRITE = [
    ("building-of-other-client", "ada", "POST", "/buildings", {"name": "New", "client_id": 2}),
    ("building-of-missing-client", "ada", "POST", "/buildings", {"name": "New", "client_id": 999}),
    ("building-given-away", "ada", "PATCH", "/buildings?id=eq.1", {"client_id": 2}),
    ("building-put-away", "ada", "PUT", "/buildings?id=eq.1", {"id": 1, "name": "P", "client_id": 2}),
    ("inspection-of-other-client", "ada", "POST", "/inspections", {"building_id": 4, "inspection_type": "x"}),
    ("inspection-of-granted-building", "ada", "POST", "/inspections", {"building_id": 5, "inspection_type": "x"}),
    ("inspection-of-missing-building", "ada", "POST", "/inspections", {"building_id": 999, "inspection_type": "x"}),
    ("inspection-given-away", "ada", "PATCH", "/inspections?id=eq.1", {"building_id": 4}),
    ("inspection-to-granted-building", "ada", "PATCH", "/inspections?id=eq.1", {"building_id": 5}),
    ("inspection-put-away", "ada", "PUT", "/inspections?id=eq.1", {"id": 1, "building_id": 4, "inspection_type": "x"}),
    ("inspection-beside-granted-one", "bob", "POST", "/inspections", {"building_id": 2, "inspection_type": "x"}),
    ("reading-of-other-client", "ada", "POST", "/reports_lead", {"inspection_id": 6}),
    ("reading-of-readable-inspection", "ada", "POST", "/reports_lead", {"inspection_id": 8}),
    ("reading-of-missing-inspection", "ada", "POST", "/reports_lead", {"inspection_id": 999}),
    ("reading-of-granted-inspection", "bob", "POST", "/reports_lead", {"inspection_id": 3}),
    ("reading-given-away", "ada", "PATCH", "/reports_lead?id=eq.1", {"inspection_id": 6}),
    ("reading-put-away", "ada", "PUT", "/reports_lead?id=eq.1", {"id": 1, "inspection_id": 6}),
    ("user-a-client-admin", "ada", "POST", "/users", new_manager(role="client_admin")),
    ("user-a-super-admin", "ada", "POST", "/users", new_manager(role="super_admin", client_id=None)),
    ("user-of-other-client", "ada", "POST", "/users", new_manager(client_id=2)),
    ("user-of-no-client", "ada", "POST", "/users", new_manager(client_id=None)),
    ("user-promoted", "ada", "PATCH", f"/users?id=eq.{MOE}", {"role": "client_admin"}),
    ("user-given-away", "ada", "PATCH", f"/users?id=eq.{MOE}", {"client_id": 2}),
    ("user-put-promoted", "ada", "PUT", f"/users?id=eq.{MOE}", complete_user(MOE, "moe@acme.example", "client_admin")),
    ("building-grant-of-other-client", "ada", "POST", MANAGER_BUILDING, {"manager_id": MOE, "building_id": 4}),
    ("building-grant-of-granted-building", "ada", "POST", MANAGER_BUILDING, {"manager_id": MOE, "building_id": 5}),
    ("building-grant-to-other-manager", "ada", "POST", MANAGER_BUILDING, {"manager_id": MAX, "building_id": 1}),
    ("building-grant-to-herself", "ada", "POST", MANAGER_BUILDING, {"manager_id": ADA, "building_id": 2}),
    (
        "building-grant-signed-by-root",
        "ada",
        "POST",
        MANAGER_BUILDING,
        {"manager_id": MIA, "building_id": 2, "assigned_by": ROOT},
    ),
    (
        "building-grant-signed-by-moe",
        "ada",
        "POST",
        MANAGER_BUILDING,
        {"manager_id": MIA, "building_id": 2, "assigned_by": MOE},
    ),
    ("building-grant-moved-away", "ada", "PATCH", f"{MANAGER_BUILDING}?manager_id=eq.{MOE}", {"building_id": 4}),
    ("building-grant-passed-on", "ada", "PATCH", f"{MANAGER_BUILDING}?manager_id=eq.{MOE}", {"manager_id": MAX}),
    ("building-grant-signed-over", "ada", "PATCH", f"{MANAGER_BUILDING}?manager_id=eq.{MOE}", {"assigned_by": ROOT}),
    (
        "building-grant-put-away",
        "ada",
        "PUT",
        f"{MANAGER_BUILDING}?manager_id=eq.{MOE}&building_id=eq.4",
        {"manager_id": MOE, "building_id": 4},
    ),
    ("inspection-grant-of-other-client", "ada", "POST", MANAGER_INSPECTION, {"manager_id": MOE, "inspection_id": 6}),
    ("inspection-grant-of-readable-one", "ada", "POST", MANAGER_INSPECTION, {"manager_id": MOE, "inspection_id": 8}),
    ("inspection-grant-of-granted-one", "bob", "POST", MANAGER_INSPECTION, {"manager_id": MAX, "inspection_id": 3}),
    ("inspection-grant-to-other-manager", "ada", "POST", MANAGER_INSPECTION, {"manager_id": MAX, "inspection_id": 1}),
    (
        "inspection-grant-signed-by-root",
        "ada",
        "POST",
        MANAGER_INSPECTION,
        {"manager_id": MIA, "inspection_id": 1, "assigned_by": ROOT},
    ),
    ("inspection-grant-moved-away", "ada", "PATCH", f"{MANAGER_INSPECTION}?manager_id=eq.{MOE}", {"inspection_id": 6}),
]


@pytest.mark.parametrize(
    ("who", "method", "path", "body"),
    [line[1:] for line in OUT_OF_SCOPE_AFTER_WRITE],
    ids=[line[0] for line in OUT_OF_SCOPE_AFTER_WRITE],
)
def test_write_that_leaves_a_row_out_of_scope_is_refused(
    unchanging_api: Callable, before: dict, who: str, method: str, path: str, body: dict
) -> None:
    table = path.strip("/").partition("?")[0]

    response = unchanging_api(who).send(method, path, body)

    assert response.refusal == rule(table)
    assert dump(unchanging_api) == before


# id, who, path, change: neither PATCH nor DELETE matches a row out of scope
NOT_MATCHED = [
    ("building-of-other-client", "ada", "/buildings?id=eq.4", {"name": "R"}),
    ("building-granted-for-reading", "ada", "/buildings?id=eq.5", {"name": "R"}),
    ("building-missing", "ada", "/buildings?id=eq.999", {"name": "R"}),
    ("building-pulled-in", "ada", "/buildings?id=eq.4", {"client_id": 1}),
    ("granted-building-pulled-in", "ada", "/buildings?id=eq.5", {"client_id": 1}),
    ("all-of-other-client", "ada", "/buildings?client_id=eq.2", {"client_id": 1}),
    ("inspection-of-other-client", "ada", "/inspections?id=eq.6", {"notes": "x"}),
    ("inspection-readable", "ada", "/inspections?id=eq.8", {"notes": "x"}),
    ("inspection-pulled-in", "ada", "/inspections?id=eq.8", {"building_id": 1}),
    ("inspection-granted", "bob", "/inspections?id=eq.3", {"notes": "x"}),
    ("reading-of-other-client", "ada", "/reports_lead?id=eq.3", {"gun_id": 9}),
    ("reading-missing", "ada", "/reports_lead?id=eq.999", {"gun_id": 9}),
    ("herself", "ada", f"/users?id=eq.{ADA}", {"name": "R"}),
    ("other-admin", "ada", f"/users?id=eq.{BOB}", {"name": "R"}),
    ("super-admin", "ada", f"/users?id=eq.{ROOT}", {"name": "R"}),
    ("other-manager", "ada", f"/users?id=eq.{MAX}", {"client_id": 1}),
    ("missing-user", "ada", f"/users?id=eq.{uuid('99')}", {"name": "R"}),
    ("building-grant-of-other-client", "ada", f"{MANAGER_BUILDING}?manager_id=eq.{MAX}", {"building_id": 1}),
    ("inspection-grant-of-other-client", "bob", f"{MANAGER_INSPECTION}?manager_id=eq.{MOE}", {"inspection_id": 6}),
]


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
@pytest.mark.parametrize(
    ("who", "path", "change"), [line[1:] for line in NOT_MATCHED], ids=[line[0] for line in NOT_MATCHED]
)
def test_row_out_of_scope_is_not_matched(
    unchanging_api: Callable, before: dict, who: str, method: str, path: str, change: dict
) -> None:
    body = change if method == "PATCH" else None

    silent = unchanging_api(who).send(method, path, body)
    telling = unchanging_api(who).send(method, path, body, prefer="return=representation")

    assert (silent.status, silent.text) == (204, "")
    assert (telling.status, telling.json) == (200, [])
    assert dump(unchanging_api) == before


# id, who, path, body: a chosen id, with the same error for taken, hidden and free ids
IDS_OF_OTHERS = [
    ("building-hidden", "ada", "/buildings?id=eq.4", {"id": 4, "name": "P", "client_id": 1}),
    ("building-readable", "ada", "/buildings?id=eq.5", {"id": 5, "name": "P", "client_id": 1}),
    ("building-free", "ada", "/buildings?id=eq.999", {"id": 999, "name": "P", "client_id": 1}),
    ("inspection-readable", "ada", "/inspections?id=eq.8", {"id": 8, "building_id": 1, "inspection_type": "x"}),
    ("inspection-granted", "bob", "/inspections?id=eq.3", {"id": 3, "building_id": 4, "inspection_type": "x"}),
    ("inspection-free", "ada", "/inspections?id=eq.999", {"id": 999, "building_id": 1, "inspection_type": "x"}),
    ("reading-hidden", "ada", "/reports_lead?id=eq.3", {"id": 3, "inspection_id": 2}),
    ("reading-free", "ada", "/reports_lead?id=eq.999", {"id": 999, "inspection_id": 2}),
    ("user-hidden", "ada", f"/users?id=eq.{MAX}", complete_user(MAX, "p@x.example")),
    ("user-herself", "ada", f"/users?id=eq.{ADA}", complete_user(ADA, "p@x.example")),
    ("user-free", "ada", f"/users?id=eq.{uuid('99')}", complete_user(uuid("99"), "p@x.example")),
]


@pytest.mark.parametrize(
    ("who", "path", "body"), [line[1:] for line in IDS_OF_OTHERS], ids=[line[0] for line in IDS_OF_OTHERS]
)
def test_put_of_another_id_is_refused(unchanging_api: Callable, before: dict, who: str, path: str, body: dict) -> None:
    response = unchanging_api(who).put(path, body)

    assert (response.status, response.code) == (400, "428C9")
    assert dump(unchanging_api) == before


# id, who, path: a row that other rows reference
REFERENCED_ROWS = [
    ("building-by-root", "root", "/buildings?id=eq.1"),
    ("building-by-ada", "ada", "/buildings?id=eq.1"),
    ("client-by-root", "root", "/clients?id=eq.1"),
    ("client-by-service", "service", "/clients?id=eq.2"),
]


@pytest.mark.parametrize(
    ("who", "path"), [line[1:] for line in REFERENCED_ROWS], ids=[line[0] for line in REFERENCED_ROWS]
)
def test_referenced_row_is_not_deleted(unchanging_api: Callable, before: dict, who: str, path: str) -> None:
    response = unchanging_api(who).delete(path)

    assert (response.status, response.code) == (409, "23503")
    assert dump(unchanging_api) == before
