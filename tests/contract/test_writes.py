"""Responses of writes compared with PostgREST: statuses, single objects, PUT and the order of checks."""

from collections.abc import Callable
from pathlib import Path

import pytest

from routes.postgrest import representation
from tests.conftest import MOE, ROOT
from tests.contract.test_attacks_writes import NEW_BUILDING, unchanged_after
from tests.support import databases
from tests.support.signin import open_service

SINGULAR = "application/vnd.pgrst.object+json"
TWO = "/inspections?id=in.(1,2)"
NONE = "/inspections?id=eq.999"

# method, path, body: writes of two rows, and of none
NOT_ONE = [
    ("POST", "/buildings", [NEW_BUILDING] * 2),
    ("POST", "/buildings", []),
    ("PATCH", TWO, {"notes": "x"}),
    ("PATCH", NONE, {"notes": "x"}),
    ("PATCH", "/inspections?id=eq.1", {}),
    ("DELETE", TWO, None),
    ("DELETE", NONE, None),
]


DEEP = "[" * 3_000 + "]" * 3_000
STRIPPED = "application/vnd.pgrst.array+json;nulls=stripped"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/inspections?select=notes::json", {"building_id": 1, "inspection_type": "x"}),
        ("PATCH", "/inspections?id=eq.1&select=notes::json", {}),
    ],
)
@pytest.mark.parametrize("is_known", [False, True], ids=["new", "known"])
def test_response_too_deep_rolls_back(api: Callable, method: str, path: str, body: dict, is_known: bool) -> None:
    """SQLite refuses to parse the JSON. PostgreSQL parses it, and Python's recursion limit refuses it."""
    deep = {**body, "notes": DEEP}
    if is_known:
        assert api("root").patch("/inspections?id=eq.2", {"notes": "x"}).status == 204

    response = unchanged_after(api, "root", method, path, deep, accept=STRIPPED, prefer="return=representation")

    code = "22P02" if databases.SERVER is None else "54001"
    assert (response.status, response.code) == (400, code)


@pytest.mark.parametrize("accept", [STRIPPED, "text/csv"])
@pytest.mark.parametrize("number", ["1" * 5_000, "[1e999]"], ids=["long", "large"])
def test_response_number_too_large_rolls_back(api: Callable, accept: str, number: str) -> None:
    """JSON and PostgreSQL do not limit numbers; SQLite does not parse such long ones."""
    path = "/inspections?id=eq.1&select=notes::json"
    code = "22P02" if databases.SERVER is None and number[0] == "1" else "22003"

    changed = unchanged_after(
        api, "root", "PATCH", path, {"notes": number}, accept=accept, prefer="return=representation"
    )
    assert api("root").patch("/inspections?id=eq.1", {"notes": number}).status == 204
    read = api("root").get(path, accept=accept)

    assert (changed.status, changed.code) == (read.status, read.code) == (400, code)


@pytest.mark.parametrize("accept", [STRIPPED, "text/csv"])
def test_lone_surrogate_in_json_stays_escaped(api: Callable, accept: str) -> None:
    """A text column cannot hold a lone surrogate, but a value cast to JSON can. UTF-8 cannot encode it."""
    path, text = "/inspections?id=eq.1&select=notes::json", '["\\ud83d", "\\ud83d\\ude00"]'

    changed = api("root").patch(path, {"notes": text}, accept=accept, prefer="return=representation")
    read = api("root").get(path, accept=accept)

    assert (changed.status, read.status) == (200, 200)
    assert changed.text == read.text
    assert "\\ud83d" in read.text
    assert "\U0001f600" in read.text


