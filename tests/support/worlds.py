"""Random worlds, the same for the same seed: clients, users, buildings, inspections and all four kinds of grants.

Some grants are to users of another client.
"""

import random
from datetime import date, timedelta

from models import RESOURCES as MODELS
from tests.conftest import RESOURCES, Person

CREATED_AT = "2025-01-01T00:00:00+00:00"
STATUSES = ("scheduled", "in_progress", "completed", "failed", "cancelled", "postponed", None)
TYPES = ("annual", "fire", "lead", "structural", "emergency", "roof")
GRANTS = {
    name: (grant.role, grant.grantee, key.column.table.name, grant.target)
    for name, model in MODELS.items()
    if (grant := model.grant)
    for key in model.__table__.c[grant.target].foreign_keys
}
"""By table: the role of a grantee, the grantee's column, the table of the target, and its column."""


def random_world(seed: int) -> dict[str, list[dict]]:
    """Return 2-3 clients, 3-6 users each, 5-15 buildings, 0-40 inspections, their readings, and grants."""
    rng = random.Random(seed)
    world: dict[str, list[dict]] = {table: [] for table in RESOURCES}
    add_clients_and_users(rng, world)
    add_buildings_and_inspections(rng, world)
    for table in GRANTS:
        add_grants(rng, world, table)
    return world


def add_clients_and_users(rng: random.Random, world: dict) -> None:
    world["users"].append(user_row(1, "super_admin", None))
    for client_id in range(1, rng.randint(2, 3) + 1):
        world["clients"].append({"id": client_id, "name": f"Client {client_id}", **times()})
        for n in range(rng.randint(3, 6)):
            role = "client_admin" if n == 0 or rng.random() < 0.25 else "client_manager"
            world["users"].append(user_row(10 * client_id + n, role, client_id))


def user_row(number: int, role: str, client_id: int | None) -> dict:
    return {
        "id": f"00000000-0000-4000-9000-{number:012}",
        "email": f"user{number}@client{client_id or 0}.example",
        "name": f"User {number}",
        "role": role,
        "client_id": client_id,
        **times(),
    }


def times() -> dict:
    return {"created_at": CREATED_AT, "updated_at": CREATED_AT}


def add_buildings_and_inspections(rng: random.Random, world: dict) -> None:
    for id_ in range(1, 5):
        world["inspectors"].append({"id": id_, "name": f"Inspector {id_}", "email": None})
    for id_ in range(1, rng.randint(5, 15) + 1):
        world["buildings"].append(building_row(id_, rng.choice(world["clients"])["id"]))
    for id_ in range(1, rng.randint(0, 40) + 1):
        building = rng.choice(world["buildings"])
        world["inspections"].append(inspection_row(rng, id_, building["id"]))
    if world["inspections"]:
        for id_ in range(1, rng.randint(0, 30) + 1):
            inspection = rng.choice(world["inspections"])
            world["reports_lead"].append(reading_row(rng, id_, inspection["id"]))


def building_row(id_: int, client_id: int) -> dict:
    unset = ("address", "city", "state", "zip", "latitude", "longitude", "building_type")
    return {
        "id": id_,
        "name": f"Building {id_}",
        "client_id": client_id,
        "floors": id_,
        "units": None,
        **dict.fromkeys(unset),
        **times(),
    }


def inspection_row(rng: random.Random, id_: int, building_id: int) -> dict:
    day = date(2025, 1, 1) + timedelta(days=rng.randrange(300))
    return {
        "id": id_,
        "building_id": building_id,
        "inspection_type": rng.choice(TYPES),
        "date_visited": rng.choice((day.isoformat(), None)),
        "status": rng.choice(STATUSES),
        "inspector_id": rng.choice((None, 1, 2, 3, 4)),
        "notes": f"Notes {id_}",
        **times(),
    }


def reading_row(rng: random.Random, id_: int, inspection_id: int) -> dict:
    result = rng.choice(("positive", "negative", None))
    return {"id": id_, "inspection_id": inspection_id, "gun_id": id_, "result": result}


def add_grants(rng: random.Random, world: dict, table: str) -> None:
    """Grant a sixth of all pairs of a user and a row, of the same or different clients."""
    role, grantee, target_table, target = GRANTS[table]
    for user in world["users"]:
        for row in world[target_table]:
            if user["role"] == role and rng.random() < 1 / 6:
                world[table].append(
                    {
                        grantee: user["id"],
                        target: row["id"],
                        "assigned_by": world["users"][0]["id"],
                        "assigned_at": CREATED_AT,
                    }
                )


def person(user: dict) -> Person:
    return Person(user["id"], user["role"], user["client_id"])
