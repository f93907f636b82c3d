"""Names, lists, dates and files in requests: embeds under a column's name, nulls in lists, dates that do not exist."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.conftest import MOE

CSV = "text/csv"
FORM = "application/x-www-form-urlencoded"
MARK = "\ufeff"
ROLLBACK = "tx=rollback, return=representation"
INSPECTION = {"building_id": 1, "inspection_type": "fire"}


# -- an embed and a column of the same key ------------------------------------------------------


@pytest.mark.parametrize(
    "select", ["client_id,client_id(name)", "client_id(name),client_id", "client_id(name),*", "*,client_id(name)"]
)
def test_embed_under_the_name_of_a_column_is_printed(api: Callable, select: str) -> None:
    row = api("root").get(f"/buildings?id=eq.1&select={select}").json[0]

    assert row["client_id"] == {"name": "Acme Housing"}


@pytest.mark.parametrize(
    ("path", "key", "expected"),
    [
        ("/buildings?id=eq.1&select=client_id:clients(name),client_id", "client_id", {"name": "Acme Housing"}),
        ("/inspections?id=eq.1&select=notes:building_id(name),notes", "notes", {"name": "Harbor House"}),
        ("/buildings?id=eq.1&select=inspections(id),inspections:name&inspections.limit=1", "inspections", [{"id": 1}]),
        ("/buildings?id=eq.1&select=...clients(name),name", "name", "Acme Housing"),
        ("/buildings?id=eq.1&select=client_id:clients(count()),client_id", "client_id", {"count": 1}),
        ("/buildings?id=eq.1&select=client_id(name),client_id,id.count()", "client_id", {"name": "Acme Housing"}),
    ],
)  # fmt: skip
def test_embed_precedes_a_column_of_the_same_key(api: Callable, path: str, key: str, expected: object) -> None:
    answer = api("root").get(path)

    assert answer.json[0][key] == expected
    assert answer.text.count(f'"{key}":') == 1


def test_embed_under_the_name_of_a_column_has_its_filter_and_order(api: Callable) -> None:
    path = "/buildings?select=id,client_id(name),client_id"

    filtered = api("root").get(f"{path}&client_id.name=eq.nobody").json
    assert filtered
    assert all(row["client_id"] is None for row in filtered)
    ordered = api("root").get(f"{path}&order=client_id(name).desc,id").json
    assert [row["client_id"]["name"] for row in ordered] == sorted(
        (row["client_id"]["name"] for row in ordered), reverse=True
    )


def test_embed_under_the_name_of_a_column_is_in_the_rows_of_a_write_and_in_csv(api: Callable) -> None:
    path = "/buildings?id=eq.1&select=client_id(name),client_id"

    assert api("root").patch(path, {"floors": 3}, prefer=ROLLBACK).json == [{"client_id": {"name": "Acme Housing"}}]
    assert api("root").get(path, accept=CSV).text == 'client_id\n"{""name"": ""Acme Housing""}"'


# -- null in a list of values -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "same"),
    [
        ("status=eq(any).{failed,NULL}", "status=eq.failed"),
        ("status=eq(any).{null,failed}", "status=eq.failed"),
        ("status=like(any).{fail*,NULL}", "status=like.fail*"),
        ("building_id=gte(any).{2,NULL}", "building_id=gte.2"),
        ("created_at=gt(any).{2025-03-01,NULL}", "created_at=gt.2025-03-01"),
        ("or=(status.eq(any).{failed,NULL},id.eq.1)", "or=(status.eq.failed,id.eq.1)"),
        ('status=eq(any).{failed,"NULL"}', "status=in.(failed,NULL)"),
        ("status=not.eq(all).{failed,NULL}", "status=neq.failed"),
        ("status=not.like(all).{fail*,NULL}", "status=not.like.fail*"),
    ],
)  # fmt: skip
def test_null_in_a_list_equals_nothing(unchanging_api: Callable, condition: str, same: str) -> None:
    found, expected = (
        unchanging_api("root").get(f"/inspections?select=id&order=id&{each}") for each in (condition, same)
    )

    assert (found.status, found.json) == (200, expected.json)
    assert expected.json


@pytest.mark.parametrize(
    "condition",
    ["status=not.eq(any).{failed,NULL}", "status=eq(all).{failed,NULL}", "status=eq(any).{NULL}",
     "status=not.eq(any).{NULL}", "id=gt(all).{0,NULL}", "id=not.lt(any).{1,NULL}"],
)  # fmt: skip
def test_unknown_comparison_matches_no_row(unchanging_api: Callable, condition: str) -> None:
    assert unchanging_api("root").get(f"/inspections?{condition}").json == []


@pytest.mark.parametrize("ids", ["{1,NULL}", "{NULL}"])
def test_list_of_ids_takes_no_null(api: Callable, ids: str) -> None:
    answer = api("root").rpc("assign_to_client_manager", {"manager_id": MOE, "building_ids": ids})

    assert answer.refusal[:2] == (400, "22P02")


# -- dates and times ----------------------------------------------------------------------------

NO_DATES = ["2024-02-30", "0000-01-01", "10000-01-01", "20240230", "2024/13/01", "00000101", "10000/1/1", "2024-0-1"]
CLOCKS = ["2014-06-06 8:20 PM", "2014-06-06 08:20 PM", "2014-06-06T8:20", "2014-06-06 08:20 am", "2014-06-06 noon"]


@pytest.mark.parametrize(
    ("days", "code", "hinted"), [(NO_DATES, "22008", False), ([*CLOCKS, "01/02/2024", "6 June 2014"], "22007", True)]
)
def test_date_that_is_none_is_out_of_range_and_a_date_of_a_locale_has_a_hint(
    api: Callable, days: list[str], code: str, hinted: bool
) -> None:
    root = api("root")
    for day in days:
        row = {**INSPECTION, "date_visited": day}
        answers = [
            root.get(f"/inspections?date_visited=gt.{day}"),
            root.get(f"/inspections?created_at=gt.{day}"),
            root.get(f"/inspections?date_visited=in.(2024-01-31,{day})"),
            root.get(f"/inspections?or=(date_visited.eq.{day})"),
            root.post("/inspections", row),
            root.post("/inspections", f"building_id,inspection_type,date_visited\n1,fire,{day}\n", content_type=CSV),
            root.post("/inspections", f"building_id=1&inspection_type=fire&date_visited={day}", content_type=FORM),
            root.patch("/inspections?id=eq.1", {"date_visited": day}),
            root.get(f"/rpc/get_building_stats_chart_fast?start_date={day}"),
            root.rpc("get_building_stats_chart_fast", {"start_date": day}),
        ]
        for answer in answers:
            assert answer.refusal[:2] == (400, code), (day, answer.text)
            assert (answer.json["hint"] is not None) is hinted, (day, answer.text)


# -- columns and CSV ----------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["name,e-mail", "name,email", "name,Phone 1", "other,name"])
def test_names_outside_of_columns_are_skipped(api: Callable, header: str) -> None:
    cells = {name: "a@x" if name != "name" else "Ann" for name in header.split(",")}
    bodies = {
        CSV: f"{header}\n{','.join(cells.values())}\n",
        "application/json": json.dumps([cells]),
        FORM: "&".join(f"{name}={value}" for name, value in cells.items()),
    }
    for content_type, body in bodies.items():
        path = "/inspectors?columns=name&select=name,email"
        answer = api("root").post(path, body, content_type=content_type, prefer=ROLLBACK)
        assert (answer.status, answer.json) == (201, [{"name": "Ann", "email": None}]), content_type

    changed = api("root").patch(
        "/inspectors?id=eq.1&columns=name&select=name", bodies[CSV], content_type=CSV, prefer=ROLLBACK
    )
    assert changed.json == [{"name": "Ann"}]


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("name,e-mail\nAnn,a@x\n", 'Perhaps you meant "email" instead of "e-mail".'),
        ("name,E Mail\n", 'Perhaps you meant "email" instead of "E Mail".'),
        ("name,phone\nAnn,1\n", None),
        ("name;email\nAnn;a@x\n", "The separator of CSV is a comma. The header has a semicolon."),
    ],
)
def test_columns_that_the_header_lacks_are_refused(api: Callable, body: str, hint: str | None) -> None:
    for send, path in ((api("root").post, "/inspectors"), (api("root").patch, "/inspectors?id=eq.1")):
        answer = send(f"{path}{'&' if '?' in path else '?'}columns=name,email", body, content_type=CSV)
        assert answer.refusal[:2] == (400, "PGRST204")
        assert "email" in answer.message
        assert answer.json["hint"] == hint


# -- the number of names ------------------------------------------------------------------------


def many(count: int) -> dict[str, str]:
    return {f"x{number}": "1" for number in range(count)}


@pytest.mark.parametrize("count", [101, 70_000])
def test_more_than_a_hundred_names_are_refused(api: Callable, count: int) -> None:
    fields = many(count)
    json_text, form = json.dumps(fields), "&".join(f"{name}=1" for name in fields)
    header = ",".join(fields) + "\n"
    root = api("root")
    answers = [
        root.post("/inspectors", json_text),
        root.post("/inspectors", f'[{{"name": "Ann"}},{json_text}]'),
        root.post("/inspectors?columns=name", json_text),
        root.post("/inspectors", form, content_type=FORM),
        root.post("/inspectors", header, content_type=CSV),
        root.post("/inspectors?columns=name", header, content_type=CSV),
        root.patch("/inspectors?id=eq.1", json_text),
        root.patch("/inspectors?id=eq.1", form, content_type=FORM),
        root.put("/inspectors?id=eq.1", json_text),
        root.rpc("get_building_stats", fields),
        root.post("/rpc/get_building_stats", form, content_type=FORM),
    ]
    for answer in answers:
        assert answer.refusal[:2] == (400, "54000"), answer.text[:200]
        assert "100" in answer.message
        assert len(answer.text) < 1_000


def test_names_in_the_query_of_a_call_are_limited(api: Callable) -> None:
    query = "&".join(f"{name}=1" for name in many(101))

    assert api("root").get(f"/rpc/get_building_stats?{query}").refusal[:2] == (400, "54000")


@pytest.mark.parametrize(("count", "others"), [(1, ""), (20, ""), (21, " and 1 other"), (100, " and 80 other")])
def test_unknown_names_are_named_up_to_twenty(api: Callable, count: int, others: str) -> None:
    fields = many(count)
    for answer in (
        api("root").post("/inspectors", fields),
        api("root").post("/inspectors", "&".join(f"{name}=1" for name in fields), content_type=FORM),
        api("root").post("/inspectors", ",".join(fields) + "\n", content_type=CSV),
        api("root").post(f"/inspectors?columns={','.join(fields)}", {}),
    ):
        assert answer.refusal[:2] == (400, "PGRST204")
        assert answer.message.count("'x") == min(count, 20)
        assert f"{others} column" in answer.message


# -- byte order marks ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content_type", "body"),
    [(FORM, "name=Ann&email=x"), (CSV, "name,email\nAnn,x\n"), ("application/json", '{"name":"Ann","email":"x"}')],
)
def test_byte_order_mark_is_skipped(api: Callable, content_type: str, body: str) -> None:
    answer = api("root").post(
        "/inspectors?select=name,email", f"{MARK}{body}", content_type=content_type, prefer=ROLLBACK
    )

    assert answer.json == [{"name": "Ann", "email": "x"}]


def test_byte_order_mark_before_the_form_of_a_call_is_skipped(api: Callable) -> None:
    assert api("root").post("/rpc/get_building_stats", f"{MARK}building_id=1", content_type=FORM).status == 200
    assert api("root").post("/inspectors", f"name=Ann&{MARK}email=x", content_type=FORM).code == "PGRST204"