def test_failing_null_stripping_rolls_back(api: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_recursion_error(value: object) -> object:
        raise RecursionError

    monkeypatch.setattr(representation, "drop_nulls", raise_recursion_error)

    response = unchanged_after(
        api, "root", "POST", "/buildings", NEW_BUILDING, accept=STRIPPED, prefer="return=representation"
    )  # fmt: skip

    assert response.refusal == (400, "54001", "a row is nested too deep for this format")


@pytest.mark.parametrize("prefer", [None, "return=minimal", "return=representation"])
@pytest.mark.parametrize(("method", "path", "body"), NOT_ONE)
def test_single_object_refuses_zero_or_two_rows(
    api: Callable, method: str, path: str, body: object, prefer: str | None
) -> None:
    response = unchanged_after(api, "root", method, path, body, accept=SINGULAR, prefer=prefer)

    assert (response.status, response.code) == (406, "PGRST116")


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/buildings", NEW_BUILDING, 201),
        ("PATCH", "/inspections?id=eq.1", {"notes": "x"}, 204),
        ("DELETE", "/inspections?id=eq.1", None, 204),
    ],
)
def test_single_object_accepts_one_row_without_representation(
    api: Callable, method: str, path: str, body: object, status: int
) -> None:
    response = api("root").send(method, path, body, accept=SINGULAR)

    assert (response.status, response.text) == (status, "")


@pytest.mark.parametrize("body", [[], [NEW_BUILDING]], ids=["no row", "a row"])
@pytest.mark.parametrize("resolution", ["merge-duplicates", "ignore-duplicates"])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("on_conflict=nope", (400, "42703")),
        ("on_conflict=name", (400, "42P10")),
        ("on_conflict=name&select=nope(*)", (400, "PGRST200")),
    ],
)
def test_on_conflict_is_validated_without_rows(
    api: Callable, body: list, resolution: str, query: str, expected: tuple[int, str]
) -> None:
    """PostgREST always sends the statement to the database."""
    prefer = f"resolution={resolution}"
    response = unchanged_after(api, "root", "POST", f"/buildings?{query}", body, prefer=prefer)

    assert (response.status, response.code) == expected


@pytest.mark.parametrize("prefer", [None, "return=representation"])
def test_on_conflict_is_ignored_without_resolution(api: Callable, prefer: str | None) -> None:
    assert api("root").send("POST", "/buildings?on_conflict=nope", [], prefer=prefer).status == 201


MERGE = "resolution=merge-duplicates"
MERGED = {"id": 1, "name": "Merged", "client_id": 1}
FRESH = {"id": 600, "name": "Fresh", "client_id": 1}


@pytest.mark.parametrize("wanted", ["", ", return=minimal", ", return=representation"])
@pytest.mark.parametrize(
    ("body", "status"),
    [(MERGED, 200), ([MERGED, FRESH], 201), (FRESH, 201), ([], 200)],
    ids=["merged", "both", "made", "nothing"],
)
def test_upsert_without_new_rows_is_200(api: Callable, body: object, status: int, wanted: str) -> None:
    response = api("root").post("/buildings", body, prefer=MERGE + wanted)

    assert response.status == status


@pytest.mark.parametrize("body", [MERGED, FRESH, []], ids=["there", "made", "nothing"])
def test_upsert_ignoring_duplicates_is_201(api: Callable, body: object) -> None:
    response = api("root").post("/buildings", body, prefer="resolution=ignore-duplicates")

    assert (response.status, response.text) == (201, "")


def test_duplicate_row_in_payload_is_ignored(api: Callable) -> None:
    """Only a merge cannot affect a row twice."""
    first, second = {**FRESH, "name": "First"}, {**FRESH, "name": "Second"}

    response = api("root").post(
        "/buildings?select=id,name", [first, second], prefer="resolution=ignore-duplicates, return=representation"
    )

    assert (response.status, response.json) == (201, [{"id": 600, "name": "First"}])
    assert api("root").get("/buildings?id=eq.600&select=name").json == [{"name": "First"}]


PUT = {"id": 1, "name": "Put", "client_id": 1}
REPRESENTED = "return=representation"


