"""Inputs that users reported, each with a second input of its kind."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import MOE, WRITABLE, Response, dump
from tests.contract.test_error_rows import INSPECTION
from tests.support.tokens import ANON_KEY, SERVICE_KEY

ROLLBACK = "tx=rollback, return=representation"
CSV = "text/csv"


def post_csv(api: Callable, path: str, text: str | bytes, content_type: str = CSV) -> Response:
    return api("root").post(path, text, content_type=content_type, prefer=ROLLBACK)


# -- the secret key -----------------------------------------------------------------------------


@pytest.mark.parametrize("authorization", [None, f"Bearer {ANON_KEY}", f"Bearer {SERVICE_KEY}", "Basic cm9vdDpyb290"])
@pytest.mark.parametrize("path", ["/inspections?limit=1", "/rest/v1/users?limit=1", "/auth/v1/admin/users"])
def test_secret_key_in_apikey_is_a_super_admin(api: Callable, path: str, authorization: str | None) -> None:
    answer = api("nobody").get(path, headers={"apikey": SERVICE_KEY, "Authorization": authorization})

    assert answer.status == 200


def test_secret_key_in_apikey_writes(api: Callable) -> None:
    answer = api("nobody").post("/inspectors", {"name": "Ann"}, headers={"apikey": SERVICE_KEY})

    assert answer.status == 201


def test_bearer_of_a_user_precedes_the_secret_key(api: Callable) -> None:
    assert len(api("mia").get("/buildings", headers={"apikey": SERVICE_KEY}).json) == 0
    assert api("mia").post("/inspectors", {"name": "x"}, headers={"apikey": SERVICE_KEY}).status == 403


@pytest.mark.parametrize("authorization", ["Bearer junk", "Bearer "])
def test_invalid_bearer_beside_the_secret_key_is_refused(api: Callable, authorization: str) -> None:
    answer = api("nobody").get("/inspections", headers={"apikey": SERVICE_KEY, "Authorization": authorization})

    assert (answer.status, answer.code) == (401, "PGRST301")


def test_public_key_alone_stays_anonymous(api: Callable) -> None:
    assert api("nobody").get("/inspections").refusal[:2] == (401, "42501")


# -- CSV ----------------------------------------------------------------------------------------

# id, path, body, content type, status, code, and a part of the message, details or hint
REFUSED_CSV = [
    ("no-line-end", "/inspectors", "name,emailAnn,a@x", CSV, 400, "PGRST102", "no line end"),
    ("header-alone", "/inspectors", "name", CSV, 400, "PGRST102", "no line end"),
    ("repeated-name", "/inspectors", "name,email,name\nAnn,x,Bob\n", CSV, 400, "PGRST102", '"name" twice'),
    ("repeated-without-rows", "/inspectors", "email,email\n", CSV, 400, "PGRST102", '"email" twice'),
    ("absent", "/inspectors?columns=name,email", "name,e-mail\nAnn,a@x\n", CSV, 400, "PGRST204", '"email"'),
    ("unknown-without-rows", "/buildings", "name,Client ID\n", CSV, 400, "PGRST204", '"client_id" instead of'),
    ("header-absent", "/inspectors", "Ann,x\n", "text/csv; header=absent", 415, "PGRST102", "header=absent"),
    ("header-absent-quoted", "/inspectors", "Ann,x\n", 'text/csv;header="absent"', 415, "PGRST102", "header=absent"),
    ("semicolons", "/inspectors", "name;email\nAnn;a@x\n", CSV, 400, "PGRST204", "a comma. The header has a semicolon"),
    ("tabs", "/inspectors", "name\temail\nAnn\ta@x\n", CSV, 400, "PGRST204", "a comma. The header has a tab"),
    ("quoted-bars", "/inspectors", '"name"|"email"\n', CSV, 400, "PGRST102", "a comma. The header has a vertical bar"),
    ("semicolons-and-commas", "/inspectors", "name;email\nAnn;a,b\n", CSV, 400, "PGRST102", "has a semicolon"),
    ("cells", "/inspectors", 'name,email\n"Ann\nB",x\n\nBob\n', CSV, 400, "PGRST102", "line 5: 1 cells"),
    ("cells-after-mark", "/inspectors", "\ufeffname,email\r\nAnn,x,y\r\n", CSV, 400, "PGRST102", "line 2: 3 cells"),
    ("quote", "/inspectors", 'name\n"Ann\n\x0b"\nx"y\n', CSV, 400, "PGRST102", "line 4"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "body", "content_type", "status", "code", "part"),
    [line[1:] for line in REFUSED_CSV],
    ids=[line[0] for line in REFUSED_CSV],
)
def test_misleading_csv_is_refused(
    api: Callable, path: str, body: str, content_type: str, status: int, code: str, part: str
) -> None:
    answer = post_csv(api, path, body.encode(), content_type)

    assert (answer.status, answer.code) == (status, code)
    assert part in " ".join(filter(None, (answer.message, answer.json["details"], answer.json["hint"])))


# id, path, body, and the written values
READ_CSV = [
    ("empty-number", "/inspections", "building_id,inspection_type,inspector_id\n1,fire,\n", {"inspector_id": None}),
    ("empty-text", "/inspectors", "name,email\nAnn,\n", {"email": None}),
    ("quoted-empty-text", "/inspectors", 'name,email\nAnn,""\n', {"email": ""}),
    ("null", "/inspectors", "name,email\nAnn,NULL\n", {"email": None}),
    ("quoted-null", "/inspectors", 'name,email\n"NULL",x\n', {"name": "NULL"}),
    ("blank-row", "/inspectors", "name,email\nAnn,x\n,\n", {"name": "Ann"}),
    ("blank-rows-of-other-length", "/inspectors", "name,email\r\n,,\r\n\r\nAnn,x\r\n,,,", {"name": "Ann"}),
    ("backslashes", "/inspectors", 'name,email\nC:\\new,"\\""\\"\n', {"name": "C:\\new", "email": '\\"\\'}),
    ("mark", "/inspectors", "\ufeff\"name\",email\nAnn,x\n", {"name": "Ann"}),
    ("line-ends-of-old-macs", "/inspectors", "name,email\rAnn,x\r", {"email": "x"}),
    (
        "basic-date",
        "/inspections",
        "building_id,inspection_type,date_visited\n1,fire,20240131\n",
        {"date_visited": "2024-01-31"},
    ),
    ("header-present", "/inspectors", "name\nAnn\n", {"name": "Ann"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "body", "values"), [line[1:] for line in READ_CSV], ids=[line[0] for line in READ_CSV]
)
def test_csv_is_written(api: Callable, path: str, body: str, values: dict) -> None:
    answer = post_csv(api, path, body.encode(), "text/csv; header=present")

    assert answer.status == 201, answer.text
    [row] = answer.json
    assert {name: row[name] for name in values} == values


CELLS = st.one_of(
    st.none(),
    st.sampled_from(["", "NULL", "null", '"', "\\", "C:\\photos", ",", "a\r\nb", "\n", "\ufeff", " x ", "\\N", "1"]),
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12),
)  # fmt: skip
BUILDINGS = st.fixed_dictionaries(
    {
        "id": st.just(1),
        "client_id": st.just(1),
        "name": CELLS.filter(lambda text: text is not None),
        **dict.fromkeys(("address", "city", "state", "zip", "building_type"), CELLS),
        "latitude": st.none() | st.floats(-90, 90),
        "longitude": st.none() | st.floats(-180, 180),
        "floors": st.none() | st.integers(0, 2**31 - 1),
        "units": st.none() | st.integers(0, 2**31 - 1),
    }
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(BUILDINGS)
def test_printed_csv_is_read_back_unchanged(api: Callable, building: dict) -> None:
    root = api("root")
    assert root.patch("/buildings?id=eq.1", {**building, "id": 1}).status == 204
    before = root.get("/buildings?order=id").text

    printed = root.get("/buildings?order=id", accept=CSV).text
    answer = root.post(
        "/buildings", printed.encode(), content_type=CSV, prefer="resolution=merge-duplicates, return=minimal"
    )

    assert answer.status == 200, answer.text
    assert root.get("/buildings?order=id").text == before


@pytest.mark.parametrize("table", WRITABLE)
def test_csv_of_every_table_is_read_back_unchanged(api: Callable, table: str) -> None:
    api("root").patch("/buildings?id=eq.1", {"name": "C:\\photos", "address": "", "city": "NULL"})
    before = dump(api)
    assert before[table]

    printed = api("root").get(f"/{table}", accept=CSV).text
    answer = api("root").post(f"/{table}", printed.encode(), content_type=CSV, prefer="resolution=merge-duplicates")

    assert answer.status == 200, answer.text
    after = dump(api)
    if table == "inspections":  # a written visit counts as touched, with equal values too
        before["inspection_plans"] = after["inspection_plans"]
    assert after == before


def test_backslash_is_printed_once(api: Callable) -> None:
    api("root").patch("/inspectors?id=eq.1", {"name": "C:\\photos"})

    printed = api("root").get("/inspectors?id=eq.1&select=name", accept=CSV).text

    assert list(csv.reader(io.StringIO(printed))) == [["name"], ["C:\\photos"]]


# -- other writes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        ([{"notes": "first"}, {"notes": "second"}], "application/json", 400),
        ([], "application/json", 400),
        ("notes\nfirst\nsecond\n", CSV, 400),
        ("notes\n", CSV, 400),
        ([{"notes": "first"}], "application/json", 200),
        ("notes\nfirst\n", CSV, 200),
        ({}, "application/json", 200),
    ],
)
def test_patch_takes_one_object(api: Callable, body: object, content_type: str, status: int) -> None:
    answer = api("root").patch("/inspections?id=in.(1,2)", body, content_type=content_type, prefer=ROLLBACK)

    assert answer.status == status
    assert status == 200 or answer.code == "PGRST102"


WITHOUT_CLIENT = [("ada", (403, "42501")), ("root", (400, "23502"))]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ({"name": "X"}, "application/json"),
        ({"name": "X", "client_id": None}, "application/json"),
        ("name,client_id\nX,\n", CSV),
        ("name=X", "application/x-www-form-urlencoded"),
    ],
)
@pytest.mark.parametrize("prefer", [None, "resolution=merge-duplicates"])
@pytest.mark.parametrize(("who", "refusal"), WITHOUT_CLIENT)
def test_rule_of_rows_precedes_a_missing_client(
    api: Callable, body: object, content_type: str, prefer: str | None, who: str, refusal: tuple
) -> None:
    """As in PostgreSQL, whose policies are checked before NOT NULL. A super admin's policy allows the row."""
    answer = api(who).post("/buildings", body, content_type=content_type, prefer=prefer)

    assert (answer.status, answer.code) == refusal


