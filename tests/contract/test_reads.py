"""Reads compared with PostgREST 12 beyond the recorded cases: embeds, groups, casts and filters.

PostgREST returned these responses over the same data. Differences listed in `docs/DIALECT.md` are omitted.
"""

from collections.abc import Callable

import pytest

from tests.conftest import Response

REPRESENTED = "return=representation"
NEW_YORK = "timezone=America/New_York"


def ids(response: Response) -> list[int]:
    assert response.status == 200, response.text
    return [row["id"] for row in response.json]


# ── embeds ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "select",
    [
        "...buildings(found:inspections(id))",
        "...buildings(...clients(found:users(id)))",
        "...buildings(found:inspections(count()))",
    ],
)
def test_spread_of_hidden_row_is_null(api: Callable, select: str) -> None:
    hidden, shown = api("moe").get(f"/inspections?select=id,{select}&id=in.(3,9)&order=id").json

    assert hidden == {"id": 3, "found": None}
    assert shown["found"]


def test_spread_lists_of_hidden_rows_form_a_null_group(api: Callable) -> None:
    rows = api("moe").get("/inspections?select=...buildings(inspections(id)),count()").json

    assert {"inspections": None, "count": 1} in rows


def test_spread_count_excludes_hidden_rows(api: Callable) -> None:
    response = api("moe").get("/inspections?select=id,...buildings(count())&order=id")

    assert [(row["id"], row["count"]) for row in response.json] == [(1, 1), (2, 1), (3, 0), (9, 1)]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("reports_lead!inner(id)&reports_lead.limit=0", []),
        ("reports_lead!inner(id)&reports_lead.offset=1", [2, 6]),
        ("reports_lead!inner(id)&reports_lead.offset=2", []),
        ("reports_lead!inner(id)&reports_lead.limit=1&reports_lead.offset=1", [2, 6]),
        ("reports_lead(id)&reports_lead.limit=0&reports_lead=not.is.null", []),
        ("buildings!inner(id)&buildings.limit=0", []),
        ("buildings!inner(id)&buildings.offset=1", []),
        ("...buildings!inner(city)&buildings.limit=0", []),
        ("buildings(id)&buildings.limit=0&buildings=is.null&id=lt.3", [1, 2]),
        ("buildings!inner(id)&buildings.limit=1&buildings.offset=0&id=lt.3", [1, 2]),
    ],
)
def test_inner_embed_applies_its_limit_first(api: Callable, query: str, found: list[int]) -> None:
    assert ids(api("root").get(f"/inspections?select=id,{query}&order=id")) == found


def test_order_by_embed_applies_its_limit_first(api: Callable) -> None:
    query = "select=id,buildings(name)&buildings.limit=0&order=buildings(name),id.desc&id=lt.4"

    assert ids(api("root").get(f"/inspections?{query}")) == [3, 2, 1]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("inspections!inner(count())", [1, 2, 3, 4, 5, 6]),
        ("inspections!inner(count)&inspections.status=eq.failed", [1, 2, 3, 4, 5, 6]),
        ("inspections(count())&inspections=is.null", []),
        ("inspections(count())&inspections=not.is.null", [1, 2, 3, 4, 5, 6]),
        ("inspections!inner(status,count())", [1, 2, 3, 4, 5]),
    ],
)
def test_sum_over_no_rows_is_null(api: Callable, query: str, found: list[int]) -> None:
    assert ids(api("root").get(f"/buildings?select=id,{query}&order=id")) == found


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/clients?select=id,client_id(name)", 400),
        ("/inspection_plans?select=inspection_id,schedule_id(title)", 200),
        ("/buildings?select=id,id(*)", 300),
        ("/buildings?select=id,client_manager_building_access_building_id_fkey(*)", 200),
        ("/users?select=id,client_admin_inspection_access_admin_id_fkey(*)", 200),
    ],
)
def test_embed_hint_is_column_or_constraint(api: Callable, path: str, status: int) -> None:
    assert api("root").get(path).status == status


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("select=id,b:buildings(id)&buildings=is.null", "42703"),
        ("select=id,b:buildings(id)&order=buildings(id)", "PGRST108"),
    ],
)
def test_filters_and_orders_use_the_embed_alias(api: Callable, query: str, code: str) -> None:
    response = api("root").get(f"/inspections?{query}")

    assert (response.status, response.code) == (400, code)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("select=id,inspections()&inspections.id=eq.abc", "22P02"),
        ("select=id,inspections()&inspections.created_at=gt.rubbish", "22007"),
        ("select=id,inspections(reports_lead())&inspections.reports_lead.id=in.(1,x)", "22P02"),
    ],
)
def test_filters_of_empty_embed_are_validated(api: Callable, query: str, code: str) -> None:
    for response in (
        api("root").get(f"/buildings?{query}"),
        api("root").patch(f"/buildings?id=eq.1&{query}", {"name": "q"}, prefer=REPRESENTED),
    ):
        assert (response.status, response.json["code"]) == (400, code)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("building_id=eq.abc", "22P02"),
        ("assigned_at=gt.rubbish", "22007"),
        ("building_id=eq(any).{x}", "22P02"),
        ("or=(building_id.eq.abc,building_id.eq.1)", "22P02"),
    ],
)
def test_list_filters_are_validated_without_visible_rows(api: Callable, query: str, code: str) -> None:
    for path in (f"/client_admin_building_access?{query}", f"/client_admin_building_access?limit=0&{query}"):
        response = api("moe").get(path, prefer="count=exact")
        assert (response.status, response.json["code"]) == (400, code)


def test_nested_embeds_of_empty_embed_are_validated(api: Callable) -> None:
    assert api("root").get("/inspections?select=buildings(inspectors())").code == "PGRST200"
    assert api("root").get("/inspections?select=id,buildings(clients())&id=eq.1").json == [{"id": 1}]


