"""Filters match texts of any length. PostgreSQL's indexes hold short texts only."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

import pytest

from engine.query.catalog import catalog
from engine.query.shape import SHORT_CHARACTERS_MAX
from engine.schema.script import schema_script
from postgres.transaction import ServerTransaction
from tests.conftest import ADA, MOE, ROOT

SHORT, LAST_SHORT, LONG = "done", "ü" * SHORT_CHARACTERS_MAX, "ü" * (SHORT_CHARACTERS_MAX + 1)
ROWS = {1: SHORT, 2: LAST_SHORT, 3: LONG, 4: None}

FOUND = {
    f"eq.{SHORT}": [1],
    f"eq.{LAST_SHORT}": [2],
    f"eq.{LONG}": [3],
    f"in.({SHORT},{LONG})": [1, 3],
    f"in.({SHORT},{LAST_SHORT})": [1, 2],
    f"eq(any).{{{LAST_SHORT},{LONG}}}": [2, 3],
    f"eq(any).{{{SHORT}}}": [1],
    f"eq(all).{{{SHORT}}}": [1],
    f"not.eq.{SHORT}": [2, 3],
    f"not.eq.{LONG}": [1, 2],
    f"not.in.({SHORT},{LAST_SHORT})": [3],
    f"neq.{LAST_SHORT}": [1, 3],
    f"gt.{SHORT}": [2, 3],
}


BUILDING = {"client_id": 1, "name": "Hall"}
WORLD: dict[str, list[dict]] = {
    "clients": [{"id": 1, "name": "Acme"}],
    "users": [
        {"id": ROOT, "email": "root@x", "name": "Root", "role": "super_admin"},
        {"id": ADA, "email": "ada@x", "name": "Ada", "role": "client_admin", "client_id": 1},
        {"id": MOE, "email": "moe@x", "name": "Moe", "role": "client_manager", "client_id": 1},
    ],
    "buildings": [{"id": key, "city": text, **BUILDING} for key, text in ROWS.items()],
    "inspections": [
        {"id": key, "building_id": key, "inspection_type": "annual", "status": text} for key, text in ROWS.items()
    ],
    "client_manager_building_access": [{"manager_id": MOE, "building_id": key} for key in ROWS],
}


@pytest.mark.parametrize("who", ["root", "ada", "moe"])
@pytest.mark.parametrize("column", ["inspections?status", "buildings?city"])
def test_filters_match_texts_of_any_length(world: Callable, who: str, column: str) -> None:
    api = world(WORLD)(who)
    relation, name = column.split("?")

    for condition, keys in FOUND.items():
        path = f"/{relation}?select=id&order=id&{name}={quote(condition)}"
        found = api.get(path, headers={"Prefer": "count=exact"})
        assert [row["id"] for row in found.json] == keys, condition
        assert found.headers["Content-Range"].endswith(f"/{len(keys)}"), condition


INDEXED = [(name, column) for name, relation in catalog().relations.items() for column in relation.model.indexed_texts]


@pytest.mark.parametrize(("relation", "column"), INDEXED)
def test_indexed_text_has_a_partial_index_on_short_values(relation: str, column: str) -> None:
    """The index has the predicate of the queries, word for word, because the planner compares them."""
    script = schema_script("postgresql")
    short = rf"WHERE char_length\({column}\) <= {SHORT_CHARACTERS_MAX};"
    index = rf"CREATE INDEX \w+ ON {relation} \({column}\b[^;]* {short}"

    assert re.search(index, script)


@pytest.mark.server("reads PostgreSQL's plans")
@pytest.mark.parametrize(("relation", "column"), INDEXED)
@pytest.mark.parametrize(("value", "is_found"), [(SHORT, True), (LONG, False)])
def test_filter_on_a_short_text_uses_the_partial_index(
    world: Callable, monkeypatch: pytest.MonkeyPatch, relation: str, column: str, value: str, is_found: bool
) -> None:
    run = ServerTransaction.run
    plans: list[str] = []

    def explain_first(self: ServerTransaction, sql: str, parameters: object = ()) -> object:
        if f"FROM {relation} " in sql:
            self.session.run("SET LOCAL enable_seqscan = off")
            explained = self.session.run(f"EXPLAIN {sql}", parameters)
            plans.append("\n".join(row[0] for row in explained.fetchall()))
        return run(self, sql, parameters)

    api = world(WORLD)("root")
    monkeypatch.setattr(ServerTransaction, "run", explain_first)
    assert len(api.get(f"/{relation}?{column}=eq.{quote(value)}").json) == 1

    (plan,) = plans
    # Any index of the column is fine: over 4 rows, the cheapest one is not determined.
    assert (re.search(rf"Index Cond: .*\b{column} = ", plan) is not None) == is_found, plan
