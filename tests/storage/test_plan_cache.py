"""Large statements fill no memory: their plans and results are not cached, and few of them stay prepared."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from engine.open import database
from engine.query.read.plan import plan_read
from engine.query.shape import LARGE_NAME_CHARACTERS, LARGE_SIZE
from engine.storage import sqlite
from routes.postgrest.querystring import parse
from tests.conftest import CAST, Api, Database
from tests.support import databases
from tests.support.applications import open_app


@pytest.fixture
def app(tmp_path: Path, base_file: Path) -> Flask:
    copy = tmp_path / "walkthrough.db"
    databases.copy(base_file, copy)
    return open_app(copy)


def ask(app: Flask, number: int, preference: str = "") -> None:
    """Send a request with a statement of its own, of some ten thousand characters."""
    columns = ",".join(f"a{number}_{each}:status" for each in range(30))
    embeds = ",".join(f"e{each}:inspections({columns})" for each in range(10))
    path = f"/buildings?select=id,{embeds}&id=eq.1"
    answer = Api(Database(lambda: app, None), CAST["ada"]).get(path, prefer=preference)
    assert answer.status == 200, answer.text


@pytest.mark.parametrize(
    ("query", "size"),
    [
        ("", 1),
        ("select=id,buildings(name,city)&limit=5", 4),
        ("select=id&status=eq.a&or=(id.eq.1,not.and(id.gt.2,id.lt.5))&order=id,status", 7),
        ("select=id,buildings(id)&buildings.name=eq.a&buildings.order=name", 5),
        ("select=...buildings(id,name)", 9),
        ("select=...buildings(*,...inspections(id))", 1 + 4 * (2 + 10 + 4)),
    ],
)
def test_size_of_a_shape(query: str, size: int) -> None:
    assert parse(query.encode()).shape.root.size == size


@pytest.mark.parametrize(
    ("query", "name_characters"),
    [
        ("", 1),
        ("select=id,b:buildings!fk(name::text,n:city)&limit=5", 27),
        ("select=id&after->>ab=eq.long&or=(id.eq.1,not.and(c->d.gt.2,id.lt.5))&order=e->f,g(h)", 19),
        ("select=id,buildings(x:id.sum()::int)&buildings.name=eq.a&buildings.order=name", 25),
    ],
)
def test_letters_of_a_shape_are_those_of_its_names(query: str, name_characters: int) -> None:
    assert parse(query.encode()).shape.root.name_characters == name_characters


@pytest.mark.parametrize(
    "query",
    [
        "select={}:id",
        "select=id,{}:buildings(id)",
        "select=id,buildings({}:name)",
        "after->>{}=eq.x",
        "or=(id.eq.1,after->{}.is.null)",
        "order=after->>{}",
    ],
)
def test_shape_with_long_names_is_large(query: str) -> None:
    """Its plans are not cached: two thousand of them would fill memory."""
    short, long = (parse(query.format("a" * count).encode()).shape for count in (1_000, 3_001))

    assert (short.is_large, long.is_large) == (False, True)


def test_large_plans_are_not_cached_and_ordinary_ones_stay(app: Flask) -> None:
    plan_read.cache_clear()
    Api(Database(lambda: app, None), CAST["ada"]).get("/buildings?select=id,name")
    before = plan_read.cache_info()

    for number in (1, 2, 2):
        ask(app, number)
    after = plan_read.cache_info()
    Api(Database(lambda: app, None), CAST["ada"]).get("/buildings?select=id,name")

    assert after == before
    assert plan_read.cache_info().hits == before.hits + 1


@pytest.mark.sqlite("a server's session prepares no large statements")
def test_connection_with_many_large_statements_is_replaced(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "LARGE_CHARACTERS_MAX", 50_000)

    def connection() -> Any:
        with app.app_context(), database().reading() as transaction:
            return transaction.connection

    first = weakref.ref(connection().driver_connection)
    ask(app, 0)
    stays = connection().driver_connection is first()
    for number in range(10):
        ask(app, number)
    changed = connection().driver_connection is not first()
    gc.collect()

    assert stays
    assert changed
    assert first() is None, "its prepared statements are still in memory"


@pytest.mark.sqlite("a server has no data version")
@pytest.mark.parametrize(("filters", "cached"), [(1, 2), (30, 0)])
def test_results_of_large_statements_are_not_cached(app: Flask, filters: int, cached: int) -> None:
    """The values are short, the statements are not. A small statement's list and count are cached."""
    given = "&".join(f"status=not.like(any).{{z{each}}}" for each in range(filters))
    path = f"/inspections?select=id&{given}&order=id&limit=1"
    cache = app.extensions["walkthrough"].cache

    answer = Api(Database(lambda: app, None), CAST["ada"]).get(path, prefer="count=exact")

    assert answer.status == 206, answer.text
    assert len([key for key in cache.entries if key[0] != "caller"]) == cached


def test_large_shape_is_far_larger_than_usual_requests() -> None:
    """Control: every column of four resources is an ordinary shape."""
    every = "select=*,buildings(*,clients(*)),inspectors(*),reports_lead(*)&status=eq.a&order=id"

    root = parse(every.encode()).shape.root
    assert (root.size < LARGE_SIZE / 4, root.name_characters < LARGE_NAME_CHARACTERS / 4) == (True, True)
