"""Reads, writes and functions, as supabase-py says them. Every test makes the rows it changes."""

import uuid
from collections.abc import Callable
from datetime import UTC
from datetime import date
from datetime import datetime

import pytest

from tests import tokens
from tests.clients.consumers import Client
from tests.clients.consumers import Consumers
from tests.clients.consumers import refused
from tests.conftest import ADA
from tests.conftest import BOB
from tests.conftest import MAX
from tests.conftest import MIA
from tests.conftest import MOE
from tests.conftest import NO_ONE
from tests.conftest import ROOT

VACANT_LOT = 6  # ada's, with no inspections of its own
LOFTS = 4  # bob's
RLS = 'new row violates row-level security policy for table "{}"'
NOT_NULL = 'null value in column "{}" of relation "{}" violates not-null constraint'
IN_USE = 'update or delete on table "{}" violates foreign key constraint "{}" on table "{}"'

SignedIn = Callable[[str], Client]


@pytest.fixture
def ada(signed_in: SignedIn) -> Client:
    return signed_in("ada")


@pytest.fixture
def root(signed_in: SignedIn) -> Client:
    return signed_in("root")


@pytest.fixture
def max_(signed_in: SignedIn) -> Client:
    return signed_in("max")


def building(owner: Client, **columns: object) -> int:
    """Make a building that nothing else knows, for one test."""
    row = {"name": f"Test {uuid.uuid4()}", "client_id": 1, **columns}
    return owner.table("buildings").insert(row).execute().data[0]["id"]


def inspections(owner: Client, building_id: int, *statuses: str) -> list[int]:
    """Make one inspection for each status; return their ids."""
    rows = [
        {"building_id": building_id, "inspection_type": "fire", "status": status}
        for status in statuses
    ]
    return [row["id"] for row in owner.table("inspections").insert(rows).execute().data]


def statuses_in(consumer: Client, building_id: int) -> list[str]:
    rows = consumer.table("inspections").select("status").eq("building_id", building_id)
    return [row["status"] for row in rows.order("id").execute().data]


# -- Reading, under /rest/v1


def test_signed_in_people_read_what_is_theirs(signed_in: SignedIn) -> None:
    seen = {"moe": [1], "max": [LOFTS], "mia": []}

    for name, expected in seen.items():
        rows = signed_in(name).table("buildings").select("id").order("id").execute().data
        assert [row["id"] for row in rows] == expected, name


def test_manager_reads_their_own_row_of_users(max_: Client) -> None:
    rows = max_.table("users").select("*").execute().data

    assert rows == [
        {
            "id": MAX,
            "email": "max@borough.example",
            "name": "Max",
            "role": "client_manager",
            "client_id": 2,
            "created_at": "2025-01-01T00:00:00+00:00",
            "updated_at": "2025-01-01T00:00:00+00:00",
        }
    ]


def test_counted_page_with_an_embed(max_: Client) -> None:
    asked = max_.table("inspections").select("id, reports_lead(result)", count="exact")

    page = asked.order("id").range(0, 0).execute()

    assert page.count == 2
    assert page.data == [{"id": 6, "reports_lead": [{"result": "negative"}, {"result": None}]}]


def test_data_call_before_sign_in_is_refused(consumers: Consumers) -> None:
    nobody = consumers.connect()

    refusal = refused(nobody.table("inspections").select("*").execute)

    assert refusal == ("42501", "permission denied for table inspections")


def test_token_of_another_issuer_is_taken_by_header(consumers: Consumers) -> None:
    token = tokens.token_for(MAX, "client_manager", 2)
    consumer = consumers.connect(authorization=token)

    rows = consumer.table("inspections").select("id").order("id").execute().data

    assert rows == [{"id": 6}, {"id": 7}]


def test_token_of_another_issuer_is_taken_by_postgrest_auth(consumers: Consumers) -> None:
    consumer = consumers.connect()
    consumer.postgrest.auth(tokens.token_for(MOE, "client_manager", 1))

    assert consumer.table("buildings").select("id").execute().data == [{"id": 1}]


def test_service_key_reads_everything(consumers: Consumers) -> None:
    service = consumers.connect(tokens.SERVICE_KEY)

    found = service.table("users").select("id", count="exact", head=True).in_("id", [ROOT, MAX])

    assert found.execute().count == 2


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


def test_insert_many_fills_what_is_missing_with_null(ada: Client) -> None:
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


