"""Incremental counts start from the value cached last, of whatever version: an older audit line only."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from access.caller import VisibleRows
from access.policy import AccessRule
from access.roles import GRANT_PROFILES, Role
from engine.storage.database import Database
from engine.storage.transaction import Transaction
from inspections.reporting import chart, dashboard
from inspections.reporting.dashboard import Dashboard, read_dashboard
from tests.conftest import ROOT

pytestmark = pytest.mark.sqlite("a server counts anew")

EVERYTHING = VisibleRows(AccessRule(GRANT_PROFILES[Role.SUPER_ADMIN, False, False]), ROOT, None)
DAYS = ("2000-01-01", "2030-01-01")
INSERT = (
    "INSERT INTO inspections (building_id, inspection_type, date_visited, created_at, updated_at, client_id)"
    " SELECT building_id, 'fire', '2020-02-02', created_at, updated_at, client_id FROM inspections WHERE id = 1"
)


def counted(transaction: Transaction) -> tuple[int, int]:
    """The inspections in the dashboard and in the chart."""
    drawn = chart.read_chart(transaction, EVERYTHING, *DAYS)
    total = read_dashboard(transaction, EVERYTHING).total_inspections
    return total, sum(point.total for point in drawn.series)


def count(database: Database) -> tuple[int, int]:
    with database.reading() as transaction:
        return counted(transaction)


def insert(database: Database) -> None:
    with database.writing() as transaction:
        transaction.run(INSERT)


@pytest.fixture
def full_counts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The dashboards and charts that are counted in full."""
    found: list[str] = []
    for module, name in ((dashboard, "count_all"), (chart, "read_points")):
        read = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, read=read, name=name: (found.append(name), read(*given))[1])
    return found


def test_counts_with_an_older_line_are_continued(filled: Database, full_counts: list[str]) -> None:
    before = count(filled)
    full_counts.clear()
    insert(filled)

    assert count(filled) == (before[0] + 1, before[1] + 1)
    assert full_counts == []


def test_counts_with_the_same_line_in_a_new_version_are_reused(filled: Database, full_counts: list[str]) -> None:
    before = count(filled)
    full_counts.clear()
    with filled.writing() as transaction:
        transaction.run("INSERT INTO facts (name, value) VALUES ('here', '1')")

    assert count(filled) == before
    assert full_counts == []


def test_counts_with_a_newer_line_are_not_used_by_an_older_snapshot(filled: Database, full_counts: list[str]) -> None:
    before = count(filled)
    with filled.reading() as older, ThreadPoolExecutor(1) as pool:
        pool.submit(insert, filled).result(10)
        newer = pool.submit(count, filled).result(10)
        full_counts.clear()
        assert counted(older) == before
        assert full_counts == ["read_points", "count_all"]

    assert newer == (before[0] + 1, before[1] + 1)
    assert count(filled) == newer


def test_counts_of_a_rolled_back_write_are_no_base(filled: Database) -> None:
    """The next change gets the same audit line."""
    before = count(filled)
    with filled.writing() as transaction:
        transaction.run(INSERT)
        transaction.run(INSERT)
        assert counted(transaction) == (before[0] + 2, before[1] + 2)
        transaction.roll_back_at_end()
    with filled.writing() as transaction:
        transaction.run(INSERT)
        transaction.run("UPDATE inspections SET notes = 'seen' WHERE id = 1")

    assert count(filled) == (before[0] + 1, before[1] + 1)


def test_a_cached_dashboard_has_the_moment_of_its_transaction(filled: Database) -> None:
    dashboards: list[Dashboard] = []
    for _ in range(2):
        with filled.reading() as transaction:
            transaction.began += len(dashboards)
            dashboards.append(read_dashboard(transaction, EVERYTHING))

    first, second = dashboards
    assert first.generated_at < second.generated_at
    assert replace(second, generated_at=first.generated_at) == first
