"""Filters: patterns, lists, empty values and logic trees as PostgREST reads them."""

from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.contract.test_reads import ids

# ── filters ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("pattern", "found"), [(r"*\**", [3]), (r"*100\*", [3]), (r"Depot*", [3]), (r"\*", []), (r"*\_*", [])]
)
def test_asterisk_in_like_becomes_percent_first(api: Callable, pattern: str, found: list[int]) -> None:
    for operator in ("like", "ilike"):
        assert ids(api("root").get(f"/buildings?select=id&name={operator}.{pattern}")) == found


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("ΑΣ*", ["ΑΣΠΙΔΑ", "Ασπίδα"]),
        ("*κοσ*", ["ΝΙΚΟΣ ΑΕ", "Νικος"]),
        ("νικος*", ["ΝΙΚΟΣ ΑΕ", "Νικος"]),
        ("_stanbul", ["İstanbul"]),
        ("istanbul", ["İstanbul"]),
        ("größe*", ["GRÖẞE 1"]),
    ],
)
def test_ilike_is_case_insensitive(api: Callable, pattern: str, found: list[str]) -> None:
    names = ["Ασπίδα", "ΑΣΠΙΔΑ", "Νικος", "ΝΙΚΟΣ ΑΕ", "İstanbul", "GRÖẞE 1"]
    api("root").post("/inspectors", [{"name": name} for name in names])

    rows = api("root").get(f"/inspectors?select=name&name=ilike.{quote(pattern)}&order=name").json

    assert sorted(row["name"] for row in rows) == sorted(found)


@pytest.mark.parametrize("operator", ["like", "ilike"])
def test_pattern_ending_in_backslash_is_refused(api: Callable, operator: str) -> None:
    response = api("root").get(f"/buildings?name={operator}.M%5C")

    assert response.refusal == (400, "22025", "LIKE pattern must not end with escape character")


def test_in_list_of_one_empty_text_is_empty(api: Callable) -> None:
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
def test_null_compared_with_empty_list(api: Callable, condition: str, found: list[int]) -> None:
    assert ids(api("root").get(f"/buildings?select=id&building_type={condition}&order=id")) == found


def test_double_underflow_is_out_of_range(api: Callable) -> None:
    assert api("root").get("/buildings?latitude=eq.1e-400").code == "22003"
    assert api("root").get("/buildings?latitude=eq.0e-400").status == 200


@pytest.mark.parametrize("tree", ["or=id.eq.1,id.eq.2", "and=id.eq.1", "clients.or=id.eq.1"])
def test_unparenthesized_logic_tree_is_refused(api: Callable, tree: str) -> None:
    response = api("root").get(f"/buildings?select=id,clients(id)&{tree}")

    assert (response.status, response.code) == (400, "PGRST100")
    assert response.message.startswith('"failed to parse logic tree (id.eq.1')
