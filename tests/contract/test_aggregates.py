"""Aggregates over HTTP: what they make of numbers that are too large together."""

from collections.abc import Callable

import pytest

HUGE = {"client_id": 1, "latitude": 1.7e308, "units": 2**31 - 1}


@pytest.fixture
def huge(api: Callable) -> Callable:
    rows = [{"name": name, **HUGE} for name in ("First", "Second")]
    assert api("ada").post("/buildings", rows).status == 201
    return api("ada")


@pytest.mark.parametrize("cast", ["", "::text", "::integer", "::bigint", "::numeric", "::float8"])
@pytest.mark.parametrize("aggregate", ["sum", "avg"])
def test_doubles_that_are_infinite_together_are_out_of_range(
    huge: Callable, aggregate: str, cast: str
) -> None:
    response = huge.get(f"/buildings?select=latitude.{aggregate}(){cast}&units=eq.{2**31 - 1}")

    assert response.refusal == (400, "22003", "value out of range: overflow")


@pytest.mark.sqlite("a numeric is a double there, and of any size on a server")
@pytest.mark.parametrize("aggregate", ["sum", "avg"])
def test_numerics_that_are_infinite_together_are_out_of_range(
    huge: Callable, aggregate: str
) -> None:
    response = huge.get(
        f"/buildings?select=latitude::numeric.{aggregate}()::text&latitude=gt.1e308"
    )

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
def test_an_average_of_whole_numbers_is_printed_with_all_its_digits(
    api: Callable, query: str, text: str | None
) -> None:
    column, _, condition = query.partition("&")

    assert api("root").get(f"/buildings?select={column}::text&{condition}").json == [{"avg": text}]


def test_integers_add_up_beyond_their_own_range(huge: Callable) -> None:
    response = huge.get(f"/buildings?select=units.sum(),latitude.max()&units=eq.{2**31 - 1}")

    assert response.json == [{"sum": 2 * (2**31 - 1), "max": 1.7e308}]


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
def test_groups_are_not_ordered_by_a_spread_column_under_its_bare_name(
    api: Callable, name: str, refusal: tuple
) -> None:
    """The bare name is the relation's own; `buildings(name)` is the other one. As PostgREST has it."""
    response = api("root").get(f"/inspections?select=count(),...buildings({name})&order={name}")

    assert response.refusal == refusal


def test_groups_by_another_relations_key_are_as_many_as_its_rows(api: Callable) -> None:
    response = api("root").get(
        "/inspections?select=count(),...buildings(id)&order=buildings(id).desc"
    )

    assert [(row["id"], row["count"]) for row in response.json] == [
        (5, 1), (4, 2), (3, 1), (2, 2), (1, 3),
    ]  # fmt: skip


def test_groups_are_ordered_by_an_aggregate_that_was_spread(api: Callable) -> None:
    response = api("root").get(
        "/inspections?select=status,...buildings(floors.sum())&order=sum.desc.nullslast"
    )

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
def test_groups_by_their_own_key_are_ordered_by_what_they_point_at(
    api: Callable, who: str, path: str
) -> None:
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
        ("/buildings?select=kind:zip::json,count()", "equality"),
    ],
)
def test_nothing_is_ordered_or_grouped_by_json(api: Callable, path: str, purpose: str) -> None:
    told = f"could not identify an {purpose} operator for type json"

    assert api("root").get(path).refusal == (404, "42883", told)
