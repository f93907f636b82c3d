"""Filters, orders, counts and visible rows with postgrest-py alone, at the root path."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime

import pytest

from tests.clients.consumers import error_of, postgrest
from tests.clients.server import Server
from tests.conftest import CAST
from tests.support import tokens

Bare = postgrest.SyncPostgrestClient


@pytest.fixture(scope="module")
def bare(server: Server) -> Iterator[Callable[[str], Bare]]:
    """`bare("moe")` returns a client without Supabase: two headers, and no /rest/v1."""
    known: dict[str, Bare] = {}

    def find(name: str) -> Bare:
        if name not in known:
            headers = {"apikey": tokens.ANON_KEY, "Authorization": CAST[name].authorization()}
            known[name] = Bare(server.url, headers=headers)
        return known[name]

    yield find
    for client in known.values():
        client.aclose()


@pytest.fixture(scope="module")
def root(bare: Callable[[str], Bare]) -> Bare:
    return bare("root")


LOFTS = 'Ash, "The" Lofts (North)'
INSPECTIONS_WHERE = {
    "eq": (lambda q: q.eq("status", "scheduled"), [3, 4, 9]),
    "eq the text null": (lambda q: q.eq("notes", None), [9]),
    "eq the empty text": (lambda q: q.eq("notes", ""), [7]),
    "eq reserved characters": (lambda q: q.eq("notes", 'unit 4B: "peeling"'), [2]),
    "eq a comma": (lambda q: q.eq("notes", "crack, north wall"), [5]),
    "eq a star": (lambda q: q.eq("notes", "*starred*"), [6]),
    "neq leaves nulls out": (lambda q: q.neq("status", "completed"), [2, 3, 4, 5, 7, 9]),
    "gt": (lambda q: q.gt("id", 7), [8, 9]),
    "gte a date": (lambda q: q.gte("date_visited", date(2025, 5, 7)), [7, 8, 9]),
    "lt": (lambda q: q.lt("date_visited", "2025-04-10"), [1]),
    "lte": (lambda q: q.lte("date_visited", "2025-04-10"), [1, 2]),
    "gte a time": (lambda q: q.gte("updated_at", datetime(2025, 5, 5, 9, 30, 15, 123456, UTC)), [5, 6, 7, 8, 9]),
    "gt the same time": (lambda q: q.gt("updated_at", datetime(2025, 5, 5, 9, 30, 15, 123456, UTC)), [6, 7, 8, 9]),
    "a column twice": (lambda q: q.gte("id", 3).lt("id", 5), [3, 4]),
    "like": (lambda q: q.like("notes", "%wall"), [5]),
    "like with a star": (lambda q: q.like("notes", "all*"), [1]),
    "like tells case": (lambda q: q.like("notes", "null"), [9]),
    "ilike": (lambda q: q.ilike("notes", "null"), [8, 9]),
    "like_all_of": (lambda q: q.like_all_of("notes", "%a%,%l%"), [1, 5]),
    "like_any_of": (lambda q: q.like_any_of("notes", "all%,%wall"), [1, 5]),
    "ilike_all_of": (lambda q: q.ilike_all_of("notes", "%N%,%L%"), [1, 2, 5, 8, 9]),
    "ilike_any_of": (lambda q: q.ilike_any_of("notes", "NUL_,CRACK%"), [5, 8, 9]),
    "match": (lambda q: q.filter("inspection_type", "match", "^(fire|lead)$"), [2, 3, 6, 9]),
    "imatch": (lambda q: q.filter("notes", "imatch", "^NULL$"), [8, 9]),
    "in_": (lambda q: q.in_("status", ["completed", "failed"]), [1, 2, 6]),
    "in_ of nothing": (lambda q: q.in_("id", []), []),
    "in_ of a thousand": (lambda q: q.in_("id", range(5, 1005)), [5, 6, 7, 8, 9]),
    "is_ null": (lambda q: q.is_("status", None), [8]),
    "is_ written out": (lambda q: q.is_("date_visited", "null"), [4]),
    "isdistinct": (lambda q: q.filter("status", "isdistinct", "completed"), [2, 3, 4, 5, 7, 8, 9]),
    "eq any": (lambda q: q.filter("id", "eq(any)", "{1,3}"), [1, 3]),
    "gt all": (lambda q: q.filter("id", "gt(all)", "{3,7}"), [8, 9]),
    "match on columns": (lambda q: q.match({"building_id": 1, "status": "scheduled"}), [9]),
    "not_ eq": (lambda q: q.not_.eq("status", "scheduled"), [1, 2, 5, 6, 7]),
    "not_ is": (lambda q: q.not_.is_("notes", None), [1, 2, 5, 6, 7, 8, 9]),
    "not_ in": (lambda q: q.not_.in_("id", [1, 2, 3]), [4, 5, 6, 7, 8, 9]),
    "not_ like any": (lambda q: q.not_.like_any_of("notes", "%l%,%r%"), [7, 8]),
    "or_": (lambda q: q.or_("status.eq.failed,and(inspection_type.eq.annual,status.is.null)"), [2, 8]),
    "or_ of quoted texts": (lambda q: q.or_('notes.eq."crack, north wall",notes.in.("NULL","*starred*")'), [5, 6, 8]),
    "or_ with a negation inside": (lambda q: q.or_("not.and(id.gt.1,id.lt.9),id.eq.5"), [1, 5, 9]),
    "not_ or_": (lambda q: q.not_.or_("id.lt.4,id.gt.6"), [4, 5, 6]),
    "two or_": (lambda q: q.or_("id.eq.1,id.eq.2").or_("id.eq.2,id.eq.3"), [2]),
}


@pytest.mark.parametrize("name", INSPECTIONS_WHERE)
def test_filter_finds_exactly_its_rows(root: Bare, name: str) -> None:
    narrow, expected = INSPECTIONS_WHERE[name]

    found = narrow(root.from_("inspections").select("id")).order("id").execute()

    assert found.data == [{"id": id_} for id_ in expected]


BUILDINGS_WHERE = {
    "eq umlauts": (lambda q: q.eq("name", "Größe Straße"), [5]),
    "eq everything reserved": (lambda q: q.eq("name", LOFTS), [4]),
    "in_ quotes what it must": (lambda q: q.in_("name", [LOFTS, "Mill Court"]), [2, 4]),
    "or_ escapes": (lambda q: q.or_(r'name.eq."Ash, \"The\" Lofts (North)",id.eq.1'), [1, 4]),
    "like escapes an underscore": (lambda q: q.like("address", r"3\_Rail%"), [3]),
    "like escapes a percent sign": (lambda q: q.like("name", r"%100\%"), [3]),
    "ilike folds umlauts": (lambda q: q.ilike("name", "GRÖSSE%"), []),
    "ilike folds the o": (lambda q: q.ilike("name", "GRÖ%"), [5]),
    "a double, exactly": (lambda q: q.eq("latitude", 42.36), [1]),
    "a negative double": (lambda q: q.lt("longitude", -73.7), [3]),
    "zero is not null": (lambda q: q.eq("floors", 0), [6]),
}


@pytest.mark.parametrize("name", BUILDINGS_WHERE)
def test_filter_accepts_any_text_and_number(root: Bare, name: str) -> None:
    narrow, expected = BUILDINGS_WHERE[name]

    found = narrow(root.from_("buildings").select("id")).order("id").execute()

    assert found.data == [{"id": id_} for id_ in expected]


ORDERS = {
    "descending, nulls first": (lambda q: q.order("date_visited", desc=True), [4, 9, 8, 7, 6, 5, 3, 2, 1]),
    "descending, nulls last": (
        lambda q: q.order("date_visited", desc=True, nullsfirst=False),
        [9, 8, 7, 6, 5, 3, 2, 1, 4],
    ),
    "ascending, nulls last": (lambda q: q.order("date_visited"), [1, 2, 3, 5, 6, 7, 8, 9, 4]),
    "ascending, nulls first": (lambda q: q.order("date_visited", nullsfirst=True), [4, 1, 2, 3, 5, 6, 7, 8, 9]),
    "two terms": (lambda q: q.order("building_id").order("id", desc=True), [9, 2, 1, 4, 3, 5, 7, 6, 8]),
    "limit": (lambda q: q.order("id").limit(2), [1, 2]),
    "limit and offset": (lambda q: q.order("id").limit(2).offset(3), [4, 5]),
    "limit of zero": (lambda q: q.order("id").limit(0), []),
    "range": (lambda q: q.order("id").range(2, 4), [3, 4, 5]),
    "range past the end": (lambda q: q.order("id").range(7, 99), [8, 9]),
}


@pytest.mark.parametrize("name", ORDERS)
def test_order_and_range(root: Bare, name: str) -> None:
    arrange, expected = ORDERS[name]

    found = arrange(root.from_("inspections").select("id")).execute()

    assert [row["id"] for row in found.data] == expected


def test_three_kinds_of_count_are_exact(root: Bare) -> None:
    for kind in postgrest.CountMethod:
        found = root.from_("inspections").select("id", count=kind).eq("status", "scheduled").limit(1)

        answer = found.execute()

        assert (len(answer.data), answer.count) == (1, 3), kind


def test_uncounted_list_has_no_count(root: Bare) -> None:
    assert root.from_("inspections").select("id").execute().count is None


def test_head_counts_without_rows(root: Bare) -> None:
    found = root.from_("inspections").select("*", count="exact", head=True).gt("id", 4).execute()

    assert (found.data, found.count) == ([], 5)


def test_csv_is_returned_as_text(root: Bare) -> None:
    asked = root.from_("buildings").select("id,name,floors").in_("id", [3, 4]).order("id").csv()

    assert asked.execute().data == ('id,name,floors\n3,"Depot 100%",\n4,"Ash, ""The"" Lofts (North)",7')


def test_single_returns_an_object(root: Bare) -> None:
    found = root.from_("inspectors").select("id,name").eq("id", 1).single().execute()

    assert found.data == {"id": 1, "name": "Ines Vega"}


@pytest.mark.parametrize(("id_", "rows"), [(99, 0), (1, 3)])
def test_single_refuses_zero_and_many_rows(root: Bare, id_: int, rows: int) -> None:
    asked = root.from_("inspections").select("id").eq("building_id", id_).single()

    with pytest.raises(postgrest.APIError) as caught:
        asked.execute()

    assert caught.value.json() == {
        "code": "PGRST116",
        "message": "Cannot coerce the result to a single JSON object",
        "details": f"The result contains {rows} rows",
        "hint": None,
    }


def test_maybe_single_accepts_one_or_no_row(root: Bare) -> None:
    inspectors = root.from_("inspectors").select("name")

    assert inspectors.eq("id", 99).maybe_single().execute() is None
    found = root.from_("inspectors").select("name").eq("id", 2).maybe_single().execute()
    assert found.data == {"name": "Ivo Kral"}


def test_maybe_single_refuses_many_rows(root: Bare) -> None:
    asked = root.from_("inspectors").select("name").maybe_single()

    assert error_of(asked.execute)[0] in ("406", "PGRST116")


VISIBLE = {
    "root": ([1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 4, 5, 6]),
    "ada": ([1, 2, 3, 4, 5, 8, 9], [1, 2, 3, 5, 6]),
    "bob": ([3, 6, 7, 8], [4, 5]),
    "moe": ([1, 2, 3, 9], [1]),
    "max": ([6, 7], [4]),
    "mia": ([], []),
}


@pytest.mark.parametrize("name", VISIBLE)
def test_each_user_reads_visible_rows(bare: Callable[[str], Bare], name: str) -> None:
    inspections, buildings = VISIBLE[name]

    listed = bare(name).from_("inspections").select("id", count="exact").order("id").execute()
    houses = bare(name).from_("buildings").select("id", count="exact").order("id").execute()

    assert [row["id"] for row in listed.data] == inspections
    assert listed.count == len(inspections)
    assert [row["id"] for row in houses.data] == buildings
    assert houses.count == len(buildings)


def test_inspection_grant_does_not_show_its_building(bare: Callable[[str], Bare]) -> None:
    found = bare("moe").from_("inspections").select("id,buildings(name)").in_("id", [1, 3])

    assert found.order("id").execute().data == [
        {"id": 1, "buildings": {"name": "Harbor House"}},
        {"id": 3, "buildings": None},
    ]


def test_filter_through_an_embed_ignores_hidden_rows(bare: Callable[[str], Bare]) -> None:
    found = bare("moe").from_("inspections").select("id,buildings!inner(id)")

    assert found.eq("buildings.name", "Mill Court").execute().data == []


def test_root_and_rest_v1_paths_return_the_same(server: Server, bare: Callable[[str], Bare]) -> None:
    under = Bare(f"{server.url}/rest/v1", headers=dict(bare("moe").headers))

    with under:
        there = under.from_("inspections").select("*", count="exact").order("id").execute()
    here = bare("moe").from_("inspections").select("*", count="exact").order("id").execute()

    assert (there.data, there.count) == (here.data, here.count)
    assert here.count == 4
