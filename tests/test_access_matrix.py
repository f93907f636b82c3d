"""Who reads what, who writes what: docs/ACCESS.md's table, row by row, by hand over the data set.

Nothing here is computed. A set is what the person may read; a line of a write table is what becomes of one request.
"""

from collections.abc import Callable

import pytest

from tests.conftest import ADA
from tests.conftest import BOB
from tests.conftest import MAX
from tests.conftest import MIA
from tests.conftest import MOE
from tests.conftest import RESOURCES
from tests.conftest import ROOT
from tests.conftest import Response
from tests.conftest import dump
from tests.conftest import privilege
from tests.conftest import rule
from tests.conftest import uuid

BUILDING_GRANTS_TO_ADMINS = "client_admin_building_access"
BUILDING_GRANTS_TO_MANAGERS = "client_manager_building_access"
INSPECTION_GRANTS_TO_ADMINS = "client_admin_inspection_access"
INSPECTION_GRANTS_TO_MANAGERS = "client_manager_inspection_access"

KEYS = {
    BUILDING_GRANTS_TO_ADMINS: ("admin_id", "building_id"),
    BUILDING_GRANTS_TO_MANAGERS: ("manager_id", "building_id"),
    INSPECTION_GRANTS_TO_ADMINS: ("admin_id", "inspection_id"),
    INSPECTION_GRANTS_TO_MANAGERS: ("manager_id", "inspection_id"),
}

EVERYTHING = {
    "clients": {1, 2},
    "users": {ROOT, ADA, MOE, MIA, BOB, MAX},
    "inspectors": {1, 2, 3},
    "buildings": {1, 2, 3, 4, 5, 6},
    "inspections": {1, 2, 3, 4, 5, 6, 7, 8, 9},
    "reports_lead": {1, 2, 3, 4},
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
        "inspections": {1, 2, 3, 4, 5, 8, 9},
        "reports_lead": {1, 2},
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
        "inspections": {3, 6, 7, 8},
        "reports_lead": {3, 4},
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
        "inspections": {1, 2, 3, 9},
        "reports_lead": {1, 2},
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
        "inspections": set(),
        "reports_lead": set(),
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
        "inspections": {6, 7},
        "reports_lead": {3, 4},
        BUILDING_GRANTS_TO_ADMINS: set(),
        BUILDING_GRANTS_TO_MANAGERS: {(MAX, 4)},
        INSPECTION_GRANTS_TO_ADMINS: set(),
        INSPECTION_GRANTS_TO_MANAGERS: set(),
    },
}

# One write per verb that a super admin may do, and that is refused to whoever lacks the privilege.
WELL_FORMED = {
    "clients": ({"name": "New"}, "id=eq.1", {"name": "Renamed"}, {"id": 1, "name": "Put"}),
    "users": (
        {"email": "new@acme.example", "name": "New", "role": "client_manager", "client_id": 1},
        f"id=eq.{MIA}",
        {"name": "Renamed"},
        {
            "id": MIA,
            "email": "mia@acme.example",
            "name": "M",
            "role": "client_manager",
            "client_id": 1,
        },
    ),
    "inspectors": ({"name": "New"}, "id=eq.1", {"name": "Renamed"}, {"id": 1, "name": "Put"}),
    "buildings": (
        {"name": "New", "client_id": 1},
        "id=eq.6",
        {"name": "Renamed"},
        {"id": 6, "name": "Put", "client_id": 1},
    ),
    "inspections": (
        {"building_id": 1, "inspection_type": "fire"},
        "id=eq.1",
        {"status": "failed"},
        {"id": 1, "building_id": 1, "inspection_type": "fire"},
    ),
    "reports_lead": (
        {"inspection_id": 1, "result": "negative"},
        "id=eq.1",
        {"result": "negative"},
        {"id": 1, "inspection_id": 2},
    ),
    BUILDING_GRANTS_TO_ADMINS: (
        {"admin_id": ADA, "building_id": 2},
        f"admin_id=eq.{ADA}&building_id=eq.5",
        {"building_id": 4},
        {"admin_id": ADA, "building_id": 5},
    ),
    BUILDING_GRANTS_TO_MANAGERS: (
        {"manager_id": MIA, "building_id": 2},
        f"manager_id=eq.{MOE}&building_id=eq.1",
        {"building_id": 3},
        {"manager_id": MOE, "building_id": 1},
    ),
    INSPECTION_GRANTS_TO_ADMINS: (
        {"admin_id": ADA, "inspection_id": 6},
        f"admin_id=eq.{BOB}&inspection_id=eq.3",
        {"inspection_id": 4},
        {"admin_id": BOB, "inspection_id": 3},
    ),
    INSPECTION_GRANTS_TO_MANAGERS: (
        {"manager_id": MIA, "inspection_id": 4},
        f"manager_id=eq.{MOE}&inspection_id=eq.3",
        {"inspection_id": 2},
        {"manager_id": MOE, "inspection_id": 3},
    ),
}

