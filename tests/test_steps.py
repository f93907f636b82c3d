"""A guard on cost that no machine's speed can hide: steps of SQLite's engine, and statements a request.

The same requests run over a small portfolio and over one eight times as large, of which the callers'
own part is as large as before: other clients have grown. A list that begins to walk through rows that
are not the caller's takes eight times the steps, whatever the clock says.
"""
# ruff: noqa: N802  (a test of the attack catalogue carries its number as it is written there)

from __future__ import annotations

import json
import re
import sys
from contextlib import closing
from pathlib import Path

import pytest
from flask import Flask

from access.caller import Role
from access.session import look_up
from access.token import Claims
from models.db import Database
from models.sql import sqlite
from models.sql.catalog import catalog
from models.sql.sqlite import Connection
from models.transaction import Transaction
from models.upkeep import SCHEMA
from tests.applications import import_rows
from tests.applications import open_app
from tests.conftest import ADA
from tests.conftest import DATASET
from tests.conftest import MOE
from tests.conftest import ROOT
from tests.tokens import ANON_KEY
from tests.tokens import token_for

pytestmark = pytest.mark.sqlite("counts the steps of SQLite's engine")

OTHERS = 8  # times as many buildings and inspections of other clients
STEPS_GROWTH_MAX = 1.25
STEPS_BETWEEN_LOOKS = 10
NOW = "2025-01-01T00:00:00+00:00"
CLAIMS = Claims(ADA, Role.CLIENT_ADMIN, 1, 2**31, None, 2**32, None)
STATUSES = ("completed", "completed", "completed", "scheduled", "failed")

with closing(sqlite.driver.connect(":memory:")) as _connection:
    CAN_SAMPLE = ("ENABLE_STAT4",) in _connection.execute("PRAGMA compile_options").fetchall()
CAN_SWITCH = not sqlite.driver.__name__.startswith("sqlite3") or sys.version_info >= (3, 12)

WHO = {
    "root": token_for(ROOT, "super_admin", None),
    "ada": token_for(ADA, "client_admin", 1),
    "moe": token_for(MOE, "client_manager", 1),
}

LISTS = {
    "point": "/inspections?id=eq.7",
    "newest": "/inspections?order=date_visited.desc&limit=20",
    "newest-of-a-status": "/inspections?select=*,buildings(name)&status=eq.completed"
    "&order=date_visited.desc&limit=20",
    "newest-of-a-rare-status": "/inspections?status=eq.failed&order=date_visited.desc&limit=20",
    "embeds": "/inspections?select=*,buildings(*),inspectors(*),reports_lead(*)"
    "&order=date_visited.desc&limit=20",
    "unordered": "/inspections?limit=20",
    "of-a-building": "/inspections?building_id=eq.1&order=date_visited.desc&limit=20",
    "buildings-of-a-city": "/buildings?city=eq.Troy&order=name&limit=20",
    "readings-of-an-inspection": "/reports_lead?inspection_id=eq.2",
    "managers-grants": "/client_manager_building_access?limit=20",
}


def portfolio(others: int) -> dict[str, list[dict]]:
    """Client 1 with four buildings and 80 inspections, and other clients with so many times more."""
    buildings, inspections, readings = [], [], []
    for number in range(1, 5 * others + 5):
        client = 1 if number <= 4 else 2 + number % 3
        buildings.append({"id": number, "name": f"B{number}", "client_id": client,
                          "city": "Troy" if number % 5 == 1 else f"City {number}"})  # fmt: skip
        for visit in range(20):
            identity = len(inspections) + 1
            inspections.append({
                "id": identity, "building_id": number, "inspection_type": "annual",
                "date_visited": f"20{20 + visit % 5}-{1 + visit % 12:02}-{1 + number % 28:02}",
                "status": STATUSES[(visit + number) % 5], "inspector_id": 1 + number % 3,
            })  # fmt: skip
            readings.append({"inspection_id": identity, "gun_id": 1, "result": "negative"})
    return {
        "clients": [{"id": number, "name": f"C{number}"} for number in (1, 2, 3, 4)],
        "users": [
            {"id": ROOT, "email": "root@x", "name": "Root", "role": "super_admin"},
            {"id": ADA, "email": "ada@x", "name": "Ada", "role": "client_admin", "client_id": 1},
            {"id": MOE, "email": "moe@x", "name": "Moe", "role": "client_manager", "client_id": 1},
        ],
        "inspectors": [{"id": number, "name": f"I{number}"} for number in (1, 2, 3)],
        "buildings": buildings,
        "inspections": inspections,
        "reports_lead": readings,
        "client_manager_building_access": [
            {"manager_id": MOE, "building_id": number} for number in (1, 2)
        ],
        "client_manager_inspection_access": [{"manager_id": MOE, "inspection_id": 70}],
    }  # fmt: skip