@pytest.mark.parametrize("query", ["limit=1", "offset=1", "limit=0", "limit=1&offset=0"])
@pytest.mark.parametrize("body", [PUT, "{"], ids=["row", "no-json"])
def test_put_refuses_limit_and_offset(api: Callable, query: str, body: object) -> None:
    response = unchanged_after(api, "root", "PUT", f"/buildings?id=eq.1&{query}", body)

    assert response.refusal == (400, "PGRST114", "limit/offset querystring parameters are not allowed for PUT")


@pytest.mark.parametrize("query", ["offset=0", "order=id", "columns=id,name", "on_conflict=name"])
def test_put_writes_all_columns(api: Callable, query: str) -> None:
    response = api("root").put(f"/buildings?id=eq.1&{query}&select=name,city", PUT, prefer=REPRESENTED)

    assert (response.status, response.json) == (200, [{"name": "Put", "city": "Boston"}])


# the order in which errors of a PUT are reported
WRONG_PUTS = [
    ("id=gt.1", "{", 400, "PGRST102"),
    ("id=gt.1", [PUT, {"id": 1}], 400, "PGRST102"),
    ("id=gt.1", {**PUT, "nope": 1}, 405, "PGRST105"),
    ("id=eq.2", {**PUT, "nope": 1}, 400, "PGRST204"),
    ("id=eq.1", {"name": "Put", "nope": 1}, 400, "PGRST204"),
    ("id=eq.1", {"name": "Put", "client_id": 1}, 400, "42703"),
    ("id=eq.x", PUT, 400, "22P02"),
    ("id=eq.2", PUT, 400, "PGRST115"),
    ("id=eq.2", {**PUT, "name": None}, 400, "PGRST115"),
]


@pytest.mark.parametrize(("query", "body", "status", "code"), WRONG_PUTS)
def test_put_validation_order(api: Callable, query: str, body: object, status: int, code: str) -> None:
    response = unchanged_after(api, "root", "PUT", f"/buildings?{query}", body)

    assert (response.status, response.code) == (status, code)


def test_id_cannot_be_set_to_null(api: Callable) -> None:
    response = unchanged_after(api, "root", "PATCH", "/buildings?id=eq.6", {"id": None})

    assert response.refusal == (
        400,
        "23502",
        'null value in column "id" of relation "buildings" violates not-null constraint',
    )


@pytest.mark.parametrize("value", [0, -1, 2**52 + 1, 2**63 - 1])
def test_changed_id_stays_within_limits(api: Callable, value: int) -> None:
    response = unchanged_after(api, "root", "PATCH", "/buildings?id=eq.6", {"id": value})

    assert (response.status, response.code) == (400, "22003")


def test_id_in_empty_update_is_not_validated(api: Callable) -> None:
    assert api("root").patch("/buildings?id=eq.999", {"id": None}).status == 204


LISTED = "/buildings?columns=id,name,client_id&select=name"


@pytest.mark.parametrize("body", [NEW_BUILDING, [NEW_BUILDING] * 2], ids=["one", "two"])
def test_id_listed_in_columns_is_null_if_missing(api: Callable, body: object) -> None:
    response = unchanged_after(api, "root", "POST", LISTED, body, prefer=REPRESENTED)

    assert (response.status, response.code) == (400, "23502")


def test_missing_listed_id_counts_as_chosen(api: Callable) -> None:
    body = {"name": "N", "client_id": 2}

    refused = unchanged_after(api, "ada", "POST", LISTED, body)
    merged = unchanged_after(api, "ada", "POST", LISTED, body, prefer=MERGE)

    assert (refused.code, merged.code) == ("428C9", "428C9")


def test_missing_listed_id_is_generated_with_missing_default(api: Callable) -> None:
    response = api("root").post(LISTED, [NEW_BUILDING] * 2, prefer="return=representation, missing=default")

    assert (response.status, response.json) == (201, [{"name": "New"}] * 2)


