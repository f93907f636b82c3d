"""Random worlds, the same for the same seed: clients, users, buildings, inspections with their rows, and grants.

Some grants are to users of another client, and some inspectors sign in as managers of any client. No plan is open, and
every schedule has ended, so that a change of an inspection has no further effect.
"""

import random
from datetime import date, timedelta

from engine.query.catalog import catalog
from models import RESOURCES as MODELS
from models.types import canonical_json
from tests.conftest import RESOURCES, Person
from tests.support.frozen_rows import issued_report_row, notice_row

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
    add_schedules_and_findings(rng, world)
    add_lead_rows(rng, world)
    add_frozen_rows(random.Random(f"frozen {seed}"), world)
    return world


def add_clients_and_users(rng: random.Random, world: dict) -> None:
    world["users"].append(user_row(1, "super_admin", None))
    for client_id in range(1, rng.randint(2, 3) + 1):
        client = {"id": client_id, "name": f"Client {client_id}", **times()}
        world["clients"].append(with_all_columns("clients", client))
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
        world["inspectors"].append(inspector_row(id_))
    managers = [each["id"] for each in world["users"] if each["role"] == "client_manager"]
    for inspector, user_id in zip(world["inspectors"], rng.sample(managers, min(2, len(managers))), strict=False):
        inspector["user_id"] = user_id
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
    row = {"id": id_, "inspection_id": inspection_id, "gun_id": rng.choice(GUNS), "result": result}
    return with_all_columns("reports_lead", {**row, "taken_at": taken_at(rng), "updated_at": CREATED_AT})


GUNS = range(1, 13)
"""The numbers that readings and checks name. Some worlds have instruments with other numbers too."""


def add_lead_rows(rng: random.Random, world: dict) -> None:
    """Add details of some buildings, checks of some inspections, and instruments with limits: shared and of clients."""
    for building in world["buildings"]:
        if rng.random() < 0.4:
            world["building_details"].append(details_row(building["id"]))
    for inspection in world["inspections"]:
        if rng.random() < 0.3:
            world["calibration_checks"].append(check_row(rng, len(world["calibration_checks"]) + 1, inspection["id"]))
    owners = [None, *(client["id"] for client in world["clients"])]
    for id_, gun_id in enumerate(rng.sample(GUNS, 6), start=1):
        instrument = instrument_row(id_, gun_id, rng.choice(owners))
        world["xrf_instruments"].append(instrument)
        if rng.random() < 0.6:
            world["xrf_limits"].append(limit_row(len(world["xrf_limits"]) + 1, instrument))
    for id_ in range(1, 4):
        world["lead_standards"].append(standard_row(id_, rng.choice(owners)))


def details_row(building_id: int) -> dict:
    return with_all_columns("building_details", {"building_id": building_id, **times()})


def check_row(rng: random.Random, id_: int, inspection_id: int) -> dict:
    return with_all_columns("calibration_checks", {
        "id": id_, "inspection_id": inspection_id, "gun_id": rng.choice(GUNS), "taken_at": taken_at(rng), "first": 1.0,
        "second": 1.0, "third": 1.0, "mean": 1.0, "result": "pass", "check_low": 0.8, "check_high": 1.2, **times(),
    })  # fmt: skip


def instrument_row(id_: int, gun_id: int, client_id: int | None) -> dict:
    return with_all_columns("xrf_instruments", {
        "id": id_, "gun_id": gun_id, "client_id": client_id, "make": "Niton", "model": "XLp", "serial": f"S-{id_}",
        **times(),
    })  # fmt: skip


def limit_row(id_: int, instrument: dict) -> dict:
    named = {"instrument_id": instrument["id"], "gun_id": instrument["gun_id"], "client_id": instrument["client_id"]}
    limits = {"substrate": "wood", "mode": None, "negative_below": 0.5, "positive_from": 0.5}
    return {"id": id_, **named, **limits, **times()}


def standard_row(id_: int, client_id: int | None) -> dict:
    return with_all_columns("lead_standards", {
        "id": id_, "client_id": client_id, "state": "ZZ", "unit": "mg_cm2", "from_value": 0.5,
        "valid_from": "2020-01-01", "basis": f"Basis {id_}", **times(),
    })  # fmt: skip


def taken_at(rng: random.Random) -> str:
    return f"2025-06-14T{rng.randrange(8, 18):02}:{rng.randrange(60):02}:00+00:00"


def with_all_columns(table: str, row: dict) -> dict:
    """Return a row with the stored default, or null, of the other columns."""
    attributes = catalog().relations[table].attributes
    return {name: each.stored_default for name, each in attributes.items()} | row


