"""What holds for every table by its description: methods, filters, embeds, constraints, audit log, archives, copies."""

import json
import pathlib
from collections.abc import Callable
from urllib.parse import quote

import pytest

from engine.query.catalog import catalog
from models.fields import ColumnDefault
from models.types import JSON
from models.vocabulary import BUCKETS
from tests.conftest import RESOURCES
from tests.support import databases
from tests.support.applications import open_app
from tests.support.factories import RowFactory, key_filter, row_changes

REPRESENTED = "return=representation"
WRITTEN = [table for table in RESOURCES if not catalog().relations[table].model.written_by_service]
"""The tables whose rows requests write. The service alone writes the others."""
CONSTRAINED = [
    (table, name)
    for table in WRITTEN
    for name, each in catalog().relations[table].attributes.items()
    if not each.info.service
    and (each.info.allowed_values or each.info.minimum is not None or each.info.maximum is not None)
]
KEYS = [key for table in RESOURCES for key in catalog().relations[table].foreign_keys]
key_names = [key.name for key in KEYS]
FILLED = (ColumnDefault.SEQUENCE, ColumnDefault.COMPUTED)
"""The defaults that replace a null, too."""
each_table = pytest.mark.parametrize("table", RESOURCES)
each_written_table = pytest.mark.parametrize("table", WRITTEN)


def without_times(row: dict) -> dict:
    return {name: value for name, value in row.items() if name != "updated_at"}


@each_written_table
def test_row_is_created_read_changed_replaced_and_deleted(api: Callable, table: str) -> None:
    root, factory = api("root"), RowFactory(api)

    row = factory.create(table)
    path = f"/{table}?{key_filter(table, row)}"
    assert root.get(path).json == [row]
    assert (root.head(path).status, root.head(path).text) == (200, "")

    changed = {**row, **row_changes(table, row)}
    [patched] = root.patch(path, row_changes(table, row), prefer=REPRESENTED).json
    assert without_times(patched) == without_times(changed)

    replaced = root.put(path, row, prefer=REPRESENTED)
    assert (replaced.status, [without_times(each) for each in replaced.json]) == (200, [without_times(row)])

    assert (root.delete(path).status, root.get(path).json) == (204, [])


@each_table
def test_each_column_is_selected_filtered_and_ordered(api: Callable, table: str) -> None:
    row = RowFactory(api).create(table)
    path = f"/{table}?{key_filter(table, row)}"
    for name, attribute in catalog().relations[table].attributes.items():
        if attribute.type is JSON:
            continue
        condition = "is.null" if row[name] is None else f"eq.{quote(str(row[name]))}"
        assert api("root").get(f"{path}&select={name}&order={name}").json == [{name: row[name]}]
        assert api("root").get(f"{path}&{name}={condition}").json == [row]
        assert api("root").get(f"{path}&{name}=not.{condition}").json == []


@each_table
def test_hidden_columns_are_neither_read_nor_written(api: Callable, table: str) -> None:
    relation = catalog().relations[table]
    for name in set(relation.table.c.keys()) - set(relation.attributes):
        assert api("root").get(f"/{table}?select={name}").code == "42703"
        assert api("root").get(f"/{table}?{name}=eq.1").code == "42703"
        assert api("root").post(f"/{table}", {name: 1}).code == ("PGRST204" if table in WRITTEN else "42501")


@pytest.mark.parametrize("key", KEYS, ids=key_names)
def test_each_foreign_key_is_embedded_in_both_directions(api: Callable, key: object) -> None:
    root, factory = api("root"), RowFactory(api)
    is_of_file = key.relation == "files" and key.referred in BUCKETS
    row = factory.create_file(key.referred) if is_of_file else factory.create(key.relation)
    if row[key.column] is None:
        target = factory.create(key.referred)
        factory.refer(key.relation, row, key.column, target["id"])
        row[key.column] = target["id"]
    parent = f"{key.referred_column}=eq.{row[key.column]}"

    path = f"/{key.relation}?{key_filter(key.relation, row)}&select=parent:{key.referred}!{key.name}(*)"
    [found] = root.get(path).json
    [children] = root.get(f"/{key.referred}?{parent}&select=children:{key.relation}!{key.name}(*)").json

    assert [found["parent"]] == root.get(f"/{key.referred}?{parent}").json
    found = children["children"]
    assert without_times(row) in map(without_times, found if isinstance(found, list) else [found])


NAMED_KEYS = [key for key in KEYS if key.relation in WRITTEN and key.relation != "xrf_limits"]
"""The keys of written tables. A limit refers to the instrument of its number and client, which the service finds."""


