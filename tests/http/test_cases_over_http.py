"""The recorded responses and the reported inputs again, from gunicorn on a port. A write is followed by a restore."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients.server import serving
from tests.conftest import Database, api_over
from tests.contract import test_error_rows, test_recorded_responses, test_reported_inputs
from tests.support import databases
from tests.support.http_app import HttpApp

pytestmark = pytest.mark.one_engine

for module in (test_recorded_responses, test_reported_inputs, test_error_rows):
    globals().update({name: each for name, each in vars(module).items() if name.startswith("test_")})


@pytest.fixture(scope="module")
def served(base_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpApp]:
    directory = tmp_path_factory.mktemp("served")
    file = directory / "walkthrough.db"
    databases.copy(base_file, file)
    with serving(directory) as server:
        app = HttpApp(server.url, file)
        yield app
        if app.connection is not None:
            app.connection.close()
    databases.release_databases_below(directory)


@pytest.fixture
def api(served: HttpApp, base_file: Path) -> Iterator[Callable]:
    yield api_over(Database(lambda: served, None, served))
    if served.has_written:
        databases.restore_copy(base_file, served.file)
        served.has_written = False


@pytest.fixture
def unchanging_api(api: Callable) -> Callable:
    return api
