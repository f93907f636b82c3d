"""The dialect's reads, as postgrest-py says them: the bare client, at the root path."""

from collections.abc import Callable
from collections.abc import Iterator
from datetime import UTC
from datetime import date
from datetime import datetime

import pytest

from tests import tokens
from tests.clients.consumers import postgrest
from tests.clients.consumers import refused
from tests.clients.server import Server
from tests.conftest import CAST
from tests.conftest import MAX
from tests.conftest import MOE

Bare = postgrest.SyncPostgrestClient


@pytest.fixture(scope="module")
def bare(server: Server) -> Iterator[Callable[[str], Bare]]:
    """`bare("moe")` is a client without Supabase around it: two headers, and no /rest/v1."""
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
    "gte a time": (
        lambda q: q.gte("updated_at", datetime(2025, 5, 5, 9, 30, 15, 123456, UTC)),
        [5, 6, 7, 8, 9],
    ),
    "gt the same time": (
        lambda q: q.gt("updated_at", datetime(2025, 5, 5, 9, 30, 15, 123456, UTC)),
        [6, 7, 8, 9],
    ),
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
    "isdistinct": (
        lambda q: q.filter("status", "isdistinct", "completed"),
        [2, 3, 4, 5, 7, 8, 9],
    ),
    "eq any": (lambda q: q.filter("id", "eq(any)", "{1,3}"), [1, 3]),
    "gt all": (lambda q: q.filter("id", "gt(all)", "{3,7}"), [8, 9]),
    "match on columns": (lambda q: q.match({"building_id": 1, "status": "scheduled"}), [9]),
    "not_ eq": (lambda q: q.not_.eq("status", "scheduled"), [1, 2, 5, 6, 7]),
    "not_ is": (lambda q: q.not_.is_("notes", None), [1, 2, 5, 6, 7, 8, 9]),
    "not_ in": (lambda q: q.not_.in_("id", [1, 2, 3]), [4, 5, 6, 7, 8, 9]),
    "not_ like any": (lambda q: q.not_.like_any_of("notes", "%l%,%r%"), [7, 8]),
    "or_": (
        lambda q: q.or_("status.eq.failed,and(inspection_type.eq.annual,status.is.null)"),
        [2, 8],
    ),
    "or_ of quoted texts": (
        lambda q: q.or_('notes.eq."crack, north wall",notes.in.("NULL","*starred*")'),
        [5, 6, 8],
    ),
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
def test_filter_takes_any_text_and_number(root: Bare, name: str) -> None:
    narrow, expected = BUILDINGS_WHERE[name]

    found = narrow(root.from_("buildings").select("id")).order("id").execute()

    assert found.data == [{"id": id_} for id_ in expected]


ORDERS = {
    "descending, nulls first": (
        lambda q: q.order("date_visited", desc=True),
        [4, 9, 8, 7, 6, 5, 3, 2, 1],
    ),
    "descending, nulls last": (
        lambda q: q.order("date_visited", desc=True, nullsfirst=False),
        [9, 8, 7, 6, 5, 3, 2, 1, 4],
    ),
    "ascending, nulls last": (lambda q: q.order("date_visited"), [1, 2, 3, 5, 6, 7, 8, 9, 4]),
    "ascending, nulls first": (
        lambda q: q.order("date_visited", nullsfirst=True),
        [4, 1, 2, 3, 5, 6, 7, 8, 9],
    ),
    "two terms": (
        lambda q: q.order("building_id").order("id", desc=True),
        [9, 2, 1, 4, 3, 5, 7, 6, 8],
    ),
    "limit": (lambda q: q.order("id").limit(2), [1, 2]),
    "limit and offset": (lambda q: q.order("id").limit(2).offset(3), [4, 5]),
    "limit of zero": (lambda q: q.order("id").limit(0), []),
    "range": (lambda q: q.order("id").range(2, 4), [3, 4, 5]),
    "range past the end": (lambda q: q.order("id").range(7, 99), [8, 9]),
}


