"""Attack catalogue, group O: inferring hidden rows without reading them. Marks name the entries.

The *same* response is byte-equal: `Response.whole` holds status, headers and body.
"""

from collections.abc import Callable

import pytest

from engine.interface.database import Database
from tests.conftest import MOE, dump, ids, rule

RESERVED = "428C9"
# query of moe on /inspections, the ids it leaves: hidden building 2 ("Mill Court", client 1, Lowell) decides nothing
THROUGH_EMBEDS = [
    ("select=id,buildings(id)&buildings.name=like.M*&buildings=not.is.null", set()),
    ("select=id,buildings(id)&buildings.name=like.H*&buildings=not.is.null", {1, 2, 9}),
    ("select=id,buildings!inner(id)&buildings.client_id=eq.1", {1, 2, 9}),
    ("select=id,buildings!inner(id)&buildings.city=eq.Lowell", set()),
    ("select=id,buildings!inner(id)&buildings.city=neq.Boston", set()),
    ("select=id,buildings!inner(id)&buildings.id=eq.2", set()),
    ("select=id,buildings(id)&buildings=is.null", {3}),
    ("select=id,...buildings!inner(city)&buildings.city=eq.Lowell", set()),
]


@pytest.mark.parametrize(("query", "left"), THROUGH_EMBEDS, ids=[query for query, _ in THROUGH_EMBEDS])
@pytest.mark.attack(entry="O01")
def test_filters_through_embeds_are_decided_on_visible_rows(api: Callable, query: str, left: set) -> None:
    assert ids(api("moe").get(f"/inspections?{query}")) == left


@pytest.mark.parametrize(
    ("who", "order", "expected"),
    [
        ("moe", "buildings(name).desc,id", [3, 1, 2, 9]),
        ("moe", "buildings(name).asc,id", [1, 2, 9, 3]),
        ("moe", "buildings(name).desc.nullslast,id", [1, 2, 9, 3]),
        ("bob", "buildings(name).asc,id", [6, 7, 8, 3]),
        ("bob", "buildings(name).asc.nullsfirst,id", [3, 6, 7, 8]),
    ],
)
@pytest.mark.attack(entry="O02")
def test_hidden_parent_sorts_as_null(api: Callable, who: str, order: str, expected: list) -> None:
    rows = api(who).get(f"/inspections?select=id,buildings(name)&order={order}").json

    assert [row["id"] for row in rows] == expected


@pytest.mark.parametrize(
    "column", ["password_hash", "client_id", "rowid", "_rowid_", "oid", "ROWID", "ctid", "no_such_column"]
)
@pytest.mark.parametrize(
    "query",
    ["select={}", "{}=eq.1", "{}=is.null", "order={}", "or=({}.eq.1,id.eq.1)", "select={}.max()", "select=a:{}::text"],
)
@pytest.mark.attack(entry="O03")
def test_hidden_column_equals_unknown_column(api: Callable, query: str, column: str) -> None:
    response = api("ada").get("/inspections?" + query.format(column))
    unknown = api("ada").get("/inspections?" + query.format("xyzzy"))

    assert (response.status, response.code) == (400, "42703")
    assert response.message == unknown.message.replace("xyzzy", column)


@pytest.mark.parametrize("count", ["exact", "planned", "estimated"])
@pytest.mark.parametrize(
    ("who", "query", "total"),
    [
        ("moe", "", "4"),
        ("moe", "building_id=eq.2", "1"),
        ("moe", "building_id=eq.4", "0"),
        ("moe", "notes=ilike.*a*", "1"),
        ("ada", "", "7"),
        ("mia", "", "0"),
        ("root", "", "9"),
    ],
)
@pytest.mark.attack(entry="O04")
def test_counts_cover_visible_rows_only(api: Callable, who: str, query: str, total: str, count: str) -> None:
    response = api(who).get(f"/inspections?select=id&{query}", prefer=f"count={count}")

    assert response.total == total


