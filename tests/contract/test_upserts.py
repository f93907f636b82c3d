"""Upserts and PUT: conflict targets, statuses and the order of checks."""

from collections.abc import Callable

import pytest

from tests.contract.test_attacks_writes import NEW_BUILDING, unchanged_after


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
