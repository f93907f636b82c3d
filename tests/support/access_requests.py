"""A valid write of each method for each table, and the keys of its rows."""

from collections.abc import Callable

from tests.conftest import ADA, BOB, MIA, MOE, Response
from tests.support.oracle import KEYS

BUILDING_GRANTS_TO_ADMINS = "client_admin_building_access"
BUILDING_GRANTS_TO_MANAGERS = "client_manager_building_access"
INSPECTION_GRANTS_TO_ADMINS = "client_admin_inspection_access"
INSPECTION_GRANTS_TO_MANAGERS = "client_manager_inspection_access"
# One write for each method, permitted to super admins and refused to callers without the privilege.
VALID_WRITES = {
    "clients": ({"name": "New"}, "id=eq.1", {"name": "Renamed"}, {"id": 1, "name": "Put"}),
    "users": (
        {"email": "new@acme.example", "name": "New", "role": "client_manager", "client_id": 1},
        f"id=eq.{MIA}",
        {"name": "Renamed"},
        {"id": MIA, "email": "mia@acme.example", "name": "M", "role": "client_manager", "client_id": 1},
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


def keys(response: Response, table: str) -> set:
    """Return the keys of a list of rows: ids, or pairs for grants."""
    columns = KEYS.get(table, ("id",))
    found = [tuple(row[column] for column in columns) for row in response.json]
    assert len(found) == len(set(found)), f"a row twice: {found}"
    return {key if len(key) > 1 else key[0] for key in found}


def send_valid_write(api: Callable, who: str, method: str, table: str) -> Response:
    """Send the table's valid request of a method."""
    body, where, change, whole = VALID_WRITES[table]
    if method == "POST":
        return api(who).post(f"/{table}", body)
    if method == "PATCH":
        return api(who).patch(f"/{table}?{where}", change)
    if method == "PUT":
        return api(who).put(f"/{table}?{where}", whole)
    return api(who).delete(f"/{table}?{where}")


MANAGER_BUILDING = f"/{BUILDING_GRANTS_TO_MANAGERS}"
MANAGER_INSPECTION = f"/{INSPECTION_GRANTS_TO_MANAGERS}"


def new_manager(**more: object) -> dict:
    return {"email": "new@x.example", "name": "New", "role": "client_manager", "client_id": 1, **more}


def complete_user(id_: str, email: str, role: str = "client_manager", client_id: int = 1) -> dict:
    return {"id": id_, "email": email, "name": "Put", "role": role, "client_id": client_id}