@pytest.mark.parametrize("name", ORDERS)
def test_order_and_page(root: Bare, name: str) -> None:
    arrange, expected = ORDERS[name]

    found = arrange(root.from_("inspections").select("id")).execute()

    assert [row["id"] for row in found.data] == expected


SELECTS = {
    "columns with an alias": (
        lambda c: c.from_("inspectors").select("id, who:name").eq("id", 3),
        [{"id": 3, "who": "Uma Öz"}],
    ),
    "everything": (
        lambda c: c.from_("reports_lead").select().eq("id", 4),
        [{"id": 4, "inspection_id": 6, "gun_id": None, "result": None}],
    ),
    "the same": (
        lambda c: c.from_("inspectors").select("*").eq("id", 2),
        [{"id": 2, "name": "Ivo Kral", "email": None}],
    ),
    "a cast": (
        lambda c: c.from_("buildings").select("id::text,floors::text").eq("id", 1),
        [{"id": "1", "floors": "12"}],
    ),
    "an alias and a cast": (
        lambda c: c.from_("buildings").select("height:floors::text").eq("id", 2),
        [{"height": "4"}],
    ),
    "doubles, digit for digit": (
        lambda c: c.from_("buildings").select("latitude,longitude").eq("id", 3),
        [{"latitude": 42.65, "longitude": -73.75}],
    ),
    "times as PostgreSQL prints them": (
        lambda c: c.from_("inspections").select("created_at,updated_at").eq("id", 5),
        [
            {
                "created_at": "2025-04-22T10:00:00+00:00",
                "updated_at": "2025-05-05T09:30:15.123456+00:00",
            }
        ],
    ),
    "to-one": (
        lambda c: c.from_("inspections").select("id,buildings(name)").eq("id", 1),
        [{"id": 1, "buildings": {"name": "Harbor House"}}],
    ),
    "to-one, null": (
        lambda c: c.from_("inspections").select("id,inspectors(name)").eq("id", 4),
        [{"id": 4, "inspectors": None}],
    ),
    "to-one, twice removed": (
        lambda c: (
            c.from_("reports_lead")
            .select("gun_id,inspections(status,buildings(city,clients(name)))")
            .eq("id", 1)
        ),
        [
            {
                "gun_id": 77,
                "inspections": {
                    "status": "failed",
                    "buildings": {"city": "Boston", "clients": {"name": "Acme Housing"}},
                },
            }
        ],
    ),
    "to-many, ordered inside": (
        lambda c: (
            c.from_("buildings")
            .select("name,inspections(id)")
            .eq("id", 1)
            .order("id", desc=True, foreign_table="inspections")
        ),
        [{"name": "Harbor House", "inspections": [{"id": 9}, {"id": 2}, {"id": 1}]}],
    ),
    "to-many, limited inside": (
        lambda c: (
            c.from_("buildings")
            .select("id,inspections(id)")
            .in_("id", [1, 6])
            .order("id")
            .order("id", foreign_table="inspections")
            .limit(2, foreign_table="inspections")
        ),
        [{"id": 1, "inspections": [{"id": 1}, {"id": 2}]}, {"id": 6, "inspections": []}],
    ),
    "to-many, a range inside": (
        lambda c: (
            c.from_("buildings")
            .select("id,inspections(id)")
            .eq("id", 1)
            .order("id", foreign_table="inspections")
            .range(1, 2, foreign_table="inspections")
        ),
        [{"id": 1, "inspections": [{"id": 2}, {"id": 9}]}],
    ),
    "an alias and a hint by column": (
        lambda c: c.from_("inspections").select("id,house:buildings!building_id(name)").eq("id", 3),
        [{"id": 3, "house": {"name": "Mill Court"}}],
    ),
    "a hint by constraint": (
        lambda c: (
            c.from_("inspections")
            .select("id,buildings!inspections_building_id_fkey(name)")
            .eq("id", 3)
        ),
        [{"id": 3, "buildings": {"name": "Mill Court"}}],
    ),
    "two ways to users, told apart": (
        lambda c: (
            c.from_("client_manager_building_access")
            .select(
                "building_id,"
                "manager:users!client_manager_building_access_manager_id_fkey(name),"
                "by:users!client_manager_building_access_assigned_by_fkey(name)"
            )
            .eq("manager_id", MOE)
        ),
        [{"building_id": 1, "manager": {"name": "Moe"}, "by": {"name": "Ada"}}],
    ),
    "inner": (
        lambda c: c.from_("inspections").select("id,reports_lead!inner(gun_id)").eq("id", 2),
        [{"id": 2, "reports_lead": [{"gun_id": 77}, {"gun_id": 78}]}],
    ),
    "inner leaves out": (
        lambda c: (
            c.from_("inspections")
            .select("id,buildings!inner(city)")
            .eq("buildings.city", "Lowell")
            .order("id")
        ),
        [{"id": 3, "buildings": {"city": "Lowell"}}, {"id": 4, "buildings": {"city": "Lowell"}}],
    ),
    "left keeps": (
        lambda c: (
            c.from_("inspections")
            .select("id,buildings!left(city)")
            .eq("buildings.city", "Lowell")
            .in_("id", [1, 3])
            .order("id")
        ),
        [{"id": 1, "buildings": None}, {"id": 3, "buildings": {"city": "Lowell"}}],
    ),
    "an empty embed only filters": (
        lambda c: (
            c.from_("inspections").select("id,buildings!inner()").eq("buildings.city", "Albany")
        ),
        [{"id": 5}],
    ),
    "rows that have none": (
        lambda c: (
            c.from_("inspections")
            .select("id,reports_lead()")
            .is_("reports_lead", None)
            .lt("id", 4)
            .order("id")
        ),
        [{"id": 1}, {"id": 3}],
    ),
    "rows that have some": (
        lambda c: (
            c.from_("inspections")
            .select("id,reports_lead()")
            .not_.is_("reports_lead", None)
            .order("id")
        ),
        [{"id": 2}, {"id": 6}],
    ),
    "or_ inside an embed": (
        lambda c: (
            c.from_("buildings")
            .select("id,inspections(id)")
            .or_("status.eq.failed,status.eq.completed", reference_table="inspections")
            .eq("id", 1)
            .order("id", foreign_table="inspections")
        ),
        [{"id": 1, "inspections": [{"id": 1}, {"id": 2}]}],
    ),
    "spread": (
        lambda c: c.from_("inspections").select("id,...buildings(building:name,city)").eq("id", 5),
        [{"id": 5, "building": "Depot 100%", "city": "Albany"}],
    ),
    "spread in a spread": (
        lambda c: (
            c.from_("inspections")
            .select("id,...buildings(city,...clients(owner:name))")
            .eq("id", 6)
        ),
        [{"id": 6, "city": "Boston", "owner": "Borough Estates"}],
    ),
    "count of an embed": (
        lambda c: (
            c.from_("buildings").select("id,inspections(count)").in_("id", [1, 6]).order("id")
        ),
        [{"id": 1, "inspections": [{"count": 3}]}, {"id": 6, "inspections": [{"count": 0}]}],
    ),
    "groups": (
        lambda c: c.from_("inspections").select("status,count()").order("status"),
        [
            {"status": "cancelled", "count": 1},
            {"status": "completed", "count": 2},
            {"status": "failed", "count": 1},
            {"status": "in_progress", "count": 1},
            {"status": "scheduled", "count": 3},
            {"status": None, "count": 1},
        ],
    ),
    "all five aggregates": (
        lambda c: c.from_("inspections").select(
            "n:id.count(),id.sum(),low:id.min(),high:id.max(),mean:id.avg()"
        ),
        [{"n": 9, "sum": 45, "low": 1, "high": 9, "mean": 5}],
    ),
    "an aggregate, cast": (
        lambda c: c.from_("buildings").select("city,total:units.sum()::text").eq("city", "Boston"),
        [{"city": "Boston", "total": "136"}],
    ),
    "an aggregate in an embed": (
        lambda c: c.from_("clients").select("id,buildings(floors.max())").order("id"),
        [{"id": 1, "buildings": [{"max": 12}]}, {"id": 2, "buildings": [{"max": 7}]}],
    ),
    "order by a to-one embed": (
        lambda c: (
            c.from_("inspections")
            .select("id,buildings(name)")
            .in_("id", [1, 5, 8])
            .order("buildings(name)", desc=True)
        ),
        [
            {"id": 1, "buildings": {"name": "Harbor House"}},
            {"id": 8, "buildings": {"name": "Größe Straße"}},
            {"id": 5, "buildings": {"name": "Depot 100%"}},
        ],
    ),
    "stripped nulls": (
        lambda c: (
            c.from_("buildings").select("id,floors,building_type,state").eq("id", 3).strip_nulls()
        ),
        [{"id": 3, "state": "NY"}],
    ),
}


