"""Every file has the same planner statistics, so that hidden rows do not affect a caller's lists."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from flask import Flask

from engine.maintenance.migrate import schema
from engine.maintenance.planner_stats import STORED_STATS, numbers, planner_stats
from engine.storage import sqlite
from engine.storage.database import SqliteDatabase
from models import Building, Inspection, User
from models.fields import Index, Model
from tests.support.applications import import_rows, open_app
from tests.support.costs import LISTS, TOKENS, portfolio
from tests.support.tokens import ANON_KEY

pytestmark = pytest.mark.sqlite("reads what SQLite keeps of its tables")

UNORDERED = {
    "few": "/inspections?select=id&limit=5",
    "of-a-status": "/inspections?select=id&status=eq.completed&limit=5",
    "of-an-inspector": "/inspections?select=id&inspector_id=eq.1&limit=5",
    "of-types": "/inspections?select=id&inspection_type=in.(annual,fire)&date_visited=gt.2020-04-01&limit=5",
    "buildings": "/buildings?select=id&limit=5",
    "groups": "/inspections?select=status,building_id,count()&limit=4",
    "groups-by-number": "/inspections?select=status,count()&order=count.desc&limit=2",
}


def opened(folder: Path, others: int) -> Flask:
    """Return an application whose other clients have this many rows."""
    folder.mkdir(exist_ok=True)
    source = folder / "portfolio.json"
    source.write_text(json.dumps(portfolio(others)))
    app = open_app(folder / "walkthrough.db")
    import_rows(app, source)
    return app


def kept(app: Flask) -> set[tuple]:
    database: SqliteDatabase = app.extensions["walkthrough"]
    with app.app_context(), database.reading() as transaction:
        return set(transaction.all(STORED_STATS))


def get(app: Flask, who: str, path: str) -> str:
    headers = {"apikey": ANON_KEY, "Authorization": f"Bearer {TOKENS[who]}"}
    answer = app.test_client().get(path, headers=headers)
    assert answer.status_code == 200
    return answer.get_data(as_text=True)


def test_every_index_of_a_resource_has_statistics() -> None:
    with closing(sqlite.driver.connect(":memory:")) as made:
        for statement in schema():
            made.execute(statement)
        tables = {table for table, _, _ in planner_stats()}
        indexes = {
            (table, name)
            for table in tables
            for (name,) in made.execute("SELECT name FROM pragma_index_list(?)", (table,))
        }
        keys = {
            (table, table)
            for table in tables
            if any(name == f"sqlite_autoindex_{table}_1" for owner, name in indexes if owner == table)
            and "WITHOUT ROWID" in made.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()[0]
        }

    of_keys = {f"sqlite_autoindex_{table}_1" for table, _ in keys}
    wanted = {pair for pair in indexes if pair[1] not in of_keys} | keys
    assert {(table, index) for table, index, _ in planner_stats() if index is not None} == wanted


@pytest.mark.parametrize(
    ("model", "index", "expected"),
    [
        (Building, Index("i", ("client_id",)), "10000 500"),
        (Building, Index("i", ("client_id", "city")), "10000 500 50"),
        (Building, Index("i", ("id", "client_id"), unique=True), "10000 1 1"),
        (Building, Index("i", ("client_id", "name"), unique=True), "10000 500 1"),
        (Inspection, Index("i", ("building_id", "status", "date_visited")), "1000000 100 10 1"),
        (Inspection, Index("i", ("lower(notes)",), expected_rows=50), "50 5"),
        (User, Index("i", ("client_id", "role"), distinct=(11, 6)), "220 11 6"),
    ],
)
def test_statistics_of_an_index_follow_from_its_columns(model: type[Model], index: Index, expected: str) -> None:
    assert numbers(model, index) == expected


def test_statistics_do_not_depend_on_the_rows(tmp_path: Path) -> None:
    app = opened(tmp_path / "full", 20)
    assert kept(app) == planner_stats()

    app.extensions["walkthrough"].close()  # the next read or write reopens it
    get(app, "ada", LISTS["newest"])
    assert app.extensions["walkthrough"].is_writable()

    assert kept(app) == planner_stats()


def test_a_start_replaces_the_statistics_of_analyze(tmp_path: Path) -> None:
    app = opened(tmp_path / "counted", 5)
    file = app.extensions["walkthrough"].path
    with closing(sqlite.driver.connect(str(file))) as other:
        other.execute("ANALYZE")
    assert kept(app) != planner_stats()

    again = open_app(file)

    assert kept(again) == planner_stats()
    assert kept(app) == planner_stats()


@pytest.mark.parametrize("who", ["ada", "moe"])
@pytest.mark.parametrize("path", UNORDERED.values(), ids=UNORDERED)
def test_hidden_rows_do_not_affect_the_order_of_a_list(tmp_path: Path, who: str, path: str) -> None:
    few, many = (opened(tmp_path / name, others) for name, others in (("few", 1), ("many", 60)))
    for app in (few, many):
        app.extensions["walkthrough"].close()
        assert app.extensions["walkthrough"].is_writable()

    assert get(few, who, path) == get(many, who, path)