@pytest.mark.parametrize(("who", "refusal"), WITHOUT_CLIENT)
def test_rule_of_rows_precedes_a_client_set_to_null(api: Callable, who: str, refusal: tuple) -> None:
    path, row = "/buildings?id=eq.1", {"id": 1, "name": "X", "client_id": None}
    answers = [
        api(who).patch(path, {"client_id": None}),
        api(who).patch("/buildings?name=not.is.null", {"client_id": None, "name": None}),
        api(who).put(path, row),
        api(who).post("/buildings", row, prefer="resolution=merge-duplicates"),
        api(who).post("/buildings", [{"name": "Y", "client_id": 1}, {"name": "X", "client_id": None}]),
    ]

    assert [(each.status, each.code) for each in answers] == [refusal] * len(answers)


@pytest.mark.parametrize("path", ["/inspectors", "/rpc/get_building_stats"])
def test_byte_order_mark_before_json_is_skipped(api: Callable, path: str) -> None:
    body = {"/inspectors": '\ufeff[{"name": "x"}]'}.get(path, '\ufeff{"building_id": 1}')

    assert api("root").post(path, body.encode(), prefer=ROLLBACK).status in (200, 201)


def test_two_byte_order_marks_are_refused(api: Callable) -> None:
    assert api("root").post("/inspectors", '\ufeff\ufeff{"name": "x"}'.encode()).code == "PGRST102"