@pytest.mark.parametrize("row", [{"id": 1}, {"id": 1, "name": "N"}, {"id": 1, "client_id": 1}])
def test_row_without_required_column_is_not_ignored(api: Callable, row: dict) -> None:
    response = unchanged_after(api, "root", "POST", "/buildings", row, prefer="resolution=ignore-duplicates")

    assert (response.status, response.code) == (400, "23502")


@pytest.mark.parametrize(("who", "status", "code"), [("root", 400, "23502"), ("ada", 403, "42501")])
def test_grant_without_grantee_is_refused(api: Callable, who: str, status: int, code: str) -> None:
    body = {"manager_id": None, "building_id": 2}

    response = unchanged_after(api, who, "POST", "/client_manager_building_access", body)

    assert (response.status, response.code) == (status, code)


# column, JSON text of the value, code, what the message quotes
NO_SUCH_VALUES = [
    ("date_visited", "true", "22007", "true"),
    ("date_visited", "1.5", "22007", "1.5"),
    ("date_visited", "[]", "22007", "[]"),
    ("date_visited", '"2025-07-01T25:00:00Z"', "22008", "2025-07-01T25:00:00Z"),
    ("date_visited", '"2025-07-01T10:00:00+25:00"', "22009", "2025-07-01T10:00:00+25:00"),
    ("created_at", "1751364000", "22007", "1751364000"),
    ("created_at", '{"a": [1]}', "22007", '{"a": [1]}'),
    ("created_at", '"2025-07-01T10:00:00+16:00"', "22009", "2025-07-01T10:00:00+16:00"),
    ("created_at", '"2025-07-01T10:00:00+05:60"', "22009", "2025-07-01T10:00:00+05:60"),
    ("created_at", '"2025-07-01T24:00:01Z"', "22008", "2025-07-01T24:00:01Z"),
    ("created_at", '"2025-07-01T23:60:00Z"', "22008", "2025-07-01T23:60:00Z"),
    ("created_at", '"2025-07-01T10:00:61Z"', "22008", "2025-07-01T10:00:61Z"),
    ("created_at", '"9999-12-31T23:59:60Z"', "22008", "9999-12-31T23:59:60Z"),
    ("inspector_id", "[1]", "22P02", "[1]"),
    ("inspector_id", "{}", "22P02", "{}"),
]


@pytest.mark.parametrize(("column", "text", "code", "shown"), NO_SUCH_VALUES)
def test_invalid_value_message_matches_postgresql(api: Callable, column: str, text: str, code: str, shown: str) -> None:
    body = f'{{"building_id": 1, "inspection_type": "x", "{column}": {text}}}'

    response = unchanged_after(api, "root", "POST", "/inspections", body)

    assert (response.status, response.code) == (400, code)
    assert response.json["message"].endswith(f'"{shown}"')


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2025-07-01T24:00:00Z", "2025-07-02T00:00:00+00:00"),
        ("2025-12-31T23:59:60Z", "2026-01-01T00:00:00+00:00"),
        ("2025-07-01T10:00:60.5+02:00", "2025-07-01T08:01:00.5+00:00"),
        ("2025-07-01t10:00:00z", "2025-07-01T10:00:00+00:00"),
    ],
)
def test_timestamp_accepts_24_00_and_leap_second(api: Callable, text: str, moment: str) -> None:
    response = api("root").post("/clients?select=created_at", {"name": "N", "created_at": text}, prefer=REPRESENTED)

    assert (response.status, response.json) == (201, [{"created_at": moment}])


@pytest.mark.parametrize("body", [[], "{", "5"], ids=["none", "no-json", "no-rows"])
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/inspections?columns=status,nope"), ("PATCH", "/inspections?id=eq.1&columns=nope")]
)
def test_unknown_column_precedes_body_errors(api: Callable, method: str, path: str, body: object) -> None:
    response = unchanged_after(api, "root", method, path, body)

    assert (response.status, response.code) == (400, "PGRST204")


