"""Rows that tests create with supabase-py, and error messages of refused writes."""

import uuid
from collections.abc import Callable

from tests.clients.consumers import Client

VACANT_LOT = 6  # ada's, with no inspections of its own
LOFTS = 4  # bob's
RLS = 'new row violates row-level security policy for table "{}"'
NOT_NULL = 'null value in column "{}" of relation "{}" violates not-null constraint'
IN_USE = 'update or delete on table "{}" violates foreign key constraint "{}" on table "{}"'
SignedIn = Callable[[str], Client]


def building(owner: Client, **columns: object) -> int:
    """Create a building for one test."""
    row = {"name": f"Test {uuid.uuid4()}", "client_id": 1, **columns}
    return owner.table("buildings").insert(row).execute().data[0]["id"]


def inspections(owner: Client, building_id: int, *statuses: str) -> list[int]:
    """Create one inspection for each status; return their ids."""
    rows = [{"building_id": building_id, "inspection_type": "fire", "status": status} for status in statuses]
    return [row["id"] for row in owner.table("inspections").insert(rows).execute().data]


def statuses_in(consumer: Client, building_id: int) -> list[str]:
    rows = consumer.table("inspections").select("status").eq("building_id", building_id)
    return [row["status"] for row in rows.order("id").execute().data]
