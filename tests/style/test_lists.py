"""Lists of names in tests: each row names something that exists, so a list loses the rows of what is deleted."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from models.fields import Model
from routes.functions.rpc import FUNCTIONS
from tests import conftest
from tests.safety import database_access
from tests.style import structure, test_structure
from tests.style.sources import FOLDERS, PROJECT, files, name
from tests.support import columns, factories, functions, oracle, tiers

TABLES = Model.metadata.tables.keys()
PATHS = {name(path) for path in files()}
TOPS = {path.partition("/")[0].removesuffix(".py").removesuffix(".conf") for path in PATHS}


@pytest.mark.parametrize(
    ("rows", "existing"),
    [
        pytest.param(conftest.READ_ONLY_FUNCTIONS, FUNCTIONS, id="functions that only read"),
        pytest.param(functions.VALID_CALLS, FUNCTIONS, id="calls of functions"),
        pytest.param(functions.VOLATILE, FUNCTIONS, id="functions that write"),
        pytest.param(columns.TABLES_WITH_RULES, conftest.RESOURCES, id="tables whose writes have further effects"),
        pytest.param(factories.WRITTEN_BY_SERVICE, TABLES, id="tables of the service in factories"),
        pytest.param(oracle.TABLES, conftest.RESOURCES, id="tables of the oracle"),
        pytest.param(oracle.WRITTEN_BY_ADMINS, oracle.TABLES, id="tables that admins write"),
        pytest.param(oracle.WRITTEN_BY_INSPECTORS, TABLES, id="tables that inspectors write"),
        pytest.param(oracle.WRITTEN_BY_SERVICE, TABLES, id="tables that the service writes"),
        pytest.param(database_access.SEQUENCED_TABLES, TABLES, id="tables with sequences"),
        pytest.param(database_access.EMPTIED_TABLES, TABLES, id="tables without rows in a loaded world"),
        pytest.param(tiers.FOLDER_MARKS, [path.name for path in tiers.TESTS.iterdir()], id="folders with marks"),
        pytest.param(FOLDERS, [path.name for path in PROJECT.iterdir()], id="folders of the project"),
        pytest.param(structure.LAYERS, TOPS, id="layers"),
        pytest.param(test_structure.WEB_IMPORTERS, PATHS, id="files that import Flask"),
    ],
)
def test_every_row_names_something(rows: Iterable[str], existing: Iterable[str]) -> None:
    assert set(rows) - set(existing) == set()


def test_every_path_without_flask_has_files() -> None:
    assert [each for each in test_structure.WEB_FREE if not any(path.startswith(each) for path in PATHS)] == []