# an invalid representation, and another error of the write
INVALID_REPRESENTATIONS = [("nope", "42703"), ("nope(id)", "PGRST200"), ("users(name)", "PGRST201")]


@pytest.mark.parametrize(("select", "code"), INVALID_REPRESENTATIONS)
@pytest.mark.parametrize(
    ("method", "query", "body"),
    [
        ("POST", "", {"building_id": 4, "inspection_type": "x"}),
        ("POST", "", {"building_id": 1}),
        ("PATCH", "id=eq.1&", {"building_id": 4}),
        ("PATCH", "id=eq.999&", {"building_id": 4}),
        ("DELETE", "id=in.(1,2)&", None),
        ("POST", "", []),
        ("PATCH", "id=eq.1&", {}),
    ],
)
def test_unreadable_representation_is_refused_before_writing(
    api: Callable, method: str, query: str, body: object, select: str, code: str
) -> None:
    path = f"/inspections?{query}select=id,{select}"

    response = unchanged_after(api, "ada", method, path, body, prefer=REPRESENTED, accept=SINGULAR)

    assert response.code == code


@pytest.mark.parametrize("prefer", [None, "return=minimal", "return=headers-only"])
@pytest.mark.parametrize(
    ("embed", "code"),
    [
        ("nope(id)", "PGRST200"),
        ("buildings(name,nope(id))", "PGRST200"),
        ("users(name)", "PGRST201"),
        ("...reports_lead(count())", "PGRST127"),
    ],
)
@pytest.mark.parametrize(
    ("method", "query", "body"),
    [
        ("POST", "", {"building_id": 1, "inspection_type": "x"}),
        ("POST", "", []),
        ("PATCH", "id=eq.1&", {"status": "x"}),
        ("PATCH", "id=eq.1&", {}),
        ("DELETE", "id=in.(1,2)&", None),
    ],
)
def test_unknown_relationship_is_refused_without_representation(
    api: Callable, method: str, query: str, body: object, embed: str, code: str, prefer: str | None
) -> None:
    path = f"/inspections?{query}select=id,{embed}"

    response = unchanged_after(api, "ada", method, path, body, prefer=prefer)

    assert response.code == code


@pytest.mark.parametrize(
    ("who", "path", "column", "refusal"),
    [
        ("root", f"/client_manager_inspection_access?manager_id=eq.{MOE}", "manager_id", "23502"),
        ("root", "/client_admin_building_access?building_id=eq.1", "admin_id", "23502"),
        ("root", "/inspections?id=eq.1", "inspection_type", "23502"),
        ("ada", "/inspections?id=eq.1", "building_id", "42501"),
        ("ada", "/inspections?id=eq.1", "inspection_type", "23502"),
    ],
)
def test_required_column_cannot_be_set_to_null(api: Callable, who: str, path: str, column: str, refusal: str) -> None:
    response = unchanged_after(api, who, "PATCH", path, {column: None})

    assert response.code == refusal


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_inner_embed_does_not_filter_written_rows(api: Callable, method: str) -> None:
    key, body = ("id=eq.600&", FRESH) if method == "PUT" else ("", NEW_BUILDING)
    path = f"/buildings?{key}select=name,inspections!inner(id)"

    response = api("root").send(method, path, body, prefer=REPRESENTED)

    assert response.status in (200, 201)
    assert response.json == [{"name": body["name"], "inspections": []}]


@pytest.mark.parametrize(("target", "code"), [("nope", "42703"), ("name", "42P10")])
def test_invalid_key_precedes_value_errors(api: Callable, target: str, code: str) -> None:
    body = {"id": "x", "name": "N", "client_id": 999}

    response = unchanged_after(api, "root", "POST", f"/buildings?on_conflict={target}", body, prefer=MERGE)

    assert (response.status, response.code) == (400, code)


# ── rows that name an id beside rows that do not ─────────────────────────────────────────────────────────

DEFAULTS = "return=representation, missing=default"
TWO_NEW = [{"name": "B", "client_id": 1}, {"name": "C", "client_id": 1}]


