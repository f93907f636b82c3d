"""How does an older file become one of today? By numbered steps, all in one transaction.

`schema.sql` makes a new file at today's version. A step takes a file from the version before it to its
own: a module `models/migrations/mNNNN_what.py` with `step = Step(NNNN, "what", function)`, and a line
in `STEPS`. A step that has been released is never changed again; the next one mends it. Steps are of tables: indexes,
views and triggers are made anew after the last one, as a new file has them.
"""

from __future__ import annotations

from models.migrations import m0002_grants_that_fall
from models.migrations import m0003_people_who_go
from models.migrations import m0004_in_the_order_of_keys
from models.migrations import m0005_fewer_indexes
from models.migrations import m0006_readings_follow
from models.migrations import m0007_a_clients_trail
from models.migrations import m0008_by_client
from models.migrations import m0009_status_by_status
from models.migrations import m0010_lists_of_buildings
from models.migrations import m0011_among_the_clients
from models.migrations import m0012_ids_that_stay
from models.migrations.step import Step

FIRST_VERSION = 1

STEPS: tuple[Step, ...] = (
    m0002_grants_that_fall.step,
    m0003_people_who_go.step,
    m0004_in_the_order_of_keys.step,
    m0005_fewer_indexes.step,
    m0006_readings_follow.step,
    m0007_a_clients_trail.step,
    m0008_by_client.step,
    m0009_status_by_status.step,
    m0010_lists_of_buildings.step,
    m0011_among_the_clients.step,
    m0012_ids_that_stay.step,
)
"""Every step, by version, without gaps. Version 1 is where the schema began."""


def schema_version() -> int:
    """The version that this program speaks."""
    return FIRST_VERSION + len(STEPS)
