"""Inserts and upserts with supabase-py. Each test creates the rows that it changes."""

from datetime import UTC, date, datetime

import pytest

from tests.clients.consumers import Client, error_of
from tests.clients.rows import LOFTS, NOT_NULL, RLS, VACANT_LOT, SignedIn, building
from tests.conftest import ADA, MIA


@pytest.fixture
def ada(signed_in: SignedIn) -> Client:
    return signed_in("ada")


@pytest.fixture
def root(signed_in: SignedIn) -> Client:
    return signed_in("root")


# -- Inserts


def test_insert_one_returns_the_row(ada: Client) -> None:
    before = datetime.now(UTC)
    row = {
        "building_id": VACANT_LOT,
        "inspection_type": "annual",
        "date_visited": date(2025, 7, 1),
        "status": "scheduled",
        "notes": 'Überprüft: "alles", 100% 🏠\n\ttab',
    }

    made = ada.table("inspections").insert(row).execute().data

    assert len(made) == 1
    times = (made[0].pop("created_at"), made[0].pop("updated_at"))
    assert all(before <= datetime.fromisoformat(time) <= datetime.now(UTC) for time in times)
    assert made[0].pop("id") > 9
    assert made == [{**row, "date_visited": "2025-07-01", "inspector_id": None}]


def test_insert_many_sets_missing_columns_to_null(ada: Client) -> None:
    rows = [
        {"building_id": VACANT_LOT, "inspection_type": "fire", "notes": "one"},
        {"building_id": VACANT_LOT, "inspection_type": "lead", "status": "failed"},
    ]

    made = ada.table("inspections").insert(rows, count="exact").execute()

    assert made.count == 2
    assert [(row["inspection_type"], row["status"], row["notes"]) for row in made.data] == [
        ("fire", None, "one"),
        ("lead", "failed", None),
    ]


def test_insert_minimal_returns_nothing(ada: Client) -> None:
    row = {"name": "Quiet Yard", "client_id": 1}

    made = ada.table("buildings").insert(row, returning="minimal").execute()

    assert made.data == []
    assert len(ada.table("buildings").select("id").eq("name", "Quiet Yard").execute().data) == 1


def test_insert_returns_selected_embeds(ada: Client) -> None:
    row = {"building_id": VACANT_LOT, "inspection_type": "fire"}

    made = ada.table("inspections").insert(row).select("status, buildings(name)").execute()

    assert made.data == [{"status": None, "buildings": {"name": "Vacant Lot"}}]


def test_insert_single_is_an_object(ada: Client) -> None:
    row = {"name": "One Place", "client_id": 1, "floors": 3}

    made = ada.table("buildings").insert(row).select("name,floors").single().execute()

    assert made.data == {"name": "One Place", "floors": 3}


def test_insert_single_of_two_writes_neither(ada: Client) -> None:
    rows = [{"name": "Twin", "client_id": 1}, {"name": "Twin", "client_id": 1}]

    code, _ = error_of(ada.table("buildings").insert(rows).single().execute)

    assert code == "PGRST116"
    assert ada.table("buildings").select("id").eq("name", "Twin").execute().data == []


def test_integers_and_doubles_round_trip(root: Client) -> None:
    row = {"name": "Exact", "client_id": 2, "latitude": 0.1 + 0.2, "longitude": -1e-7}
    numbers = {"floors": 2147483647, "units": 0}

    made = root.table("buildings").insert({**row, **numbers}).execute().data[0]

    assert (made["latitude"], made["longitude"]) == (0.30000000000000004, -1e-7)
    assert (made["floors"], made["units"]) == (2147483647, 0)


