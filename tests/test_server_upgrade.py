"""A server's database of an older version becomes one of today at the start; one of a later version is left alone."""

import pathlib
from typing import Any

import pytest

from app import NotStarted
from models.migrations import schema_version
from tests import databases
from tests.applications import open_app
from tests.conftest import MOE
from tests.signin import Service
from tests.signin import open_service

pytestmark = pytest.mark.server("a file's are in tests/durability/test_migrations.py")

CODE = """
    SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
    UNION ALL
    SELECT pg_get_triggerdef(pg_trigger.oid) FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
    WHERE NOT tgisinternal AND relnamespace = current_schema()::regnamespace
    ORDER BY 1
"""
AS_BEFORE = """
    DROP FUNCTION user_moves CASCADE;
    CREATE OR REPLACE FUNCTION user_moved() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    DROP TRIGGER users_audit_update ON users;
"""
VERSION = "SELECT value FROM facts WHERE name = 'schema_version'"


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Service:
    return open_service(tmp_path)


def rows(service: Service, sql: str) -> list[Any]:
    with databases.connected(databases.NAMES[service.file]) as connection:
        return connection.execute(sql).fetchall()


def make_it_of(service: Service, version: int) -> None:
    with databases.connected(databases.NAMES[service.file]) as connection:
        connection.execute(
            "UPDATE facts SET value = %s WHERE name = 'schema_version'", (str(version),)
        )


def test_an_older_versions_functions_and_triggers_are_made_anew(service: Service) -> None:
    made_today = rows(service, CODE)
    make_it_of(service, 1)
    with databases.connected(databases.NAMES[service.file]) as connection:
        connection.execute(AS_BEFORE)
    assert rows(service, CODE) != made_today

    open_app(service.file)

    assert rows(service, CODE) == made_today
    assert rows(service, VERSION) == [(str(schema_version()),)]
    assert service.api("root").patch(f"/users?id=eq.{MOE}", {"client_id": 2}).status == 204
    told = service.api("bob").get("/audit_log?relation=eq.client_manager_building_access")
    assert told.json == []


INDEXES = "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1"


def test_an_older_versions_indexes_become_those_of_today(service: Service) -> None:
    made_today = rows(service, INDEXES)
    make_it_of(service, 9)
    with databases.connected(databases.NAMES[service.file]) as connection:
        connection.execute("DROP INDEX inspections_building_id")
        connection.execute(
            "CREATE INDEX inspections_building_id ON inspections (building_id, date_visited)"
        )
    assert rows(service, INDEXES) != made_today

    open_app(service.file)

    assert rows(service, INDEXES) == made_today


def test_a_later_versions_are_left_alone(service: Service) -> None:
    make_it_of(service, schema_version() + 1)

    with pytest.raises(NotStarted, match="was made by a later version"):
        open_app(service.file)

    assert rows(service, VERSION) == [(str(schema_version() + 1),)]
