"""What is measured: the rows are the same every time, and every request asks for many that its asker can see."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs
from urllib.parse import urlsplit

import pytest

from bench import cast as casting
from bench import compare
from bench.drive import Answer
from bench.drive import Tokens
from bench.drive import Unanswered
from bench.drive import write_calls
from bench.measure import Effort
from bench.measure import Measurer
from bench.measure import Side
from bench.portfolio import COLUMNS
from bench.portfolio import STATUSES
from bench.portfolio import compose
from bench.report import BEGIN
from bench.report import END
from bench.report import placed
from bench.requests import BULK_ROWS
from bench.requests import FLOOR
from bench.requests import FULL_PAGE
from bench.requests import READS
from bench.requests import WRITES
from bench.requests import Call
from bench.requests import rows_to_patch
from bench.same import with_owners
from bench.servers import Server
from bench.stores import Store
from bench.stores import loaded

REPLAY = Path(__file__).resolve().parent.parent / "bench" / "replay.lua"
EVERY_REQUEST = (*READS, *WRITES, FULL_PAGE, FLOOR)
INSPECTIONS = 10_000


@pytest.fixture(scope="module")
def portfolio():
    return compose(INSPECTIONS)


@pytest.fixture(scope="module")
def cast(portfolio):
    return casting.choose(portfolio)


def test_the_same_size_gives_the_same_rows(portfolio):
    again = compose(INSPECTIONS)

    assert again == portfolio
    assert all(list(again.rows(table)) == list(portfolio.rows(table)) for table in COLUMNS)


@pytest.mark.parametrize("table", COLUMNS)
def test_rows_have_their_columns(portfolio, table):
    assert {len(row) for row in portfolio.rows(table)} == {len(COLUMNS[table])}


def test_rows_point_at_rows_that_are_there(portfolio):
    ids = {table: {row[0] for row in portfolio.rows(table)} for table in COLUMNS}

    assert {row[1] for row in portfolio.rows("inspections")} <= ids["buildings"]
    assert {row[5] for row in portfolio.rows("inspections")} - {None} <= ids["inspectors"]
    assert {row[1] for row in portfolio.rows("reports_lead")} <= ids["inspections"]
    assert {row[6] for row in portfolio.rows("buildings")} == ids["clients"]
    assert {row[1] for row in portfolio.rows("client_manager_inspection_access")} <= ids[
        "inspections"
    ]


def test_the_numbers_are_those_that_are_told(portfolio):
    roles = Counter(person.role for person in portfolio.people)
    statuses = Counter(row[4] for row in portfolio.rows("inspections"))
    readings = sum(1 for _ in portfolio.rows("reports_lead"))

    assert roles == {"super_admin": 1, "client_admin": 20, "client_manager": 200}
    assert set(statuses) == set(STATUSES)
    assert 0.4 * INSPECTIONS < readings < 0.9 * INSPECTIONS


def test_managers_are_granted_buildings_of_their_client_only(portfolio):
    clients = {person.id: person.client_id for person in portfolio.people}

    for manager, buildings in portfolio.grants.items():
        assert {portfolio.owners[building - 1] for building in buildings} == {clients[manager]}


def test_the_cast_survives_its_file(cast, tmp_path):
    casting.keep(cast, tmp_path / "cast.json")

    assert casting.read(tmp_path / "cast.json") == cast


def test_askers_ask_for_what_they_can_see(portfolio, cast):
    buildings = {row[0]: row[1] for row in portfolio.rows("inspections")}

    for asker in (asker for askers in cast.askers.values() for asker in askers):
        assert {buildings[inspection] for inspection in asker.inspections} <= set(asker.buildings)


def test_every_request_has_a_name_of_its_own():
    assert max(Counter(request.key for request in EVERY_REQUEST).values()) == 1


@pytest.mark.parametrize("request_", EVERY_REQUEST, ids=lambda request: request.key)
def test_requests_are_the_same_every_time_and_fit_their_file(request_, cast):
    calls = request_.calls(cast)

    assert calls == request_.calls(cast)
    assert all(call.path.startswith("/") and " " not in call.path for call in calls)
    assert all("\t" not in call.path + call.prefer + call.body for call in calls)


@pytest.mark.parametrize("request_", [*READS, *WRITES], ids=lambda request: request.key)
def test_requests_vary(request_, cast):
    calls = request_.calls(cast)
    asked = {(call.asker.person.id, call.path, call.body) for call in calls}

    assert len(asked) >= (1 if "dashboard, super" in request_.title else 5)


def test_bulk_bodies_are_within_the_bounds(cast):
    bodies = [rows_to_patch(cast).body] + [
        call.body for request in WRITES for call in request.calls(cast) if "1,000" in request.title
    ]

    assert all(len(json.loads(body)) == BULK_ROWS and len(body) < 2**20 for body in bodies)


def test_every_order_can_be_decided(cast):
    for request in READS:
        query = parse_qs(urlsplit(request.calls(cast)[0].path).query)
        assert "limit" in query or "order" not in query


def test_who_answers_late_once_is_asked_again(cast, monkeypatch):
    """Only a difference that stays is one."""
    late, here = Answer(500, "", b"{}"), Answer(200, "0-0/*", b'[{"id": 1}]')
    given = {1: [here] * 50, 2: [late, *[here] * 50], 3: [late] * 500}
    monkeypatch.setattr(compare, "ask", lambda port, *_: given[port].pop(0))

    compare.require_same(READS[0], cast, 1, 2, Tokens())

    with pytest.raises(compare.Difference):
        compare.require_same(READS[0], cast, 1, 3, Tokens())


@pytest.mark.parametrize("request_", WRITES, ids=lambda request: request.key)
def test_on_our_tables_each_row_says_whose_it_is_and_nothing_else_differs(
    request_, cast, portfolio
):
    said = with_owners(cast)

    for call in [*request_.calls(cast)[:20], rows_to_patch(cast)]:
        put = said(call)
        if call.method == "PATCH":
            assert put == call
            continue
        rows, given = (rows_of(each.body) for each in (put, call))
        owners = [row.pop("client_id") for row in rows]
        assert rows == given
        assert replace(put, body=call.body) == call
        assert owners == [portfolio.owners[row["building_id"] - 1] for row in given]


def rows_of(body):
    found = json.loads(body)
    return found if isinstance(found, list) else [found]


def test_the_calls_file_has_five_fields_a_line(cast, tmp_path):
    path = tmp_path / "calls"
    calls = [call for request in EVERY_REQUEST for call in request.calls(cast)[:3]]

    write_calls(path, calls, Tokens())

    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(calls)
    assert {line.count("\t") for line in lines} == {4}


@pytest.mark.skipif(shutil.which("luajit") is None, reason="luajit is not installed")
def test_the_script_is_lua():
    subprocess.run(["luajit", "-bl", str(REPLAY)], check=True, capture_output=True)


def test_figures_take_the_place_of_older_ones():
    text = placed(placed("before\n", "old") + "after\n", "new")

    assert text == f"before\n\n{BEGIN}\n\nnew\n\n{END}\nafter\n"


# ── what was written is removed again ────────────────────────────────────────────────────────────────────


class Rows:
    """A side that has rows beyond its own, and time to delete so many at once."""

    def __init__(self, cast: casting.Cast, beyond: int, at_once: int) -> None:
        self.ids = list(range(cast.inspection_count + 1, cast.inspection_count + 1 + beyond))
        self.at_once = at_once

    def ask(self, port: int, call: Call, tokens: Tokens) -> Answer:
        asked = parse_qs(urlsplit(call.path).query)
        if call.method == "DELETE":
            bound = int(asked["id"][1].removeprefix("lte."))
            late = [each for each in self.ids if each <= bound]
            if len(late) > self.at_once:
                return Answer(500, None, b'{"code": "57014"}')
            self.ids = [each for each in self.ids if each > bound]
            return Answer(204, None, b"")
        found = self.ids[::-1] if asked["order"] == ["id.desc"] else self.ids
        place = int(asked.get("offset", ["0"])[0])
        rows = [{"id": each} for each in found[place : place + 1]]
        return Answer(200, None, json.dumps(rows).encode())


@pytest.fixture
def measurer(tmp_path):
    return Measurer(tmp_path, Tokens(), Effort(1, 1))


def side_of(cast):
    return Side("ours", Server("ours", 0, 0), cast)


def test_what_was_written_is_removed_in_pieces_that_end_in_time(measurer, cast, monkeypatch):
    rows = Rows(cast, beyond=5_000, at_once=600)
    monkeypatch.setattr("bench.measure.ask", rows.ask)

    measurer.sweep([side_of(cast)])

    assert rows.ids == []


def test_where_one_side_cannot_be_swept_the_others_are(measurer, cast, monkeypatch):
    stuck, other = Rows(cast, beyond=10, at_once=0), Rows(cast, beyond=10, at_once=10)
    sides = [side_of(cast), Side("theirs", Server("theirs", 1, 0), cast)]
    monkeypatch.setattr(
        "bench.measure.ask", lambda port, *more: (stuck, other)[port].ask(port, *more)
    )

    with pytest.raises(Unanswered):
        measurer.sweep(sides)

    assert other.ids == []


def test_a_store_is_renewed_as_it_was_loaded(cast, tmp_path):
    class Said:
        def __init__(self) -> None:
            self.words: list[str] = []

        def run(self, database: str, sql: str) -> str:
            assert database == "postgres"  # nobody is connected to what is dropped
            self.words.append(sql)
            return ""

    psql, file = Said(), tmp_path / "walkthrough.db"
    loaded(file).write_bytes(b"as loaded")
    loaded(file).chmod(0o600)
    file.write_bytes(b"written to")
    log = tmp_path / "walkthrough.db-wal"
    log.write_bytes(b"of what was written")

    Store(1, file, "ours", "theirs", cast).renew(psql)

    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"as loaded", 0o600)
    assert not log.exists()
    assert [words.split()[:3] for words in psql.words] == [
        ["drop", "database", "if"], ["create", "database", "ours"],
        ["drop", "database", "if"], ["create", "database", "theirs"],
    ]  # fmt: skip
    assert "template ours_loaded" in psql.words[1]
    assert "template theirs_loaded" in psql.words[3]
