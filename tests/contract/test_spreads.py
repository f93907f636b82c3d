"""Spread to-many embeds: arrays of the embed's values in one order.

PostgREST supports them since 13 (test/spec/Feature/Query/SpreadQueriesSpec.hs).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

import pytest

from tests.conftest import CAST
from tests.support.columns import COLUMNS

PEOPLE = ("root", "ada", "bob", "moe", "mia", "max", "service")


def transposed(rows: list[dict], keys: list[str]) -> dict[str, list]:
    return {key: [row[key] for row in rows] for key in keys}


@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.parametrize(
    ("resource", "embed", "selected", "keys", "besides"),
    [
        ("inspections", "reports_lead", "gun_id,result", ["gun_id", "result"], ""),
        ("inspections", "reports_lead", "g:gun_id,r:result::text", ["g", "r"], ""),
        ("inspections", "reports_lead", "*", list(COLUMNS["reports_lead"]), "&reports_lead.order=result.desc,id.desc"),
        (
            "buildings",
            "inspections",
            "id,status,created_at,date_visited",
            ["id", "status", "created_at", "date_visited"],
            "&inspections.order=date_visited.desc.nullslast,id",
        ),
        ("buildings", "inspections", "id,status", ["id", "status"], "&inspections.limit=1"),
        ("buildings", "inspections", "id", ["id"], "&inspections.limit=2&inspections.offset=1"),
        ("buildings", "inspections", "id", ["id"], "&inspections.status=eq.completed"),
        ("buildings", "inspections", "id", ["id"], "&inspections.or=(id.lt.3,status.is.null)"),
        ("buildings", "inspections!inner", "id", ["id"], "&inspections.status=eq.completed"),
        ("buildings", "inspections", "id", ["id"], "&inspections=is.null"),
        ("buildings", "inspections", "id", ["id"], "&inspections=not.is.null"),
        ("clients", "buildings", "latitude,floors,name", ["latitude", "floors", "name"], ""),
        ("clients", "buildings", "name,inspections(id,status)", ["name", "inspections"], "&buildings.order=name"),
        ("buildings", "inspections", "id,inspectors(name)", ["id", "inspectors"], ""),
        ("buildings", "users!client_manager_building_access", "id,name", ["id", "name"], "&users.order=name.desc"),
        (
            "users",
            "buildings!client_manager_building_access",
            "name,clients(name)",
            ["name", "clients"],
            "&buildings.order=name",
        ),
    ],
)
def test_spread_arrays_equal_the_embed(
    api: Callable, who: str, resource: str, embed: str, selected: str, keys: list[str], besides: str
) -> None:
    order = f"{besides}&order=id"
    plain = api(who).get(f"/{resource}?select=id,{embed}({selected}){order}")

    spread = api(who).get(f"/{resource}?select=...{embed}({selected}),key:id{order}")

    assert (spread.status, plain.status) == (200, 200)
    name = embed.partition("!")[0]
    assert spread.json == [transposed(row[name], keys) | {"key": row["id"]} for row in plain.json]


def test_spread_of_no_rows_is_empty_and_null_values_stay(api: Callable) -> None:
    made = {"building_id": 1, "inspection_type": "lead"}
    created = api("root").post("/inspections?select=id", made, prefer="return=representation")
    path = f"/inspections?select=...reports_lead(gun_id,result)&id=eq.{created.json[0]['id']}"

    before = api("root").get(path).json
    api("root").post("/reports_lead", {"inspection_id": created.json[0]["id"]})
    after = api("root").get(path).json

    assert before == [{"gun_id": [], "result": []}]
    assert after == [{"gun_id": [None], "result": [None]}]


@pytest.mark.parametrize("who", ["root", "ada", "moe"])
def test_nested_spread_is_an_array(api: Callable, who: str) -> None:
    """A to-one embed in rows gives one value for each row, or null. A to-many embed gives an array for each
    row.
    """
    select = "name,inspections(id,inspectors(name),reports_lead(result))"
    order = "&order=id&inspections.order=id&inspections.reports_lead.order=id"
    plain = api(who).get(f"/buildings?select={select}{order}").json

    spread = api(who).get(
        "/buildings?select=name,...inspections(id,...inspectors(who:name),...reports_lead(result))" + order
    )  # fmt: skip

    assert spread.json == [
        {
            "name": row["name"],
            "id": [each["id"] for each in row["inspections"]],
            "who": [each["inspectors"] and each["inspectors"]["name"] for each in row["inspections"]],
            "result": [
                [reading["result"] for reading in each["reports_lead"]]
                for each in row["inspections"]
            ],
        }
        for row in plain
    ]  # fmt: skip


def test_spread_arrays_of_hidden_row_are_null(api: Callable) -> None:
    path = "/inspections?select=id,...buildings(...inspections(found:id))&id=in.(3,9)&order=id"

    hidden, shown = api("moe").get(path).json

    assert hidden == {"id": 3, "found": None}
    assert shown["found"]


def test_order_applies_to_all_spread_arrays(api: Callable) -> None:
    path = "/buildings?select=...inspections(id,...inspectors(who:name))&order=id"

    for row in api("root").get(f"{path}&inspections.order=inspectors(name).desc.nullslast").json:
        named = [name for name in row["who"] if name is not None]
        assert named == sorted(named, reverse=True)
        assert row["who"][: len(named)] == named
        assert len(row["id"]) == len(row["who"])


def test_write_returns_spread(api: Callable) -> None:
    response = api("root").patch(
        "/buildings?id=eq.1&select=name,...inspections(id)&inspections.order=id.desc",
        {"name": "Renamed"},
        prefer="return=representation",
    )
    ids = api("root").get("/inspections?select=id&building_id=eq.1&order=id.desc").json

    assert response.json == [{"name": "Renamed", "id": [row["id"] for row in ids]}]


def test_later_duplicate_key_is_returned(api: Callable) -> None:
    row = api("root").get("/buildings?select=id,...inspections(id)&id=eq.1").json[0]

    assert row == {"id": [each["id"] for each in api("root").get(
        "/inspections?select=id&building_id=eq.1&order=id").json]}  # fmt: skip


def test_equal_spread_arrays_form_one_group(api: Callable) -> None:
    rows = api("root").get("/inspections?select=reports_lead(result)").json
    groups = api("root").get("/inspections?select=...reports_lead(result),count()").json

    expected = [[each["result"] for each in row["reports_lead"]] for row in rows]
    assert len(groups) > 2
    assert sorted((str(each["result"]), each["count"]) for each in groups) == sorted(
        {(str(each), expected.count(each)) for each in expected}
    )


@pytest.mark.parametrize("name", ["inspections", "inspections_building_id_fkey"])
def test_csv_header_lists_spread_columns(api: Callable, name: str) -> None:
    path = f"/buildings?select=key:id,...{name}(*)&id=eq.1"

    head, cells = csv.reader(io.StringIO(api("root").get(path, accept="text/csv").text))
    (row,) = api("root").get(path).json

    assert head == list(row)
    assert json.loads(cells[head.index("status")]) == row["status"]


def test_csv_cell_holds_spread_array(api: Callable) -> None:
    response = api("root").get("/inspections?select=id,...reports_lead(gun_id)&id=eq.1", accept="text/csv")
    rows = api("root").get("/reports_lead?select=gun_id&inspection_id=eq.1&order=id").json

    head, *lines = csv.reader(io.StringIO(response.text))
    assert head == ["id", "gun_id"]
    assert [(first, json.loads(cell)) for first, cell in lines] == [("1", [row["gun_id"] for row in rows])]


@pytest.mark.parametrize(
    "select",
    [
        "id,...reports_lead(count())",
        "id,...reports_lead(gun_id,id.max())",
        "id,...reports_lead(...inspections(count()))",
        "id,...buildings(...inspections(count()))",
    ],
)
@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_to_many_spread_of_aggregates_is_refused(api: Callable, select: str, method: str) -> None:
    response = api("root").send(
        method, f"/inspections?select={select}&id=eq.1", body=None if method == "GET" else {"notes": "x"}
    )  # fmt: skip

    assert (response.status, response.code) == (400, "PGRST127")
    assert response.json["message"] == "Feature not implemented"
    assert response.json["details"] == ("Aggregates are not implemented for one-to-many or many-to-many spreads.")


def test_spread_arrays_are_limited(world: Callable) -> None:
    rows = {
        "users": [{"id": CAST["root"].id, "email": "r@x.example", "name": "R", "role": "super_admin"}],
        "clients": [{"id": 1, "name": "C"}],
        "buildings": [{"id": 1, "client_id": 1, "name": "B"}],
        "inspections": [{"id": n, "building_id": 1, "inspection_type": "x"} for n in range(1, 8)],
    }
    api = world(rows, MAX_ROWS=5)

    spread = api("root").get("/buildings?select=...inspections(id)").json

    assert spread == [{"id": [1, 2, 3, 4, 5]}]
