"""The benchmark's dataset, requests, dialects and reports."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from bench import compare, floors, report
from bench.callers import Callers, choose_callers, load_callers, save_callers
from bench.databases import Databases, loaded
from bench.dataset import COLUMNS, STATUSES, generate
from bench.dialect import Dialect, HttpAnswer
from bench.load_generator import RequestsFailed, Sample, write_calls
from bench.measure import Measurement, Measurer, Rounds, Target
from bench.requests import BULK_ROWS, FULL_PAGE, READS, SLOW, WRITES, HttpCall, rows_to_patch
from bench.servers import Server
from bench.shared_tables import WithClientIds

REPLAY = Path(__file__).resolve().parents[2] / "bench" / "replay.lua"
EVERY_REQUEST = (*READS, *WRITES, FULL_PAGE, SLOW)
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


def test_callers_survive_saving_and_loading(callers, tmp_path):
    save_callers(callers, tmp_path / "callers.json")

    assert load_callers(tmp_path / "callers.json") == callers


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
    bodies = [rows_to_patch(callers).body] + [
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


def test_comparison_repeats_calls_that_fail_at_first(callers):
    failure, success = HttpAnswer(500, "", b"{}"), HttpAnswer(200, "0-0/*", b'[{"id": 1}]')
    first = Scripted("first", *[success] * 100)

    late = Scripted("late", failure, *[success] * 50)
    compare.require_equal_answers(READS[0], callers, first, late)

    failing = Scripted("failing", *[failure] * 500)
    with pytest.raises(compare.Difference):
        compare.require_equal_answers(READS[0], callers, first, failing)


@pytest.mark.parametrize("request_", WRITES, ids=lambda request: request.key)
def test_writes_to_shared_tables_only_add_the_client(request_, callers, dataset):
    dialect = WithClientIds(callers)

    for call in [*request_.calls(callers)[:20], rows_to_patch(callers)]:
        translated = dialect.translate(call)
        if call.method == "PATCH":
            assert translated == call
            continue
        rows, given = (rows_of(each.body) for each in (translated, call))
        owners = [row.pop("client_id") for row in rows]
        assert rows == given
        assert replace(translated, body=call.body) == call
        assert owners == [dataset.owners[row["building_id"] - 1] for row in given]


def rows_of(body):
    found = json.loads(body)
    return found if isinstance(found, list) else [found]


def test_file_of_calls_has_five_fields_a_line(callers, tmp_path):
    path = tmp_path / "calls"
    calls = [call for request in EVERY_REQUEST for call in request.calls(callers)[:3]]

    write_calls(path, calls, Dialect())

    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(calls)
    assert {line.count("\t") for line in lines} == {4}


@pytest.mark.skipif(shutil.which("luajit") is None, reason="luajit is not installed")
def test_replay_script_is_valid_lua():
    subprocess.run(["luajit", "-bl", str(REPLAY)], check=True, capture_output=True)


def test_partial_run_replaces_its_tables_only(tmp_path):
    path = tmp_path / "RESULTS.md"
    report.write(path, "full\n\n## A\n\n1\n\n## B\n\n2")
    report.write(path, "part\n\n## B\n\n3", partial=True)

    assert path.read_text() == f"{report.INTRODUCTION}\nfull\n\n## A\n\n1\n\n## B\n\npart\n\n3\n"


# ── floors ───────────────────────────────────────────────────────────────────────────────────────────────


def measured(name: str, role: str, **per_second: float) -> Measurement:
    request = next(each for each in (*READS, *WRITES) if (each.name, each.role) == (name, role))
    samples = {target.replace("_", "-"): [Sample(rate, 1.0, 12.0)] for target, rate in per_second.items()}
    return Measurement(request, samples)


def test_every_floor_is_of_a_request():
    names = {request.name for request in (*READS, *WRITES)}

    assert {floor.name for floor in floors.FLOORS} <= names


def test_floors_without_figures_have_no_row():
    assert floors.rows(floors.RunFigures()) == []


def test_ratios_are_compared_with_their_floors():
    figures = floors.RunFigures()
    point = measured(
        "one inspection by id", "client_admin",
        walkthrough=190.0, walkthrough_postgresql=84.0, postgrest=100.0,
    )  # fmt: skip
    figures.add("reads", 100_000, [point])

    assert [row[1:] for row in floors.rows(figures)] == [
        ("100,000", "file", "1.90 ×", "≥ 1.9 ×", "met"),
        ("100,000", "PostgreSQL", "0.84 ×", "≥ 0.85 ×", "within 3 %"),
    ]


def test_limits_are_compared_with_their_floors():
    figures = floors.RunFigures(
        growth={"a": 0.9, "b": 0.5}, slow_queries={100_000: (2.0, 8.0)},
        worker_mb=81.0, start_seconds=0.5,
    )  # fmt: skip
    writer = measured("insert one, 1 writer", "client_admin", walkthrough=100.0)
    figures.add("writes", floors.WRITER_INSPECTIONS, [writer])

    assert [row[3:] for row in floors.rows(figures)] == [
        ("0.50 ×", "≥ 0.75 ×", "short"),
        ("4.00 ×", "≤ 5 ×", "met"),
        ("12.00 ×", "≤ 10 ×", "short"),
        ("81.00 MB", "≤ 80 MB", "within 3 %"),
        ("0.50 s", "≤ 0.6 s", "met"),
    ]


# ── inserted rows are deleted, databases restored ────────────────────────────────────────────────────────


class Rows:
    """A server with inserted rows, of which one statement can delete `limit`."""

    def __init__(self, callers: Callers, inserted: int, limit: int) -> None:
        self.ids = list(range(callers.inspection_count + 1, callers.inspection_count + 1 + inserted))
        self.limit = limit

    def send(self, port: int, call: HttpCall, dialect: Dialect) -> HttpAnswer:
        query = parse_qs(urlsplit(call.path).query)
        if call.method == "DELETE":
            bound = int(query["id"][1].removeprefix("lte."))
            if sum(each <= bound for each in self.ids) > self.limit:
                return HttpAnswer(500, None, b'{"code": "57014"}')
            self.ids = [each for each in self.ids if each > bound]
            return HttpAnswer(204, None, b"")
        found = self.ids[::-1] if query["order"] == ["id.desc"] else self.ids
        offset = int(query.get("offset", ["0"])[0])
        rows = [{"id": each} for each in found[offset : offset + 1]]
        return HttpAnswer(200, None, json.dumps(rows).encode())


@pytest.fixture
def measurer(tmp_path):
    return Measurer(tmp_path, Rounds(1, 1))


def test_inserted_rows_are_deleted_in_pieces_within_the_deadline(measurer, callers, monkeypatch):
    rows = Rows(callers, inserted=5_000, limit=600)
    monkeypatch.setattr("bench.measure.send", rows.send)

    measurer.delete_inserted([Target("one", Server("one", 0, 0), callers)])

    assert rows.ids == []


def test_failed_deletion_does_not_keep_other_targets_from_it(measurer, callers, monkeypatch):
    failing, other = Rows(callers, inserted=10, limit=0), Rows(callers, inserted=10, limit=10)
    targets = [Target(name, Server(name, port, 0), callers) for port, name in enumerate(("one", "two"))]
    monkeypatch.setattr("bench.measure.send", lambda port, *more: (failing, other)[port].send(port, *more))

    with pytest.raises(RequestsFailed):
        measurer.delete_inserted(targets)

    assert other.ids == []


def test_renewed_databases_are_copies_of_the_loaded_ones(callers, tmp_path):
    class RecordingPsql:
        def __init__(self) -> None:
            self.statements: list[str] = []

        def run(self, database: str, sql: str) -> str:
            assert database == "postgres"  # a connected database cannot be dropped
            self.statements.append(sql)
            return ""

    psql, file, home = RecordingPsql(), tmp_path / "walkthrough.db", tmp_path / "data"
    loaded(file).write_bytes(b"loaded")
    loaded(file).chmod(0o600)
    file.write_bytes(b"changed")
    log = tmp_path / "walkthrough.db-wal"
    log.write_bytes(b"log")
    loaded(home).mkdir()
    (loaded(home) / "data.db").write_bytes(b"loaded")
    home.mkdir()
    (home / "data.db-wal").write_bytes(b"log")

    Databases(1, file, "ours", "theirs", callers, home).renew(psql)

    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"loaded", 0o600)
    assert not log.exists()
    assert [path.name for path in home.iterdir()] == ["data.db"]
    assert [words.split()[:3] for words in psql.statements] == [
        ["drop", "database", "if"], ["create", "database", "ours"],
        ["drop", "database", "if"], ["create", "database", "theirs"],
    ]  # fmt: skip
    assert "template ours_loaded" in psql.statements[1]
    assert "template theirs_loaded" in psql.statements[3]
