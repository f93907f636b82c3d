"""A running service over a database with large rows: with the shipped deadlines, and with short ones."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.durability.served import Served, serving
from tests.durability.shim import DATABASE
from tests.http.service import HEAVY_ROWS, NOTE, log_lines, served_over
from tests.support import databases


@pytest.fixture(scope="session")
def heavy_file(base_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data set, with additional inspections with long notes on building 6 of client 1."""
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
    """The service as shipped. At the end, its log has no incident and no failed thread."""
    with serving(served_over(heavy_file, tmp_path_factory.mktemp("http") / "served")) as running:
        yield running
        events = {line.get("event") for line in log_lines(running)}
    assert events.isdisjoint({"incident", "thread_ended"})


@pytest.fixture(scope="module")
def patient_service(heavy_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The service whose statements may run for a minute."""
    directory = tmp_path_factory.mktemp("patient") / "served"
    with serving(served_over(heavy_file, directory, "tests.support.patient:create()")) as running:
        yield running


@pytest.fixture(scope="module")
def short_deadlines_service(heavy_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The service with short deadlines."""
    directory = tmp_path_factory.mktemp("short-deadlines") / "served"
    with serving(served_over(heavy_file, directory, "tests.support.short_deadlines:create()")) as running:
        yield running
