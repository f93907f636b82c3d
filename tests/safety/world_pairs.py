"""Pairs of worlds that one caller cannot distinguish: they differ only in rows that the oracle hides.

Every text of a world is unique, so a value identifies its row.
"""

import copy
import itertools
import random

from models.types import canonical_json
from tests.support import oracle
from tests.support.columns import MODELLED_TABLES
from tests.support.frozen_rows import issued_report_row, notice_row
from tests.support.worlds import (
    CREATED_AT,
    GRANTS,
    GUNS,
    STATUSES,
    TYPES,
    building_row,
    check_row,
    details_row,
    inspector_row,
    instrument_row,
    limit_row,
    random_world,
    user_row,
    with_all_columns,
)

WORDS = ("Harbor", "Mill", "Ash", "Größe", "depot", "50% lot", "Öz", "vacant", "East", "(North)")
TEXTS = {
    "clients": ("name",),
    "users": ("name",),
    "inspectors": ("name", "email"),
    "buildings": ("name", "address", "city", "state", "zip", "building_type"),
    "inspections": ("notes",),
    "building_details": ("parcel", "owner_name"),
    "reports_lead": ("result", "room", "component"),
    "calibration_checks": ("note",),
    "xrf_instruments": ("serial", "mode"),
    "lead_standards": ("basis", "city"),
    "schedules": ("basis",),
    "deadline_rules": ("basis",),
    "findings": ("description", "place"),
    "finding_events": ("note",),
    "issued_reports": ("number", "sha256", "signed_name", "withdrawn_note"),
    "notices": ("number", "sha256", "to_name", "to_address"),
}
REQUIRED_TEXTS = frozenset(
    ("name", "description", "serial", "basis", "number", "sha256", "signed_name", "to_name", "to_address")
)
RARELY_UNIQUE = {"inspections": ("inspection_type", "status")}  # usually common values, sometimes a unique one
CHANGES = 16
ADDED_IDS_START = 500  # ids of rows that only the second world has


