"""The tables that are there, against the models: the same columns, nullability, keys, on either database."""

import pathlib

import pytest

from models import credential
from tests import databases
from tests.applications import open_app

TABLES = sorted(credential.metadata.tables)

COLUMNS, KEYS = (
    (
        """SELECT name, "notnull" OR pk > 0, pk > 0 FROM pragma_table_info('{table}') ORDER BY cid""",
        """SELECT "from", "table", "to", on_update, on_delete FROM pragma_foreign_key_list('{table}')""",
    )
    if databases.SERVER is None
    else (
        """
        SELECT a.attname, a.attnotnull, coalesce(a.attnum = ANY (p.conkey), false) FROM pg_attribute a
        LEFT JOIN pg_constraint p ON p.conrelid = a.attrelid AND p.contype = 'p'
        WHERE a.attrelid = '{table}'::regclass AND a.attnum > 0 ORDER BY a.attnum
        """,
        """
        SELECT a.attname, c.confrelid::regclass::text, f.attname,
            CASE c.confupdtype WHEN 'c' THEN 'CASCADE' ELSE 'NO ACTION' END,
            CASE c.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'r' THEN 'RESTRICT'
            ELSE 'NO ACTION' END
        FROM pg_constraint c CROSS JOIN LATERAL unnest(c.conkey, c.confkey) AS pair (here, there)
        JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = here
        JOIN pg_attribute f ON f.attrelid = c.confrelid AND f.attnum = there
        WHERE c.contype = 'f' AND c.conrelid = '{table}'::regclass
        """,
    )
)

HELD_BY_TRIGGERS_IN_A_FILE = {("client_id", "inspections", "client_id", "CASCADE", "CASCADE")}
"""The hidden half of a server's compound key (tests/test_hidden_client.py)."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """An empty database, as a first start makes it."""
    file = tmp_path_factory.mktemp("made") / "walkthrough.db"
    open_app(file)
    return file


@pytest.mark.parametrize("name", TABLES)
def test_columns_are_the_models(made: pathlib.Path, name: str) -> None:
    table = credential.metadata.tables[name]

    found = databases.sql(made, COLUMNS.format(table=name))

    assert {(column, bool(required), bool(key)) for column, required, key in found} == {
        (column.name, not column.nullable, column.primary_key) for column in table.c
    }


@pytest.mark.parametrize(
    "name", [each for each in TABLES if credential.metadata.tables[each].foreign_keys]
)
def test_foreign_keys_are_the_models(made: pathlib.Path, name: str) -> None:
    table = credential.metadata.tables[name]

    found = set(databases.sql(made, KEYS.format(table=name)))

    if databases.SERVER is not None:
        found -= HELD_BY_TRIGGERS_IN_A_FILE
    assert found == {
        (element.parent.name, element.column.table.name, element.column.name,
         key.onupdate or "NO ACTION", key.ondelete or "NO ACTION")
        for key in table.foreign_key_constraints
        for element in key.elements
    }  # fmt: skip


def test_no_table_is_the_databases_alone(made: pathlib.Path) -> None:
    own = (
        {"audit_context"} if databases.SERVER is None else set()
    )  # settings of a transaction, on a server

    found = {name for name in databases.tables(made) if not name.startswith("sqlite_")}

    assert found - own == set(TABLES)