@pytest.mark.parametrize("name", SELECTS)
def test_select_returns_exactly_its_columns(root: Bare, name: str) -> None:
    ask, expected = SELECTS[name]

    assert ask(root).execute().data == expected


def test_three_kinds_of_count_are_exact(root: Bare) -> None:
    for kind in postgrest.CountMethod:
        found = (
            root.from_("inspections").select("id", count=kind).eq("status", "scheduled").limit(1)
        )

        answer = found.execute()

        assert (len(answer.data), answer.count) == (1, 3), kind


def test_uncounted_list_has_no_count(root: Bare) -> None:
    assert root.from_("inspections").select("id").execute().count is None


def test_head_counts_without_rows(root: Bare) -> None:
    found = root.from_("inspections").select("*", count="exact", head=True).gt("id", 4).execute()

    assert (found.data, found.count) == ([], 5)


def test_csv_is_text(root: Bare) -> None:
    asked = root.from_("buildings").select("id,name,floors").in_("id", [3, 4]).order("id").csv()

    assert asked.execute().data == (
        'id,name,floors\n3,"Depot 100%",\n4,"Ash, ""The"" Lofts (North)",7'
    )


def test_single_is_the_row_itself(root: Bare) -> None:
    found = root.from_("inspectors").select("id,name").eq("id", 1).single().execute()

    assert found.data == {"id": 1, "name": "Ines Vega"}