def test_insert_with_select_embeds_in_the_answer(ada: Client) -> None:
    row = {"building_id": VACANT_LOT, "inspection_type": "fire"}

    made = ada.table("inspections").insert(row).select("status, buildings(name)").execute()

    assert made.data == [{"status": None, "buildings": {"name": "Vacant Lot"}}]


def test_insert_single_is_an_object(ada: Client) -> None:
    row = {"name": "One Place", "client_id": 1, "floors": 3}

    made = ada.table("buildings").insert(row).select("name,floors").single().execute()

    assert made.data == {"name": "One Place", "floors": 3}


def test_insert_single_of_two_writes_neither(ada: Client) -> None:
    rows = [{"name": "Twin", "client_id": 1}, {"name": "Twin", "client_id": 1}]

    code, _ = refused(ada.table("buildings").insert(rows).single().execute)

    assert code == "PGRST116"
    assert ada.table("buildings").select("id").eq("name", "Twin").execute().data == []


def test_integers_and_doubles_come_back_digit_for_digit(root: Client) -> None:
    row = {"name": "Exact", "client_id": 2, "latitude": 0.1 + 0.2, "longitude": -1e-7}
    numbers = {"floors": 2147483647, "units": -2147483648}

    made = root.table("buildings").insert({**row, **numbers}).execute().data[0]

    assert (made["latitude"], made["longitude"]) == (0.30000000000000004, -1e-7)
    assert (made["floors"], made["units"]) == (2147483647, -2147483648)


