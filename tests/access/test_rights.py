"""Each table and role: rows of another client are neither read, nor counted, nor changed.

The rights are those of the access matrix. Each test creates the rows that it needs.
"""

from collections.abc import Callable

import pytest

from engine.query.catalog import catalog
from models import RESOURCES as MODELS
from tests.access.test_access_matrix import RIGHTS
from tests.conftest import RESOURCES, privilege, rule
from tests.support.access_requests import send_write
from tests.support.factories import RowFactory, key_filter, row_changes

ROLES = ("ada", "bob", "moe", "max")
"""In the order of RIGHTS: client admins of the row's client and of another, client managers of both."""

CASES = [(table, who) for table in RESOURCES for who in ROLES]
each_table_and_role = pytest.mark.parametrize(("table", "who"), CASES)


def rights_of(table: str, who: str) -> str:
    return RIGHTS[table][ROLES.index(who)]


def includes(rights: str, method: str) -> bool:
    """Return whether rights include the requests of a method."""
    return "w" in rights or (method == "PATCH" and "c" in rights)


def has_privilege(table: str, who: str, method: str) -> bool:
    """Return whether the role sends the method to the table at all: for its own rows, or those of other clients."""
    first = ROLES.index(who) // 2 * 2
    return any(includes(rights, method) for rights in RIGHTS[table][first : first + 2])


def new_row(api: Callable, table: str) -> tuple[dict, str]:
    """Return a row of client 1 that nothing refers to, and its filter. Of the clients, return client 1."""
    factory = RowFactory(api)
    row = factory.row(table) if table == "clients" else factory.create(table)
    return row, key_filter(table, row)


@each_table_and_role
def test_row_is_read_and_counted_by_those_who_may(api: Callable, table: str, who: str) -> None:
    row, where = new_row(api, table)
    expected = [row] if "r" in rights_of(table, who) else []

    listed = api(who).get(f"/{table}?{where}", prefer="count=exact")

    assert (listed.json, listed.total) == (expected, str(len(expected)))
    assert api(who).head(f"/{table}?{where}", prefer="count=exact").total == str(len(expected))
    assert api(who).get(f"/{table}?select=count()&{where}").json == [{"count": len(expected)}]
    assert (row in api(who).get(f"/{table}").json) == bool(expected)


@each_table_and_role
def test_embedded_rows_are_those_that_are_read(api: Callable, table: str, who: str) -> None:
    row, _ = new_row(api, table)
    is_read = "r" in rights_of(table, who)
    for key in MODELS[table].__table__.foreign_keys:
        parent, column = key.column.table.name, key.parent.name
        if row.get(column) is None:
            continue
        embed = f"{table}!{key.constraint.name}(*)"
        for found in api(who).get(f"/{parent}?{key.column.name}=eq.{row[column]}&select=id,{embed}").json:
            children = found[table] if isinstance(found[table], list) else [found[table]]
            assert (row in children) == is_read


@each_table_and_role
@pytest.mark.parametrize("method", ["PATCH", "DELETE", "PUT"])
def test_row_is_changed_by_those_who_may(api: Callable, table: str, who: str, method: str) -> None:
    row, where = new_row(api, table)
    changed = {**row, **row_changes(table, row)}
    may_write = includes(rights_of(table, who), method)
    # Only super admins write these columns.
    sent = {name: value for name, value in changed.items() if name not in ("created_at", "updated_at", "hold_reason")}

    response = send_write(api, who, method, table, sent if method == "PUT" else row)

    after = [
        {name: value for name, value in each.items() if name != "updated_at"}
        for each in api("root").get(f"/{table}?{where}").json
    ]
    changed.pop("updated_at", None)
    unchanged = {name: value for name, value in row.items() if name != "updated_at"}
    if may_write:
        assert response.status == 204
        assert after == ([] if method == "DELETE" else [changed])
    else:
        assert after == [unchanged]
        if not has_privilege(table, who, method):
            assert response.refusal == privilege(table)
        elif method != "PUT":
            assert (response.status, response.text) == (204, "")
        else:
            assert response.status in (400, 403)


@each_table_and_role
def test_row_is_created_by_those_who_may(api: Callable, table: str, who: str) -> None:
    body = RowFactory(api).body(table)

    response = api(who).post(f"/{table}", body)

    if "w" in rights_of(table, who):
        assert response.status == 201
    else:
        assert response.refusal == (rule(table) if has_privilege(table, who, "POST") else privilege(table))


WRITERS = [
    (table, who) for table, who in CASES if "w" in rights_of(table, who) and MODELS[table].tenant not in (None, "id")
]


@pytest.mark.parametrize(("table", "who"), WRITERS)
def test_row_is_not_moved_to_another_client(api: Callable, table: str, who: str) -> None:
    row, where = new_row(api, table)
    elsewhere = RowFactory(api, 2).create(table)
    column = MODELS[table].tenant

    response = api(who).patch(f"/{table}?{where}", {column: elsewhere[column]})

    is_insert_only = catalog().relations[table].attributes[column].info.insert_only if column in row else False
    assert response.code == "428C9" if is_insert_only else response.refusal == rule(table)
    assert api("root").get(f"/{table}?{where}").json == [row]