@pytest.mark.parametrize(("id_", "rows"), [(99, 0), (1, 3)])
def test_single_refuses_none_and_many(root: Bare, id_: int, rows: int) -> None:
    asked = root.from_("inspections").select("id").eq("building_id", id_).single()

    with pytest.raises(postgrest.APIError) as caught:
        asked.execute()

    assert caught.value.json() == {
        "code": "PGRST116",
        "message": "Cannot coerce the result to a single JSON object",
        "details": f"The result contains {rows} rows",
        "hint": None,
    }


def test_maybe_single_takes_one_or_none(root: Bare) -> None:
    inspectors = root.from_("inspectors").select("name")

    assert inspectors.eq("id", 99).maybe_single().execute() is None
    found = root.from_("inspectors").select("name").eq("id", 2).maybe_single().execute()
    assert found.data == {"name": "Ivo Kral"}


def test_maybe_single_refuses_many(root: Bare) -> None:
    asked = root.from_("inspectors").select("name").maybe_single()

    assert refused(asked.execute)[0] in ("406", "PGRST116")


VISIBLE = {
    "root": ([1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 4, 5, 6]),
    "ada": ([1, 2, 3, 4, 5, 8, 9], [1, 2, 3, 5, 6]),
    "bob": ([3, 6, 7, 8], [4, 5]),
    "moe": ([1, 2, 3, 9], [1]),
    "max": ([6, 7], [4]),
    "mia": ([], []),
}


@pytest.mark.parametrize("name", VISIBLE)
def test_each_person_reads_what_is_theirs(bare: Callable[[str], Bare], name: str) -> None:
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


def test_filter_through_an_embed_cannot_see_a_hidden_row(bare: Callable[[str], Bare]) -> None:
    found = bare("moe").from_("inspections").select("id,buildings!inner(id)")

    assert found.eq("buildings.name", "Mill Court").execute().data == []


