"""Responses of writes compared with PostgREST: statuses, single objects and the order of checks."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import MOE
from tests.contract.test_attacks_writes import NEW_BUILDING, unchanged_after
from tests.contract.test_upserts import FRESH, MERGE, REPRESENTED
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


STRIPPED = "application/vnd.pgrst.array+json;nulls=stripped"


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
