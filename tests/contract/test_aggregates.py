"""Aggregates over HTTP: overflow, precision, grouping and order."""

import pathlib
from collections.abc import Callable

import pytest

from tests.support import databases

HUGE = {"client_id": 1, "units": 2**31 - 1}


@pytest.fixture
def huge(api: Callable) -> Callable:
    rows = [{"name": name, **HUGE} for name in ("First", "Second")]
    assert api("ada").post("/buildings", rows).status == 201
    return api("ada")


@pytest.fixture
def huge_doubles(huge: Callable, tmp_path: pathlib.Path) -> Callable:
    """Store doubles beyond the bounds of every column that exists today."""
    update = f"UPDATE buildings SET latitude = 1.7e308 WHERE units = {2**31 - 1}"
    databases.sql_without_checks(tmp_path / "walkthrough.db", update)
    return huge


@pytest.mark.sqlite("PostgreSQL always checks constraints, and reports the overflow itself")
@pytest.mark.parametrize("cast", ["", "::text", "::integer"])
@pytest.mark.parametrize("aggregate", ["sum", "avg"])
def test_double_sum_overflow_is_out_of_range(huge_doubles: Callable, aggregate: str, cast: str) -> None:
    response = huge_doubles.get(f"/buildings?select=latitude.{aggregate}(){cast}&units=eq.{2**31 - 1}")

    assert response.refusal == (400, "22003", "value out of range: overflow")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("id.avg()", "3.5000000000000000"),
        ("floors.avg()", "5.0000000000000000"),
        ("floors.avg()&id=eq.6", "0.00000000000000000000"),
        ("id.avg()&id=eq.1", "1.00000000000000000000"),
        ("floors.avg()&id=lt.0", None),
    ],
)
def test_integer_average_has_full_precision(api: Callable, query: str, text: str | None) -> None:
    column, _, condition = query.partition("&")

    assert api("root").get(f"/buildings?select={column}::text&{condition}").json == [{"avg": text}]


def test_integer_sum_exceeds_integer_range(huge: Callable) -> None:
    response = huge.get(f"/buildings?select=units.sum()&units=eq.{2**31 - 1}")

    assert response.json == [{"sum": 2 * (2**31 - 1)}]


@pytest.mark.parametrize(
    ("name", "refusal"),
    [
        (
            "id",
            (
                400,
                "42803",
                'column "inspections.id" must appear in the GROUP BY clause or be used in an aggregate function',
            ),
        ),
        ("name", (400, "42703", "column inspections.name does not exist")),
    ],
)
def test_order_by_bare_name_of_spread_column_is_refused(api: Callable, name: str, refusal: tuple) -> None:
    """As in PostgREST, the bare name is the relation's own column; `buildings(name)` is the embed's."""
    response = api("root").get(f"/inspections?select=count(),...buildings({name})&order={name}")

    assert response.refusal == refusal


def test_group_by_embedded_key_has_one_group_per_row(api: Callable) -> None:
    response = api("root").get("/inspections?select=count(),...buildings(id)&order=buildings(id).desc")

    assert [(row["id"], row["count"]) for row in response.json] == [
        (5, 1), (4, 2), (3, 1), (2, 2), (1, 3),
    ]  # fmt: skip


def test_order_groups_by_spread_aggregate(api: Callable) -> None:
    response = api("root").get("/inspections?select=status,...buildings(floors.sum())&order=sum.desc.nullslast")

    assert [row["sum"] for row in response.json] == [20, 19, 12, 7, 2, None]


@pytest.mark.parametrize("who", ["root", "ada", "moe"])
@pytest.mark.parametrize(
    "path",
    [
        "/inspections?select=id,count(),inspectors(name)&order=inspectors(name)",
        "/buildings?select=id,count(),clients(name)&order=clients(name).desc,id",
        "/inspections?select=id,...buildings(n:count())&order=buildings(state),id",
        "/reports_lead?select=id,...inspections(n:count(),e:buildings(id))&order=inspections(status),id",
    ],
)
def test_order_groups_by_referenced_row(api: Callable, who: str, path: str) -> None:
    response = api(who).get(path)

    assert response.status == 200, response.text
    visible = api(who).get(f"{path.split('?')[0]}?select=id")
    assert sorted(row["id"] for row in response.json) == sorted(row["id"] for row in visible.json)


@pytest.mark.parametrize(
    ("path", "purpose"),
    [
        ("/audit_log?order=before", "ordering"),
        ("/audit_log?select=id,after,count()&order=after", "equality"),
        ("/audit_log?select=after,count()", "equality"),
        ("/audit_log?select=after::text,count()", "equality"),
    ],
)
def test_order_and_group_by_json_is_refused(api: Callable, path: str, purpose: str) -> None:
    expected = f"could not identify an {purpose} operator for type json"

    assert api("root").get(path).refusal == (404, "42883", expected)