class UniqueValues:
    """Generates values that no other row has."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.numbers = itertools.count(1)

    def text(self) -> str:
        return f"{self.rng.choice(WORDS)} {next(self.numbers):05}"

    def fill(self, table: str, row: dict) -> dict:
        """Return the row with unique texts and random numbers."""
        row = dict(row)
        for column in TEXTS.get(table, ()):
            row[column] = self.text() if column in REQUIRED_TEXTS or self.rng.random() < 0.8 else None
        for column in RARELY_UNIQUE.get(table, ()):
            if self.rng.random() < 0.3:
                row[column] = self.text()
        if table == "buildings":
            row["latitude"] = round(self.rng.uniform(-90, 90), 6)
            row["longitude"] = self.rng.choice((None, round(self.rng.uniform(-180, 180), 3)))
            row["floors"], row["units"] = self.rng.randrange(50), self.rng.choice((None, 7, 12))
        if table == "users":
            row["email"] = f"{row['name'].split()[-1]}@{self.rng.choice(('acme', 'borough'))}.example"
        if "content" in row:
            row["content"] = canonical_json({"page": self.text(), "thumbnails": {}})
        return row | self.lead_values(table)

    def lead_values(self, table: str) -> dict:
        """Return random values of the tables of lead inspections."""
        threshold = self.rng.randrange(1, 20) / 10
        limits = {"negative_below": threshold, "positive_from": threshold}
        return {
            "building_details": {"year_built": self.rng.choice((None, 1928, 1962))},
            "reports_lead": {"gun_id": self.rng.choice(GUNS)},
            "calibration_checks": {"gun_id": self.rng.choice(GUNS), "result": self.rng.choice(("pass", "fail"))},
            "xrf_instruments": {**limits, "check_minutes": self.rng.choice((15, 60, 240))},
            "xrf_limits": limits,
            "lead_standards": {"from_value": threshold},
        }.get(table, {})


def random_unique_world(seed: int) -> tuple[dict, UniqueValues]:
    """Return a random world with unique texts. An admin assigned some of its grants."""
    rng = random.Random(seed)
    unique_values = UniqueValues(rng)
    world = {table: [unique_values.fill(table, row) for row in rows] for table, rows in random_world(seed).items()}
    signers = [None, *(user["id"] for user in world["users"] if user["role"] != "client_manager")]
    for table in GRANTS:
        for row in world[table]:
            row["assigned_by"] = rng.choice(signers)
    return sorted_world(world), unique_values


def sorted_world(world: dict) -> dict:
    return {
        table: [world[table][0], *sorted(world[table][1:], key=lambda row: row["id"])]
        if table == "users"
        else sorted(world[table], key=lambda row: oracle.key_of(table, row))
        for table in MODELLED_TABLES
    }


def visible_rows(world: dict, user: dict) -> dict[str, list[dict]]:
    """Return the rows that the oracle lets a user read."""
    return {
        table: [row for row in world[table] if oracle.visible(world, user, table, row)] for table in MODELLED_TABLES
    }


def indistinguishable_world(world: dict, user: dict, unique_values: UniqueValues) -> dict:
    """Return a world with equal visible rows and as many different hidden rows as possible."""
    seen = visible_rows(world, user)
    changes = [unique_values.rng.choice(CHANGE_KINDS) for _ in range(CHANGES)]
    seeds = [unique_values.rng.random() for _ in changes]
    other = apply_changes(world, user, unique_values, list(zip(changes, seeds, strict=True)))
    if visible_rows(other, user) == seen:
        return sorted_world(other)
    other = world
    for change in zip(changes, seeds, strict=True):
        candidate = apply_changes(other, user, unique_values, [change])
        if visible_rows(candidate, user) == seen:
            other = candidate
    return sorted_world(other)


def apply_changes(world: dict, user: dict, unique_values: UniqueValues, changes: list) -> dict:
    other = copy.deepcopy(world)
    for change, seed in changes:
        rng, unique_values.rng = unique_values.rng, random.Random(seed)
        change(other, user, unique_values)
        unique_values.rng = rng
    return other


def random_hidden_row(world: dict, user: dict, rng: random.Random) -> tuple[str, dict] | None:
    """Return a random hidden row and its table. Every table is equally likely. Super admins are excluded."""
    table = rng.choice(MODELLED_TABLES)
    rows = [row for row in world[table] if not oracle.visible(world, user, table, row)]
    rows = [row for row in rows if row.get("role") != "super_admin" and not may_name(world, user, table, row)]
    return (table, rng.choice(rows)) if rows else None


def may_name(world: dict, user: dict, table: str, row: dict) -> bool:
    """Return whether an inspector may name a hidden instrument in a reading of a visit, which shows it to them."""
    if table not in ("xrf_instruments", "xrf_limits") or not oracle.is_linked(world, user):
        return False
    return row["client_id"] is None or any(
        oracle.owns_building(world, row, inspection["building_id"])
        for inspection in world["inspections"]
        if oracle.is_own_visit(world, user, inspection)
    )


def change_row(world: dict, user: dict, unique_values: UniqueValues) -> None:
    """Change all values of a hidden row."""
    if (drawn := random_hidden_row(world, user, unique_values.rng)) is None:
        return
    table, row = drawn
    changed = unique_values.fill(table, row)
    row.update(changed)
    if table == "inspections":
        row["date_visited"] = unique_values.rng.choice((None, "2025-06-14", "2025-06-20", "2024-01-01"))
        row["inspector_id"] = random_inspector_id(world, unique_values.rng)


def move_building(world: dict, user: dict, unique_values: UniqueValues) -> None:
    """Move a hidden building to a third client. The caller of this function checks that visible rows stay equal."""
    hidden = [b for b in world["buildings"] if not oracle.visible(world, user, "buildings", b)]
    others = [c["id"] for c in world["clients"] if c["id"] != user["client_id"]]
    if hidden and others:
        unique_values.rng.choice(hidden)["client_id"] = unique_values.rng.choice(others)


def delete_row(world: dict, user: dict, unique_values: UniqueValues) -> None:
    """Delete a hidden row and its dependents, if all of them are hidden."""
    if (drawn := random_hidden_row(world, user, unique_values.rng)) is None:
        return
    collected: list[tuple[str, dict]] = []
    collect_dependents(world, *drawn, collected)
    if any(oracle.visible(world, user, table, row) for table, row in collected):
        return
    if drawn[0] == "inspectors" and any(row["inspector_id"] == drawn[1]["id"] for row in world["inspections"]):
        return
    deleted_user_ids = {row["id"] for table, row in collected if table == "users"}
    if any(grant["assigned_by"] in deleted_user_ids for table in GRANTS for grant in world[table]):
        return
    for table, row in collected:
        if row in world[table]:
            world[table].remove(row)
            for below, column in NULLED.get(table, ()):
                for other in world[below]:
                    if other[column] == row["id"]:
                        other[column] = None


DEPENDENTS = {
    "clients": (
        ("buildings", "client_id"),
        ("users", "client_id"),
        ("xrf_instruments", "client_id"),
        ("lead_standards", "client_id"),
        ("deadline_rules", "client_id"),
        ("issued_reports", "client_id"),
        ("notices", "client_id"),
    ),
    "buildings": (
        ("inspections", "building_id"),
        ("building_details", "building_id"),
        ("client_admin_building_access", "building_id"),
        ("client_manager_building_access", "building_id"),
        ("schedules", "building_id"),
        ("notices", "building_id"),
    ),
    "inspections": (
        ("reports_lead", "inspection_id"),
        ("calibration_checks", "inspection_id"),
        ("inspection_plans", "inspection_id"),
        ("findings", "inspection_id"),
        ("issued_reports", "inspection_id"),
        ("client_admin_inspection_access", "inspection_id"),
        ("client_manager_inspection_access", "inspection_id"),
    ),
    "findings": (("finding_events", "finding_id"),),
    "notices": (("finding_events", "notice_id"),),
    "xrf_instruments": (("xrf_limits", "instrument_id"),),
    "users": tuple((table, GRANTS[table][1]) for table in GRANTS),
}


NULLED = {
    "users": (
        ("inspectors", "user_id"),
        ("finding_events", "user_id"),
        ("issued_reports", "issued_by"),
        ("notices", "issued_by"),
    ),
    "schedules": (("inspection_plans", "schedule_id"),),
    "inspectors": (("schedules", "inspector_id"),),
}
"""References that a deletion sets to null."""


def collect_dependents(world: dict, table: str, row: dict, collected: list) -> None:
    collected.append((table, row))
    for below, column in DEPENDENTS.get(table, ()):
        for other in world[below]:
            if other.get(column) == row["id"]:
                collect_dependents(world, below, other, collected)


def add_building(world: dict, user: dict, unique_values: UniqueValues) -> None:
    """Add a building of another client: details, an inspection, a reading, a check, an issued report and a letter."""
    rng = unique_values.rng
    others = [c["id"] for c in world["clients"] if c["id"] != user["client_id"]]
    if not others:
        return
    building = building_row(free_id(world, "buildings", rng), rng.choice(others))
    world["buildings"].append(unique_values.fill("buildings", building))
    world["building_details"].append(unique_values.fill("building_details", details_row(building["id"])))
    inspection = {
        "id": free_id(world, "inspections", rng),
        "building_id": building["id"],
        "inspection_type": rng.choice(TYPES),
        "date_visited": rng.choice(("2025-06-14", "2025-06-20", None)),
        "status": rng.choice(STATUSES),
        "inspector_id": random_inspector_id(world, rng),
        "notes": None,
        "created_at": CREATED_AT,
        "updated_at": CREATED_AT,
    }
    world["inspections"].append(unique_values.fill("inspections", inspection))
    reading = with_all_columns(
        "reports_lead",
        {"id": free_id(world, "reports_lead", rng), "inspection_id": inspection["id"], "updated_at": CREATED_AT},
    )
    world["reports_lead"].append(unique_values.fill("reports_lead", reading))
    check = check_row(rng, free_id(world, "calibration_checks", rng), inspection["id"])
    world["calibration_checks"].append(unique_values.fill("calibration_checks", check))
    report = issued_report_row(free_id(world, "issued_reports", rng), inspection["id"], building["client_id"])
    world["issued_reports"].append(unique_values.fill("issued_reports", report))
    letter = notice_row(free_id(world, "notices", rng), building["id"], building["client_id"])
    world["notices"].append(unique_values.fill("notices", letter))


def add_instrument(world: dict, user: dict, unique_values: UniqueValues) -> None:
    """Add an instrument of another client with a limit. Visible readings may name its number, which others may have."""
    rng = unique_values.rng
    others = [each["id"] for each in world["clients"] if each["id"] != user["client_id"]]
    if not others:
        return
    client_id = rng.choice(others)
    free = sorted({*GUNS} - {each["gun_id"] for each in world["xrf_instruments"] if each["client_id"] == client_id})
    if not free:
        return
    row = instrument_row(free_id(world, "xrf_instruments", rng), rng.choice(free), client_id)
    world["xrf_instruments"].append(unique_values.fill("xrf_instruments", row))
    limit = limit_row(free_id(world, "xrf_limits", rng), row)
    world["xrf_limits"].append(unique_values.fill("xrf_limits", limit))
    if may_name(world, user, "xrf_instruments", row):
        del world["xrf_instruments"][-1], world["xrf_limits"][-1]


def add_person(world: dict, user: dict, unique_values: UniqueValues) -> None:
    """Add a user of a new or existing client, and an inspector."""
    rng = unique_values.rng
    client_id = free_id(world, "clients", rng)
    if rng.random() < 0.5:
        times = {"created_at": CREATED_AT, "updated_at": CREATED_AT}
        client = with_all_columns("clients", {"id": client_id, "name": "", **times})
        world["clients"].append(unique_values.fill("clients", client))
    else:
        client_id = rng.choice(world["clients"])["id"]
    number = rng.randrange(1_000, 9_000)
    person = user_row(number, rng.choice(("client_admin", "client_manager")), client_id)
    if all(other["id"] != person["id"] for other in world["users"]):
        world["users"].append(unique_values.fill("users", person))
    inspector = inspector_row(free_id(world, "inspectors", rng))
    world["inspectors"].append(unique_values.fill("inspectors", inspector))


def add_grant(world: dict, user: dict, unique_values: UniqueValues) -> None:
    """Add a grant of any row to any user. A grant of a visible row to a hidden user stays hidden."""
    rng = unique_values.rng
    table = rng.choice(list(GRANTS))
    role, grantee, targets, target = GRANTS[table]
    people = [person for person in world["users"] if person["role"] == role]
    if not people or not world[targets]:
        return
    grant = {
        grantee: rng.choice(people)["id"],
        target: rng.choice(world[targets])["id"],
        "assigned_by": rng.choice(world["users"])["id"],
        "assigned_at": CREATED_AT,
    }
    if all(oracle.key_of(table, grant) != oracle.key_of(table, row) for row in world[table]):
        world[table].append(grant)


def random_inspector_id(world: dict, rng: random.Random) -> int | None:
    return rng.choice((None, *(row["id"] for row in world["inspectors"])))


def free_id(world: dict, table: str, rng: random.Random) -> int:
    taken = {row["id"] for row in world[table]}
    return next(n for n in iter(lambda: ADDED_IDS_START + rng.randrange(400), None) if n not in taken)


CHANGE_KINDS = (
    change_row,
    change_row,
    change_row,
    move_building,
    delete_row,
    delete_row,
    add_building,
    add_instrument,
    add_person,
    add_grant,
    add_grant,
)