def inspector_row(id_: int) -> dict:
    unset = (
        "email", "user_id", "license", "license_state", "license_expires_on", "firm", "firm_address", "firm_phone",
        "firm_certificate",
    )  # fmt: skip
    return {"id": id_, "name": f"Inspector {id_}", **dict.fromkeys(unset)}


def add_schedules_and_findings(rng: random.Random, world: dict) -> None:
    """Add ended schedules of some buildings, closed plans and findings of some inspections, their events, and rules."""
    for owner in (None, *(client["id"] for client in world["clients"])):
        if rng.random() < 0.8:
            world["deadline_rules"].append(rule_row(rng, len(world["deadline_rules"]) + 1, owner))
    for building in world["buildings"]:
        if rng.random() < 0.4:
            world["schedules"].append(schedule_row(len(world["schedules"]) + 1, building["id"]))
    by_building = {each["building_id"]: each["id"] for each in world["schedules"]}
    for inspection in world["inspections"]:
        if rng.random() < 0.3:
            world["inspection_plans"].append(plan_row(inspection["id"], by_building.get(inspection["building_id"])))
        if rng.random() < 0.4:
            finding = finding_row(rng, len(world["findings"]) + 1, inspection["id"])
            world["findings"].append(finding)
            world["finding_events"].append(event_row(finding["id"], finding["id"], inspection["id"]))


def rule_row(rng: random.Random, id_: int, client_id: int | None) -> dict:
    return {
        "id": id_, "client_id": client_id, "inspection_type": rng.choice((None, "fire")),
        "severity": rng.choice(("severe", "low")), "amount": rng.randrange(1, 90), "unit": "d", "basis": f"Basis {id_}",
        "valid_from": None, "counts_from": "found", **times(),
    }  # fmt: skip


def schedule_row(id_: int, building_id: int) -> dict:
    return {
        "id": id_, "building_id": building_id, "inspection_type": "fire", "title": "", "every": 1, "unit": "year",
        "counted_from": "planned", "first_due": "2025-01-01", "grace_days": 0, "inspector_id": None,
        "basis": f"Basis {id_}", "ended_on": "2025-02-01", "early_days": None, **times(),
    }  # fmt: skip


def plan_row(inspection_id: int, schedule_id: int | None) -> dict:
    return {
        "inspection_id": inspection_id, "schedule_id": schedule_id, "occurrence": 0, "due_on": "2025-01-01",
        "case_id": inspection_id, "round": 1, "outcome": "done", "touched_at": None, **times(),
    }  # fmt: skip


def finding_row(rng: random.Random, id_: int, inspection_id: int) -> dict:
    return {
        "id": id_, "inspection_id": inspection_id, "case_id": inspection_id, "ref": None, "place": None, "item": None,
        "code": None, "description": f"Finding {id_}", "severity": rng.choice(("severe", "low")), "status": "open",
        "found_at": CREATED_AT, "due_at": CREATED_AT, "fixed_at": None, "days_late": None, "closed_at": None, **times(),
    }  # fmt: skip


def event_row(id_: int, finding_id: int, inspection_id: int) -> dict:
    return {
        "id": id_, "finding_id": finding_id, "at": CREATED_AT, "user_id": None, "kind": "made",
        "inspection_id": inspection_id, "note": None, "how": None, "severity_before": None, "severity_after": None,
        "due_before": None, "due_after": None, "notice_id": None, **times(),
    }  # fmt: skip


def add_frozen_rows(rng: random.Random, world: dict) -> None:
    """Add withdrawn reports of some inspections, and letters about some buildings, which some events name."""
    clients = {each["id"]: each["client_id"] for each in world["buildings"]}
    for inspection in world["inspections"]:
        if rng.random() < 0.3:
            id_ = len(world["issued_reports"]) + 1
            world["issued_reports"].append(issued_report_row(id_, inspection["id"], clients[inspection["building_id"]]))
    letters = {}
    for building in world["buildings"]:
        if rng.random() < 0.4:
            letters[building["id"]] = id_ = len(world["notices"]) + 1
            world["notices"].append(notice_row(id_, building["id"], building["client_id"]))
    of_inspection = {each["id"]: each["building_id"] for each in world["inspections"]}
    for event in world["finding_events"]:
        event["notice_id"] = letters.get(of_inspection[event["inspection_id"]])
    for row in (*world["issued_reports"], *world["notices"]):
        row["content"] = canonical_json(row["content"])
        row["issued_by"] = rng.choice((None, *(each["id"] for each in world["users"])))


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