@pytest.fixture(scope="module")
def apps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Flask]:
    made = {}
    for name, others in (("small", 20), ("large", 20 * OTHERS)):
        folder: Path = tmp_path_factory.mktemp(name)
        source = folder / "portfolio.json"
        source.write_text(json.dumps(portfolio(others)))
        made[name] = open_app(folder / "walkthrough.db")
        import_rows(made[name], source)
        with (
            made[name].app_context(),
            made[name].extensions["walkthrough"].writing() as transaction,
        ):
            transaction.run("ANALYZE")
    return made


class Steps:
    """What a connection does between two moments, in steps of its engine."""

    def __init__(self) -> None:
        self.count = 0

    def look(self) -> int:
        self.count += STEPS_BETWEEN_LOOKS
        return 0

    def begin(self, connection: Connection) -> None:
        connection.driver_connection.set_progress_handler(self.look, STEPS_BETWEEN_LOOKS)

    def end(self, connection: Connection) -> None:
        connection.driver_connection.set_progress_handler(None, 0)


def steps(
    app: Flask,
    who: str,
    path: str,
    preference: str = "",
    *,
    counts_anew: bool = False,
    posted: tuple[str, object] | None = None,
) -> int:
    """What a request costs SQLite, in steps of its engine; asked once before, so that plans are made, and what was
    counted is known, unless that is to be forgotten, or rows were `posted` since: to a path, by whoever sees all."""
    client = app.test_client()
    headers = {"apikey": ANON_KEY, "Authorization": f"Bearer {WHO[who]}", "Prefer": preference}
    database: Database = app.extensions["walkthrough"]
    assert client.get(path, headers=headers).status_code in (200, 206)
    if counts_anew:
        database.remembered.results.clear()
    if posted is not None:
        by_root = {"apikey": ANON_KEY, "Authorization": f"Bearer {WHO['root']}"}
        assert client.post(posted[0], json=posted[1], headers=by_root).status_code == 201
    counted = Steps()
    with database.connections.checked_out(database.reader) as connection:
        counted.begin(connection)
    client.get(path, headers=headers)
    with database.connections.checked_out(database.reader) as connection:
        counted.end(connection)
    return counted.count


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("path", LISTS.values(), ids=LISTS)
def test_a_list_costs_the_same_however_large_the_others_grow(
    apps: dict[str, Flask], who: str, path: str
) -> None:
    small, large = (steps(apps[size], who, path) for size in ("small", "large"))

    assert small > 0
    assert large <= small * STEPS_GROWTH_MAX + 200


@pytest.mark.parametrize("preference", ["", "count=exact"])
@pytest.mark.parametrize(
    "filters", ["status=eq.{}", "date_visited=eq.{}", "status=eq.{}&date_visited=eq.{}"]
)
def test_a_manager_s_list_looks_at_no_rows_of_another_status_or_day(
    apps: dict[str, Flask], filters: str, preference: str
) -> None:
    """What is granted is looked through by what is asked of it, where an index knows."""
    absent = "/inspections?" + filters.format("2001-01-01", "2001-01-01")
    looked_through = "/inspections?notes=eq.2001-01-01"

    counted, control = (
        steps(apps["small"], "moe", path, preference, counts_anew=True)
        for path in (absent, looked_through)
    )

    assert 0 < counted < control / 2