@pytest.mark.attack(entry="O04")
def test_offset_past_the_end_reveals_visible_count_only(api: Callable) -> None:
    response = api("moe").get("/inspections?offset=4", prefer="count=exact")
    beyond = api("moe").get("/inspections?offset=8", prefer="count=exact")

    assert (beyond.status, beyond.code) == (416, "PGRST103")
    assert beyond.headers["Content-Range"] == "*/4"
    assert response.headers["Content-Range"] == "*/4"


CHOSEN = [
    ("/buildings", {"name": "N", "client_id": 1}, "id", (1, 4, 500)),
    ("/inspections", {"building_id": 1, "inspection_type": "x"}, "id", (1, 6, 500)),
    ("/reports_lead", {"inspection_id": 2}, "id", (1, 3, 500)),
]


@pytest.mark.parametrize(("path", "body", "column", "values"), CHOSEN, ids=[line[0] for line in CHOSEN])
@pytest.mark.attack(entry="O05")
def test_chosen_id_gives_the_same_error_if_taken_hidden_or_free(
    api: Callable, path: str, body: dict, column: str, values: tuple
) -> None:
    before = dump(api)

    answers = [api("ada").post(path, {**body, column: value}) for value in values]

    assert [(answer.status, answer.code) for answer in answers] == [(400, RESERVED)] * 3
    assert len({answer.text for answer in answers}) == 1
    assert dump(api) == before


@pytest.mark.parametrize(
    ("column", "value"),
    [("id", 1), ("id", 4), ("id", 500), ("created_at", "2020-01-01T00:00:00Z"), ("updated_at", "2020-01-01T00:00:00Z")],
)
@pytest.mark.attack(entry="O05")
def test_patch_of_a_reserved_column_is_refused(api: Callable, column: str, value: object) -> None:
    before = dump(api)

    response = api("ada").patch("/buildings?id=eq.1", {column: value})

    assert (response.status, response.code) == (400, RESERVED)
    assert dump(api) == before


@pytest.mark.parametrize("column", ["created_at", "updated_at"])
@pytest.mark.attack(entry="O05")
def test_insert_with_a_chosen_time_is_refused(api: Callable, column: str) -> None:
    body = {"name": "N", "client_id": 1, column: "2020-01-01T00:00:00Z"}

    response = api("ada").post("/buildings", body)

    assert (response.status, response.code) == (400, RESERVED)


@pytest.mark.parametrize("door", ["merge", "ignore", "put"])
@pytest.mark.attack(entry="O06")
def test_upsert_of_a_foreign_id_gives_the_same_error(api: Callable, door: str) -> None:
    before = dump(api)

    answers = [upsert(api, door, id_) for id_ in (4, 5, 999)]

    assert [(answer.status, answer.code) for answer in answers] == [(400, RESERVED)] * 3
    assert len({answer.text for answer in answers}) == 1
    assert dump(api) == before


def upsert(api: Callable, door: str, id_: int):
    body = {"id": id_, "name": "Stolen", "client_id": 1}
    if door == "put":
        return api("ada").put(f"/buildings?id=eq.{id_}", body)
    return api("ada").post("/buildings", body, prefer=f"resolution={door}-duplicates")


@pytest.mark.parametrize("door", ["merge", "put"])
@pytest.mark.attack(entry="O06")
def test_upsert_of_an_own_row_merges(api: Callable, door: str) -> None:
    response = upsert(api, door, 1)

    assert response.status in (200, 201, 204)
    assert api("root").get("/buildings?id=eq.1&select=name").json == [{"name": "Stolen"}]


@pytest.mark.parametrize("bad", [4, 5, 999])
@pytest.mark.attack(entry="O06")
def test_one_foreign_id_in_a_bulk_refuses_all(api: Callable, bad: int) -> None:
    rows = [{"id": id_, "name": "Merged", "client_id": 1} for id_ in (1, 2, bad)]
    before = dump(api)

    response = api("ada").post("/buildings", rows, prefer="resolution=merge-duplicates")

    assert (response.status, response.code) == (400, RESERVED)
    assert dump(api) == before


def manager(email: str) -> dict:
    return {"email": email, "name": "X", "role": "client_manager", "client_id": 1}