ERRORS = {
    "unknown column": (
        lambda c: c.from_("buildings").select("id,nope"),
        "42703",
        "column buildings.nope does not exist",
    ),
    "unknown column in a filter": (
        lambda c: c.from_("buildings").select("id").eq("nope", 1),
        "42703",
        "column buildings.nope does not exist",
    ),
    "hidden column": (
        lambda c: c.from_("inspections").select("client_id"),
        "42703",
        "column inspections.client_id does not exist",
    ),
    "no relationship": (
        lambda c: c.from_("buildings").select("id,nope(*)"),
        "PGRST200",
        "Could not find a relationship between 'buildings' and 'nope' in the schema cache",
    ),
    "two relationships": (
        lambda c: c.from_("client_manager_building_access").select("*,users(name)"),
        "PGRST201",
        (
            "Could not embed because more than one relationship was found for"
            " 'client_manager_building_access' and 'users'"
        ),
    ),
    "no embed to filter": (
        lambda c: c.from_("inspections").select("id").eq("buildings.city", "Boston"),
        "PGRST108",
        "'buildings' is not an embedded resource in this request",
    ),
    "no text for a number": (
        lambda c: c.from_("buildings").select("id").eq("id", "abc"),
        "22P02",
        'invalid input syntax for type bigint: "abc"',
    ),
    "no such day": (
        lambda c: c.from_("inspections").select("id").eq("date_visited", "2025-02-30"),
        "22008",
        'date/time field value out of range: "2025-02-30"',
    ),
    "no plans": (
        lambda c: c.from_("buildings").select("id").explain(format="json"),
        "PGRST107",
        None,
    ),
    "no other schema": (
        lambda c: c.schema("auth").from_("users").select("*"),
        "PGRST106",
        None,
    ),
    "a page beyond the end, counted": (
        lambda c: c.from_("buildings").select("id", count="exact").range(100, 109),
        "PGRST103",
        "Requested range not satisfiable",
    ),
    "a negative limit": (
        lambda c: c.from_("buildings").select("id").limit(-1),
        "PGRST103",
        "Requested range not satisfiable",
    ),
    "a range backwards": (
        lambda c: c.from_("buildings").select("id").range(5, 2),
        "PGRST103",
        "Requested range not satisfiable",
    ),
    "a name with a space": (lambda c: c.from_("my table").select("*"), "PGRST205", None),
    "unknown table": (lambda c: c.from_("nope").select("*"), "PGRST205", None),
    "internal table": (lambda c: c.from_("credentials").select("*"), "PGRST205", None),
    "unknown operator": (
        lambda c: c.from_("buildings").select("id").filter("id", "foo", "1"),
        "PGRST100",
        '"failed to parse filter (foo.1)" (line 1, column 1)',
    ),
    "unfinished select": (
        lambda c: c.from_("buildings").select("id,inspections(id"),
        "PGRST100",
        None,
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error_has_its_code_and_message(root: Bare, name: str) -> None:
    ask, code, message = ERRORS[name]

    refusal = refused(ask(root).execute)

    assert refusal == (code, message or refusal[1])
    assert refusal[1], "an error says something"


DEEP = "inspections(buildings(inspections(buildings(inspections(buildings(id))))))"
BOUNDS = {
    "in values": (lambda c: c.select("id").in_("id", range(1001)), "1,000"),
    "conditions": (lambda c: c.select("id").or_(",".join(["id.eq.1"] * 101)), "100"),
    "a pattern": (lambda c: c.select("id").like("name", "x" * 257), "256"),
    "embeds": (lambda c: c.select(DEEP), "5"),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_bound_is_named_where_it_is_crossed(root: Bare, name: str) -> None:
    overdo, bound = BOUNDS[name]

    code, message = refused(overdo(root.from_("buildings")).execute)

    assert code, message
    assert bound in message.replace("1000", "1,000")


FOREIGN_OPERATORS = {
    "contains": lambda q: q.contains("name", ["x"]),
    "contained_by": lambda q: q.contained_by("name", ["x"]),
    "overlaps": lambda q: q.overlaps("name", ["x"]),
    "range_gt": lambda q: q.range_gt("floors", (1, 2)),
    "range_adjacent": lambda q: q.range_adjacent("floors", (1, 2)),
    "fts": lambda q: q.fts("name", "house"),
    "wfts": lambda q: q.text_search("name", "house", {"type": "web_search"}),
}


@pytest.mark.parametrize("name", FOREIGN_OPERATORS)
def test_operator_that_no_column_has_is_refused_not_ignored(root: Bare, name: str) -> None:
    narrowed = FOREIGN_OPERATORS[name](root.from_("buildings").select("id"))

    code, message = refused(narrowed.execute)

    assert code, message
    assert message, code


def test_head_that_is_refused_still_tells_its_code(root: Bare) -> None:
    asked = root.from_("buildings").select("nope", count="exact", head=True)

    assert refused(asked.execute)[0] == "42703"


def test_count_may_stand_alone_in_a_select(root: Bare) -> None:
    """`select=count` is older than `count()`, and what many consumers write."""
    asked = root.from_("inspections").select("count").eq("status", "scheduled").single()

    assert asked.execute().data == {"count": 3}


def test_two_limits_never_open_a_list(root: Bare) -> None:
    """postgrest-py repeats the parameter; either may win, but not neither."""
    found = root.from_("inspections").select("id").limit(1).limit(2).execute()

    assert len(found.data) in (1, 2)


def test_both_schemes_of_paths_answer_alike(server: Server, bare: Callable[[str], Bare]) -> None:
    under = Bare(f"{server.url}/rest/v1", headers=dict(bare("moe").headers))

    with under:
        there = under.from_("inspections").select("*", count="exact").order("id").execute()
    here = bare("moe").from_("inspections").select("*", count="exact").order("id").execute()

    assert (there.data, there.count) == (here.data, here.count)
    assert here.count == 4


def test_without_a_bearer_nothing_is_read(server: Server) -> None:
    with Bare(server.url, headers={"apikey": tokens.ANON_KEY}) as nobody:
        refusal = refused(nobody.from_("inspections").select("*").execute)

    assert refusal == ("42501", "permission denied for table inspections")


def test_without_an_apikey_nothing_is_read(server: Server) -> None:
    with Bare(server.url, headers={"Authorization": CAST["root"].authorization()}) as keyless:
        _, message = refused(keyless.from_("inspections").select("*").execute)

    assert message == "No API key found in request"


def test_wrong_apikey_reads_nothing(server: Server) -> None:
    headers = {"apikey": "guessed", "Authorization": CAST["root"].authorization()}
    with Bare(server.url, headers=headers) as guesser:
        _, message = refused(guesser.from_("inspections").select("*").execute)

    assert message == "Invalid API key"


BEARERS = {
    "no token": ("nonsense", "PGRST301"),
    "a foreign signature": (
        tokens.sign(tokens.claims_of(MAX, "client_manager", 2), key="x" * 40),
        "PGRST301",
    ),
    "another algorithm": (
        tokens.sign(tokens.claims_of(MAX, "client_manager", 2), alg="none"),
        "PGRST301",
    ),
    "expired": (tokens.token_for(MAX, "client_manager", 2, exp=1_700_000_000), "PGRST303"),
    "more than it was": (tokens.token_for(MAX, "client_admin", 2), "PGRST303"),
    "elsewhere": (tokens.token_for(MAX, "client_manager", 1), "PGRST303"),
    "nobody's": (
        tokens.token_for("00000000-0000-4000-8000-000000000099", "super_admin", None),
        "PGRST303",
    ),
}


@pytest.mark.parametrize("name", BEARERS)
def test_bad_bearer_has_its_code(server: Server, name: str) -> None:
    token, code = BEARERS[name]
    with Bare(server.url, headers={"apikey": tokens.ANON_KEY}) as guest:
        guest.auth(token)

        assert refused(guest.from_("inspections").select("*").execute)[0] == code
