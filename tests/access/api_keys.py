"""Requests that make and use API keys."""

from tests.conftest import RESOURCES, Response
from tests.support.signin import Service

OWN = "/auth/v1/user/api_keys"


def of_user(user_id: str) -> str:
    return f"/auth/v1/admin/users/{user_id}/api_keys"


def make(service: Service, who: str, path: str = OWN, **body: object) -> dict:
    response = service.api(who).post(path, {"name": "MCP server", **body})
    assert response.status == 200, response.text
    return response.json


def read(service: Service, key: str, path: str = "/buildings?select=id", bearer: str | None = None) -> Response:
    """Read with a key in the apikey header, alone or beside a bearer token."""
    return service.api(token=bearer).get(path, headers={"apikey": key})


def dump_of(service: Service) -> list:
    return [service.sql(f"SELECT * FROM {table} ORDER BY 1, 2") for table in RESOURCES]
