"""Attack catalogue, group O: learning about hidden rows without reading them. A test's number is the catalogue's.

*Same* means byte-equal: `Response.whole` holds status, headers and body.
"""
# ruff: noqa: N802  (a test carries its catalogue number as it is written there)

from collections.abc import Callable

import pytest

from tests.conftest import ADA
from tests.conftest import BOB
from tests.conftest import MAX
from tests.conftest import MIA
from tests.conftest import MOE
from tests.conftest import NO_ONE
from tests.conftest import ROOT
from tests.conftest import dump
from tests.conftest import ids
from tests.conftest import rule

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


@pytest.mark.parametrize(
    ("query", "left"), THROUGH_EMBEDS, ids=[query for query, _ in THROUGH_EMBEDS]
)
def test_O01_filters_through_embeds_are_decided_on_visible_rows(
    api: Callable, query: str, left: set
) -> None:
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
def test_O02_hidden_parent_sorts_as_null(
    api: Callable, who: str, order: str, expected: list
) -> None:
    rows = api(who).get(f"/inspections?select=id,buildings(name)&order={order}").json

    assert [row["id"] for row in rows] == expected


@pytest.mark.parametrize(
    "column",
    ["password_hash", "client_id", "rowid", "_rowid_", "oid", "ROWID", "ctid", "no_such_column"],
)
@pytest.mark.parametrize(
    "query",
    [
        "select={}",
        "{}=eq.1",
        "{}=is.null",
        "order={}",
        "or=({}.eq.1,id.eq.1)",
        "select={}.max()",
        "select=a:{}::text",
    ],
)
def test_O03_hidden_column_is_as_unknown_as_any(api: Callable, query: str, column: str) -> None:
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
def test_O04_every_count_is_of_visible_rows(
    api: Callable, who: str, query: str, total: str, count: str
) -> None:
    response = api(who).get(f"/inspections?select=id&{query}", prefer=f"count={count}")

    assert response.total == total


def test_O04_offset_past_the_end_tells_the_visible_count(api: Callable) -> None:
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


@pytest.mark.parametrize(
    ("path", "body", "column", "values"), CHOSEN, ids=[line[0] for line in CHOSEN]
)
def test_O05_chosen_id_is_refused_alike_taken_hidden_or_free(
    api: Callable, path: str, body: dict, column: str, values: tuple
) -> None:
    before = dump(api)

    answers = [api("ada").post(path, {**body, column: value}) for value in values]

    assert [(answer.status, answer.code) for answer in answers] == [(400, RESERVED)] * 3
    assert len({answer.text for answer in answers}) == 1
    assert dump(api) == before


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("id", 1),
        ("id", 4),
        ("id", 500),
        ("created_at", "2020-01-01T00:00:00Z"),
        ("updated_at", "2020-01-01T00:00:00Z"),
    ],
)
def test_O05_patch_of_a_reserved_column_is_refused(
    api: Callable, column: str, value: object
) -> None:
    before = dump(api)

    response = api("ada").patch("/buildings?id=eq.1", {column: value})

    assert (response.status, response.code) == (400, RESERVED)
    assert dump(api) == before


@pytest.mark.parametrize("column", ["created_at", "updated_at"])
def test_O05_insert_with_a_chosen_time_is_refused(api: Callable, column: str) -> None:
    body = {"name": "N", "client_id": 1, column: "2020-01-01T00:00:00Z"}

    response = api("ada").post("/buildings", body)

    assert (response.status, response.code) == (400, RESERVED)


@pytest.mark.parametrize("door", ["merge", "ignore", "put"])
def test_O06_upsert_of_a_foreign_id_is_refused_alike(api: Callable, door: str) -> None:
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
def test_O06_upsert_of_an_own_row_merges(api: Callable, door: str) -> None:
    response = upsert(api, door, 1)

    assert response.status in (200, 201, 204)
    assert api("root").get("/buildings?id=eq.1&select=name").json == [{"name": "Stolen"}]


@pytest.mark.parametrize("bad", [4, 5, 999])
def test_O06_one_foreign_id_in_a_bulk_refuses_all(api: Callable, bad: int) -> None:
    rows = [{"id": id_, "name": "Merged", "client_id": 1} for id_ in (1, 2, bad)]
    before = dump(api)

    response = api("ada").post("/buildings", rows, prefer="resolution=merge-duplicates")

    assert (response.status, response.code) == (400, RESERVED)
    assert dump(api) == before


def manager(email: str) -> dict:
    return {"email": email, "name": "X", "role": "client_manager", "client_id": 1}


