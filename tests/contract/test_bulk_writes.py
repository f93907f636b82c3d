"""A bulk write is one statement with the effects and errors of single writes."""

import json
import random
from collections.abc import Callable

import pytest

from engine.query.write import insert
from engine.storage.transaction import SqliteTransaction
from postgres.transaction import ServerTransaction
from tests.conftest import ADA, BOB, DATASET, MAX, MIA, MOE, uuid
from tests.contract.test_attacks_writes import unchanged_after
from tests.support import databases

MERGE = "resolution=merge-duplicates"
CLOCKS = ("created_at", "updated_at", "assigned_at")


def test_bulk_insert_equals_single_inserts(api: Callable) -> None:
    """One statement reads a thousand rows from JSON. It keeps the digits of numbers and the order of rows."""
    draw = random.Random(7)
    numbers = [5e-324, -0.0, 179.99999999999997, 0.1 + 0.2, -73.98565499999999, 1e-22, 123.45678901234567]
    numbers += [draw.uniform(-180, 180) for _ in range(993)]
    texts = ['"quoted"', "back\\slash", "{[,]}", "ünïcödé \N{BUILDING CONSTRUCTION}", "NULL", "null", "", " ", "1e5"]
    rows = [
        {
            "name": f"{texts[place % len(texts)]} {place}",
            "city": texts[place % len(texts)] if place % 3 else None,
            "client_id": 1,
            "longitude": number,
            "floors": place if place % 2 else None,
        }
        for place, number in enumerate(numbers)
    ]
    select = "select=name,city,client_id,longitude,floors"

    together = api("root").post(f"/buildings?{select},id", rows, prefer="return=representation")

    assert together.status == 201
    stored = together.json
    ids = [row.pop("id") for row in stored]
    assert stored == rows
    assert ids == list(range(ids[0], ids[0] + 1_000))
    for place in (*range(20), 999):
        path = f"/buildings?{select}"
        alone = api("root").post(path, rows[place], prefer="return=representation")
        assert repr(alone.json) == repr([stored[place]])
    lines = api("root").get(f"/audit_log?select=after&relation=eq.buildings&row_key=eq.{ids[500]}")
    assert [line["after"]["name"] for line in lines.json] == [rows[500]["name"]]
    trail = api("root").get(
        "/audit_log?select=row_key&relation=eq.buildings&action=eq.insert&order=id.desc&limit=1000&offset=21"
    )
    assert [int(line["row_key"]) for line in trail.json] == ids[::-1]


# who, path, rows, preference
BULK_WRITES = {
    "new": ("root", "/buildings", [{"name": "a", "client_id": 1}, {"name": "b", "client_id": 2}], None),
    "new-by-an-admin": (
        "ada",
        "/inspections",
        [{"building_id": 1, "inspection_type": "x"}, {"building_id": 2, "inspection_type": "y"}],
        None,
    ),
    "new-users": (
        "root",
        "/users",
        [
            {"id": uuid("71"), "email": "a@x.example", "name": "a", "role": "client_manager", "client_id": 1},
            {"id": uuid("72"), "email": "b@x.example", "name": "b", "role": "super_admin", "client_id": None},
        ],
        None,
    ),
    "grants-by-an-admin": (
        "ada",
        "/client_manager_building_access",
        [{"manager_id": MIA, "building_id": 2}, {"manager_id": MOE, "building_id": 3}],
        None,
    ),
    "grants-over-clients": (
        "root",
        "/client_admin_building_access",
        [{"admin_id": BOB, "building_id": 1}, {"admin_id": ADA, "building_id": 4}],
        None,
    ),
    "grants-of-inspections": (
        "root",
        "/client_manager_inspection_access",
        [{"manager_id": MAX, "inspection_id": 1}, {"manager_id": MOE, "inspection_id": 6}],
        None,
    ),
    "merged": (
        "root",
        "/buildings",
        [
            {"id": 1, "name": "Renamed", "city": "Elsewhere", "client_id": 1},
            *({"id": n, "name": f"new {n}", "city": None, "client_id": 2} for n in range(900, 1_000)),
            {"id": 4, "name": "Moved", "city": None, "client_id": 1},
        ],
        MERGE,
    ),
    "merged-by-an-admin": (
        "ada",
        "/inspections",
        [
            {"id": 1, "building_id": 2, "inspection_type": "annual", "notes": "here"},
            {"id": 2, "building_id": 1, "inspection_type": "lead", "notes": "there"},
        ],
        MERGE,
    ),
    "merged-to-another-client": (
        "root",
        "/reports_lead",
        [{"id": 1, "inspection_id": 6, "gun_id": 1}, {"id": 3, "inspection_id": 1, "gun_id": 3}],
        MERGE,
    ),
    "merged-users": (
        "root",
        "/users?on_conflict=email",
        [
            {"email": "moe@acme.example", "name": "M", "role": "client_manager", "client_id": 2},
            {"email": "mia@acme.example", "name": "N", "role": "client_manager", "client_id": 1},
        ],
        MERGE,
    ),
    "merged-grants": (
        "root",
        "/client_manager_building_access",
        [{"manager_id": MOE, "building_id": 1}, {"manager_id": MIA, "building_id": 1}],
        MERGE,
    ),
}  # fmt: skip