def visited(visits: int) -> dict[str, list[dict]]:
    """Ten buildings, all of them granted to moe, each inspected so often."""
    rows = portfolio(0)
    numbers = range(1, 11)
    return {
        **rows,
        "buildings": [{"id": each, "name": f"B{each}", "client_id": 1} for each in numbers],
        "inspections": [
            {
                "building_id": number, "inspection_type": "annual", "status": "completed",
                "date_visited": f"20{visit // 336:02}-{visit // 28 % 12 + 1:02}-{visit % 28 + 1:02}",
            }
            for number in numbers for visit in range(visits)
        ],
        "reports_lead": [],
        "client_manager_building_access": [
            {"manager_id": MOE, "building_id": number} for number in numbers
        ],
    }  # fmt: skip


@pytest.mark.parametrize("granted_alone", [False, True], ids=["one-kind-of-grants", "both-kinds"])
@pytest.mark.parametrize("filters", ["", "&status=eq.completed"])
def test_a_manager_s_page_looks_no_deeper_into_each_building_than_it_shows(
    tmp_path: Path, filters: str, granted_alone: bool
) -> None:
    counted = []
    for visits in (50, 1_000):
        rows = visited(visits)
        grants = [{"manager_id": MOE, "inspection_id": 7}] if granted_alone else []
        rows["client_manager_inspection_access"] = grants
        source = tmp_path / f"{visits}.json"
        source.write_text(json.dumps(rows))
        app = open_app(tmp_path / f"{visits}.db")
        import_rows(app, source)
        path = f"/inspections?order=date_visited.desc&limit=5{filters}"
        counted.append(steps(app, "moe", path))

    assert 0 < counted[1] <= counted[0] * STEPS_GROWTH_MAX + 200


def test_what_planners_take_for_indexed_is() -> None:
    with closing(sqlite.driver.connect(":memory:")) as connection:
        connection.executescript(SCHEMA.read_text(encoding="utf-8"))
        for name, relation in catalog().relations.items():
            indexes = [row[1] for row in connection.execute(f"PRAGMA index_list({name})")]
            beginnings = {
                tuple(row[2] for row in connection.execute(f"PRAGMA index_info({index})"))[:2]
                for index in indexes
            }
            wanted = {
                (key, column)
                for key, columns in relation.model.indexed_within.items()
                for column in columns
            }
            assert wanted <= beginnings, name


COSTLY = {
    "unindexed": "/inspections?notes=like.*a*&limit=20",
    "deep": "/inspections?inspection_type=ilike.*a*&select=*,buildings(*,inspections(*))&limit=5",
    "through-an-embed": "/inspections?select=id,buildings(id)&buildings.name=like.*7*&buildings=not.is.null&limit=20",
    "past-the-end": "/inspections?offset=1000000&limit=1",
}


@pytest.mark.parametrize("who", ["ada", "moe"])
@pytest.mark.parametrize("path", COSTLY.values(), ids=COSTLY)
def test_O15_what_is_hidden_decides_no_time_out(
    apps: dict[str, Flask], who: str, path: str
) -> None:
    """Attack catalogue, O15: a time-out tells nothing of rows that the caller does not see."""
    small, large = (steps(apps[size], who, path) for size in ("small", "large"))

    assert small > 0
    assert large <= small * STEPS_GROWTH_MAX + 200


FUNCTIONS = ("get_inspections_dashboard_summary_fast", "get_building_stats_chart_fast")


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_fast_function_costs_the_same_once_it_is_known(
    apps: dict[str, Flask], who: str, function: str
) -> None:
    small, large = (steps(apps[size], who, f"/rpc/{function}") for size in ("small", "large"))

    # A look more or less at each of its few statements is no growth.
    assert large <= small * STEPS_GROWTH_MAX + 100