@pytest.mark.parametrize(
    "email", ["max@borough.example", "bob@borough.example", "root@example.org"]
)
def test_O07_hidden_email_is_taken_and_nothing_more(api: Callable, email: str) -> None:
    response = api("ada").post("/users", manager(email))

    assert (response.status, response.code, response.json["details"]) == (409, "23505", None)


def test_O07_on_conflict_merges_into_an_own_manager_only(api: Callable) -> None:
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


def test_O07_twenty_such_answers_an_hour_then_429(api: Callable) -> None:
    statuses = [api("ada").post("/users", manager("max@borough.example")).status for _ in range(21)]

    assert statuses == [409] * 20 + [429]
    assert api("ada").get("/users").status == 200
    own = {"email": "b@borough.example", "name": "B", "role": "client_manager", "client_id": 2}
    assert api("bob").post("/users", own).status == 201


def test_O08_inspection_on_a_hidden_and_on_a_missing_building_alike(api: Callable) -> None:
    before = dump(api)

    created = [
        api("ada").post("/inspections", {"building_id": id_, "inspection_type": "x"})
        for id_ in (4, 5, 999)
    ]
    moved = [api("ada").patch("/inspections?id=eq.1", {"building_id": id_}) for id_ in (4, 5, 999)]

    for answers in (created, moved):
        assert answers[0].refusal == rule("inspections")
        assert [answer.whole for answer in answers] == [answers[0].whole] * 3
    assert dump(api) == before


def test_O08_super_admin_is_told_what_is_missing(api: Callable) -> None:
    response = api("root").post("/inspections", {"building_id": 999, "inspection_type": "x"})

    assert (response.status, response.code) == (409, "23503")


@pytest.mark.parametrize("prefer", [None, "return=representation", "count=exact"])
def test_O09_hidden_and_missing_rows_are_not_matched_alike(
    api: Callable, prefer: str | None
) -> None:
    paths = ("/buildings?id=eq.4", "/buildings?id=eq.999")

    changed = [api("ada").patch(path, {"name": "x"}, prefer=prefer).whole for path in paths]
    deleted = [api("ada").delete(path, prefer=prefer).whole for path in paths]
    read = [api("ada").get(path, prefer=prefer).whole for path in paths]

    assert changed[0] == changed[1]
    assert deleted[0] == deleted[1]
    assert read[0] == read[1]
    assert {answer[0] for answer in (*changed, *deleted, *read)} <= {200, 204}


def test_O10_refused_deletion_names_inspections_and_nothing_else(api: Callable) -> None:
    response = api("ada").delete("/buildings?id=eq.1")

    assert (response.status, response.code) == (409, "23503")
    assert "inspections" in response.text
    for word in ("access", "session", "credential", "sqlite", "trigger"):
        assert word not in response.text.lower()


CHECKS = {
    "check_building_access_v2": ("p_building_id", False),
    "check_inspection_access": ("p_inspection_id", False),
    "explain_building_access": ("p_building_id", {"allowed": False, "reasons": []}),
    "explain_inspection_access": ("p_inspection_id", {"allowed": False, "reasons": []}),
}


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize(
    ("who", "others"), [("moe", (MIA, ADA, ROOT, MAX)), ("ada", (MAX, BOB, ROOT))]
)
def test_O11_asking_about_others_is_as_asking_about_nobody(
    api: Callable, who: str, others: tuple, name: str
) -> None:
    row = CHECKS[name][0]
    about_nobody = api(who).rpc(name, {row: 1, "p_user_id": NO_ONE})

    answers = [api(who).rpc(name, {row: 1, "p_user_id": other}).whole for other in others]

    assert (about_nobody.status, about_nobody.code) == (403, "42501")
    assert answers == [about_nobody.whole] * len(others)


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("about", [ADA, MOE, MIA])
def test_O11_row_hidden_from_the_caller_is_as_a_missing_one(
    api: Callable, about: str, name: str
) -> None:
    row, nothing = CHECKS[name]
    hidden_id = 4 if "building" in name else 6

    hidden = api("ada").rpc(name, {row: hidden_id, "p_user_id": about})
    missing = api("ada").rpc(name, {row: 999, "p_user_id": about})

    assert (hidden.status, hidden.json) == (200, nothing)
    assert hidden.whole == missing.whole


def test_O12_assignment_tells_hidden_and_missing_ids_alike(api: Callable) -> None:
    before = dump(api)

    answers = [
        api("ada").rpc(
            "assign_to_client_manager",
            {"manager_id": MIA, "building_ids": buildings, "inspection_ids": []},
        )
        for buildings in ([1, 999], [1, 4], [1, 5])
    ]

    assert [(answer.status, answer.code) for answer in answers] == [(403, "42501")] * 3
    assert [answer.whole for answer in answers] == [answers[0].whole] * 3
    assert "999" not in answers[0].text
    assert dump(api) == before


