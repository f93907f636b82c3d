"""Updates, deletes and their limits with supabase-py. Each test creates the rows that it changes."""

from datetime import datetime

import pytest

from tests.clients.consumers import Client, error_of
from tests.clients.rows import IN_USE, LOFTS, RLS, SignedIn, building, inspections, statuses_in


@pytest.fixture
def ada(signed_in: SignedIn) -> Client:
    return signed_in("ada")


@pytest.fixture
def max_(signed_in: SignedIn) -> Client:
    return signed_in("max")


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
    refusal = error_of(ada.table("buildings").update({"name": "All"}).execute)

    assert refusal == ("21000", "UPDATE requires a WHERE clause")


def test_update_does_not_match_a_hidden_row(ada: Client, signed_in: SignedIn) -> None:
    written = ada.table("buildings").update({"name": "Mine"}).in_("id", [LOFTS, 5]).execute()

    assert written.data == []
    names = signed_in("bob").table("buildings").select("name").in_("id", [LOFTS, 5]).order("id")
    assert [row["name"] for row in names.execute().data] == ['Ash, "The" Lofts (North)', "Größe Straße"]


def test_update_that_moves_a_row_out_of_scope_is_refused(ada: Client) -> None:
    place = building(ada)

    refusal = error_of(ada.table("buildings").update({"client_id": 2}).eq("id", place).execute)

    assert refusal == ("42501", RLS.format("buildings"))


def test_manager_updates_nothing(max_: Client) -> None:
    refusal = error_of(max_.table("inspections").update({"notes": "x"}).eq("id", 6).execute)

    assert refusal == ("42501", "permission denied for table inspections")


def test_update_sets_updated_at_and_keeps_created_at(ada: Client) -> None:
    place = building(ada)
    before = ada.table("buildings").select("created_at").eq("id", place).single().execute().data

    after = ada.table("buildings").update({"city": "Lynn"}).eq("id", place).execute().data[0]

    assert after["created_at"] == before["created_at"]
    assert datetime.fromisoformat(after["updated_at"]) >= datetime.fromisoformat(after["created_at"])


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

    removed = ada.table("inspections").delete(count="exact", returning="minimal").eq("building_id", place).execute()

    assert (removed.data, removed.count) == ([], 2)


def test_delete_cascades_to_readings(ada: Client) -> None:
    (inspection,) = inspections(ada, building(ada), "a")
    reading = {"inspection_id": inspection, "gun_id": 5, "result": "positive"}
    ada.table("reports_lead").insert(reading).execute()

    ada.table("inspections").delete().eq("id", inspection).execute()

    left = ada.table("reports_lead").select("id").eq("inspection_id", inspection).execute()
    assert left.data == []


def test_delete_without_a_filter_is_refused(ada: Client) -> None:
    refusal = error_of(ada.table("reports_lead").delete().execute)

    assert refusal == ("21000", "DELETE requires a WHERE clause")


def test_delete_of_a_referenced_building_is_refused(ada: Client) -> None:
    refusal = error_of(ada.table("buildings").delete().eq("id", 3).execute)

    assert refusal == ("23503", IN_USE.format("buildings", "inspections_building_id_fkey", "inspections"))


def test_delete_does_not_match_a_hidden_row(ada: Client, signed_in: SignedIn) -> None:
    assert ada.table("inspections").delete().in_("id", [6, 7]).execute().data == []
    assert len(signed_in("max").table("inspections").select("id").execute().data) == 2


# -- max_affected


def test_max_affected_refuses_one_row_more_and_changes_nothing(ada: Client) -> None:
    place = building(ada)
    inspections(ada, place, "a", "b")
    update = ada.table("inspections").update({"status": "z"}).eq("building_id", place)
    delete = ada.table("inspections").delete().eq("building_id", place)

    codes = [error_of(call.max_affected(1).execute)[0] for call in (update, delete)]

    assert codes == ["PGRST124", "PGRST124"]
    assert statuses_in(ada, place) == ["a", "b"]


def test_max_affected_permits_as_many_rows(ada: Client) -> None:
    place = building(ada)
    inspections(ada, place, "a", "b")
    update = ada.table("inspections").update({"status": "z"}).eq("building_id", place)

    assert len(update.max_affected(2).execute().data) == 2
    assert statuses_in(ada, place) == ["z", "z"]