@pytest.mark.parametrize("who", ["root", "ada"])
@pytest.mark.parametrize("new", [TWO_NEW, TWO_NEW[:1]], ids=["two-new", "one-new"])
def test_merge_inserts_rows_without_id(api: Callable, who: str, new: list) -> None:
    body = [{"id": 1, "name": "A", "client_id": 1}, *new]

    response = api(who).post("/buildings?columns=id,name,client_id&select=id,name", body, prefer=f"{MERGE}, {DEFAULTS}")

    assert response.status == 201, response.text
    assert [row["name"] for row in response.json] == [row["name"] for row in body]
    assert [row["id"] for row in response.json] == [1, *range(7, 7 + len(new))]


@pytest.mark.parametrize("prefer", [DEFAULTS, f"{DEFAULTS}, resolution=ignore-duplicates"])
def test_insert_accepts_rows_with_and_without_id(api: Callable, prefer: str) -> None:
    body = [{"id": 900, "name": "A", "client_id": 1}, *TWO_NEW]

    response = api("root").post("/buildings?columns=id,name,client_id&select=id", body, prefer=prefer)

    assert (response.status, response.json) == (201, [{"id": 900}, {"id": 901}, {"id": 902}])


def test_id_choice_is_refused_beside_rows_without_id(api: Callable) -> None:
    for merge in ("", f", {MERGE}"):
        body = [{"id": 900, "name": "A", "client_id": 1}, *TWO_NEW]
        response = unchanged_after(
            api, "ada", "POST", "/buildings?columns=id,name,client_id", body,
            prefer="missing=default" + merge,
        )  # fmt: skip

        assert (response.status, response.code) == (400, "428C9")


@pytest.mark.parametrize("column", ["id", "created_at", "updated_at"])
def test_generated_column_error_matches_postgresql(api: Callable, column: str) -> None:
    value = 1 if column == "id" else "2020-01-01"

    made = unchanged_after(api, "ada", "POST", "/buildings", {"name": "N", "client_id": 1, column: value})
    changed = unchanged_after(api, "ada", "PATCH", "/buildings?id=eq.1", {column: value})

    assert made.message == f'cannot insert a non-DEFAULT value into column "{column}"'
    assert changed.message == f'column "{column}" can only be updated to DEFAULT'


def test_merging_a_row_twice_is_refused(api: Callable) -> None:
    body = [MERGED, *TWO_NEW, MERGED]
    response = unchanged_after(
        api, "root", "POST", "/buildings?columns=id,name,client_id", body,
        prefer=f"missing=default, {MERGE}",
    )  # fmt: skip

    assert (response.status, response.code) == (400, "21000")


def test_missing_listed_id_is_not_chosen_with_missing_default(api: Callable) -> None:
    for prefer in ("missing=default", f"missing=default, {MERGE}"):
        response = api("ada").post(LISTED, TWO_NEW, prefer=prefer)

        assert response.status == 201, response.text


# ── what a change fills by itself ────────────────────────────────────────────────────────────────────────

GRANT = f"/client_manager_building_access?manager_id=eq.{MOE}&building_id=eq.1"


def test_update_sets_missing_listed_column_to_default(api: Callable) -> None:
    old = api("root").patch(GRANT, {"assigned_at": "2001-01-01T00:00:00Z"})
    response = api("root").patch(
        f"{GRANT}&columns=assigned_at,assigned_by&select=assigned_at,assigned_by", {}, prefer=DEFAULTS
    )

    assert (old.status, response.status) == (204, 200)
    (row,) = response.json
    assert row["assigned_at"] > "2026"
    assert row["assigned_by"] == ROOT


def test_update_sets_missing_listed_column_to_null(api: Callable) -> None:
    response = api("root").patch("/buildings?id=eq.1&columns=floors&select=floors", {}, prefer=REPRESENTED)

    assert (response.status, response.json) == (200, [{"floors": None}])