@pytest.mark.parametrize(
    ("charset", "status"), [("us-ascii", 201), ("US-ASCII", 201), ("UTF8", 201), ("iso-8859-1", 415), ("utf-16", 415)]
)
@pytest.mark.parametrize("media", ["application/json", CSV])
def test_character_sets_within_utf8_are_accepted(api: Callable, media: str, charset: str, status: int) -> None:
    body = "name\nx\n" if media == CSV else '{"name": "x"}'

    answer = api("root").post("/inspectors", body, content_type=f"{media}; charset={charset}", prefer=ROLLBACK)

    assert answer.status == status


@pytest.mark.parametrize(
    ("arguments", "assigned"),
    [
        ({"p_manager_id": MOE, "p_building_ids": [2]}, (1, 0)),
        ({"manager_id": MOE, "inspection_ids": [5]}, (0, 1)),
        ({"manager_id": MOE, "building_ids": None, "inspection_ids": [5]}, (0, 1)),
        ({"manager_id": MOE}, (0, 0)),
    ],
)
def test_arrays_of_an_assignment_are_optional(api: Callable, arguments: dict, assigned: tuple[int, int]) -> None:
    answer = api("ada").rpc("assign_to_client_manager", arguments)

    assert answer.status == 200, answer.text
    assert (answer.json["assigned_buildings"], answer.json["assigned_inspections"]) == assigned


# -- queries ------------------------------------------------------------------------------------


def test_embedded_filters_apply_to_the_embed_of_the_name(api: Callable) -> None:
    path = (
        "/buildings?select=id,bad:inspections(status),inspections(status)"
        "&inspections.status=eq.completed&bad.status=eq.failed&id=eq.1"
    )

    assert api("root").get(path).json == [
        {"id": 1, "bad": [{"status": "failed"}], "inspections": [{"status": "completed"}]}
    ]


