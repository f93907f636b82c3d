"""A server's database of an older version becomes one of today at the start; one of a later version is left alone."""

import pathlib
from typing import Any

import pytest
import sqlalchemy as sa

from app import NotStarted
from models import postgresql
from models import upkeep
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
INDEXES = "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1"
TABLES = """
    SELECT relname || '.' || attname, format_type(atttypid, atttypmod), attcollation::regcollation::text, attnotnull,
        attidentity::text, pg_get_expr(adbin, adrelid)
    FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT conrelid::regclass || '.' || conname, pg_get_constraintdef(oid), NULL, convalidated, NULL, NULL
    FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
    UNION ALL
    SELECT stxname, pg_get_statisticsobjdef(oid), NULL, NULL, NULL, NULL
    FROM pg_statistic_ext WHERE stxnamespace = current_schema()::regnamespace
    ORDER BY 1
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


RELEASED = pathlib.Path(__file__).parent / "data" / "released"
FIRST_KEPT = 12  # the scripts of those before were brought up to date by hand, and equalled a new database's tables


def test_there_is_a_script_of_every_version() -> None:
    kept = {int(path.name.split(".")[0].removeprefix("schema-")) for path in RELEASED.glob("*.sql")}

    assert kept == {*range(FIRST_KEPT, schema_version() + 1)}


@pytest.mark.parametrize("version", range(FIRST_KEPT, schema_version() + 1))
def test_a_released_versions_database_becomes_what_a_new_one_is(
    service: Service, version: int
) -> None:
    """A change of postgresql.sql that no step follows would part old databases from new ones, and end an upgrade."""
    script = (RELEASED / f"schema-{version}.postgresql.sql").read_text(encoding="utf-8")
    name = f"released_{version}"
    databases.create(name, "template0")
    with databases.connected(name) as connection:
        connection.execute(script)
        connection.execute("INSERT INTO facts VALUES ('schema_version', %s)", (str(version),))
    database = postgresql.attached(sa.make_url(databases.SERVER.format(database=name)), ())

    upkeep.ensure_schema(database)
    database.close()

    with databases.connected(name) as connection:
        for question in (TABLES, INDEXES, CODE, VERSION):
            assert connection.execute(question).fetchall() == rows(service, question), (
                "postgresql.sql has changed: give a step (models/migrations) what it does to a server, or, while this"
                " version is not released, make its files again (python -m tests.durability.release)"
            )