def test_a_dashboard_costs_what_has_changed_since(apps: dict[str, Flask]) -> None:
    """And not what there is: the first answer after a change of any row (decision 0154)."""
    counted = []
    for app in apps.values():
        row = {"building_id": 1, "inspection_type": "fire", "status": "scheduled"}
        counted.append(steps(app, "root", f"/rpc/{FUNCTIONS[0]}", posted=("/inspections", row)))

    assert 0 < counted[1] <= counted[0] * STEPS_GROWTH_MAX + 200


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_others_changed_costs_a_follower_nothing(
    apps: dict[str, Flask], function: str
) -> None:
    """How long an answer took is not to tell how much other clients have written since the last."""
    app, row = (
        apps["small"],
        {"building_id": 6, "inspection_type": "fire", "date_visited": NOW[:10]},
    )

    def after(count: int) -> int:
        return steps(app, "ada", f"/rpc/{function}", posted=("/inspections", [row] * count))

    after(200)
    with app.app_context(), app.extensions["walkthrough"].writing() as transaction:
        transaction.run("ANALYZE")  # of a trail that has lines
    app.extensions["walkthrough"].close()
    few, many = after(1), after(200)

    assert 0 < many <= few + 100


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("path", LISTS.values(), ids=LISTS)
def test_a_list_with_its_count_costs_the_same_once_it_is_known(
    apps: dict[str, Flask], who: str, path: str
) -> None:
    """Its later pages, and as often as it is asked for: however many there are."""
    small, large = (steps(apps[size], who, path, "count=exact") for size in ("small", "large"))

    assert large <= small * STEPS_GROWTH_MAX + 200


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that is run, in order."""
    run: list[str] = []
    original = Transaction.run

    def noting(self: Transaction, sql: str, parameters: object = ()) -> object:
        run.append(sql)
        return original(self, sql, parameters)

    monkeypatch.setattr(Transaction, "run", noting)
    return run


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("path", LISTS.values(), ids=LISTS)
def test_a_list_is_one_look_up_and_one_select(
    apps: dict[str, Flask], statements: list[str], who: str, path: str
) -> None:
    headers = {"apikey": ANON_KEY, "Authorization": f"Bearer {WHO[who]}"}

    apps["small"].extensions["walkthrough"].close()  # a fresh connection remembers nothing
    for _ in range(2):
        apps["small"].test_client().get(path, headers=headers)

    kinds = [sql.split()[0] for sql in statements]
    assert kinds == ["BEGIN", "PRAGMA", "SELECT", "SELECT", "BEGIN", "PRAGMA", "SELECT"]


def preparations(app: Flask, who: str, paths: list[str]) -> list[int]:
    """How many things SQLite asks leave for while it prepares statements, request by request: 0 where it has them."""
    client = app.test_client()
    headers = {"apikey": ANON_KEY, "Authorization": f"Bearer {WHO[who]}"}
    database: Database = app.extensions["walkthrough"]
    asked: list[str] = []

    def permit(*what: object) -> int:
        asked.append(repr(what))
        return sqlite.driver.SQLITE_OK

    def count(path: str) -> int:
        asked.clear()
        assert client.get(path, headers=headers).status_code == 200
        return len(asked)

    with database.connections.checked_out(database.reader) as connection:
        connection.driver_connection.set_authorizer(permit)
    counted = [count(path) for path in paths]
    database.close()
    return counted


@pytest.mark.skipif(not CAN_SAMPLE, reason="this SQLite keeps no samples of its tables")
@pytest.mark.skipif(not CAN_SWITCH, reason="this driver does not let it be switched")
@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("path", LISTS.values(), ids=LISTS)
def test_a_statement_is_prepared_once_whatever_its_values(
    apps: dict[str, Flask], who: str, path: str
) -> None:
    """With samples of the tables at hand SQLite would plan for each value, which costs more than a point read."""
    other = re.sub(r"eq\.\w+", "eq.3", path)
    samples = samples_of(apps["large"], "inspections")

    first, *later = preparations(apps["large"], who, [path, path, other, path])

    assert samples > 0
    assert first > 0
    assert later == [0, 0, 0]


def test_a_row_by_its_key_costs_the_same_however_much_is_granted(tmp_path: Path) -> None:
    counted = []
    for name, granted in (("few", 1), ("many", 400)):
        rows = portfolio(20)
        rows["client_manager_inspection_access"] = [
            {"manager_id": MOE, "inspection_id": number} for number in range(81, 81 + granted)
        ]
        source = tmp_path / f"{name}.json"
        source.write_text(json.dumps(rows))
        app = open_app(tmp_path / f"{name}.db")
        import_rows(app, source)
        counted.append(steps(app, "moe", "/inspections?id=eq.81"))

    assert 0 < counted[1] <= counted[0] * STEPS_GROWTH_MAX


def test_a_look_up_costs_the_same_however_many_buildings_are_granted(
    apps: dict[str, Flask],
) -> None:
    """To whom buildings of another client are granted is found by the grants, not by the buildings."""
    counted = {}
    for size in ("small", "large"):
        database: Database = apps[size].extensions["walkthrough"]
        with apps[size].app_context(), database.writing() as transaction:
            transaction.roll_back_at_end()
            transaction.run(
                "INSERT INTO client_admin_building_access (admin_id, building_id, assigned_at)"
                " SELECT ?, id, 0 FROM buildings WHERE client_id = 1",
                (ADA,),
            )
            transaction.run("ANALYZE")
            look_up(transaction, CLAIMS)
            counted[size] = Steps()
            counted[size].begin(transaction.connection)
            look_up(transaction, CLAIMS)
            counted[size].end(transaction.connection)

    assert 0 < counted["large"].count <= counted["small"].count * STEPS_GROWTH_MAX


def test_many_rows_are_one_statement(tmp_path: Path) -> None:
    app = open_app(tmp_path / "walkthrough.db")
    import_rows(app, DATASET)
    database: Database = app.extensions["walkthrough"]
    headers = {"apikey": ANON_KEY, "Authorization": f"Bearer {WHO['root']}"}
    rows = [{"name": f"Inspector {number}"} for number in range(237)]
    said: list[str] = []
    with database.connections.checked_out(database.writer) as connection:
        connection.driver_connection.set_trace_callback(said.append)

    answer = app.test_client().post(
        "/inspectors?select=id,name",
        headers={**headers, "Prefer": "return=representation"},
        json=rows,
    )

    assert [row["name"] for row in answer.json] == [row["name"] for row in rows]
    assert len({row["id"] for row in answer.json}) == 237
    inserts = {text for text in said if text.startswith("INSERT INTO inspectors")}
    assert len(inserts) == 1


def test_a_guard_that_cannot_fail_is_none(apps: dict[str, Flask]) -> None:
    """The control: a count of everything does grow, and the guard would say so."""
    path = "/inspections?notes=is.null&select=count()"

    small, large = (steps(apps[size], "root", path) for size in ("small", "large"))

    assert large > small * STEPS_GROWTH_MAX + 200


def samples_of(app: Flask, table: str) -> int:
    """How many rows of a table's indexes SQLite has kept as samples."""
    with app.app_context(), app.extensions["walkthrough"].reading() as transaction:
        found: int = transaction.value("SELECT count(*) FROM sqlite_stat4 WHERE tbl = ?", (table,))
        return found


def counted_rows(app: Flask, table: str) -> int:
    """What the connection that reads next knows of a table's size; 0 if it knows nothing of it."""
    with app.app_context(), app.extensions["walkthrough"].reading() as transaction:
        if not transaction.value("SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'"):
            return 0
        found = transaction.value("SELECT max(stat) FROM sqlite_stat1 WHERE tbl = ?", (table,))
        return int(found.split()[0]) if found else 0


@pytest.mark.parametrize(("seconds_max", "is_counted"), [(0, True), (3_600, False)])
def test_a_file_that_grew_is_counted_anew_by_a_fresh_connection(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seconds_max: int, is_counted: bool
) -> None:
    monkeypatch.setattr("models.connections.CONNECTION_SECONDS_MAX", seconds_max)
    app = open_app(tmp_path / "walkthrough.db")
    source = tmp_path / "portfolio.json"
    source.write_text(json.dumps(portfolio(5)))
    import_rows(app, source)

    assert app.extensions["walkthrough"].is_writable()

    assert (counted_rows(app, "inspections") > 100) is is_counted