READ_ONLY_TO_ADMINS = (
    "clients",
    "inspectors",
    BUILDING_GRANTS_TO_ADMINS,
    INSPECTION_GRANTS_TO_ADMINS,
)


@pytest.fixture(scope="module")
def before(steady: Callable) -> dict:
    """What root read before any of this module's requests that may change nothing."""
    return dump(steady)


def keys(response: Response, table: str) -> set:
    """The keys of a list of rows: ids, or for a grant the pair."""
    columns = KEYS.get(table, ("id",))
    found = [tuple(row[column] for column in columns) for row in response.json]
    assert len(found) == len(set(found)), f"a row twice: {found}"
    return {key if len(key) > 1 else key[0] for key in found}


def well_formed(api: Callable, who: str, method: str, table: str) -> Response:
    """Send the table's well-formed request of that verb."""
    body, where, change, whole = WELL_FORMED[table]
    if method == "POST":
        return api(who).post(f"/{table}", body)
    if method == "PATCH":
        return api(who).patch(f"/{table}?{where}", change)
    if method == "PUT":
        return api(who).put(f"/{table}?{where}", whole)
    return api(who).delete(f"/{table}?{where}")


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("table", RESOURCES)
@pytest.mark.parametrize("who", READABLE)
def test_list_holds_exactly_what_the_role_reads(api: Callable, who: str, table: str) -> None:
    response = api(who).get(f"/{table}")

    assert response.status == 200
    assert keys(response, table) == READABLE[who][table]


@pytest.mark.parametrize("table", RESOURCES)
@pytest.mark.parametrize("who", READABLE)
def test_count_tells_exactly_what_the_list_holds(api: Callable, who: str, table: str) -> None:
    response = api(who).head(f"/{table}", prefer="count=exact")

    assert response.status == 200
    assert response.total == str(len(READABLE[who][table]))


@pytest.mark.parametrize("table", RESOURCES)
@pytest.mark.parametrize("who", READABLE)
def test_supabase_path_answers_the_same(api: Callable, who: str, table: str) -> None:
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
def test_anonymous_writes_nothing(steady: Callable, before: dict, method: str, table: str) -> None:
    response = well_formed(steady, "nobody", method, table)

    assert (response.status, response.code) == (401, "42501")
    assert dump(steady) == before


@pytest.mark.parametrize("table", RESOURCES)
@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
@pytest.mark.parametrize("who", ["moe", "mia", "max"])
def test_manager_writes_nothing(
    steady: Callable, before: dict, who: str, method: str, table: str
) -> None:
    response = well_formed(steady, who, method, table)

    assert response.refusal == privilege(table)
    assert dump(steady) == before


@pytest.mark.parametrize("table", READ_ONLY_TO_ADMINS)
@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
@pytest.mark.parametrize("who", ["ada", "bob"])
def test_client_admin_only_reads(
    steady: Callable, before: dict, who: str, method: str, table: str
) -> None:
    response = well_formed(steady, who, method, table)

    assert response.refusal == privilege(table)
    assert dump(steady) == before


# ── within reach ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("table", RESOURCES)
@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT"])
@pytest.mark.parametrize("who", ["root", "service"])
def test_super_admin_writes_everything(api: Callable, who: str, method: str, table: str) -> None:
    status = 201 if method == "POST" else 204

    response = well_formed(api, who, method, table)

    assert (response.status, response.text) == (status, "")


@pytest.mark.parametrize("table", [table for table in RESOURCES if table != "clients"])
@pytest.mark.parametrize("who", ["root", "service"])
def test_super_admin_deletes_everything(api: Callable, who: str, table: str) -> None:
    where = WELL_FORMED[table][1]

    response = api(who).delete(f"/{table}?{where}")

    assert (response.status, response.text) == (204, "")
    assert api("root").get(f"/{table}?{where}").json == []


def test_super_admin_deletes_a_client_that_owns_nothing(api: Callable) -> None:
    api("root").post("/clients", {"id": 30, "name": "Passing"})

    response = api("root").delete("/clients?id=eq.30")

    assert (response.status, response.text) == (204, "")
    assert keys(api("root").get("/clients"), "clients") == {1, 2}


