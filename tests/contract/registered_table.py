"""What a registered table has beyond the generic tests. `test_registered_table.py` runs this beside its plugin."""

import json
import pathlib
from collections.abc import Callable

import pytest

from engine.schema.script import schema_script
from models.fields import TENANT_COLUMN
from tests.support import databases
from tests.support.applications import import_rows, open_app
from tests.support.factories import RowFactory
from tests.support.registered_table import Elevator

DOCUMENTS = ("application/openapi+json", "application/json")
"""Swagger and OpenAPI."""


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_schemas_create_the_table(engine: str) -> None:
    script = schema_script(engine)

    assert f"-- {Elevator.__doc__}" in script
    assert "CREATE TABLE elevators (" in script
    for name in ("building_id_fkey", "inspector_id_fkey", "building_id_name_key", "kind_check", "persons_check"):
        assert f"CONSTRAINT elevators_{name} " in script
    for name in ("audit_update", "audit_delete"):
        assert f"TRIGGER elevators_{name} " in script


def test_row_has_the_hidden_client_of_its_parent(api: Callable, tmp_path: pathlib.Path) -> None:
    row = RowFactory(api).create("elevators")

    stored = databases.sql(tmp_path / "walkthrough.db", f"SELECT {TENANT_COLUMN}, access_code FROM elevators")

    assert stored == [(1, None)]
    assert set(row) == {"id", "building_id", "inspector_id", "name", "kind", "persons"}


def test_table_is_filtered_through_its_embeds(api: Callable) -> None:
    factory = RowFactory(api)
    row = factory.create("elevators", building_id=1, inspector_id=1)
    factory.create("elevators", building_id=2, inspector_id=2)

    path = "/elevators?select=id,buildings!inner(name),inspectors(name)&buildings.name=eq.Harbor House"
    assert api("ada").get(path.replace(" ", "%20")).json == [
        {"id": row["id"], "buildings": {"name": "Harbor House"}, "inspectors": {"name": "Ines Vega"}}
    ]
    assert api("moe").get("/elevators").json == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documents_contain_the_table(api: Callable, document: str) -> None:
    text = api("root").get("/", accept=document).text
    found = json.loads(text)

    assert "/elevators" in found["paths"]
    assert Elevator.__doc__ in text
    assert "The most persons at a time." in text
    assert '"goods"' in text
    assert "access_code" not in text


def test_rows_are_imported_copied_to_the_server_and_back(tmp_path: pathlib.Path, base_file: pathlib.Path) -> None:
    """From a SQLite file to the engine of the test run, and back to another file. The hidden column comes along."""
    row = {"id": 7, "building_id": 1, "inspector_id": 1, "name": "North", "kind": "goods", "persons": None}
    files = [f"sqlite:///{tmp_path / name}.db" for name in ("first", "back")]
    source = open_app(tmp_path / "first.db", DATABASE_URL=files[0])
    archive = tmp_path / "elevators.json"
    archive.write_text(json.dumps({**json.loads(exported(open_app(base_file))), "elevators": [row]}))
    import_rows(source, archive)
    with source.extensions["walkthrough"].writing() as transaction:
        transaction.run("UPDATE elevators SET access_code = '1234'")
    there = tmp_path / "there.db"

    assert copy(source, databases.url(there)) == 0
    copied = open_app(there)
    assert databases.sql(there, "SELECT client_id, access_code FROM elevators") == [(1, "1234")]
    assert copy(copied, files[1]) == 0

    back = open_app(tmp_path / "back.db", DATABASE_URL=files[1])
    assert exported(source) == exported(copied) == exported(back)
    assert row in json.loads(exported(back))["elevators"]


def exported(app: object) -> str:
    return app.test_cli_runner().invoke(args=["export"]).output


def copy(app: object, url: str) -> int:
    return app.test_cli_runner().invoke(args=["copy", "--to", url]).exit_code
