"""Writes and ids: rows with and without an id, defaults of listed columns, and changed ids."""

from collections.abc import Callable

import pytest

from tests.conftest import MOE, ROOT
from tests.contract.test_attacks_writes import unchanged_after

MERGE = "resolution=merge-duplicates"
MERGED = {"id": 1, "name": "Merged", "client_id": 1}
REPRESENTED = "return=representation"
LISTED = "/buildings?columns=id,name,client_id&select=name"


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
