"""The tables of both engines equal the models: columns, types, nullability and keys."""

import pathlib
import re

import pytest

from engine.maintenance.schema import SCHEMA
from models import RESOURCES, credential
from models.types import TEXT, TEXT_BYTES_MAX
from tests.support import databases
from tests.support.applications import open_app

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

TYPES = (
    "SELECT name, type, NULL FROM pragma_table_info('{table}')"
    if databases.SERVER is None
    else """
        SELECT attname, format_type(atttypid, atttypmod), attcollation::regcollation::text
        FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0
        """
)
IN_A_FILE = {"bigint": "INTEGER", "integer": "INTEGER", "double precision": "REAL"}
"""The SQLite type of each column type that is not text."""

HELD_BY_TRIGGERS_IN_A_FILE = {("client_id", "inspections", "client_id", "CASCADE", "CASCADE")}
"""The hidden column of a compound key on PostgreSQL (tests/engine/test_derived_client.py)."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """An empty database, as created by a first start."""
    file = tmp_path_factory.mktemp("made") / "walkthrough.db"
    open_app(file)
    return file


@pytest.mark.parametrize("name", TABLES)
def test_columns_equal_the_model(made: pathlib.Path, name: str) -> None:
    table = credential.metadata.tables[name]

    found = databases.sql(made, COLUMNS.format(table=name))

    assert {(column, bool(required), bool(key)) for column, required, key in found} == {
        (column.name, not column.nullable, column.primary_key) for column in table.c
    }


@pytest.mark.parametrize("name", sorted(RESOURCES))
def test_types_equal_the_model(made: pathlib.Path, name: str) -> None:
    """Texts of PostgreSQL have the collation "C", which compares by code point, like SQLite."""
    kinds = {each.name: each.info["column"].type.name for each in RESOURCES[name].__table__.c}

    found = {column: tuple(said) for column, *said in databases.sql(made, TYPES.format(table=name))}

    if databases.SERVER is None:
        assert found == {each: (IN_A_FILE.get(kind, "TEXT"), None) for each, kind in kinds.items()}
    else:
        collations = {"text": '"C"'}
        assert found == {each: (kind, collations.get(kind, "-")) for each, kind in kinds.items()}


HELD_BY_TYPES_ON_A_SERVER = ("GLOB", "2147483647", "length(id) = 36")
"""The checks that only SQLite needs: timestamps, dates, 32-bit integers and UUIDs."""


def checks(script: str) -> dict[str, str]:
    """Return the checks of a script by name, with PostgreSQL's function for the bytes of a text."""
    found: dict[str, str] = {}
    for named in re.finditer(r"CONSTRAINT (\w+) CHECK \(", script):
        end, depth = named.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(script[end], 0)
            end += 1
        said = " ".join(script[named.end() : end - 1].split())
        found[named[1]] = re.sub(r"length\(CAST\((\w+) AS BLOB\)\)", r"octet_length(\1)", said)
    return found


def test_both_schemas_have_the_same_checks() -> None:
    in_a_file = checks(SCHEMA.read_text(encoding="utf-8"))

    on_a_server = checks(databases.SCHEMA.read_text(encoding="utf-8"))

    assert on_a_server == {
        name: said for name, said in in_a_file.items() if not any(each in said for each in HELD_BY_TYPES_ON_A_SERVER)
    }


def test_every_text_column_has_a_length_check() -> None:
    """Indexes and response limits rely on it for rows of every writer."""
    bounded = checks(databases.SCHEMA.read_text(encoding="utf-8"))
    written = {name: model for name, model in RESOURCES.items() if name != "audit_log"}

    unbounded = [
        f"{name}.{column.name}"
        for name, model in written.items()
        for column in model.__table__.c
        if column.info["column"].type is TEXT
        and f"octet_length({column.name}) <= {TEXT_BYTES_MAX}" not in bounded[f"{name}_text_check"]
    ]

    assert unbounded == ["users.role"]  # of which there are three


@pytest.mark.parametrize("name", [each for each in TABLES if credential.metadata.tables[each].foreign_keys])
def test_foreign_keys_equal_the_model(made: pathlib.Path, name: str) -> None:
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


def test_every_table_has_a_model(made: pathlib.Path) -> None:
    own = {"audit_context"} if databases.SERVER is None else set()  # settings of a transaction, on a server

    found = {name for name in databases.tables(made) if not name.startswith("sqlite_")}

    assert found - own == set(TABLES)
