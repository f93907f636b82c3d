"""The tables of both engines equal the models: columns, types, nullability, keys and CHECKs."""

import pathlib
import re
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from engine.schema.script import COMMITTED, schema_script
from models import RESOURCES, credential
from models.fields import indexes_of, parents_of
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
IN_A_FILE = {"bigint": "INTEGER", "integer": "INTEGER", "double precision": "REAL", "boolean": "INTEGER"}
"""The SQLite type of each column type that is not text."""


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


@pytest.mark.parametrize("engine", COMMITTED)
def test_committed_schema_is_the_generated_one(engine: str) -> None:
    """`flask schema --write` writes both files."""
    assert COMMITTED[engine].read_text(encoding="utf-8") == schema_script(engine)


def bytes_max(column: sa.Column) -> int:
    return column.info["column"].bytes_max or TEXT_BYTES_MAX


@pytest.mark.parametrize("engine", COMMITTED)
def test_every_text_column_has_a_length_check(engine: str) -> None:
    """Indexes and response limits rely on it for rows of every writer."""
    size = r"length\(CAST\({} AS BLOB\)\)" if engine == "sqlite" else r"octet_length\({}\)"
    script = schema_script(engine)

    unbounded = [
        f"{name}.{column.name}"
        for name, model in RESOURCES.items()
        for column in model.__table__.c
        if column.info["column"].type is TEXT
        and not (column.info["column"].hidden or column.info["column"].allowed_values)
        and not re.search(
            rf"CONSTRAINT {name}_{column.name}_check\s+CHECK \({size.format(column.name)} <= {bytes_max(column)}\)",
            script,
        )
    ]

    assert [each for each in unbounded if not each.startswith("audit_log.")] == []


INDEXED = "SELECT name FROM pragma_index_info('{index}') ORDER BY seqno"


@pytest.mark.server("a file's columns are compared")
def test_every_index_exists_on_the_server(made: pathlib.Path) -> None:
    found = {name for (name,) in databases.sql(made, "SELECT indexname FROM pg_indexes WHERE schemaname = 'public'")}

    assert {index.name for model in MODELS for index in indexes_of(model, "postgresql")} <= found


MODELS = (*RESOURCES.values(), *credential.HIDDEN)


@pytest.mark.sqlite("reads SQLite's catalog")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__tablename__)
def test_every_foreign_key_has_an_index(made: pathlib.Path, model: type) -> None:
    """An index or the primary key begins with its column, or an index has it after the client."""
    name = model.__tablename__
    indexes = [
        [column for (column,) in databases.sql(made, INDEXED.format(index=index))]
        for (index,) in databases.sql(made, f"SELECT name FROM pragma_index_list('{name}')")
    ]
    starts = {each[0] for each in indexes} | {each[1] for each in indexes if each[0] == "client_id" and each[1:]}
    starts.add(next(iter(model.__table__.primary_key)).name)

    assert {key.parent.name for key in model.__table__.foreign_keys} <= starts


@pytest.mark.parametrize("name", [each for each in TABLES if credential.metadata.tables[each].foreign_keys])
def test_foreign_keys_equal_the_model(made: pathlib.Path, name: str) -> None:
    table = credential.metadata.tables[name]

    found = set(databases.sql(made, KEYS.format(table=name)))

    assert found == {
        pair
        for key in table.foreign_keys
        for pair in pairs_of(RESOURCES.get(name), key)
    }  # fmt: skip


def pairs_of(model: type | None, key: sa.ForeignKey) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the columns of a foreign key. That of a row's client includes the client, unless triggers replace it."""
    parent = key.column.table.name
    is_tenant = model is not None and any(each is key for each in parents_of(model))
    update = "CASCADE" if is_tenant else key.onupdate or "NO ACTION"
    yield key.parent.name, parent, key.column.name, update, key.ondelete or "NO ACTION"
    if is_tenant and (databases.SERVER is not None or RESOURCES[parent].sqlite_compound_key):
        yield "client_id", parent, "client_id", update, key.ondelete or "NO ACTION"


def test_every_table_has_a_model(made: pathlib.Path) -> None:
    own = {"audit_context"} if databases.SERVER is None else set()  # settings of a transaction, on a server

    found = {name for name in databases.tables(made) if not name.startswith("sqlite_")}

    assert found - own == set(TABLES)