@pytest.mark.parametrize("key", NAMED_KEYS, ids=lambda key: key.name)
def test_each_foreign_key_refuses_a_missing_row(api: Callable, key: object) -> None:
    missing = "00000000-0000-4000-8000-000000000099" if key.referred == "users" else 999_999
    body = {**RowFactory(api).body(key.relation), key.column: missing}

    response = api("root").post(f"/{key.relation}", body)

    # The trigger that checks a grantee's role precedes the foreign key.
    assert (response.status, response.code) in ((409, "23503"), (400, "23514"))
    assert response.code == "23514" or key.name in response.message


@each_written_table
def test_required_columns_are_required(api: Callable, table: str) -> None:
    factory = RowFactory(api)
    for name, attribute in catalog().relations[table].attributes.items():
        if attribute.required and not attribute.info.service and attribute.default not in FILLED:
            response = api("root").post(f"/{table}", {**factory.body(table), name: None})
            assert (response.status, response.code) == (400, "23502"), name
            assert f'"{name}"' in response.message


@pytest.mark.parametrize(("table", "column"), CONSTRAINED)
def test_values_out_of_bounds_are_refused(api: Callable, table: str, column: str) -> None:
    root, factory, info = api("root"), RowFactory(api), catalog().relations[table].attributes[column].info
    refused = ["other"] if info.allowed_values else []
    refused += [info.minimum - 1] if info.minimum is not None else []
    refused += [info.maximum + 1] if info.maximum is not None else []
    row = factory.create(table)
    for value in refused:
        for response in (
            root.post(f"/{table}", factory.body(table, **{column: value})),
            root.patch(f"/{table}?{key_filter(table, row)}", {column: value}),
        ):
            check = f'new row for relation "{table}" violates check constraint "{table}_{column}_check"'
            is_change = response.json["message"].startswith(f'column "{column}" can only be updated')
            assert response.refusal == (400, "23514", check) or (info.insert_only and is_change)
    for value in (info.minimum, info.maximum):
        if value is not None:
            assert factory.create(table, **{column: value})[column] == value


UNIQUES = [
    (table, name, columns)
    for table in WRITTEN
    for name, columns in catalog().relations[table].uniques.items()
    if set(columns) <= set(catalog().relations[table].attributes)
]


@pytest.mark.parametrize(("table", "name", "columns"), UNIQUES)
def test_unique_columns_are_unique(api: Callable, table: str, name: str, columns: tuple[str, ...]) -> None:
    factory = RowFactory(api)
    row = factory.create(table)

    response = api("root").post(f"/{table}", factory.body(table, **{each: row[each] for each in columns}))

    assert response.refusal == (409, "23505", f'duplicate key value violates unique constraint "{name}"')


@each_written_table
def test_each_change_is_in_the_audit_log(api: Callable, table: str) -> None:
    root, row = api("root"), RowFactory(api).create(table)
    relation = catalog().relations[table]
    path, key = f"/{table}?{key_filter(table, row)}", ",".join(str(row[name]) for name in relation.key)
    changes = row_changes(table, row)
    assert root.patch(path, changes).status == 204
    assert root.delete(path).status == 204

    events = root.get(f"/audit_log?relation=eq.{table}&row_key=eq.{key}&order=id").json

    assert [each["action"] for each in events] == ["insert", "update", "delete"]
    assert {each["actor_id"] for each in events} == {root.person.id}
    insert, update, delete = events
    assert (insert["before"], set(insert["after"])) == (None, set(relation.attributes))
    assert changes.items() <= update["after"].items()
    assert (set(delete["before"]), delete["after"]) == (set(relation.attributes), None)


def test_rows_of_each_table_are_exported_imported_and_copied(api: Callable, tmp_path: pathlib.Path) -> None:
    factory = RowFactory(api)
    rows = {table: factory.create(table) for table in RESOURCES}
    run = api("root").database.app_for("POST", "/").test_cli_runner().invoke
    archive = tmp_path / "archive.json"

    assert run(args=["export", str(archive)]).exit_code == 0
    imported = open_app(tmp_path / "imported.db").test_cli_runner().invoke
    assert imported(args=["import", str(archive)]).exit_code == 0
    assert run(args=["copy", "--to", databases.url(tmp_path / "copied.db")]).exit_code == 0
    copied = open_app(tmp_path / "copied.db").test_cli_runner().invoke

    exported = json.loads(archive.read_text())
    assert list(exported) == list(RESOURCES)
    for table, row in rows.items():
        assert without_times(row) in map(without_times, exported[table])
    assert imported(args=["export"]).stdout == archive.read_text()
    assert copied(args=["export"]).stdout == archive.read_text()
