"""Migrations of a PostgreSQL database run at the start, in one transaction."""

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from app import NotStarted
from engine.schema.migrations import Migration
from tests.support import databases
from tests.support.applications import open_app
from tests.support.migrations import ADD_MOBILE, FAIL, NEXT
from tests.support.signin import Service, open_service

pytestmark = pytest.mark.server("a file's are in tests/durability/test_migrations.py")

CODE = """
    SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
    UNION ALL
    SELECT pg_get_triggerdef(pg_trigger.oid) FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
    WHERE NOT tgisinternal AND relnamespace = current_schema()::regnamespace
    ORDER BY 1
"""
DIFFERENT_OBJECTS = """
    DROP FUNCTION delete_grants_of_user CASCADE;
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
VERSION = "SELECT value FROM facts WHERE name = 'release_schema'"


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    found = open_service(tmp_path)
    yield found
    databases.discard(found.file)


def rows(service: Service, sql: str) -> list[Any]:
    with databases.connect_to(databases.DATABASE_NAMES[service.file]) as connection:
        return connection.execute(sql).fetchall()


def set_version(service: Service, version: int) -> None:
    with databases.connect_to(databases.DATABASE_NAMES[service.file]) as connection:
        connection.execute("UPDATE facts SET value = %s WHERE name = 'release_schema'", (str(version),))


def schema_of(service: Service) -> list[list[Any]]:
    return [rows(service, question) for question in (TABLES, INDEXES, CODE, VERSION)]


def test_a_migration_adds_its_columns_and_keeps_every_row(service: Service, register: Any) -> None:
    everything = "SELECT * FROM {} ORDER BY 1, 2"
    before = {name: rows(service, everything.format(name)) for name in databases.tables(service.file)}
    register(ADD_MOBILE)

    open_app(service.file)

    for name, told in before.items():
        found = rows(service, everything.format(name))
        if name in ("clients", "inspectors"):
            assert found == [(*row, "none") for row in told]
        elif name != "facts":
            assert found == told
    assert rows(service, VERSION) == [(str(NEXT),)]


def test_a_second_start_changes_nothing(service: Service, register: Any) -> None:
    register(ADD_MOBILE)
    open_app(service.file)
    once = schema_of(service)

    open_app(service.file)

    assert schema_of(service) == once


def test_a_migration_that_fails_changes_nothing(service: Service, register: Any) -> None:
    before = schema_of(service)
    register(FAIL)

    with pytest.raises(NotStarted, match="missing"):
        open_app(service.file)

    assert schema_of(service) == before


def test_an_upgrade_recreates_functions_and_triggers(service: Service, register: Any) -> None:
    made = rows(service, CODE)
    with databases.connect_to(databases.DATABASE_NAMES[service.file]) as connection:
        connection.execute(DIFFERENT_OBJECTS)
    assert rows(service, CODE) != made
    register(Migration(NEXT, "changes no table"))

    open_app(service.file)

    assert rows(service, CODE) == made


def test_a_database_of_a_later_version_is_refused_unchanged(service: Service) -> None:
    set_version(service, NEXT)

    with pytest.raises(NotStarted, match="was made by a later version"):
        open_app(service.file)

    assert rows(service, VERSION) == [(str(NEXT),)]


def test_a_database_of_a_development_version_is_refused_with_the_export_command(service: Service) -> None:
    with databases.connect_to(databases.DATABASE_NAMES[service.file]) as connection:
        connection.execute("UPDATE facts SET name = 'schema_version', value = '12'")

    with pytest.raises(NotStarted, match="development version from before 0") as refusal:
        open_app(service.file)

    assert ("\n" in refusal.value.message, "export FILE" in refusal.value.message) == (False, True)


def test_an_incomplete_database_is_refused_with_the_way_out(service: Service) -> None:
    with databases.connect_to(databases.DATABASE_NAMES[service.file]) as connection:
        connection.execute("DROP TABLE tokens")
        connection.execute("DROP TABLE finding_events")

    with pytest.raises(NotStarted, match="lacks the tables finding_events and tokens: it was made by") as refusal:
        open_app(service.file)

    assert "export FILE" in refusal.value.message


def test_an_incomplete_database_of_an_earlier_version_is_refused_unchanged(service: Service, register: Any) -> None:
    with databases.connect_to(databases.DATABASE_NAMES[service.file]) as connection:
        connection.execute("DROP TABLE tokens")
    before = schema_of(service)
    register(Migration(NEXT, "changes no table"))

    with pytest.raises(NotStarted, match=r"lacks the table tokens: .* leaves out passwords, API keys"):
        open_app(service.file)

    assert schema_of(service) == before
