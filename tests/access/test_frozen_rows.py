"""Who reads issued reports and letters, written by hand, in lists, by their keys, in counts and in embeds.

    report  1 inspection 1    2 inspection 7    3 inspection 3    4 inspection 8    5 inspection 4
            6 inspection 4, issued for client 2, which had the building then
    letter  1 building 1      2 building 4      3 building 5      4 building 2
            5 building 3, of client 2, which had it then    6 building 1, of client 2, which had it then
            7 building 2, by mia    8 building 2, by mia, of client 2, whose user she was then

ada has grants to buildings 1 and 5, bob to inspection 3, moe to building 1 and inspection 3, max to building 4.
"""

import json
from collections.abc import Callable

import pytest

from tests.conftest import DATASET, ids
from tests.support.frozen_rows import cast_rows

WORLD = {**json.loads(DATASET.read_text()), **cast_rows()}
REPORTS = {
    "root": {1, 2, 3, 4, 5, 6},
    "service": {1, 2, 3, 4, 5, 6},
    "ada": {1, 3, 4, 5, 6},
    "bob": {2, 3, 4, 6},
    "moe": {1, 3},
    "mia": set(),
    "max": {2},
}
LETTERS = {
    "root": {1, 2, 3, 4, 5, 6, 7, 8},
    "service": {1, 2, 3, 4, 5, 6, 7, 8},
    "ada": {1, 4, 7},
    "bob": {2, 3, 5, 6, 8},
    "moe": {1},
    "mia": {7},
    "max": {2},
}
CASES = [(table, who) for table in ("issued_reports", "notices") for who in REPORTS]
each_table_and_role = pytest.mark.parametrize(("table", "who"), CASES)


@pytest.fixture
def api(shared_world: Callable) -> Callable:
    return shared_world(WORLD)


def readable(table: str, who: str) -> set[int]:
    return (REPORTS if table == "issued_reports" else LETTERS)[who]


@each_table_and_role
def test_list_and_count_have_exactly_the_rows_that_the_role_reads(api: Callable, table: str, who: str) -> None:
    expected = readable(table, who)

    assert ids(api(who).get(f"/{table}")) == expected
    assert api(who).head(f"/{table}", prefer="count=exact").total == str(len(expected))
    assert api(who).get(f"/{table}?select=count()").json == [{"count": len(expected)}]


@each_table_and_role
def test_hidden_row_answers_as_a_missing_one(api: Callable, table: str, who: str) -> None:
    for row in WORLD[table]:
        by_number = f"number=eq.{row['number']}"
        for where in (f"id=eq.{row['id']}", by_number, f"sha256=eq.{row['sha256']}"):
            found = api(who).get(f"/{table}?{where}")
            if row["id"] in readable(table, who):
                assert found.json == [row], where
            else:
                assert found.text == api(who).get(f"/{table}?id=eq.999").text


@each_table_and_role
def test_embeds_have_exactly_the_rows_that_the_role_reads(api: Callable, table: str, who: str) -> None:
    parent = "inspections" if table == "issued_reports" else "buildings"

    parents = api(who).get(f"/{parent}?select=id,{table}(id)").json
    clients = api(who).get(f"/clients?select=id,{table}(id)").json

    seen = {each["id"] for row in parents for each in row[table]}
    visible = {row["id"] for row in parents}
    column = "inspection_id" if table == "issued_reports" else "building_id"
    assert seen == {row["id"] for row in WORLD[table] if row["id"] in readable(table, who) and row[column] in visible}
    own = {each["id"] for row in clients for each in row[table]}
    named = {row["id"] for row in clients}
    assert own == {row["id"] for row in WORLD[table] if row["id"] in readable(table, who) and row["client_id"] in named}


@pytest.mark.parametrize("table", ["issued_reports", "notices"])
def test_anonymous_reads_nothing(api: Callable, table: str) -> None:
    assert api("nobody").get(f"/{table}").refusal[:2] == (401, "42501")