def test_O12_assignment_tells_grantees_that_are_none_alike(api: Callable) -> None:
    arguments = {"building_ids": [1], "inspection_ids": []}

    answers = [
        api("ada").rpc("assign_to_client_manager", {"manager_id": grantee, **arguments})
        for grantee in (NO_ONE, MAX, BOB, ADA, ROOT)
    ]

    assert (answers[0].status, answers[0].code) == (400, "23514")
    assert [answer.whole for answer in answers] == [answers[0].whole] * 5


@pytest.mark.parametrize(
    "path",
    [
        "/inspections?select=clientid",
        "/inspections?select=client_i",
        "/users?select=passwor",
        "/users?select=password_has",
        "/session",
        "/credential",
        "/sqlite_maste",
        "/users?select=id,credential(id)",
        "/buildings?select=id,session(id)",
        "/rpc/sign_i",
    ],
)
def test_O13_hints_name_the_contracts_words_only(api: Callable, path: str) -> None:
    response = api("root").get(path)

    hint = f"{response.json['hint']} {response.json['details']}"
    assert response.status in (400, 404)
    for word in ("client_id", "password", "sessions", "credentials", "sqlite_master", "sign_in"):
        assert word not in hint


def test_O14_cast_is_evaluated_on_visible_rows_only(world: Callable) -> None:
    api = world(two_inspections(visible="5", hidden="no number"))

    visible = api("moe").get("/inspections?select=id,notes::int")
    everything = api("root").get("/inspections?select=id,notes::int")

    assert (visible.status, visible.json) == (200, [{"id": 1, "notes": 5}])
    assert (everything.status, everything.code) == (400, "22P02")


def test_O14_cast_raises_for_visible_rows(api: Callable) -> None:
    assert api("moe").get("/inspections?select=notes::int").code == "22P02"
    assert api("mia").get("/inspections?select=notes::int").json == []


def two_inspections(visible: str, hidden: str) -> dict:
    """A world in which moe sees one of two inspections, with these notes."""
    person = {"name": "P", "client_id": 1}
    return {
        "clients": [{"id": 1, "name": "C"}],
        "users": [
            {
                "id": ROOT,
                "email": "r@x.example",
                "name": "R",
                "role": "super_admin",
                "client_id": None,
            },
            {"id": MOE, "email": "m@x.example", "role": "client_manager", **person},
        ],
        "buildings": [{"id": 1, "name": "B", "client_id": 1}],
        "inspections": [
            {"id": 1, "building_id": 1, "inspection_type": "x", "notes": visible},
            {"id": 2, "building_id": 1, "inspection_type": "x", "notes": hidden},
        ],
        "client_manager_inspection_access": [{"manager_id": MOE, "inspection_id": 1}],
    }


@pytest.mark.parametrize("who", ["root", "ada", "moe", "mia"])
def test_O16_empty_list_matches_nothing_and_its_negation_everything(
    api: Callable, who: str
) -> None:
    everything = ids(api(who).get("/inspections?select=id"))

    assert ids(api(who).get("/inspections?select=id&id=in.()")) == set()
    assert ids(api(who).get("/inspections?select=id&id=not.in.()")) == everything


def test_O17_logic_tree_does_not_reach_into_an_embed(api: Callable) -> None:
    response = api("moe").get(
        "/inspections?or=(id.eq.1,buildings.name.eq.X)&select=id,buildings(id)"
    )

    assert (response.status, response.code) == (400, "PGRST100")


def test_O17_logic_tree_of_an_embed_decides_inside_it_only(api: Callable) -> None:
    path = "/inspections?select=id,buildings(id)&buildings.or=(id.eq.4,name.eq.X)&order=id"

    rows = api("ada").get(path).json

    assert [row["id"] for row in rows] == [1, 2, 3, 4, 5, 8, 9]
    assert [row["buildings"] for row in rows] == [None] * 7


def test_O18_updated_at_moves_only_with_a_write_to_its_row(api: Callable) -> None:
    before = api("ada").get("/inspections?id=eq.2&select=updated_at").json

    api("ada").patch("/buildings?id=eq.1", {"name": "Renamed"})
    api("ada").patch("/reports_lead?id=eq.1", {"result": "negative"})
    api("ada").patch("/inspections?id=eq.1", {"notes": "x"})
    api("root").post("/client_manager_inspection_access", {"manager_id": MIA, "inspection_id": 2})

    assert api("ada").get("/inspections?id=eq.2&select=updated_at").json == before
    api("ada").patch("/inspections?id=eq.2", {"notes": "x"})
    assert api("ada").get("/inspections?id=eq.2&select=updated_at").json != before