INSERTS_REFUSED = {
    "another's client": ("ada", ("buildings", {"name": "X", "client_id": 2}), ("42501", RLS.format("buildings"))),
    "another's building": (
        "ada",
        ("inspections", {"building_id": LOFTS, "inspection_type": "fire"}),
        ("42501", RLS.format("inspections")),
    ),
    "no such building, the same words": (
        "ada",
        ("inspections", {"building_id": 999, "inspection_type": "fire"}),
        ("42501", RLS.format("inspections")),
    ),
    "a granted building is for reading": (
        "ada",
        ("inspections", {"building_id": 5, "inspection_type": "fire"}),
        ("42501", RLS.format("inspections")),
    ),
    "a manager writes nothing": (
        "max",
        ("inspections", {"building_id": LOFTS, "inspection_type": "fire"}),
        ("42501", "permission denied for table inspections"),
    ),
    "an admin adds no inspectors": (
        "ada",
        ("inspectors", {"name": "Eve"}),
        ("42501", "permission denied for table inspectors"),
    ),
    "an admin makes no admins": (
        "ada",
        ("users", {"email": "e@x.org", "name": "E", "role": "client_admin", "client_id": 1}),
        ("42501", RLS.format("users")),
    ),
    "a chosen id": ("ada", ("buildings", {"id": 77, "name": "X", "client_id": 1}), ("428C9", None)),
    "a missing value": (
        "ada",
        ("inspections", {"building_id": VACANT_LOT}),
        ("23502", NOT_NULL.format("inspection_type", "inspections")),
    ),
    "an unknown column": ("ada", ("buildings", {"name": "X", "client_id": 1, "nope": 1}), ("PGRST204", None)),
    "a number for a text": ("ada", ("buildings", {"name": 7, "client_id": 1}), ("22P02", None)),
    "a text for a number": (
        "ada",
        ("buildings", {"name": "X", "client_id": 1, "floors": "abc"}),
        ("22P02", 'invalid input syntax for type integer: "abc"'),
    ),
    "too large a number": ("ada", ("buildings", {"name": "X", "client_id": 1, "floors": 2147483648}), ("22003", None)),
    "no such day": (
        "ada",
        ("inspections", {"building_id": 6, "inspection_type": "x", "date_visited": "2025-02-30"}),
        ("22008", 'date/time field value out of range: "2025-02-30"'),
    ),
    "a taken id": (
        "root",
        ("clients", {"id": 1, "name": "X"}),
        ("23505", 'duplicate key value violates unique constraint "clients_pkey"'),
    ),
    "no such inspector": (
        "root",
        ("inspections", {"building_id": 6, "inspection_type": "x", "inspector_id": 999}),
        ("23503", None),
    ),
    "an admin as a manager's grantee": (
        "root",
        ("client_manager_building_access", {"manager_id": ADA, "building_id": 1}),
        ("23514", None),
    ),
}


@pytest.mark.parametrize("name", INSERTS_REFUSED)
def test_insert_is_refused_with_its_code(signed_in: SignedIn, name: str) -> None:
    who, (table, row), (code, message) = INSERTS_REFUSED[name]

    refusal = error_of(signed_in(who).table(table).insert(row).execute)

    assert refusal == (code, message or refusal[1])


def test_bulk_insert_with_one_row_out_of_scope_writes_none(ada: Client) -> None:
    rows = [{"name": "Bulk", "client_id": 1}, {"name": "Bulk", "client_id": 2}]

    refusal = error_of(ada.table("buildings").insert(rows).execute)

    assert refusal == ("42501", RLS.format("buildings"))
    assert ada.table("buildings").select("id").eq("name", "Bulk").execute().data == []


# -- Upserts


def test_upsert_merges_by_primary_key(ada: Client) -> None:
    place = building(ada, city="Salem", floors=1)
    row = {"id": place, "name": "Renamed", "client_id": 1, "floors": 2}

    merged = ada.table("buildings").upsert(row).execute().data

    assert [(r["id"], r["name"], r["floors"], r["city"]) for r in merged] == [(place, "Renamed", 2, "Salem")]


def test_upsert_many_inserts_and_merges(root: Client) -> None:
    place = building(root)
    rows = [{"id": place, "name": "Old", "client_id": 1}, {"id": place + 1000, "name": "New", "client_id": 1}]

    written = root.table("buildings").upsert(rows, count="exact").execute()

    assert written.count == 2
    assert sorted((r["id"], r["name"]) for r in written.data) == [(place, "Old"), (place + 1000, "New")]


def test_upsert_ignoring_duplicates_keeps_the_first_row(root: Client) -> None:
    row = {"id": 1, "name": "Overwritten"}

    ignored = root.table("clients").upsert(row, ignore_duplicates=True).execute()

    assert ignored.data == []
    kept = root.table("clients").select("name").eq("id", 1).single().execute()
    assert kept.data == {"name": "Acme Housing"}


def test_upsert_on_conflict_names_the_key(ada: Client) -> None:
    place = building(ada)
    grant = {"manager_id": MIA, "building_id": place}
    grants = ada.table("client_manager_building_access")
    grants.insert(grant).execute()

    again = grants.upsert(grant, on_conflict="manager_id,building_id", ignore_duplicates=True).execute()

    assert again.data == []
    found = grants.select("assigned_by").match(grant).execute().data
    assert found == [{"assigned_by": ADA}]


def test_upsert_of_a_hidden_row_is_refused(ada: Client, signed_in: SignedIn) -> None:
    row = {"id": LOFTS, "name": "Taken over", "client_id": 1}

    code, _ = error_of(ada.table("buildings").upsert(row).execute)

    assert code == "428C9"
    kept = signed_in("bob").table("buildings").select("name").eq("id", LOFTS).single().execute()
    assert kept.data == {"name": 'Ash, "The" Lofts (North)'}