MANAGER_BUILDING = f"/{BUILDING_GRANTS_TO_MANAGERS}"
MANAGER_INSPECTION = f"/{INSPECTION_GRANTS_TO_MANAGERS}"


def new_manager(**more: object) -> dict:
    return {
        "email": "new@x.example",
        "name": "New",
        "role": "client_manager",
        "client_id": 1,
        **more,
    }


def whole_user(id_: str, email: str, role: str = "client_manager", client_id: int = 1) -> dict:
    return {"id": id_, "email": email, "name": "Put", "role": role, "client_id": client_id}


# id, who, method, path, body, status; afterwards this path (as root) shows this many rows
ADMIN_WRITES = [
    (
        "building",
        "ada",
        "POST",
        "/buildings",
        {"name": "New", "client_id": 1},
        201,
        "/buildings?name=eq.New",
        1,
    ),
    (
        "building-changed",
        "ada",
        "PATCH",
        "/buildings?id=eq.1",
        {"name": "R"},
        204,
        "/buildings?name=eq.R",
        1,
    ),
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
    (
        "inspection-changed",
        "ada",
        "PATCH",
        "/inspections?id=eq.3",
        {"notes": "x"},
        204,
        "/inspections?notes=eq.x",
        1,
    ),
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
    (
        "inspection-deleted",
        "ada",
        "DELETE",
        "/inspections?id=eq.2",
        None,
        204,
        "/inspections?id=eq.2",
        0,
    ),
    (
        "reading",
        "ada",
        "POST",
        "/reports_lead",
        {"inspection_id": 5, "gun_id": 9},
        201,
        "/reports_lead?gun_id=eq.9",
        1,
    ),
    (
        "reading-changed",
        "ada",
        "PATCH",
        "/reports_lead?id=eq.1",
        {"gun_id": 9},
        204,
        "/reports_lead?gun_id=eq.9",
        1,
    ),
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
    (
        "reading-deleted",
        "ada",
        "DELETE",
        "/reports_lead?id=eq.1",
        None,
        204,
        "/reports_lead?id=eq.1",
        0,
    ),
    ("manager", "ada", "POST", "/users", new_manager(), 201, "/users?name=eq.New", 1),
    (
        "manager-changed",
        "ada",
        "PATCH",
        f"/users?id=eq.{MOE}",
        {"name": "M"},
        204,
        "/users?name=eq.M",
        1,
    ),
    (
        "manager-put",
        "ada",
        "PUT",
        f"/users?id=eq.{MOE}",
        whole_user(MOE, "moe@acme.example"),
        204,
        "/users?name=eq.Put",
        1,
    ),
    (
        "manager-deleted",
        "ada",
        "DELETE",
        f"/users?id=eq.{MOE}",
        None,
        204,
        f"/users?id=eq.{MOE}",
        0,
    ),
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
    (
        "bob-building",
        "bob",
        "POST",
        "/buildings",
        {"name": "New", "client_id": 2},
        201,
        "/buildings?name=eq.New",
        1,
    ),
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
    (
        "bob-manager-deleted",
        "bob",
        "DELETE",
        f"/users?id=eq.{MAX}",
        None,
        204,
        f"/users?id=eq.{MAX}",
        0,
    ),
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


# ── out of reach ─────────────────────────────────────────────────────────────────────────────────────────


# id, who, method, path, body: a row that would end up out of reach is refused by the rule
ENDS_UP_OUT_OF_REACH = [
    ("building-of-other-client", "ada", "POST", "/buildings", {"name": "New", "client_id": 2}),
    ("building-of-missing-client", "ada", "POST", "/buildings", {"name": "New", "client_id": 999}),
    ("building-of-no-client", "ada", "POST", "/buildings", {"name": "New", "client_id": None}),
    ("building-without-client", "ada", "POST", "/buildings", {"name": "New"}),
    ("building-given-away", "ada", "PATCH", "/buildings?id=eq.1", {"client_id": 2}),
    (
        "building-put-away",
        "ada",
        "PUT",
        "/buildings?id=eq.1",
        {"id": 1, "name": "P", "client_id": 2},
    ),
    (
        "inspection-of-other-client",
        "ada",
        "POST",
        "/inspections",
        {"building_id": 4, "inspection_type": "x"},
    ),
    (
        "inspection-of-granted-building",
        "ada",
        "POST",
        "/inspections",
        {"building_id": 5, "inspection_type": "x"},
    ),
    (
        "inspection-of-missing-building",
        "ada",
        "POST",
        "/inspections",
        {"building_id": 999, "inspection_type": "x"},
    ),
    ("inspection-given-away", "ada", "PATCH", "/inspections?id=eq.1", {"building_id": 4}),
    ("inspection-to-granted-building", "ada", "PATCH", "/inspections?id=eq.1", {"building_id": 5}),
    (
        "inspection-put-away",
        "ada",
        "PUT",
        "/inspections?id=eq.1",
        {"id": 1, "building_id": 4, "inspection_type": "x"},
    ),
    (
        "inspection-beside-granted-one",
        "bob",
        "POST",
        "/inspections",
        {"building_id": 2, "inspection_type": "x"},
    ),
    ("reading-of-other-client", "ada", "POST", "/reports_lead", {"inspection_id": 6}),
    ("reading-of-readable-inspection", "ada", "POST", "/reports_lead", {"inspection_id": 8}),
    ("reading-of-missing-inspection", "ada", "POST", "/reports_lead", {"inspection_id": 999}),
    ("reading-of-granted-inspection", "bob", "POST", "/reports_lead", {"inspection_id": 3}),
    ("reading-given-away", "ada", "PATCH", "/reports_lead?id=eq.1", {"inspection_id": 6}),
    ("reading-put-away", "ada", "PUT", "/reports_lead?id=eq.1", {"id": 1, "inspection_id": 6}),
    ("user-a-client-admin", "ada", "POST", "/users", new_manager(role="client_admin")),
    (
        "user-a-super-admin",
        "ada",
        "POST",
        "/users",
        new_manager(role="super_admin", client_id=None),
    ),
    ("user-of-other-client", "ada", "POST", "/users", new_manager(client_id=2)),
    ("user-of-no-client", "ada", "POST", "/users", new_manager(client_id=None)),
    ("user-promoted", "ada", "PATCH", f"/users?id=eq.{MOE}", {"role": "client_admin"}),
    ("user-given-away", "ada", "PATCH", f"/users?id=eq.{MOE}", {"client_id": 2}),
    (
        "user-put-promoted",
        "ada",
        "PUT",
        f"/users?id=eq.{MOE}",
        whole_user(MOE, "moe@acme.example", "client_admin"),
    ),
    (
        "building-grant-of-other-client",
        "ada",
        "POST",
        MANAGER_BUILDING,
        {"manager_id": MOE, "building_id": 4},
    ),
    (
        "building-grant-of-granted-building",
        "ada",
        "POST",
        MANAGER_BUILDING,
        {"manager_id": MOE, "building_id": 5},
    ),
    (
        "building-grant-to-other-manager",
        "ada",
        "POST",
        MANAGER_BUILDING,
        {"manager_id": MAX, "building_id": 1},
    ),
    (
        "building-grant-to-herself",
        "ada",
        "POST",
        MANAGER_BUILDING,
        {"manager_id": ADA, "building_id": 2},
    ),
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
    (
        "building-grant-moved-away",
        "ada",
        "PATCH",
        f"{MANAGER_BUILDING}?manager_id=eq.{MOE}",
        {"building_id": 4},
    ),
    (
        "building-grant-passed-on",
        "ada",
        "PATCH",
        f"{MANAGER_BUILDING}?manager_id=eq.{MOE}",
        {"manager_id": MAX},
    ),
    (
        "building-grant-signed-over",
        "ada",
        "PATCH",
        f"{MANAGER_BUILDING}?manager_id=eq.{MOE}",
        {"assigned_by": ROOT},
    ),
    (
        "building-grant-put-away",
        "ada",
        "PUT",
        f"{MANAGER_BUILDING}?manager_id=eq.{MOE}&building_id=eq.4",
        {"manager_id": MOE, "building_id": 4},
    ),
    (
        "inspection-grant-of-other-client",
        "ada",
        "POST",
        MANAGER_INSPECTION,
        {"manager_id": MOE, "inspection_id": 6},
    ),
    (
        "inspection-grant-of-readable-one",
        "ada",
        "POST",
        MANAGER_INSPECTION,
        {"manager_id": MOE, "inspection_id": 8},
    ),
    (
        "inspection-grant-of-granted-one",
        "bob",
        "POST",
        MANAGER_INSPECTION,
        {"manager_id": MAX, "inspection_id": 3},
    ),
    (
        "inspection-grant-to-other-manager",
        "ada",
        "POST",
        MANAGER_INSPECTION,
        {"manager_id": MAX, "inspection_id": 1},
    ),
    (
        "inspection-grant-signed-by-root",
        "ada",
        "POST",
        MANAGER_INSPECTION,
        {"manager_id": MIA, "inspection_id": 1, "assigned_by": ROOT},
    ),
    (
        "inspection-grant-moved-away",
        "ada",
        "PATCH",
        f"{MANAGER_INSPECTION}?manager_id=eq.{MOE}",
        {"inspection_id": 6},
    ),
]


@pytest.mark.parametrize(
    ("who", "method", "path", "body"),
    [line[1:] for line in ENDS_UP_OUT_OF_REACH],
    ids=[line[0] for line in ENDS_UP_OUT_OF_REACH],
)
def test_row_that_would_end_up_out_of_reach_is_refused(
    steady: Callable, before: dict, who: str, method: str, path: str, body: dict
) -> None:
    table = path.strip("/").partition("?")[0]

    response = steady(who).send(method, path, body)

    assert response.refusal == rule(table)
    assert dump(steady) == before


# id, who, path, change: a row out of reach is not matched by PATCH, nor by DELETE
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
    (
        "building-grant-of-other-client",
        "ada",
        f"{MANAGER_BUILDING}?manager_id=eq.{MAX}",
        {"building_id": 1},
    ),
    (
        "inspection-grant-of-other-client",
        "bob",
        f"{MANAGER_INSPECTION}?manager_id=eq.{MOE}",
        {"inspection_id": 6},
    ),
]


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
@pytest.mark.parametrize(
    ("who", "path", "change"),
    [line[1:] for line in NOT_MATCHED],
    ids=[line[0] for line in NOT_MATCHED],
)
def test_row_out_of_reach_is_not_matched(
    steady: Callable, before: dict, who: str, method: str, path: str, change: dict
) -> None:
    body = change if method == "PATCH" else None

    silent = steady(who).send(method, path, body)
    telling = steady(who).send(method, path, body, prefer="return=representation")

    assert (silent.status, silent.text) == (204, "")
    assert (telling.status, telling.json) == (200, [])
    assert dump(steady) == before