@pytest.mark.parametrize("email", ["max@borough.example", "bob@borough.example", "root@example.org"])
@pytest.mark.attack(entry="O07")
def test_hidden_email_reveals_only_that_it_exists(api: Callable, email: str) -> None:
    response = api("ada").post("/users", manager(email))

    assert (response.status, response.code, response.json["details"]) == (409, "23505", None)


@pytest.mark.attack(entry="O07")
def test_on_conflict_merges_into_an_own_manager_only(api: Callable) -> None:
    path, prefer = "/users?on_conflict=email", "resolution=merge-duplicates"
    before = dump(api)

    hidden = api("ada").post(path, manager("max@borough.example"), prefer=prefer)
    herself = api("ada").post(path, manager("ada@acme.example"), prefer=prefer)
    assert dump(api) == before
    own = api("ada").post(path, manager("moe@acme.example"), prefer=prefer)

    for refused in (hidden, herself):
        assert (refused.status, refused.code, refused.json["details"]) == (409, "23505", None)
    assert own.status in (200, 201)
    assert api("root").get(f"/users?id=eq.{MOE}&select=name").json == [{"name": "X"}]


@pytest.mark.attack(entry="O07")
def test_email_conflicts_are_limited_to_20_an_hour(api: Callable) -> None:
    statuses = [api("ada").post("/users", manager("max@borough.example")).status for _ in range(21)]

    assert statuses == [409] * 20 + [429]
    assert api("ada").get("/users").status == 200
    own = {"email": "b@borough.example", "name": "B", "role": "client_manager", "client_id": 2}
    assert api("bob").post("/users", own).status == 201


@pytest.mark.parametrize("prefer", [None, "tx=rollback", "return=representation"])
@pytest.mark.attack(entry="O07")
def test_email_conflict_is_counted_under_the_same_writer_lock(
    api: Callable, monkeypatch: pytest.MonkeyPatch, prefer: str | None
) -> None:
    """Otherwise concurrent requests could exceed the limit."""
    turns = []
    for kind in Database.__subclasses__():

        def count_turns(database: Database, *words: float, writing: Callable = kind.writing, **more: float) -> object:
            turns.append(database)
            return writing(database, *words, **more)

        monkeypatch.setattr(kind, "writing", count_turns)
    answers = []
    for number in range(21):
        wanted = manager(f"free{number}@x.example" if number == 7 else "max@borough.example")
        answers.append(api("ada").post("/users", wanted, prefer=prefer).status)

    assert answers == [409] * 7 + [201] + [409] * 13
    assert len(turns) == 21
    for email in ("bob@borough.example", "free@x.example"):
        assert api("ada").post("/users", manager(email)).status == 429


@pytest.mark.attack(entry="O08")
def test_hidden_and_missing_building_give_the_same_error(api: Callable) -> None:
    before = dump(api)

    created = [api("ada").post("/inspections", {"building_id": id_, "inspection_type": "x"}) for id_ in (4, 5, 999)]
    moved = [api("ada").patch("/inspections?id=eq.1", {"building_id": id_}) for id_ in (4, 5, 999)]

    for answers in (created, moved):
        assert answers[0].refusal == rule("inspections")
        assert [answer.whole for answer in answers] == [answers[0].whole] * 3
    assert dump(api) == before


@pytest.mark.attack(entry="O08")
def test_super_admin_gets_the_foreign_key_error(api: Callable) -> None:
    response = api("root").post("/inspections", {"building_id": 999, "inspection_type": "x"})

    assert (response.status, response.code) == (409, "23503")


@pytest.mark.parametrize("prefer", [None, "return=representation", "count=exact"])
@pytest.mark.attack(entry="O09")
def test_hidden_and_missing_rows_give_the_same_response(api: Callable, prefer: str | None) -> None:
    paths = ("/buildings?id=eq.4", "/buildings?id=eq.999")

    changed = [api("ada").patch(path, {"name": "x"}, prefer=prefer).whole for path in paths]
    deleted = [api("ada").delete(path, prefer=prefer).whole for path in paths]
    read = [api("ada").get(path, prefer=prefer).whole for path in paths]

    assert changed[0] == changed[1]
    assert deleted[0] == deleted[1]
    assert read[0] == read[1]
    assert {answer[0] for answer in (*changed, *deleted, *read)} <= {200, 204}