# ── ids that are changed ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "made",
    [
        ("/buildings", {"name": "N", "client_id": 1}),
        ("/clients", {"name": "N"}),
        ("/inspectors", {"name": "N"}),
        ("/inspections", {"building_id": 1, "inspection_type": "fire"}),
        ("/reports_lead", {"inspection_id": 2, "gun_id": 1}),
    ],
    ids=lambda made: made[0],
)
@pytest.mark.parametrize("stays", [True, False], ids=["stays", "deleted"])
def test_changed_id_is_not_generated_again(api: Callable, made: tuple, stays: bool) -> None:
    path, body = made
    root = api("root")
    prefer = REPRESENTED
    first = root.post(f"{path}?select=id", body, prefer=prefer).json[0]["id"]
    assert root.patch(f"{path}?id=eq.{first}", {"id": first + 5}).status == 204
    if not stays:
        assert root.delete(f"{path}?id=eq.{first + 5}").status == 204

    response = root.post(f"{path}?select=id", body, prefer=prefer)

    assert (response.status, response.json) == (201, [{"id": first + 6}])


# ── more rows than a response holds ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/inspections?id=gt.0&select=id&order=id", {"notes": "x"}),
        ("DELETE", "/reports_lead?id=gt.0&select=id&order=id", None),
        ("POST", "/inspectors?select=id", [{"name": "N"}] * 5),
    ],
)
@pytest.mark.parametrize("count", ["", ", count=exact"])
def test_truncated_representation_has_content_range(
    tmp_path: Path, method: str, path: str, body: object, count: str
) -> None:
    small = open_service(tmp_path, MAX_ROWS=2)
    total = len(body) if isinstance(body, list) else None
    if total is None:
        relation = path.partition("?")[0]
        total = int(small.api("root").get(relation, prefer="count=exact").headers["Content-Range"].split("/")[1])

    response = small.api("root").send(method, path, body, prefer=REPRESENTED + count)

    assert total > 2
    assert response.status in (200, 201)
    assert len(response.json) == 2
    assert response.headers["Content-Range"] == f"0-1/{total}"


@pytest.mark.parametrize("row", ["/buildings?id=eq.1", "/inspections?id=eq.2", "/clients?id=eq.1"])
def test_referenced_id_cannot_change(api: Callable, row: str) -> None:
    """Otherwise the referencing rows would change, with the derived client column."""
    response = unchanged_after(api, "root", "PATCH", row, {"id": 4_321})

    assert (response.status, response.code) == (409, "23503")


def test_referencing_table_is_reported(api: Callable) -> None:
    """This includes foreign keys that a deletion sets to null."""
    response = unchanged_after(api, "root", "PATCH", "/inspectors?id=eq.1", {"id": 50})

    assert (response.status, response.code) == (409, "23503")
    assert response.json["details"] == 'Key (id)=(1) is still referenced from table "inspections".'


def test_referenced_id_may_be_set_to_itself(api: Callable) -> None:
    assert api("root").patch("/inspections?id=eq.2", {"id": 2, "notes": "x"}).status == 204


def test_unique_violation_precedes_foreign_key_violation(api: Callable) -> None:
    response = unchanged_after(api, "root", "PATCH", "/buildings?id=eq.1", {"id": 2})

    assert (response.status, response.code) == (409, "23505")


@pytest.mark.parametrize("order", ["name->a", "name->>a.desc", "clients(name->a).nullsfirst"])
def test_order_of_write_by_json_path_is_ignored(api: Callable, order: str) -> None:
    """No column is JSON, and a path into any other type is null."""
    asked = "/buildings?select=id,clients(name),inspections(id)&inspections.order=notes->a"

    response = api("root").get(f"{asked}&order={order}")

    assert response.status == 200
    ids = [row["id"] for row in response.json]
    assert ids == sorted(ids, reverse=order.endswith("desc"))