def without_clocks(row: dict | None) -> dict | None:
    return row and {name: value for name, value in row.items() if name not in CLOCKS}


def written(api: Callable, who: str, path: str, bodies: list, prefer: str | None) -> list:
    """Return the response, the stored rows and the audit log."""
    wanted = ", ".join(filter(None, (prefer, "return=representation")))
    answered = []
    for body in bodies:
        answer = api(who).post(path, body, prefer=wanted)
        assert answer.status in (200, 201), answer.text
        answered += answer.json
    stored = api("root").get(path.partition("?")[0]).json
    lines = api("root").get("/audit_log?select=action,relation,row_key,client_id,actor_id,before,after").json
    for line in lines:
        line.update({side: without_clocks(line[side]) for side in ("before", "after")})
    return [
        sorted(json.dumps(row, sort_keys=True) for row in rows)
        for rows in (map(without_clocks, answered), map(without_clocks, stored), lines)
    ]


@pytest.mark.parametrize(("who", "path", "rows", "prefer"), BULK_WRITES.values(), ids=BULK_WRITES)
def test_bulk_write_response_equals_single_writes(
    world: Callable, who: str, path: str, rows: list, prefer: str | None
) -> None:
    together, alone = (world(json.loads(DATASET.read_text())) for _ in range(2))

    assert written(together, who, path, [rows], prefer) == written(alone, who, path, [[row] for row in rows], prefer)


BUILDING = {"name": "x", "client_id": 1}
INVALID_VALUES = {
    "foreign-key": ({"id": 905, "name": "x", "client_id": 77}, 409, "23503", "(client_id)=(77)"),
    "null": ({"id": 905, "name": None, "client_id": 1}, 400, "23502", None),
}


@pytest.mark.parametrize("prefer", [None, MERGE])
@pytest.mark.parametrize(("bad", "status", "code", "said"), INVALID_VALUES.values(), ids=INVALID_VALUES)
def test_failing_row_is_named_and_nothing_is_written(
    api: Callable, bad: dict, status: int, code: str, said: str | None, prefer: str | None
) -> None:
    rows = [{"id": number, **BUILDING} for number in range(900, 905)] + [bad]

    response = unchanged_after(api, "root", "POST", "/buildings", rows, prefer=prefer)

    assert (response.status, response.code) == (status, code)
    assert said is None or said in response.json["details"]


def test_first_failing_row_is_reported(api: Callable) -> None:
    """The first row is reported even if a later row fails in an earlier column."""
    rows = [
        {"building_id": 1, "inspection_type": "annual", "date_visited": "2026-01-02", "inspector_id": 1},
        {"building_id": 1, "inspection_type": "annual", "date_visited": "2026-01-03", "inspector_id": "x"},
        {"building_id": "y", "inspection_type": "annual", "date_visited": "2026-01-04", "inspector_id": 1},
    ]  # fmt: skip

    expected = api("root").post("/inspections", rows)

    assert (expected.status, expected.json["code"]) == (400, "22P02")
    assert expected.json["message"].endswith('"x"')


def test_equal_values_of_different_types_are_converted_separately(api: Callable) -> None:
    """Python's dictionaries treat 1, 1.0 and true as equal keys."""
    texts = ["1", "1.0", "true", "1", "1.0"]
    rows = [{"name": text, "client_id": 1, "floors": 1, "latitude": 1} for text in texts]
    rows[1]["floors"], rows[2]["latitude"], rows[3]["latitude"] = "1", 1.0, "1"
    select = "/buildings?select=name,floors,latitude"

    expected = api("root").post(select, rows, prefer="return=representation")

    assert [row["name"] for row in expected.json] == texts
    assert {(row["floors"], row["latitude"]) for row in expected.json} == {(1, 1)}
    rows[4]["floors"] = True
    refused = api("root").post(select, rows)
    assert (refused.status, refused.json["code"]) == (400, "22P02")


