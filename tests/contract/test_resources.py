"""The parts that each resource needs besides its table, model and policy, such as audit triggers."""

import pathlib

import pytest

from engine.maintenance import import_export
from engine.maintenance.planner_stats import planner_stats
from engine.query.catalog import catalog
from engine.schema import tables
from engine.schema.script import client_mismatches
from models import RESOURCES
from models.fields import ColumnDefault
from tests.support import databases
from tests.support.applications import open_app

WRITTEN = set(RESOURCES) - {"audit_log"}
TRIGGERS = (
    "SELECT name FROM sqlite_schema WHERE type = 'trigger'"
    if databases.SERVER is None
    else "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
)


@pytest.fixture(scope="module")
def triggers(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the triggers of an empty database."""
    file = tmp_path_factory.mktemp("triggers") / "walkthrough.db"
    open_app(file)
    return {name for (name,) in databases.sql(file, TRIGGERS)}


def test_every_resource_is_exported_after_the_tables_it_refers_to() -> None:
    order = import_export.archive_tables()
    keys = [(name, key) for name in order for key in RESOURCES[name].__table__.foreign_keys]

    assert set(order) == WRITTEN
    assert [name for name, key in keys if order.index(name) < order.index(key.column.table.name)] == []


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_audit_triggers_exist(triggers: set[str], name: str) -> None:
    assert {f"{name}_audit_{change}" for change in ("insert", "update", "delete")} <= triggers


def test_moved_row_is_audited_for_both_clients() -> None:
    """The column that names a row's client or its grantee is the owner column of the audit triggers."""
    owners = ("client_id", "admin_id", "manager_id")
    handed = {name: next((each for each in owners if each in RESOURCES[name].__table__.c), None) for name in WRITTEN}

    assert handed == {name: tables.owner_column(RESOURCES[name]) for name in WRITTEN}


@pytest.mark.parametrize("name", sorted(each for each in WRITTEN if "id" in RESOURCES[each].__table__.c))
def test_ids_are_not_reused(triggers: set[str], name: str) -> None:
    """An id set by an update counts as used. On SQLite an insert counts by itself, and the service changes no id."""
    id_ = catalog().relations[name].attributes["id"]
    is_changed = databases.SERVER is not None or not RESOURCES[name].written_by_service

    assert (f"{name}_ids" in triggers) == (id_.default is ColumnDefault.SEQUENCE and is_changed)


def test_planner_statistics_cover_every_resource() -> None:
    assert {table for table, _, _ in planner_stats()} == set(RESOURCES)


@pytest.mark.parametrize("name", sorted(each for each in WRITTEN if RESOURCES[each].derived))
def test_derived_column_is_maintained_by_the_database(name: str) -> None:
    """A foreign key includes the column, or triggers and a check (engine/schema/script.py) maintain it."""
    engine = "sqlite" if databases.SERVER is None else "postgresql"
    for key in tables.references_of(RESOURCES[name]):
        by_key = tables.is_compound(key, engine)
        by_triggers = f"FROM {name} AS child JOIN {key.parent} " in client_mismatches(RESOURCES)

        assert not key.is_tenant or by_key or by_triggers, f"{name} can differ from {key.parent}"


@pytest.mark.server("a file's foreign keys take rows along in the order of their keys by themselves")
def test_cascades_follow_key_order(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "walkthrough.db"
    open_app(file)
    pointing = {
        f"{name}_follow_{key.elements[0].parent.name}"
        for name in WRITTEN
        for key in RESOURCES[name].__table__.foreign_key_constraints
        if key.ondelete in ("CASCADE", "SET NULL")
    }

    found = databases.sql(file, "SELECT proname FROM pg_proc WHERE proname LIKE '%~_follow~_%' ESCAPE '~'")

    assert {name for (name,) in found} == pointing
