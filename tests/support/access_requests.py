"""Writes of each method for each table, and the keys of its rows."""

from collections.abc import Callable

from engine.query.catalog import catalog
from tests.conftest import Response
from tests.support.factories import key_filter, row_changes

BUILDING_GRANTS_TO_ADMINS = "client_admin_building_access"
BUILDING_GRANTS_TO_MANAGERS = "client_manager_building_access"
INSPECTION_GRANTS_TO_ADMINS = "client_admin_inspection_access"
INSPECTION_GRANTS_TO_MANAGERS = "client_manager_inspection_access"


def keys(response: Response, table: str) -> set:
    """Return the keys of a list of rows: ids, or pairs for grants."""
    columns = catalog().relations[table].key
    found = [tuple(row[column] for column in columns) for row in response.json]
    assert len(found) == len(set(found)), f"a row twice: {found}"
    return {key if len(key) > 1 else key[0] for key in found}


def send_write(api: Callable, who: str, method: str, table: str, row: dict) -> Response:
    """Send the request of a method that creates, changes, replaces or deletes this row."""
    if method == "POST":
        return api(who).post(f"/{table}", row)
    where = key_filter(table, row)
    if method == "PATCH":
        return api(who).patch(f"/{table}?{where}", row_changes(table, row))
    if method == "PUT":
        service = catalog().relations[table].service_columns
        return api(who).put(f"/{table}?{where}", {name: row[name] for name in row if name not in service})
    return api(who).delete(f"/{table}?{where}")


MANAGER_BUILDING = f"/{BUILDING_GRANTS_TO_MANAGERS}"
MANAGER_INSPECTION = f"/{INSPECTION_GRANTS_TO_MANAGERS}"


def new_manager(**more: object) -> dict:
    return {"email": "new@x.example", "name": "New", "role": "client_manager", "client_id": 1, **more}


def complete_user(id_: str, email: str, role: str = "client_manager", client_id: int = 1) -> dict:
    return {"id": id_, "email": email, "name": "Put", "role": role, "client_id": client_id}
