"""The benchmark's dataset, requests, comparisons and reports."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from bench import compare, report
from bench.databases import Databases
from bench.dataset import COLUMNS, STATUSES, choose_callers, generate
from bench.http_client import HttpAnswer, HttpCall
from bench.load import Sample, write_calls
from bench.measure import Measurement
from bench.requests import BULK_ROWS, GROWING, LISTS_DURING_WRITES, READS, SLOW, WRITES

pytestmark = pytest.mark.slow

REPLAY = Path(__file__).resolve().parents[2] / "bench" / "replay.lua"
EVERY_REQUEST = (*GROWING, *LISTS_DURING_WRITES, *WRITES, SLOW)
INSPECTIONS = 10_000


@pytest.fixture(scope="module")
def dataset():
    return generate(INSPECTIONS)


@pytest.fixture(scope="module")
def callers(dataset):
    return choose_callers(dataset)


def test_equal_sizes_generate_equal_rows(dataset):
    again = generate(INSPECTIONS)

    assert again == dataset
    assert all(list(again.rows(table)) == list(dataset.rows(table)) for table in COLUMNS)


@pytest.mark.parametrize("table", COLUMNS)
def test_rows_have_their_columns(dataset, table):
    assert {len(row) for row in dataset.rows(table)} == {len(COLUMNS[table])}


def test_foreign_keys_have_their_rows(dataset):
    ids = {table: {row[0] for row in dataset.rows(table)} for table in COLUMNS}

    assert {row[1] for row in dataset.rows("inspections")} <= ids["buildings"]
    assert {row[5] for row in dataset.rows("inspections")} - {None} <= ids["inspectors"]
    assert {row[1] for row in dataset.rows("reports_lead")} <= ids["inspections"]
    assert {row[6] for row in dataset.rows("buildings")} == ids["clients"]
    assert {row[1] for row in dataset.rows("client_manager_inspection_access")} <= ids["inspections"]


def test_dataset_has_its_numbers_of_users_and_readings(dataset):
    roles = Counter(user.role for user in dataset.users)
    statuses = Counter(row[4] for row in dataset.rows("inspections"))
    readings = sum(1 for _ in dataset.rows("reports_lead"))

    assert roles == {"super_admin": 1, "client_admin": 20, "client_manager": 200}
    assert set(statuses) == set(STATUSES)
    assert 0.4 * INSPECTIONS < readings < 0.9 * INSPECTIONS


def test_managers_are_granted_buildings_of_their_client_only(dataset):
    clients = {user.id: user.client_id for user in dataset.users}

    for manager, buildings in dataset.grants.items():
        assert {dataset.owners[building - 1] for building in buildings} == {clients[manager]}


def test_callers_can_read_their_inspections(dataset, callers):
    buildings = {row[0]: row[1] for row in dataset.rows("inspections")}

    for caller in (caller for found in callers.by_role.values() for caller in found):
        assert {buildings[inspection] for inspection in caller.inspections} <= set(caller.buildings)


def test_request_keys_are_unique():
    assert max(Counter(request.key for request in EVERY_REQUEST).values()) == 1


@pytest.mark.parametrize("request_", EVERY_REQUEST, ids=lambda request: request.key)
def test_calls_are_deterministic_and_fit_the_file_of_calls(request_, callers):
    calls = request_.calls(callers)

    assert calls == request_.calls(callers)
    assert all(call.path.startswith("/") and " " not in call.path for call in calls)
    assert all("\t" not in call.path + call.prefer + call.body for call in calls)


@pytest.mark.parametrize("request_", [*READS, *WRITES], ids=lambda request: request.key)
def test_calls_vary(request_, callers):
    calls = request_.calls(callers)
    distinct = {(call.caller.user.id, call.path, call.body) for call in calls}

    assert len(distinct) >= (1 if "dashboard, super" in request_.title else 5)


def test_bulk_bodies_are_within_the_limits(callers):
    bodies = [WRITES[-1].rows_to_patch(callers).body] + [
        call.body for request in WRITES for call in request.calls(callers) if "1,000" in request.title
    ]

    assert all(len(json.loads(body)) == BULK_ROWS and len(body) < 2**20 for body in bodies)


def test_ordered_requests_have_a_limit(callers):
    for request in READS:
        query = parse_qs(urlsplit(request.calls(callers)[0].path).query)
        assert "limit" in query or "order" not in query


class Scripted:
    """A server that gives a list of answers, one a call."""

    def __init__(self, name: str, *answers: HttpAnswer) -> None:
        self.name = name
        self.answers = list(answers)

    def send(self, call: HttpCall) -> HttpAnswer:
        return self.answers.pop(0)


FAILURE, SUCCESS = HttpAnswer(500, "", b"{}"), HttpAnswer(200, "0-0/*", b'[{"id": 1}]')


def test_comparison_repeats_calls_that_fail_at_first(callers):
    first = Scripted("first", *[SUCCESS] * 100)

    late = Scripted("late", FAILURE, *[SUCCESS] * 50)
    compare.require_equal_answers(READS[0], callers, [first, late])

    failing = Scripted("failing", *[FAILURE] * 500)
    with pytest.raises(compare.Difference):
        compare.require_equal_answers(READS[0], callers, [first, failing])


def test_other_rows_are_a_difference(callers):
    other = Scripted("other", HttpAnswer(200, "0-0/*", b'[{"id": 2}]'))

    with pytest.raises(compare.Difference, match="first"):
        compare.require_equal_answers(READS[0], callers, [Scripted("first", SUCCESS), other])


def test_eight_writers_write_for_eight_clients_or_for_one(callers):
    clients = {
        request.name: {call.caller.user.client_id for call in request.calls(callers)[:8]}
        for request in WRITES
        if "8 writers" in request.name
    }

    assert {name: len(found) for name, found in clients.items()} == {
        "insert one, 8 writers of one client": 1, "insert one, 8 writers of eight clients": 8,
        "change one status, 8 writers of one client": 1, "change one status, 8 writers of eight clients": 8,
    }  # fmt: skip


def test_every_change_is_of_a_row_of_its_sender(callers, dataset):
    for request in WRITES:
        rows = json.loads(request.rows_to_patch(callers).body)
        owners = {row["id"]: dataset.owners[row["building_id"] - 1] for row in rows}
        for call in request.calls(callers):
            if call.method == "PATCH":
                assert owners[int(call.path.partition("id=eq.")[2])] == call.caller.user.client_id


def test_file_of_calls_has_five_fields_a_line(callers, tmp_path):
    path = tmp_path / "calls"
    calls = [call for request in EVERY_REQUEST for call in request.calls(callers)[:3]]

    write_calls(path, calls)

    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(calls)
    assert {line.count("\t") for line in lines} == {4}


@pytest.mark.skipif(shutil.which("luajit") is None, reason="luajit is not installed")
def test_replay_script_is_valid_lua():
    subprocess.run(["luajit", "-bl", str(REPLAY)], check=True, capture_output=True)


def test_ratio_is_the_median_of_the_rounds_ratios():
    rates = {"one": (100.0, 300.0, 90.0), "two": (50.0, 100.0, 90.0)}
    samples = {name: [Sample(rate, 1, 2) for rate in found] for name, found in rates.items()}

    assert Measurement(READS[0], samples).ratio("one", "two") == 2
    assert Measurement(READS[0], samples).ratio("one", "three") is None


def test_ratios_and_limits_are_compared_with_their_floors():
    assert report.at_least("a", 1_000, "file", 1.9, 2) == [("a", "1,000", "file", "1.90 ×", "≥ 2 ×", "within 5 %")]
    assert report.at_least("a", 1_000, "file", None, 2) == report.at_least("a", 1_000, "file", 1.9, None) == []
    assert report.at_most("b", 1_000, 90, 60, "ms") == ("b", "1,000", "file", "90.00 ms", "≤ 60 ms", "short")


def test_renewed_databases_are_copies_of_the_loaded_ones(callers, tmp_path):
    class RecordingPsql:
        def __init__(self) -> None:
            self.clones: list[tuple[str, str]] = []

        def clone(self, original: str, name: str) -> None:
            self.clones.append((original, name))

        def run(self, database: str, sql: str) -> str:
            assert (database, sql) == ("shared_1", "\\i shared_tables.pg.sql")
            return ""

    psql, databases = RecordingPsql(), Databases(1, tmp_path / "walkthrough.db", callers)
    databases.loaded_file.write_bytes(b"loaded")
    databases.loaded_file.chmod(0o600)
    databases.file.write_bytes(b"changed")
    log = tmp_path / "walkthrough.db-wal"
    log.write_bytes(b"log")

    databases.renew(psql)

    assert (databases.file.read_bytes(), databases.file.stat().st_mode & 0o777) == (b"loaded", 0o600)
    assert not log.exists()
    assert psql.clones == [
        ("walkthrough_1_loaded", "walkthrough_1"), ("postgrest_1_loaded", "postgrest_1"),
        ("walkthrough_1_loaded", "shared_1"),
    ]  # fmt: skip