# id, who, path, body: an id one may not name, alike for taken, hidden and free ones
ID_NOT_ONES_OWN = [
    ("building-hidden", "ada", "/buildings?id=eq.4", {"id": 4, "name": "P", "client_id": 1}),
    ("building-readable", "ada", "/buildings?id=eq.5", {"id": 5, "name": "P", "client_id": 1}),
    ("building-free", "ada", "/buildings?id=eq.999", {"id": 999, "name": "P", "client_id": 1}),
    (
        "inspection-readable",
        "ada",
        "/inspections?id=eq.8",
        {"id": 8, "building_id": 1, "inspection_type": "x"},
    ),
    (
        "inspection-granted",
        "bob",
        "/inspections?id=eq.3",
        {"id": 3, "building_id": 4, "inspection_type": "x"},
    ),
    (
        "inspection-free",
        "ada",
        "/inspections?id=eq.999",
        {"id": 999, "building_id": 1, "inspection_type": "x"},
    ),
    ("reading-hidden", "ada", "/reports_lead?id=eq.3", {"id": 3, "inspection_id": 2}),
    ("reading-free", "ada", "/reports_lead?id=eq.999", {"id": 999, "inspection_id": 2}),
    ("user-hidden", "ada", f"/users?id=eq.{MAX}", whole_user(MAX, "p@x.example")),
    ("user-herself", "ada", f"/users?id=eq.{ADA}", whole_user(ADA, "p@x.example")),
    ("user-free", "ada", f"/users?id=eq.{uuid('99')}", whole_user(uuid("99"), "p@x.example")),
]


@pytest.mark.parametrize(
    ("who", "path", "body"),
    [line[1:] for line in ID_NOT_ONES_OWN],
    ids=[line[0] for line in ID_NOT_ONES_OWN],
)
def test_put_names_no_id_but_ones_own(
    steady: Callable, before: dict, who: str, path: str, body: dict
) -> None:
    response = steady(who).put(path, body)

    assert (response.status, response.code) == (400, "428C9")
    assert dump(steady) == before


# id, who, path: what still has rows behind it stays
STILL_NEEDED = [
    ("building-by-root", "root", "/buildings?id=eq.1"),
    ("building-by-ada", "ada", "/buildings?id=eq.1"),
    ("client-by-root", "root", "/clients?id=eq.1"),
    ("client-by-service", "service", "/clients?id=eq.2"),
]


@pytest.mark.parametrize(
    ("who", "path"), [line[1:] for line in STILL_NEEDED], ids=[line[0] for line in STILL_NEEDED]
)
def test_row_that_others_need_is_not_deleted(
    steady: Callable, before: dict, who: str, path: str
) -> None:
    response = steady(who).delete(path)

    assert (response.status, response.code) == (409, "23503")
    assert dump(steady) == before