@pytest.mark.parametrize(
    ("parameters", "bad", "inspections"),
    [
        ("inspections.limit=1&inspections.order=id&bad.limit=2&bad.order=id.desc", [9, 2], [1]),
        ("inspections.id=eq.2&inspections.offset=1", [1, 2, 9], []),
        ("bad.or=(id.eq.1,id.eq.9)", [1, 9], [1, 2, 9]),
    ],
)
def test_order_and_limit_apply_to_the_embed_of_the_name(
    api: Callable, parameters: str, bad: list[int], inspections: list[int]
) -> None:
    [row] = api("root").get(f"/buildings?select=bad:inspections(id),inspections(id)&id=eq.1&{parameters}").json

    found = [[each["id"] for each in row[name]] for name in ("bad", "inspections")]
    assert [sorted(each) if "order" not in parameters else each for each in found] == [bad, inspections]


def test_relation_names_its_only_embed_under_an_alias(api: Callable) -> None:
    path = "/buildings?select=id,all:inspections(id)&inspections.id=eq.2&id=eq.1"

    assert api("root").get(path).json == [{"id": 1, "all": [{"id": 2}]}]


def test_relation_of_two_aliases_names_neither(api: Callable) -> None:
    path = "/buildings?select=a:inspections(id),b:inspections(id)&inspections.id=eq.2"

    assert api("root").get(path).refusal[:2] == (400, "PGRST108")


@pytest.mark.parametrize("day", ["20250301", "2025/03/01", "2025-3-1", "2025/3/1", "2025-03-01"])
def test_unambiguous_dates_are_read(api: Callable, day: str) -> None:
    assert [row["id"] for row in api("root").get(f"/inspections?date_visited=eq.{day}&id=eq.1").json] == [1]
    assert api("root").get(f"/inspections?created_at=lt.{day}T23:59:59Z&limit=1").status == 200
    written = api("root").post("/inspections", {**INSPECTION, "date_visited": day}, prefer=ROLLBACK)
    assert written.json[0]["date_visited"] == "2025-03-01"
    chart = api("root").rpc("get_building_stats_chart_fast", {"start_date": day, "end_date": "20250331"})
    assert chart.json["start_date"] == "2025-03-01"


def test_basic_timestamp_is_read(api: Callable) -> None:
    row = {**INSPECTION, "created_at": "20250301T093015.5+0100"}

    assert api("root").post("/inspections", row, prefer=ROLLBACK).json[0]["created_at"] == "2025-03-01T08:30:15.5+00:00"


@pytest.mark.parametrize("day", ["01/02/2024", "2024/01-31", "240131", "2024-1-311", "2024-131", "31.01.2024", "2024"])
def test_other_dates_are_refused(api: Callable, day: str) -> None:
    assert api("root").get(f"/inspections?date_visited=gt.{day}").refusal[:2] == (400, "22007")


@pytest.mark.parametrize(
    "parameter",
    ["or=status.is.null,status.eq.x", "or=id.eq.1", "and=id.eq.1", "not.or=id.eq.1", "not.not.or=(id.eq.1)",
     "not.not.and=(id.eq.1)", "or=(not.not.and(id.eq.1,id.eq.2))", "id=not.not.eq.1", "not.buildings.not.or=(id.eq.1)"],
)  # fmt: skip
def test_malformed_logic_is_a_parse_error(api: Callable, parameter: str) -> None:
    answer = api("root").get(f"/inspections?select=id,buildings(id)&{parameter}")

    assert answer.refusal[:2] == (400, "PGRST100")


@pytest.mark.parametrize(
    ("values", "constraint"),
    [
        ({"latitude": 999}, "buildings_latitude_check"),
        ({"longitude": -180.5}, "buildings_longitude_check"),
        ({"floors": -4}, "buildings_floors_check"),
        ({"units": -1}, "buildings_units_check"),
        ({"latitude": 999, "floors": -4}, "buildings_latitude_check"),
        ({"units": -1, "longitude": 181, "floors": -4}, "buildings_longitude_check"),
    ],
)
def test_values_out_of_range_are_refused(api: Callable, values: dict, constraint: str) -> None:
    row = {"name": "X", "client_id": 1}

    one = api("root").post("/buildings", {**row, **values})
    several = api("root").post("/buildings", [{**row, **dict.fromkeys(values)}, {**row, **values}])
    changed = api("root").patch("/buildings?id=eq.1", values)

    assert one.refusal[:2] == several.refusal[:2] == changed.refusal[:2] == (400, "23514")
    assert constraint in one.message
    assert constraint in changed.message
    assert several.json["details"] == f"row 2, column {constraint.removeprefix('buildings_').removesuffix('_check')}"
