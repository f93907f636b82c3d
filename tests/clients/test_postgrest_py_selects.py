"""Selects, casts and aggregates with postgrest-py alone, at the root path."""

from collections.abc import Callable, Iterator

import pytest

from tests.clients.server import Server
from tests.clients.test_postgrest_py import Bare
from tests.conftest import CAST, MOE
from tests.support import tokens


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


EMPTY_READING = {
    **dict.fromkeys(("id", "inspection_id", "gun_id", "result", "reading_no", "taken_at", "dwelling", "room", "wall")),
    **dict.fromkeys(("component", "substrate", "color", "condition", "lead_mg_cm2", "qualifier", "classification")),
    **dict.fromkeys(
        ("voided", "ref", "note", "mode", "lead_percent", "negative_below", "positive_from", "limits_from")
    ),
    **dict.fromkeys(("sample_no", "lab_name", "reported_on", "confirms_id")),
    "method": "xrf",
    "time_is_by_order": False,
}

SELECTS = {
    "columns with an alias": (
        lambda c: c.from_("inspectors").select("id, who:name").eq("id", 3),
        [{"id": 3, "who": "Uma Öz"}],
    ),
    "everything": (
        lambda c: c.from_("reports_lead").select().eq("id", 4),
        [{**EMPTY_READING, "id": 4, "inspection_id": 6, "updated_at": "2025-04-10T15:00:00+00:00"}],
    ),
    "the same": (
        lambda c: c.from_("reports_lead").select("*").eq("id", 2),
        [
            {
                **EMPTY_READING,
                "id": 2,
                "inspection_id": 2,
                "gun_id": 78,
                "result": "negative",
                "classification": "negative",
                "taken_at": "2025-04-10T14:20:00+00:00",
                "dwelling": "4B",
                "room": "Bathroom",
                "wall": "C",
                "component": "Wall",
                "substrate": "Plaster",
                "condition": "intact",
                "lead_mg_cm2": 0.3,
                "negative_below": 1.0,
                "positive_from": 1.0,
                "limits_from": "sheet",
                "updated_at": "2025-04-10T15:00:00+00:00",
                "qualifier": "<",
                "voided": "Taken through wallpaper.",
            }
        ],
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
        [{"created_at": "2025-04-22T10:00:00+00:00", "updated_at": "2025-05-05T09:30:15.123456+00:00"}],
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
            c.from_("reports_lead").select("gun_id,inspections(status,buildings(city,clients(name)))").eq("id", 1)
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
        lambda c: c.from_("inspections").select("id,buildings!inspections_building_id_fkey(name)").eq("id", 3),
        [{"id": 3, "buildings": {"name": "Mill Court"}}],
    ),
    "two relationships to users, with a hint": (
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
        lambda c: c.from_("inspections").select("id,buildings!inner(city)").eq("buildings.city", "Lowell").order("id"),
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
        lambda c: c.from_("inspections").select("id,buildings!inner()").eq("buildings.city", "Albany"),
        [{"id": 5}],
    ),
    "rows that have none": (
        lambda c: c.from_("inspections").select("id,reports_lead()").is_("reports_lead", None).lt("id", 4).order("id"),
        [{"id": 1}, {"id": 3}],
    ),
    "rows that have some": (
        lambda c: c.from_("inspections").select("id,reports_lead()").not_.is_("reports_lead", None).order("id"),
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
        lambda c: c.from_("inspections").select("id,...buildings(city,...clients(owner:name))").eq("id", 6),
        [{"id": 6, "city": "Boston", "owner": "Borough Estates"}],
    ),
    "count of an embed": (
        lambda c: c.from_("buildings").select("id,inspections(count)").in_("id", [1, 6]).order("id"),
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
        lambda c: c.from_("inspections").select("n:id.count(),id.sum(),low:id.min(),high:id.max(),mean:id.avg()"),
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
            c.from_("inspections").select("id,buildings(name)").in_("id", [1, 5, 8]).order("buildings(name)", desc=True)
        ),
        [
            {"id": 1, "buildings": {"name": "Harbor House"}},
            {"id": 8, "buildings": {"name": "Größe Straße"}},
            {"id": 5, "buildings": {"name": "Depot 100%"}},
        ],
    ),
    "stripped nulls": (
        lambda c: c.from_("buildings").select("id,floors,building_type,state").eq("id", 3).strip_nulls(),
        [{"id": 3, "state": "NY"}],
    ),
}


@pytest.mark.parametrize("name", SELECTS)
def test_select_returns_exactly_its_columns(root: Bare, name: str) -> None:
    ask, expected = SELECTS[name]

    assert ask(root).execute().data == expected
