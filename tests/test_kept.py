"""Large questions fill no memory: few of their plans are kept, few prepared statements, and nothing that they found."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from engine.query import plan_cache
from engine.query.read.plan import plan_read
from engine.query.shape import LARGE_LETTERS
from engine.query.shape import LARGE_SIZE
from engine.storage import sqlite
from engine.storage.database import database
from routes.postgrest.querystring import parse
from tests import databases
from tests.applications import open_app
from tests.conftest import CAST
from tests.conftest import Api
from tests.conftest import Database


@pytest.fixture
def app(tmp_path: Path, base_file: Path) -> Flask:
    copy = tmp_path / "walkthrough.db"
    databases.copy(base_file, copy)
    return open_app(copy)


def ask(app: Flask, number: int, preference: str = "") -> None:
    """A question like no other, whose statement has some ten thousand characters."""
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
def test_the_size_of_a_shape_is_how_much_is_said(query: str, size: int) -> None:
    assert parse(query.encode()).shape.root.size == size


@pytest.mark.parametrize(
    ("query", "letters"),
    [
        ("", 1),
        ("select=id,b:buildings!fk(name::text,n:city)&limit=5", 27),
        (
            "select=id&after->>ab=eq.long&or=(id.eq.1,not.and(c->d.gt.2,id.lt.5))&order=e->f,g(h)",
            19,
        ),
        ("select=id,buildings(x:id.sum()::int)&buildings.name=eq.a&buildings.order=name", 25),
    ],
)
def test_the_letters_of_a_shape_are_those_of_its_names(query: str, letters: int) -> None:
    assert parse(query.encode()).shape.root.letters == letters


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
def test_a_shape_of_long_names_is_large(query: str) -> None:
    """Few of its plans are kept: two thousand of such a one, for anybody who asks, fill memory."""
    short, long = (parse(query.format("a" * count).encode()).shape for count in (1_000, 3_001))

    assert (short.is_large, long.is_large) == (False, True)


def test_few_plans_of_large_shapes_are_kept_and_ordinary_ones_stay(app: Flask) -> None:
    plan_read.cache_clear()
    Api(Database(lambda: app, None), CAST["ada"]).get("/buildings?select=id,name")
    many = plan_read.cache_info().currsize

    for number in range(plan_cache.LARGE_PLANS_MAX + 8):
        ask(app, number)

    assert plan_read.cache_info().currsize == many + plan_cache.LARGE_PLANS_MAX
    misses = plan_read.cache_info().misses
    Api(Database(lambda: app, None), CAST["ada"]).get("/buildings?select=id,name")
    assert plan_read.cache_info().misses == misses


def test_a_large_question_is_known_while_it_is_among_the_last(app: Flask) -> None:
    ask(app, 1)
    hits = plan_read.cache_info().hits

    ask(app, 1)

    assert plan_read.cache_info().hits == hits + 1


@pytest.mark.sqlite("a server's session prepares no large statements")
def test_a_connection_that_may_keep_many_large_statements_gives_way_to_a_new_one(
    app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert first() is None, "what it has prepared is still in memory"


@pytest.mark.sqlite("a server tells of no snapshot that a list could be kept under")
@pytest.mark.parametrize(("filters", "kept_lists", "kept_counts"), [(1, 1, 1), (30, 0, 0)])
def test_what_a_large_question_found_is_not_remembered(
    app: Flask, filters: int, kept_lists: int, kept_counts: int
) -> None:
    """And an ordinary one is. What is given is short, the words of the count are not."""
    said = "&".join(f"status=not.like(any).{{z{each}}}" for each in range(filters))
    path = f"/inspections?select=id&{said}&order=id&limit=1"
    remembered = app.extensions["walkthrough"].remembered

    answer = Api(Database(lambda: app, None), CAST["ada"]).get(path, prefer="count=exact")

    assert answer.status == 206, answer.text
    assert len(remembered.pages.pages) == kept_lists
    assert len([each for each in remembered.results if "count(*)" in str(each)]) == kept_counts


def test_a_large_shape_is_far_larger_than_what_people_ask() -> None:
    """The control: the widest list of the console, and every column of four resources, are ordinary."""
    every = "select=*,buildings(*,clients(*)),inspectors(*),reports_lead(*)&status=eq.a&order=id"

    root = parse(every.encode()).shape.root
    assert (root.size < LARGE_SIZE / 4, root.letters < LARGE_LETTERS / 4) == (True, True)