@pytest.mark.parametrize("embed", ["buildings(clients())", "buildings(clients(),inspections())"])
def test_embed_of_empty_embeds_has_no_csv_column(api: Callable, embed: str) -> None:
    response = api("root").get(f"/inspections?select={embed},id&id=eq.1", accept="text/csv")

    assert response.text == "id\n1"


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/inspections?select=id,nope(id)&nope=eq.1&id=like.1", 400, "PGRST200"),
        ("/inspections?select=nope,buildings(nope,inspectors(id))", 400, "PGRST200"),
        ("/users?select=nope,buildings(id)&order=nope", 300, "PGRST201"),
    ],
)
def test_unknown_relationship_precedes_unknown_column(api: Callable, path: str, status: int, code: str) -> None:
    response = api("root").get(path)

    assert (response.status, response.code) == (status, code)


# ── groups ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("order", "cities"),
    [
        ("buildings(city).desc", ["Troy", "Lowell", "Boston", "Albany"]),
        ("buildings(city)", ["Albany", "Boston", "Lowell", "Troy"]),
    ],
)
def test_order_groups_by_spread_column(api: Callable, order: str, cities: list[str]) -> None:
    response = api("root").get(f"/inspections?select=...buildings(city),count()&order={order}")

    assert [row["city"] for row in response.json] == cities


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("buildings(city),count()&order=buildings(city)", "42803"),
        ("...buildings(city),count()&order=buildings(nope)", "42703"),
        ("status,count()&order=buildings(city)", "PGRST108"),
    ],
)
def test_order_groups_by_other_embed_column_is_refused(api: Callable, query: str, code: str) -> None:
    response = api("root").get(f"/inspections?select={query}")

    assert (response.status, response.code) == (400, code)


def test_cast_column_groups_by_uncast_value(api: Callable) -> None:
    own = api("root").get("/buildings?select=latitude::int,count()&order=latitude").json
    alias = api("root").get("/buildings?select=l:latitude::int,count()").json

    assert [row["latitude"] for row in own] == [42, 42, 43, 43, 43, None]
    assert sorted(row["count"] for row in alias) == [1, 2, 3]


def test_cast_column_orders_groups_by_uncast_value(api: Callable) -> None:
    rows = api("root").get("/buildings?select=floors::text,count()&order=floors").json

    assert [row["floors"] for row in rows] == ["0", "2", "4", "7", "12", None]


@pytest.mark.parametrize("who", ["ada", "moe", "root"])
def test_largest_offset_returns_no_rows(api: Callable, who: str) -> None:
    response = api(who).get(f"/inspections?order=id&offset={2**63 - 1}")

    assert (response.status, response.json) == (200, [])


def test_limit_zero_ignores_range(api: Callable) -> None:
    response = api("root").get("/buildings?limit=0", headers={"Range": "1-0"})

    assert (response.status, response.json) == (200, [])


def test_aggregate_over_no_rows_has_empty_content_range(api: Callable) -> None:
    response = api("root").get("/buildings?select=id.max()&id=gt.100", prefer="count=exact")

    assert (response.status, response.headers["Content-Range"]) == (200, "*/0")
    assert response.json == [{"max": None}]


# ── what is printed ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("select", "printed"),
    [
        ("updated_at::text", "2025-05-05 05:30:15.123456-04"),
        ("updated_at::date", "2025-05-05"),
        ("updated_at.max()::text", "2025-05-05 05:30:15.123456-04"),
        ("updated_at.max()", "2025-05-05T05:30:15.123456-04:00"),
    ],
)
def test_timestamp_cast_uses_preferred_time_zone(api: Callable, select: str, printed: str) -> None:
    """PostgreSQL uses the session's time zone."""
    (row,) = api("root").get(f"/inspections?select=x:{select}&id=eq.5", prefer=NEW_YORK).json

    assert row == {"x": printed}


def test_ambiguous_local_hour_is_the_second(api: Callable) -> None:
    said = {"created_at": "2025-11-02T01:30:00"}

    (row,) = api("root").patch("/inspections?id=eq.5", said, prefer=f"{NEW_YORK}, {REPRESENTED}").json

    assert row["created_at"] == "2025-11-02T01:30:00-05:00"


def test_json_array_index_is_not_a_key(api: Callable) -> None:
    response = api("root").get("/inspections?select=id,notes->a->0,status->>2&id=eq.3")

    assert response.json == [{"id": 3, "a": None, "status": None}]


# ── pages ────────────────────────────────────────────────────────────────────────────────────────────────


def test_head_ignores_range(api: Callable) -> None:
    response = api("root").head("/buildings", headers={"Range": "1-2"}, prefer="count=exact")

    assert (response.status, response.headers["Content-Range"]) == (200, "0-5/6")


def test_limit_zero_with_offset_is_refused(api: Callable) -> None:
    assert api("root").get("/buildings?limit=0").json == []
    assert api("root").get("/buildings?limit=0&offset=1").code == "PGRST103"


def test_single_object_beyond_last_row_is_not_singular(api: Callable) -> None:
    response = api("root").get("/buildings?offset=9", prefer="count=exact", accept="application/vnd.pgrst.object+json")

    assert (response.status, response.code) == (406, "PGRST116")


def test_offset_beyond_last_row_has_preference_applied(api: Callable) -> None:
    asked = "count=exact, handling=lenient, return=minimal"

    response = api("root").get("/clients?offset=90", prefer=asked)

    assert (response.status, response.code) == (416, "PGRST103")
    assert response.headers["Preference-Applied"] == "count=exact, handling=lenient"
