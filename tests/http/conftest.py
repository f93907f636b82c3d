"""The service as it is run, over a database with rows that cost: as shipped, and in a hurry."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.durability.served import Served, serving
from tests.durability.shim import DATABASE
from tests.http.service import HEAVY_ROWS, NOTE, log_lines, served_over
from tests.support import databases


@pytest.fixture(scope="session")
def heavy_file(base_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data set, and on building 6 of client 1 inspections with long notes."""
    file = tmp_path_factory.mktemp("heavy") / DATABASE
    databases.copy(base_file, file)
    databases.sql(
        file,
        "WITH RECURSIVE places(place) AS (SELECT 1 UNION ALL SELECT place + 1 FROM places WHERE place < ?)"
        " INSERT INTO inspections (building_id, inspection_type, notes, created_at, updated_at, client_id)"
        " SELECT 6, 'heavy', ?, '2025-01-01T00:00:00+00:00', '2025-01-01T00:00:00+00:00', 1 FROM places",
        HEAVY_ROWS,
        NOTE,
    )
    return file


@pytest.fixture(scope="module")
def service(heavy_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The service as shipped. Whatever a module sent it: no refusal was a surprise, no thread ended badly."""
    with serving(served_over(heavy_file, tmp_path_factory.mktemp("http") / "served")) as running:
        yield running
        told = {line.get("event") for line in log_lines(running)}
    assert told.isdisjoint({"incident", "thread_ended"})


@pytest.fixture(scope="module")
def in_a_hurry(heavy_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The same with deadlines that a test can wait for."""
    directory = tmp_path_factory.mktemp("hurried") / "served"
    with serving(served_over(heavy_file, directory, "tests.support.hurried:make()")) as running:
        yield running