INSERTS_REFUSED = {
    "another's client": (
        "ada",
        ("buildings", {"name": "X", "client_id": 2}),
        ("42501", RLS.format("buildings")),
    ),
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
    "a chosen id": (
        "ada",
        ("buildings", {"id": 77, "name": "X", "client_id": 1}),
        ("428C9", None),
    ),
    "a missing value": (
        "ada",
        ("inspections", {"building_id": VACANT_LOT}),
        (
            "23502",
            NOT_NULL.format("inspection_type", "inspections"),
        ),
    ),
    "an unknown column": (
        "ada",
        ("buildings", {"name": "X", "client_id": 1, "nope": 1}),
        ("PGRST204", None),
    ),
    "a number for a text": ("ada", ("buildings", {"name": 7, "client_id": 1}), ("22P02", None)),
    "a text for a number": (
        "ada",
        ("buildings", {"name": "X", "client_id": 1, "floors": "abc"}),
        ("22P02", 'invalid input syntax for type integer: "abc"'),
    ),
    "too large a number": (
        "ada",
        ("buildings", {"name": "X", "client_id": 1, "floors": 2147483648}),
        ("22003", None),
    ),
    "no such day": (
        "ada",
        (
            "inspections",
            {"building_id": 6, "inspection_type": "x", "date_visited": "2025-02-30"},
        ),
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

    refusal = refused(signed_in(who).table(table).insert(row).execute)

    assert refusal == (code, message or refusal[1])


def test_bulk_insert_with_one_row_out_of_reach_writes_none(ada: Client) -> None:
    rows = [{"name": "Bulk", "client_id": 1}, {"name": "Bulk", "client_id": 2}]

    refusal = refused(ada.table("buildings").insert(rows).execute)

    assert refusal == ("42501", RLS.format("buildings"))
    assert ada.table("buildings").select("id").eq("name", "Bulk").execute().data == []


# -- Upserts


def test_upsert_merges_by_primary_key(ada: Client) -> None:
    place = building(ada, city="Salem", floors=1)
    row = {"id": place, "name": "Renamed", "client_id": 1, "floors": 2}

    merged = ada.table("buildings").upsert(row).execute().data

    assert [(r["id"], r["name"], r["floors"], r["city"]) for r in merged] == [
        (place, "Renamed", 2, "Salem")
    ]


def test_upsert_many_inserts_and_merges(root: Client) -> None:
    place = building(root)
    rows = [
        {"id": place, "name": "Old", "client_id": 1},
        {"id": place + 1000, "name": "New", "client_id": 1},
    ]

    written = root.table("buildings").upsert(rows, count="exact").execute()

    assert written.count == 2
    assert sorted((r["id"], r["name"]) for r in written.data) == [
        (place, "Old"),
        (place + 1000, "New"),
    ]


def test_upsert_that_ignores_duplicates_keeps_the_first(root: Client) -> None:
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

    again = grants.upsert(
        grant, on_conflict="manager_id,building_id", ignore_duplicates=True
    ).execute()

    assert again.data == []
    found = grants.select("assigned_by").match(grant).execute().data
    assert found == [{"assigned_by": ADA}]


def test_upsert_onto_a_hidden_row_is_refused(ada: Client, signed_in: SignedIn) -> None:
    row = {"id": LOFTS, "name": "Taken over", "client_id": 1}

    code, _ = refused(ada.table("buildings").upsert(row).execute)

    assert code == "428C9"
    kept = signed_in("bob").table("buildings").select("name").eq("id", LOFTS).single().execute()
    assert kept.data == {"name": 'Ash, "The" Lofts (North)'}


# -- Updates


def test_update_returns_what_it_wrote(ada: Client) -> None:
    place = building(ada)
    first, second = inspections(ada, place, "scheduled", "failed")

    written = ada.table("inspections").update({"status": "completed"}).eq("id", first).execute()

    assert [(row["id"], row["status"]) for row in written.data] == [(first, "completed")]
    assert statuses_in(ada, place) == ["completed", "failed"]
    assert second > first


def test_update_counts(ada: Client) -> None:
    place = building(ada)
    inspections(ada, place, "a", "b", "a")

    written = (
        ada.table("inspections")
        .update({"notes": "seen"}, count="exact", returning="minimal")
        .match({"building_id": place, "status": "a"})
        .execute()
    )

    assert (written.data, written.count) == ([], 2)


def test_update_of_no_row_is_an_empty_list(ada: Client) -> None:
    written = ada.table("inspections").update({"status": "x"}).eq("id", 999999).execute()

    assert written.data == []


def test_update_with_select_and_embedded_name(ada: Client) -> None:
    place = building(ada, name="Embedded")
    inspections(ada, place, "a")

    written = (
        ada.table("inspections")
        .update({"status": "b"})
        .eq("building_id", place)
        .select("status,buildings(name)")
        .execute()
    )

    assert written.data == [{"status": "b", "buildings": {"name": "Embedded"}}]


def test_update_without_a_filter_is_refused(ada: Client) -> None:
    refusal = refused(ada.table("buildings").update({"name": "All"}).execute)

    assert refusal == ("21000", "UPDATE requires a WHERE clause")


def test_update_does_not_reach_a_hidden_row(ada: Client, signed_in: SignedIn) -> None:
    written = ada.table("buildings").update({"name": "Mine"}).in_("id", [LOFTS, 5]).execute()

    assert written.data == []
    names = signed_in("bob").table("buildings").select("name").in_("id", [LOFTS, 5]).order("id")
    assert [row["name"] for row in names.execute().data] == [
        'Ash, "The" Lofts (North)',
        "Größe Straße",
    ]


def test_update_cannot_give_a_row_away(ada: Client) -> None:
    place = building(ada)

    refusal = refused(ada.table("buildings").update({"client_id": 2}).eq("id", place).execute)

    assert refusal == ("42501", RLS.format("buildings"))


def test_manager_updates_nothing(max_: Client) -> None:
    refusal = refused(max_.table("inspections").update({"notes": "x"}).eq("id", 6).execute)

    assert refusal == ("42501", "permission denied for table inspections")


def test_updated_at_follows_and_created_at_stays(ada: Client) -> None:
    place = building(ada)
    before = ada.table("buildings").select("created_at").eq("id", place).single().execute().data

    after = ada.table("buildings").update({"city": "Lynn"}).eq("id", place).execute().data[0]

    assert after["created_at"] == before["created_at"]
    assert datetime.fromisoformat(after["updated_at"]) >= datetime.fromisoformat(
        after["created_at"]
    )


# -- Deletes


def test_delete_returns_what_it_removed(ada: Client) -> None:
    place = building(ada)

    removed = ada.table("buildings").delete(count="exact").eq("id", place).execute()

    assert [row["id"] for row in removed.data] == [place]
    assert removed.count == 1
    assert ada.table("buildings").select("id").eq("id", place).execute().data == []


def test_delete_minimal_counts(ada: Client) -> None:
    place = building(ada)
    inspections(ada, place, "a", "b")

    removed = (
        ada.table("inspections")
        .delete(count="exact", returning="minimal")
        .eq("building_id", place)
        .execute()
    )

    assert (removed.data, removed.count) == ([], 2)


def test_delete_takes_readings_along(ada: Client) -> None:
    (inspection,) = inspections(ada, building(ada), "a")
    reading = {"inspection_id": inspection, "gun_id": 5, "result": "positive"}
    ada.table("reports_lead").insert(reading).execute()

    ada.table("inspections").delete().eq("id", inspection).execute()

    left = ada.table("reports_lead").select("id").eq("inspection_id", inspection).execute()
    assert left.data == []


def test_delete_without_a_filter_is_refused(ada: Client) -> None:
    refusal = refused(ada.table("reports_lead").delete().execute)

    assert refusal == ("21000", "DELETE requires a WHERE clause")


def test_delete_of_a_building_in_use_is_refused(ada: Client) -> None:
    refusal = refused(ada.table("buildings").delete().eq("id", 3).execute)

    assert refusal == (
        "23503",
        IN_USE.format("buildings", "inspections_building_id_fkey", "inspections"),
    )


def test_delete_does_not_reach_a_hidden_row(ada: Client, signed_in: SignedIn) -> None:
    assert ada.table("inspections").delete().in_("id", [6, 7]).execute().data == []
    assert len(signed_in("max").table("inspections").select("id").execute().data) == 2


# -- max_affected


def test_max_affected_refuses_one_too_many_and_changes_nothing(ada: Client) -> None:
    place = building(ada)
    inspections(ada, place, "a", "b")
    update = ada.table("inspections").update({"status": "z"}).eq("building_id", place)
    delete = ada.table("inspections").delete().eq("building_id", place)

    codes = [refused(call.max_affected(1).execute)[0] for call in (update, delete)]

    assert codes == ["PGRST124", "PGRST124"]
    assert statuses_in(ada, place) == ["a", "b"]


def test_max_affected_lets_as_many_pass(ada: Client) -> None:
    place = building(ada)
    inspections(ada, place, "a", "b")
    update = ada.table("inspections").update({"status": "z"}).eq("building_id", place)

    assert len(update.max_affected(2).execute().data) == 2
    assert statuses_in(ada, place) == ["z", "z"]


# -- Functions


def test_dashboard_counts_what_is_visible(max_: Client) -> None:
    summary = max_.rpc("get_inspections_dashboard_summary_fast").execute().data

    generated = datetime.fromisoformat(summary.pop("generated_at"))
    assert abs((datetime.now(UTC) - generated).total_seconds()) < 60
    assert summary == {
        "total_inspections": 2,
        "total_buildings": 1,
        "by_status": {
            "scheduled": 0,
            "in_progress": 0,
            "completed": 1,
            "failed": 0,
            "cancelled": 1,
        },
        "by_type": {"annual": 0, "fire": 0, "lead": 1, "structural": 0, "emergency": 1},
        "overdue": 0,
        "upcoming": 0,
        "completed_this_month": 0,
        "last_inspection": summary["last_inspection"],
        "next_inspection": None,
    }


def test_dashboard_counts_the_overdue(signed_in: SignedIn) -> None:
    summary = signed_in("moe").rpc("get_inspections_dashboard_summary_fast", get=True).execute()

    assert summary.data["total_inspections"] == 4
    assert summary.data["overdue"] == 2  # 3 and 9, scheduled for days gone by


def test_chart_has_no_gaps(max_: Client) -> None:
    span = {"start_date": "2025-05-05", "end_date": "2025-05-08"}

    for get in (False, True):
        chart = max_.rpc("get_building_stats_chart_fast", span, get=get).execute().data

        assert (chart["start_date"], chart["end_date"]) == ("2025-05-05", "2025-05-08")
        assert chart["interval"] == "day"
        assert [(point["period"], point["total"]) for point in chart["series"]] == [
            ("2025-05-05", 0),
            ("2025-05-06", 1),
            ("2025-05-07", 1),
            ("2025-05-08", 0),
        ]
        assert chart["series"][1]["by_status"]["completed"] == 1
        assert chart["buildings"] == [
            {
                "building_id": LOFTS,
                "name": 'Ash, "The" Lofts (North)',
                "total": 2,
                "completed": 1,
                "failed": 0,
            }
        ]


def test_chart_refuses_a_span_backwards(max_: Client) -> None:
    span = {"p_start_date": "2025-05-08", "p_end_date": "2025-05-05"}

    assert refused(max_.rpc("get_building_stats_chart_fast", span).execute)[0] == "22023"


def test_building_stats(max_: Client) -> None:
    for get in (False, True):
        call = max_.rpc("get_building_stats", {"building_id": LOFTS}, get=get)

        stats = call.execute().data

        assert (stats["building_id"], stats["name"]) == (LOFTS, 'Ash, "The" Lofts (North)')
        assert (stats["total_inspections"], stats["overdue"]) == (2, 0)
        assert (stats["by_status"]["completed"], stats["by_type"]["lead"]) == (1, 1)
        assert stats["lead"]["readings"] == 2
        assert stats["lead"]["by_result"]["negative"] == 1


def test_building_stats_of_a_hidden_and_a_missing_building_read_alike(max_: Client) -> None:
    refusals = {
        refused(max_.rpc("get_building_stats", {"p_building_id": id_}).execute) for id_ in (1, 999)
    }

    assert len({message.replace("999", "1") for _, message in refusals}) == 1
    assert {code for code, _ in refusals} == {"PT404"}


def test_function_answers_head(max_: Client) -> None:
    answer = max_.rpc("get_building_stats", {"building_id": LOFTS}, head=True).execute()

    assert answer.data == []


def test_assign_buildings_to_an_admin(root: Client, signed_in: SignedIn) -> None:
    first, second = building(root, client_id=2), building(root, client_id=2)
    both = {"admin_id": ADA, "building_ids": [first, second]}

    answers = [
        root.rpc("assign_buildings_to_client_admin", arguments).execute().data
        for arguments in ({"admin_id": ADA, "building_ids": [first]}, both)
    ]

    assert answers == [
        {"success": True, "assigned": 1, "already_assigned": 0},
        {"success": True, "assigned": 1, "already_assigned": 1},
    ]
    seen = signed_in("ada").table("buildings").select("id").in_("id", [first, second]).execute()
    assert len(seen.data) == 2


def test_assign_inspections_to_an_admin(root: Client, signed_in: SignedIn) -> None:
    place = building(root)
    (inspection,) = inspections(root, place, "a")
    arguments = {"p_admin_id": BOB, "p_inspection_ids": [inspection]}

    answer = root.rpc("assign_inspections_to_client_admin", arguments).execute().data

    assert answer == {"success": True, "assigned": 1, "already_assigned": 0}
    seen = signed_in("bob").table("inspections").select("id,buildings(id)").eq("id", inspection)
    assert seen.execute().data == [{"id": inspection, "buildings": None}]


def test_assign_to_a_manager(ada: Client, signed_in: SignedIn) -> None:
    place, other = building(ada), building(ada)
    (inspection,) = inspections(ada, other, "a")
    arguments = {"manager_id": MOE, "building_ids": [place], "inspection_ids": [inspection]}

    answers = [ada.rpc("assign_to_client_manager", arguments).execute().data for _ in range(2)]

    assert answers == [
        {
            "success": True,
            "assigned_buildings": 1,
            "assigned_inspections": 1,
            "already_assigned": 0,
        },
        {
            "success": True,
            "assigned_buildings": 0,
            "assigned_inspections": 0,
            "already_assigned": 2,
        },
    ]
    moe = signed_in("moe")
    houses = moe.table("buildings").select("id").in_("id", [place, other]).execute().data
    assert houses == [{"id": place}]


CALLS_REFUSED = {
    "an admin assigns no admins": (
        "ada",
        ("assign_buildings_to_client_admin", {"admin_id": ADA, "building_ids": [1]}),
        "42501",
    ),
    "a manager assigns nobody": (
        "max",
        ("assign_to_client_manager", {"manager_id": MAX, "building_ids": [], "inspection_ids": []}),
        "42501",
    ),
    "another's building": (
        "ada",
        (
            "assign_to_client_manager",
            {"manager_id": MOE, "building_ids": [LOFTS], "inspection_ids": []},
        ),
        "42501",
    ),
    "another's manager": (
        "ada",
        (
            "assign_to_client_manager",
            {"manager_id": MAX, "building_ids": [1], "inspection_ids": []},
        ),
        "23514",
    ),
    "an admin is no manager": (
        "root",
        (
            "assign_to_client_manager",
            {"manager_id": ADA, "building_ids": [1], "inspection_ids": []},
        ),
        "23514",
    ),
    "nobody": (
        "root",
        ("assign_buildings_to_client_admin", {"admin_id": NO_ONE, "building_ids": [1]}),
        "23514",
    ),
    "no such building": (
        "root",
        ("assign_buildings_to_client_admin", {"admin_id": ADA, "building_ids": [1, 999]}),
        "42501",
    ),
    "about somebody else": (
        "max",
        ("check_building_access_v2", {"p_building_id": LOFTS, "p_user_id": BOB}),
        "42501",
    ),
    "an unknown parameter": ("max", ("get_building_stats", {"building": 1}), "PGRST202"),
    "a missing parameter": ("max", ("get_building_stats", {}), "PGRST202"),
    "two opinions": (
        "max",
        ("get_building_stats", {"building_id": 1, "p_building_id": 2}),
        None,
    ),
    "a wrong type": ("max", ("get_building_stats", {"building_id": "x"}), "22P02"),
    "an unknown function": ("max", ("nope", {}), "PGRST202"),
}


@pytest.mark.parametrize("name", CALLS_REFUSED)
def test_call_is_refused_with_its_code(signed_in: SignedIn, name: str) -> None:
    who, (function, arguments), code = CALLS_REFUSED[name]

    refusal = refused(signed_in(who).rpc(function, arguments).execute)

    assert refusal[0] == (code or refusal[0]), refusal
    assert refusal[1], "an error says something"


CHECKS = {
    "own grant": ("max", "check_building_access_v2", {"p_building_id": LOFTS, "p_user_id": MAX}),
    "by client": ("bob", "check_building_access_v2", {"p_building_id": 5, "p_user_id": BOB}),
    "anyone": ("root", "check_building_access_v2", {"p_building_id": 1, "p_user_id": MOE}),
    "through": ("max", "check_inspection_access", {"p_inspection_id": 7, "p_user_id": MAX}),
    "inspection": ("root", "check_inspection_access", {"p_inspection_id": 3, "p_user_id": BOB}),
}


@pytest.mark.parametrize("name", CHECKS)
def test_check_is_a_true_boolean(signed_in: SignedIn, name: str) -> None:
    who, function, arguments = CHECKS[name]

    for get in (False, True):
        assert signed_in(who).rpc(function, arguments, get=get).execute().data is True


CHECKS_FALSE = {
    "hidden": ("max", "check_building_access_v2", {"p_building_id": 5, "p_user_id": MAX}),
    "missing": ("max", "check_building_access_v2", {"p_building_id": 999, "p_user_id": MAX}),
    "not theirs": ("root", "check_building_access_v2", {"p_building_id": 2, "p_user_id": MIA}),
    "the asker cannot see": (
        "bob",
        "check_inspection_access",
        {"p_inspection_id": 1, "p_user_id": MAX},
    ),
}


@pytest.mark.parametrize("name", CHECKS_FALSE)
def test_check_is_a_false_boolean(signed_in: SignedIn, name: str) -> None:
    who, function, arguments = CHECKS_FALSE[name]

    for get in (False, True):
        assert signed_in(who).rpc(function, arguments, get=get).execute().data is False


EXPLANATIONS = {
    "a grant": (
        "max",
        ("explain_building_access", {"p_building_id": LOFTS, "p_user_id": MAX}),
        [
            {
                "rule": "building_grant",
                "granted_by": BOB,
                "granted_at": "2025-02-12T00:00:00+00:00",
            }
        ],
    ),
    "the company's": (
        "bob",
        ("explain_building_access", {"building_id": 5, "user_id": BOB}),
        [{"rule": "client_ownership", "granted_by": None, "granted_at": None}],
    ),
    "a super admin": (
        "root",
        ("explain_inspection_access", {"p_inspection_id": 1, "p_user_id": ROOT}),
        [{"rule": "super_admin", "granted_by": None, "granted_at": None}],
    ),
    "an inspection's grant": (
        "bob",
        ("explain_inspection_access", {"p_inspection_id": 3, "p_user_id": BOB}),
        [
            {
                "rule": "inspection_grant",
                "granted_by": ROOT,
                "granted_at": "2025-02-14T00:00:00+00:00",
            }
        ],
    ),
}


@pytest.mark.parametrize("name", EXPLANATIONS)
def test_explanation_names_every_reason(signed_in: SignedIn, name: str) -> None:
    who, (function, arguments), reasons = EXPLANATIONS[name]

    for get in (False, True):
        answer = signed_in(who).rpc(function, arguments, get=get).execute().data

        assert answer == {"allowed": True, "reasons": reasons}


def test_explanation_of_a_hidden_row_has_no_reasons(max_: Client) -> None:
    arguments = {"p_building_id": 1, "p_user_id": MAX}

    answer = max_.rpc("explain_building_access", arguments).execute().data

    assert answer == {"allowed": False, "reasons": []}