def test_constant_column_is_bound_once(api: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """The write's timestamp is not part of the JSON rows."""
    travelled = []
    spell = insert.to_json
    monkeypatch.setattr(insert, "to_json", lambda given: travelled.append(given) or spell(given))
    body = [{"building_id": 1, "inspection_type": name} for name in ("annual", "fire")]

    stored = api("root").post("/inspections?select=*", body, prefer="return=representation").json

    assert travelled == [[(1, "annual"), (1, "fire")]]
    assert [row["inspection_type"] for row in stored] == ["annual", "fire"]
    assert len({row[name] for row in stored for name in ("created_at", "updated_at")}) == 1


@pytest.mark.parametrize("columns", ["name", "name,city"])
def test_missing_column_in_all_rows_gets_default(api: Callable, columns: str) -> None:
    named = [{"name": "A", "city": "Bern"}, {"name": "B"}, {"name": "C"}]
    rows = [{"client_id": 1, **row} for row in named]
    path = f"/buildings?select=name,city&columns=client_id,{columns}"

    expected = api("root").post(path, rows, prefer="return=representation")

    city = "Bern" if "city" in columns else None
    assert expected.json == [{"name": "A", "city": city}, {"name": "B", "city": None}, {"name": "C", "city": None}]


@pytest.mark.parametrize("email", ["bob@borough.example", "Bob@Borough.Example"])
def test_merge_by_key_with_second_unique_conflict_is_refused(api: Callable, email: str) -> None:
    rows = [
        {"id": MOE, "email": "other@acme.example", "name": "m", "role": "client_manager", "client_id": 1},
        {"id": MIA, "email": email, "name": "m", "role": "client_manager", "client_id": 1},
    ]  # fmt: skip

    response = unchanged_after(api, "root", "POST", "/users", rows, prefer=MERGE)

    assert (response.status, response.code) == (409, "23505")


def test_unique_value_freed_by_merge_is_not_reused(api: Callable) -> None:
    """In one statement, the first row could release a unique value that the second row takes, with its
    grants.
    """
    rows = [
        {"id": uuid("91"), "email": "ada@acme.example", "name": "k", "role": "client_admin", "client_id": 1},
        {"id": ADA, "email": "zz@x.example", "name": "k", "role": "client_admin", "client_id": 2},
    ]  # fmt: skip

    response = unchanged_after(api, "root", "POST", "/users?on_conflict=email", rows, prefer=MERGE)

    assert (response.status, response.code) == (400, "23514")


@pytest.mark.parametrize("prefer", [None, MERGE])
def test_timeout_is_reported(api: Callable, monkeypatch: pytest.MonkeyPatch, prefer: str | None) -> None:
    kind = SqliteTransaction if databases.SERVER is None else ServerTransaction
    run = kind.run

    def late(self: SqliteTransaction, sql: str, parameters: object = ()) -> object:
        if sql.startswith("INSERT INTO buildings"):
            (self.connection if databases.SERVER is None else self).deadline = 0.0
        return run(self, sql, parameters)

    monkeypatch.setattr(kind, "run", late)
    rows = [{"id": number, **BUILDING} for number in range(900, 905)]

    response = unchanged_after(api, "root", "POST", "/buildings", rows, prefer=prefer)

    assert (response.status, response.code) == (500, "57014")


@pytest.mark.sqlite("a file that is full; a server's disk is its own")
@pytest.mark.parametrize("prefer", [None, MERGE])
def test_full_disk_is_reported(api: Callable, monkeypatch: pytest.MonkeyPatch, prefer: str | None) -> None:
    run = SqliteTransaction.run

    def full(self: SqliteTransaction, sql: str, parameters: object = ()) -> object:
        if sql.startswith("INSERT INTO buildings"):
            driver = self.connection.driver_connection
            pages = driver.execute("PRAGMA page_count").fetchone()[0]
            driver.execute(f"PRAGMA max_page_count = {pages}")
        return run(self, sql, parameters)

    monkeypatch.setattr(SqliteTransaction, "run", full)
    rows = [{"id": number, **BUILDING, "city": "y" * 3_000} for number in range(900, 1_000)]

    response = unchanged_after(api, "root", "POST", "/buildings", rows, prefer=prefer)

    assert (response.status, response.code) == (503, "53100")


def test_conversion_cache_excludes_doubles() -> None:
    """Doubles accept integers of any length, which can collide as dictionary keys."""
    named = ("name", "floors", "latitude", "client_id")
    sources = insert.row_layout("buildings", named, default_missing=False).sources
    assert [each.is_memoized for each in sources[: len(named)]] == [True, True, False, True]
