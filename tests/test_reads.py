"""What a real PostgREST 12 answers to reads that no recorded case asks: embeds, groups, casts, filters.

Each of these was asked over the same data; what `docs/DIALECT.md` has otherwise is left out.
"""

from collections.abc import Callable

import pytest

from tests.conftest import Response

NEW_YORK = "timezone=America/New_York"


def ids(response: Response) -> list[int]:
    assert response.status == 200, response.text
    return [row["id"] for row in response.json]


# ── what is printed ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("select", "printed"),
    [
        ("updated_at::text", "2025-05-05 05:30:15.123456-04"),
        ("updated_at::date", "2025-05-05"),
        ("updated_at::time", "05:30:15.123456"),
        ("updated_at::timestamp", "2025-05-05T05:30:15.123456"),
        ("updated_at::timestamptz", "2025-05-05T05:30:15.123456-04:00"),
        ("updated_at::timestamp without time zone", "2025-05-05T05:30:15.123456"),
        ("updated_at.max()::text", "2025-05-05 05:30:15.123456-04"),
        ("updated_at.max()", "2025-05-05T05:30:15.123456-04:00"),
    ],
)
def test_a_cast_of_a_moment_shows_the_clock_of_the_preferred_zone(
    api: Callable, select: str, printed: str
) -> None:
    (row,) = api("root").get(f"/inspections?select=x:{select}&id=eq.5", prefer=NEW_YORK).json

    assert row == {"x": printed}


@pytest.mark.parametrize("kind", ["real", "numeric"])
def test_a_double_is_as_exact_as_what_it_is_cast_to(api: Callable, kind: str) -> None:
    assert api("root").get(f"/buildings?select=latitude.avg()::{kind}").json == [{"avg": 42.52}]


def test_a_place_in_an_array_names_no_key(api: Callable) -> None:
    response = api("root").get("/inspections?select=id,notes->a->0,status->>2&id=eq.3")

    assert response.json == [{"id": 3, "a": None, "status": None}]


# ── filters ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("pattern", "found"),
    [(r"*\**", [3]), (r"*100\*", [3]), (r"Depot*", [3]), (r"\*", []), (r"*\_*", [])],
)
def test_a_star_in_a_pattern_is_a_percent_sign_before_anything_else(
    api: Callable, pattern: str, found: list[int]
) -> None:
    for operator in ("like", "ilike"):
        assert ids(api("root").get(f"/buildings?select=id&name={operator}.{pattern}")) == found


@pytest.mark.parametrize("operator", ["like", "ilike"])
def test_a_pattern_ends_in_no_backslash(api: Callable, operator: str) -> None:
    response = api("root").get(f"/buildings?name={operator}.M%5C")

    assert response.refusal == (400, "22025", "LIKE pattern must not end with escape character")


def test_a_list_of_one_empty_text_is_empty(api: Callable) -> None:
    assert api("root").get('/buildings?id=in.("")').json == []
    assert len(api("root").get('/inspections?notes=not.in.("")').json) == 9
    assert ids(api("root").get('/inspections?select=id&notes=in.("",x)')) == [7]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("eq(all).{}", [1, 2, 3, 4, 5, 6]),
        ("like(all).{}", [1, 2, 3, 4, 5, 6]),
        ("not.gt(any).{}", [1, 2, 3, 4, 5, 6]),
        ("not.gt(all).{}", []),
        ("gt(any).{}", []),
        ("gt(all).{a}", [1, 2, 4, 5, 6]),
        ("not.gt(all).{a}", []),
    ],
)
def test_null_is_compared_with_none_of_no_values(
    api: Callable, condition: str, found: list[int]
) -> None:
    assert ids(api("root").get(f"/buildings?select=id&building_type={condition}&order=id")) == found


def test_a_double_that_is_too_small_is_out_of_range(api: Callable) -> None:
    assert api("root").get("/buildings?latitude=eq.1e-400").code == "22003"
    assert api("root").get("/buildings?latitude=eq.0e-400").status == 200


@pytest.mark.parametrize("tree", ["or=id.eq.1,id.eq.2", "and=id.eq.1", "clients.or=id.eq.1"])
def test_conditions_without_parentheses_are_a_column_that_nobody_has(
    api: Callable, tree: str
) -> None:
    response = api("root").get(f"/buildings?select=id,clients(id)&{tree}")

    assert (response.status, response.code) == (400, "42703")
    assert response.message.startswith('"failed to parse logic tree (id.eq.1')


# ── pages ────────────────────────────────────────────────────────────────────────────────────────────────


def test_head_has_no_range(api: Callable) -> None:
    response = api("root").head("/buildings", headers={"Range": "1-2"}, prefer="count=exact")

    assert (response.status, response.headers["Content-Range"]) == (200, "0-5/6")


def test_no_rows_from_the_second_on_are_no_range(api: Callable) -> None:
    assert api("root").get("/buildings?limit=0").json == []
    assert api("root").get("/buildings?limit=0&offset=1").code == "PGRST103"


def test_one_row_beyond_the_last_is_first_of_all_not_one(api: Callable) -> None:
    response = api("root").get(
        "/buildings?offset=9", prefer="count=exact", accept="application/vnd.pgrst.object+json"
    )

    assert (response.status, response.code) == (406, "PGRST116")
